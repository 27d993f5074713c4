package migration

import (
	"fmt"
	"slices"
	"strings"
)

// postgres writes the migration of a PostgreSQL database: the table is altered
// in one transaction; constraints are checked for new rows at once, and for old
// ones after the commit, under a lock that lets others read and write.
func (p *plan) postgres() {
	t := p.table("")
	if len(p.moved) > 0 {
		p.line("-- The runtime's checksum over an event.")
		p.postgresSum()
		p.line("")
	}
	p.line("BEGIN;")
	p.line("SET LOCAL lock_timeout = '5s';")
	p.postgresLocks()
	p.line("")
	p.line("-- Nothing is changed in a database of another version.")
	p.line("DO $fsm$")
	p.line("BEGIN")
	for _, g := range p.guards() {
		p.line("    IF %s THEN", g.broken)
		p.line("        RAISE EXCEPTION '%%', %s;", quoteText("fsm: "+p.next.m.Name+": "+g.message))
		p.line("    END IF;")
	}
	p.line("END")
	p.line("$fsm$;")
	p.line("")
	p.line("-- What the generator made over the tables is made anew below.")
	for _, v := range p.old.triggers {
		p.line("DROP TRIGGER IF EXISTS %s ON %s;", quoteName(v.name), quoteName(v.table))
	}
	for _, v := range p.old.views {
		p.line("DROP VIEW IF EXISTS %s;", quoteName(v.name))
	}
	for _, x := range p.old.indexes {
		if !slices.ContainsFunc(p.next.indexes, func(n index) bool { return n.text == x.text }) {
			p.line("DROP INDEX IF EXISTS %s;", quoteName(x.name))
		}
	}
	for _, k := range p.old.checks {
		if !slices.Contains(p.next.checks, k) {
			p.line("ALTER TABLE %s DROP CONSTRAINT %s;", t, quoteName(k.name))
		}
	}
	if len(p.moved) > 0 {
		p.postgresMoves()
	}
	added := p.alterations()
	p.line("")
	p.line("%s", p.next.script())
	p.meta()
	p.line("COMMIT;")
	if len(added) > 0 {
		p.line("")
		p.line("-- The old rows. What fails here can be mended and validated again.")
		for _, name := range added {
			p.line("ALTER TABLE %s VALIDATE CONSTRAINT %s;", t, quoteName(name))
		}
	}
	if len(p.moved) > 0 {
		p.line("DROP FUNCTION pg_temp.fsm_sum(text[]);")
	}
}

// postgresLocks takes the tables. Who holds one and waits for another may wait for
// a writer that waits for the first, and PostgreSQL would end either of them: so
// the log comes first, which most statements of a store take first, and the others
// are taken at once or all are let go and taken anew.
func (p *plan) postgresLocks() {
	p.line("-- The tables together, or none of them: who waits here keeps nobody from going on.")
	p.line("DO $fsm$")
	p.line("BEGIN")
	p.line("    LOOP")
	p.line("        BEGIN")
	p.line("            LOCK TABLE %s IN ACCESS EXCLUSIVE MODE;", p.table("_events"))
	p.line("            LOCK TABLE %s, %s IN ACCESS EXCLUSIVE MODE NOWAIT;", p.table(""), p.table("_outbox"))
	p.line("            EXIT;")
	p.line("        EXCEPTION WHEN lock_not_available THEN")
	p.line("            IF clock_timestamp() > transaction_timestamp() + interval '5 seconds' THEN")
	p.line("                RAISE;")
	p.line("            END IF;")
	p.line("        END;")
	p.line("        PERFORM pg_sleep(0.005);")
	p.line("    END LOOP;")
	p.line("END")
	p.line("$fsm$;")
}

// postgresMoves writes the events of the rows of removed states, and moves them.
func (p *plan) postgresMoves() {
	p.line("")
	p.line("-- Rows of removed states move, each with its event.")
	for _, v := range p.moved {
		p.postgresEvents(v)
		set := []string{`"state" = ` + quoteText(v.to.Stored()), `"rev" = "rev" + 1`, `"updated_at" = greatest("updated_at", transaction_timestamp())`}
		for _, c := range v.cleared {
			set = append(set, quoteName(c)+" = NULL")
		}
		p.line("UPDATE %s SET %s WHERE \"state\" = %s;", p.table(""), strings.Join(set, ", "), quoteText(v.from))
	}
}

// alterations writes what differs between the tables, and returns the names of
// the constraints that are to be validated.
func (p *plan) alterations() []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, c := range p.old.columns {
		if p.next.column(c.name) == nil {
			add("DROP COLUMN %s", quoteName(c.name))
		}
	}
	for _, c := range p.next.columns {
		name, before := quoteName(c.name), p.old.column(c.name)
		switch {
		case before == nil && c.mandatory() && !p.unset(c):
			add("ADD COLUMN %s %s DEFAULT %s", name, c.def, p.valueAfter(c))
			add("ALTER COLUMN %s DROP DEFAULT", name)
		case before == nil:
			add("ADD COLUMN %s %s", name, c.def)
		default:
			if before.kind() != c.kind() {
				add("ALTER COLUMN %s TYPE %s USING NULL", name, strings.TrimSuffix(c.def, " NOT NULL"))
			}
			if before.mandatory() && !c.mandatory() {
				add("ALTER COLUMN %s DROP NOT NULL", name)
			}
			if !before.mandatory() && c.mandatory() {
				add("ALTER COLUMN %s SET NOT NULL", name)
			}
		}
	}
	var added []string
	for _, k := range p.next.checks {
		if !slices.Contains(p.old.checks, k) {
			added = append(added, k.name)
			add("ADD CONSTRAINT %s CHECK (%s) NOT VALID", quoteName(k.name), k.sql)
		}
	}
	if len(list) > 0 {
		p.line("")
		p.line("-- The table in its new form.")
	}
	if p.next.sorted != "" && p.old.sorted == "" {
		p.line("%s", p.next.sorted)
	}
	for _, a := range list { // one by one: a constraint may need a column that is new
		p.line("ALTER TABLE %s %s;", p.table(""), a)
	}
	return added
}
