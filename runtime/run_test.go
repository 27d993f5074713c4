package fsm_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// counted is a machine over a store that counts what it is asked, with a waiting
// parcel "p1". Its clock is that of the bubble.
type counted struct {
	*machine
	store                   *wrapped
	commits, updates, views int
}

// counting makes one whose transactions, single writes and looks fail as these
// say; nil does not.
func counting(t *testing.T, commit, update, view func() error) *counted {
	t.Helper()
	return countingOf(t, storetest.Schema(), commit, update, view)
}

func countingOf(t *testing.T, schema *driver.Schema, commit, update, view func() error) *counted {
	t.Helper()
	c := &counted{store: &wrapped{Store: newStore()}}
	c.machine = open(t, c.store, schema, fixed())
	must(t)(c.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	fail := func(f func() error) error {
		if f == nil {
			return nil
		}
		return f()
	}
	c.store.commit = func(table driver.Table, ctx context.Context, w *driver.Write) error {
		c.commits++
		if err := fail(commit); err != nil {
			return err
		}
		return table.Commit(ctx, w)
	}
	c.store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		c.updates++
		if err := fail(update); err != nil {
			return err
		}
		return table.Update(ctx, f)
	}
	c.store.view = func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error {
		c.views++
		if err := fail(view); err != nil {
			return err
		}
		return table.View(ctx, f)
	}
	return c
}

var p1 = storetest.Parcel{ID: "p1", State: "waiting", Rev: 1, CreatedAt: start, UpdatedAt: start, Lane: "a"}

// locked makes a call one that is decided in a transaction.
func locked(c fsmimpl.Call[storetest.Parcel]) fsmimpl.Call[storetest.Parcel] {
	c.Peers = func(*storetest.Parcel, string) []driver.PeerQuery { return nil }
	return c
}

// A call by id reads the record and writes it, without a transaction.
func TestCallByID(t *testing.T) {
	t.Parallel()
	for _, rev := range []int64{0, 1} {
		c := counting(t, nil, nil, nil)
		out := must(t)(c.Apply(t.Context(), fsm.Ref{ID: "p1", Rev: rev}, note("r", "x")))
		if out.Current.Rev != 2 || c.views != 1 || c.commits != 1 || c.updates != 0 {
			t.Errorf("at %d: %v after %d looks, %d writes, %d transactions", rev, out.Current, c.views, c.commits, c.updates)
		}
		again := must(t)(c.Apply(t.Context(), fsm.Ref{ID: "p1", Rev: rev}, note("r", "x")))
		if !again.Replayed || again.Current.Rev != 2 {
			t.Errorf("at %d, again: replayed %v at %v", rev, again.Replayed, again.Current)
		}
	}
}

// What moves after it was read is decided on as it is then; a call for its revision is too late.
func TestCallByIDIsOvertaken(t *testing.T) {
	t.Parallel()
	for _, rev := range []int64{0, 1} {
		var c *counted
		overtake := func() error { return nil }
		c = counting(t, func() error { return overtake() }, nil, nil)
		overtake = func() error {
			overtake = func() error { return nil }
			_, err := c.Apply(t.Context(), fsm.Ref{ID: "p1"}, locked(note("other", "y")))
			return err
		}
		out, err := c.Apply(t.Context(), fsm.Ref{ID: "p1", Rev: rev}, note("r", "x"))
		switch events := log(t, c.machine, "p1"); {
		case rev == 0 && (err != nil || out.Current.Rev != 3 || len(events) != 3):
			t.Errorf("%v, %v, %d events; want revision 3", out.Current, err, len(events))
		case rev != 0 && (!errors.Is(err, fsm.ErrStale) || len(events) != 2):
			t.Errorf("%v, %d events; want it to be stale", err, len(events))
		}
	}
}

