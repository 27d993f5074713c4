package gen

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/spec"
)

// The tests here are a hand at the SQL prompt: no runtime, no settings. They
// walk every machine through every move with made-up data, which the schema must
// take, and then try what it must refuse.

// prompt is a database with one machine's schema.
type prompt struct {
	t  *testing.T
	m  *spec.Machine
	d  sqlDialect
	db *sql.DB
	n  int // records made
}

func prompts(t *testing.T, enforce string, wanted func(*spec.Machine) bool, f func(*testing.T, *prompt)) {
	t.Helper()
	for _, name := range shippedMachines {
		m := shipped(t, name)
		if !wanted(m) {
			continue
		}
		t.Run(name+"/sqlite", func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open("sqlite", ":memory:")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			db.SetMaxOpenConns(1)
			f(t, newPrompt(t, m, sqliteDialect(), db, sqliteSchema(m, enforce)))
		})
		t.Run(name+"/postgres", func(t *testing.T) {
			t.Parallel()
			f(t, newPrompt(t, m, postgresDialect(), pgtest.Open(t), postgresSchema(m, enforce)))
		})
	}
}

func every(*spec.Machine) bool { return true }

func hasUnique(m *spec.Machine) bool { return len(uniqueRules(m)) > 0 }

func newPrompt(t *testing.T, m *spec.Machine, d sqlDialect, db *sql.DB, schema []byte) *prompt {
	t.Helper()
	p := &prompt{t: t, m: m, d: d, db: db}
	for range 2 { // a schema may be loaded again
		if err := p.try(string(schema)); err != nil {
			t.Fatalf("load the schema: %v", err)
		}
	}
	return p
}

// try runs statements in one transaction and takes it back on an error.
func (p *prompt) try(statements ...string) error {
	p.t.Helper()
	tx, err := p.db.BeginTx(context.Background(), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := tx.Exec(s); err != nil {
			tx.Rollback()
			return err
		}
	}
	return tx.Commit()
}

func (p *prompt) must(statements ...string) {
	p.t.Helper()
	if err := p.try(statements...); err != nil {
		p.t.Fatalf("refused, but it is legal: %v\n%s", err, strings.Join(statements, ";\n"))
	}
}

// refused demands an error with a text of the schema's own in it, or another
// one of words.
func (p *prompt) refused(what string, words []string, statements ...string) {
	p.t.Helper()
	before := p.dump()
	err := p.try(statements...)
	if err == nil {
		p.t.Errorf("%s was accepted:\n%s", what, strings.Join(statements, ";\n"))
		return
	}
	if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(err.Error(), w) }) {
		p.t.Errorf("%s was refused for another reason: %v; expected one of %q", what, err, words)
	}
	if after := p.dump(); after != before {
		p.t.Errorf("%s was refused, but changed the database from\n%s\nto\n%s", what, before, after)
	}
}

// dump returns all records and events as text.
func (p *prompt) dump() string {
	p.t.Helper()
	var b strings.Builder
	for _, table := range []string{p.m.Name, p.m.Name + "_events"} {
		rows, err := p.db.Query(fmt.Sprintf(`SELECT * FROM %s ORDER BY "id", "rev"`, quoteName(table)))
		if err != nil {
			p.t.Fatal(err)
		}
		columns, _ := rows.Columns()
		for rows.Next() {
			values := make([]any, len(columns))
			targets := make([]any, len(columns))
			for i := range values {
				targets[i] = &values[i]
			}
			if err := rows.Scan(targets...); err != nil {
				p.t.Fatal(err)
			}
			fmt.Fprintln(&b, values...)
		}
		if err := rows.Err(); err != nil {
			p.t.Fatal(err)
		}
		rows.Close()
	}
	return b.String()
}

// made is a record as the test knows it: SQL literals by field.
type made struct {
	id     string
	state  *spec.State
	rev    int
	values map[*spec.Field]string
}

func (p *prompt) instant(seconds int) string {
	if p.d.time == "INTEGER" {
		return strconv.Itoa((1_700_000_000 + seconds) * 1_000_000)
	}
	return fmt.Sprintf("(timestamptz '2026-01-02T03:04:05Z' + interval '%d s')", seconds)
}

