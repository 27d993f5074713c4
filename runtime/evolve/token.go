package evolve

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A schema is read as tokens, so that what the database kept of a statement can
// be compared with the generated one: white space, comments and IF NOT EXISTS
// make no difference.

// token is one word, quoted name, text, number or sign of a statement.
type token struct {
	text       string
	begin, end int
}

var tokenForm = regexp.MustCompile(`^(?s:` +
	`\s+|--[^\n]*|/\*.*?\*/` + // passed over
	`|'(?:[^']|'')*'|"(?:[^"]|"")*"|` + "`(?:[^`]|``)*`" + `|\[[^\]]*\]` + // texts and names
	`|\$(?:fsm)?\$.*?\$(?:fsm)?\$` + // the body of a function
	`|[\pL_][\pL\pN_$]*|\pN[\pL\pN_.]*` +
	`|.)`)

func tokens(text string) []token {
	var list []token
	for at := 0; at < len(text); {
		word := firstToken(text[at:])
		if word == "" { // no valid UTF-8
			word = text[at : at+1]
		}
		if strings.TrimSpace(word) != "" && !strings.HasPrefix(word, "--") && !strings.HasPrefix(word, "/*") {
			list = append(list, token{word, at, at + len(word)})
		}
		at += len(word)
	}
	return list
}

// firstToken is what tokenForm finds; a script has thousands, most of which need no
// expression.
func firstToken(text string) string {
	const inName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789$"
	switch c := text[0]; {
	case c == ' ' || c == '\n':
		if rest := strings.TrimLeft(text, " \t\n\f\r"); rest != "" {
			return text[:len(text)-len(rest)]
		}
	case strings.IndexByte(inName[:53], c) >= 0:
		rest := strings.TrimLeft(text, inName)
		if rest != "" && rest[0] < utf8.RuneSelf {
			return text[:len(text)-len(rest)]
		}
	case strings.IndexByte("(),;=<>+*|.", c) >= 0:
		return text[:1]
	}
	return tokenForm.FindString(text)
}

func (t token) is(words ...string) bool {
	for _, w := range words {
		if strings.EqualFold(t.text, w) {
			return true
		}
	}
	return false
}

// name returns the name that a token stands for.
func (t token) name() string {
	if n := len(t.text); n > 1 {
		switch t.text[0] {
		case '"', '`':
			return strings.ReplaceAll(t.text[1:n-1], t.text[:1]+t.text[:1], t.text[:1])
		case '[':
			return t.text[1 : n-1]
		}
	}
	return t.text
}

// canonical joins tokens, so that two statements that mean the same by their
// tokens are the same text. Words outside of quotes are read without their case.
func canonical(list []token) string {
	var b strings.Builder
	for i, t := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		if c := t.text[0]; c == '\'' || c == '"' || c == '$' {
			b.WriteString(t.text)
		} else {
			b.WriteString(strings.ToUpper(t.text))
		}
	}
	return b.String()
}

// statementEnd returns the index behind the semicolon of the statement. That of a
// trigger of SQLite ends with "; END ;".
func statementEnd(all []token, begin int) int {
	body := false
	for i := begin; i < len(all); i++ {
		switch {
		case all[i].is("BEGIN"):
			body = true
		case all[i].text == ";" && (!body || i >= 2 && all[i-1].is("END") && all[i-2].text == ";"):
			return i + 1
		}
	}
	return len(all)
}
