package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// Ids with a log and without a record come in pages, ascending, however they were
// written; one that was purged is none of them.
func TestOrphansComeInPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := open(t, filepath.Join(t.TempDir(), "x.db"), sqlite.WithEnforce("checks"))
	tab := table(t, store, executionSchema(t))
	if err := tab.Commit(ctx, lease("b1", "j1", 1)); err != nil {
		t.Fatal(err)
	}
	err := tab.Update(ctx, func(tx fsm.Tx) error {
		event := func(id string, rev, n int, operation, from string) error {
			_, err := store.Transaction(tx).ExecContext(ctx, fmt.Sprintf(`INSERT INTO "execution_events"
				("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_n", "fingerprint", "version", "checksum")
				VALUES ('%s', %d, %d, '%s', 'x', %s, 'leased', 0, '', '', -1, '', 1, 0)`, id, rev, n, operation, from))
			return err
		}
		var errs []error
		for _, id := range []string{"c", "a", "d", "b0", "b2", "e"} {
			errs = append(errs, event(id, 1, 0, "lease", "NULL"), event(id, 2, 0, "start", "'leased'"))
		}
		// A mark is what is recorded only, of that operation and of that record.
		errs = append(errs, event("e", 2, 1, "__purge", "'leased'"), event("d", 2, 1, "start", "'leased'"), event("c", 3, 0, "__purge", "'leased'"))
		return errors.Join(errs...)
	})
	if err != nil {
		t.Fatal(err)
	}
	var pages [][]string
	err = tab.View(ctx, func(r driver.Reader) error {
		for after := ""; ; {
			page, err := r.Orphans(after, 2)
			if err != nil || len(page) == 0 {
				return err
			}
			pages, after = append(pages, page), page[len(page)-1]
			if len(pages) > 5 {
				return errors.New("the pages do not end")
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([][]string{{"a", "b0"}, {"b2", "c"}, {"d"}}, pages); d != "" {
		t.Errorf("pages (-want +got):\n%s", d)
	}
}

// A call that is recorded only, at a revision or in a state that the record has
// left, has moved, also where another record is there.
func TestRecordedBehindTheRecord(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tab := table(t, open(t, filepath.Join(t.TempDir(), "x.db"), sqlite.WithEnforce("none")), executionSchema(t))
	w1 := lease("e1", "j1", 1)
	w2 := step(w1, "start", "in_progress", "r2", map[int]any{4: start})
	other := lease("e2", "j2", 1)
	for _, w := range []*driver.Write{w1, w2, other, step(other, "start", "in_progress", "r3", map[int]any{4: start}), lease("e3", "j3", 1)} {
		if err := tab.Commit(ctx, w); err != nil {
			t.Fatal(err)
		}
	}
	recorded := func(id string, rev int64, state string) *driver.Write {
		e := w2.Event
		e.ID, e.Rev, e.From, e.To, e.RequestID = id, rev, state, state, fmt.Sprint("again ", id, rev, state)
		return &driver.Write{Prev: fsm.Ref{ID: id, Rev: rev}, PrevState: state, Event: e}
	}
	for _, w := range []*driver.Write{recorded("e1", 1, "leased"), recorded("e1", 2, "leased"), recorded("e1", 1, "in_progress"), recorded("nobody", 1, "leased")} {
		if err := tab.Commit(ctx, w); !errors.Is(err, driver.ErrMoved) {
			t.Errorf("%s at %d in %s: %v, want ErrMoved", w.Prev.ID, w.Prev.Rev, w.PrevState, err)
		}
	}
	for range 2 {
		w := recorded("e1", 2, "in_progress")
		w.Event.RequestID = ""
		if err := tab.Commit(ctx, w); err != nil {
			t.Error(err)
		}
	}
}

// A creation that the schema refuses is not told to have met its id, where the
// log knows other ones only.
func TestRefusedCreationHasItsOwnReason(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tab := table(t, open(t, filepath.Join(t.TempDir(), "x.db")), executionSchema(t))
	if err := tab.Commit(ctx, lease("e1", "j1", 1)); err != nil {
		t.Fatal(err)
	}
	w := lease("e2", "j2", 1)
	w.Event.Operation, w.Event.Sum = "start", 0 // which makes no record; without a chain the triggers look
	if err := tab.Commit(ctx, w); err == nil || errors.Is(err, driver.ErrIDTaken) {
		t.Errorf("got %v, want the refusal of the schema", err)
	}
	w = lease("e1", "j2", 1)
	w.Event.RequestID = "another"
	if err := tab.Commit(ctx, w); !errors.Is(err, driver.ErrIDTaken) {
		t.Errorf("got %v, want ErrIDTaken", err)
	}
}

// Of the deliveries of a record one is postponed or settled, and none of another
// record.
func TestOneDeliveryIsPostponed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tab := table(t, open(t, filepath.Join(t.TempDir(), "x.db"), sqlite.WithEnforce("none")), executionSchema(t))
	w1 := lease("e1", "j1", 1)
	w2 := step(w1, "start", "in_progress", "r2", map[int]any{4: start})
	other := lease("e2", "j2", 1)
	for _, w := range []*driver.Write{w1, w2, other} {
		w.Outbox = []driver.Delivery{{ID: w.Row.ID, Rev: w.Row.Rev, Effect: "notify", Key: "k", Due: start}}
		if err := tab.Commit(ctx, w); err != nil {
			t.Fatal(err)
		}
	}
	outbox := func() map[string]string {
		got := map[string]string{}
		err := tab.View(ctx, func(r driver.Reader) error {
			list, err := r.Outbox(start.Add(time.Hour), 0)
			for _, d := range list {
				got[fmt.Sprint(d.ID, " ", d.Rev)] = fmt.Sprint(d.Attempts, " ", d.Due.Sub(start), " ", d.LastError)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return got
	}
	if err := tab.Update(ctx, func(tx fsm.Tx) error {
		_, err := tx.Postpone("e1", 1, 0, 0, start.Add(time.Minute), "gone")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"e1 1": "0 1m0s gone", "e1 2": "0 0s ", "e2 1": "0 0s "}, outbox()); d != "" {
		t.Errorf("postponed (-want +got):\n%s", d)
	}
	if err := tab.Update(ctx, func(tx fsm.Tx) error {
		_, err := tx.Settle("e1", 2, 0, 0)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"e1 1": "0 1m0s gone", "e2 1": "0 0s "}, outbox()); d != "" {
		t.Errorf("settled (-want +got):\n%s", d)
	}
}

// A place in a batch is taken by who had that place in it, not by who had another
// one; a request that is no batch has no places.
func TestPlacesInABatch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tab := table(t, open(t, filepath.Join(t.TempDir(), "x.db")), executionSchema(t))
	create := func(id, job, request string, n int64) error {
		w := lease(id, job, 1)
		w.Event.RequestID, w.Event.RequestN = request, n
		return tab.Commit(ctx, w)
	}
	for _, err := range []error{create("e0", "j0", "none", -1), create("e1", "j1", "batch", 0)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		request string
		n       int64
		want    error
	}{{"batch", 0, driver.ErrRequestTaken}, {"batch", 1, driver.ErrIDTaken}, {"none", -1, driver.ErrRequestTaken}, {"other", 0, driver.ErrIDTaken}} {
		if err := create("e0", "j2", c.request, c.n); !errors.Is(err, c.want) {
			t.Errorf("%s %d: %v, want %v", c.request, c.n, err, c.want)
		}
	}
	if err := create("e2", "j2", "none", -1); err != nil { // the request of another record
		t.Error(err)
	}
}
