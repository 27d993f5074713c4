package migration

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/evolve"
	"github.com/fsmgen/fsmgen/spec"
)

// The dialects.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Query lists rows that do not fit the new version. It runs on a database of the
// old one; every row it returns is in the way of the migration.
type Query = evolve.Query

// Object is an index or a trigger that somebody else made over the table of the
// records in a SQLite file.
type Object struct{ Kind, Name, SQL string }

// Migration is the way of one database from one version to the next.
type Migration struct {
	Queries []Query
	Script  string // the whole file: a head that says how to run it, then the statements
}

// ErrNone says that no SQL leads from one version to the other.
var ErrNone = errors.New("no migration exists")

// New returns the migration of a database with that level of enforcement. A table
// of SQLite that must be rebuilt loses the indexes and triggers of others: the
// script makes those again that are given, and stops when it meets another one.
func New(old, next *spec.Machine, dialect, enforce string, others ...Object) (*Migration, error) {
	if old.Name != next.Name {
		return nil, fmt.Errorf("%w: machine %s is called %s, and its tables carry the name", ErrNone, old.Name, next.Name)
	}
	p := &plan{dialect: dialect, enforce: enforce}
	var err error
	if p.old, err = generated(old, dialect, enforce); err != nil {
		return nil, err
	}
	if p.next, err = generated(next, dialect, enforce); err != nil {
		return nil, err
	}
	// The rules hold for programs too where the database does not enforce them.
	if p.allOld, err = generated(old, dialect, "full"); err != nil {
		return nil, err
	}
	if p.allNext, err = generated(next, dialect, "full"); err != nil {
		return nil, err
	}
	p.look()
	p.alone = Beside(old, next)
	m := &Migration{Queries: p.queries()}
	write := p.sqlite
	if dialect == Postgres {
		write = p.postgres
	}
	p.others = slices.DeleteFunc(slices.Clone(others), p.made)
	if err := p.goOn(); err != nil {
		return nil, err
	}
	p.queried = m.Queries
	p.head(m.Queries)
	write()
	m.Script = p.out.String()
	return m, nil
}

// plan is one migration in the making.
type plan struct {
	old, next        *schema // at the level of enforcement
	allOld, allNext  *schema // with all rules
	dialect, enforce string
	moved            []move
	reasons          []string // why the table must be empty
	alone            []string // why programs of the old version must not work on the tables any more
	lost             []string // effects that nothing performs any more, or within a transaction only
	others           []Object // SQLite: to be made again when the table is rebuilt
	queried          []Query
	out              strings.Builder
}

// move is a removed state whose rows move.
type move struct {
	from    string // stored word
	to      *spec.State
	cleared []string // columns that the new state has no room for
}

func (p *plan) line(format string, args ...any) {
	fmt.Fprintf(&p.out, format, args...)
	p.out.WriteByte('\n')
}

// look finds what the two machines say about rows.
func (p *plan) look() {
	old, next := p.old.m, p.next.m
	for _, r := range next.Removed {
		had := slices.ContainsFunc(old.States, func(s *spec.State) bool { return s.Stored() == r.Name })
		if !had {
			continue
		}
		m := move{from: r.Name, to: r.To.State}
		for _, a := range r.To.State.Absent {
			if p.old.column(a.Field.Stored()) != nil && a.Field.Type.Optional {
				m.cleared = append(m.cleared, a.Field.Stored())
			}
		}
		p.moved = append(p.moved, m)
	}
	for _, f := range old.Fields {
		n := field(next, f.Stored())
		switch {
		case n == nil && next.Version > old.Version: // the fold passes over it
		case n == nil:
			p.reasons = append(p.reasons, "events hold the field "+f.Name+", which only a higher version can leave out")
		case !sameStorage(f, n):
			p.reasons = append(p.reasons, "events hold the field "+f.Name+" in another form")
		}
	}
	for _, f := range next.Fields {
		if field(old, f.Stored()) == nil && !blank(f) && f.Default == nil {
			p.reasons = append(p.reasons, "old records have no value of the mandatory field "+f.Name+", which has no default")
		}
	}
	for _, o := range old.Operations {
		for _, e := range o.AllAsks() {
			kept := slices.ContainsFunc(next.AllAsks(), func(n *spec.Effect) bool { return !n.Atomic && n.Name == e.Name })
			if !e.Atomic && !kept && !slices.Contains(p.lost, e.Name) {
				p.lost = append(p.lost, e.Name)
			}
		}
	}
}

