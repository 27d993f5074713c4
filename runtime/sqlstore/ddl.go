package sqlstore

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A schema is read as tokens, so that what the database kept of a statement can
// be compared with the generated one: white space, comments and IF NOT EXISTS
// make no difference.

// token is one word, quoted name, text, number or sign of a statement. space says
// what stood before it: nothing, blanks, or at least a line's end.
type token struct {
	text       string
	begin, end int
	newLine    bool // a line ended between the token before and this one
}

var tokenForm = regexp.MustCompile(`^(?s:` +
	`\s+|--[^\n]*|/\*.*?\*/` + // passed over
	`|'(?:[^']|'')*'|"(?:[^"]|"")*"|` + "`(?:[^`]|``)*`" + `|\[[^\]]*\]` + // texts and names
	`|\$(?:fsm)?\$.*?\$(?:fsm)?\$` + // the body of a function
	`|[\pL_][\pL\pN_$]*|\pN[\pL\pN_.]*` +
	`|.)`)

func tokens(text string) []token {
	var list []token
	newLine := false
	for at := 0; at < len(text); {
		word := firstToken(text[at:])
		if word == "" { // no valid UTF-8
			word = text[at : at+1]
		}
		if strings.TrimSpace(word) == "" || strings.HasPrefix(word, "--") || strings.HasPrefix(word, "/*") {
			newLine = newLine || strings.Contains(word, "\n")
		} else {
			list = append(list, token{word, at, at + len(word), newLine})
			newLine = false
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

// piece is one statement of a schema.
type piece struct {
	kind   string // table, index, trigger, view, function, comment; drop for a name that must not be there
	name   string // of a comment: what it is about, in the words of the statement
	table  string // of an index, a trigger or a comment
	text   string // the statement as it stands, with its semicolon
	is     string // canonical, from the name on
	pinned bool   // a function that looks into its own schema only
}

// pieces takes a generated schema apart.
func pieces(schema string) ([]piece, error) {
	var list []piece
	all := tokens(schema)
	for begin := 0; begin < len(all); {
		end := statementEnd(all, begin)
		p := pieceOf(all[begin:end])
		p.text = schema[all[begin].begin:all[end-1].end]
		if p.kind != "" {
			list = append(list, p)
		} else if strings.HasPrefix(p.text, "DO ") { // it pins functions to their schema
			for i := range list {
				list[i].pinned = list[i].pinned || list[i].kind == "function" && strings.Contains(p.text, "."+quote(list[i].name)+"()")
			}
		} else if !strings.HasPrefix(p.text, "DROP TRIGGER ") { // the trigger follows
			return nil, fmt.Errorf("this statement is neither CREATE nor DROP INDEX nor COMMENT: %.100s", p.text)
		}
		begin = end
	}
	return list, nil
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

// pieceOf reads the head of a CREATE or of a DROP INDEX.
func pieceOf(list []token) piece {
	var p piece
	i := 1
	switch {
	case len(list) < 3:
		return p
	case list[0].is("COMMENT"):
		return comment(list)
	case list[0].is("DROP") && list[1].is("INDEX"):
		p.kind = "drop"
		i = 2
	case list[0].is("CREATE"):
		for ; i < len(list) && p.kind == ""; i++ {
			if list[i].is("TABLE", "INDEX", "TRIGGER", "VIEW", "FUNCTION") {
				p.kind = strings.ToLower(list[i].text)
			}
		}
	default:
		return p
	}
	unique := ""
	if p.kind == "index" && list[1].is("UNIQUE") {
		unique = "UNIQUE "
	}
	for i < len(list) && list[i].is("IF", "NOT", "EXISTS") {
		i++
	}
	if i >= len(list) {
		return piece{}
	}
	p.name = list[i].name()
	rest := list[i:]
	if last := len(rest) - 1; rest[last].text == ";" {
		rest = rest[:last]
	}
	p.is = unique + canonical(rest)
	if p.kind == "index" || p.kind == "trigger" {
		for j, t := range rest {
			if t.is("ON") && j+1 < len(rest) {
				p.table = rest[j+1].name()
				break
			}
		}
	}
	return p
}

// item is a column or a constraint of a table.
type item struct {
	name   string // of the column; empty for a constraint
	rule   string // name of the constraint, where it has one
	is     string // canonical; of a column without the constraints that stand behind it
	check  string // of a CHECK: its name in quotes and its condition
	cond   string
	text   string // as it stands, what is behind it left out
	end    int    // of the text, in the statement
	behind []item // of a column: the constraints with a name that stand behind it
	// marked: it stands on a line of its own, as the generator writes it, or carries
	// the mark of a column that Migrate has added. Most columns of others do not.
	marked bool
}

// addedMark ends a column that was added to a table that is there.
const addedMark = "/* fsmgen */"

// tableItems takes the text of a table apart: its columns, its constraints in
// the order of the text, and what follows the parenthesis.
func tableItems(text string) (columns, constraints []item, tail string) {
	list := tokens(text)
	depth, begin := 0, 0
	for i, t := range list {
		switch t.text {
		case "(":
			if depth++; depth == 1 {
				begin = i + 1
			}
		case ")":
			depth--
		}
		if (depth == 1 && t.text == "," || depth == 0 && t.text == ")") && begin < i {
			if part := list[begin:i]; part[0].is("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN") {
				constraints = append(constraints, constraintsOf(text, part)...)
			} else {
				columns = append(columns, columnOf(text, part))
			}
			begin = i + 1
		}
		if depth == 0 && t.text == ")" {
			return columns, constraints, canonical(list[i+1:])
		}
	}
	return columns, constraints, ""
}

// columnOf reads a column.
func columnOf(text string, list []token) item {
	end, depth := len(list), 0
	for i, t := range list {
		switch {
		case t.text == "(":
			depth++
		case t.text == ")":
			depth--
		case depth == 0 && t.is("CONSTRAINT") && end == len(list):
			end = i
		}
	}
	last := list[len(list)-1].end
	raw, after := text[list[0].begin:last], text[last:min(len(text), last+len(addedMark)+1)]
	return item{name: list[0].name(), is: canonical(list[:end]), text: text[list[0].begin:list[end-1].end], end: last,
		behind: constraintsOf(text, list[end:]),
		marked: list[0].newLine || strings.Contains(raw, addedMark) || strings.TrimSpace(after) == addedMark}
}

// constraintsOf reads constraints that stand one behind the other.
func constraintsOf(text string, list []token) (constraints []item) {
	for begin := 0; begin < len(list); {
		end := begin + 1
		for end < len(list) && !list[end].is("CONSTRAINT") {
			end++
		}
		part := list[begin:end]
		k := item{is: canonical(part), text: text[part[0].begin:part[len(part)-1].end], end: part[len(part)-1].end}
		if len(part) > 1 && part[0].is("CONSTRAINT") {
			k.rule = part[1].name()
		}
		if len(part) > 4 && part[2].is("CHECK") {
			k.check, k.cond = part[1].name(), text[part[3].end:part[len(part)-1].begin]
		}
		constraints = append(constraints, k)
		begin = end
	}
	return constraints
}
