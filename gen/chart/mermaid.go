package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/fsmgen/fsmgen/spec"
)

// text is a text in the making.
type text struct {
	buf    bytes.Buffer
	indent string
}

func (t *text) line(format string, args ...any) {
	t.buf.WriteString(t.indent)
	fmt.Fprintf(&t.buf, format, args...)
	t.buf.WriteByte('\n')
}

// Mermaid returns c as a Mermaid stateDiagram-v2. What keeps a record in a
// state stands in its box: as loops their labels would lie on those of other
// arrows, and of two loops on one state Mermaid drops the first.
func Mermaid(c *Chart) []byte {
	d := &mermaid{c: c}
	d.line("---")
	d.line("title: %s", yamlQuoted(titleSigns.Replace(c.Title)))
	// Of Mermaid's curves this one runs through the middle of the arrow's
	// label; with the default, labels are moved and lie on each other.
	d.line("config:")
	d.line("  flowchart:")
	d.line("    curve: monotoneY")
	d.line("---")
	d.line("%%%% %s", Header)
	d.line("stateDiagram-v2")
	d.indent = "  "
	d.states()
	d.edges()
	d.forbidden()
	d.legend()
	d.projection()
	d.classes()
	return d.buf.Bytes()
}

// titleSigns replaces the signs that Mermaid takes for HTML in a title, where
// it knows no entities.
var titleSigns = strings.NewReplacer("<", "‹", ">", "›", "&", "＆")

// mermaid is one Mermaid text in the making.
type mermaid struct {
	text
	c *Chart
}

// mermaidID is how a node is named; no keyword of Mermaid looks like the id of
// a node.
func mermaidID(n *Node) string {
	if n.Kind == Start || n.Kind == End {
		return "[*]"
	}
	return n.ID
}

// loops says, one line each, what the nodes do without leaving the state.
func (c *Chart) loops() map[*Node][]string {
	lines := make(map[*Node][]string)
	for _, e := range c.Edges {
		if !e.Loop() {
			continue
		}
		for _, s := range e.Steps {
			words := append([]string{"↻ " + s.Operation.Name}, s.Lines...)
			if t := c.Taken(s); t != "" {
				words[0] += " " + t
			}
			lines[e.From] = append(lines[e.From], strings.Join(words, " "))
		}
	}
	return lines
}

// states declares every state and choice point.
func (d *mermaid) states() {
	loops := d.c.loops()
	for _, n := range d.c.Nodes {
		if n.Kind != State {
			continue
		}
		d.line("state \"%s\" as %s", n.title(strings.Clone), n.ID)
		for _, l := range loops[n] {
			d.line("%s : %s", n.ID, mermaidEscape(l))
		}
		for _, l := range n.Notes {
			d.line("%s : %s", n.ID, mermaidEscape(l))
		}
	}
	for _, n := range d.c.Nodes {
		switch n.Kind {
		case Choice:
			d.line("state %s <<choice>>", n.ID)
		case Group:
			d.line("state \"%s\" as %s", mermaidLines(n.Notes), n.ID)
			for _, l := range loops[n] {
				d.line("%s : %s", n.ID, mermaidEscape(l))
			}
		}
	}
}

func (d *mermaid) edges() {
	for _, e := range d.c.Edges {
		if e.Loop() {
			continue
		}
		lines := d.c.label(e, bold, mermaidEscape)
		from, to := mermaidID(e.From), mermaidID(e.To)
		if len(lines) == 0 {
			d.line("%s --> %s", from, to)
			continue
		}
		d.line("%s --> %s : %s", from, to, strings.Join(lines, "<br/>"))
	}
}

// forbidden writes one note per state that forbidden moves lead away from.
func (d *mermaid) forbidden() {
	for _, n := range d.c.Nodes {
		lines := d.c.never(n)
		if len(lines) == 0 {
			continue
		}
		d.line("note right of %s", n.ID)
		for _, f := range lines {
			l := "never to <b>" + f.To.State.Name + "</b>"
			if f.After {
				l = "never again to <b>" + f.To.State.Name + "</b>"
			}
			if reason := mermaidEscape(f.Reason); reason != "" {
				l += "#58; " + reason
			}
			d.line("  %s", l)
		}
		d.line("end note")
	}
}

