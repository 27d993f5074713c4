package fsm_test

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// tally are the single writes, looks and transactions of a call.
type tally struct{ Commits, Views, Updates int }

func (c *counted) tally() tally { return tally{c.commits, c.views, c.updates} }

var (
	byLook        = tally{Commits: 1, Views: 1}
	byTransaction = tally{Commits: 1, Views: 1, Updates: 1}
)

var sameOutcome = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".stored" }, cmp.Ignore()), // not every reader knows the chain
}

// What was asked before is answered without a transaction: nothing is to be written.
func TestReplayTakesNoTransaction(t *testing.T) {
	t.Parallel()
	t.Run("creation", func(t *testing.T) {
		t.Parallel()
		c := counting(t, nil, nil, nil)
		first := must(t)(c.Create(t.Context(), storetest.Register(meta("r"), in("p2"))))
		c.commits = 0
		out, err := c.Create(t.Context(), storetest.Register(meta("r"), in("p2")))
		first.Replayed = true
		if diff := cmp.Diff(first, out, sameOutcome); err != nil || diff != "" || c.tally() != byLook {
			t.Errorf("%v after %+v (-first +again):\n%s", err, c.tally(), diff)
		}
	})
	t.Run("operation", func(t *testing.T) {
		t.Parallel()
		c := counting(t, nil, nil, nil)
		first := must(t)(c.Apply(t.Context(), p1, note("r", "x")))
		c.commits = 0
		out, err := c.Apply(t.Context(), p1, note("r", "x"))
		first.Replayed = true
		if diff := cmp.Diff(first, out, sameOutcome); err != nil || diff != "" || c.tally() != byLook {
			t.Errorf("%v after %+v (-first +again):\n%s", err, c.tally(), diff)
		}
	})
	t.Run("dedupe", func(t *testing.T) {
		t.Parallel()
		c := counting(t, nil, nil, nil)
		labelled := func(id string) storetest.RegisterInput {
			return storetest.RegisterInput{ID: id, Lane: "a", Label: fsm.Some("l")}
		}
		must(t)(c.Create(t.Context(), storetest.Register(meta("r"), labelled("p2"))))
		c.commits = 0
		out, err := c.Create(t.Context(), storetest.Register(meta("s"), labelled("p3")))
		if err != nil || !out.Existing || out.Record.ID != "p2" || c.tally() != byLook {
			t.Errorf("%v of %s, existing %v, after %+v", err, out.Record.ID, out.Existing, c.tally())
		}
	})
}

// So is what comes too late, or with the request of another call.
func TestRefusalTakesNoTransaction(t *testing.T) {
	t.Parallel()
	c := counting(t, nil, nil, nil)
	must(t)(c.Apply(t.Context(), p1, note("r", "x")))
	c.commits = 0
	_, err := c.Apply(t.Context(), p1, note("s", "x"))
	var r *fsm.Refusal
	if !errors.As(err, &r) || r.Code != fsm.ErrStale || r.Rev != 2 || r.Expected != 1 || r.State != "waiting" || r.Operation != "annotate" || c.tally() != byLook {
		t.Errorf("stale: %v after %+v", err, c.tally())
	}
	c = counting(t, nil, nil, nil)
	must(t)(c.Apply(t.Context(), p1, note("r", "x")))
	c.commits = 0
	if _, err := c.Apply(t.Context(), p1, note("r", "y")); !errors.Is(err, fsm.ErrRequestReused) || c.tally() != byLook {
		t.Errorf("reused by an operation: %v after %+v", err, c.tally())
	}
	c = counting(t, nil, nil, nil)
	must(t)(c.Create(t.Context(), storetest.Register(meta("r"), in("p2"))))
	c.commits = 0
	if _, err := c.Create(t.Context(), storetest.Register(meta("r"), in("p3"))); !errors.Is(err, fsm.ErrRequestReused) || c.tally() != byLook {
		t.Errorf("reused by a creation: %v after %+v", err, c.tally())
	}
}

// A place that is taken is told at once: no look and no transaction would say otherwise.
func TestTakenPlaceIsCertain(t *testing.T) {
	t.Parallel()
	c := counting(t, func() error { return &driver.ConflictError{Rule: "one_per_slot"} }, nil, nil)
	_, err := c.Apply(t.Context(), p1, note("r", "x"))
	if !errors.Is(err, fsm.ErrNotUnique) || c.tally() != (tally{Commits: 1}) {
		t.Errorf("%v after %+v", err, c.tally())
	}
}

