package spec

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexeme is one word or sign of a fact, a value, a type or a trigger.
type lexeme struct {
	text string
	at   int // in characters from the start of the text
}

// scan splits text at blanks and around the signs of comparison and `+`. What stands in
// single quotes is not split.
func scan(text string) []lexeme {
	var out []lexeme
	at, start, from := 0, -1, 0
	flush := func(end int) {
		if start >= 0 {
			out = append(out, lexeme{text[start:end], from})
			start = -1
		}
	}
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case c == '\'':
			if start < 0 {
				start, from = i, at
			}
			n := quotedLength(text[i:])
			at += utf8.RuneCountInString(text[i : i+n])
			i += n
			continue
		case c == ' ' || c == '\t' || c == '\n':
			flush(i)
		case strings.ContainsRune("=!<>", c):
			flush(i)
			n := 1
			for i+n < len(text) && n < 3 && strings.IndexByte("=<>", text[i+n]) >= 0 {
				n++
			}
			out = append(out, lexeme{text[i : i+n], at})
			i, at = i+n, at+n
			continue
		case c == '+':
			flush(i)
			out = append(out, lexeme{"+", at})
		default:
			if start < 0 {
				start, from = i, at
			}
		}
		i += size
		at++
	}
	flush(len(text))
	return out
}

// quotedLength is how many bytes of text, which starts with a single quote, are in
// quotes. Two quotes within are one; without an end it is all of the text.
func quotedLength(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '\'':
		case i+1 < len(text) && text[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return len(text)
}

// unquote reads a text in single quotes, in which two are one; problem says what is wrong.
func unquote(quoted string) (text, problem string) {
	if !strings.HasPrefix(quoted, "'") || quotedLength(quoted+"x") != len(quoted) {
		return "", "its quotes do not stand around it"
	}
	text = strings.ReplaceAll(quoted[1:len(quoted)-1], "''", "'")
	switch {
	case text == "":
		return "", "a text is never empty"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", "it holds a control character"
	}
	return text, ""
}

// QuoteWord writes a word of an enum as a specification does: a word with other characters
// than letters, digits and _ stands in single quotes.
func QuoteWord(name string) string {
	if wordForm.MatchString(name) && !reservedWord[name] {
		return name
	}
	return quoteText(name)
}

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
