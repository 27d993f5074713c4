package migration

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/evolve"
)

// sqlite writes the migration of a SQLite file: what package evolve says, between a guard and
// the note of the new version, and with the events of records that move.
func (p *plan) sqlite() {
	c := p.change(p.old, p.next)
	if len(p.moved) > 0 {
		moved := p.isMoved()
		c.Values["_chain"] = "0" // it is looked up in the log
		c.Values["rev"] = `"rev" + (` + moved + ")"
		c.Values["updated_at"] = `CASE WHEN ` + moved +
			` THEN max("updated_at", (SELECT "at" FROM temp."fsm_migration")) ELSE "updated_at" END`
	}
	step := c.SQLite()
	if len(step.Rebuilt) > 0 {
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
	if len(p.queried) > 0 {
		p.line("")
		p.line("-- Every row fits.")
	}
	for _, q := range p.queried {
		p.refuse(fmt.Sprintf(`'the row ' || quote("%s") || ' breaks the rule: ' || %s`, q.Who, quoteText(q.Rule)), "FROM ("+q.SQL+")")
	}
	p.line("")
	p.line("-- What others have made can go on.")
	for _, name := range step.Rebuilt {
		p.sqliteLosses(p.old.Table(name))
	}
	for _, name := range step.Views {
		p.refuse(`'the trigger "' || "name" || '" would be lost with its view; drop it first'`,
			fmt.Sprintf(`FROM sqlite_master WHERE "type" = 'trigger' AND lower("tbl_name") = %s`, quoteText(strings.ToLower(name))))
	}
	p.refusals(step.Refused)
	p.statements("", step.Look)
	if len(p.moved) > 0 {
		p.statements("-- No trigger of the generator looks on.", step.Drop)
		p.sqliteMoves()
	} else {
		p.statements("-- What is another one now.", step.Drop)
	}
	p.statements("-- The tables in their new form.", step.Change)
	p.statements("-- What belongs to them.", step.Make)
	for _, o := range p.others {
		if slices.ContainsFunc(step.Rebuilt, func(n string) bool { return strings.EqualFold(n, p.next.m.Name) }) {
			p.line("%s;", o.SQL)
		}
	}
	p.statements("-- What others have made goes on.", step.LookAgain)
	p.refusals(step.Broken)
	p.statements("", step.Forget)
	p.statements("-- Whose is what, for later versions.", c.Note(p.next.m.Hash))
	p.line("")
	p.meta()
	p.line(`DROP TABLE temp."fsm_migration";`)
	p.line("COMMIT;")
	if len(step.Rebuilt) > 0 {
		p.line("PRAGMA foreign_keys = ON;")
	}
}

// statements writes statements under a heading.
func (p *plan) statements(heading string, list []string) {
	if len(list) > 0 && heading != "" {
		p.line("")
		p.line("%s", heading)
	}
	for _, text := range list {
		p.line("%s;", text)
	}
}

func (p *plan) refusals(list []evolve.Refusal) {
	for _, r := range list {
		p.refuse(fmt.Sprintf(`'the ' || %s || ' "' || %s || '" ' || %s`, r.Kind, r.Name, quoteText(r.Why)), r.From)
	}
}

// refuse writes a statement that ends the script with a message when its query
// returns a row. SQLite reads the message as a path into a JSON text, says that it is
// none, and repeats it: only so can every version say which row it is.
func (p *plan) refuse(message, from string) {
	p.line("SELECT json_extract('{}', 'fsm: %s: ' || %s || '; nothing was changed')\n%s LIMIT 1;", p.next.m.Name, message, from)
}

// sqliteLosses writes the refusal of what would be lost with a table that is rebuilt. A shell
// cannot read the table's text as Migrate does: it counts the rules, and names none.
func (p *plan) sqliteLosses(t *evolve.Table) {
	name := quoteText(t.Name)
	const message = `'the table has a rule that is not of the machine''s making, and would be lost; drop it first'`
	p.refuse(message, "FROM pragma_foreign_key_list("+name+")")
	unique := 0
	var own strings.Builder
	for _, r := range t.Rules {
		own.WriteString(r.Text)
		if r.Cond == "" && strings.Contains(r.Is, " UNIQUE ") {
			unique++
		}
	}
	p.refuse(message,
		fmt.Sprintf(`FROM (SELECT count(*) AS "n" FROM pragma_index_list(%s) WHERE "origin" = 'u') WHERE "n" > %d`, name, unique))
	n := strings.Count(strings.ToUpper(strings.Join(strings.Fields(own.String()), "")), "CHECK(")
	p.refuse(message, fmt.Sprintf(`FROM (SELECT upper(replace(replace(replace(replace("sql", ' ', ''), char(9), ''), char(10), ''), char(13), '')) AS "text"
    FROM sqlite_master WHERE "type" = 'table' AND "name" = %s)
WHERE length("text") - length(replace("text", 'CHECK(', '')) <> %d`, name, n*len("CHECK(")))
	if checks := t.Checks(); len(checks) > 0 {
		p.refuse(`'the rule ' || "column1" || ' differs from what the old version made; restore it'`,
			fmt.Sprintf("FROM (VALUES %s), sqlite_master\nWHERE \"type\" = 'table' AND \"name\" = %s AND instr(\"sql\", \"column1\") = 0",
				strings.Join(mapped(checks, func(k evolve.Rule) string { return "(" + quoteText(k.Text) + ")" }), ",\n    "), name))
	}
	var made []string
	for _, o := range slices.Concat(p.old.Of("trigger", t.Name), p.old.Of("index", t.Name)) {
		made = append(made, quoteText(o.Name))
	}
	if strings.EqualFold(t.Name, p.next.m.Name) {
		for _, o := range p.others {
			made = append(made, quoteText(o.Name))
			p.refuse(quoteText(fmt.Sprintf("the %s %s has changed since this file was printed; print it again", o.Kind, quoteName(o.Name))),
				fmt.Sprintf(`WHERE NOT EXISTS (SELECT 1 FROM sqlite_master WHERE "name" = %s AND "sql" = %s)`,
					quoteText(o.Name), quoteText(o.SQL)))
		}
	}
	p.refuse(`'the ' || "type" || ' "' || "name" || '" would be lost; print this script with fsmctl migrate, and it is made again'`,
		fmt.Sprintf(`FROM sqlite_master WHERE lower("tbl_name") = %s AND "type" IN ('index', 'trigger') AND "sql" IS NOT NULL
    AND "name" NOT IN (%s)`, quoteText(strings.ToLower(t.Name)), strings.Join(append(made, "''"), ", ")))
	p.refuse(`'the column "' || "name" || '" would be lost, which is not of the machine''s making; move it into a table of your own'`,
		fmt.Sprintf("FROM pragma_table_xinfo(%s)\nWHERE \"name\" NOT IN (%s)", name,
			strings.Join(mapped(t.Columns, func(c evolve.Column) string { return quoteText(c.Name) }), ", ")))
}

// made reports whether the generator made an object.
func (p *plan) made(o Object) bool { return p.old.Find(o.Kind, o.Name) != nil }

// goOn returns an error when an object of somebody else needs a column that goes.
func (p *plan) goOn() error {
	if p.dialect != SQLite {
		return nil
	}
	for _, o := range p.others {
		if c := evolve.Names(o.SQL, p.change(p.old, p.next).SQLite().Gone); c != "" {
			return fmt.Errorf("%w: the %s %s names the column %s, which goes; drop it first", ErrNone, o.Kind, quoteName(o.Name), quoteName(c))
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
