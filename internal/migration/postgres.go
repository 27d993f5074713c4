package migration

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/evolve"
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
	p.postgresRows()
	p.line("BEGIN;")
	p.line("SET LOCAL lock_timeout = '5s';")
	p.postgresLocks()
	p.line("")
	p.line("-- A database of another version is left unchanged.")
	p.line("DO $fsm$")
	p.line("BEGIN")
	for _, g := range p.guards() {
		p.line("    IF %s THEN", g.broken)
		p.line("        RAISE EXCEPTION '%%', %s;", quoteText("fsm: "+p.next.m.Name+": "+g.message))
		p.line("    END IF;")
	}
	p.line("END")
	p.line("$fsm$;")
	p.endBeside()
	p.postgresNames()
	p.postgresOthers()
	p.line("")
	p.line("-- Indexes and triggers of the generator are made again below.")
	for _, v := range p.old.triggers() {
		p.line("DROP TRIGGER IF EXISTS %s ON %s;", quoteName(v.Name), quoteName(v.Table))
	}
	for _, v := range p.old.views() {
		if p.retyped() || !slices.ContainsFunc(p.next.views(), func(n evolve.Piece) bool { return n.Text == v.Text }) {
			p.line("DROP VIEW IF EXISTS %s;", quoteName(v.Name))
		}
	}
	for _, x := range p.old.indexes() {
		switch same := slices.ContainsFunc(p.next.indexes(), func(n evolve.Piece) bool { return n.Text == x.Text }); {
		case same:
		case !x.Unique() && slices.ContainsFunc(p.kept(), func(c evolve.Column) bool { return strings.Contains(x.Text, quoteName(c.Name)) }):
			p.line("ALTER INDEX IF EXISTS %s RENAME TO %s; -- it goes with its column", quoteName(x.Name), quoteName(besideName(x.Name)))
		default:
			p.line("DROP INDEX IF EXISTS %s;", quoteName(x.Name))
		}
	}
	for _, k := range p.old.records.Checks() {
		if !slices.Contains(p.next.records.Checks(), k) {
			p.line("ALTER TABLE %s DROP CONSTRAINT %s;", t, quoteName(k.Name))
		}
	}
	if len(p.moved) > 0 {
		p.postgresMoves()
	}
	added := p.alterations()
	p.line("")
	p.line("%s", p.uncommented())
	p.beside()
	p.meta()
	p.line("COMMIT;")
	if len(added) > 0 {
		p.line("")
		p.line("-- The old rows. Rows that fail here can be fixed, and then validated again.")
		for _, name := range added {
			p.line("ALTER TABLE %s VALIDATE CONSTRAINT %s;", t, quoteName(name))
		}
	}
	if len(p.moved) > 0 {
		p.line("DROP FUNCTION pg_temp.fsm_sum(text[]);")
	}
}

