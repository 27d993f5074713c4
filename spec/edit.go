package spec

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// Without returns the edits that take the entry at a place out of its list or
// mapping: an item, a key, or the key whose value stands there. A list that would
// be empty goes with its key. It returns nil where the text of the entry has no
// clear end.
func (m *Machine) Without(pos Pos) []Edit {
	t, _ := m.textAt(pos)
	return t.without(pos)
}

func (t document) without(pos Pos) []Edit {
	at, ok := t.chains[pos]
	if !ok || at.in == nil {
		return nil
	}
	c := &at
	for up := c.in; len(up.starts()) == 1 && up.in != nil && (up.kind == listNode || up.in.keyOf(up.node) == "allow"); up = up.in {
		c = up
	}
	in, starts := c.in, c.in.starts()
	i := in.entry(c.node)
	from, to := t.span(in, starts[i])
	switch {
	case from < 0:
		return nil
	case in.flow && i+1 < len(starts):
		to = t.offset(starts[i+1])
	case in.flow && i > 0:
		_, from = t.span(in, starts[i-1])
	case !in.flow:
		own := in.kind == listNode || in.keyOf(c.node) == "allow" || in.in != nil && in.in.keyOf(in.node) == "allow"
		from, to = t.wholeLines(from, to, own)
	}
	if from < 0 || in.flow && bytes.Contains(t.src[from:to], []byte(" #")) { // a comment within stays
		return nil
	}
	return t.edit(from, to, "")
}

// Beside returns the edits that put one more item behind the one at a place. A
// value that stands alone becomes a list.
func (m *Machine) Beside(pos Pos, item string) []Edit {
	t, c := m.textAt(pos)
	switch {
	case c == nil:
		return nil
	case c.in.kind == listNode:
		from, to := t.span(c.in, pos)
		return t.behind(c.in, from, to, "- ", item)
	}
	return t.wrap(c.node, "[", ", "+item+"]")
}

// Instead returns the edits that put another value where one stands.
func (m *Machine) Instead(pos Pos, text string) []Edit {
	t, c := m.textAt(pos)
	if c == nil || c.kind != scalarNode || c.shift < 0 {
		return nil
	}
	from := t.offset(pos)
	return t.edit(from, from+len(runes(t.src[from:], c.size)), text)
}

// After returns the edits that put one more key behind the one that a place belongs to.
func (m *Machine) After(pos Pos, entry string) []Edit {
	t, c := m.textAt(pos)
	for ; c != nil && c.in != nil; c = c.in {
		if c.in.kind == mapNode {
			from, to := t.span(c.in, c.in.starts()[c.in.entry(c.node)])
			return t.behind(c.in, from, to, "", entry)
		}
	}
	return nil
}

// Extended returns the edits that add a key to the declaration of the field at a place.
// The short form, which has the type alone, is spelt out.
func (m *Machine) Extended(pos Pos, entry string) []Edit {
	t, c := m.textAt(pos)
	if c == nil || c.in.kind != mapNode {
		return nil
	}
	v := c.in.pairs[c.in.entry(c.node)].value
	if v.kind == mapNode && len(v.pairs) > 0 {
		return m.After(v.pairs[len(v.pairs)-1].key.pos, entry)
	}
	return t.wrap(v, "{type: ", ", "+entry+"}")
}

// wrap puts a text before and behind a value.
func (t document) wrap(n *node, before, behind string) []Edit {
	if n.kind != scalarNode || n.shift < 0 {
		return nil
	}
	from := t.offset(n.pos)
	text := string(runes(t.src[from:], n.size))
	return t.edit(from, from+len(text), before+text+behind)
}

// document is the text of a machine, in which places are looked for.
type document struct {
	src    []byte
	lines  []int         // where each line begins
	chains map[Pos]chain // the nodes from the root to the innermost that begins at a place
}

// chain is a node with those that it is in.
type chain struct {
	*node
	in *chain
}

// documentOf reads the text of a machine again, once. A text that nobody wrote by hand
// has no places.
func documentOf(m *Machine) document {
	const largest = 64 << 10
	if len(m.Source) > largest {
		return document{}
	}
	return readDocument(m.Source)
}

