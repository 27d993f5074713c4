package spec

import (
	"bytes"
	"regexp"
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
	if strings.Contains(message, "directive") || strings.Contains(message, "incompatible YAML") {
		at := max(bytes.LastIndex(src[:min(off, len(src))], []byte("\n%"))+1, 0)
		r.add(codeFeature, placeOf(src, at), len(lineAt(src, placeOf(src, at).Line)), "remove the line", "directives are not in the language")
		return
	}
	pos, n := syntaxPlace(src, off, line, message)
	if strings.Contains(message, "tab character") {
		for !tabbed(src, pos.Line) && placeOf(src, off).Line > pos.Line {
			pos.Line++
		}
	}
	hint := "put text with special characters in quotes; check brackets and indentation"
	switch {
	case tabbed(src, pos.Line):
		col := strings.IndexByte(lineAt(src, pos.Line), '\t')
		pos.Col, n = utf8.RuneCountInString(lineAt(src, pos.Line)[:col])+1, 1
		message, hint = "the line is indented with a tab", "indent with spaces: YAML does not allow tabs"
	case strings.Contains(message, "mapping values are not allowed"), strings.Contains(message, "could not find expected ':'"):
		if at, ok := tightColon(src, pos.Line); ok {
			pos, n = at, 1
			message, hint = "a `:` needs a space after it", "write `key: value`"
			break
		}
		if strings.Contains(message, "could not") {
			message, hint = "expected `:` after a key", "write `key: value` with a space after the colon"
			break
		}
		message, hint = "a `:` cannot stand here", "put text that holds `: ` in quotes, or check the indentation"
	case strings.Contains(message, "did not find expected ',' or"), strings.Contains(message, "did not find expected key"),
		strings.Contains(message, "did not find expected '-' indicator"):
		r.structure(src, pos, n)
		return
	case strings.Contains(message, "expected node content"):
		if r.bracket(src, pos.Line) { // the place is where the reading ended: nothing above it is to be tried
			return
		}
		message = "a value is missing here"
	case strings.Contains(message, "unexpected end of stream"):
		message, hint = "the text in quotes does not end", "close the quote"
	case strings.Contains(message, "cannot start any token"):
		message, hint = "no value can start with this character", "put the value in quotes"
	case strings.Contains(message, "alphabetic or numeric character"):
		message, hint = "a value cannot start with this character", "put text that starts with * or & in quotes"
	case strings.Contains(message, "<document start>"):
		message, hint = "the document has ended above", "remove the line, or indent it"
	case strings.Contains(message, "escape"), strings.Contains(message, "hexdecimal"):
		message, hint = "the quoted text holds an escape that YAML does not know", "use single quotes, or write the backslash twice"
	case strings.Contains(message, "document indicator"):
		message, hint = "the document ends within a text in quotes", "close the quote"
	case strings.Contains(message, "block sequence entries"):
		message, hint = "a list of lines cannot begin here", "put each `- ` on a line of its own below the key, or write `[a, b]`"
	case strings.Contains(message, "mapping keys"):
		message, hint = "a `?` cannot stand here", "put text that starts with ? in quotes"
	case strings.Contains(message, "indentation indicator"), strings.Contains(message, "comment or line break"):
		message, hint = "text of several lines cannot begin like this", "write `|` or `>` alone and the text below it, or put the text in quotes"
	case strings.Contains(message, "tag"), strings.Contains(message, "expected whitespace"),
		strings.Contains(message, "found unexpected non-alphabetical"):
		message, hint = "YAML reads a word that starts with ! as a tag", "put text that starts with ! in quotes"
	case strings.Contains(message, "max depth"):
		message, hint = "brackets or lists stand in each other too deep", "write fewer levels"
	default: // none of the library's words are for people who write specifications
		message = "this cannot be read as YAML"
	}
	r.add(codeSyntax, pos, n, hint, "%s", message)
}

