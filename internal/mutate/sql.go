package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// sqlMutant is a change of a schema: one text becomes another one. Each stands
// in the text once, since it reaches up to a name.
type sqlMutant struct{ from, to string }

var (
	checkLine = regexp.MustCompile(`(?m)^    CONSTRAINT "((?:[^"]|"")+)" (CHECK|UNIQUE|PRIMARY KEY) \(.*\)(,?)$`)
	table     = regexp.MustCompile(`(?ms)^CREATE TABLE IF NOT EXISTS "([^"]+)" \(\n.*?^\) STRICT.*?;$`)
	index     = regexp.MustCompile(`(?m)^CREATE (UNIQUE )?INDEX IF NOT EXISTS "([^"]+)"[^;]*;`)
	trigger   = regexp.MustCompile(`(?ms)^CREATE TRIGGER IF NOT EXISTS "([^"]+)".*?^END;`)
	raise     = regexp.MustCompile(`(?ms)^    SELECT RAISE\(ABORT, '((?:[^']|'')*)'\).*?;$`)
)

// sqlMutants finds the changes of a schema: every CHECK, unique index, trigger
// and RAISE left out.
func sqlMutants(file, schema string) ([]*mutant, map[*mutant]sqlMutant) {
	var list []*mutant
	changes := map[*mutant]sqlMutant{}
	add := func(kind, where, text string, at int, from, to string) {
		m := &mutant{
			file: file, line: 1 + strings.Count(schema[:at], "\n"), fn: where, kind: kind, text: oneLine(text),
			number: len(list) + 1,
		}
		list = append(list, m)
		changes[m] = sqlMutant{from, to}
	}
	for _, t := range table.FindAllStringSubmatchIndex(schema, -1) {
		name, body := schema[t[2]:t[3]], schema[t[0]:t[1]]
		for _, c := range checkLine.FindAllStringSubmatchIndex(body, -1) {
			what, kind := body[c[2]:c[3]], body[c[4]:c[5]]
			to := "    CONSTRAINT \"" + what + "\" CHECK (1)" + body[c[6]:c[7]]
			add("drop "+strings.ToLower(kind), name, what, t[0]+c[0], body, body[:c[0]]+to+body[c[1]:])
		}
	}
	for _, i := range index.FindAllStringSubmatchIndex(schema, -1) {
		text, kind := schema[i[0]:i[1]], "drop index"
		if i[2] >= 0 {
			kind = "drop unique index"
		}
		add(kind, "schema", schema[i[4]:i[5]], i[0], text, "")
	}
	for _, t := range trigger.FindAllStringSubmatchIndex(schema, -1) {
		name, body := schema[t[2]:t[3]], schema[t[0]:t[1]]
		add("drop trigger", "schema", name, t[0], body, "")
		for _, r := range raise.FindAllStringSubmatchIndex(body, -1) {
			what := body[r[2]:r[3]]
			add("drop raise", name, what, t[0]+r[0], body, body[:r[0]]+"    SELECT 1;"+body[r[1]:])
		}
	}
	count(list)
	return list, changes
}

// sqlGroup returns the mutants of a machine's SQLite schema. They are judged by
// the attacks of package gen, which look at every level, and then by the
// generated tests over SQLite, which look at the level `checks`.
func sqlGroup(root, scratch, dir string, tests, attacks *judge) (*group, error) {
	name := filepath.Base(dir)
	file := name + ".sqlite.sql"
	b, err := os.ReadFile(filepath.Join(root, dir, file))
	if err != nil {
		return nil, err
	}
	mutants, changes := sqlMutants(file, string(b))
	for m, c := range changes {
		if strings.Count(string(b), c.from) != 1 {
			return nil, fmt.Errorf("%s: %d places are like the one of %s", file, strings.Count(string(b), c.from), m.name())
		}
		if err := os.WriteFile(sqlChange(scratch, m), []byte(c.from+"\n-----\n"+c.to), 0o600); err != nil {
			return nil, err
		}
	}
	overSQLite := *tests
	overSQLite.run = "^Test/^sqlite$"
	attack, unique := *attacks, *attacks
	attack.run = "^Test(SchemaChecksAlone|SchemaTakesEveryMove|SchemaRefuses|SchemaRefusesForgedEvents)$/^" + name + "$/^sqlite$"
	unique.run = "^TestSchemaKeepsUniqueRules$/^(none|checks|full)$/^" + name + "$/^sqlite$"
	return &group{
		name: "sql/" + name, mutants: mutants,
		env: func(m *mutant) []string { return []string{"FSMGEN_MUTANT_SQL=" + sqlChange(scratch, m)} },
		judges: func(*mutant) []*judge {
			return []*judge{&attack, &unique, &overSQLite}
		},
	}, nil
}

func sqlChange(scratch string, m *mutant) string {
	return filepath.Join(scratch, "change"+strconv.Itoa(m.number)+".txt")
}

// attackJudge compiles the tests of package gen, whose schemas take the change
// that the environment names.
func attackJudge(root, scratch string) (*judge, error) {
	scratch, err := os.MkdirTemp(scratch, "attacks-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root, "gen", "emit_schema_sqlite.go")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	const from, to = "return []byte(s.String())", "return []byte(fsmMutantSQL(s.String()))"
	if strings.Count(string(b), from) != 1 {
		return nil, fmt.Errorf("%s: expected one place with %q", path, from)
	}
	o := overlay{}
	if err := o.put(scratch, path, strings.Replace(string(b), from, to, 1)); err != nil {
		return nil, err
	}
	if err := o.put(scratch, filepath.Join(root, "gen", supportFile), supportSource("gen")); err != nil {
		return nil, err
	}
	j := &judge{name: "attacks of gen", dir: "./gen", run: "^Test(SchemaChecksAlone|SchemaTakesEveryMove|SchemaRefuses|SchemaRefusesForgedEvents)$/^execution$/^sqlite$"}
	err = j.build(root, scratch, o)
	return j, err
}
