package spec

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"
)

// Edit replaces Len characters at a place of the file by a text. The end of a line
// is a character, too.
type Edit struct {
	Pos  Pos
	Len  int
	Text string
}

// fix says that text in the place of w makes the finding go.
func (d *Diagnostic) fix(w word, text string) {
	if text != "" && w.given() && w.shift >= 0 {
		inner := w.part(0, utf8.RuneCountInString(w.text), w.text) // quotes stay
		d.Fix = []Edit{{Pos: inner.pos, Len: inner.size, Text: text}}
	}
}

// Fixed returns src with the edits of all findings, and how many findings had
// some. Of edits that overlap the first one is made.
func (ds Diagnostics) Fixed(src []byte) ([]byte, int) {
	src = bytes.TrimPrefix(src, byteOrderMark)
	var edits []Edit
	n := 0
	for _, d := range ds {
		edits = append(edits, d.Fix...)
		n += min(len(d.Fix), 1)
	}
	slices.SortStableFunc(edits, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	var out []byte
	done := 0
	for _, e := range edits {
		from := offsetOf(src, e.Pos)
		if from < done {
			continue
		}
		to := from + len(runes(src[from:], e.Len))
		out = append(append(out, src[done:from]...), e.Text...)
		done = to
	}
	return append(out, src[done:]...), n
}

// offsetOf returns the byte at a place.
func offsetOf(src []byte, pos Pos) int {
	at := 0
	for range pos.Line - 1 {
		at += bytes.IndexByte(src[at:], '\n') + 1
	}
	return at + len(runes(src[at:], pos.Col-1))
}
