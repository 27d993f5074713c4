package gen

import "strings"

// goToken is one of a line.
type goToken struct {
	text string
	kind kind
	role role
	near bool // a binary operator without blanks

	holds holds // of an opening bracket
	end   int   // where it is closed; the end of the line when it is not
}

// kind is what a token is by itself.
type kind uint8

const (
	word    kind = iota // a name
	keyword             // of the language
	literal             // a number, a text, a rune
	opening             // a bracket
	closing
	mark // an operator, or what separates
	remark
)

// role is what a token is where it stands, as far as blanks depend on it.
type role uint8

const (
	usual       role = iota
	unary            // an operator before its operand: close to it
	binary           // a blank on both sides
	tight            // none
	joined           // a bracket that is close to what stands before it
	apart            // a bracket with a blank before it
	inner            // a brace of a block on one line: a blank inside
	elementType      // the end of the brackets before an element type, which is close to them
	colon            // of a slice
)

// tokens appends the tokens of a line. It gives up at what no emitter writes, such as
// a raw string of several lines.
func tokens(list []goToken, line string) (_ []goToken, ok bool) {
	for i := 0; i < len(line); {
		begin, k := i, mark
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			i++
			continue
		case named(c):
			for i++; i < len(line) && named(line[i]); i++ {
			}
			switch {
			case '0' <= c && c <= '9':
				k = literal
				if i < len(line) && line[i] == '.' || strings.Trim(line[begin:i], "0123456789") != "" { // no emitter writes it
					return list, false
				}
			case isKeyword(line[begin:i]):
				k = keyword
			default:
				k = word
			}
		case c == '"' || c == '\'':
			for i++; i < len(line) && line[i] != c; i++ {
				if line[i] == '\\' {
					i++
				}
			}
			if i++; i > len(line) {
				return list, false
			}
			k = literal
		case c == '`':
			n := strings.IndexByte(line[i+1:], '`')
			if n < 0 {
				return list, false
			}
			i += n + 2
			k = literal
		case c == '(' || c == '[' || c == '{':
			i++
			k = opening
		case c == ')' || c == ']' || c == '}':
			i++
			k = closing
		case strings.HasPrefix(line[i:], "//"):
			i = len(line)
			k = remark
		default:
			n := markAt(line[i:])
			if n == 0 {
				return list, false
			}
			i += n
		}
		list = append(list, goToken{text: line[begin:i], kind: k})
	}
	return list, true
}

// named reports whether the byte can stand in a name.
func named(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' || b >= 0x80
}

// markAt returns the length of the operator that the text begins with; 0: none that an
// emitter writes.
func markAt(text string) int {
	next := byte(0)
	if len(text) > 1 {
		next = text[1]
	}
	switch text[0] {
	case ',', ';', '~':
		return 1
	case '.':
		if strings.HasPrefix(text, "...") {
			return 3
		}
		return 1
	case ':', '=', '!', '*', '%':
		if next == '=' {
			return 2
		}
		return 1
	case '+', '-', '|', '&':
		switch {
		case next == '=' || next == text[0]:
			return 2
		case text[0] == '&' && next == '^':
			return 0
		}
		return 1
	case '<', '>':
		switch next {
		case '=':
			return 2
		case '-', text[0]:
			return 0
		}
		return 1
	case '/':
		if next == '*' || next == '=' {
			return 0
		}
		return 1
	}
	return 0
}

// precedence is that of a binary operator; 0: it is none.
func precedence(op string) int {
	switch op {
	case "||":
		return 1
	case "&&":
		return 2
	case "==", "!=", "<", "<=", ">", ">=":
		return 3
	case "+", "-", "|":
		return 4
	case "*", "/", "%", "&":
		return 5
	}
	return 0
}

func isKeyword(name string) bool {
	switch name {
	case "break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "for", "func", "go", "goto", "if", "import",
		"interface", "map", "package", "range", "return", "select", "struct", "switch", "type", "var":
		return true
	}
	return false
}
