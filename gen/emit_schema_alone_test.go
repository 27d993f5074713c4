package gen

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// At the level `checks` nothing but the CHECKs looks at a row, so each of them
// is alone with what it has to refuse.
func TestSchemaChecksAlone(t *testing.T) {
	t.Parallel()
	for _, name := range shippedMachines {
		t.Run(name+"/sqlite", func(t *testing.T) {
			t.Parallel()
			m := shipped(t, name)
			empty := func() *sql.DB {
				db, err := sql.Open("sqlite", ":memory:")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { db.Close() })
				db.SetMaxOpenConns(1)
				if _, err := db.Exec(string(sqliteSchema(m, enforceChecks))); err != nil {
					t.Fatal(err)
				}
				return db
			}
			checksOfRecords(t, m, empty())
			checksOfHeads(t, m, empty())
			checksOfEvents(t, m, empty())
		})
	}
}

// checksOfRecords inserts made-up records in every state: those that break a
// MUST rule are refused, and no CHECK refuses another one.
func checksOfRecords(t *testing.T, m *spec.Machine, db *sql.DB) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	for _, st := range m.States {
		for i := range 400 {
			r := numbered(m, randomRecord(m, random, fmt.Sprintf("%s-%d", st.Name, i)).In(st), int64(random.IntN(9000)-500))
			statement := insertRecord(m, sqliteDialect(), r)
			_, err := db.Exec(statement)
			broken := slices.ContainsFunc(interp.Check(m, r), func(v interp.Violation) bool { return v.Must })
			switch {
			case broken && err == nil:
				t.Fatalf("a record in %s was taken that breaks %v:\n%s", st.Name, interp.Check(m, r), statement)
			case !broken && err != nil && strings.Contains(err.Error(), "CHECK"):
				t.Fatalf("a sound record in %s was refused: %v\n%s", st.Name, err, statement)
			}
			if _, err := db.Exec("DELETE FROM " + quoteName(m.Name)); err != nil { // unique rules are not looked at here
				t.Fatal(err)
			}
		}
	}
}

// numbered gives a record a number in its sequences.
func numbered(m *spec.Machine, r interp.Record, n int64) interp.Record {
	for i, f := range m.Fields {
		if f.Type.Kind == spec.KindSequence {
			r.Fields[i] = interp.Int(n)
		}
	}
	return r
}

// checksOfHeads inserts a sound record with one fault in what every record has.
func checksOfHeads(t *testing.T, m *spec.Machine, db *sql.DB) {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	first := m.States[0]
	sound := interp.NewRecord(m, "sound")
	for range 100000 {
		if sound = numbered(m, randomRecord(m, random, "sound").In(first), 1); len(interp.Check(m, sound)) == 0 {
			break
		}
	}
	statement := insertRecord(m, sqliteDialect(), sound)
	head := fmt.Sprintf("('sound', %s, 1,", quoteText(first.Stored()))
	if strings.Count(statement, head) != 1 {
		t.Fatalf("the statement does not begin its values with %s:\n%s", head, statement)
	}
	for _, c := range []struct{ check, head string }{
		{"id is not empty", fmt.Sprintf("('', %s, 1,", quoteText(first.Stored()))},
		{"state is known", "('sound', 'limbo', 1,"},
		{"rev is at least 1", fmt.Sprintf("('sound', %s, 0,", quoteText(first.Stored()))},
		{"", head}, // the control
	} {
		_, err := db.Exec(strings.Replace(statement, head, c.head, 1))
		if (err == nil) != (c.check == "") || err != nil && !strings.Contains(err.Error(), c.check) {
			t.Errorf("%v, want the check %q", err, c.check)
		}
	}
}

// checksOfEvents inserts events with one fault each.
func checksOfEvents(t *testing.T, m *spec.Machine, db *sql.DB) {
	t.Helper()
	columns := []string{"seq", "id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_id", "request_n", "fingerprint", "version", "checksum"}
	insert := func(faults map[string]string) error {
		event := map[string]string{
			"seq": "(SELECT coalesce(max(\"seq\"), 0) + 1 FROM " + quoteName(m.Name+"_events") + ")", "id": "'e'", "rev": "2", "n": "0",
			"operation": "'o'", "name": "'n'", "from_state": "'a'", "to_state": "'b'", "occurred_at": "1", "actor": "'ann'", "reason": "''",
			"request_id": "NULL", "request_n": "-1", "fingerprint": "''", "version": "1", "checksum": "1",
		}
		for k, v := range faults {
			event[k] = v
		}
		var names, values []string
		for _, c := range columns {
			names, values = append(names, quoteName(c)), append(values, event[c])
		}
		_, err := db.Exec(fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", quoteName(m.Name+"_events"), strings.Join(names, ", "), strings.Join(values, ", ")))
		return err
	}
	for _, c := range []struct {
		check  string
		faults map[string]string
	}{
		{"seq is at least 1", map[string]string{"seq": "0"}},
		{"rev is at least 1", map[string]string{"rev": "0"}},
		{"n is a count", map[string]string{"n": "-1"}},
		{"revision 1 is the creation", map[string]string{"rev": "1"}},
		{"a recorded call moves nothing", map[string]string{"n": "1"}},
		{"request_id is not empty", map[string]string{"request_id": "''"}},
		{"request_n is an index", map[string]string{"request_n": "-2"}},
	} {
		if err := insert(c.faults); err == nil || !strings.Contains(err.Error(), c.check) {
			t.Errorf("an event with %v: %v, want the check %q", c.faults, err, c.check)
		}
	}
	if err := insert(nil); err != nil { // the control
		t.Errorf("an event without a fault: %v", err)
	}
	// Requests: once within a record, and once within the machine.
	for _, c := range []struct {
		what, words string
		faults      map[string]string
	}{
		{"a request", "", map[string]string{"rev": "3", "request_id": "'r'"}},
		{"the same request of the record", "request id stands in the log", map[string]string{"rev": "4", "request_id": "'r'"}},
		{"a request of the machine", "", map[string]string{"rev": "5", "request_id": "'s'", "request_n": "0"}},
		{"the same request of the machine", "request id stands in the log", map[string]string{"id": "'f'", "rev": "5", "request_id": "'s'", "request_n": "0"}},
		{"the next of a batch", "", map[string]string{"id": "'f'", "rev": "5", "request_id": "'s'", "request_n": "1"}},
		{"the same revision", "the event is in the log already", map[string]string{"rev": "3"}},
		{"the same place", "the place in the log is taken", map[string]string{"id": "'g'", "seq": "1"}},
	} {
		err := insert(c.faults)
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", c.what, err, c.words)
		}
	}
}

// A forged event is refused by itself, before anybody forges the row to it.
func TestSchemaRefusesForgedEvents(t *testing.T) {
	t.Parallel()
	prompts(t, enforceFull, every, func(t *testing.T, p *prompt) {
		p.t = t
		if p.d.name != "sqlite" {
			t.Skip("a server looks at the end of the transaction")
		}
		for _, mv := range moves(p.m) {
			if mv.from == nil {
				continue
			}
			r := p.record(mv.from)
			to := p.take(r, mv)
			p.refused("an event of no operation", []string{"no operation makes this move"}, p.event(r, to, "no_such_operation"))
			skipped := *to
			skipped.rev++
			p.refused("an event of a later revision", []string{"the record is not at the revision and state that the event leaves"}, p.event(r, &skipped, mv.operation.Stored()))
		}
	})
}
