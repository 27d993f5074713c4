package chart

import (
	"fmt"
	"strings"
)

// PlantUML returns c as a state diagram for PlantUML.
func PlantUML(c *Chart) []byte {
	d := &plantuml{c: c}
	d.line("@startuml")
	d.line("' %s", Header)
	d.line("title %s", plantEscape(c.Title))
	d.line("hide empty description")
	d.line("skinparam shadowing false")
	d.nodes()
	d.edges()
	d.never()
	d.derived()
	d.legend()
	d.line("@enduml")
	return d.buf.Bytes()
}

type plantuml struct {
	text
	c *Chart
}

func (d *plantuml) nodes() {
	for _, n := range d.c.Nodes {
		if n.Kind == Choice {
			d.line("state %s <<choice>>", n.ID)
			continue
		}
		if n.Kind == Group {
			d.line("state \"%s\" as %s #line.dashed", strings.Join(plantAll(n.Notes), `\n`), n.ID)
			continue
		}
		p := Light[n.Role]
		d.line("state \"%s\" as %s %s;line:%s;text:%s", n.Name, n.ID, p.Fill, p.Stroke[1:], p.Text[1:])
		for _, l := range n.Notes {
			d.line("%s : %s", n.ID, plantEscape(l))
		}
	}
}

func plantAll(lines []string) []string {
	list := make([]string, len(lines))
	for i, l := range lines {
		list[i] = plantEscape(l)
	}
	return list
}

func plantID(n *Node) string {
	if n.Kind == Start || n.Kind == End {
		return "[*]"
	}
	return n.ID
}

func (d *plantuml) edges() {
	for _, e := range d.c.Edges {
		arrow := "-->"
		switch {
		case d.c.NeverTaken(e):
			arrow = "-[" + faint + ",dashed]->"
		case d.c.Weighed && e.Count > 0:
			arrow = fmt.Sprintf("-[thickness=%.0f]->", d.c.Width(e, 6))
		}
		lines := d.c.label(e, func(s string) string { return "**" + plantEscape(s) + "**" }, plantEscape)
		if len(lines) == 0 {
			d.line("%s %s %s", plantID(e.From), arrow, plantID(e.To))
			continue
		}
		d.line("%s %s %s : %s", plantID(e.From), arrow, plantID(e.To), strings.Join(lines, `\n`))
	}
}

func (d *plantuml) never() {
	for _, n := range d.c.Nodes {
		fs := d.c.never(n)
		if len(fs) == 0 {
			continue
		}
		d.line("note right of %s", n.ID)
		for _, f := range fs {
			l := "never to " + f.To.State.Name
			if f.Reason != "" {
				l += ": " + f.Reason
			}
			d.line("  %s", plantEscape(l))
		}
		d.line("end note")
	}
}

func (d *plantuml) derived() {
	p := d.c.Derived()
	if p == nil {
		return
	}
	d.line("state \"%s\" as projection {", plantEscape(p.Title))
	d.indent = "  "
	for _, s := range p.States {
		d.line("state \"%s\" as d_%s", s.Name, s.Name)
		for _, r := range s.Rules {
			d.line("d_%s : %s", s.Name, plantEscape(r))
		}
	}
	if p.Start != "" {
		d.line("[*] --> d_%s", p.Start)
	}
	for _, m := range p.Moves {
		d.line("d_%s --> d_%s", m[0], m[1])
	}
	for _, s := range p.States {
		if s.Ends {
			d.line("d_%s --> [*]", s.Name)
		}
	}
	d.indent = ""
	d.line("}")
}

func (d *plantuml) legend() {
	if len(d.c.Guards) == 0 {
		return
	}
	d.line("legend")
	for _, g := range d.c.Guards {
		d.line("  **%s**: %s", plantEscape(g.Name), plantEscape(g.Meaning))
	}
	d.line("end legend")
}

// plantEscape returns s as text that PlantUML shows as it is: signs of its
// markup become character entities. A single underscore or equals sign between
// others is no markup.
func plantEscape(s string) string {
	var b strings.Builder
	var before rune
	for _, r := range printable(s) {
		doubled := strings.ContainsRune("_=", r) && (before == 0 || before == r)
		if doubled || strings.ContainsRune(`\*/"~<>-&#{}|^%;@'!$`+"`", r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
		} else {
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}
