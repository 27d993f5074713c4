package evolve

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Piece is one statement of a schema.
type Piece struct {
	Kind   string // table, index, trigger, view, function, comment; drop for a name that must not be there
	Name   string // of a comment: what it is about, in the words of the statement
	Table  string // of an index, a trigger or a comment
	Text   string // the statement as it stands, with its semicolon
	Is     string // canonical, from the name on: two pieces with the same one mean the same
	Pinned bool   // a function that looks into its own schema only
}

// Unique reports whether the piece is a unique index.
func (p *Piece) Unique() bool { return strings.HasPrefix(p.Is, "UNIQUE ") }

// Column is one column of a table: its name and what stands behind it.
type Column struct{ Name, Def, Is string }

// Rule is a constraint of a table. Cond is the condition of a CHECK.
type Rule struct{ Name, Cond, Is, Text string }

// Table is a table of a schema, taken apart.
type Table struct {
	Piece
	Columns []Column
	Rules   []Rule
	tail    string // what follows the parenthesis
}

// Schema is a generated schema, taken apart.
type Schema struct {
	Pieces   []Piece
	Tables   map[string]*Table // by name in small letters
	Computed []Column          // PostgreSQL: the columns for indexes, with what they are
	Sets     []Rule            // SQLite: what is wrong with the members of sets, which a trigger says
	Sorted   string            // PostgreSQL: the function that knows a set; empty: none
}

var (
	computedLine = regexp.MustCompile(`(?m)^    NEW\."(_open|_in_[^"]+|_minute_[^"]+)" := (.*);$`)
	setRule      = regexp.MustCompile(`(?s)SELECT RAISE\(ABORT, '((?:[^']|'')*)'\)\n    WHERE (.*?);\n`)
)

// New returns a schema of nothing.
func New() *Schema { return &Schema{Tables: map[string]*Table{}} }

// Parse takes a schema apart: one that is generated, without the rows that it notes, or
// statements that a database has kept.
func Parse(text string) (*Schema, error) {
	s := New()
	all := tokens(text)
	for begin := 0; begin < len(all); {
		end := statementEnd(all, begin)
		p := pieceOf(all[begin:end])
		p.Text = text[all[begin].begin:all[end-1].end]
		switch {
		case p.Kind != "":
			s.Add(p)
		case strings.HasPrefix(p.Text, "DO "): // it pins functions to their schema
			for i := range s.Pieces {
				f := &s.Pieces[i]
				f.Pinned = f.Pinned || f.Kind == "function" && strings.Contains(p.Text, "."+Quote(f.Name)+"()")
			}
		case !strings.HasPrefix(p.Text, "DROP TRIGGER "): // the trigger follows
			return nil, fmt.Errorf("this statement is neither CREATE nor DROP INDEX nor COMMENT: %.100s", p.Text)
		}
		begin = end
	}
	return s, nil
}

// Add adds a piece, which may come from a database.
func (s *Schema) Add(p Piece) {
	s.Pieces = append(s.Pieces, p)
	switch {
	case p.Kind == "table":
		s.Tables[strings.ToLower(p.Name)] = tableOf(p)
	case p.Kind == "function" && p.Name == "fsm_is_set":
		s.Sorted = p.Text
	case p.Kind == "function":
		for _, m := range computedLine.FindAllStringSubmatch(p.Text, -1) {
			s.Computed = append(s.Computed, Column{Name: m[1], Def: strings.ReplaceAll(m[2], "NEW.", "")})
		}
	case p.Kind == "trigger" && strings.HasSuffix(p.Name, "_insert_sets"):
		for _, m := range setRule.FindAllStringSubmatch(p.Text, -1) {
			message := strings.ReplaceAll(m[1], "''", "'")
			_, name, _ := strings.Cut(strings.TrimPrefix(message, "fsm: "), ": ")
			s.Sets = append(s.Sets, Rule{Name: name, Cond: strings.Join(strings.Fields(strings.ReplaceAll(m[2], "NEW.", "")), " ")})
		}
	}
}

