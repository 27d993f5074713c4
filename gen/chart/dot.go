package chart

import (
	"fmt"
	"strings"
)

// Dot returns c as a digraph for Graphviz.
func Dot(c *Chart) []byte {
	d := &dot{c: c}
	d.line("// %s", Header)
	d.line("digraph %s {", dotQuoted(c.Machine.Name))
	d.indent = "  "
	d.line("graph [label=%s, labelloc=t, fontname=\"Helvetica\", fontsize=16, ranksep=0.35, nodesep=0.4]", dotQuoted(c.Title))
	d.line("node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=12]")
	d.line("edge [fontname=\"Helvetica\", fontsize=10]")
	d.nodes()
	d.edges()
	d.notes()
	d.derived()
	d.indent = ""
	d.line("}")
	return d.buf.Bytes()
}

type dot struct {
	text
	c *Chart
}

func (d *dot) nodes() {
	start, end := false, false
	for _, e := range d.c.Edges {
		start, end = start || e.From.Kind == Start, end || e.To.Kind == End
	}
	if start {
		d.line("x_start [shape=circle, style=filled, fillcolor=\"#333333\", label=\"\", width=0.18]")
	}
	for _, n := range d.c.Nodes {
		if n.Kind == Choice {
			d.line("%s [shape=diamond, style=filled, fillcolor=\"#ffffff\", label=\"\", width=0.28, height=0.28]", n.ID)
			continue
		}
		if n.Kind == Group {
			d.line("%s [shape=box, style=dashed, color=\"#5b6472\", label=<%s>]", n.ID, strings.Join(escapedAll(n.Notes), "<br/>"))
			continue
		}
		p := Light[n.Role]
		lines := []string{n.title(func(s string) string { return bold(htmlEscape(s)) })}
		for _, l := range n.Notes {
			lines = append(lines, htmlEscape(l))
		}
		around := ""
		if n.State.Terminal {
			around = ", peripheries=2"
		}
		d.line("%s [label=<%s>, fillcolor=%q, color=%q, fontcolor=%q%s]", n.ID, strings.Join(lines, "<br/>"), p.Fill, p.Stroke, p.Text, around)
	}
	if end {
		d.line("x_end [shape=doublecircle, style=filled, fillcolor=\"#333333\", label=\"\", width=0.14]")
	}
}

func escapedAll(lines []string) []string {
	list := make([]string, len(lines))
	for i, l := range lines {
		list[i] = htmlEscape(l)
	}
	return list
}

func (d *dot) edges() {
	for _, e := range d.c.Edges {
		var attrs []string
		if lines := d.c.label(e, bold, htmlEscape); len(lines) > 0 {
			attrs = append(attrs, "label=<"+strings.Join(lines, "<br/>")+">")
		}
		switch {
		case d.c.NeverTaken(e):
			attrs = append(attrs, fmt.Sprintf("color=%q, fontcolor=%q, style=dashed", faint, faint))
		case d.c.GaveUp(e):
			attrs = append(attrs, "style=dashed")
			if d.c.Weighed && e.Count > 0 {
				attrs = append(attrs, fmt.Sprintf("penwidth=%.1f", d.c.Width(e, 6)))
			}
		case d.c.Weighed && e.Count > 0:
			attrs = append(attrs, fmt.Sprintf("penwidth=%.1f", d.c.Width(e, 6)))
		}
		if len(attrs) == 0 {
			d.line("%s -> %s", e.From.ID, e.To.ID)
			continue
		}
		d.line("%s -> %s [%s]", e.From.ID, e.To.ID, strings.Join(attrs, ", "))
	}
}

// notes are the guards and the forbidden moves, in a box each. An edge that is
// not drawn keeps it below the machine.
func (d *dot) notes() {
	if len(d.c.Guards) > 0 {
		lines := []string{bold("guards")}
		for _, g := range d.c.Guards {
			lines = append(lines, htmlEscape(g.Name+": "+g.Meaning))
		}
		d.note("legend", lines)
	}
	if len(d.c.Never) > 0 {
		lines := []string{bold("never")}
		for _, f := range d.c.Never {
			lines = append(lines, htmlEscape(neverSentence(f)))
		}
		d.note("never", lines)
	}
}

func (d *dot) note(id string, lines []string) {
	const left = "<br align=\"left\"/>"
	d.line("%s [shape=note, style=\"\", color=\"#999999\", fontsize=10, label=<%s>]", id, strings.Join(lines, left)+left)
	d.line("%s -> %s [style=invis]", d.c.last().ID, id)
}

func (d *dot) derived() {
	p := d.c.Derived()
	if p == nil {
		return
	}
	d.line("subgraph cluster_projection {")
	d.indent = "    "
	d.line("label=%s; style=\"rounded,dashed\"; color=\"#999999\"; fontsize=12", dotQuoted(p.Title))
	for _, s := range p.States {
		lines := []string{bold(htmlEscape(s.Name))}
		for _, r := range s.Rules {
			lines = append(lines, htmlEscape(r))
		}
		around := ""
		if s.Ends {
			around = ", peripheries=2"
		}
		d.line("d_%s [label=<%s>, fillcolor=\"#ffffff\"%s]", s.Name, strings.Join(lines, "<br/>"), around)
	}
	for _, m := range p.Moves {
		d.line("d_%s -> d_%s", m[0], m[1])
	}
	d.indent = "  "
	d.line("}")
}

// dotQuoted returns s as a quoted string of the language.
func dotQuoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(printable(s)) + `"`
}