// Of two calls on one id at a time, the second one waits for the record in a transaction.
func TestCallsByIDAtOnce(t *testing.T) {
	t.Parallel()
	var c *counted
	inner := 0
	c = counting(t, func() error {
		if inner++; inner > 1 {
			return errors.New("the second one does not come here")
		}
		_, err := c.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("other", "y"))
		return err
	}, nil, nil)
	out, err := c.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("r", "x"))
	if err != nil || out.Current.Rev != 3 || c.updates != 2 {
		t.Errorf("%v, %v after %d transactions", out.Current, err, c.updates)
	}
}

// A call by id whose request is known is answered, although the store would refuse its write now.
func TestCallByIDIsKnown(t *testing.T) {
	t.Parallel()
	refuse := error(nil)
	c := counting(t, func() error { return refuse }, nil, nil)
	must(t)(c.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("r", "x")))
	refuse = &fsm.Refusal{Code: fsm.ErrDenied}
	if again := must(t)(c.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("r", "x"))); !again.Replayed {
		t.Errorf("answered with %v, want what was done before", again.Current)
	}
}

// Where the record cannot be read, a call by id waits for a transaction, unless its time is over.
func TestCallByIDOfBusyStore(t *testing.T) {
	t.Parallel()
	for each, updates := range map[time.Duration]int{6 * time.Second: 1, 10 * time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			c := counting(t, nil, nil, func() error {
				time.Sleep(each)
				return &fsm.Refusal{Code: fsm.ErrBusy}
			})
			_, err := c.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("r", "x"))
			if c.updates != updates || (err == nil) != (updates > 0) || err != nil && !errors.Is(err, fsm.ErrBusy) {
				t.Errorf("%v each: %v after %d transactions, want %d", each, err, c.updates, updates)
			}
		})
	}
}

// The first look after a moved record comes at once, the next ones wait a little.
func TestSecondTryComesAtOnce(t *testing.T) {
	t.Parallel()
	for _, moves := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			left := moves
			c := counting(t, nil, func() error {
				if left--; left >= 0 {
					return driver.ErrMoved
				}
				return nil
			}, nil)
			begun := time.Now()
			must(t)(c.Apply(t.Context(), fsm.Ref{ID: "p1"}, locked(note("r", "x"))))
			if waited := time.Since(begun); c.updates != moves+1 || (waited > 0) != (moves > 1) {
				t.Errorf("%d transactions in %v after %d moves", c.updates, waited, moves)
			}
		})
	}
}

// A store that is busy for long is not asked again after the limit, which counts
// from the begin of the call.
func TestBusyForLong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		each  time.Duration
		tries int
	}{{10 * time.Second, 1}, {10*time.Second - 1, 2}, {6 * time.Second, 2}} {
		synctest.Test(t, func(t *testing.T) {
			c := counting(t, nil, func() error {
				time.Sleep(tt.each)
				return &fsm.Refusal{Code: fsm.ErrBusy}
			}, nil)
			_, err := c.Apply(t.Context(), fsm.Ref{ID: "p1"}, locked(note("r", "x")))
			if !errors.Is(err, fsm.ErrBusy) || errors.Is(err, fsm.ErrAmbiguous) || c.updates != tt.tries {
				t.Errorf("busy for %v: got %v after %d tries, want ErrBusy after %d", tt.each, err, c.updates, tt.tries)
			}
		})
	}
}

// A store that refuses a write has not written: nothing is looked up, and nothing
// is tried again.
func TestRefusedWriteIsCertain(t *testing.T) {
	t.Parallel()
	c := counting(t, func() error { return &fsm.Refusal{Code: fsm.ErrPoisoned} }, nil, nil)
	_, err := c.Apply(t.Context(), p1, note("r", "x"))
	if !errors.Is(err, fsm.ErrPoisoned) || errors.Is(err, fsm.ErrAmbiguous) || c.commits != 1 || c.updates != 0 || c.views != 0 {
		t.Errorf("got %v after %d writes, %d transactions and %d looks", err, c.commits, c.updates, c.views)
	}
}

