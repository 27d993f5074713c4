package migration

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// sqlite writes the migration of a SQLite database: columns are added where that
// does; else the table of the records is made anew beside the old one, filled, and
// put in its place. What refers to it is not looked at meanwhile.
func (p *plan) sqlite() {
	added, adds := p.additions()
	if !adds {
		p.line("-- Rows that refer to the table stay while it is rebuilt.")
		p.line("PRAGMA foreign_keys = OFF;")
	}
	p.line("BEGIN IMMEDIATE;")
	p.line("")
	p.line("-- A database of another version is left unchanged.")
	p.line(`CREATE TEMP TABLE "fsm_migration" ("at" INTEGER NOT NULL);`)
	p.line(`CREATE TEMP TRIGGER "fsm_migration_guard" BEFORE INSERT ON "fsm_migration" BEGIN`)
	for _, g := range p.guards() {
		p.line("    SELECT RAISE(ABORT, %s)", quoteText("fsm: "+p.next.m.Name+": "+g.message))
		p.line("    WHERE %s;", g.broken)
	}
	p.line("END;")
	p.line(`INSERT INTO "fsm_migration" VALUES (CAST(strftime('%%s', 'now') AS INTEGER) * 1000000);`)
	p.sqliteRefusals(!adds)
	p.line("")
	p.line("-- Indexes and triggers of the generator are made again below.")
	for _, v := range p.old.triggers {
		p.line("DROP TRIGGER IF EXISTS %s;", quoteName(v.name))
	}
	for _, v := range p.old.views {
		p.line("DROP VIEW IF EXISTS %s;", quoteName(v.name))
	}
	if len(p.moved) > 0 {
		p.sqliteMoves()
	}
	if adds {
		p.sqliteAdds(added)
	} else {
		p.sqliteAnew()
	}
	p.line("")
	p.line("%s", p.next.script())
	if !adds {
		p.sqliteOthers()
	}
	p.meta()
	p.line(`DROP TABLE temp."fsm_migration";`)
	p.line("COMMIT;")
	if !adds {
		p.line("PRAGMA foreign_keys = ON;")
	}
}

// additions returns what adds the columns of the new version to the table; ok is
// false when the table must be made anew.
func (p *plan) additions() (list []string, ok bool) {
	if len(p.moved) > 0 || len(p.reasons) > 0 {
		return nil, false
	}
	for _, c := range p.old.columns {
		if n := p.next.column(c.name); n == nil || *n != c {
			return nil, false
		}
	}
	for _, k := range p.old.checks {
		if !slices.Contains(p.next.checks, k) {
			return nil, false
		}
	}
	for _, c := range p.next.columns {
		if p.old.column(c.name) == nil {
			if c.mandatory() && c.standard() == "" {
				return nil, false
			}
			list = append(list, quoteName(c.name)+" "+c.def)
		}
	}
	for _, k := range p.next.checks {
		if !slices.Contains(p.old.checks, k) {
			if len(list) == 0 {
				return nil, false
			}
			list[len(list)-1] += " " + k.text()
		}
	}
	return list, true
}

// addedMark is how Migrate of the runtime knows a column that was added.
const addedMark = "/* fsmgen */"

func (p *plan) sqliteAdds(added []string) {
	for _, x := range p.old.indexes {
		if !slices.ContainsFunc(p.next.indexes, func(n index) bool { return n.text == x.text }) {
			p.line("DROP INDEX IF EXISTS %s;", quoteName(x.name))
		}
	}
	p.line("")
	for _, a := range added {
		p.line("ALTER TABLE %s ADD COLUMN %s %s;", p.table(""), a, addedMark)
	}
}

func (p *plan) sqliteAnew() {
	t, fresh := p.table(""), p.table("_fsm_new")
	p.line("")
	p.line("-- The table in its new form.")
	p.line("PRAGMA legacy_alter_table = ON;")
	p.line("%s", strings.TrimSpace(strings.Replace(p.next.create, "CREATE TABLE IF NOT EXISTS "+t, "CREATE TABLE "+fresh, 1)))
	p.line("%s", p.copyRows(fresh))
	p.line("DROP TABLE %s;", t)
	p.line("ALTER TABLE %s RENAME TO %s;", fresh, t)
	p.line("PRAGMA legacy_alter_table = OFF;")
}

// refuse writes a statement that ends the script with a message when its query
// returns a row. SQLite reads the message as a path into a JSON text, says that it is
// none, and repeats it: only so can every version say which row it is.
func (p *plan) refuse(message, from string) {
	p.line("SELECT json_extract('{}', 'fsm: %s: ' || %s || '; nothing was changed')\n%s LIMIT 1;", p.next.m.Name, message, from)
}

// Rows of others that refer to no record, of tables that refer to ours.
func (p *plan) danglingRows() string {
	return fmt.Sprintf(`SELECT DISTINCT m."name" AS "table", c."rowid" AS "row", c."fkid" AS "key"
FROM sqlite_master AS m, pragma_foreign_key_list(m."name") AS f, pragma_foreign_key_check(m."name") AS c
WHERE m."type" = 'table' AND lower(f."table") = %s`, quoteText(strings.ToLower(p.next.m.Name)))
}