// never returns the forbidden moves that lead away from the state of n.
func (c *Chart) never(n *Node) []*spec.Forbidden {
	var fs []*spec.Forbidden
	for _, f := range c.Never {
		if n.State != nil && f.From.State == n.State {
			fs = append(fs, f)
		}
	}
	return fs
}

// legend explains the names that stand in brackets on the arrows.
func (d *mermaid) legend() {
	if len(d.c.Guards) == 0 {
		return
	}
	d.line("state \"guards\" as legend")
	for _, g := range d.c.Guards {
		d.line("legend : %s", mermaidEscape(g.Name+": "+g.Meaning))
	}
	d.line("classDef legend fill:#fff,stroke:#999,color:#333,stroke-dasharray:4")
	d.line("class legend legend")
}

// classes gives the states their colours, with those of the text: they are
// legible on a light and on a dark page. Groups and states of no role have the
// colours of the theme.
func (d *mermaid) classes() {
	for _, r := range d.c.Roles() {
		if r == Normal {
			continue
		}
		var ids []string
		for _, n := range d.c.Nodes {
			if n.Kind == State && n.Role == r {
				ids = append(ids, n.ID)
			}
		}
		p := Light[r]
		d.line("classDef %s fill:%s,stroke:%s,color:%s", r, p.Fill, p.Stroke, p.Text)
		d.line("class %s %s", strings.Join(ids, ","), r)
	}
	var groups []string
	for _, n := range d.c.Nodes {
		if n.Kind == Group {
			groups = append(groups, n.ID)
		}
	}
	if groups != nil {
		d.line("classDef group fill:none,stroke-dasharray:4")
		d.line("class %s group", strings.Join(groups, ","))
	}
}

// projection draws the derived machine as a block of its own. What leads into
// a derived state stands in its box, since the rules and not the steps decide.
func (d *mermaid) projection() {
	p := d.c.Derived()
	if p == nil {
		return
	}
	d.line("state \"%s\" as projection {", mermaidEscape(p.Title))
	d.indent = "    "
	for _, s := range p.States {
		d.line("state \"%s\" as p_%s", s.Name, s.Name)
		for _, r := range s.Rules {
			d.line("p_%s : %s", s.Name, mermaidEscape(r))
		}
	}
	if p.Start != "" {
		d.line("[*] --> p_%s", p.Start)
	}
	for _, m := range p.Moves {
		d.line("p_%s --> p_%s", m[0], m[1])
	}
	for _, s := range p.States {
		if s.Ends {
			d.line("p_%s --> [*]", s.Name)
		}
	}
	d.indent = "  "
	d.line("}")
}

// mermaidLines returns lines as one text.
func mermaidLines(lines []string) string {
	escaped := make([]string, len(lines))
	for i, l := range lines {
		escaped[i] = mermaidEscape(l)
	}
	return strings.Join(escaped, "<br/>")
}

// mermaidEscape returns s as text that Mermaid shows as it is, inside a label, a note
// or a state's description. Everything but letters, digits, spaces and a few
// harmless signs becomes an entity code: `:` and `;` end a label, `#` begins an
// entity, `<` a tag, `%%` a comment, and `*`, `_` and backticks are markup.
func mermaidEscape(s string) string {
	var b strings.Builder
	rs := []rune(folded(s))
	for i, r := range rs {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune(" .,()[]=+!?/'-→≤≥×↻", r):
			b.WriteRune(r)
		case r == '_' && i > 0 && mermaidWord(rs[i-1]) && i+1 < len(rs) && mermaidWord(rs[i+1]):
			b.WriteRune(r) // inside a name it is no markup
		case r == '_':
			b.WriteString("#8203;#95;") // after a space of no width neither
		case r == '*':
			b.WriteRune('∗') // no entity helps: markup is read after they are
		default:
			b.WriteString("#" + strconv.Itoa(int(r)) + ";")
		}
	}
	return endNote.ReplaceAllString(b.String(), "$1#32;$2")
}

func mermaidWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// endNote is what ends a note, in any case and wherever it stands.
var endNote = regexp.MustCompile(`(?i)(end) (note)`)

// yamlQuoted returns s as a double-quoted YAML scalar; JSON's form is one.
func yamlQuoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return string(b)
}
