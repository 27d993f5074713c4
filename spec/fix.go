package spec

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"
)

// Edit replaces Len characters at a place of the file by a text.
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
		to := from
		for range e.Len {
			_, size := utf8.DecodeRune(src[to:])
			to += size
		}
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
	for range pos.Col - 1 {
		_, size := utf8.DecodeRune(src[at:])
		at += size
	}
	return at
}

// keepFixes tries the edits of each finding and keeps those that make it go and
// lead to no other error. It tries few, and none in a file that nobody wrote by hand.
func (r *reporter) keepFixes(src []byte) {
	const mostTried, largest = 16, 64 << 10
	tried := 0
	for i := range r.found {
		d := &r.found[i]
		if len(d.Fix) == 0 {
			continue
		}
		if tried++; tried > mostTried || len(src) > largest || !r.leadsOut(src, *d) {
			d.Fix = nil
		}
	}
}

// leadsOut reports whether the edits of a finding make it go, and bring no other error.
func (r *reporter) leadsOut(src []byte, d Diagnostic) bool {
	edited, _ := Diagnostics{d}.Fixed(src)
	after := &reporter{file: r.file}
	after.parse(edited)
	after.finish()
	times := func(ds Diagnostics, of Diagnostic) (n int) {
		for _, f := range ds {
			if f.Code == of.Code && f.Message == of.Message {
				n++
			}
		}
		return n
	}
	if times(after.found, d) >= times(r.found, d) {
		return false
	}
	return !slices.ContainsFunc(after.found, func(f Diagnostic) bool { return f.Severity == Error && times(r.found, f) == 0 })
}