// sample returns a value of a type, its own for each record and revision.
func (p *prompt) sample(f *spec.Field, r *made) string {
	switch f.Type.Kind {
	case spec.KindString:
		return quoteText(f.Type.Fitted(fmt.Sprintf("%s of %s", f.Name, r.id)))
	case spec.KindInt:
		if f.Type.Min != nil {
			return fmt.Sprint(*f.Type.Min)
		}
		return strconv.Itoa(r.rev)
	case spec.KindBool:
		if r.rev%2 == 0 {
			return p.d.yes
		}
		return p.d.no
	case spec.KindTime:
		return p.instant(r.rev)
	case spec.KindJSON:
		return fmt.Sprintf(`'{"at":%d}'`, r.rev)
	case spec.KindCounter:
		return "0"
	case spec.KindSequence:
		return "1"
	case spec.KindSet:
		return `'["a","b"]'`
	case spec.KindEnum:
		return quoteText(f.Type.Values[0].Stored())
	}
	panic("no sample")
}

// take applies a move's effects to a record; it returns the record after it.
func (p *prompt) take(r *made, mv move) *made {
	next := &made{id: r.id, state: mv.to, rev: r.rev + 1, values: maps.Clone(r.values)}
	if mv.from == nil {
		next.values = map[*spec.Field]string{}
		for _, f := range p.m.Fields {
			switch {
			case f.Type.Optional:
				next.values[f] = "NULL"
			case f.Type.Kind == spec.KindSet:
				next.values[f] = "'[]'"
			default:
				next.values[f] = p.sample(f, next)
			}
		}
	}
	effects := []*spec.Effects{&mv.operation.Effects}
	for _, b := range mv.operation.Choose {
		if b.To != nil && b.To.State == mv.to || b.Same && mv.from == mv.to {
			effects = append(effects, &b.Effects)
			break
		}
	}
	for _, e := range effects {
		for _, a := range e.Set {
			next.values[a.Field] = p.sample(a.Field, next)
		}
		for _, c := range e.Clear {
			next.values[c.Field] = "NULL"
		}
		for _, c := range e.Increment {
			n, err := strconv.Atoi(next.values[c.Field])
			if err != nil {
				p.t.Fatal(err)
			}
			next.values[c.Field] = strconv.Itoa(n + 1)
		}
		for _, a := range e.Add {
			if next.values[a.Field] == "'[]'" {
				next.values[a.Field] = `'["a"]'`
			}
		}
		for _, c := range e.Decrement {
			n, err := strconv.Atoi(next.values[c.Field])
			if err != nil {
				p.t.Fatal(err)
			}
			next.values[c.Field] = strconv.Itoa(n - 1)
		}
		for _, c := range e.Reset {
			if next.values[c.Field] = "0"; c.Field.Type.Kind == spec.KindSet {
				next.values[c.Field] = "'[]'"
			}
		}
	}
	return next
}

func (p *prompt) event(r, next *made, operation string) string {
	from := "NULL"
	if r.state != nil {
		from = quoteText(r.state.Stored())
	}
	return fmt.Sprintf(`INSERT INTO %s ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_n", "fingerprint", "version", "checksum")
		VALUES (%s, %d, 0, %s, 'name', %s, %s, %s, 'me', '', -1, '', 1, 0)`, quoteName(p.m.Name+"_events"),
		quoteText(r.id), next.rev, quoteText(operation), from, quoteText(next.state.Stored()), p.instant(next.rev))
}

func (p *prompt) insert(verb string, r *made) string {
	names, values := []string{"id", "state", "rev", "created_at", "updated_at"},
		[]string{quoteText(r.id), quoteText(r.state.Stored()), strconv.Itoa(r.rev), p.instant(0), p.instant(r.rev)}
	for _, f := range p.m.Fields {
		names, values = append(names, f.Stored()), append(values, r.values[f])
	}
	for i := range names {
		names[i] = quoteName(names[i])
	}
	return fmt.Sprintf("%s INTO %s (%s) VALUES (%s)", verb, quoteName(p.m.Name), strings.Join(names, ", "), strings.Join(values, ", "))
}

func (p *prompt) update(r, next *made, more ...string) string {
	sets := []string{`"state" = ` + quoteText(next.state.Stored()), fmt.Sprintf(`"rev" = %d`, next.rev), `"updated_at" = ` + p.instant(next.rev)}
	for _, f := range p.m.Fields {
		if r.values[f] != next.values[f] {
			sets = append(sets, column(f)+" = "+next.values[f])
		}
	}
	return fmt.Sprintf(`UPDATE %s SET %s WHERE "id" = %s`, quoteName(p.m.Name), strings.Join(append(sets, more...), ", "), quoteText(r.id))
}

