package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// finishing is the suite's schema in which a parcel that is held is finished too.
func finishing() *driver.Schema {
	s := storetest.Schema()
	for i := range s.States {
		if s.States[i].Name == "held" {
			s.States[i].Final = true
		}
	}
	return s
}

// heldAll makes parcels that are held, and with a call that was recorded only.
func heldAll(t *testing.T, m *machine, ids ...string) (outs []outcome) {
	t.Helper()
	for _, id := range ids {
		out := must(t)(m.Create(t.Context(), storetest.Register(meta("make "+id), in(id))))
		outs = append(outs, must(t)(m.Apply(t.Context(), out, storetest.Hold(storetest.Meta{Actor: "ann"}, "a", start))))
		must(t)(m.Apply(t.Context(), fsm.Ref{ID: id}, storetest.Touch(storetest.Meta{Actor: "eve"}, start)))
	}
	return outs
}

func old() audit.PurgeOptions {
	return audit.PurgeOptions{Before: start.Add(1e9), Actor: "root", Reason: "old"}
}

// present lists the records, also those that cannot be loaded.
func present(t *testing.T, store fsm.Store) string {
	t.Helper()
	table, err := store.Table(storetest.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	err = table.View(t.Context(), func(r driver.Reader) error {
		for row, err := range r.Rows(driver.Query{}) {
			if err != nil {
				return err
			}
			ids = append(ids, row.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(ids, " ")
}

func TestPurgeAsksForWhatItNeeds(t *testing.T) {
	t.Parallel()
	store := newStore()
	m := open(t, store, finishing(), fixed())
	heldAll(t, m, "p1")
	for what, tt := range map[string]struct {
		change func(o *audit.PurgeOptions)
		want   error
		name   string
	}{
		"no time":                  {func(o *audit.PurgeOptions) { *o = audit.PurgeOptions{Actor: "root", Reason: "old"} }, fsm.ErrInvalidInput, "before"},
		"no actor":                 {func(o *audit.PurgeOptions) { o.Actor = "" }, fsm.ErrActorMissing, ""},
		"no reason":                {func(o *audit.PurgeOptions) { o.Reason = "" }, fsm.ErrReasonMissing, ""},
		"an actor that is no text": {func(o *audit.PurgeOptions) { o.Actor = "a\x00" }, fsm.ErrInvalidInput, "actor or reason"},
		"a reason that is no text": {func(o *audit.PurgeOptions) { o.Reason = "\xff" }, fsm.ErrInvalidInput, "actor or reason"},
		"a state that goes on":     {func(o *audit.PurgeOptions) { o.States = []string{"sent", "shelved"} }, fsm.ErrInvalidInput, "states"},
		"a state that is none":     {func(o *audit.PurgeOptions) { o.States = []string{"sent", "lost"} }, fsm.ErrInvalidInput, "states"},
		"a state twice":            {func(o *audit.PurgeOptions) { o.States = []string{"sent", "sent"} }, fsm.ErrInvalidInput, "states"},
		"a list without a state":   {func(o *audit.PurgeOptions) { o.States = []string{} }, fsm.ErrInvalidInput, "states"},
	} {
		o := old()
		tt.change(&o)
		n, err := audit.Purge(t.Context(), m, o)
		var r *fsm.Refusal
		if n != 0 || !errors.Is(err, tt.want) || !errors.As(err, &r) || r.Name != tt.name || (r.Message == "") != (tt.name == "") {
			t.Errorf("%s: %d, %v, want %v about %q with a message", what, n, err, tt.want, tt.name)
		}
	}
	loop := finishing()
	for i := range loop.States {
		loop.States[i].Terminal, loop.States[i].Final = false, false
	}
	if n, err := audit.Purge(t.Context(), open(t, newStore(), loop, fixed()), old()); n != 0 || !errors.Is(err, fsm.ErrInvalidInput) {
		t.Errorf("a machine in which nothing ends: %d, %v", n, err)
	}
	if got := present(t, store); got != "p1" {
		t.Errorf("there are %q", got)
	}
}

// Purge removes records in the states that were asked for, all of them without a
// limit, and passes over one that cannot be loaded.
func TestPurgePassesOverTheQuarantined(t *testing.T) {
	t.Parallel()
	store := newStore()
	m := open(t, store, finishing(), fixed())
	outs := heldAll(t, m, "p1", "p2", "p3", "p4")
	out := must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p4"}, storetest.Shelve(meta(""), "s", "t")))
	must(t)(m.Apply(t.Context(), out, storetest.Send(meta(""))))
	spoiled(t, store, must(t)(outs[0], nil))
	o := old()
	o.States = []string{"held"}
	n, err := audit.Purge(t.Context(), m, o)
	if n != 2 || !errors.Is(err, fsm.ErrQuarantined) {
		t.Errorf("purged %d, %v, want two and the quarantined one told", n, err)
	}
	if got := present(t, store); got != "p1 p4" {
		t.Errorf("there are %q, want p1 p4", got)
	}
}

// A state that is asked for is terminal or final: it need not be both.
func TestPurgeOfOneState(t *testing.T) {
	t.Parallel()
	for state, left := range map[string]string{"sent": "p1", "held": "p2"} { // terminal the one, final the other
		store := newStore()
		m := open(t, store, finishing(), fixed())
		heldAll(t, m, "p1", "p2")
		must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p2"}, storetest.Expel(meta(""))))
		o := old()
		o.States = []string{state}
		if n, err := audit.Purge(t.Context(), m, o); n != 1 || err != nil || present(t, store) != left {
			t.Errorf("%s: purged %d, %v, there are %q; want %q to be left", state, n, err, present(t, store), left)
		}
	}
}

func TestPurgeEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	store := newStore()
	m := open(t, store, finishing(), fixed())
	heldAll(t, m, "p1", "p2", "p3")
	o := old()
	o.Limit = 2
	if n, err := audit.Purge(t.Context(), m, o); n != 2 || err != nil || present(t, store) != "p3" {
		t.Errorf("purged %d, %v, there are %q; want two removed", n, err, present(t, store))
	}
}

// A limit bounds what a purge tries, and the next one goes on behind that: thousands of
// records that the database keeps do not keep it from those behind them.
func TestPurgeGoesOnBehindTheRefused(t *testing.T) {
	t.Parallel()
	const kept, limit = 10_000, 100
	tries := 0
	store := &wrapped{Store: newStore()}
	m := open(t, store, finishing(), fixed())
	ids := make([]string, kept, kept+1)
	for i := range ids {
		ids[i] = fmt.Sprintf("kept %05d", i)
	}
	heldAll(t, m, append(ids, "the last")...)
	store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if tries++; tries <= kept {
			return &fsm.Refusal{Code: fsm.ErrDenied, Machine: "parcel"}
		}
		return table.Update(ctx, f)
	}
	o := old()
	o.Limit, o.Behind = limit, new(string)
	removed, calls := 0, 0
	for more := true; more && calls <= kept; more = *o.Behind != "" {
		before := tries
		n, err := audit.Purge(t.Context(), m, o)
		removed, calls = removed+n, calls+1
		if tries-before > limit || n == 0 && !errors.Is(err, fsm.ErrDenied) {
			t.Fatalf("call %d tried %d and removed %d (%v), want at most %d", calls, tries-before, n, err, limit)
		}
		var many *fsm.RecordsError
		if calls == 1 && (!errors.As(err, &many) || many.Count != limit || len(many.IDs) > 9) {
			t.Errorf("the first call tells %v, want one error of %d", err, limit)
		}
	}
	if removed != 1 || tries != kept+1 || calls != kept/limit+1 {
		t.Errorf("%d were removed in %d calls with %d tries, want the last one, each tried once", removed, calls, tries)
	}
}

// Any other error ends a purge at once.
func TestPurgeEndsWithAnError(t *testing.T) {
	t.Parallel()
	tries := 0
	store := &wrapped{Store: newStore()}
	m := open(t, store, finishing(), fixed())
	heldAll(t, m, "p1", "p2", "p3")
	store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if tries++; tries == 2 {
			return fsm.ErrClosed
		}
		return table.Update(ctx, f)
	}
	n, err := audit.Purge(t.Context(), m, old())
	if n != 1 || !errors.Is(err, fsm.ErrClosed) || tries != 2 {
		t.Errorf("purged %d, %v in %d tries, want one, ErrClosed, two", n, err, tries)
	}
	store.update = nil
	if got := present(t, store); got != "p2 p3" {
		t.Errorf("there are %q, want p2 p3", got)
	}
}

// What somebody else has done to a record meanwhile is respected, and what the
// store says instead of the record is told.
func TestPurgeLooksAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		row  func(row driver.Row) (driver.Row, error)
		want error
	}{
		"gone":   {func(driver.Row) (driver.Row, error) { return driver.Row{}, driver.ErrNotFound }, nil},
		"moved":  {func(row driver.Row) (driver.Row, error) { row.Rev++; return row, nil }, nil},
		"unread": {func(driver.Row) (driver.Row, error) { return driver.Row{}, fsm.ErrClosed }, fsm.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := hooking(func(tx fsm.Tx) fsm.Tx {
				return &repairerTx{tx, func(id string) (driver.Row, error) {
					row, err := tx.Row(id)
					if err != nil {
						return row, err
					}
					return tt.row(row)
				}}
			})
			hook := store.update
			store.update = nil
			m := open(t, store, finishing(), fixed())
			heldAll(t, m, "p1")
			store.update = hook
			n, err := audit.Purge(t.Context(), m, old())
			if n != 0 || !errors.Is(err, tt.want) {
				t.Errorf("%d, %v, want none and %v", n, err, tt.want)
			}
			if got := present(t, store); got != "p1" {
				t.Errorf("there are %q", got)
			}
		})
	}
}

