package spec

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// nodeKind is the kind of a node of the syntax tree.
type nodeKind uint8

const (
	scalarNode nodeKind = iota + 1
	nullNode
	listNode
	mapNode
	brokenNode // already reported: readers pass over it
)

// node is one YAML node: what the language needs of it, and where it stands.
type node struct {
	kind  nodeKind
	pos   Pos
	text  string // scalars: the value
	size  int    // length in the file in characters
	shift int    // column offset of text[0] from pos; -1 when the text is not in the file as it is
	plain bool   // a scalar without quotes
	block bool   // a scalar written with | or >
	flow  bool   // a mapping or list in brackets
	items []*node
	pairs []pair

	head, foot []string // comments above, and at the end of a mapping or list, "" for an empty line
	line       string   // the comment at the end of the line
}

// pair is one entry of a mapping.
type pair struct{ key, value *node }

// word returns the scalar as a piece of text with its place.
func (n *node) word() word { return word{pos: n.pos, text: n.text, size: n.size, shift: n.shift} }

// end returns the place of the last node within n.
func (n *node) end() Pos {
	last := n.pos
	visit := func(c *node) {
		if at := c.end(); last.Before(at) {
			last = at
		}
	}
	for _, c := range n.items {
		visit(c)
	}
	for _, e := range n.pairs {
		visit(e.key)
		visit(e.value)
	}
	return last
}

// span is the length to mark for the node.
func (n *node) span() int {
	if n.kind == scalarNode {
		return max(n.size, 1)
	}
	return 1
}

// readYAML returns the root of the only document in src, nil when there is
// none. The tree holds no anchors, aliases, tags or merge keys: they are
// reported (FSM008).
func readYAML(r *reporter, src []byte) *node {
	in := &byteReader{src: src}
	dec := yaml.NewDecoder(in)
	var doc yaml.Node
	if err := decode(dec, &doc); err != nil {
		if !errors.Is(err, io.EOF) {
			reportSyntax(r, src, in.off, err)
		}
		return nil
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" && doc.Content[0].Value == "" && doc.Content[0].Style == 0 {
		return nil
	}
	b := &treeBuilder{reporter: r, lines: splitLines(src)}
	b.directives()
	root := b.build(doc.Content[0], 0)
	if b.deep {
		return nil // what is read of such a file says nothing
	}
	var next yaml.Node
	err, pos := decode(dec, &next), secondDocument(b.lines)
	switch {
	case errors.Is(err, io.EOF):
	case err != nil && pos.Line == 1:
		reportSyntax(r, src, in.off, err)
		return nil
	default:
		r.add(codeFeature, pos, 3, "write each machine into a file of its own", "the file holds several YAML documents; it may hold one")
	}
	return root
}

// decode reads one document. The library reports its own mistakes by panics;
// they are turned into errors so that no input can end the program.
func decode(dec *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("yaml: the text cannot be read")
		}
	}()
	return dec.Decode(n)
}

// validYAML reports whether the first document of src can be read.
func validYAML(src []byte) bool {
	err := decode(yaml.NewDecoder(bytes.NewReader(src)), new(yaml.Node))
	return err == nil || errors.Is(err, io.EOF)
}

// byteReader hands out one byte at a time: off then tells how far the library
// had read when it met a syntax error, which it does not say itself.
type byteReader struct {
	src []byte
	off int
}

