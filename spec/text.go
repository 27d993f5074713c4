package spec

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxSize is the largest file that is read. A machine of a hundred states
	// is far below it; what is above it is no specification.
	maxSize = 1 << 20
	// maxDepth is the deepest nesting that is read; the language needs six.
	maxDepth = 64
	// maxOpen stops input that would make the YAML library recurse without
	// measure. It counts brackets and indentation without knowing about
	// quotes, hence the distance to maxDepth.
	maxOpen = 512
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// cleanText returns src as YAML may see it: without a byte order mark and with
// line feeds for CRLF, so that columns count what an editor shows. It reports
// what no editor can show or what would take too much time or stack (FSM009).
func cleanText(r *reporter, src []byte) ([]byte, bool) {
	if len(src) > maxSize {
		r.add(codeUnreadable, Pos{1, 1}, 1,
			"split the machine, or move long texts out of the specification",
			"the file has %d bytes; a specification has at most %d", len(src), maxSize)
		return nil, false
	}
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		r.add(codeUnreadable, Pos{1, 1}, 1, "save the file as UTF-8", "the file is UTF-16; a specification is UTF-8")
		return nil, false
	}
	src = bytes.TrimPrefix(src, byteOrderMark)
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	if !checkCharacters(r, src) {
		return nil, false
	}
	if pos, deep := tooDeep(src); deep {
		r.addDepth(pos)
		return nil, false
	}
	return src, true
}

func (r *reporter) addDepth(pos Pos) {
	r.add(codeUnreadable, pos, 1, "the language needs no more than six levels; a bracket is probably not closed",
		"the file is nested deeper than %d levels", maxDepth)
}

// checkCharacters reports the first byte that is no UTF-8 and the first
// character that an editor does not show or that YAML takes for the end of a
// line while an editor does not.
func checkCharacters(r *reporter, src []byte) bool {
	pos := Pos{1, 1}
	for i := 0; i < len(src); {
		c, size := utf8.DecodeRune(src[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			r.add(codeUnreadable, pos, 1, "save the file as UTF-8", "byte 0x%02x is not UTF-8; a specification is UTF-8", src[i])
			return false
		case c == '\n':
			pos = Pos{pos.Line + 1, 1}
			i++
			continue
		case c == '\r':
			r.add(codeUnreadable, pos, 1, "end lines with a line feed", "a carriage return stands alone; lines end with LF or CRLF")
			return false
		case hidden(c):
			r.add(codeUnreadable, pos, 1, "remove the character", "character %s is not allowed in a specification", printable(c))
			return false
		}
		pos.Col++
		i += size
	}
	return true
}

// hidden reports whether an editor does not show the character, or takes it for
// the end of a line.
func hidden(c rune) bool {
	switch c {
	case '\t', '\n':
		return false
	case '\u2028', '\u2029', '\ufeff', '\ufffe', '\uffff':
		return true
	}
	return unicode.IsControl(c)
}

func printable(c rune) string {
	if c == 0 {
		return "NUL"
	}
	return fmt.Sprintf("%U", c)
}

// tooDeep estimates the nesting of the text and returns where it passes
// maxOpen. It errs towards reading on: text that deceives it meets the limits
// of the YAML library and of the tree builder.
func tooDeep(src []byte) (Pos, bool) {
	open := 0
	var indents []int
	for line := 1; len(src) > 0; line++ {
		text := src
		if i := bytes.IndexByte(src, '\n'); i >= 0 {
			text, src = src[:i], src[i+1:]
		} else {
			src = nil
		}
		col := 0
		for col < len(text) && text[col] == ' ' {
			col++
		}
		if col == len(text) {
			continue
		}
		if open == 0 {
			for len(indents) > 0 && indents[len(indents)-1] >= col {
				indents = indents[:len(indents)-1]
			}
			indents = append(indents, col)
			// `- - - x` and `? ? x` open one level each on a single line.
			for len(indents) <= maxOpen && col+1 < len(text) && (text[col] == '-' || text[col] == '?') && text[col+1] == ' ' {
				col += 2
				indents = append(indents, col)
			}
			if len(indents) > maxOpen {
				return Pos{line, col + 1}, true
			}
		}
		for ; col < len(text); col++ {
			switch text[col] {
			case '[', '{':
				open++
				if open+len(indents) > maxOpen {
					return Pos{line, utf8.RuneCount(text[:col]) + 1}, true
				}
			case ']', '}':
				open = max(open-1, 0)
			}
		}
	}
	return Pos{}, false
}

// article puts "a" or "an" before a word.
func article(word string) string {
	if word != "" && strings.ContainsRune("aeio", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}