// While nobody can say whether a write landed, it is not tried again: where the
// looks fail, and where the caller has gone.
func TestNoTryInTheDark(t *testing.T) {
	t.Parallel()
	lost := func() error { return &fsm.AmbiguousError{Err: errLost} }
	synctest.Test(t, func(t *testing.T) {
		c := counting(t, lost, nil, func() error { return errors.New("no sight") })
		_, err := c.Apply(t.Context(), p1, note("r", "x"))
		if !errors.Is(err, fsm.ErrAmbiguous) || c.commits != 1 || c.updates != 0 || c.views != 5 {
			t.Errorf("got %v after %d writes, %d transactions and %d looks", err, c.commits, c.updates, c.views)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	c := counting(t, func() error { cancel(); return lost() }, nil, nil)
	_, err := c.Apply(ctx, p1, note("r", "x"))
	if !errors.Is(err, fsm.ErrAmbiguous) || c.commits != 1 || c.updates != 0 || c.views != 1 {
		t.Errorf("got %v after %d writes, %d transactions and %d looks", err, c.commits, c.updates, c.views)
	}
}

// Where a later try is refused because the place of the earlier one is taken,
// that one will never land: the refusal stands.
func TestLostThenRefusedForGood(t *testing.T) {
	t.Parallel()
	for _, then := range []fsm.Code{fsm.ErrStale, fsm.ErrWrongState, fsm.ErrTerminal, fsm.ErrExists, fsm.ErrRequestReused} {
		c := counting(t, func() error { return &fsm.AmbiguousError{Err: errLost} }, func() error { return &fsm.Refusal{Code: then} }, nil)
		_, err := c.Apply(t.Context(), p1, note("r", "x"))
		var r *fsm.Refusal
		if !errors.As(err, &r) || r.Code != then || errors.Is(err, fsm.ErrAmbiguous) {
			t.Errorf("got %v, want %s", err, then)
		}
	}
}

// A record that never stands still makes a call busy; nothing about it is unknown.
func TestRecordThatKeepsMoving(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := counting(t, nil, func() error { return driver.ErrMoved }, nil)
		_, err := c.Apply(t.Context(), fsm.Ref{ID: "p1"}, locked(note("r", "x")))
		if !errors.Is(err, fsm.ErrBusy) || !errors.Is(err, driver.ErrMoved) || errors.Is(err, fsm.ErrAmbiguous) {
			t.Errorf("got %v, want ErrBusy because it moved", err)
		}
	})
}

// An id that was made for a call is not looked up before the call was tried.
func TestOwnRequestIsNotLookedUp(t *testing.T) {
	t.Parallel()
	looks := 0
	m := open(t, hooking(func(tx fsm.Tx) fsm.Tx {
		return &hooked{Tx: tx, request: func(id, requestID string) ([]fsm.Event, error) {
			looks++
			return tx.Request(id, requestID)
		}}
	}), storetest.Schema(), fixed())
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1"}, locked(note("", "x"))))
	if _, err := m.Pick(t.Context(), 1, storetest.Hold(meta(""), "a", start)); err != nil || looks != 0 {
		t.Errorf("%v after %d look-ups, want none", err, looks)
	}
	must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1"}, locked(note("r", "x"))))
	if looks == 0 {
		t.Error("the id of a caller was not looked up")
	}
}

// Where no transaction could begin, nothing was written and there is nothing to
// look for.
func TestNoTransaction(t *testing.T) {
	t.Parallel()
	failed := errors.New("no connection")
	c := counting(t, nil, func() error { return failed }, nil)
	_, err := c.Apply(t.Context(), fsm.Ref{ID: "p1"}, locked(note("r", "x")))
	if !errors.Is(err, failed) || errors.Is(err, fsm.ErrAmbiguous) || c.updates != 1 || c.views != 0 {
		t.Errorf("got %v after %d transactions and %d looks, want the store's error at once", err, c.updates, c.views)
	}
}

// What the store says about a single write that it did not make leads to one look,
// and where that finds no answer to a transaction.
func TestRefusedWriteLeadsToATransaction(t *testing.T) {
	t.Parallel()
	for _, why := range []error{driver.ErrMoved, driver.ErrRequestTaken, driver.ErrIDTaken, &driver.ConflictError{Rule: "one_per_slot"}} {
		c := counting(t, func() error { return why }, nil, nil)
		out, err := c.Create(t.Context(), storetest.Register(meta("r"), in("p2")))
		if err != nil || out.Record.ID != "p2" || c.commits != 1 || c.updates != 1 || c.views != 1 {
			t.Errorf("%v: %v after %d writes, %d transactions and %d looks", why, err, c.commits, c.updates, c.views)
		}
	}
}

// A context that ended before the commit, and a closed store, leave nothing
// behind; an answer that was lost because the time was up may.
func TestWhatIsUnknown(t *testing.T) {
	t.Parallel()
	for _, why := range []error{context.Canceled, context.DeadlineExceeded, fsm.ErrClosed} {
		c := counting(t, func() error { return why }, nil, nil)
		_, err := c.Apply(t.Context(), p1, note("r", "x"))
		if !errors.Is(err, why) || errors.Is(err, fsm.ErrAmbiguous) || c.commits != 1 || c.updates != 0 || c.views != 0 {
			t.Errorf("%v: got %v after %d writes, %d transactions and %d looks", why, err, c.commits, c.updates, c.views)
		}
		synctest.Test(t, func(t *testing.T) {
			c := counting(t, nil, nil, nil)
			c.store.commit = func(table driver.Table, ctx context.Context, w *driver.Write) error {
				c.commits++
				return errors.Join(table.Commit(ctx, w), &fsm.AmbiguousError{Err: why})
			}
			begun := time.Now()
			out, err := c.Apply(t.Context(), p1, note("r", "x"))
			if waited := time.Since(begun); err != nil || out.Record.Rev != 2 || c.commits != 1 || c.updates != 0 || c.views != 1 || waited != 0 {
				t.Errorf("%v: got %v after %d writes, %d transactions, %d looks and %v; want it found at once", why, err, c.commits, c.updates, c.views, waited)
			}
		})
	}
}

// An atomic effect may meet a rule of its own tables: that is its failure, not a
// refusal of this machine.
func TestEffectWithAConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		open(t, store, storetest.Schema())
		m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(
			func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
				return &driver.ConflictError{Rule: "ledger_key"}
			}), fixed())
		if err != nil {
			t.Fatal(err)
		}
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
		if _, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, storetest.Bill(meta("r"))); !errors.Is(err, fsm.ErrEffect) || errors.Is(err, fsm.ErrNotUnique) {
			t.Errorf("got %v, want the effect's failure", err)
		}
	})
}