func (b *byteReader) Read(p []byte) (int, error) {
	if b.off >= len(b.src) {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	p[0] = b.src[b.off]
	b.off++
	return 1, nil
}

// treeBuilder copies the library's tree.
type treeBuilder struct {
	*reporter
	lines []string
	at    Pos // the place of byte off of its line
	off   int
	deep  bool
}

func (b *treeBuilder) build(y *yaml.Node, depth int) *node {
	n := &node{
		pos:  Pos{y.Line, y.Column},
		flow: y.Style&yaml.FlowStyle != 0,
	}
	if last := len(b.lines); n.pos.Line > last { // nothing behind the last key
		n.pos = Pos{last, utf8.RuneCountInString(b.lines[last-1]) + 1}
	}
	if depth > maxDepth {
		if !b.deep {
			b.addDepth(n.pos)
			b.deep = true
		}
		n.kind = brokenNode
		return n
	}
	if y.Anchor != "" && y.Kind != yaml.AliasNode {
		b.add(codeFeature, b.find(n.pos, "&"+y.Anchor), len(y.Anchor)+1, "write the value where it is needed", "anchor %q: anchors are not in the language", "&"+y.Anchor)
	}
	if y.Style&yaml.TaggedStyle != 0 {
		b.add(codeFeature, b.find(n.pos, "!"), 1, "remove the tag; the key says what the type is", "tag %q: tags are not in the language", y.Tag)
	}
	switch y.Kind {
	case yaml.AliasNode:
		b.add(codeFeature, n.pos, len(y.Value)+1, "write the value out", "alias %q: aliases are not in the language", "*"+y.Value)
		n.kind = brokenNode
	case yaml.SequenceNode:
		n.kind = listNode
		for _, c := range y.Content {
			n.items = append(n.items, b.build(c, depth+1))
		}
	case yaml.MappingNode:
		n.kind = mapNode
		for i := 0; i+1 < len(y.Content); i += 2 {
			if y.Content[i].Tag == "!!merge" {
				b.add(codeFeature, Pos{y.Content[i].Line, y.Content[i].Column}, 2, "write the keys out", "merge key %q: merge keys are not in the language", "<<")
				continue
			}
			n.pairs = append(n.pairs, pair{b.build(y.Content[i], depth+1), b.build(y.Content[i+1], depth+1)})
		}
	default:
		b.scalar(n, y)
	}
	return n
}

// scalar fills in a scalar and finds out whether its text stands in the file
// as it is, so that a place inside of it can be named.
func (b *treeBuilder) scalar(n *node, y *yaml.Node) {
	n.kind, n.text = scalarNode, y.Value
	if i := strings.IndexFunc(y.Value, hidden); i >= 0 { // only an escape can bring it here
		c, _ := utf8.DecodeRuneInString(y.Value[i:])
		b.add(codeUnreadable, n.pos, 1, "remove the escape, or write the character in words", "the text holds the character %s, which is not allowed in a specification", printable(c))
		n.kind = brokenNode
		return
	}
	if y.Tag == "!!null" && y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
		n.kind = nullNode
	}
	n.size, n.shift = 1, -1
	rest := b.from(n.pos)
	switch {
	case y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		n.block = true
	case y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		if len(rest) > 1 && strings.HasPrefix(rest[1:], y.Value) && len(rest) > 1+len(y.Value) && rest[1+len(y.Value)] == rest[0] {
			n.size, n.shift = utf8.RuneCountInString(y.Value)+2, 1
		}
	default:
		n.plain = true
		if strings.HasPrefix(rest, y.Value) {
			n.size, n.shift = max(utf8.RuneCountInString(y.Value), 1), 0
		}
	}
}

// from returns the rest of the line at pos. Nodes come in the order of the
// file, so it goes on where it was: a line may hold a hundred thousand nodes.
func (b *treeBuilder) from(pos Pos) string {
	if pos.Line < 1 || pos.Line > len(b.lines) {
		return ""
	}
	line := b.lines[pos.Line-1]
	if b.at.Line != pos.Line || b.at.Col > pos.Col {
		b.at, b.off = Pos{pos.Line, 1}, 0
	}
	for b.at.Col < pos.Col && b.off < len(line) {
		_, size := utf8.DecodeRuneInString(line[b.off:])
		b.off += size
		b.at.Col++
	}
	return line[b.off:]
}

// find returns the place of text on the line of pos, at or before pos when it
// is there: the library gives a node with a property the place of either.
func (b *treeBuilder) find(pos Pos, text string) Pos {
	if strings.HasPrefix(b.from(pos), text) {
		return pos
	}
	for line := pos.Line; line >= 1 && line >= pos.Line-1 && line <= len(b.lines); line-- {
		if i := strings.LastIndex(b.lines[line-1], text); i >= 0 {
			return Pos{line, utf8.RuneCountInString(b.lines[line-1][:i]) + 1}
		}
	}
	return pos
}

// directives reports the lines that begin with % above the document.
func (b *treeBuilder) directives() {
	for i, l := range b.lines {
		switch {
		case strings.HasPrefix(l, "%"):
			b.add(codeFeature, Pos{i + 1, 1}, utf8.RuneCountInString(l), "remove the line", "directives are not in the language")
		case strings.TrimSpace(l) != "" && !strings.HasPrefix(strings.TrimSpace(l), "#"):
			return
		}
	}
}

func splitLines(src []byte) []string {
	return strings.Split(string(bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))), "\n")
}

// secondDocument returns the place of the separator that opens the second
// document: the first one below the first line with content.
func secondDocument(lines []string) Pos {
	content := false
	for i, l := range lines {
		isMark := l == "---" || strings.HasPrefix(l, "--- ") || l == "..." || strings.HasPrefix(l, "... ")
		if isMark && content {
			return Pos{i + 1, 1}
		}
		t := strings.TrimSpace(l)
		content = content || t != "" && !isMark && !strings.HasPrefix(t, "#") && !strings.HasPrefix(t, "%")
	}
	return Pos{1, 1}
}

// libraryError splits "yaml: line 7: did not find expected key".
func libraryError(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if number, text, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				return n, text
			}
		}
	}
	return 0, message
}
