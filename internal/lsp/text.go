package lsp

import (
	"strings"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/spec"
)

// text is a text with the places where its lines begin.
type text struct {
	src   string
	lines []int
}

func newText(src string) text {
	t := text{src: src, lines: []int{0}}
	for i := range len(src) {
		if src[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// line returns a line without its end; it is empty where there is none.
func (t text) line(n int) string {
	if n < 0 || n >= len(t.lines) {
		return ""
	}
	end := len(t.src)
	if n+1 < len(t.lines) {
		end = t.lines[n+1] - 1
	}
	return strings.TrimSuffix(t.src[t.lines[n]:end], "\r")
}

// offset returns the byte at a position; one behind the end of a line or of the text is the end.
func (t text) offset(p position) int {
	if p.Line >= len(t.lines) {
		return len(t.src)
	}
	return t.lines[max(p.Line, 0)] + bytesOf(t.line(p.Line), p.Character)
}

// bytesOf is how many bytes the first UTF-16 units of a line have.
func bytesOf(line string, units int) int {
	at := 0
	for at < len(line) && units > 0 {
		c, size := utf8.DecodeRuneInString(line[at:])
		units -= unitsOf(c)
		at += size
	}
	return at
}

// unitsOf is how many UTF-16 units a character has.
func unitsOf(c rune) int {
	if c >= 0x10000 {
		return 2
	}
	return 1
}

// units is how many UTF-16 units a text has.
func units(s string) int {
	n := 0
	for _, c := range s {
		n += unitsOf(c)
	}
	return n
}

// place returns the place of a position.
func (t text) place(p position) spec.Pos {
	line := t.line(p.Line)
	return spec.Pos{Line: p.Line + 1, Col: utf8.RuneCountInString(line[:bytesOf(line, p.Character)]) + 1}
}

// rangeOf returns the range of n characters at a place. The end of a line is one character.
func (t text) rangeOf(p spec.Pos, n int) span {
	at := position{Line: max(p.Line-1, 0)}
	walk := func(n int) position {
		line := t.line(at.Line)
		rest := line[bytesOf(line, at.Character):]
		for ; n > 0; n-- {
			if rest == "" {
				if at.Line+1 >= len(t.lines) {
					break
				}
				at = position{Line: at.Line + 1}
				rest = t.line(at.Line)
				continue
			}
			c, size := utf8.DecodeRuneInString(rest)
			at.Character += unitsOf(c)
			rest = rest[size:]
		}
		return at
	}
	line := t.line(at.Line)
	start := walk(min(max(p.Col-1, 0), utf8.RuneCountInString(line)))
	return span{start, walk(n)}
}

// changed returns the text with the changes of a notification, in their order.
func (t text) changed(changes []contentChange) text {
	for _, c := range changes {
		if c.Range == nil {
			t = newText(c.Text)
			continue
		}
		from, to := t.offset(c.Range.Start), t.offset(c.Range.End)
		t = newText(t.src[:from] + c.Text + t.src[max(from, to):])
	}
	return t
}

// edits are those of a specification's text as the protocol has them.
func (t text) edits(list []spec.Edit) []textEdit {
	out := []textEdit{}
	for _, e := range list {
		out = append(out, textEdit{t.rangeOf(e.Pos, e.Len), e.Text})
	}
	return out
}

// replaced are the edits that make another text of t: one of the lines that differ.
func (t text) replaced(next string) []textEdit {
	if next == t.src {
		return []textEdit{}
	}
	to := newText(next)
	first := 0
	same := func(i, j int) bool { return t.whole(i) == to.whole(j) }
	for first < len(t.lines) && first < len(to.lines) && same(first, first) {
		first++
	}
	last, lastTo := len(t.lines), len(to.lines)
	for last > first && lastTo > first && same(last-1, lastTo-1) {
		last, lastTo = last-1, lastTo-1
	}
	r := span{position{Line: first}, position{Line: last}}
	if last == len(t.lines) {
		r.End = position{last - 1, units(t.line(last - 1))}
	}
	if first == len(t.lines) {
		r.Start = r.End
	}
	return []textEdit{{r, to.src[to.begin(first):to.begin(lastTo)]}}
}

// begin is the byte where a line begins; behind the last line it is the end.
func (t text) begin(n int) int {
	if n < len(t.lines) {
		return t.lines[n]
	}
	return len(t.src)
}

// whole is a line with its end.
func (t text) whole(n int) string { return t.src[t.begin(n):t.begin(n+1)] }