// sqliteRefusals writes what must hold before anything is changed: the rows fit, and
// so does what others have made.
func (p *plan) sqliteRefusals(anew bool) {
	if len(p.queried) > 0 {
		p.line("")
		p.line("-- Every row fits.")
	}
	for _, q := range p.queried {
		p.refuse(fmt.Sprintf(`'the row ' || quote("%s") || ' breaks the rule: ' || %s`, q.who, quoteText(q.Rule)), "FROM ("+q.SQL+")")
	}
	p.line("")
	p.line("-- What others have made can go on.")
	p.freeNames("pragma_table_xinfo("+quoteText(p.next.m.Name)+")", p.newColumns())
	p.freeNames("sqlite_master", p.newObjects())
	if !anew {
		return
	}
	name := quoteText(strings.ToLower(p.next.m.Name))
	p.sqliteRules()
	var made []string
	for _, v := range p.old.triggers {
		made = append(made, quoteText(v.name))
	}
	for _, x := range p.old.indexes {
		made = append(made, quoteText(x.name))
	}
	for _, o := range p.others {
		made = append(made, quoteText(o.Name))
		p.refuse(quoteText(fmt.Sprintf("the %s %s has changed since this file was printed; print it again", o.Kind, quoteName(o.Name))),
			fmt.Sprintf(`WHERE NOT EXISTS (SELECT 1 FROM sqlite_master WHERE "name" = %s AND "sql" = %s)`, quoteText(o.Name), quoteText(o.SQL)))
	}
	p.refuse(`'the ' || "type" || ' "' || "name" || '" would be lost; print this script with fsmctl migrate, and it is made again'`,
		fmt.Sprintf(`FROM sqlite_master WHERE lower("tbl_name") = %s AND "type" IN ('index', 'trigger') AND "sql" IS NOT NULL
    AND "name" NOT IN (%s)`, name, strings.Join(made, ", ")))
	p.refuse(`'the column "' || "name" || '" would be lost, which is not of the machine''s making; call Migrate of the program, which keeps it'`,
		fmt.Sprintf("FROM pragma_table_xinfo(%s)\nWHERE \"name\" NOT IN (%s)", quoteText(p.next.m.Name),
			strings.Join(mapped(p.old.columns, func(c column) string { return quoteText(c.name) }), ", ")))
	for _, c := range p.old.columns {
		if p.next.column(c.name) == nil {
			p.refuse(`'the ' || "type" || ' "' || "name" || '" names the column '||`+quoteText(quoteName(c.name)+", which goes; drop it first"),
				fmt.Sprintf("FROM sqlite_master WHERE \"type\" IN ('view', 'trigger') AND lower(\"tbl_name\") <> %s AND \"sql\" LIKE '%%\"%s\"%%'\n    AND \"sql\" LIKE '%%%s%%' AND \"name\" NOT IN (%s)",
					name, strings.ReplaceAll(c.name, "'", "''"), p.next.m.Name, strings.Join(append(mapped(p.old.views, func(o object) string { return quoteText(o.name) }), "''"), ", ")))
		}
	}
	p.probe()
	p.line(`CREATE TEMP TABLE "fsm_dangling" AS %s;`, p.danglingRows())
}

// freeNames writes the refusal of what others have made under one of the names, which
// the new version needs: IF NOT EXISTS would take it for that.
func (p *plan) freeNames(from string, names []string) {
	if len(names) > 0 {
		p.refuse(`'"' || "name" || '" is the name of something that the new version needs; rename yours'`,
			fmt.Sprintf("FROM %s WHERE lower(\"name\") IN (%s)", from, strings.ToLower(strings.Join(mapped(names, quoteText), ", "))))
	}
}

// newColumns returns the columns that the new version adds.
func (p *plan) newColumns() (names []string) {
	for _, c := range p.next.columns {
		if p.old.column(c.name) == nil {
			names = append(names, c.name)
		}
	}
	return names
}

// newObjects returns the names of the indexes, triggers and views that the new
// version adds.
func (p *plan) newObjects() []string {
	names := func(s *schema) []string {
		return slices.Concat(mapped(s.indexes, func(x index) string { return x.name }),
			mapped(s.triggers, objectName), mapped(s.views, objectName))
	}
	old := names(p.old)
	return slices.DeleteFunc(names(p.next), func(n string) bool { return slices.Contains(old, n) })
}

func objectName(o object) string { return o.name }

