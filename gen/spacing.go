package gen

import (
	"go/doc/comment"
	"slices"
	"strings"
)

// spaced returns a line with the blanks of gofmt: jennifer sets some where gofmt has
// none, and none behind a comma. What is spaced already stays as it is; operators are
// not looked at, so emitters write them as gofmt has them. Within says that the line
// goes on with a condition. A line has no blanks at its ends.
func spaced(text string, within bool) string {
	b := make([]byte, 0, len(text)+8)
	block := within // a brace at the end begins statements: of a function, or behind a condition
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '/' && strings.HasPrefix(text[i:], "//") {
			return string(append(b, text[i:]...))
		}
		switch c {
		case '"', '\'', '`':
			end := literal(text, i)
			b = append(b, text[i:end]...)
			i = end - 1
		case ' ':
			for text[i+1] == ' ' { // something follows
				i++
			}
			if blankBefore(b, text[i+1:], block) {
				b = append(b, ' ')
			}
		case ',', ';':
			if b = append(b, c); i+1 < len(text) && text[i+1] != ' ' {
				b = append(b, ' ')
			}
		case '(':
			block = block || lastWord(b) == "func"
			b = append(b, c)
		case '{':
			if w := lastWord(b); (w == "struct" || w == "interface") && i+1 == len(text) {
				b = append(b, ' ')
			}
			b = append(b, c)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// literal returns where the text or the rune that begins at i ends.
func literal(text string, i int) int {
	quote := text[i]
	for i++; i < len(text) && text[i] != quote; i++ {
		if text[i] == '\\' && quote != '`' {
			i++
		}
	}
	return min(i+1, len(text))
}

// keywords are those that a bracket stands apart from.
var keywords = []string{"return", "if", "for", "switch", "case", "range", "import", "const", "var"}

// blankBefore reports whether a blank stays between what a line has and its rest.
// Block says that a brace at the end begins statements.
func blankBefore(line []byte, rest string, block bool) bool {
	last := line[len(line)-1]
	word := lastWord(line)
	named := word != "" && !slices.Contains(keywords, word)
	switch next := rest[0]; next {
	case ',', ';':
		return false
	case ':':
		return strings.HasPrefix(rest, ":=")
	case '(': // parameters, arguments; a receiver, results
		return !named && last != ']' || word == "func" && len(line) == len("func")
	case '[': // an index or type parameters; a slice or an array
		return !named || strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[.")
	case '{':
		switch {
		case len(rest) > 1: // elements; the body of a function, which has blanks on both sides
			return rest[1] == ' ' || !named && last != ']'
		case word == "struct" || word == "interface" || block:
			return true
		case line[0] == ')' || line[0] == '}':
			return true // the end of parameters
		}
		first, _, _ := strings.Cut(string(line), " ")
		return !named && last != ']' || slices.Contains([]string{"func", "if", "for", "switch"}, first)
	default: // the elements of a slice, an array or a map
		return last != ']' || next != '*' && !inName(next) || strings.HasPrefix(rest, "struct") || strings.HasPrefix(rest, "interface")
	}
}

// lastWord returns the name or the keyword that a line ends with.
func lastWord(line []byte) string {
	begin := len(line)
	for begin > 0 && inName(line[begin-1]) {
		begin--
	}
	return string(line[begin:])
}

// inName reports whether a name can hold the byte.
func inName(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' || b >= 0x80
}

// commented returns the lines of a doc comment as gofmt writes it. They have that form
// already, unless they hold what can mean something there: a list, a heading, a link,
// quotes, a line of its own.
func commented(lines []string) []string {
	empty := 0
	plain := true
	for _, line := range lines {
		if strings.HasPrefix(line, "//go:") {
			return lines
		}
		if line == "//" {
			empty++
		}
		plain = plain && !strings.HasPrefix(line, "// #") && !strings.HasPrefix(line, "// [") && !strings.HasPrefix(line, "//  ") &&
			!strings.Contains(line, "``") && !strings.Contains(line, "''")
	}
	if plain && empty < 2 {
		return lines
	}
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "//"), " ") + "\n")
	}
	made := string(new(comment.Printer).Comment(new(comment.Parser).Parse(text.String())))
	lines = strings.Split(strings.TrimSuffix(made, "\n"), "\n")
	for i, line := range lines {
		if line != "" && line[0] != '\t' {
			line = " " + line
		}
		lines[i] = "//" + line
	}
	return lines
}
