package evolve

import (
	"fmt"
	"slices"
	"strings"
)

// Refusal is a query for what would be lost, or is in the way. Kind and Name are SQL, and
// name what a row is about; From is the rest of the query.
type Refusal struct{ Kind, Name, Why, From string }

// Step is how a SQLite file gets from one schema to the next, in one transaction. Foreign keys
// are not enforced meanwhile where tables are rebuilt.
type Step struct {
	Refused []Refusal // looked at first
	Look    []string  // statements before the first change
	Drop    []string
	Change  []string // the tables
	Make    []string // what is missing then
	// Here others' indexes and triggers on the tables Rebuilt are made again.
	LookAgain []string
	Broken    []Refusal // looked at after it
	Forget    []string

	Rebuilt []string // tables
	Views   []string // views that are made again, or go
	Gone    []string // columns of the records that go
}

// SQLite returns the step. It is empty where nothing differs but what is missing.
func (c *Change) SQLite() *Step {
	s := &Step{}
	var names []string // that must be free
	for _, p := range c.Next.Pieces {
		old := c.Old.Find(p.Kind, p.Name)
		switch {
		case p.Kind == "drop" || p.Name == "fsm_meta":
		case old == nil:
			names = append(names, p.Name)
		case p.Kind == "table":
			c.table(s, c.Old.Table(p.Name), c.Next.Table(p.Name), &names)
		case old.Is != p.Is:
			s.drop(old)
		}
	}
	for _, p := range c.Old.Pieces {
		if p.Kind == "table" || p.Kind == "drop" {
			continue
		}
		if next := c.Next.Find(p.Kind, p.Name); next == nil || c.Rebuild && p.Kind == "trigger" && next.Is == p.Is {
			s.drop(&p)
		}
	}
	c.make(s)
	free := func(kind, from string, list []string) {
		if len(list) > 0 {
			s.Refused = append(s.Refused, Refusal{kind, `"name"`, "has a name that the new version needs; rename it",
				fmt.Sprintf("FROM %s WHERE lower(\"name\") IN (%s)", from, lower(list))})
		}
	}
	for _, t := range c.Next.Of("table", "") {
		if old, next := c.Old.Table(t.Name), c.Next.Table(t.Name); old != nil {
			var added []string
			for _, k := range next.Columns {
				if old.Column(k.Name) == nil {
					added = append(added, k.Name)
				}
			}
			free("'column'", "pragma_table_xinfo("+Literal(t.Name)+")", added)
		}
	}
	free(`"type"`, "sqlite_master", names)
	c.look(s)
	return s
}

// lower lists texts in small letters, as SQLite compares names.
func lower(list []string) string {
	all := make([]string, len(list))
	for i, n := range list {
		all[i] = Literal(strings.ToLower(n))
	}
	return strings.Join(all, ", ")
}

func (s *Step) drop(p *Piece) {
	if p.Kind == "view" {
		s.Views = append(s.Views, p.Name)
	}
	s.Drop = append(s.Drop, "DROP "+strings.ToUpper(p.Kind)+" IF EXISTS "+Quote(p.Name))
}

// table finds out how one table becomes the next: by new columns, or rebuilt.
func (c *Change) table(s *Step, old, next *Table, names *[]string) {
	records := strings.EqualFold(next.Name, c.Machine)
	list, adds := additions(old, next)
	if adds && !(records && c.Rebuild) {
		for _, text := range list {
			s.Change = append(s.Change, "ALTER TABLE "+Quote(next.Name)+" ADD COLUMN "+text)
		}
		return
	}
	fresh := next.Name + "_fsm_new"
	*names = append(*names, fresh)
	s.Rebuilt = append(s.Rebuilt, next.Name)
	var into, values []string
	for _, k := range next.Columns {
		if v := c.value(next, k); v != "NULL" && (old.Column(k.Name) != nil || v != k.Default()) {
			into, values = append(into, Quote(k.Name)), append(values, v)
		}
	}
	if records {
		for _, k := range old.Columns {
			if next.Column(k.Name) == nil {
				s.Gone = append(s.Gone, k.Name)
			}
		}
	}
	create := strings.Replace(strings.TrimSuffix(next.Text, ";"), "IF NOT EXISTS ", "", 1)
	s.Change = append(s.Change,
		// Texts of others are not read while a table is away, nor changed.
		"PRAGMA legacy_alter_table = ON",
		strings.Replace(create, Quote(next.Name), Quote(fresh), 1),
		fmt.Sprintf("INSERT INTO %s (%s)\nSELECT %s\nFROM %s",
			Quote(fresh), strings.Join(into, ", "), strings.Join(values, ",\n    "), Quote(next.Name)))
	if strings.Contains(next.Is, " AUTOINCREMENT") { // a place in the log is never given again, also when its last events are gone
		number := strings.NewReplacer("FRESH", Literal(fresh), "OLD", Literal(next.Name))
		s.Change = append(s.Change,
			number.Replace(`DELETE FROM "sqlite_sequence" WHERE "name" = FRESH AND `+
				`EXISTS (SELECT 1 FROM "sqlite_sequence" WHERE "name" = OLD)`),
			number.Replace(`INSERT INTO "sqlite_sequence" ("name", "seq") SELECT FRESH, "seq" FROM "sqlite_sequence" WHERE "name" = OLD`))
	}
	s.Change = append(s.Change, "DROP TABLE "+Quote(next.Name), "ALTER TABLE "+Quote(fresh)+" RENAME TO "+Quote(next.Name),
		"PRAGMA legacy_alter_table = OFF")
}

