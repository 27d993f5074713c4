package spec

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// formatWidth is the longest line with a list or a mapping in brackets.
const formatWidth = 110

// Format prints a specification in the canonical form: two spaces of
// indentation, quotes only where they are needed, one space around the signs
// of a fact, lengths of time in their largest unit, lists in brackets where
// they fit, an empty line around each section, comments at the end of lines in
// one column. The order of keys, and whether a mapping stands in brackets, are
// the author's.
//
// Comments stay with their keys; brackets with comments inside are opened. The
// result means the same (its Hash is the same) and does not change when it is
// printed again. A file that cannot be read is not printed: the findings say
// why; names are not looked up.
func Format(file string, src []byte) ([]byte, Diagnostics) {
	r := &reporter{file: file}
	text, ok := cleanText(r, src)
	if !ok {
		r.finish()
		return nil, r.found
	}
	root := readYAML(r, text)
	if root != nil {
		(&parser{reporter: r}).machine(root)
	} else if len(r.found) == 0 {
		return text, nil
	}
	if r.finish(); r.found.HasErrors() {
		return nil, r.found
	}
	if out, ok := printTree(root, text); ok {
		return out, r.found
	}
	return text, r.found // better untouched than changed
}

// printTree prints the tree of the text src. It is false when the result would
// not mean the same or not have all comments.
func printTree(root *node, src []byte) ([]byte, bool) {
	said := readComments(root, src)
	writeLengths(root, nil)
	p := &printer{}
	p.comment(0, root.head)
	p.mapping(root, 0, nil)
	out := p.bytes()
	again := readYAML(&reporter{}, out)
	return out, again != nil && sameTree(root, again, nil) && sameWords(said, readComments(again, out))
}

// sameTree reports whether two trees hold the same keys and values in the same
// order.
func sameTree(a, b *node, path []string) bool {
	if a.kind != b.kind || canonical(a.text, path) != canonical(b.text, path) || len(a.items) != len(b.items) || len(a.pairs) != len(b.pairs) {
		return false
	}
	for i := range a.items {
		if !sameTree(a.items[i], b.items[i], path) {
			return false
		}
	}
	for i := range a.pairs {
		x, y := a.pairs[i], b.pairs[i]
		if x.key.text != y.key.text || !sameTree(x.value, y.value, append(path[:len(path):len(path)], x.key.text)) {
			return false
		}
	}
	return true
}

// writeLengths writes the lengths of time in facts, values, triggers and types in their largest unit.
func writeLengths(n *node, path []string) {
	if n.kind == scalarNode && isFolded(path) {
		n.text = largestUnits(n.text)
	}
	for _, item := range n.items {
		writeLengths(item, path)
	}
	for _, e := range n.pairs {
		writeLengths(e.value, append(path[:len(path):len(path)], e.key.text))
	}
	if len(path) == 2 && path[0] == "fields" {
		value := func(key string) *node {
			if i := slices.IndexFunc(n.pairs, func(e pair) bool { return e.key.text == key }); i >= 0 {
				return n.pairs[i].value
			}
			return &node{}
		}
		if durationType.MatchString(value("type").text) {
			value("default").text = largestUnits(value("default").text)
		}
	}
}

// folded are the places of facts, values, triggers and types, whose blanks mean
// nothing; * is a name of the author's.
var folded = [][]string{
	{"invariant"}, {"states", "*", "invariant"}, {"guards", "*", "when"}, {"steps", "when"},
	{"operations", "*", "choose", "when"}, {"operations", "*", "next", "where"}, {"operations", "*", "each", "where"}, {"operations", "*", "trigger"},
	{"operations", "*", "set", "*"}, {"operations", "*", "add", "*"},
	{"operations", "*", "choose", "set", "*"}, {"operations", "*", "choose", "add", "*"},
	{"fields", "*"}, {"fields", "*", "type"}, {"operations", "*", "input", "*"}, {"operations", "*", "input", "*", "type"},
}

// canonical folds the blanks of text where they mean nothing.
func canonical(text string, path []string) string {
	if isFolded(path) {
		return fold(text)
	}
	return text
}

// isFolded reports whether a path leads to a fact, a value, a trigger or a type.
func isFolded(path []string) bool {
	is := func(f []string) bool {
		return slices.EqualFunc(f, path, func(pattern, key string) bool { return pattern == "*" || pattern == key })
	}
	if slices.ContainsFunc(folded, is) {
		return true
	}
	n := len(path) - 1
	return n > 0 && path[n] == "any" && isFolded(path[:n])
}

// outLine is one printed line; its comment is aligned in the end.
type outLine struct{ text, comment string }

type printer struct {
	out  []outLine
	lead int // of how many lists, one in another, the next line starts an item
}

// put adds a line.
func (p *printer) put(indent int, text, comment string) {
	blanks := strings.Repeat(" ", indent)
	if p.lead > 0 {
		blanks, p.lead = strings.Repeat(" ", indent-2*p.lead)+strings.Repeat("- ", p.lead), 0
	}
	p.out = append(p.out, outLine{blanks + text, comment})
}

func (p *printer) blank() {
	if n := len(p.out); n > 0 && p.out[n-1] != (outLine{}) {
		p.out = append(p.out, outLine{})
	}
}

// comment adds comment lines of their own.
func (p *printer) comment(indent int, lines []string) {
	indent -= 2 * p.lead
	for _, line := range lines {
		if line == "" {
			p.blank()
		} else {
			p.out = append(p.out, outLine{text: strings.Repeat(" ", indent) + line})
		}
	}
}

// above adds what stands above entry i: the first one has no empty line above.
func (p *printer) above(i, indent int, lines []string) {
	for i == 0 && len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	p.comment(indent, lines)
}

