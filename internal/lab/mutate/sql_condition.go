package main

import (
	"regexp"
	"strings"
)

var (
	sqlList  = regexp.MustCompile(`(?s) IN \((\s*'.*)\)$`)
	sqlBound = regexp.MustCompile(`^[^<>=]* (<=|>=|<|>) [^<>=]*$`)
	sqlOther = map[string]string{"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
)

// condition changes the condition at object[start:end]: each part of an AND or
// an OR is left out, each word of a list, each bound is moved. Of a trigger,
// each part is turned around too.
func (s *sqlMaker) condition(start, end int, negate bool) {
	start, end = trimmed(s.object, start, end)
	text := s.object[start:end]
	for _, word := range []string{"OR", "AND"} {
		parts := splitCondition(text, word)
		if len(parts) == 1 {
			continue
		}
		for i, p := range parts {
			from, to := start+p[0], start+p[1]
			if i == 0 {
				to = start + parts[1][0]
			} else {
				from = start + parts[i-1][1]
			}
			s.change("drop "+strings.ToLower(word), text[p[0]:p[1]], from, to, "")
			s.condition(start+p[0], start+p[1], negate)
		}
		return
	}
	if negate {
		s.change("negate", text, start, end, "NOT ("+text+")")
	}
	switch inner := strings.TrimPrefix(strings.TrimPrefix(text, "NOT "), "EXISTS "); {
	case strings.HasPrefix(inner, "(") && closing(inner, 0) == len(inner)-1:
		at := end - len(inner) + 1
		if w := strings.LastIndex(inner, "WHERE "); strings.HasPrefix(inner, "(SELECT ") && w >= 0 {
			s.condition(at-1+w+len("WHERE "), end-1, false)
		} else if !strings.HasPrefix(inner, "(SELECT ") {
			s.condition(at, end-1, negate)
		}
	case sqlList.MatchString(text):
		l := sqlList.FindStringSubmatchIndex(text)
		s.words("drop word", start+l[2], start+l[3])
	case sqlBound.MatchString(text):
		b := sqlBound.FindStringSubmatchIndex(text)
		s.change("bound", text, start+b[2], start+b[3], sqlOther[text[b[2]:b[3]]])
	}
}

// words leaves out each word of a list.
func (s *sqlMaker) words(kind string, start, end int) {
	text := s.object[start:end]
	at := []int{0}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			i = quoted(text, i)
		case c == ',':
			at = append(at, i)
		}
	}
	if len(at) == 1 {
		return
	}
	for i, from := range at {
		to := len(text)
		if i+1 < len(at) {
			to = at[i+1]
		}
		if i == 0 {
			to++ // with the comma behind it
		}
		word := strings.TrimSpace(strings.Trim(text[from:to], ", \n"))
		s.change(kind, word, start+from, start+to, "")
	}
}

// splitCondition returns the places of the parts between a word that stands
// outside of parentheses and quotes.
func splitCondition(text, word string) [][2]int {
	var parts [][2]int
	from, between := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			i = quoted(text, i)
		case c == '(':
			i = closing(text, i)
		case isWord(text, i, "BETWEEN"):
			between = true
		case isWord(text, i, word):
			if word == "AND" && between {
				between = false
				continue
			}
			a, b := trimmed(text, from, i)
			parts = append(parts, [2]int{a, b})
			from = i + len(word)
		}
	}
	a, b := trimmed(text, from, len(text))
	return append(parts, [2]int{a, b})
}

func isWord(text string, at int, word string) bool {
	blank := func(i int) bool { return i < 0 || i >= len(text) || text[i] == ' ' || text[i] == '\n' }
	return strings.HasPrefix(text[at:], word) && blank(at-1) && blank(at+len(word))
}

// quoted returns the place of the quote that ends the one at text[at].
func quoted(text string, at int) int {
	for i := at + 1; i < len(text); i++ {
		if text[i] != text[at] {
			continue
		}
		if i+1 < len(text) && text[i+1] == text[at] {
			i++
			continue
		}
		return i
	}
	return len(text) - 1
}

// closing returns the place of the parenthesis that ends the one at text[at].
func closing(text string, at int) int {
	depth := 0
	for i := at; i < len(text); i++ {
		switch text[i] {
		case '\'', '"':
			i = quoted(text, i)
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text) - 1
}

// trimmed leaves out the blanks around text[start:end].
func trimmed(text string, start, end int) (int, int) {
	for start < end && (text[start] == ' ' || text[start] == '\n') {
		start++
	}
	for end > start && (text[end-1] == ' ' || text[end-1] == '\n') {
		end--
	}
	return start, end
}
