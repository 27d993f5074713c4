package fsm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// hooked is a transaction whose answers a test may replace.
type hooked struct {
	fsm.Tx
	write   func(w *driver.Write) error
	request func(id, requestID string) ([]fsm.Event, error)
	row     func(id string) (driver.Row, error)
}

func (h *hooked) Row(id string) (driver.Row, error) {
	if h.row != nil {
		return h.row(id)
	}
	return h.Tx.Row(id)
}

func (h *hooked) Write(w *driver.Write) error {
	if h.write != nil {
		return h.write(w)
	}
	return h.Tx.Write(w)
}

func (h *hooked) Request(id, requestID string) ([]fsm.Event, error) {
	if h.request != nil {
		return h.request(id, requestID)
	}
	return h.Tx.Request(id, requestID)
}

// hooking returns a store whose transactions a test may replace.
func hooking(hook func(tx fsm.Tx) fsm.Tx) *wrapped {
	return &wrapped{Store: newStore(), update: func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		return table.Update(ctx, func(tx fsm.Tx) error { return f(hook(tx)) })
	}}
}

// waiting makes parcels that are picked in this order.
func waiting(t *testing.T, m *machine, ids ...string) {
	t.Helper()
	for i, id := range ids {
		input := in(id)
		input.Weight = fsm.Some(int64(99 - i))
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), input)))
	}
}

// A refusal that speaks of one record makes the pick take another one, any other
// refusal ends it.
func TestPickByRefusal(t *testing.T) {
	t.Parallel()
	for want, codes := range map[string][]fsm.Code{
		"p2": {fsm.ErrWrongState, fsm.ErrTerminal, fsm.ErrGuard, fsm.ErrInvariant, fsm.ErrNotUnique, fsm.ErrQuarantined},
		"":   {fsm.ErrInvalidInput, fsm.ErrBusy, fsm.ErrFull, fsm.ErrPoisoned, fsm.ErrStale},
	} {
		for _, c := range codes {
			t.Run(string(c), func(t *testing.T) {
				t.Parallel()
				m := open(t, newStore(), storetest.Schema(), fixed())
				waiting(t, m, "p1", "p2")
				call := storetest.Hold(meta("r"), "a", start)
				decide := call.Decide
				call.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
					if id == "p1" {
						return fsmimpl.Step{}, &fsm.Refusal{ID: id, Code: c, Machine: "parcel", Operation: "hold"}
					}
					return decide(p, id, peers, now)
				}
				patience := time.Minute
				if c == fsm.ErrBusy { // it would be asked for long
					patience = 100 * time.Millisecond
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				outs, err := m.Pick(ctx, 1, call)
				if want != "" {
					if err != nil || len(outs) != 1 || outs[0].Record.ID != want {
						t.Errorf("got %v, %v, want %s", outs, err, want)
					}
					return
				}
				if p, _ := m.Record(t.Context(), "p2"); err == nil || errors.Is(err, fsm.ErrNothingToDo) || p.State != "waiting" {
					t.Errorf("got %v, %v and p2 %s, want the refusal", outs, err, p.State)
				}
			})
		}
	}
}

// After a write that a rule refused a transaction may be of no more use: the
// pick goes on in another one.
func TestPickLeavesABrokenTransaction(t *testing.T) {
	t.Parallel()
	broken := errors.New("the transaction is broken")
	store := hooking(func(tx fsm.Tx) fsm.Tx {
		failed := false
		return &hooked{Tx: tx, write: func(w *driver.Write) error {
			if failed {
				return broken
			}
			err := tx.Write(w)
			failed = err != nil
			return err
		}}
	})
	m := open(t, store, storetest.Schema(), fixed())
	waiting(t, m, "p1", "p2", "p3")
	call := storetest.Hold(meta("r"), "a", start)
	call.Decide = func(p *storetest.Parcel, id string, _ []int64, _ time.Time) (fsmimpl.Step, error) {
		p.State, p.Rev = "shelved", p.Rev+1
		p.Slot = fsm.Some(map[string]string{"p1": "s", "p2": "s", "p3": "t"}[id])
		return fsmimpl.Step{From: "waiting", To: "shelved"}, nil
	}
	outs, err := m.Pick(t.Context(), 2, call)
	if err != nil || len(outs) != 2 || outs[0].Record.ID != "p1" || outs[1].Record.ID != "p3" {
		t.Errorf("got %v, %v, want p1 and p3", outs, err)
	}
}

// A request id that stands in the log of a record cannot be used to pick it, and
// the refusal says at which record, at once.
func TestPickWithTheRequestOfARecord(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	waiting(t, m, "p1", "p2")
	must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("r", "x")))
	asked := 0
	call := storetest.Hold(meta("r"), "a", start)
	decide := call.Decide
	call.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
		asked++
		return decide(p, id, peers, now)
	}
	_, err := m.Pick(t.Context(), 1, call)
	var r *fsm.Refusal
	if !errors.As(err, &r) || r.Code != fsm.ErrRequestReused || r.ID != "p1" || r.State != "waiting" || asked != 2 {
		t.Errorf("got %+v after %d decisions, want it refused at p1, which is waiting, after one of the round and one of its own", err, asked)
	}
}

