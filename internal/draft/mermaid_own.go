package draft

import (
	"regexp"
	"slices"
	"strings"
)

var (
	boldName  = regexp.MustCompile(`(?:^|<br/>)<b>([a-z0-9_]+)</b>`)
	loopForm  = regexp.MustCompile(`↻ ([a-z0-9_]+)([^↻]*)`)
	everyForm = regexp.MustCompile(`^every (other |non-final )?state(?: but (.*))?$`)
)

// recordOnly is how fsmgen says that a call changes nothing.
const recordOnly = ", recorded only"

// own reads the labels that `fsmgen diagram` writes: an arrow may be of several
// operations, and a box that stands for several states.
func (m *mermaid) own() {
	if legend := m.ids["legend"]; legend != nil {
		m.take(legend)
	}
	groups := map[*node]string{}
	for id, n := range m.ids {
		title := m.titles[n]
		switch {
		case m.marks[id] == "group":
			groups[n] = title
			m.take(n)
		case strings.HasPrefix(id, "s_"):
			n.name = id[2:]
			delete(m.titles, n)
		}
	}
	for _, n := range slices.Clone(m.root.children) {
		m.loops(n, []*node{n})
	}
	for _, a := range m.ended {
		a.from.kind = final
	}
	m.ended = nil
	for n, title := range groups {
		m.loops(n, m.members(title, nil))
	}
	var arrows []arrow
	for _, a := range m.arrows {
		from := []*node{a.from}
		if title, ok := groups[a.from]; ok {
			from = m.members(title, a.to)
		}
		if strings.HasSuffix(plainText(a.text), recordOnly) {
			m.lost(a.line, "of %s: %s", a.from.name, plainText(a.text))
			continue
		}
		for _, one := range operations(a) {
			for _, f := range from {
				one.from = f
				arrows = append(arrows, one)
			}
		}
	}
	m.arrows = arrows
	var starts []arrow
	for _, a := range m.starts {
		starts = append(starts, operations(a)...)
	}
	m.starts = starts
}

func (m *mermaid) take(n *node) {
	n.parent.children = slices.DeleteFunc(n.parent.children, func(c *node) bool { return c == n })
}

// operations parts an arrow: one for each operation of its label.
func operations(a arrow) (list []arrow) {
	names := boldName.FindAllStringSubmatchIndex(a.text, -1)
	if len(names) == 0 { // behind a point: a condition
		a.text = plainText(a.text)
		return []arrow{a}
	}
	for i, at := range names {
		end := len(a.text)
		if i+1 < len(names) {
			end = names[i+1][0]
		}
		one := a
		one.text = a.text[at[2]:at[3]]
		one.tail = strings.TrimSpace(strings.TrimPrefix(plainText(a.text[at[1]:end]), ":"))
		if j := strings.Index(one.tail, "]"); j > 0 && one.tail[0] == '[' {
			one.text += " " + strings.ReplaceAll(one.tail[:j+1], ",", " and")
			one.tail = strings.TrimSpace(one.tail[j+1:])
		}
		list = append(list, one)
	}
	return list
}

// loops reads what a box says that keeps a record in its state.
func (m *mermaid) loops(n *node, of []*node) {
	for _, p := range loopForm.FindAllStringSubmatch(n.doc, -1) {
		text := p[1]
		if i, j := strings.Index(p[2], "["), strings.Index(p[2], "]"); i >= 0 && j > i {
			text += " " + strings.ReplaceAll(p[2][i:j+1], ",", " and")
		}
		if strings.Contains(p[2], recordOnly) {
			m.lost(n.line, "of %s: %s", n.name, strings.TrimSpace(p[0]))
			continue
		}
		for _, o := range of {
			l := &move{when: onEvent, line: n.line}
			label(text, l)
			o.moves = append(o.moves, l)
		}
	}
	if loopForm.MatchString(n.doc) {
		n.doc = ""
	}
}

// members are the states for which a box stands: "every state but a, b".
func (m *mermaid) members(title string, to *node) (list []*node) {
	var names []string
	p := everyForm.FindStringSubmatch(title)
	said := title
	if p != nil {
		said = p[2]
	}
	for _, name := range strings.Split(said, ",") {
		names = append(names, strings.TrimSpace(name))
	}
	for _, n := range m.root.children {
		in := slices.Contains(names, n.name)
		if p != nil {
			in = !in && !(p[1] == "other " && n == to) && !(p[1] == "non-final " && n.kind == final)
		}
		if in && n.kind != choice {
			list = append(list, n)
		}
	}
	return list
}
