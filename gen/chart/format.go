package chart

import (
	"slices"
	"strings"
)

// Format is a way to write a chart as text.
type Format struct {
	Name  string // as --format takes it
	Ext   string // of files, with the dot
	Fence string // the language of a code block in Markdown
	Write func(*Chart) []byte
}

// Formats are the texts that a chart can become, the usual one first.
var Formats = []Format{
	{"mermaid", ".mmd", "mermaid", Mermaid},
	{"mermaid-flow", ".mmd", "mermaid", MermaidFlow},
	{"dot", ".dot", "dot", Dot},
}

// label is what stands on an edge, in lines; the names of operations are
// passed through name, everything else through plain.
func (c *Chart) label(e *Edge, name, plain func(string) string) []string {
	var lines []string
	for _, s := range e.Steps {
		at := len(lines)
		if !s.Branch {
			lines = append(lines, name(s.Operation.Name)+plain(e.Colon(s)))
		}
		for _, l := range s.Lines {
			lines = append(lines, plain(l))
		}
		switch t := c.Taken(s); {
		case t == "":
		case at == len(lines):
			lines = append(lines, plain(t))
		default:
			lines[at] += " " + plain(t)
		}
	}
	if e.Plain != "" {
		lines = append(lines, plain(e.Plain))
	}
	return lines
}

// last returns the node below which notes stand: the end, else the last state.
func (c *Chart) last() *Node {
	for _, e := range c.Edges {
		if e.To.Kind == End {
			return e.To
		}
	}
	return c.Nodes[len(c.Nodes)-1]
}

// Roles lists the roles of the states of c, in the order of the legend.
func (c *Chart) Roles() []Role {
	return slices.DeleteFunc(slices.Clone(roles), func(r Role) bool {
		return !slices.ContainsFunc(c.Nodes, func(n *Node) bool { return n.Kind == State && n.Role == r })
	})
}

// Escape returns s as text in HTML or XML, in one line.
func Escape(s string) string { return htmlEscape(s) }

// htmlEscape returns s as text in HTML or XML, in quotes or not.
func htmlEscape(s string) string { return htmlSigns.Replace(printable(s)) }

var htmlSigns = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// printable returns s in one line, without what no text format can hold.
func printable(s string) string {
	return folded(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd || r == 0xfffe || r == 0xffff {
			return ' '
		}
		return r
	}, s))
}

func bold(s string) string { return "<b>" + s + "</b>" }
