package chart

import (
	"fmt"
	"strings"
)

// D2 returns c as a diagram for D2.
func D2(c *Chart) []byte {
	d := &d2{c: c}
	d.line("# %s", Header)
	d.line("direction: down")
	d.line("title: %s {shape: text; near: top-center; style.font-size: 24; style.bold: true}", d2Quoted(c.Title))
	d.classes()
	d.nodes()
	d.edges()
	d.notes()
	d.derived()
	return d.buf.Bytes()
}

type d2 struct {
	text
	c *Chart
}

func (d *d2) classes() {
	d.line("classes: {")
	for _, r := range d.c.Roles() {
		p := Light[r]
		d.line("  %s: {style: {fill: %q; stroke: %q; font-color: %q; border-radius: 8}}", r, p.Fill, p.Stroke, p.Text)
	}
	d.line("  start: {shape: circle; width: 16; height: 16; style: {fill: \"#333333\"; stroke: \"#333333\"}}")
	d.line("  end: {shape: circle; width: 20; height: 20; style: {fill: \"#333333\"; stroke: \"#333333\"; double-border: true}}")
	d.line("  choice: {shape: diamond; width: 32; height: 32; style: {fill: \"#ffffff\"}}")
	d.line("  note: {shape: page; style: {fill: \"#ffffff\"; stroke: \"#999999\"; stroke-dash: 4}}")
	d.line("}")
}

func (d *d2) nodes() {
	seen := make(map[*Node]bool)
	for _, e := range d.c.Edges {
		if n := e.From; n.Kind == Start && !seen[n] {
			seen[n] = true
			d.line("%s: \"\" {class: start}", n.ID)
		}
	}
	for _, n := range d.c.Nodes {
		if n.Kind == Choice {
			d.line("%s: \"\" {class: choice}", n.ID)
			continue
		}
		if n.Kind == Group {
			d.line("%s: %s {style: {stroke-dash: 4; fill: \"#ffffff\"}}", n.ID, d2Lines(n.Notes))
			continue
		}
		around := ""
		if n.State.Terminal {
			around = "; style.double-border: true"
		}
		d.line("%s: %s {class: %s%s}", n.ID, d2Lines(append([]string{n.Name}, n.Notes...)), n.Role, around)
	}
	for _, e := range d.c.Edges {
		if n := e.To; n.Kind == End && !seen[n] {
			seen[n] = true
			d.line("%s: \"\" {class: end}", n.ID)
		}
	}
}

func (d *d2) edges() {
	same := func(s string) string { return s }
	for _, e := range d.c.Edges {
		l := fmt.Sprintf("%s -> %s", e.From.ID, e.To.ID)
		if lines := d.c.label(e, same, same); len(lines) > 0 {
			l += ": " + d2Lines(lines)
		}
		switch {
		case d.c.NeverTaken(e):
			l += fmt.Sprintf(" {style: {stroke: %q; stroke-dash: 4; font-color: %q}}", faint, faint)
		case d.c.Weighed && e.Count > 0:
			l += fmt.Sprintf(" {style.stroke-width: %.0f}", d.c.Width(e, 6))
		}
		d.line("%s", l)
	}
}

func (d *d2) notes() {
	if len(d.c.Guards) > 0 {
		lines := []string{"guards"}
		for _, g := range d.c.Guards {
			lines = append(lines, g.Name+": "+g.Meaning)
		}
		d.line("legend: %s {class: note; near: bottom-left}", d2Lines(lines))
	}
	if len(d.c.Never) > 0 {
		lines := []string{"never"}
		for _, f := range d.c.Never {
			lines = append(lines, neverSentence(f))
		}
		d.line("never: %s {class: note; near: bottom-right}", d2Lines(lines))
	}
}

func (d *d2) derived() {
	p := d.c.Derived()
	if p == nil {
		return
	}
	d.line("projection: %s {", d2Quoted(p.Title))
	d.indent = "  "
	for _, s := range p.States {
		d.line("d_%s: %s {style.border-radius: 8}", s.Name, d2Lines(append([]string{s.Name}, s.Rules...)))
	}
	for _, m := range p.Moves {
		d.line("d_%s -> d_%s", m[0], m[1])
	}
	d.indent = ""
	d.line("}")
}

// d2Lines returns a quoted string of several lines.
func d2Lines(lines []string) string {
	quoted := make([]string, len(lines))
	for i, l := range lines {
		q := d2Quoted(l)
		quoted[i] = q[1 : len(q)-1]
	}
	return `"` + strings.Join(quoted, `\n`) + `"`
}

// d2Quoted returns s as a quoted string; `$` would begin a variable.
func d2Quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`).Replace(printable(s)) + `"`
}