func readDocument(text []byte) document {
	t := document{chains: map[Pos]chain{}}
	r := &reporter{}
	src, ok := cleanText(r, text)
	if !ok {
		return t
	}
	t.src, t.lines = src, []int{0}
	for i, c := range src {
		if c == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	var visit func(n *node, in *chain)
	visit = func(n *node, in *chain) {
		c := chain{n, in}
		t.chains[n.pos] = c
		for _, item := range n.items {
			visit(item, &c)
		}
		for _, e := range n.pairs {
			visit(e.key, &c)
			visit(e.value, &c)
		}
	}
	if root := readYAML(r, src); root != nil {
		visit(root, nil)
	}
	return t
}

type documentKey struct{}

// textAt returns the text of the machine, and the innermost node that begins at a place
// within a list or a mapping, or nil.
func (m *Machine) textAt(pos Pos) (document, *chain) {
	t := Derived(m, documentKey{}, documentOf)
	if c, ok := t.chains[pos]; ok && c.in != nil {
		return t, &c
	}
	return t, nil
}

// offset returns the byte at a place.
func (t document) offset(pos Pos) int {
	at := t.lines[pos.Line-1]
	return at + len(runes(t.src[at:], pos.Col-1))
}

// starts are the places of the entries of a list or a mapping.
func (n *node) starts() []Pos {
	var list []Pos
	for _, c := range n.items {
		list = append(list, c.pos)
	}
	for _, e := range n.pairs {
		list = append(list, e.key.pos)
	}
	return list
}

// entry returns which entry of n the node is, or is part of.
func (n *node) entry(c *node) int {
	for i, item := range n.items {
		if item == c {
			return i
		}
	}
	for i, e := range n.pairs {
		if e.key == c || e.value == c {
			return i
		}
	}
	return -1
}

// keyOf returns the key of a value of the mapping n, "" where there is none.
func (n *node) keyOf(value *node) string {
	for _, e := range n.pairs {
		if e.value == value {
			return e.key.text
		}
	}
	return ""
}

// span returns the bytes of an entry of a list or a mapping that begins at a place,
// without what separates it from the next; -1 where that cannot be told. In a block
// the entry begins at its dash or key and ends with its last line.
func (t document) span(in *chain, start Pos) (from, to int) {
	from = t.offset(start)
	if in.flow {
		to = endInBrackets(t.src, from)
		return from, from + len(bytes.TrimRight(t.src[from:to], " \n"))
	}
	line := t.lines[start.Line-1]
	if in.kind == listNode {
		from = t.offset(Pos{start.Line, in.pos.Col})
		if t.src[from] != '-' {
			return -1, -1
		}
	}
	indent := from - line
	for i := start.Line - 1; i < len(t.lines); i++ {
		text, _, _ := bytes.Cut(t.src[t.lines[i]:], []byte("\n"))
		inner := bytes.TrimLeft(text, " ")
		if i >= start.Line && len(inner) > 0 && len(text)-len(inner) <= indent {
			break
		}
		if len(inner) > 0 {
			to = t.lines[i] + len(text)
		}
	}
	return from, to
}

// wholeLines widens an entry of a block to its lines, with the comment above it where that
// is its own. An entry that begins behind a dash has no line of its own.
func (t document) wholeLines(from, to int, own bool) (int, int) {
	line := bytes.LastIndexByte(t.src[:from], '\n') + 1
	indent := string(t.src[line:from])
	if strings.Trim(indent, " ") != "" {
		return -1, -1
	}
	for own && line > 0 {
		above := bytes.LastIndexByte(t.src[:line-1], '\n') + 1
		if !strings.HasPrefix(string(t.src[above:line]), indent+"#") {
			break
		}
		line = above
	}
	return line, min(to+1, len(t.src))
}

// behind puts an entry behind another one.
func (t document) behind(in *chain, from, to int, dash, entry string) []Edit {
	switch {
	case from < 0:
		return nil
	case in.flow:
		return t.edit(to, to, ", "+entry)
	}
	indent := from - bytes.LastIndexByte(t.src[:from], '\n') - 1
	end := "\n"
	if bytes.Contains(t.src, []byte("\r\n")) {
		end = "\r\n"
	}
	return t.edit(to, to, end+strings.Repeat(" ", indent)+dash+entry)
}

// edit replaces bytes of the text.
func (t document) edit(from, to int, text string) []Edit {
	line, met := slices.BinarySearch(t.lines, from)
	if !met {
		line--
	}
	pos := Pos{line + 1, utf8.RuneCount(t.src[t.lines[line]:from]) + 1}
	return []Edit{{Pos: pos, Len: utf8.RuneCount(t.src[from:to]), Text: text}}
}

// runes returns the first n characters; the two of a line's end on Windows are one.
func runes(src []byte, n int) []byte {
	at := 0
	for range n {
		if bytes.HasPrefix(src[at:], []byte("\r\n")) {
			at++
		}
		_, size := utf8.DecodeRune(src[at:])
		at += size
	}
	return src[:at]
}

// endInBrackets returns where an entry within brackets ends: at the comma behind it, or
// at the bracket that closes what it is in.
func endInBrackets(src []byte, at int) int {
	depth, begins := 0, true
	for ; at < len(src); at++ {
		switch c := src[at]; {
		case begins && (c == '"' || c == '\''):
			for at++; at < len(src) && src[at] != c; at++ {
				if c == '"' && src[at] == '\\' {
					at++
				}
			}
		case c == '[' || c == '{':
			depth++
		case depth > 0 && (c == ']' || c == '}'):
			depth--
		case depth == 0 && (c == ',' || c == ']' || c == '}'):
			return at
		}
		if at < len(src) {
			begins = strings.IndexByte(" \n[{,:", src[at]) >= 0
		}
	}
	return len(src)
}