// structure reports that something else was expected at a line: a bracket, a
// comma, a key. The library tells by the next token, which may stand lines
// below; a line is guilty when the file fails in the same way after it.
func (r *reporter) structure(src []byte, pos Pos, n int) {
	const back = 8
	for range back {
		if pos.Line == 1 || !failsBefore(src, pos.Line) {
			break
		}
		pos.Line--
		for pos.Line > 1 && strings.TrimSpace(lineAt(src, pos.Line)) == "" {
			pos.Line--
		}
		pos, n = wholeLine(src, pos.Line)
	}
	text := lineAt(src, pos.Line)
	if r.bracket(src, pos.Line) {
		return
	}
	if i := strings.Index(text, " !"); i >= 0 {
		r.add(codeSyntax, Pos{pos.Line, utf8.RuneCountInString(text[:i]) + 2}, 1, "put text that starts with ! in quotes", "YAML reads a word that starts with ! as a tag")
		return
	}
	if i := behindQuote(text); i >= 0 {
		r.add(codeSyntax, Pos{pos.Line, utf8.RuneCountInString(text[:i]) + 1}, max(utf8.RuneCountInString(strings.TrimSpace(text[i:])), 1),
			"put the whole text in quotes, and write a single quote inside of single quotes twice", "text follows the closing quote")
		return
	}
	r.add(codeSyntax, pos, n, "give all keys of one mapping the same indentation, and put text with special characters in quotes",
		"expected a key at the indentation of its neighbours")
}

// bracket reports the last bracket up to the end of a line that is not closed, or
// not by one of its kind; false when there is none.
func (r *reporter) bracket(src []byte, line int) bool {
	at, closed := openBracket(src, line)
	switch {
	case at.IsZero():
		return false
	case closed:
		r.add(codeSyntax, at, 1, "check the brackets from here on", "the brackets do not match")
	default:
		r.add(codeSyntax, at, 1, "close the bracket, or put a comma between the values",
			"this bracket is never closed")
	}
	return true
}

// failsBefore reports whether the text above a line is no YAML either.
func failsBefore(src []byte, line int) bool {
	end := 0
	for ; line > 1; line-- {
		i := bytes.IndexByte(src[end:], '\n')
		if i < 0 {
			break
		}
		end += i + 1
	}
	return !validYAML(src[:end])
}

var tightColonForm = regexp.MustCompile(`^\s*(?:- )?[a-z_]+(:)[^\s:]`)

// tightColon finds `key:value` on a line or the one above it.
func tightColon(src []byte, line int) (Pos, bool) {
	for n := line; n >= 1 && n >= line-1; n-- {
		if loc := tightColonForm.FindStringSubmatchIndex(lineAt(src, n)); loc != nil {
			return Pos{n, loc[2] + 1}, true
		}
	}
	return Pos{}, false
}

// behindQuote returns where text follows a closing quote, or -1.
func behindQuote(text string) int {
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote == 0 && (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" [{,", text[i-1]) >= 0):
			quote = c
		case quote != 0 && c == '\\' && quote == '"':
			i++
		case quote != 0 && c == quote && i+1 < len(text) && text[i+1] == quote && quote == '\'':
			i++
		case quote != 0 && c == quote:
			quote = 0
			rest := strings.TrimLeft(text[i+1:], " ")
			if rest != "" && strings.IndexByte(",]}:#", rest[0]) < 0 {
				return len(text) - len(rest)
			}
		}
	}
	return -1
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
		if i := bytes.LastIndexAny(read, "\t@`%>|"); i >= 0 {
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
	return wholeLine(src, placeOf(src, max(len(read)-1, 0)).Line)
}

// wholeLine returns the place and the length of what stands on a line.
func wholeLine(src []byte, line int) (Pos, int) {
	text := lineAt(src, line)
	start := len(text) - len(strings.TrimLeft(text, " \t"))
	return Pos{line, utf8.RuneCountInString(text[:start]) + 1}, max(utf8.RuneCountInString(strings.TrimSpace(text)), 1)
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

// openBracket returns the place of the last bracket up to the end of a line
// that is not closed there, or that is closed by one of the other kind; the
// zero place when there is none.
func openBracket(src []byte, line int) (at Pos, mismatch bool) {
	type bracket struct {
		at   Pos
		sign rune
	}
	var open []bracket
	here := Pos{1, 1}
	for _, c := range string(src) {
		if here.Line > line {
			break
		}
		switch c {
		case '[', '{':
			open = append(open, bracket{here, c})
		case ']', '}':
			if len(open) == 0 {
				if here.Line == line {
					return here, true
				}
				break
			}
			last := open[len(open)-1]
			if (last.sign == '[') != (c == ']') && here.Line == line {
				return last.at, true
			}
			open = open[:len(open)-1]
		case '\n':
			here = Pos{here.Line + 1, 0}
		}
		here.Col++
	}
	if len(open) == 0 {
		return Pos{}, false
	}
	return open[len(open)-1].at, false
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
