package spec

import (
	"slices"
	"strings"
)

// enclosure is a mapping or a list while its text is read.
type enclosure struct {
	node   *node
	parent *enclosure
	flow   bool
}

// landmark is a place that a comment can belong to: a key, a value, the dash
// of an item, or a bracket.
type landmark struct {
	node *node
	in   *enclosure // where the text goes on behind it
	kind landmarkKind
	col  int
}

type landmarkKind uint8

const (
	ofKey landmarkKind = iota + 1
	ofValue
	ofDash
	ofOpening
	ofClosing
	ofEnd
)

// remark is a comment on a line of its own, or an empty line.
type remark struct {
	text string
	col  int
}

// commenter reads a text once more for its comments, along the landmarks of
// its tree. The YAML library moves some comments to other keys and drops others.
type commenter struct {
	text      string
	line, col int
	marks     []landmark
	root      *node

	pending []remark
	in      *enclosure
	last    *node // the node behind which a comment of line lastOn stands
	lastOn  int
	empty   bool     // the line holds nothing so far
	all     []string // every comment, in order
}

// readComments gives each comment of the text to its node: one at the end of a
// line to what stands before it, one on a line of its own to what follows. A
// comment that is indented deeper than what follows ends the mapping or list
// before. It returns all comments in order.
func readComments(root *node, src []byte) []string {
	c := &commenter{text: string(src), line: 1, col: 1, root: root, empty: true}
	c.landmarks(root, nil)
	c.marks = append(c.marks, landmark{kind: ofEnd})
	c.read()
	return c.all
}

// landmarks lists the landmarks of n in the order of the file.
func (c *commenter) landmarks(n *node, in *enclosure) {
	inner := &enclosure{n, in, n.flow || in != nil && in.flow}
	switch n.kind {
	case scalarNode, nullNode:
		if n.text != "" || !n.plain {
			c.marks = append(c.marks, landmark{n, in, ofValue, n.pos.Col})
		}
		return
	case listNode, mapNode:
	default:
		return
	}
	if n.flow {
		c.marks = append(c.marks, landmark{n, inner, ofOpening, n.pos.Col})
	}
	for _, item := range n.items {
		if !inner.flow {
			c.marks = append(c.marks, landmark{item, inner, ofDash, n.pos.Col})
		}
		c.landmarks(item, inner)
	}
	for _, e := range n.pairs {
		c.marks = append(c.marks, landmark{e.key, inner, ofKey, e.key.pos.Col})
		c.landmarks(e.value, inner)
	}
	if n.flow {
		c.marks = append(c.marks, landmark{n, in, ofClosing, n.pos.Col})
	}
}

// read goes through the text.
func (c *commenter) read() {
	for c.text != "" {
		m := c.marks[0]
		at := m.kind == ofKey || m.kind == ofValue || m.kind == ofOpening
		switch sign := c.text[0]; {
		case at && m.node.pos == (Pos{c.line, c.col}), m.kind == ofDash && sign == '-' && c.col == m.col,
			m.kind == ofClosing && (sign == ']' || sign == '}'):
			c.reach(m)
		case sign == '#':
			c.comment()
		case sign == '\n':
			if c.empty {
				c.pending = append(c.pending, remark{})
			}
			c.skip(1)
		default:
			c.empty = c.empty && (sign == ' ' || sign == '\t')
			c.skip(1)
		}
	}
	c.flush(c.marks[0])
}

// skip passes over n bytes.
func (c *commenter) skip(n int) {
	for _, r := range c.text[:n] {
		c.col++
		if r == '\n' {
			c.line, c.col, c.empty = c.line+1, 1, true
		}
	}
	c.text = c.text[n:]
}

// comment takes the comment that begins here.
func (c *commenter) comment() {
	text, _, _ := strings.Cut(c.text, "\n")
	said := strings.TrimRight(text, " \t")
	c.all = append(c.all, strings.Join(strings.Fields(said), " "))
	if c.last != nil && c.lastOn == c.line {
		c.last.line = joinLines(c.last.line, said)
	} else {
		c.pending = append(c.pending, remark{said, c.col})
	}
	c.empty = false
	c.skip(len(text))
}

