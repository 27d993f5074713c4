package spec

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// reportSyntax reports the YAML syntax error (FSM007) that ended the reading
// at byte off. The library names a line that is often not the guilty one, and
// no column; how far it had read tells both.
func reportSyntax(r *reporter, src []byte, off int, err error) {
	line, message := libraryError(err)
	if name, ok := strings.CutPrefix(message, "unknown anchor '"); ok {
		name = "*" + strings.TrimSuffix(name, "' referenced")
		at := max(bytes.LastIndex(src[:min(off, len(src))], []byte(name)), 0)
		r.add(codeFeature, placeOf(src, at), utf8.RuneCountInString(name), "put text that starts with * in quotes", "alias %q: aliases are not in the language", name)
		return
	}
	pos, n := syntaxPlace(src, off, line, message)
	hint := ""
	if strings.Contains(message, "tab character") {
		for !tabbed(src, pos.Line) && placeOf(src, off).Line > pos.Line {
			pos.Line++
		}
	}
	switch {
	case tabbed(src, pos.Line):
		col := strings.IndexByte(lineAt(src, pos.Line), '\t')
		pos.Col, n = utf8.RuneCountInString(lineAt(src, pos.Line)[:col])+1, 1
		message, hint = "a tab indents the line", "indent with spaces: YAML does not allow tabs"
	case strings.Contains(message, "mapping values are not allowed"):
		message = "a `:` cannot stand here"
		hint = "put text that holds `: ` in quotes, or check the indentation"
	case strings.Contains(message, "did not find expected key"), strings.Contains(message, "did not find expected '-' indicator"):
		message = "expected a key at the indentation of its neighbours"
		hint = "give all keys of one mapping the same indentation, and put text with special characters in quotes"
	case strings.Contains(message, "did not find expected ',' or"):
		message = "expected `,` or the closing bracket of the list or mapping"
		hint = "close the bracket, or put a comma between the values"
	case strings.Contains(message, "could not find expected ':'"):
		message = "expected `:` after a key"
		hint = "write `key: value` with a space after the colon"
	case strings.Contains(message, "unexpected end of stream"):
		message, hint = "the text in quotes does not end", "close the quote"
	case strings.Contains(message, "cannot start any token"):
		message, hint = "no value can start with this character", "put the value in quotes"
	case strings.Contains(message, "alphabetic or numeric character"):
		message, hint = "a value cannot start with this character", "put text that starts with * or & in quotes"
	case strings.Contains(message, "escape"):
		hint = "use single quotes, or write the backslash twice"
	}
	d := r.add(codeSyntax, pos, n, hint, "%s", message)
	if strings.Contains(message, "closing bracket") {
		d.related(openBracket(src, pos), "the bracket that is not closed")
	}
}

// syntaxPlace guesses the guilty place: usually the start of the last token
// that the library had read.
func syntaxPlace(src []byte, off, line int, message string) (Pos, int) {
	read := src[:min(off, len(src))]
	switch {
	case strings.Contains(message, "unexpected end of stream"), strings.Contains(message, "could not find expected ':'"):
		// The library names the line where the quote or the key begins.
		line = max(line, 1)
		text := lineAt(src, line)
		col := len(text) - len(strings.TrimLeft(text, " \t"))
		if q := openQuote(text); q >= 0 && strings.Contains(message, "end of stream") {
			col = q
		}
		return Pos{line, utf8.RuneCountInString(text[:min(col, len(text))]) + 1}, 1
	case strings.Contains(message, "mapping values are not allowed"):
		if i := bytes.LastIndexByte(read, ':'); i >= 0 {
			return placeOf(src, i), 1
		}
	case strings.Contains(message, "cannot start any token"):
		if i := bytes.LastIndexAny(read, "\t@`%"); i >= 0 {
			return placeOf(src, i), 1
		}
	case strings.Contains(message, "alphabetic or numeric character"):
		if i := bytes.LastIndexAny(read, "*&"); i >= 0 {
			return placeOf(src, i), 1
		}
	case strings.Contains(message, "escape"):
		if i := bytes.LastIndexByte(read, '\\'); i >= 0 {
			return placeOf(src, i), 2
		}
	}
	// Blank characters and the first character of the next token are read
	// ahead of what is wrong only when a line has ended.
	read = bytes.TrimRight(read, " \n\t")
	pos := placeOf(src, max(len(read)-1, 0))
	text := lineAt(src, pos.Line)
	start := len(text) - len(strings.TrimLeft(text, " \t"))
	return Pos{pos.Line, utf8.RuneCountInString(text[:start]) + 1}, max(utf8.RuneCountInString(strings.TrimSpace(text)), 1)
}

// placeOf returns the place of byte i.
func placeOf(src []byte, i int) Pos {
	i = min(i, len(src))
	start := bytes.LastIndexByte(src[:i], '\n') + 1
	return Pos{bytes.Count(src[:i], []byte{'\n'}) + 1, utf8.RuneCount(src[start:i]) + 1}
}

// lineAt returns line n without its end.
func lineAt(src []byte, n int) string {
	for ; n > 1; n-- {
		i := bytes.IndexByte(src, '\n')
		if i < 0 {
			return ""
		}
		src = src[i+1:]
	}
	if i := bytes.IndexByte(src, '\n'); i >= 0 {
		src = src[:i]
	}
	return string(src)
}

// tabbed reports whether a tab is part of the indentation of line n.
func tabbed(src []byte, n int) bool {
	text := lineAt(src, n)
	return strings.Contains(text[:len(text)-len(strings.TrimLeft(text, " \t"))], "\t")
}

// openBracket returns the place of the last bracket before pos that is not
// closed there, the zero place when there is none.
func openBracket(src []byte, pos Pos) Pos {
	var open []Pos
	at := Pos{1, 1}
	for _, c := range string(src) {
		if !at.Before(pos) {
			break
		}
		switch c {
		case '[', '{':
			open = append(open, at)
		case ']', '}':
			open = open[:max(len(open)-1, 0)]
		case '\n':
			at = Pos{at.Line + 1, 0}
		}
		at.Col++
	}
	if len(open) == 0 {
		return Pos{}
	}
	return open[len(open)-1]
}

// openQuote returns where a quote opens in the line that does not close there,
// or -1.
func openQuote(text string) int {
	open := -1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case open < 0 && (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" [{,:-", text[i-1]) >= 0):
			open = i
		case open >= 0 && c == '\\' && text[open] == '"':
			i++
		case open >= 0 && c == text[open]:
			open = -1
		}
	}
	return open
}