// sqliteRules writes the refusal of a table whose rules are not those that the old
// version made: the new table would not have them.
func (p *plan) sqliteRules() {
	const message = `'the table has a rule that is not of the machine''s making, and would be lost; call Migrate of the program, which keeps it'`
	name := quoteText(p.next.m.Name)
	p.refuse(message, "FROM pragma_foreign_key_list("+name+")")
	p.refuse(message, "FROM pragma_index_list("+name+`) WHERE "origin" = 'u'`)
	var own strings.Builder
	for _, k := range p.old.checks {
		own.WriteString(k.text())
	}
	for _, c := range p.old.columns {
		own.WriteString(c.def)
	}
	n := strings.Count(strings.ToUpper(strings.Join(strings.Fields(own.String()), "")), "CHECK(")
	p.refuse(message, fmt.Sprintf(`FROM (SELECT upper(replace(replace(replace(replace("sql", ' ', ''), char(9), ''), char(10), ''), char(13), '')) AS "text"
    FROM sqlite_master WHERE "type" = 'table' AND "name" = %s)
WHERE length("text") - length(replace("text", 'CHECK(', '')) <> %d`, name, n*len("CHECK(")))
	if n > 0 {
		p.refuse(`'the rule ' || "column1" || ' differs from what the old version made; restore it'`,
			fmt.Sprintf("FROM (VALUES %s), sqlite_master\nWHERE \"type\" = 'table' AND \"name\" = %s AND instr(\"sql\", \"column1\") = 0",
				strings.Join(mapped(p.old.checks, func(k check) string { return "(" + quoteText(k.text()) + ")" }), ",\n    "), name))
	}
}

// text is the constraint as the generator writes it.
func (k check) text() string { return "CONSTRAINT " + quoteName(k.name) + " CHECK (" + k.sql + ")" }

// probe makes SQLite read every view and trigger, when a column or view goes. It
// ends with an error that names one that cannot be read.
func (p *plan) probe() {
	gone := len(p.old.views) > 0
	for _, c := range p.old.columns {
		gone = gone || p.next.column(c.name) == nil
	}
	if !gone {
		return
	}
	p.line(`SAVEPOINT "fsm_probe";`)
	p.line(`CREATE TABLE "fsm_probe" ("a");`)
	p.line(`ALTER TABLE "fsm_probe" RENAME TO "fsm_probed";`)
	p.line(`ROLLBACK TO "fsm_probe";`)
	p.line(`RELEASE "fsm_probe";`)
}

// sqliteOthers makes the indexes and triggers of others again, and looks at what
// refers to the table.
func (p *plan) sqliteOthers() {
	for _, o := range p.others {
		p.line("%s;", o.SQL)
	}
	p.line("")
	p.line("-- What others have made goes on.")
	p.probe()
	p.refuse(`'the row ' || coalesce("row", '') || ' of the table "' || "table" || '" would refer to no record'`,
		"FROM ("+p.danglingRows()+"\nEXCEPT SELECT * FROM temp.\"fsm_dangling\")")
	p.line(`DROP TABLE temp."fsm_dangling";`)
}

// made reports whether the generator made an object.
func (p *plan) made(o Object) bool {
	return slices.ContainsFunc(p.old.triggers, func(v object) bool { return v.name == o.Name }) ||
		slices.ContainsFunc(p.old.indexes, func(x index) bool { return x.name == o.Name })
}

// goOn returns an error when an object of somebody else needs a column that goes.
func (p *plan) goOn() error {
	for _, o := range p.others {
		for _, c := range p.old.columns {
			word := regexp.MustCompile(`(?i)(?:^|[^\pL\pN_$])` + regexp.QuoteMeta(c.name) + `(?:$|[^\pL\pN_$])`)
			if p.next.column(c.name) == nil && word.MatchString(o.SQL) {
				return fmt.Errorf("%w: the %s %s names the column %s, which goes; drop it first", ErrNone, o.Kind, quoteName(o.Name), quoteName(c.name))
			}
		}
	}
	return nil
}

// sqliteMoves writes the events of the rows of removed states.
func (p *plan) sqliteMoves() {
	p.line("")
	p.line("-- Rows of removed states move, each with its event. The checksum is CRC-32C,")
	p.line("-- as the runtime computes it.")
	p.line(`CREATE TEMP TABLE "fsm_crc" ("n" INTEGER PRIMARY KEY, "v" INTEGER NOT NULL);`)
	var values []string
	for n, v := range nibbles() {
		values = append(values, fmt.Sprintf("(%d, %d)", n, v))
	}
	p.line(`INSERT INTO "fsm_crc" VALUES %s;`, strings.Join(values, ", "))
	for _, v := range p.moved {
		p.sqliteEvents(v)
	}
	p.line(`DROP TABLE temp."fsm_crc";`)
}

// copyRows returns the statement that fills the new table.
func (p *plan) copyRows(into string) string {
	var names, values []string
	for _, c := range p.next.columns {
		value := p.valueAfter(c)
		switch {
		case c.name == "_chain": // it is looked up in the log
			continue
		case c.name == "state":
			value = p.stateAfter()
		case len(p.moved) > 0 && c.name == "rev":
			value = `"rev" + (` + p.isMoved() + ")"
		case len(p.moved) > 0 && c.name == "updated_at":
			value = fmt.Sprintf(`CASE WHEN %s THEN max("updated_at", (SELECT "at" FROM temp."fsm_migration")) ELSE "updated_at" END`, p.isMoved())
		}
		names, values = append(names, quoteName(c.name)), append(values, value)
	}
	return fmt.Sprintf("INSERT INTO %s (%s)\nSELECT %s\nFROM %s;", into, strings.Join(names, ", "), strings.Join(values, ",\n    "), p.table(""))
}