// repairerTx is a transaction with all that the one in memory can do, in which a row
// may be another one.
type repairerTx struct {
	fsm.Tx
	row func(id string) (driver.Row, error)
}

func (x *repairerTx) Row(id string) (driver.Row, error) { return x.row(id) }

func (x *repairerTx) Restore(row *driver.Row, e *fsm.Event) error {
	return x.Tx.Restore(row, e)
}

func (x *repairerTx) Purge(w *driver.Write) (bool, error) { return x.Tx.Purge(w) }

var errBack = errors.New("take it back")

// A purge that was taken back, and finds the record gone or moved at its next
// try, has removed nothing.
func TestPurgeOfASecondTry(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := open(t, store, finishing(), fixed())
	heldAll(t, m, "p1")
	tries := 0
	store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if tries++; tries == 1 {
			if err := table.Update(ctx, func(tx fsm.Tx) error { return errors.Join(f(tx), errBack) }); !errors.Is(err, errBack) {
				t.Error(err)
			}
			return driver.ErrMoved
		}
		return table.Update(ctx, func(tx fsm.Tx) error {
			return f(&repairerTx{tx, func(string) (driver.Row, error) { return driver.Row{}, driver.ErrNotFound }})
		})
	}
	if n, err := audit.Purge(t.Context(), m, old()); n != 0 || err != nil || tries != 2 {
		t.Errorf("purged %d, %v in %d tries, want none in two", n, err, tries)
	}
}