// Table returns the table of that name, or nil.
func (s *Schema) Table(name string) *Table { return s.Tables[strings.ToLower(name)] }

// Find returns the piece of that kind and name, or nil.
func (s *Schema) Find(kind, name string) *Piece {
	i := slices.IndexFunc(s.Pieces, func(p Piece) bool { return p.Kind == kind && strings.EqualFold(p.Name, name) })
	if i < 0 {
		return nil
	}
	return &s.Pieces[i]
}

// Of returns the pieces of a kind; of those with a table, the ones of this table.
func (s *Schema) Of(kind, table string) (list []Piece) {
	for _, p := range s.Pieces {
		if p.Kind == kind && (p.Table == "" || table == "" || strings.EqualFold(p.Table, table)) {
			list = append(list, p)
		}
	}
	return list
}

// Script returns the statements.
func (s *Schema) Script() string {
	var b strings.Builder
	for _, p := range s.Pieces {
		if p.Kind != "drop" {
			b.WriteString(strings.TrimSuffix(p.Text, ";") + ";\n")
		}
	}
	return b.String()
}

// Same reports whether both schemas make the same tables, indexes, triggers and views.
func (s *Schema) Same(other *Schema) bool {
	is := func(s *Schema) map[string]bool {
		all := map[string]bool{}
		for _, p := range s.Pieces {
			if p.Kind != "drop" && p.Name != "fsm_meta" {
				all[p.Kind+" "+p.Is] = true
			}
		}
		return all
	}
	return maps.Equal(is(s), is(other))
}

// pieceOf reads the head of a CREATE or of a DROP INDEX.
func pieceOf(list []token) Piece {
	var p Piece
	i := 1
	switch {
	case len(list) < 3:
		return p
	case list[0].is("COMMENT"):
		return comment(list)
	case list[0].is("DROP") && list[1].is("INDEX"):
		p.Kind = "drop"
		i = 2
	case list[0].is("CREATE"):
		for ; i < len(list) && p.Kind == ""; i++ {
			if list[i].is("TABLE", "INDEX", "TRIGGER", "VIEW", "FUNCTION") {
				p.Kind = strings.ToLower(list[i].text)
			}
		}
	default:
		return p
	}
	unique := ""
	if p.Kind == "index" && list[1].is("UNIQUE") {
		unique = "UNIQUE "
	}
	for i < len(list) && list[i].is("IF", "NOT", "EXISTS") {
		i++
	}
	if i >= len(list) {
		return Piece{}
	}
	p.Name = list[i].name()
	rest := list[i:]
	if last := len(rest) - 1; rest[last].text == ";" {
		rest = rest[:last]
	}
	p.Is = unique + canonical(rest)
	if p.Kind == "index" || p.Kind == "trigger" {
		for j, t := range rest {
			if t.is("ON") && j+1 < len(rest) {
				p.Table = rest[j+1].name()
				break
			}
		}
	}
	return p
}

// comment reads COMMENT ON COLUMN "table"."column" IS 'text', or one about a table or a
// constraint.
func comment(list []token) Piece {
	p := Piece{Kind: "comment"}
	for i, t := range list {
		switch {
		case i < 2:
		case t.is("IS"):
			text := list[i+1].text
			p.Is = strings.ReplaceAll(text[1:len(text)-1], "''", "'")
			return p
		case t.is("ON"):
			p.Name, p.Table = p.Name+" ON ", list[i+1].name()
		default:
			if i == 3 {
				p.Name, p.Table = p.Name+" ", t.name()
			}
			p.Name += t.text
		}
	}
	return Piece{}
}

// Quote quotes a name.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Literal quotes a text.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Sections returns the parts of a generated schema by name: a store that is opened at a lower
// level of enforcement leaves some out.
func Sections(schema string) map[string]string {
	parts := map[string]string{}
	name := ""
	for line := range strings.Lines(schema) {
		if after, ok := strings.CutPrefix(line, "-- section: "); ok {
			name = strings.TrimSpace(after)
			continue
		}
		parts[name] += line
	}
	return parts
}