// What a look does not settle is left to a transaction: a look that fails, a
// record at the revision that was expected after all, one that is gone, an id that
// is taken, and a machine that takes calls for any revision.
func TestLookThatSettlesNothing(t *testing.T) {
	t.Parallel()
	moved := func() error { return driver.ErrMoved }
	c := counting(t, nil, nil, func() error { return errors.New("no sight") })
	must(t)(c.Apply(t.Context(), p1, note("r", "x")))
	c.commits = 0
	if out, err := c.Apply(t.Context(), p1, note("r", "x")); err != nil || !out.Replayed || c.tally() != byTransaction {
		t.Errorf("a look that fails: %v after %+v", err, c.tally())
	}
	c = counting(t, nil, nil, nil)
	c.store.view = func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
		c.views++
		return errors.Join(table.View(ctx, f), errLost)
	}
	must(t)(c.Apply(t.Context(), p1, note("r", "x")))
	c.commits = 0
	if out, err := c.Apply(t.Context(), p1, note("r", "x")); err != nil || !out.Replayed || c.tally() != byTransaction {
		t.Errorf("a look that fails at its end: %v after %+v", err, c.tally())
	}
	c = counting(t, moved, nil, nil)
	if out, err := c.Apply(t.Context(), p1, note("r", "x")); err != nil || out.Record.Rev != 2 || c.tally() != byTransaction {
		t.Errorf("the same revision: %v after %+v", err, c.tally())
	}
	c = counting(t, nil, nil, nil)
	gone := p1
	gone.ID = "p9"
	if _, err := c.Apply(t.Context(), gone, note("r", "x")); !errors.Is(err, fsm.ErrNotFound) || c.tally() != byTransaction {
		t.Errorf("a record that is not there: %v after %+v", err, c.tally())
	}
	c = counting(t, nil, nil, nil)
	if _, err := c.Create(t.Context(), storetest.Register(meta("r"), in("p1"))); !errors.Is(err, fsm.ErrExists) || c.tally() != byTransaction {
		t.Errorf("an id that is taken: %v after %+v", err, c.tally())
	}
	schema := storetest.Schema()
	schema.ExpectedRev = driver.Never
	c = countingOf(t, schema, nil, nil, nil)
	must(t)(c.Apply(t.Context(), p1, note("r", "x")))
	c.commits = 0
	if out, err := c.Apply(t.Context(), p1, note("s", "x")); err != nil || out.Record.Rev != 3 || c.tally() != byTransaction {
		t.Errorf("any revision: %v after %+v", err, c.tally())
	}
}

// An answer that was read badly is none.
func TestLookThatBreaks(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken page")
	for what, read := range map[string]*misread{"requests": {request: broken}, "row": {row: broken}, "rows": {rows: broken}} {
		c := counting(t, nil, nil, nil)
		must(t)(c.Apply(t.Context(), p1, note("r", "x")))
		must(t)(c.Create(t.Context(), storetest.Register(meta("r2"), storetest.RegisterInput{ID: "p2", Lane: "a", Label: fsm.Some("l")})))
		c.store.view = func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
			return table.View(ctx, func(r driver.Reader) error { return f(read.over(r)) })
		}
		if _, err := c.Apply(t.Context(), p1, note("s", "x")); !errors.Is(err, fsm.ErrStale) {
			t.Errorf("%s, operation: %v", what, err)
		}
		out, err := c.Create(t.Context(), storetest.Register(meta("s2"), storetest.RegisterInput{ID: "p3", Lane: "a", Label: fsm.Some("l")}))
		if err != nil || !out.Existing {
			t.Errorf("%s, creation: %v", what, err)
		}
	}
}

// misread is a reader some of whose answers are errors.
type misread struct {
	driver.Reader
	request, row, rows error
}

func (b misread) over(r driver.Reader) driver.Reader { b.Reader = r; return b }

func (b misread) Request(id, requestID string) ([]fsm.Event, error) {
	if b.request != nil {
		return nil, b.request
	}
	return b.Reader.Request(id, requestID)
}

func (b misread) Row(id string) (driver.Row, error) {
	if b.row != nil {
		return driver.Row{}, b.row
	}
	return b.Reader.Row(id)
}

func (b misread) Rows(q driver.Query) iter.Seq2[driver.Row, error] {
	if b.rows != nil {
		return func(yield func(driver.Row, error) bool) { yield(driver.Row{}, b.rows) }
	}
	return b.Reader.Rows(q)
}