// faulty lets one commit fail at a point.
func faulty(store *memstore.Store, at memstore.Point) {
	n := 0
	store.Inject(func(p memstore.Point) error {
		if p == at {
			if n++; n == 1 {
				return errLost
			}
		}
		return nil
	})
}

// An answer to a purge that was lost is found: done once, or done anew.
func TestPurgeWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, at := range []memstore.Point{memstore.BeforeCommit, memstore.AfterCommit} {
		store := newStore()
		m := open(t, store, finishing(), fixed())
		heldAll(t, m, "p1")
		faulty(store, at)
		if n, err := audit.Purge(t.Context(), m, old()); n != 1 || err != nil {
			t.Errorf("purged %d, %v, want one", n, err)
		}
		if got := present(t, store); got != "" {
			t.Errorf("there are %q", got)
		}
		var left []string
		for e, err := range m.History(t.Context(), "p1") {
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, e.Operation)
			if e.Operation == "__purge" && e.Sum != driver.Checksum(&e) {
				t.Error("the checksum of the mark is wrong")
			}
		}
		if d := cmp.Diff([]string{"__purged", "__purge"}, left); d != "" {
			t.Errorf("left of the log (-want +got):\n%s", d)
		}
	}
}

// Only a mark that is recorded only says that a record was purged.
func TestPurgeIsToldByTheMark(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := open(t, store, finishing(), fixed())
	heldAll(t, m, "p1")
	store.view = func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
		return table.View(ctx, func(r driver.Reader) error {
			return f(&tampered{Reader: r, event: func(e *fsm.Event) bool {
				if !e.RecordOnly() {
					e.Operation = "__purge"
				}
				return true
			}})
		})
	}
	faulty(store.Store.(*memstore.Store), memstore.BeforeCommit)
	if n, err := audit.Purge(t.Context(), m, old()); n != 1 || err != nil {
		t.Errorf("purged %d, %v, want one", n, err)
	}
	store.view = nil
	if got := present(t, store); got != "" {
		t.Errorf("there are %q", got)
	}
}
