package spec

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lines divides a text into the lines that [Render] shows.
func Lines(src []byte) [][]byte {
	return bytes.Split(bytes.TrimPrefix(src, byteOrderMark), []byte{'\n'})
}

// Render returns a finding with its place in the source:
//
//	lifecycle.yaml:97:9: error: state "stalld" is not declared [FSM010]
//	   97 |     to: stalld
//	      |         ^~~~~~
//	  hint: did you mean "stalled"?
//
// The lines are those of d.File as it was read; where one is not there the snippet is
// left out. Tabs and wide characters keep the mark under what it marks. The
// text ends with a line feed.
func Render(d Diagnostic, lines [][]byte) string {
	var b strings.Builder
	b.WriteString(d.String())
	b.WriteByte('\n')
	snippet(&b, lines, d.Pos, d.Len)
	if d.Before != "" {
		fmt.Fprintf(&b, "  before: %s\n", d.Before)
	}
	if d.After != "" {
		fmt.Fprintf(&b, "  after:  %s\n", d.After)
	}
	for _, r := range d.Related {
		fmt.Fprintf(&b, "  %s:%s: %s\n", d.File, r.Pos, r.Message)
		snippet(&b, lines, r.Pos, 1)
	}
	if d.Hint != "" {
		fmt.Fprintf(&b, "  hint: %s\n", strings.ReplaceAll(d.Hint, "\n", "\n        "))
	}
	return b.String()
}

// longestSnippet is the most characters of a source line that are shown.
const longestSnippet = 160

// snippet writes the line at pos and a mark under n characters of it.
func snippet(b *strings.Builder, lines [][]byte, pos Pos, n int) {
	if pos.IsZero() || pos.Line > len(lines) {
		return
	}
	full := strings.TrimSuffix(string(lines[pos.Line-1]), "\r")
	if full == "" && pos.Col <= 1 {
		return
	}
	line, start, cutLeft, cutRight := window(full, max(pos.Col-1, 0))
	n = max(min(n, len(line)-start), 1)
	before, after := "", ""
	if cutLeft {
		before = "... "
	}
	if cutRight {
		after = " ..."
	}
	var text, mark strings.Builder
	text.WriteString(before)
	mark.WriteString(strings.Repeat(" ", len(before)))
	for i, c := range line {
		c = visible(c)
		text.WriteRune(c)
		sign := " "
		switch {
		case i == start:
			sign = "^"
		case i > start && i < start+n:
			sign = "~"
		case i >= start+n:
			continue
		}
		switch {
		case c == '\t':
			if sign == " " {
				sign = "\t"
			}
			mark.WriteString(sign)
		case i == start && width(c) == 2:
			mark.WriteString("^~")
		default:
			mark.WriteString(strings.Repeat(sign, width(c)))
		}
	}
	if start >= len(line) {
		mark.WriteByte('^')
	}
	text.WriteString(after)
	fmt.Fprintf(b, "%5d | %s\n      | %s\n", pos.Line, text.String(), mark.String())
}

// window returns the characters of a line around character at, where that one
// is among them, and whether something is cut off.
func window(full string, at int) (line []rune, start int, left, right bool) {
	off := 0
	for ; start < at && off < len(full); start++ {
		_, size := utf8.DecodeRuneInString(full[off:])
		off += size
	}
	from, to := off, off
	taken := 0
	for ; taken < longestSnippet/2 && to < len(full); taken++ {
		_, size := utf8.DecodeRuneInString(full[to:])
		to += size
	}
	ahead := 0
	for ; taken < longestSnippet && from > 0; taken++ {
		_, size := utf8.DecodeLastRuneInString(full[:from])
		from -= size
		ahead++
	}
	for ; taken < longestSnippet && to < len(full); taken++ {
		_, size := utf8.DecodeRuneInString(full[to:])
		to += size
	}
	return []rune(full[from:to]), ahead, from > 0, to < len(full)
}

// visible replaces what a terminal would obey instead of show.
func visible(c rune) rune {
	if c != '\t' && (unicode.IsControl(c) || c == utf8.RuneError || unicode.Is(unicode.Bidi_Control, c)) {
		return '\ufffd'
	}
	return c
}

// width is the number of columns that a terminal gives to c.
func width(c rune) int {
	switch {
	case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case c >= 0x1100 && c <= 0x115f, c >= 0x2e80 && c <= 0xa4cf && c != 0x303f, c >= 0xac00 && c <= 0xd7a3, c >= 0xf900 && c <= 0xfaff,
		c >= 0xfe30 && c <= 0xfe6f, c >= 0xff00 && c <= 0xff60, c >= 0xffe0 && c <= 0xffe6, c >= 0x1f300 && c <= 0x1faff, c >= 0x20000 && c <= 0x3fffd:
		return 2
	}
	return 1
}