// What no try got past is said in the words of the call.
func TestBlame(t *testing.T) {
	t.Parallel()
	for want, why := range map[fsm.Code]error{
		fsm.ErrNotUnique: &driver.ConflictError{Rule: "dedupe_register"}, fsm.ErrExists: driver.ErrIDTaken,
		fsm.ErrRequestReused: driver.ErrRequestTaken, fsm.ErrBusy: driver.ErrMoved,
	} {
		synctest.Test(t, func(t *testing.T) {
			fail := func() error { return why }
			c := counting(t, fail, fail, nil)
			_, err := c.Create(t.Context(), storetest.Register(meta("r"), in("p2")))
			var r *fsm.Refusal
			if !errors.As(err, &r) || r.Code != want {
				t.Errorf("%v: got %v, want %s", why, err, want)
			}
		})
	}
	for _, inner := range []error{errLost, nil} {
		ctx, cancel := context.WithCancel(t.Context())
		c := counting(t, func() error { cancel(); return &fsm.AmbiguousError{Err: inner} }, nil, nil)
		_, err := c.Apply(ctx, p1, note("r", "x"))
		var a *fsm.AmbiguousError
		if !errors.As(err, &a) || a.Machine != "parcel" || a.Err == nil || inner != nil && a.Err != inner {
			t.Errorf("%v: got %#v", inner, err)
		}
	}
}
