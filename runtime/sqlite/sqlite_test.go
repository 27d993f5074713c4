package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// generated returns the schema that the generator's golden tests keep.
func generated(t testing.TB, machine string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "gen", "testdata", "schema", machine+".sqlite.sql"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"sqlite": string(text)}
}

func executionSchema(t testing.TB) *driver.Schema {
	s := executionFields()
	s.SQL = generated(t, "execution")
	return s
}

func executionFields() *driver.Schema {
	return &driver.Schema{
		Machine: "execution", Entity: "Execution", Version: 1, Hash: "h1", Table: "execution", Enforce: "full",
		Columns: []driver.Column{
			{Name: "job_id", Stored: "job_id", Kind: driver.KindString},
			{Name: "attempt", Stored: "attempt", Kind: driver.KindSequence},
			{Name: "lease_owner", Stored: "lease_owner", Kind: driver.KindString},
			{Name: "lease_expires_at", Stored: "lease_expires_at", Kind: driver.KindTime},
			{Name: "started_at", Stored: "started_at", Kind: driver.KindTime, Optional: true},
			{Name: "finished_at", Stored: "finished_at", Kind: driver.KindTime, Optional: true},
		},
		States: []driver.StateInfo{
			{Name: "leased", Stored: "leased"}, {Name: "in_progress", Stored: "in_progress"}, {Name: "committed", Stored: "committed"},
			{Name: "done", Stored: "done", Terminal: true}, {Name: "aborted", Stored: "aborted", Terminal: true},
		},
		Uniques: []driver.UniqueRule{
			{Name: "one_lease_per_job", Columns: []string{"job_id"}, States: []string{"leased", "in_progress"}},
			{Name: "one_committed_per_job", Columns: []string{"job_id"}, States: []string{"committed", "done"}},
			{Name: "sequence_attempt", Columns: []string{"job_id", "attempt"}},
		},
	}
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

// leaseImage names every field, as images do.
const leaseImage = `{"created_at":null,"updated_at":null,"job_id":"j1","attempt":1,"lease_owner":"w1","lease_expires_at":null,"started_at":null,"finished_at":null}`

// lease is the creation of an execution.
func lease(id, job string, attempt int64) *driver.Write {
	row := &driver.Row{ID: id, State: "leased", Rev: 1, CreatedAt: start, UpdatedAt: start,
		Values: []any{job, attempt, "w1", start.Add(time.Minute), nil, nil}}
	return &driver.Write{Prev: fsm.Ref{ID: id}, Row: row, Event: fsm.Event{ID: id, Rev: 1, Operation: "lease", Name: "leased", To: "leased",
		At: start, Actor: "w1", RequestID: "lease-" + id, RequestN: 0, Fingerprint: "f", Labels: map[string]string{"a": "b"},
		Inputs: fsm.MustJSON(`{"job_id":"j"}`), Changes: fsm.MustJSON(`{}`), Image: fsm.MustJSON(leaseImage), Version: 1, Sum: 4294967295}}
}

// step is the next move of an execution.
func step(prev *driver.Write, operation, to, request string, changed map[int]any) *driver.Write {
	row := *prev.Row
	row.Rev, row.State, row.UpdatedAt = row.Rev+1, to, row.UpdatedAt.Add(time.Second)
	row.Values = append([]any(nil), row.Values...)
	w := &driver.Write{Prev: prev.Row.Ref(), PrevState: prev.Row.State, Row: &row}
	for i := range row.Values {
		if v, ok := changed[i]; ok {
			row.Values[i] = v
			w.Changed = append(w.Changed, i)
		}
	}
	w.Event = fsm.Event{ID: row.ID, Rev: row.Rev, Operation: operation, Name: operation, From: w.PrevState, To: to, At: row.UpdatedAt,
		Actor: "w1", RequestID: request, RequestN: -1, Fingerprint: "f", Inputs: fsm.MustJSON(`{}`), Changes: fsm.MustJSON(`{}`), Version: 1}
	return w
}

func open(t testing.TB, path string, opts ...sqlite.Option) *sqlstore.Store {
	t.Helper()
	store, err := sqlite.Open(path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func table(t testing.TB, store fsm.Store, s *driver.Schema) driver.Table {
	t.Helper()
	tab, err := store.Table(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := tab.Check(context.Background()); err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestWritesAndReads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "a b%20ü.db")
	store := open(t, path)
	s := executionSchema(t)
	tab := table(t, store, s)
	if err := tab.Migrate(ctx); err != nil {
		t.Fatalf("second Migrate: %v", err)
	}
	w1 := lease("e1", "j1", 1)
	if err := tab.Commit(ctx, w1); err != nil {
		t.Fatal(err)
	}
	w2 := step(w1, "start", "in_progress", "r2", map[int]any{4: start.Add(time.Second)})
	if err := tab.Commit(ctx, w2); err != nil {
		t.Fatal(err)
	}
	w3 := step(w2, "commit", "committed", "r3", nil)
	if err := tab.Commit(ctx, w3); err != nil {
		t.Fatal(err)
	}
	again := &driver.Write{Prev: w3.Row.Ref(), PrevState: "committed", Event: w3.Event}
	again.Event.From, again.Event.RequestID = "committed", "r4"
	if err := tab.Commit(ctx, again); err != nil {
		t.Fatal(err)
	}
	if again.Event.N != 1 {
		t.Errorf("recorded event got number %d, want 1", again.Event.N)
	}
	store.Close()
	store = open(t, path)
	tab = table(t, store, s)
	err := tab.View(ctx, func(r driver.Reader) error {
		row, err := r.Row("e1")
		if err != nil {
			return err
		}
		written := *w3.Row
		written.Chain = row.Chain // the store tells it
		if diff := cmp.Diff(written, row); diff != "" {
			t.Errorf("row (-want +got):\n%s", diff)
		}
		var events []fsm.Event
		for e, err := range r.Events("e1", 0) {
			if err != nil {
				return err
			}
			events = append(events, e)
		}
		want := []fsm.Event{w1.Event, w2.Event, w3.Event, again.Event}
		var chain uint32
		for i := range want { // the last one is recorded only and hangs on the one before it all the same
			chain = driver.Chained(chain, &want[i])
			want[i].Chain = chain
		}
		if diff := cmp.Diff(want, events, cmp.Comparer(func(a, b fsm.JSON) bool { return a == b })); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, level := range []string{"checks", "full"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			tab := table(t, open(t, filepath.Join(t.TempDir(), "x.db"), sqlite.WithEnforce(level)), executionSchema(t))
			w1 := lease("e1", "j1", 1)
			w2 := step(w1, "start", "in_progress", "r2", map[int]any{4: start.Add(time.Second)})
			w3 := step(w2, "commit", "committed", "r3", nil)
			for _, w := range []*driver.Write{w1, w2, w3} {
				if err := tab.Commit(ctx, w); err != nil {
					t.Fatal(err)
				}
			}
			same := lease("e1", "j9", 1)
			same.Event.RequestID = "other"
			taken := lease("e2", "j2", 1)
			taken.Event.RequestID = "lease-e1"
			late := step(w2, "expire", "aborted", "late", map[int]any{5: start})
			replay := step(w2, "commit", "committed", "r3", nil)
			missing := step(lease("e7", "j7", 1), "start", "in_progress", "r2", map[int]any{4: start})
			number := lease("e3", "j1", 1)
			f1 := lease("f1", "j1", 2)
			rival := lease("f2", "j1", 3)
			for _, c := range []struct {
				name string
				w    *driver.Write
				want error
			}{
				{"id taken", same, driver.ErrIDTaken},
				{"request taken in the machine", taken, driver.ErrRequestTaken},
				{"stale", late, driver.ErrMoved},
				{"request taken in the record", replay, driver.ErrRequestTaken},
				{"no such record", missing, driver.ErrMoved},
				{"number taken", number, &driver.ConflictError{Rule: "sequence_attempt"}},
				{"second lease", f1, nil},
				{"rival lease", rival, &driver.ConflictError{Rule: "one_lease_per_job"}},
			} {
				err := tab.Commit(ctx, c.w)
				var conflict, wanted *driver.ConflictError
				if errors.As(c.want, &wanted) && errors.As(err, &conflict) && *conflict == *wanted {
					continue
				}
				if !errors.Is(err, c.want) {
					t.Errorf("%s: got %v, want %v", c.name, err, c.want)
				}
			}
			g := step(f1, "start", "in_progress", "g1", map[int]any{4: start})
			if err := tab.Commit(ctx, g); err != nil {
				t.Fatal(err)
			}
			err := tab.Commit(ctx, step(g, "commit", "committed", "g2", nil))
			if conflict := new(driver.ConflictError); !errors.As(err, &conflict) || conflict.Rule != "one_committed_per_job" {
				t.Errorf("second committed execution: got %v, want the rule one_committed_per_job", err)
			}
			bad := step(g, "expire", "aborted", "g3", nil) // finished_at is missing
			if err := tab.Commit(ctx, bad); !errors.Is(err, fsm.ErrInvariant) {
				t.Errorf("missing field: got %v, want ErrInvariant", err)
			}
		})
	}
}
