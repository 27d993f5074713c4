package chart

import (
	"fmt"
	"slices"
	"strings"
)

// MermaidFlow returns c as a Mermaid flowchart: unlike a state diagram it
// colours states and weighs arrows.
func MermaidFlow(c *Chart) []byte {
	d := &mermaidFlow{c: c}
	d.line("---")
	d.line("title: %s", yamlQuoted(titleSigns.Replace(c.Title)))
	d.line("config:")
	d.line("  flowchart:")
	d.line("    curve: monotoneY") // as in Mermaid, and for the same reason
	d.line("---")
	d.line("%%%% %s", Header)
	d.line("flowchart TB")
	d.indent = "  "
	d.nodes()
	d.edges()
	d.legend()
	d.derived()
	d.classes()
	return d.buf.Bytes()
}

type mermaidFlow struct {
	text
	c *Chart
}

func (d *mermaidFlow) nodes() {
	loops := d.c.loops()
	for _, n := range d.c.Nodes {
		switch n.Kind {
		case State:
			lines := []string{n.title(bold)}
			for _, l := range loops[n] {
				lines = append(lines, mermaidEscape(l))
			}
			for _, l := range n.Notes {
				lines = append(lines, mermaidEscape(l))
			}
			d.line("%s(\"%s\"):::%s", n.ID, strings.Join(lines, "<br/>"), n.Role)
		case Choice:
			d.line("%s{\" \"}", n.ID)
		case Group:
			lines := []string{mermaidLines(n.Notes)}
			for _, l := range loops[n] {
				lines = append(lines, mermaidEscape(l))
			}
			d.line("%s[\"%s\"]:::group", n.ID, strings.Join(lines, "<br/>"))
		}
	}
	for _, e := range d.c.Edges {
		if e.From.Kind == Start {
			d.line("%s((\" \")):::dot", e.From.ID)
			break
		}
	}
	for _, e := range d.c.Edges {
		if e.To.Kind == End {
			d.line("%s(((\" \"))):::dot", e.To.ID)
			break
		}
	}
}

// arrows are the edges but for the loops, which stand in the boxes.
func (d *mermaidFlow) arrows() []*Edge {
	return slices.DeleteFunc(slices.Clone(d.c.Edges), (*Edge).Loop)
}

func (d *mermaidFlow) edges() {
	for _, e := range d.arrows() {
		lines := d.c.label(e, bold, mermaidEscape)
		if len(lines) == 0 {
			d.line("%s --> %s", e.From.ID, e.To.ID)
			continue
		}
		d.line("%s -->|\"%s\"| %s", e.From.ID, strings.Join(lines, "<br/>"), e.To.ID)
	}
}

// legend explains the guards and names the forbidden moves, each in a box. An
// arrow that is not drawn keeps it below the machine.
func (d *mermaidFlow) legend() {
	if len(d.c.Guards) > 0 {
		lines := []string{bold("guards")}
		for _, g := range d.c.Guards {
			lines = append(lines, mermaidEscape(g.Name+": "+g.Meaning))
		}
		d.line("legend[\"%s\"]:::note", strings.Join(lines, "<br/>"))
		d.line("%s ~~~ legend", d.c.last().ID)
	}
	if len(d.c.Never) > 0 {
		lines := []string{bold("never")}
		for _, f := range d.c.Never {
			lines = append(lines, mermaidEscape(neverSentence(f)))
		}
		d.line("never[\"%s\"]:::note", strings.Join(lines, "<br/>"))
		d.line("%s ~~~ never", d.c.last().ID)
	}
}

func (d *mermaidFlow) derived() {
	p := d.c.Derived()
	if p == nil {
		return
	}
	d.line("subgraph projection [\"%s\"]", mermaidEscape(p.Title))
	for _, s := range p.States {
		lines := []string{bold(s.Name)}
		for _, r := range s.Rules {
			lines = append(lines, mermaidEscape(r))
		}
		d.line("  d_%s(\"%s\"):::normal", s.Name, strings.Join(lines, "<br/>"))
	}
	for _, m := range p.Moves {
		d.line("  d_%s --> d_%s", m[0], m[1])
	}
	d.line("end")
}

func (d *mermaidFlow) classes() {
	for _, r := range d.c.Roles() {
		p := Light[r]
		d.line("classDef %s fill:%s,stroke:%s,color:%s", r, p.Fill, p.Stroke, p.Text)
	}
	if slices.ContainsFunc(d.c.Nodes, func(n *Node) bool { return n.Kind == Group }) {
		d.line("classDef group fill:none,stroke-dasharray:4")
	}
	d.line("classDef dot fill:#7d8695,stroke:#7d8695")
	d.line("classDef note fill:#fff,stroke:#999,color:#333,stroke-dasharray:4,text-align:left")
	for i, e := range d.arrows() {
		var style []string
		switch {
		case d.c.NeverTaken(e):
			style = append(style, "stroke:"+faint, "stroke-dasharray:4")
		case d.c.Weighed && e.Count > 0:
			style = append(style, "stroke-width:"+fmt.Sprintf("%.1f", d.c.Width(e, 6))+"px")
			fallthrough
		case d.c.GaveUp(e):
			if d.c.GaveUp(e) {
				style = append(style, "stroke-dasharray:4")
			}
		}
		if len(style) > 0 {
			d.line("linkStyle %d %s", i, strings.Join(style, ","))
		}
	}
}
