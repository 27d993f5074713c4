package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/internal/lab/mutants"
)

// sqlMutant is a change of a schema: one text becomes another one. The text is
// that of a whole table, index, trigger or view, which stands there once.
type sqlMutant struct{ from, to string }

var (
	sqlTable   = regexp.MustCompile(`(?ms)^CREATE TABLE IF NOT EXISTS "([^"]+)" \(\n.*?^\) STRICT.*?;$`)
	sqlIndex   = regexp.MustCompile(`(?m)^CREATE (UNIQUE )?INDEX IF NOT EXISTS "([^"]+)" ON "[^"]+" \(([^;]*?)\)(?:\s+WHERE ([^;]*))?;$`)
	sqlTrigger = regexp.MustCompile(`(?ms)^CREATE TRIGGER IF NOT EXISTS "([^"]+)".*?^END;`)
	sqlCheck   = regexp.MustCompile(`(?m)^    CONSTRAINT "((?:[^"]|"")+)" CHECK \((.*)\),?$`)
	sqlKey     = regexp.MustCompile(`(?m)^    (?:CONSTRAINT "((?:[^"]|"")+)" UNIQUE|PRIMARY KEY) \(([^()]*)\),?$`)
	sqlNotNull = regexp.MustCompile(`(?m)^    "([^"]+)" [A-Z]+( NOT NULL)`)
	sqlEnd     = regexp.MustCompile(`(?m)^\)( STRICT)(?:,( WITHOUT ROWID))?;$`)
	sqlRaise   = regexp.MustCompile(`(?ms)^    SELECT RAISE\(ABORT, '((?:[^']|'')*)'\)(?:\n    WHERE (.*?))?;$`)
)

// sqlMaker collects the changes of a schema.
type sqlMaker struct {
	file, schema string
	list         []*mutants.Mutant
	changes      map[*mutants.Mutant]sqlMutant

	object string // the one that is changed
	at     int    // where it stands in the schema
	where  string // its name, for the report
}

// change notes that object[start:end] becomes to.
func (s *sqlMaker) change(kind, text string, start, end int, to string) {
	m := &mutants.Mutant{
		File: s.file, Line: 1 + strings.Count(s.schema[:s.at+start], "\n"), Func: s.where, Kind: kind, Text: mutants.OneLine(text),
		Number: len(s.list) + 1,
	}
	s.list = append(s.list, m)
	s.changes[m] = sqlMutant{s.object, s.object[:start] + to + s.object[end:]}
}

// each calls f for every object of a kind, with the places of its parts.
func (s *sqlMaker) each(kind *regexp.Regexp, name int, f func(parts []int)) {
	for _, o := range kind.FindAllStringSubmatchIndex(s.schema, -1) {
		s.object, s.at, s.where = s.schema[o[0]:o[1]], o[0], s.schema[o[2*name]:o[2*name+1]]
		parts := make([]int, len(o))
		for i := range o {
			if parts[i] = o[i]; o[i] >= 0 {
				parts[i] -= o[0]
			}
		}
		f(parts)
	}
}

// sqlMutants finds the changes of a schema.
func sqlMutants(file, schema string) ([]*mutants.Mutant, map[*mutants.Mutant]sqlMutant) {
	s := &sqlMaker{file: file, schema: schema, changes: map[*mutants.Mutant]sqlMutant{}}
	s.each(sqlTable, 1, func([]int) { s.table() })
	s.each(sqlIndex, 2, s.index)
	s.each(sqlTrigger, 1, func([]int) { s.trigger() })
	mutants.Count(s.list)
	return s.list, s.changes
}

// table changes columns and constraints.
func (s *sqlMaker) table() {
	for _, c := range sqlNotNull.FindAllStringSubmatchIndex(s.object, -1) {
		s.change("drop not null", s.object[c[2]:c[3]], c[4], c[5], "")
	}
	for _, c := range sqlCheck.FindAllStringSubmatchIndex(s.object, -1) {
		s.change("drop check", s.object[c[2]:c[3]], c[4], c[5], "1")
		s.condition(c[4], c[5], false)
	}
	for _, c := range sqlKey.FindAllStringSubmatchIndex(s.object, -1) {
		if c[2] >= 0 {
			s.change("drop unique", s.object[c[2]:c[3]], c[0], c[5]+1, `    CONSTRAINT "`+s.object[c[2]:c[3]]+`" CHECK (1)`)
		}
		s.words("drop column", c[4], c[5])
	}
	end := sqlEnd.FindStringSubmatchIndex(s.object)
	if end[4] < 0 {
		s.change("drop strict", "STRICT", end[2], end[3], "")
	} else {
		s.change("drop strict", "STRICT", end[2], end[4], "")
		s.change("drop without rowid", "WITHOUT ROWID", end[3], end[5], "")
	}
}

// index changes an index.
func (s *sqlMaker) index(parts []int) {
	unique := parts[2] >= 0
	if !unique {
		s.change("drop index", s.where, 0, len(s.object), "")
		return
	}
	s.change("drop unique index", s.where, 0, len(s.object), "")
	s.change("make not unique", s.where, parts[2], parts[3], "")
	s.words("drop column", parts[6], parts[7])
	if parts[8] >= 0 {
		s.change("drop where", s.object[parts[8]:parts[9]], parts[7]+1, parts[9], "")
		s.condition(parts[8], parts[9], false)
	}
}

// trigger changes a trigger and what it refuses.
func (s *sqlMaker) trigger() {
	s.change("drop trigger", s.where, 0, len(s.object), "")
	raises := sqlRaise.FindAllStringSubmatchIndex(s.object, -1)
	for _, r := range raises {
		if len(raises) > 1 {
			s.change("drop raise", s.object[r[2]:r[3]], r[0], r[1], "    SELECT 1;")
		}
		if r[4] >= 0 {
			s.condition(r[4], r[5], true)
		}
	}
}

// sqlGroup returns the mutants of a machine's SQLite schema. They are judged by
// the generated tests over SQLite: first by the attempts past the engine, then
// by all others.
func sqlGroup(root, scratch, dir string, tests *judge) (*group, error) {
	name := filepath.Base(dir)
	file := name + ".sqlite.sql"
	b, err := os.ReadFile(filepath.Join(root, dir, file))
	if err != nil {
		return nil, err
	}
	list, changes := sqlMutants(file, string(b))
	for m, c := range changes {
		if n := strings.Count(string(b), c.from); n != 1 {
			return nil, fmt.Errorf("%s: %d places are like the one of %s", file, n, m.Name())
		}
		if err := os.WriteFile(sqlChange(scratch, m), []byte(c.from+"\n-----\n"+c.to), 0o600); err != nil {
			return nil, err
		}
	}
	prompt, whole := *tests, *tests
	prompt.name, prompt.run = tests.name+" at the prompt", "^Test/^sqlite$/^(prompt|plans)$"
	whole.run = "^Test/^sqlite$"
	return &group{
		name: "sql/" + name, mutants: list,
		env:    func(m *mutants.Mutant) []string { return []string{"FSMGEN_MUTANT_SQL=" + sqlChange(scratch, m)} },
		judges: func(*mutants.Mutant) []*judge { return []*judge{&prompt, &whole} },
	}, nil
}

func sqlChange(scratch string, m *mutants.Mutant) string {
	return filepath.Join(scratch, "change"+strconv.Itoa(m.Number)+".txt")
}
