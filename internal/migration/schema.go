package migration

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/spec"
)

// schema is a generated schema, taken apart.
type schema struct {
	m        *spec.Machine
	sections map[string]string
	create   string // the statement that makes the table of the records
	columns  []column
	computed []column // what columns are that indexes name: see gen.schemaText
	checks   []check
	indexes  []index // of the table of the records
	triggers []object
	views    []object
	sets     []check // SQLite: rules about the members of sets, which stand in a trigger
	sorted   string  // PostgreSQL: the function that knows a set; empty when there is none
}

// column is one column of the records: its name and what stands behind it.
type column struct{ name, def string }

func (c column) mandatory() bool { return strings.HasSuffix(c.bare(), "NOT NULL") }

// computed reports whether the column is worked out of others, for indexes alone.
func (c column) computed() bool {
	return c.name == "_open" || strings.HasPrefix(c.name, "_in_") || strings.HasPrefix(c.name, "_minute_")
}

// bare is the definition without the default.
func (c column) bare() string {
	bare, _, _ := strings.Cut(c.def, " DEFAULT ")
	return bare
}

// standard is the default as SQL; empty when there is none.
func (c column) standard() string {
	_, constant, _ := strings.Cut(c.def, " DEFAULT ")
	return constant
}

// kind is the type without collation and nullability.
func (c column) kind() string {
	word, _, _ := strings.Cut(c.def, " ")
	return word
}

// check is one CHECK: its name, which is the rule in the words of the
// specification, and its condition.
type check struct{ name, sql string }

// index is one index over the records.
type index struct {
	name, text  string
	unique      bool
	keys, where string
}

// object is a trigger with its table, or a view.
type object struct{ name, table, text string }

var (
	quoted       = `"((?:[^"]|"")+)"`
	columnLine   = regexp.MustCompile(`^` + quoted + ` (.+)$`)
	checkLine    = regexp.MustCompile(`^CONSTRAINT ` + quoted + ` CHECK \((.*)\)$`)
	indexLine    = regexp.MustCompile(`^CREATE (UNIQUE )?INDEX IF NOT EXISTS ` + quoted + ` ON ` + quoted + ` (\(.*)$`)
	triggerLine  = regexp.MustCompile(`^CREATE (?:OR REPLACE |CONSTRAINT )*TRIGGER (?:IF NOT EXISTS )?` + quoted + ` .* ON ` + quoted)
	viewLine     = regexp.MustCompile(`^CREATE (?:OR REPLACE )?VIEW (?:IF NOT EXISTS )?` + quoted)
	computedLine = regexp.MustCompile(`(?m)^    NEW\."(_open|_in_[^"]+|_minute_[^"]+)" := (.*);$`)
	setFunction  = regexp.MustCompile(`(?s)CREATE OR REPLACE FUNCTION "fsm_is_set".*?\n\$fsm\$;`)
	setRule      = regexp.MustCompile(`(?s)SELECT RAISE\(ABORT, '((?:[^']|'')*)'\)\n    WHERE (.*?);\n`)
)

// generated returns the schema of a machine in a dialect, taken apart.
func generated(m *spec.Machine, dialect, enforce string) (*schema, error) {
	files, err := gen.Generate(m, gen.Options{Enforce: enforce})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(files, func(f gen.File) bool { return strings.HasSuffix(f.Name, "."+dialect+".sql") })
	if i < 0 {
		return nil, fmt.Errorf("no schema for %q; expected sqlite or postgres", dialect)
	}
	return takeApart(m, string(files[i].Data))
}

func takeApart(m *spec.Machine, text string) (*schema, error) {
	s := &schema{m: m, sections: map[string]string{}, sorted: setFunction.FindString(text)}
	section, begin := "", "CREATE TABLE IF NOT EXISTS "+quoteName(m.Name)+" ("
	inTable := false
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if name, ok := strings.CutPrefix(line, "-- section: "); ok {
			section = strings.TrimSpace(name)
			continue
		}
		s.sections[section] += line
		bare := strings.TrimSuffix(line, "\n")
		switch {
		case bare == begin:
			inTable, s.create = true, line
		case inTable:
			s.create += line
			if strings.HasPrefix(line, ")") {
				inTable = false
				continue
			}
			s.tableLine(strings.TrimSuffix(strings.TrimSpace(bare), ","))
		default:
			s.objectLine(bare, strings.Join(lines[i:], ""))
		}
	}
	for _, m := range computedLine.FindAllStringSubmatch(text, -1) {
		c := column{m[1], strings.ReplaceAll(m[2], "NEW.", "")}
		s.computed = append(s.computed, c)
		for i := range s.indexes { // queries look at rows that lack them yet
			s.indexes[i].where = strings.ReplaceAll(s.indexes[i].where, quoteName(c.name), c.def)
		}
	}
	if len(s.columns) < 5 || s.sections["tables"] == "" {
		return nil, fmt.Errorf("the generated schema of %s cannot be read: %d columns", m.Name, len(s.columns))
	}
	return s, nil
}

func (s *schema) tableLine(line string) {
	if m := checkLine.FindStringSubmatch(line); m != nil {
		s.checks = append(s.checks, check{unquote(m[1]), m[2]})
	} else if m := columnLine.FindStringSubmatch(line); m != nil {
		name, def := unquote(m[1]), strings.TrimSuffix(m[2], " PRIMARY KEY")
		s.columns = append(s.columns, column{name, def})
	}
}

// objectLine reads the beginning of an index, a trigger or a view; rest is the
// text from there on.
func (s *schema) objectLine(line, rest string) {
	if m := indexLine.FindStringSubmatch(line); len(m) > 4 && unquote(m[3]) == s.m.Name {
		text, _, _ := strings.Cut(rest, ";\n")
		keys, where, _ := strings.Cut(strings.TrimSuffix(m[4], ";"), ") WHERE ")
		if where == "" {
			keys = strings.TrimSuffix(keys, ")")
		}
		s.indexes = append(s.indexes, index{name: unquote(m[2]), text: text, unique: m[1] != "", keys: strings.TrimPrefix(keys, "("), where: where})
	}
	if m := triggerLine.FindStringSubmatch(line); m != nil {
		text, _, _ := strings.Cut(rest, "END;\n")
		t := object{name: unquote(m[1]), table: unquote(m[2]), text: text}
		s.triggers = append(s.triggers, t)
		if strings.HasSuffix(t.name, "_insert_sets") {
			for _, r := range setRule.FindAllStringSubmatch(text, -1) {
				broken := strings.Join(strings.Fields(strings.ReplaceAll(r[2], "NEW.", "")), " ")
				name := strings.TrimPrefix(unquoteText(r[1]), "fsm: "+s.m.Name+": ")
				s.sets = append(s.sets, check{name, broken})
			}
		}
	}
	if m := viewLine.FindStringSubmatch(line); m != nil {
		text, _, _ := strings.Cut(rest, ";\n")
		s.views = append(s.views, object{name: unquote(m[1]), text: text})
	}
}

// column returns the column of that name, or nil.
func (s *schema) column(name string) *column {
	for i := range s.columns {
		if s.columns[i].name == name {
			return &s.columns[i]
		}
	}
	return nil
}

// script returns the statements that make what is missing, without the row in
// the meta table.
func (s *schema) script() string {
	return strings.TrimSpace(s.sections["tables"]+s.sections["checks"]+s.sections["full"]) + "\n"
}

func quoteName(name string) string   { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
func unquote(name string) string     { return strings.ReplaceAll(name, `""`, `"`) }
func quoteText(text string) string   { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
func unquoteText(text string) string { return strings.ReplaceAll(text, "''", "'") }