// additions returns what adds the columns of the next table; ok is false when that does not
// make it the next one.
func additions(old, next *Table) (list []string, ok bool) {
	if old.tail != next.tail {
		return nil, false
	}
	for _, k := range old.Columns {
		if n := next.Column(k.Name); n == nil || n.Is != k.Is {
			return nil, false
		}
	}
	if slices.ContainsFunc(old.Rules, func(r Rule) bool { return !next.has(r) }) {
		return nil, false
	}
	for _, k := range next.Columns {
		if old.Column(k.Name) == nil {
			if strings.Contains(k.Is, " NOT NULL") && k.Default() == "" {
				return nil, false
			}
			list = append(list, Quote(k.Name)+" "+k.Def)
		}
	}
	for _, r := range next.Rules {
		if old.has(r) {
			continue
		}
		if len(list) == 0 || r.Cond == "" {
			return nil, false
		}
		list[len(list)-1] += " " + r.Text // the last column is there when the rule is read
	}
	return list, true
}

// make adds what makes the indexes, triggers and views that the step drops, or that go with
// a table.
func (c *Change) make(s *Step) {
	for _, p := range c.Next.Pieces {
		old := c.Old.Find(p.Kind, p.Name)
		away := slices.ContainsFunc(s.Rebuilt, func(n string) bool { return strings.EqualFold(n, p.Table) })
		if p.Kind != "drop" && (old == nil || p.Kind != "table" && (old.Is != p.Is || away || c.Rebuild && p.Kind == "trigger")) {
			s.Make = append(s.Make, strings.TrimSuffix(p.Text, ";"))
		}
	}
}

// look adds what looks before and after at what others have made.
func (c *Change) look(s *Step) {
	var ours []string
	views, keys := false, false
	for _, p := range c.Old.Pieces {
		next := c.Next.Find(p.Kind, p.Name)
		switch differs := next == nil || next.Is != p.Is; p.Kind {
		case "view":
			ours = append(ours, p.Name)
			views = views || differs
		case "trigger":
			ours = append(ours, p.Name)
		case "index":
			keys = keys || differs && p.Unique()
		}
	}
	for _, name := range s.Gone {
		// In double quotes SQLite takes the name of a column that is gone for a text.
		s.Refused = append(s.Refused, Refusal{`"type"`, `"name"`, "names the column " + Quote(name) + ", which goes; drop it first",
			fmt.Sprintf(`FROM sqlite_master WHERE "type" IN ('view', 'trigger') AND instr(lower("sql"), %s)
    AND ' ' || lower("sql") || ' ' GLOB '*[^a-z0-9_]%s[^a-z0-9_]*' AND lower("name") NOT IN (%s)`,
				Literal(strings.ToLower(Quote(name))), strings.ToLower(c.Machine), lower(append(ours, "")))})
	}
	if views || len(s.Gone) > 0 { // SQLite reads every view and trigger, and names one that it cannot read
		probe := []string{`SAVEPOINT "fsm_probe"`, `CREATE TABLE "fsm_probe" ("a")`, `ALTER TABLE "fsm_probe" RENAME TO "fsm_probed"`,
			`ROLLBACK TO "fsm_probe"`, `RELEASE "fsm_probe"`}
		s.Look, s.LookAgain = append(s.Look, probe...), append(s.LookAgain, probe...)
	}
	if keys || len(s.Rebuilt) > 0 {
		var tables []string
		for _, t := range c.Old.Of("table", "") {
			if t.Name != "fsm_meta" {
				tables = append(tables, t.Name)
			}
		}
		dangling := fmt.Sprintf(`SELECT DISTINCT m."name" AS "table", c."rowid" AS "row", c."fkid" AS "key"
FROM sqlite_master AS m, pragma_foreign_key_list(m."name") AS f, pragma_foreign_key_check(m."name") AS c
WHERE m."type" = 'table' AND lower(f."table") IN (%s)`, lower(tables))
		s.Look = append(s.Look, `CREATE TEMP TABLE "fsm_dangling" AS `+dangling)
		s.Broken = []Refusal{{"'table'", `"table"`, "has a row that would refer to no record",
			"FROM (" + dangling + "\nEXCEPT SELECT * FROM temp.\"fsm_dangling\")"}}
		s.Forget = append(s.Forget, `DROP TABLE temp."fsm_dangling"`)
	}
}

// Names returns which of some columns the text of a statement names; empty: none.
func Names(text string, columns []string) string {
	for _, w := range tokens(text) {
		for _, c := range columns {
			if strings.EqualFold(w.name(), c) {
				return c
			}
		}
	}
	return ""
}

// Note returns the statements that note in the file what the schema made: Migrate of another
// version takes nothing else away.
func (c *Change) Note(hash string) []string {
	var names []string
	var tables strings.Builder
	for _, p := range c.Next.Pieces {
		switch {
		case p.Kind == "table" && p.Name != "fsm_meta":
			tables.WriteString(strings.TrimSuffix(p.Text, ";") + ";\n")
		case p.Kind != "drop" && p.Kind != "table":
			names = append(names, Literal(p.Name))
		}
	}
	return []string{`CREATE TABLE IF NOT EXISTS "fsm_made" (
    "machine" TEXT NOT NULL PRIMARY KEY,
    "hash" TEXT NOT NULL,
    "schema" TEXT NOT NULL
) STRICT, WITHOUT ROWID`,
		fmt.Sprintf(`INSERT OR REPLACE INTO "fsm_made" ("machine", "hash", "schema")
SELECT %s, %s, %s || coalesce(group_concat("sql" || ';', char(10)), '') FROM sqlite_master
WHERE "name" IN (%s)`, Literal(c.Machine), Literal(hash), Literal(tables.String()), strings.Join(append(names, "''"), ", "))}
}