// reach gives what is pending to its places and passes over the landmark.
func (c *commenter) reach(m landmark) {
	c.flush(m)
	c.marks = c.marks[1:]
	c.last, c.lastOn = m.node, c.line
	switch {
	case m.kind == ofDash:
		c.skip(1)
		c.last = nil
	case m.kind == ofOpening || m.kind == ofClosing:
		c.skip(1)
	case m.node.block:
		c.below()
	case m.node.plain:
		c.plain(m.node.text)
		c.lastOn = c.line
	default:
		c.quoted()
		c.lastOn = c.line
	}
	c.empty = false
}

// plain passes over a text without quotes; it may go over several lines.
func (c *commenter) plain(text string) {
	for _, word := range strings.Fields(text) {
		n := len(c.text) - len(strings.TrimLeft(c.text, " \t\n"))
		if !strings.HasPrefix(c.text[n:], word) {
			return
		}
		c.skip(n + len(word))
	}
}

// quoted passes over a text in quotes.
func (c *commenter) quoted() {
	quote, i := c.text[0], 1
	for ; i < len(c.text); i++ {
		if c.text[i] == '\\' && quote == '"' || c.text[i] == '\'' && strings.HasPrefix(c.text[i:], "''") && quote == '\'' {
			i++
		} else if c.text[i] == quote {
			break
		}
	}
	c.skip(min(i+1, len(c.text)))
}

// below passes over a text below its key. Its lines are empty or indented as
// the first one; empty lines at its end are no part of it.
func (c *commenter) below() {
	head, _, _ := strings.Cut(c.text, "\n")
	head, _, said := strings.Cut(head, "#")
	within := -1
	if i := strings.IndexAny(head, "123456789"); i >= 0 {
		within = c.indent() + int(head[i]-'0')
	}
	if c.skip(len(head)); said {
		c.comment()
	}
	end := 0
	for i := 0; i < len(c.text); {
		line, _, _ := strings.Cut(c.text[i+1:], "\n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		i += 1 + len(line)
		if indent == len(line) {
			continue
		}
		if within < 0 {
			within = max(indent, c.indent()+1)
		}
		if indent < within {
			break
		}
		end = i
	}
	c.skip(end)
}

// indent is the indentation of the mapping or list that is being read.
func (c *commenter) indent() int {
	if c.in == nil {
		return -1
	}
	if at := c.in.node; len(at.pairs) > 0 {
		return at.pairs[0].key.pos.Col - 1
	}
	return c.in.node.pos.Col - 1
}

// flush gives the pending comments to what ends before the landmark and to the
// landmark itself.
func (c *commenter) flush(m landmark) {
	lines := c.pending
	c.pending = nil
	before := c.in
	c.in = m.in
	switch {
	case m.kind == ofClosing && len(m.node.items)+len(m.node.pairs) > 0:
		m.node.foot = append(m.node.foot, texts(lines)...)
		return
	case m.in == nil || !m.in.flow:
		lines = feet(lines, before, m)
	}
	to := &c.root.foot
	if m.kind != ofEnd {
		to = &m.node.head
	}
	said := texts(lines)
	if m.kind == ofKey || m.kind == ofDash || slices.ContainsFunc(said, func(s string) bool { return s != "" }) {
		*to = append(*to, said...)
	}
}

// feet gives comments to the mappings and lists that end before the landmark,
// and returns the rest.
func feet(lines []remark, before *enclosure, m landmark) []remark {
	var ended []*enclosure // innermost first
	for s := before; s != nil && !m.in.within(s); s = s.parent {
		if !s.flow {
			ended = append(ended, s)
		}
	}
	for len(ended) > 0 {
		i := slices.IndexFunc(lines, func(l remark) bool { return l.text != "" })
		if i < 0 || lines[i].col <= m.col {
			break
		}
		for len(ended) > 1 && (ended[0].node.pos.Col > lines[i].col || ended[1].node.pos.Col >= ended[0].node.pos.Col) {
			ended = ended[1:]
		}
		ended[0].node.foot = append(ended[0].node.foot, texts(lines[:i+1])...)
		lines = lines[i+1:]
	}
	return lines
}

// within reports whether s is the enclosure outer or lies in it.
func (s *enclosure) within(outer *enclosure) bool {
	for ; s != nil; s = s.parent {
		if s == outer {
			return true
		}
	}
	return false
}

func texts(lines []remark) []string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimSpace(l.text))
	}
	return out
}

// sameWords reports whether two lists of comments hold the same words, in any
// order.
func sameWords(a, b []string) bool {
	words := func(list []string) []string { return slices.Sorted(strings.FieldsSeq(strings.Join(list, " "))) }
	return slices.Equal(words(a), words(b))
}