// record makes a new record in a state, by legal moves. A move that was just
// taken is the last one when it leads there.
func (p *prompt) record(state *spec.State) *made {
	p.t.Helper()
	p.n++
	r := &made{id: fmt.Sprintf("r%d", p.n)}
	for _, mv := range p.path(state) {
		r = p.step(r, mv)
	}
	return r
}

func (p *prompt) step(r *made, mv move) *made {
	p.t.Helper()
	next := p.take(r, mv)
	if mv.from == nil {
		p.must(p.event(r, next, mv.operation.Stored()), p.insert("INSERT", next))
	} else {
		p.must(p.event(r, next, mv.operation.Stored()), p.update(r, next))
	}
	return next
}

// path returns the shortest way to a state.
func (p *prompt) path(state *spec.State) []move {
	paths := map[*spec.State][]move{}
	for found := true; found; {
		found = false
		for _, mv := range moves(p.m) {
			before, ok := paths[mv.from]
			if _, known := paths[mv.to]; known || mv.from != nil && !ok {
				continue
			}
			paths[mv.to] = append(slices.Clone(before), mv)
			found = true
		}
	}
	if paths[state] == nil {
		p.t.Fatalf("no way leads to %s", state.Name)
	}
	return paths[state]
}

func TestSchemaTakesEveryMove(t *testing.T) {
	t.Parallel()
	prompts(t, enforceFull, every, func(t *testing.T, p *prompt) {
		for _, mv := range moves(p.m) {
			if mv.from == nil {
				p.record(mv.to)
				continue
			}
			p.step(p.record(mv.from), mv)
		}
	})
}

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	prompts(t, enforceFull, every, func(t *testing.T, p *prompt) {
		p.t = t
		own := []string{"fsm: " + p.m.Name + ": "}
		for _, from := range p.m.States {
			r := p.record(from)
			p.attackState(r, own)
			p.refused("a chain that moves alone", own, fmt.Sprintf(`UPDATE %s SET "_chain" = 7 WHERE "id" = %s`, quoteName(p.m.Name), quoteText(r.id)))
			p.attackFields(r)
		}
		p.attackCreation(own)
	})
}

// attackState tries to move a record where nothing leads, and to remove it.
func (p *prompt) attackState(r *made, own []string) {
	p.t.Helper()
	id, table, log := quoteText(r.id), quoteName(p.m.Name), quoteName(p.m.Name+"_events")
	next := successors(p.m)[r.state]
	for _, to := range p.m.States {
		if slices.Contains(next, to) {
			continue
		}
		words := []string{"the state " + r.state.Name + " leads to", "the terminal state " + r.state.Name, "no operation leaves the state " + r.state.Name}
		after := &made{id: r.id, state: to, rev: r.rev + 1, values: r.values}
		what := r.state.Name + " to " + to.Name
		p.refused(what, words, p.update(r, after))
		for _, o := range p.m.Operations {
			p.refused(what+" by a forged "+o.Name, own, p.event(r, after, o.Stored()), p.update(r, after))
		}
	}
	same := &made{id: r.id, state: r.state, rev: r.rev, values: r.values}
	p.refused("a change without a revision", own, p.update(r, same))
	unknown := fmt.Sprintf(`UPDATE %s SET "state" = 'limbo', "rev" = %d WHERE "id" = %s`, table, r.rev+1, id)
	p.refused("an unknown state", append(own, "state is known"), unknown)
	p.refused("a deletion", own, fmt.Sprintf(`DELETE FROM %s WHERE "id" = %s`, table, id))
	p.refused("a changed event", own, fmt.Sprintf(`UPDATE %s SET "actor" = 'you' WHERE "id" = %s`, log, id))
	p.refused("a deleted event", own, fmt.Sprintf(`DELETE FROM %s WHERE "id" = %s`, log, id))
	if p.d.name == "postgres" {
		p.refused("TRUNCATE of the records", own, "TRUNCATE "+table)
		p.refused("TRUNCATE of the log", own, "TRUNCATE "+log)
	}
	for _, mv := range moves(p.m) {
		if mv.from != r.state {
			continue
		}
		to := p.take(r, mv)
		event := p.event(r, to, mv.operation.Stored())
		p.refused("a move without its event", own, p.update(r, to))
		skipped := *to
		skipped.rev++
		p.refused("a skipped revision", append(own, "revision"), p.event(r, &skipped, mv.operation.Stored()), p.update(r, &skipped))
		p.refused("a new id", own, event, p.update(r, to, `"id" = 'other'`))
		p.refused("a new birth", own, event, p.update(r, to, `"created_at" = `+p.instant(-5)))
		break
	}
}