// uncommented returns the script of the new version without the comments that the old one
// had: somebody may have written others.
func (p *plan) uncommented() string {
	var b strings.Builder
	for line := range strings.Lines(p.next.text) {
		if !strings.HasPrefix(line, "COMMENT ON ") || !strings.Contains(p.old.tables, line) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// retyped reports whether a column gets another type: no view may look at it then.
func (p *plan) retyped() bool {
	return slices.ContainsFunc(p.next.records.Columns, func(c evolve.Column) bool {
		o := p.old.column(c.Name)
		return o != nil && o.Type() != c.Type()
	})
}

// postgresRows writes the look at the rows, before anything is locked or changed.
func (p *plan) postgresRows() {
	if len(p.queried) == 0 {
		return
	}
	p.line("-- Every row fits: nothing is locked yet.")
	p.line("DO $fsm$")
	p.line("DECLARE")
	p.line("    which text;")
	p.line("BEGIN")
	g := p.guards()[0]
	p.line("    IF %s THEN", g.broken)
	p.line("        RAISE EXCEPTION '%%', %s;", quoteText("fsm: "+p.next.m.Name+": "+g.message))
	p.line("    END IF;")
	for _, q := range p.queried {
		p.line("    SELECT q.\"%s\" INTO which FROM (%s) AS q LIMIT 1;", q.Who, q.SQL)
		p.line("    IF FOUND THEN")
		p.line("        RAISE EXCEPTION 'fsm: %s: the row %% breaks the rule: %%; nothing was changed', quote_literal(which), %s;", p.next.m.Name, quoteText(q.Rule))
		p.line("    END IF;")
	}
	p.line("END")
	p.line("$fsm$;")
	p.line("")
}

// postgresNames writes the refusal of what others have made under the name of
// something that the new version makes: IF NOT EXISTS would take it for that.
func (p *plan) postgresNames() {
	list := func(names []string) string { return strings.Join(append(mapped(names, quoteText), "NULL"), ", ") }
	columns, objects := p.newColumns(), p.newObjects()
	if len(columns)+len(objects) == 0 {
		return
	}
	p.line("DO $fsm$")
	p.line("DECLARE")
	p.line("    which text;")
	p.line("BEGIN")
	p.line("    SELECT name INTO which FROM (SELECT attname::text, attrelid FROM pg_attribute WHERE attrelid = %s::regclass AND NOT attisdropped AND attname IN (%s)",
		quoteText(p.table("")), list(columns))
	p.line("        UNION ALL SELECT c.relname::text, t.oid FROM pg_class AS c JOIN pg_class AS t ON t.oid = %s::regclass AND t.relnamespace = c.relnamespace WHERE c.relname IN (%s)",
		quoteText(p.table("")), list(objects))
	p.line("        UNION ALL SELECT tgname::text, tgrelid FROM pg_trigger WHERE tgrelid IN (%s::regclass, %s::regclass) AND tgname IN (%s)) AS taken (name) LIMIT 1;",
		quoteText(p.table("")), quoteText(p.table("_events")), list(objects))
	p.line("    IF FOUND THEN")
	p.line("        RAISE EXCEPTION 'fsm: %s: \"%%\" is the name of something that the new version needs; rename yours; nothing was changed', which;", p.next.m.Name)
	p.line("    END IF;")
	p.line("END")
	p.line("$fsm$;")
}

// newColumns returns the columns that the new version adds.
func (p *plan) newColumns() (names []string) {
	for _, c := range p.next.records.Columns {
		if p.old.column(c.Name) == nil {
			names = append(names, c.Name)
		}
	}
	return names
}

// newObjects returns the names of the indexes, triggers and views that the new
// version adds.
func (p *plan) newObjects() (names []string) {
	for _, o := range slices.Concat(p.next.indexes(), p.next.triggers(), p.next.views()) {
		if p.old.Find(o.Kind, o.Name) == nil {
			names = append(names, o.Name)
		}
	}
	return names
}

// postgresOthers writes the look at what others have made over columns that go: an
// index or a constraint would go with its column, and nobody would be told. Of
// views, triggers and foreign keys the server says so itself.
func (p *plan) postgresOthers() {
	var gone, made []string
	for _, c := range p.old.records.Columns {
		if n := p.next.column(c.Name); n == nil {
			gone = append(gone, quoteText(c.Name))
		}
	}
	if len(gone) == 0 {
		return
	}
	for _, x := range p.old.indexes() {
		made = append(made, quoteText(x.Name))
	}
	for _, k := range p.old.records.Checks() {
		made = append(made, quoteText(k.Name))
	}
	p.line("DO $fsm$")
	p.line("DECLARE")
	p.line("    which text;")
	p.line("BEGIN")
	p.line("    SELECT pg_describe_object(d.classid, d.objid, 0) INTO which FROM pg_depend AS d")
	p.line("        JOIN pg_attribute AS a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid")
	p.line("        LEFT JOIN pg_class AS x ON d.classid = 'pg_class'::regclass AND x.oid = d.objid")
	p.line("        LEFT JOIN pg_constraint AS k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid")
	p.line("        WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = %s::regclass AND a.attname IN (%s)", quoteText(p.table("")), strings.Join(gone, ", "))
	p.line("          AND d.classid IN ('pg_class'::regclass, 'pg_constraint'::regclass, 'pg_statistic_ext'::regclass)")
	p.line("          AND coalesce(x.relname, k.conname, '') NOT IN (%s) LIMIT 1;", strings.Join(append(made, "'?'"), ", "))
	p.line("    IF FOUND THEN")
	p.line("        RAISE EXCEPTION 'fsm: %s: the %% needs a column that goes; drop it first; nothing was changed', which;", p.next.m.Name)
	p.line("    END IF;")
	p.line("END")
	p.line("$fsm$;")
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
		set := []string{`"_chain" = 0`, `"state" = ` + quoteText(v.to.Stored()), `"rev" = "rev" + 1`, `"updated_at" = greatest("updated_at", transaction_timestamp())`}
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
	for _, c := range p.old.records.Columns {
		switch n := p.next.column(c.Name); {
		case c.ForIndexes() && n == nil && len(p.alone) == 0: // programs of the old version name it: see beside
		case n == nil:
			add("DROP COLUMN %s", quoteName(c.Name))
		}
	}
	var computed []string
	for _, c := range p.next.records.Columns {
		name, before := quoteName(c.Name), p.old.column(c.Name)
		switch {
		case c.ForIndexes():
			computed = append(computed, fmt.Sprintf("ADD COLUMN IF NOT EXISTS %s %s", name, c.Def))
		case before == nil && c.Mandatory() && c.Default() == "" && !p.unset(c):
			add("ADD COLUMN %s %s DEFAULT %s", name, c.Def, p.valueAfter(c))
			add("ALTER COLUMN %s DROP DEFAULT", name)
		case before == nil:
			add("ADD COLUMN %s %s", name, c.Def)
		default:
			if before.Type() != c.Type() {
				add("ALTER COLUMN %s TYPE %s USING NULL", name, c.Bare())
			}
			if before.Mandatory() && !c.Mandatory() {
				add("ALTER COLUMN %s DROP NOT NULL", name)
			}
			if !before.Mandatory() && c.Mandatory() {
				add("ALTER COLUMN %s SET NOT NULL", name)
			}
			switch {
			case before.Default() == c.Default():
			case c.Default() == "":
				add("ALTER COLUMN %s DROP DEFAULT", name)
			default:
				add("ALTER COLUMN %s SET DEFAULT %s", name, c.Default())
			}
		}
	}
	if computed != nil {
		add("%s", strings.Join(computed, ", "))
	}
	if p.next.Computed != nil {
		var set, wrong []string
		for _, c := range p.next.Computed {
			set = append(set, quoteName(c.Name)+" = "+c.Def)
			wrong = append(wrong, quoteName(c.Name)+" IS DISTINCT FROM ("+c.Def+")")
		}
		defer func() {
			p.line("UPDATE %s SET %s WHERE %s;", p.table(""), strings.Join(set, ", "), strings.Join(wrong, " OR "))
		}()
	}
	var added []string
	for _, k := range p.next.records.Checks() {
		if !slices.Contains(p.old.records.Checks(), k) {
			added = append(added, k.Name)
			add("ADD CONSTRAINT %s CHECK (%s) NOT VALID", quoteName(k.Name), k.Cond)
		}
	}
	if len(list) > 0 {
		p.line("")
		p.line("-- The table in its new form.")
	}
	if p.next.Sorted != "" && p.old.Sorted == "" {
		p.line("%s", p.next.Sorted)
	}
	for _, a := range list { // one by one: a constraint may need a column that is new
		p.line("ALTER TABLE %s %s;", p.table(""), a)
	}
	return added
}