// A request id that somebody else has just taken for the same pick leads to a
// look at what became of it.
func TestPickWhoseRequestIsTaken(t *testing.T) {
	t.Parallel()
	taken := 0
	armed := false
	store := hooking(func(tx fsm.Tx) fsm.Tx {
		return &hooked{Tx: tx, write: func(w *driver.Write) error {
			if armed && taken < 2 { // in the round, and in the try of the pick's own
				taken++
				return driver.ErrRequestTaken
			}
			return tx.Write(w)
		}}
	})
	m := open(t, store, storetest.Schema(), fixed())
	waiting(t, m, "p1")
	armed = true
	outs, err := m.Pick(t.Context(), 1, storetest.Hold(meta("r"), "a", start))
	if err != nil || len(outs) != 1 || taken != 2 {
		t.Errorf("got %v, %v after %d refused writes, want p1 by another try", outs, err, taken)
	}
}

// A guard that would only be recorded is not passed either: the record is passed
// over, without a trace.
func TestPickDoesNotRecordOnly(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	waiting(t, m, "p1", "p2")
	call := storetest.Hold(meta("r"), "a", start)
	decide := call.Decide
	call.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
		if id == "p1" {
			return fsmimpl.Step{From: "waiting", To: "waiting", RecordOnly: true, Guard: "fits"}, nil
		}
		return decide(p, id, peers, now)
	}
	outs, err := m.Pick(t.Context(), 1, call)
	if err != nil || len(outs) != 1 || outs[0].Record.ID != "p2" {
		t.Errorf("got %v, %v, want p2", outs, err)
	}
	if n := len(log(t, m, "p1")); n != 1 {
		t.Errorf("the log of p1 has %d events, want its creation only", n)
	}
}

// What goes wrong in a step of `then` ends the pick, unless it is a refusal: an
// error of its own, and an atomic effect that failed because another machine refuses.
func TestPickWithAThenThatFails(t *testing.T) {
	t.Parallel()
	failed := errors.New("no source")
	for name, tt := range map[string]struct {
		discard func(op *fsmimpl.Operation[storetest.Parcel])
		want    error
	}{
		"source": {func(op *fsmimpl.Operation[storetest.Parcel]) {
			op.System = func(*storetest.Parcel, time.Time) (fsmimpl.Call[storetest.Parcel], error) {
				return fsmimpl.Call[storetest.Parcel]{}, failed
			}
		}, failed},
		"effect": {func(op *fsmimpl.Operation[storetest.Parcel]) {
			op.Asks = []*fsmimpl.EffectInfo[storetest.Parcel]{{Name: "charge", Atomic: true}}
		}, fsm.ErrEffect},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore()
			open(t, store, storetest.Schema())
			d, ops := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
				"expel":   func(op *fsmimpl.Operation[storetest.Parcel]) { op.Picks = true },
				"discard": tt.discard,
			})
			m, err := fsm.NewMachine(t.Context(), store, d, effects(func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
				return &fsm.Refusal{Code: fsm.ErrGuard, Machine: "account", Guard: "covered"}
			}), fixed())
			if err != nil {
				t.Fatal(err)
			}
			out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
			must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
			call := storetest.Expel(meta("r"))
			call.Operation = ops["expel"]
			if outs, err := m.Pick(t.Context(), 1, call); !errors.Is(err, tt.want) {
				t.Errorf("got %v, %v, want %v", outs, err, tt.want)
			}
		})
	}
}

// A pick that finds nothing looks once more whether an earlier try of it has
// taken what would have fitted: its commit may have landed while the query waited.
func TestPickLooksTwice(t *testing.T) {
	t.Parallel()
	for _, rid := range []string{"r", ""} {
		store := &wrapped{Store: newStore(), single: true}
		m := open(t, store, storetest.Schema(), fixed())
		waiting(t, m, "p1")
		landed := false
		store.view = func(driver.Table, context.Context, func(driver.Reader) error) error { return nil } // nothing is seen yet
		store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
			if !landed {
				landed = true
				if err := table.Update(ctx, f); err != nil {
					t.Error(err)
				}
				return &fsm.AmbiguousError{Err: errLost}
			}
			return table.Update(ctx, func(tx fsm.Tx) error {
				looks := 0
				return f(&hooked{Tx: tx, request: func(id, requestID string) ([]fsm.Event, error) {
					if looks++; looks == 1 {
						return nil, nil
					}
					return tx.Request(id, requestID)
				}})
			})
		}
		for _, again := range []bool{false, true} {
			if again && rid == "" {
				break // without an id it is another pick
			}
			outs, err := m.Pick(t.Context(), 1, storetest.Hold(meta(rid), "a", start))
			if err != nil || len(outs) != 1 || outs[0].Record.ID != "p1" || outs[0].Replayed != (rid != "") {
				t.Errorf("request %q: got %v, %v, want p1", rid, outs, err)
			}
		}
		store.view = nil
		if n := len(log(t, m, "p1")); n != 2 {
			t.Errorf("request %q: the log has %d events, want two", rid, n)
		}
	}
}