// attackFields breaks presence, counters, sets and `changed_by`, each in an
// otherwise legal move into or within the machine.
func (p *prompt) attackFields(r *made) {
	p.t.Helper()
	for _, mv := range moves(p.m) {
		if mv.from != r.state {
			continue
		}
		to := p.take(r, mv)
		event := p.event(r, to, mv.operation.Stored())
		bend := func(f *spec.Field, value, what string, words ...string) {
			p.t.Helper()
			bent := &made{id: to.id, state: to.state, rev: to.rev, values: maps.Clone(to.values)}
			bent.values[f] = value
			p.refused(fmt.Sprintf("%s: %s %s", mv.operation.Name, f.Name, what), append(words, "fsm: "+p.m.Name+": "), event, p.update(r, bent))
		}
		for _, ref := range mv.to.Present {
			empty := "NULL"
			if ref.Field.Type.Kind == spec.KindSet {
				empty = "'[]'"
			}
			bend(ref.Field, empty, "is absent", mv.to.Name+": ")
		}
		for _, ref := range mv.to.Absent {
			bend(ref.Field, p.sample(ref.Field, to), "is present", mv.to.Name+": ")
		}
		for _, f := range p.m.Fields {
			switch f.Type.Kind {
			case spec.KindCounter:
				bend(f, "-1", "is below 0")
			case spec.KindSet:
				if r.values[f] != "'[]'" && !p.m.Lowers(f) {
					bend(f, "'[]'", "lost its members")
				}
				bend(f, `'["b","a","z"]'`, "is not sorted", f.Name+" is a set")
				bend(f, `'["a","a","b"]'`, "is not distinct", f.Name+" is a set")
				bend(f, `'[1]'`, "holds a number", f.Name+" is a set")
				bend(f, `'{}'`, "is no array", f.Name+" is a set", "malformed", "array")
			case spec.KindSequence:
				bend(f, "99", "changed")
			}
			if !operationWrites(mv.operation, f) && f.Type.Kind != spec.KindSet && f.Type.Kind != spec.KindSequence {
				value := p.sample(f, &made{id: "somebody else", rev: 77})
				if f.Type.Kind == spec.KindCounter {
					value = "50"
				}
				if value == to.values[f] {
					p.t.Fatalf("the sample of %s is what it was", f.Name)
				}
				bend(f, value, "changed by "+mv.operation.Name, mv.to.Name+": ", f.Name+" is ")
			}
		}
	}
}

func (p *prompt) attackCreation(own []string) {
	p.t.Helper()
	var creation move
	first := map[*spec.State]bool{}
	for _, mv := range moves(p.m) {
		if mv.from == nil {
			creation = mv
			first[mv.to] = true
		}
	}
	nobody := &made{id: "new"}
	born := p.take(nobody, creation)
	event := p.event(nobody, born, creation.operation.Stored())
	p.refused("a record without an event", own, p.insert("INSERT", born))
	if p.d.name == "postgres" { // SQLite finds an event without its row in the audit only
		p.refused("an event without a record", own, event)
	}
	for _, st := range p.m.States {
		if !first[st] {
			other := *born
			other.state = st
			p.refused("a record that begins in "+st.Name, append(own, st.Name+": "), p.event(nobody, &other, creation.operation.Stored()), p.insert("INSERT", &other))
		}
	}
	late := *born
	late.rev = 3
	p.refused("a record that begins at revision 3", append(own, "revision 1"), p.event(nobody, &late, creation.operation.Stored()), p.insert("INSERT", &late))
	limbo := strings.Replace(p.insert("INSERT", born), quoteText(born.state.Stored()), "'limbo'", 1)
	p.refused("an unknown state", append(own, "state is known"), event, limbo)
	p.must(event, p.insert("INSERT", born)) // the control: the same without a flaw is taken
	p.refused("the same event again", append(own, "duplicate key"), event)
	if p.d.name == "sqlite" {
		p.attackReplace(born, own)
	}
}

