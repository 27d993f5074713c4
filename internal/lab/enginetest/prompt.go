package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
	"github.com/fsmgen/fsmgen/spec"
)

// prompt is a hand at the SQL prompt of a store's database: it writes past the
// engine and past the store.
type prompt struct {
	t       *testing.T
	m       *spec.Machine
	k       *world.Cases
	enforce string // how much the database refuses by itself
	dialect string
	tx      *sql.Tx
	known   map[string]*sql.Stmt // SQLite: by the text without its values; reading one with its triggers takes longer than running it
	bare    bool                 // the triggers are gone
	tried   int
	wrong   int
	bent    map[string]int // how often a field was changed to another value, by way
}

var errTakenBack = errors.New("enginetest: everything is taken back")

// atPrompt puts records into an empty store and hands its database to attack,
// which leaves no trace. What prepare does before is committed: after a change
// of the schema in its own transaction SQLite would read all of it anew for each
// attempt.
func atPrompt[R any](s *world.Suite[R], t *testing.T, st world.Store, rows []interp.Record, prepare, attack func(*prompt)) {
	t.Helper()
	store := st.Open(t)
	db, ok := store.(driver.Transactional[*sql.Tx])
	if !ok {
		t.Skipf("a %T does not lend its SQL transaction", store)
	}
	ctx := t.Context()
	if err := s.D.Migrate(ctx, store); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	for _, r := range rows {
		if err := fsmtest.Seed(ctx, store, s.D.Descriptor.Schema, world.Row(s.M, r)); err != nil {
			t.Fatal(err)
		}
	}
	table, err := store.Table(s.D.Descriptor.Schema)
	if err != nil {
		t.Fatal(err)
	}
	p := &prompt{t: t, m: s.M, k: s.Cases, enforce: s.D.Descriptor.Schema.Enforce, dialect: st.Name, bent: map[string]int{}}
	if prepare != nil {
		err := table.Update(ctx, func(tx fsm.Tx) error {
			p.tx = db.Transaction(tx)
			prepare(p)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err = table.Update(ctx, func(tx fsm.Tx) error {
		p.tx = db.Transaction(tx)
		if p.dialect == "sqlite" { // as it is at a prompt: REPLACE asks no trigger about the row that goes
			p.must("PRAGMA recursive_triggers = 0")
			defer p.must("PRAGMA recursive_triggers = 1")
		}
		p.known = map[string]*sql.Stmt{}
		defer p.forget()
		attack(p)
		return errTakenBack
	})
	s.PromptCount += p.tried
	if !errors.Is(err, errTakenBack) {
		t.Fatal(err)
	}
}

// errorf reports a failure, and ends the test after a few.
func (p *prompt) errorf(format string, args ...any) {
	p.t.Helper()
	p.t.Errorf(format, args...)
	if p.wrong++; p.wrong == 2 {
		p.t.FailNow()
	}
}

// must runs statements that have to do.
func (p *prompt) must(statements ...string) {
	p.t.Helper()
	for _, text := range statements {
		if err := p.run(text); err != nil {
			p.t.Fatalf("%v\n%s", err, text)
		}
	}
}

// run runs a statement. In SQLite its values are bound, so that those of one form are read once.
func (p *prompt) run(text string) error {
	ctx := context.Background()
	if p.dialect != "sqlite" || p.known == nil {
		_, err := p.tx.ExecContext(ctx, text)
		return err
	}
	form, args := bound(text)
	stmt := p.known[form]
	if stmt == nil {
		var err error
		if stmt, err = p.tx.PrepareContext(ctx, form); err != nil {
			return err
		}
		p.known[form] = stmt
	}
	_, err := stmt.ExecContext(ctx, args...)
	return err
}

// bound takes texts, whole numbers and NULL out of a statement of SQLite.
func bound(text string) (form string, args []any) {
	var b strings.Builder
	for i := 0; i < len(text); {
		end := i + 1
		switch c := text[i]; {
		case c == '\'' || c == '"':
			for end < len(text) && (text[end] != c || end+1 < len(text) && text[end+1] == c) {
				if text[end] == c {
					end++
				}
				end++
			}
			end++
		case word(c):
			for end < len(text) && (word(text[end]) || text[end] == '.') {
				end++
			}
			if end < len(text) && text[end] == '\'' { // x'61' stays as it is
				end += strings.IndexByte(text[end+1:], '\'') + 2
			}
		}
		part := text[i:end]
		n, err := strconv.ParseInt(part, 10, 64)
		switch i = end; {
		case part == "NULL":
			args = append(args, nil)
		case part[0] == '\'':
			args = append(args, strings.ReplaceAll(part[1:len(part)-1], "''", "'"))
		case err == nil && !strings.HasSuffix(b.String(), "-"):
			args = append(args, n)
		default:
			b.WriteString(part)
			continue
		}
		b.WriteByte('?')
	}
	return b.String(), args
}

func word(c byte) bool { return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// forget closes the statements that were read.
func (p *prompt) forget() {
	for _, stmt := range p.known {
		_ = stmt.Close()
	}
	p.known = nil
}

// try runs statements and takes them back. It returns which one was refused,
// or len(statements).
func (p *prompt) try(statements ...string) (int, error) {
	p.t.Helper()
	p.tried++
	p.must("SAVEPOINT attempt")
	if p.dialect == "postgres" {
		p.must("SET CONSTRAINTS ALL DEFERRED")
		statements = append(slices.Clone(statements), "SET CONSTRAINTS ALL IMMEDIATE") // as at the commit
	}
	at, failed := len(statements), error(nil)
	for i, text := range statements {
		if failed = p.run(text); failed != nil {
			at = i
			break
		}
	}
	p.must("ROLLBACK TO SAVEPOINT attempt", "RELEASE SAVEPOINT attempt")
	return at, failed
}

// taken demands that the database takes the statements.
func (p *prompt) taken(what string, statements ...string) {
	p.t.Helper()
	if _, err := p.try(statements...); err != nil {
		p.errorf("%s is lawful, but was refused: %v\n%s", what, err, strings.Join(statements, ";\n"))
	}
}

// refused demands that the database takes all statements but the last and
// refuses that one. A server may refuse it at the commit.
func (p *prompt) refused(what string, statements ...string) {
	p.t.Helper()
	at, err := p.try(statements...)
	switch {
	case err == nil:
		p.errorf("%s was accepted:\n%s", what, strings.Join(statements, ";\n"))
	case at < len(statements)-1:
		p.errorf("%s: what comes before it was refused: %v\n%s", what, err, statements[at])
	case !isRefusal(err):
		p.errorf("%s: %v; expected the refusal of a constraint or a trigger\n%s", what, err, statements[len(statements)-1])
	}
}

// isRefusal tells the refusal of a schema from a statement that is wrong.
func isRefusal(err error) bool {
	return slices.ContainsFunc([]string{
		"constraint", "malformed JSON", // SQLite
		"SQLSTATE 22", "SQLSTATE 23", "SQLSTATE FS", // PostgreSQL: no value of the type, a constraint, a trigger
	}, func(words string) bool { return strings.Contains(err.Error(), words) })
}

// literals are the SQL of a row's values by column.
type literals map[string]string

// with returns a copy with some columns changed.
func (l literals) with(pairs ...string) literals {
	l = maps.Clone(l)
	for i := 0; i < len(pairs); i += 2 {
		l[pairs[i]] = pairs[i+1]
	}
	return l
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// literal writes a value of a row.
func (p *prompt) literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return quoteText(v)
	case bool:
		if p.dialect == "sqlite" {
			return map[bool]string{true: "1", false: "0"}[v]
		}
	case time.Time:
		if p.dialect == "sqlite" {
			return fmt.Sprint(v.UnixMicro())
		}
		return "timestamptz " + quoteText(v.UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	return fmt.Sprint(v)
}

// The tables of the machine.
func (p *prompt) records() string { return p.m.Name }
func (p *prompt) events() string  { return p.m.Name + "_events" }

// row writes a record.
func (p *prompt) row(r interp.Record) literals {
	row := world.Row(p.m, r)
	l := literals{
		"id": quoteText(r.ID), "state": quoteText(row.State), "rev": fmt.Sprint(r.Rev),
		"created_at": p.literal(row.CreatedAt), "updated_at": p.literal(row.UpdatedAt),
	}
	for i, f := range p.m.Fields {
		l[f.Stored()] = p.literal(row.Values[i])
	}
	return l
}

// event writes the event of a step; before is in no state for a creation.
func (p *prompt) event(operation string, before, after interp.Record) literals {
	l := literals{
		"id": quoteText(after.ID), "rev": fmt.Sprint(after.Rev), "n": "0", "operation": quoteText(operation), "name": "'name'",
		"from_state": "NULL", "to_state": quoteText(after.State.Stored()), "occurred_at": p.literal(after.UpdatedAt), "actor": "'me'", "reason": "''",
		"request_id": "NULL", "request_n": "-1", "fingerprint": "''", "version": "1", "checksum": "0",
	}
	if before.State != nil {
		l["from_state"] = quoteText(before.State.Stored())
	}
	return l
}

// recorded writes an event that is recorded only, the n-th at its revision.
func (p *prompt) recorded(operation string, r interp.Record, n int) literals {
	return p.event(operation, r, r).with("n", fmt.Sprint(n))
}

// insert writes a row into a table.
func insert(table string, l literals) string { return put("INSERT", table, l) }

// replace does the same and pushes out what is in the way.
func replace(table string, l literals) string { return put("INSERT OR REPLACE", table, l) }

func put(verb, table string, l literals) string {
	var names, values []string
	for _, name := range sortedKeys(l) {
		names, values = append(names, quoteName(name)), append(values, l[name])
	}
	return fmt.Sprintf("%s INTO %s (%s) VALUES (%s)", verb, quoteName(table), strings.Join(names, ", "), strings.Join(values, ", "))
}

// update changes the record with that id to l.
func (p *prompt) update(id string, l literals) string { return p.change("UPDATE", id, l) }

// push does the same and pushes out what is in the way.
func (p *prompt) push(id string, l literals) string { return p.change("UPDATE OR REPLACE", id, l) }

func (p *prompt) change(verb, id string, l literals) string {
	var sets []string
	for _, name := range sortedKeys(l) {
		sets = append(sets, quoteName(name)+" = "+l[name])
	}
	return fmt.Sprintf(`%s %s SET %s WHERE "id" = %s`, verb, quoteName(p.records()), strings.Join(sets, ", "), quoteText(id))
}

// names returns the objects of a type in a SQLite database.
func (p *prompt) names(kind string) []string {
	p.t.Helper()
	rows, err := p.tx.QueryContext(context.Background(), `SELECT "name" FROM sqlite_master WHERE "type" = `+quoteText(kind)+` ORDER BY "name"`)
	if err != nil {
		p.t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			p.t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		p.t.Fatal(err)
	}
	return names
}