// field returns the field with that stored word, or nil.
func field(m *spec.Machine, stored string) *spec.Field {
	i := slices.IndexFunc(m.Fields, func(f *spec.Field) bool { return f.Stored() == stored })
	if i < 0 {
		return nil
	}
	return m.Fields[i]
}

// blank reports whether a record can begin without a value of the field.
func blank(f *spec.Field) bool {
	return f.Type.Optional || f.Type.Kind == spec.KindSet || f.Type.Kind == spec.KindCounter
}

// sameStorage reports whether rows and events of the old field can be read as
// the new one.
func sameStorage(o, n *spec.Field) bool {
	words := func(k spec.Kind) bool { return k == spec.KindString || k == spec.KindEnum }
	switch {
	case o.Type.Kind == spec.KindSequence && n.Type.Kind == spec.KindSequence:
		word := func(f *spec.Field) string { return f.Stored() }
		return slices.Equal(mapped(o.Per, word), mapped(n.Per, word))
	case o.Type.Kind == n.Type.Kind, words(o.Type.Kind) && words(n.Type.Kind):
		return true
	}
	// A number that is there from the creation on can be counted further.
	return o.Type.Kind == spec.KindInt && !o.Type.Optional && n.Type.Kind == spec.KindCounter
}

func mapped[T, U any](list []T, f func(T) U) []U {
	all := make([]U, len(list))
	for i, x := range list {
		all[i] = f(x)
	}
	return all
}

// head says what the file is and which rows stand in its way.
func (p *plan) head(queries []Query) {
	o, n := p.old.m, p.next.m
	p.line("-- Migration of machine %s from version %d (hash %.12s)", n.Name, o.Version, o.Hash)
	p.line("-- to version %d (hash %.12s), level of enforcement %s.", n.Version, n.Hash, p.enforce)
	p.line("--")
	if p.dialect == SQLite {
		p.line("-- Stop the program, make a backup, and run: sqlite3 -bail FILE < THIS_FILE")
		p.line("-- Tables, indexes, triggers and views of your own stay as they are, or nothing changes.")
	} else {
		if len(p.alone) == 0 {
			p.line("-- Programs of version %d may keep running, until they are retired.", o.Version)
			p.line("-- Make a backup, and run: psql -v ON_ERROR_STOP=1 -f THIS_FILE")
		} else {
			p.line("-- Stop the program, make a backup, and run: psql -v ON_ERROR_STOP=1 -f THIS_FILE")
		}
		p.line("-- Run it on the search path on which the tables are.")
	}
	if len(p.reasons) > 0 {
		p.line("--")
		p.line("-- It runs on an empty table only:")
		for _, r := range p.reasons {
			p.line("--   %s.", r)
		}
	}
	if n.Version <= o.Version {
		p.line("--")
		p.line("-- The version of the specification did not rise; events cannot tell the two apart.")
	}
	if len(queries) > 0 {
		p.line("--")
		p.line("-- Nothing changes while these queries return rows; correct them with the old version first:")
		for _, q := range queries {
			p.line("--   %s:", q.Rule)
			p.line("--     %s;", q.SQL)
		}
	}
	p.line("")
}

// meta writes the note that the database is of the new version.
func (p *plan) meta() {
	p.line(`UPDATE "fsm_meta" SET "version" = %d, "hash" = %s WHERE "machine" = %s;`,
		p.next.m.Version, quoteText(p.next.m.Hash), quoteText(p.next.m.Name))
	if p.next.m.Version > p.old.m.Version {
		p.versions()
	}
}

// versions writes the note of which other versions may be open; see Retire of
// driver.Table. Those that were open beside the old one are retired.
func (p *plan) versions() {
	text, integer, end := "TEXT", "INTEGER", " STRICT"
	if p.dialect == Postgres {
		text, integer, end = `text COLLATE "C"`, "bigint", ""
	}
	old, word := p.old.m, "open"
	if len(p.alone) > 0 {
		word = "retired"
	}
	p.line("")
	p.line("-- Which earlier versions may be open beside this one.")
	p.line(`CREATE TABLE IF NOT EXISTS "fsm_versions" (
    "machine" %[1]s NOT NULL,
    "hash" %[1]s NOT NULL,
    "version" %[2]s NOT NULL,
    "standing" %[1]s NOT NULL CHECK ("standing" IN ('open', 'retired')),
    PRIMARY KEY ("machine", "hash")
)%[3]s;`, text, integer, end)
	p.line(`UPDATE "fsm_versions" SET "standing" = 'retired' WHERE "machine" = %s;`, quoteText(old.Name))
	p.line(`DELETE FROM "fsm_versions" WHERE "machine" = %s AND "hash" IN (%s, %s);`, quoteText(old.Name), quoteText(old.Hash), quoteText(p.next.m.Hash))
	p.line(`INSERT INTO "fsm_versions" ("machine", "hash", "version", "standing") VALUES (%s, %s, %d, %s);`,
		quoteText(old.Name), quoteText(old.Hash), old.Version, quoteText(word))
}