// attackReplace tries SQLite's ways to push a row out without a DELETE.
func (p *prompt) attackReplace(born *made, own []string) {
	p.t.Helper()
	table, log := quoteName(p.m.Name), quoteName(p.m.Name+"_events")
	for _, verb := range []string{"INSERT OR REPLACE", "REPLACE", "INSERT OR IGNORE"} {
		p.refused(verb+" of a record", own, p.insert(verb, born))
	}
	p.refused("an upsert", own, p.insert("INSERT", born)+` ON CONFLICT ("id") DO UPDATE SET "state" = excluded."state"`)
	other := p.record(born.state)
	p.refused("UPDATE OR REPLACE of an id", own, fmt.Sprintf(`UPDATE OR REPLACE %s SET "id" = %s WHERE "id" = %s`, table, quoteText(born.id), quoteText(other.id)))
	p.refused("UPDATE OR REPLACE of a rowid", append(own, "no such column"), fmt.Sprintf(`UPDATE OR REPLACE %s SET rowid = 1`, table))
	columns := `"id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_n", "fingerprint", "version", "checksum"`
	p.refused("REPLACE of an event", own, fmt.Sprintf(`REPLACE INTO %[1]s (%[2]s) SELECT %[2]s FROM %[1]s WHERE "id" = %[3]s`, log, columns, quoteText(born.id)))
	p.refused("REPLACE of a place in the log", own, fmt.Sprintf(`REPLACE INTO %[1]s ("seq", %[2]s) SELECT "seq", 'new', 1, 0, "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", -1, '', 1, 0
		FROM %[1]s WHERE "id" = %[3]s`, log, columns, quoteText(born.id)))
	p.refused("UPDATE OR REPLACE of an event", own, fmt.Sprintf(`UPDATE OR REPLACE %s SET "id" = %s WHERE "id" = %s`, log, quoteText(born.id), quoteText(other.id)))
}

// TestSchemaKeepsUniqueRules tries a second record where one is allowed.
func TestSchemaKeepsUniqueRules(t *testing.T) {
	t.Parallel()
	for _, level := range []string{enforceNone, enforceChecks, enforceFull} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			prompts(t, level, hasUnique, func(t *testing.T, p *prompt) {
				for _, u := range uniqueRules(p.m) {
					states := u.states
					if states == nil {
						states = p.m.States[len(p.m.States)-1:] // a state in which no other rule is in the way
					}
					for _, st := range states {
						p.attackUnique(u, st)
					}
				}
			})
		})
	}
}

func (p *prompt) attackUnique(u uniqueRule, st *spec.State) {
	p.t.Helper()
	words := []string{"fsm: " + p.m.Name + ": the unique rule " + u.name + " is taken", "UNIQUE constraint failed", "_unique_" + u.name}
	holder := p.record(st)
	if u.states == nil && len(u.fields) > 0 { // at the creation
		p.n++
		nobody := &made{id: fmt.Sprintf("r%d", p.n)}
		mv := p.path(st)[0]
		rival := p.take(nobody, mv)
		for _, f := range u.fields {
			rival.values[f] = holder.values[f]
		}
		if holder.values[u.fields[0]] == "NULL" {
			return
		}
		p.refused("a second "+u.name, words, p.event(nobody, rival, mv.operation.Stored()), p.insert("INSERT", rival))
		return
	}
	// By moving there: the rival is of the same group as soon as it is of one,
	// with another number where the group counts.
	p.n++
	r := &made{id: fmt.Sprintf("r%d", p.n)}
	for _, mv := range p.path(st) {
		next := p.take(r, mv)
		for _, f := range u.fields {
			if next.values[f] != "NULL" { // where the field gets its value
				next.values[f] = holder.values[f]
			}
		}
		if mv.from == nil {
			for _, f := range p.m.Fields {
				if f.Type.Kind == spec.KindSequence {
					next.values[f] = "2"
				}
			}
		}
		write := p.insert("INSERT", next)
		if mv.from != nil {
			write = p.update(r, next)
		}
		if u.states == nil || slices.Contains(u.states, mv.to) {
			p.refused("a second "+u.name+" in "+mv.to.Name, words, p.event(r, next, mv.operation.Stored()), write)
			if p.d.name == "sqlite" && mv.from != nil && strings.Contains(write, "UPDATE ") {
				replace := strings.Replace(write, "UPDATE ", "UPDATE OR REPLACE ", 1)
				if p.guarded() {
					p.refused("UPDATE OR REPLACE to a second "+u.name, words, p.event(r, next, mv.operation.Stored()), replace)
				}
			}
			return
		}
		p.must(p.event(r, next, mv.operation.Stored()), write)
		r = next
	}
}

// guarded reports whether the schema has triggers that refuse.
func (p *prompt) guarded() bool {
	var n int
	if err := p.db.QueryRow(`SELECT count(*) FROM sqlite_master WHERE "type" = 'trigger' AND "sql" LIKE '%RAISE%'`).Scan(&n); err != nil {
		p.t.Fatal(err)
	}
	return n > 0
}
