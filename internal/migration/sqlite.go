package migration

import (
	"fmt"
	"strings"
)

// sqlite writes the migration of a SQLite database: the table of the records is
// made anew beside the old one, filled, and put in its place.
func (p *plan) sqlite() {
	t, fresh := p.table(""), p.table("_new")
	p.line("PRAGMA foreign_keys = OFF;")
	p.line("BEGIN IMMEDIATE;")
	p.line("")
	p.line("-- Nothing is changed in a database of another version.")
	p.line(`CREATE TEMP TABLE "fsm_migration" ("at" INTEGER NOT NULL);`)
	p.line(`CREATE TEMP TRIGGER "fsm_migration_guard" BEFORE INSERT ON "fsm_migration" BEGIN`)
	for _, g := range p.guards() {
		p.line("    SELECT RAISE(ABORT, %s)", quoteText("fsm: "+p.next.m.Name+": "+g.message))
		p.line("    WHERE %s;", g.broken)
	}
	p.line("END;")
	p.line(`INSERT INTO "fsm_migration" VALUES (CAST(strftime('%%s', 'now') AS INTEGER) * 1000000);`)
	p.line("")
	p.line("-- What the generator made over the tables is made anew below.")
	for _, v := range p.old.triggers {
		p.line("DROP TRIGGER IF EXISTS %s;", quoteName(v.name))
	}
	for _, v := range p.old.views {
		p.line("DROP VIEW IF EXISTS %s;", quoteName(v.name))
	}
	if len(p.moved) > 0 {
		p.sqliteMoves()
	}
	p.line("")
	p.line("-- The table in its new form.")
	p.line("%s", strings.TrimSpace(strings.Replace(p.next.create, "CREATE TABLE IF NOT EXISTS "+t, "CREATE TABLE "+fresh, 1)))
	p.line("%s", p.copyRows(fresh))
	p.line("DROP TABLE %s;", t)
	p.line("PRAGMA legacy_alter_table = ON;")
	p.line("ALTER TABLE %s RENAME TO %s;", fresh, t)
	p.line("PRAGMA legacy_alter_table = OFF;")
	p.line("")
	p.line("%s", p.next.script())
	p.meta()
	p.line(`DROP TABLE temp."fsm_migration";`)
	p.line("COMMIT;")
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