func (p *plan) table(suffix string) string { return quoteName(p.next.m.Name + suffix) }

// guard is a condition that must hold before anything is changed.
type guard struct{ message, broken string }

func (p *plan) guards() []guard {
	m := p.old.m
	list := []guard{{
		fmt.Sprintf("this is not a database of version %d (hash %.12s) with the level of enforcement %s", m.Version, m.Hash, p.enforce),
		fmt.Sprintf(`NOT EXISTS (SELECT 1 FROM "fsm_meta" WHERE "machine" = %s AND "hash" = %s AND "enforce" = %s AND "dialect" = %s)`,
			quoteText(m.Name), quoteText(m.Hash), quoteText(p.enforce), quoteText(p.dialect)),
	}}
	if len(p.reasons) > 0 {
		list = append(list, guard{"the table must be empty: " + strings.Join(p.reasons, "; "), "EXISTS (SELECT 1 FROM " + p.table("_events") + ")"})
	}
	if len(p.lost) > 0 {
		list = append(list, guard{"effects wait that the new version never delivers: " + strings.Join(p.lost, ", "), "EXISTS (" + p.waiting() + ")"})
	}
	for _, v := range p.moved {
		list = append(list, guard{"effects wait for records in the removed state " + v.from + "; deliver them first", "EXISTS (" + p.waitingIn(v) + ")"})
	}
	return list
}

func (p *plan) waiting() string {
	return fmt.Sprintf(`SELECT "id", "rev", "effect" FROM %s WHERE "effect" IN (%s)`, p.table("_outbox"), strings.Join(mapped(p.lost, quoteText), ", "))
}

func (p *plan) waitingIn(v move) string {
	return fmt.Sprintf(`SELECT o."id", o."rev", o."effect" FROM %s AS o JOIN %s AS r ON r."id" = o."id" AND r."rev" = o."rev" WHERE r."state" = %s`,
		p.table("_outbox"), p.table(""), quoteText(v.from))
}

// stateAfter returns the state that a row has after the migration.
func (p *plan) stateAfter() string {
	if len(p.moved) == 0 {
		return `"state"`
	}
	text := `CASE "state"`
	for _, v := range p.moved {
		text += " WHEN " + quoteText(v.from) + " THEN " + quoteText(v.to.Stored())
	}
	return text + ` ELSE "state" END`
}

// isMoved returns the condition that a row is in a removed state.
func (p *plan) isMoved() string {
	return `"state" IN (` + strings.Join(mapped(p.moved, func(v move) string { return quoteText(v.from) }), ", ") + ")"
}

// unset reports whether old rows have no value for a column of the new table.
func (p *plan) unset(c evolve.Column) bool {
	return p.old.column(c.Name) == nil && strings.HasPrefix(p.valueAfter(c), "NULL")
}

// valueAfter returns the value that a column of the new table has.
func (p *plan) valueAfter(c evolve.Column) string {
	if p.old.column(c.Name) == nil {
		text := "NULL"
		if f := field(p.next.m, c.Name); f != nil && f.Type.Kind == spec.KindSet {
			text = "'[]'"
		} else if f != nil && f.Type.Kind == spec.KindCounter {
			text = "0"
		}
		if c.Default() != "" {
			text = c.Default()
		}
		if p.dialect == Postgres {
			text += "::" + c.Type()
		}
		return text
	}
	var from []string
	for _, v := range p.moved {
		if slices.Contains(v.cleared, c.Name) {
			from = append(from, quoteText(v.from))
		}
	}
	if len(from) > 0 {
		return fmt.Sprintf(`CASE WHEN "state" IN (%s) THEN NULL ELSE %s END`, strings.Join(from, ", "), quoteName(c.Name))
	}
	return quoteName(c.Name)
}
