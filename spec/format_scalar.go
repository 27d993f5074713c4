package spec

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scalar writes text in one line: plain where YAML reads it back as the same
// text, else in quotes. A text that was quoted stays so where YAML would read
// the plain form as something else than text.
func scalar(text string, quoted, flow bool) string {
	switch {
	case plainForm(text, flow) && !(quoted && special(text)):
		return text
	case strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) && c != ' ' }),
		strings.HasPrefix(text, "'") && !strings.ContainsAny(text, `"\`): // a constant: "'new'"
		return doubleQuoted(text)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// plainForm reports whether YAML reads text back without quotes. It is
// stricter than YAML.
func plainForm(text string, flow bool) bool {
	if text == "" || strings.TrimSpace(text) != text || strings.HasSuffix(text, ":") ||
		strings.Contains(text, ": ") || strings.Contains(text, " #") || strings.HasPrefix(text, "---") || strings.HasPrefix(text, "...") {
		return false
	}
	first, size := utf8.DecodeRuneInString(text)
	if strings.ContainsRune("?:,[]{}#&*!|>'\"%@`<=", first) || first == '-' && (len(text) == size || text[1] == ' ' || text[1] == ',') {
		return false
	}
	if flow && (strings.ContainsAny(text, ",[]{}") || strings.Contains(text, ":") || first == '-' && !nameForm.MatchString(text[1:])) {
		return false
	}
	return !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) })
}

var numberLike = regexp.MustCompile(`^[-+.]?[0-9.]|^[-+]?\.(inf|nan)`)

// special reports whether YAML reads the plain text as a number, a time, a
// boolean or as nothing.
func special(text string) bool {
	low := strings.ToLower(text)
	return yaml11[low] || low == "y" || low == "n" || low == "~" || numberLike.MatchString(low)
}

func doubleQuoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(c):
			b.WriteRune(c)
		case c < 0x100:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// foldable reports whether text is one paragraph that can be written over
// several lines.
func foldable(text string) bool {
	text = strings.TrimSuffix(text, "\n")
	return text != "" && text == strings.Join(strings.Fields(text), " ") && !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) })
}

// text prints a text that does not fit one line: a paragraph is folded, other
// text keeps its lines, and what neither form can hold is put in quotes.
func (p *printer) text(key string, n *node, indent int, comment string) {
	text := n.text
	body, ends := strings.CutSuffix(text, "\n")
	chomp := "-"
	if ends {
		chomp = ""
	}
	put := func(sign string, lines []string) {
		p.put(indent, strings.TrimSpace(key+" "+sign+chomp), comment)
		for _, l := range lines {
			if l == "" {
				p.out = append(p.out, outLine{text: ""})
			} else {
				p.out = append(p.out, outLine{text: strings.Repeat(" ", indent+2) + l})
			}
		}
	}
	switch lines := strings.Split(body, "\n"); {
	case foldable(text):
		put(">", wrap(body, formatWidth-indent-2))
	case literal(lines):
		put("|", lines)
	default:
		p.put(indent, strings.TrimSpace(key+" "+doubleQuoted(text)), comment)
	}
}

// literal reports whether the lines can stand below `|` as they are. Empty
// lines could not be told from those between entries when they are printed.
func literal(lines []string) bool {
	for _, l := range lines {
		if l == "" || strings.TrimSpace(l) != l || strings.ContainsFunc(l, func(c rune) bool { return !unicode.IsPrint(c) }) {
			return false
		}
	}
	return true
}

// wrap breaks a paragraph into lines.
func wrap(text string, width int) []string {
	var lines []string
	line, n := "", 0
	for w := range strings.FieldsSeq(text) {
		size := utf8.RuneCountInString(w)
		if line != "" && n+1+size > width {
			lines, line, n = append(lines, line), "", 0
		}
		if line != "" {
			line, n = line+" ", n+1
		}
		line, n = line+w, n+size
	}
	return append(lines, line)
}
