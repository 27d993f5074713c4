package draft

import (
	"cmp"
	"slices"
)

// leaf is a state of the draft.
type leaf struct {
	*node
	id     string // its name in the draft
	paths  string // the names of the file that lead to it, joined
	moves  []*move
	places []*node // the states around it, the outermost first
}

// flat is a tree whose states stand side by side.
type flat struct {
	*tree
	leaves []*leaf
	of     map[*node]*leaf
	groups []*group
	starts []*move // creations; their targets are leaves
}

// group is a state of the file that holds others.
type group struct {
	*node
	id     string
	leaves []*leaf
}

// flatten puts the states side by side and gives the moves of a state to those within.
func (t *tree) flatten() *flat {
	f := &flat{tree: t, of: map[*node]*leaf{}}
	f.regions(t.root)
	f.walk(t.root, nil, "")
	for _, l := range f.leaves {
		f.inherit(l)
	}
	f.begin()
	return f
}

// regions marks what stands beside the first region of a parallel state.
func (f *flat) regions(n *node) {
	for i, c := range n.children {
		if n.gone || n.kind == parallel && i > 0 {
			c.gone = true
		}
		if n.kind == parallel && i > 0 && !n.gone {
			f.lost(c.line, "the region %s of %s: states that hold at the same time are machines of their own (%s)", c.name, n.name, inside(c))
		}
		f.regions(c)
	}
}

// inside says what a region has.
func inside(n *node) string {
	text := ""
	var walk func(n *node)
	walk = func(n *node) {
		for _, m := range n.moves {
			what := m.event
			if what == "" {
				what = m.said
			}
			if m.target != nil {
				what += " -> " + m.target.name
			}
			text += n.name + ": " + what + "; "
		}
		for _, c := range n.children {
			if len(c.moves)+len(c.children) == 0 {
				text += c.name + "; "
			}
			walk(c)
		}
	}
	walk(n)
	if text == "" {
		return "without moves"
	}
	return text[:len(text)-2]
}

func isLeaf(n *node) bool {
	return len(n.children) == 0 && n.kind != history && n.kind != choice && !n.gone
}

func (f *flat) walk(n *node, around []*node, path string) {
	for _, c := range n.children {
		inner := c.name
		switch {
		case c.name == "": // a region without a name
			inner = path
		case path != "":
			inner = path + "_" + c.name
		}
		switch {
		case c.gone:
		case c.kind == history:
			f.lost(c.line, "the history %s: a move to it goes to where %s begins", c.name, cmp.Or(n.name, path, "the machine"))
		case c.kind == choice:
		case isLeaf(c):
			l := &leaf{node: c, paths: inner, places: around}
			f.leaves = append(f.leaves, l)
			f.of[c] = l
		default:
			g := &group{node: c}
			first := len(f.leaves)
			f.walk(c, append(around[:len(around):len(around)], c), inner)
			g.leaves = slices.Clone(f.leaves[first:])
			if len(g.leaves) == 0 { // it holds a history alone, and is a state itself
				c.children = nil
				l := &leaf{node: c, paths: inner, places: around}
				f.leaves = append(f.leaves, l)
				f.of[c] = l
			} else if c.name != "" {
				f.groups = append(f.groups, g)
			}
		}
	}
}

// arrive returns the leaf at which a move to n arrives.
func (f *flat) arrive(n *node) *leaf {
	for range 1000 {
		if l := f.of[n]; l != nil {
			return l
		}
		switch {
		case n.kind == history || n.gone:
			n = n.parent
			if n.kind == parallel && len(n.children) > 0 && f.of[n] == nil {
				n = n.children[0]
			}
		case n.initial != nil && n.initial != n && n.initial.within(n) && n.initial.kind != history && !n.initial.gone:
			n = n.initial
		case len(n.children) > 0:
			i := slices.IndexFunc(n.children, func(c *node) bool { return !c.gone && c.kind != history && c.kind != choice })
			if i < 0 {
				return f.first()
			}
			n = n.children[i]
		default:
			return f.first()
		}
	}
	return f.first()
}

func (f *flat) first() *leaf {
	if len(f.leaves) == 0 {
		return nil
	}
	return f.leaves[0]
}

// inherit gives a leaf its moves: its own, then those of the states around it.
func (f *flat) inherit(l *leaf) {
	blocked := map[string]bool{}
	for n := l.node; n != nil; n = n.parent {
		if n.parent != nil && n.parent.kind == parallel && n.parent.gone {
			break
		}
		var here []string
		for _, m := range n.moves {
			switch {
			case m.when == onEvent && blocked[m.event]:
			case m.blocks:
				here = append(here, m.event)
			case m.when == done && !(l.kind == final && l.parent == n):
			default:
				l.moves = append(l.moves, m)
			}
		}
		for _, e := range here {
			blocked[e] = true
		}
	}
}

// begin finds what makes records.
func (f *flat) begin() {
	for _, m := range f.root.moves {
		if m.when == creates {
			f.starts = append(f.starts, m)
		}
	}
	if len(f.starts) == 0 && len(f.leaves) > 0 {
		m := &move{when: creates, target: f.arrive(f.root).node, actions: f.root.entry}
		if f.root.initial == nil {
			m.remarks = []string{"guess: the file does not say where a record begins; it begins with the first state"}
			f.note(0, Guess, "the file does not say where a record begins; it begins in %s", m.target.name)
		}
		f.starts = append(f.starts, m)
	}
	for i, l := range f.leaves {
		f.leaves[i].moves = slices.DeleteFunc(l.moves, func(m *move) bool { return m.when == creates })
	}
}