// mapping prints the entries of a mapping, one under the other.
func (p *printer) mapping(n *node, indent int, path []string) {
	after := false
	for i, e := range n.pairs {
		inner := append(path[:len(path):len(path)], e.key.text)
		section := len(path) == 0 && (e.value.kind == mapNode || e.value.kind == listNode && p.inline(e.value, inner, 0) == "")
		if i > 0 && (after || section) {
			p.blank()
		}
		after = section
		p.above(i, indent, e.key.head)
		p.value(scalar(e.key.text, !e.key.plain, true)+":", e.value, indent, inner, joinLines(e.key.line, e.value.line))
	}
	p.comment(indent, n.foot)
}

// value prints `key: value` in one line, or the value under the key.
func (p *printer) value(key string, v *node, indent int, path []string, comment string) {
	p.comment(indent, v.head)
	text := ""
	if len(path) > 1 || v.kind != mapNode || len(v.pairs) == 0 { // a section stands below its key
		text = p.inline(v, path, indent+utf8.RuneCountInString(key)+1)
	}
	if text != "" || v.kind == nullNode {
		p.put(indent, strings.TrimRight(key+" "+text, " "), comment)
		return
	}
	switch v.kind {
	case mapNode:
		p.put(indent, key, comment)
		p.mapping(v, indent+2, path)
	case listNode:
		p.put(indent, key, comment)
		p.list(v, indent+2, path)
	default:
		p.text(key, v, indent, comment)
	}
}

// list prints the items of a list, one under the other.
func (p *printer) list(n *node, indent int, path []string) {
	for i, item := range n.items {
		p.above(i, indent, item.head)
		if item.kind == listNode && len(item.items) > 0 { // what stands above its first item stands above it
			first := item.items[0]
			p.comment(indent, first.head)
			first.head = nil
		}
		p.lead++
		if text := p.inline(item, path, indent+2); text != "" {
			p.put(indent+2, text, item.line)
		} else if item.kind == mapNode {
			if item.line != "" {
				p.comment(indent+2, []string{item.line})
			}
			p.mapping(item, indent+2, path)
		} else if item.kind == listNode {
			last := item.items[len(item.items)-1]
			last.line = joinLines(last.line, item.line)
			p.list(item, indent+2, path)
		} else {
			p.text("", item, indent+2, item.line)
		}
	}
	p.comment(indent, n.foot)
}

// inline returns the value in one line that starts at column col, "" when it
// has to stand below.
func (p *printer) inline(n *node, path []string, col int) string {
	switch n.kind {
	case scalarNode:
		text := canonical(n.text, path)
		if strings.Contains(text, "\n") || col+utf8.RuneCountInString(text) > formatWidth && foldable(text) || n.block && foldable(text) {
			return ""
		}
		return scalar(text, !n.plain, false)
	case mapNode:
		if len(n.pairs) > 0 && !n.flow {
			return ""
		}
	case listNode:
	default:
		return ""
	}
	if commented(n) {
		return ""
	}
	text, ok := brackets(n, path)
	if !ok || col+utf8.RuneCountInString(text) > formatWidth && (len(n.items) > 1 || len(n.pairs) > 1) {
		return ""
	}
	return text
}

// commented reports whether n ends with a comment or a node inside of it has one.
func commented(n *node) bool {
	said := func(lines []string) bool {
		return slices.ContainsFunc(lines, func(s string) bool { return s != "" })
	}
	has := func(c *node) bool { return c.line != "" || said(c.head) || commented(c) }
	return said(n.foot) || slices.ContainsFunc(n.items, has) ||
		slices.ContainsFunc(n.pairs, func(e pair) bool { return has(e.key) || has(e.value) })
}

// brackets writes a value in brackets. A list of mappings is not written so.
func brackets(n *node, path []string) (string, bool) {
	var parts []string
	switch n.kind {
	case scalarNode:
		text := canonical(n.text, path)
		return scalar(text, !n.plain, true), !strings.Contains(text, "\n")
	case listNode:
		for _, item := range n.items {
			text, ok := brackets(item, path)
			if !ok || item.kind != scalarNode {
				return "", false
			}
			parts = append(parts, text)
		}
		return "[" + strings.Join(parts, ", ") + "]", true
	case mapNode:
		for _, e := range n.pairs {
			text, ok := brackets(e.value, append(path[:len(path):len(path)], e.key.text))
			if !ok {
				return "", false
			}
			parts = append(parts, scalar(e.key.text, !e.key.plain, true)+": "+text)
		}
		return "{" + strings.Join(parts, ", ") + "}", true
	}
	return "", false
}

// joinLines puts two comments of one line into one.
func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

// bytes aligns the comments of neighbouring lines and returns the text.
func (p *printer) bytes() []byte {
	const farthest = 72
	var b strings.Builder
	for start := 0; start < len(p.out); {
		end, col := start, 0
		for ; end < len(p.out) && p.out[end] != (outLine{}); end++ {
			if n := utf8.RuneCountInString(p.out[end].text); p.out[end].comment != "" && n <= farthest {
				col = max(col, n+2)
			}
		}
		for _, l := range p.out[start:end] {
			b.WriteString(l.text)
			if l.comment != "" {
				gap := max(col-utf8.RuneCountInString(l.text), 2)
				b.WriteString(strings.Repeat(" ", gap) + strings.Join(strings.Fields(l.comment), " "))
			}
			b.WriteByte('\n')
		}
		if end < len(p.out) && end < len(p.out)-1 {
			b.WriteByte('\n')
		}
		start = end + 1
	}
	return []byte(b.String())
}
