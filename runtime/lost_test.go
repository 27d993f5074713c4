package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

type machine = fsm.Machine[storetest.Parcel]

// calls are the ways to write, each on a machine with a parcel "p1" that is
// waiting at revision 1.
var calls = []struct {
	name   string
	events int // that the call adds to the log
	call   func(ctx context.Context, m *machine, requestID string) ([]outcome, error)
}{
	{"create", 1, func(ctx context.Context, m *machine, rid string) ([]outcome, error) {
		return one(m.Create(ctx, storetest.Register(meta(rid), storetest.RegisterInput{Lane: "a"})))
	}},
	{"create with dedupe", 1, func(ctx context.Context, m *machine, rid string) ([]outcome, error) {
		return one(m.Create(ctx, storetest.Register(meta(rid), storetest.RegisterInput{ID: "p2", Lane: "a", Label: fsm.Some("l")})))
	}},
	{"apply held", 1, func(ctx context.Context, m *machine, rid string) ([]outcome, error) {
		p, err := m.Record(ctx, "p1")
		if err != nil {
			return nil, err
		}
		return one(m.Apply(ctx, p, note(rid, "x")))
	}},
	{"apply ref", 1, func(ctx context.Context, m *machine, rid string) ([]outcome, error) {
		return one(m.Apply(ctx, fsm.Ref{ID: "p1", Rev: 1}, note(rid, "x")))
	}},
	{"apply at any revision", 1, func(ctx context.Context, m *machine, rid string) ([]outcome, error) {
		return one(m.Apply(ctx, fsm.Ref{ID: "p1"}, note(rid, "x")))
	}},
	{"atomic effect", 1, func(ctx context.Context, m *machine, rid string) ([]outcome, error) {
		return one(m.Apply(ctx, fsm.Ref{ID: "p1"}, storetest.Bill(meta(rid))))
	}},
	{"pick", 1, func(ctx context.Context, m *machine, rid string) ([]outcome, error) {
		return m.Pick(ctx, 1, storetest.Hold(meta(rid), "a", start))
	}},
	{"create many", 2, func(ctx context.Context, m *machine, rid string) ([]outcome, error) {
		second := rid
		if rid != "" {
			second += "b"
		}
		return m.CreateMany(ctx, []fsmimpl.Call[storetest.Parcel]{
			storetest.Register(meta(rid), in("q1")), storetest.Register(meta(second), in("q2")),
		})
	}},
	{"apply many", 2, func(ctx context.Context, m *machine, rid string) ([]outcome, error) {
		second := rid
		if rid != "" {
			second += "b"
		}
		return m.ApplyMany(ctx, []fsmimpl.Item[storetest.Parcel]{
			{At: fsm.Ref{ID: "p1"}, Call: note(rid, "x")}, {At: fsm.Ref{ID: "p1"}, Call: note(second, "y")},
		})
	}},
	{"apply many held", 1, func(ctx context.Context, m *machine, rid string) ([]outcome, error) {
		p, err := m.Record(ctx, "p1")
		if err != nil {
			return nil, err
		}
		return m.ApplyMany(ctx, []fsmimpl.Item[storetest.Parcel]{{At: p, Call: note(rid, "x")}})
	}},
	{"system operation", 1, func(ctx context.Context, m *machine, _ string) ([]outcome, error) {
		return one(m.Apply(ctx, fsm.Ref{ID: "p1"}, storetest.Discard()))
	}},
}

func one(out outcome, err error) ([]outcome, error) { return []outcome{out}, err }

// eachCall runs a test for every call, with and without a request id.
func eachCall(t *testing.T, test func(t *testing.T, store *memstore.Store, m *machine, events int, call func(ctx context.Context) ([]outcome, error))) {
	for _, c := range calls {
		for _, rid := range []string{"r", ""} {
			t.Run(fmt.Sprintf("%s/request %q", c.name, rid), func(t *testing.T) {
				t.Parallel()
				store := newStore()
				m := open(t, store, storetest.Schema(), fixed())
				must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
				test(t, store, m, c.events, func(ctx context.Context) ([]outcome, error) { return c.call(ctx, m, rid) })
				if list := findings(t, m); list != nil {
					t.Errorf("audit: %v", list)
				}
			})
		}
	}
}

// grown checks how many events the log has got since it held one.
func grown(t *testing.T, m *machine, want int) {
	t.Helper()
	if got := len(log(t, m, "")) - 1; got != want {
		t.Errorf("the log has %d new events, want %d", got, want)
	}
}

// applied checks that outcomes are what the store holds.
func applied(t *testing.T, m *machine, outs []outcome, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range outs {
		if len(out.Events) != 1 || out.Existing || out.Record.ID == "" {
			t.Errorf("got %+v", out)
		}
		if p, err := m.Record(t.Context(), out.Record.ID); err != nil || p.Rev != out.Current.Rev && len(outs) == 1 {
			t.Errorf("stored %v, %v; the outcome says %v", p.Ref(), err, out.Current)
		}
	}
}

// An answer that is lost after the commit is found again.
func TestAnswerLostAfterCommit(t *testing.T) {
	t.Parallel()
	eachCall(t, func(t *testing.T, store *memstore.Store, m *machine, events int, call func(context.Context) ([]outcome, error)) {
		var commits atomic.Int32
		store.Inject(func(p memstore.Point) error {
			if p == memstore.AfterCommit && commits.Add(1) == 1 {
				return errLost
			}
			return nil
		})
		outs, err := call(t.Context())
		applied(t, m, outs, err)
		grown(t, m, events)
		if commits.Load() != 1 {
			t.Errorf("it was committed %d times", commits.Load())
		}
		for _, out := range outs { // a request of the caller's may have been somebody else's
			if own := strings.HasPrefix(out.Events[0].RequestID, "sys:call:"); out.Replayed == own {
				t.Errorf("request %q: replayed is %v", out.Events[0].RequestID, out.Replayed)
			}
		}
	})
}

// A commit that failed for an unknown reason is tried again, once it is known
// that nothing was written.
func TestCommitFailed(t *testing.T) {
	t.Parallel()
	eachCall(t, func(t *testing.T, store *memstore.Store, m *machine, events int, call func(context.Context) ([]outcome, error)) {
		var tries atomic.Int32
		store.Inject(func(p memstore.Point) error {
			if p == memstore.BeforeCommit && tries.Add(1) <= 2 {
				return errLost
			}
			return nil
		})
		outs, err := call(t.Context())
		applied(t, m, outs, err)
		for _, out := range outs {
			if out.Replayed {
				t.Errorf("%v is called a replay", out.Ref())
			}
		}
		grown(t, m, events)
	})
}

// When the caller's context ends with the answer lost, the commit is looked up
// with a context of its own.
func TestContextEndsWithLostAnswer(t *testing.T) {
	t.Parallel()
	eachCall(t, func(t *testing.T, store *memstore.Store, m *machine, events int, call func(context.Context) ([]outcome, error)) {
		ctx, cancel := context.WithCancel(t.Context())
		store.Inject(func(p memstore.Point) error {
			if p == memstore.AfterCommit {
				cancel()
				return errLost
			}
			return nil
		})
		outs, err := call(ctx)
		applied(t, m, outs, err)
		grown(t, m, events)
	})
}

// When nobody can know, the error says so, and the same call finds out.
func TestAmbiguous(t *testing.T) {
	t.Parallel()
	eachCall(t, func(t *testing.T, store *memstore.Store, m *machine, events int, call func(context.Context) ([]outcome, error)) {
		ctx, cancel := context.WithCancel(t.Context())
		store.Inject(func(p memstore.Point) error {
			cancel() // it may be on its way for all the engine knows
			return errLost
		})
		_, err := call(ctx)
		var a *fsm.AmbiguousError
		if !errors.As(err, &a) || !errors.Is(err, fsm.ErrAmbiguous) || !errors.Is(err, errLost) || a.Machine != "parcel" || a.Operation == "" {
			t.Fatalf("got %v, want an *AmbiguousError around the store's", err)
		}
		store.Inject(nil)
		outs, err := call(t.Context())
		applied(t, m, outs, err)
		grown(t, m, events)
	})
}

// A store that always fails is given up after a bounded number of tries.
func TestStoreStaysDown(t *testing.T) {
	t.Parallel()
	eachCall(t, func(t *testing.T, store *memstore.Store, m *machine, _ int, call func(context.Context) ([]outcome, error)) {
		synctest.Test(t, func(t *testing.T) { // the waits between the tries take no time
			var tries atomic.Int32
			store.Inject(func(memstore.Point) error {
				tries.Add(1)
				return errLost
			})
			if _, err := call(t.Context()); !errors.Is(err, fsm.ErrAmbiguous) || strings.Contains(err.Error(), "; then: ") {
				t.Errorf("got %v, want ErrAmbiguous, for one reason", err)
			}
			if n := tries.Load(); n < 3 || n > 20 {
				t.Errorf("%d tries", n)
			}
			store.Inject(nil)
			grown(t, m, 0)
		})
	})
}

// A commit that was in flight while the engine looked for it, and landed before
// its next try, is neither done twice nor refused.
func TestCommitLandsLate(t *testing.T) {
	t.Parallel()
	for _, rid := range []string{"r", ""} {
		t.Run(fmt.Sprintf("request %q", rid), func(t *testing.T) {
			t.Parallel()
			store := &wrapped{Store: newStore()}
			m := open(t, store, storetest.Schema(), fixed())
			p := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1")))).Record
			var late *driver.Write
			store.commit = func(_ driver.Table, _ context.Context, w *driver.Write) error {
				late = w
				return &fsm.AmbiguousError{Err: errLost}
			}
			store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
				if late != nil {
					if err := table.Commit(ctx, late); err != nil {
						t.Error(err)
					}
					late = nil
				}
				return table.Update(ctx, f)
			}
			out, err := m.Apply(t.Context(), p, note(rid, "x"))
			applied(t, m, []outcome{out}, err)
			grown(t, m, 1)
			if rid != "" {
				rid = "c"
			}
			out, err = m.Create(t.Context(), storetest.Register(meta(rid), in("p2")))
			applied(t, m, []outcome{out}, err)
			grown(t, m, 2)
		})
	}
}

// When a later try is refused for a reason that leaves open whether the earlier
// one lands after all, nobody may be told that nothing happened.
func TestLostThenRefused(t *testing.T) {
	t.Parallel()
	poisoned := &fsm.Refusal{Code: fsm.ErrPoisoned}
	for _, then := range []error{poisoned, fsm.ErrClosed, context.DeadlineExceeded, &fsm.Refusal{Code: fsm.ErrBusy}} {
		t.Run(then.Error(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &wrapped{Store: newStore()}
				m := open(t, store, storetest.Schema(), fixed())
				p := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1")))).Record
				var late *driver.Write
				store.commit = func(_ driver.Table, _ context.Context, w *driver.Write) error {
					late = w
					return &fsm.AmbiguousError{Err: errLost}
				}
				store.update = func(driver.Table, context.Context, func(fsm.Tx) error) error { return then }
				_, err := m.Apply(t.Context(), p, note("r", "x"))
				var a *fsm.AmbiguousError
				if !errors.As(err, &a) || !errors.Is(err, then) || !errors.Is(err, errLost) {
					t.Fatalf("got %v, want an *AmbiguousError around both", err)
				}
				store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
					if late != nil {
						if err := table.Commit(ctx, late); err != nil {
							t.Error(err)
						}
						late = nil
					}
					return table.Update(ctx, f)
				}
				out, err := m.Apply(t.Context(), p, note("r", "x"))
				applied(t, m, []outcome{out}, err)
				grown(t, m, 1)
			})
		})
	}
}

// A store that does not say why it does not know is reported in whole words.
func TestLostForNoReasonThenRefused(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := open(t, store, storetest.Schema(), fixed())
	p := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1")))).Record
	store.commit = func(driver.Table, context.Context, *driver.Write) error { return &fsm.AmbiguousError{} }
	store.update = func(driver.Table, context.Context, func(fsm.Tx) error) error { return fsm.ErrClosed }
	_, err := m.Apply(t.Context(), p, note("r", "x"))
	if !errors.Is(err, fsm.ErrAmbiguous) || !errors.Is(err, fsm.ErrClosed) || strings.Contains(err.Error(), "%!") {
		t.Errorf("got %v, want ErrAmbiguous around ErrClosed, in words", err)
	}
}

// A look for a lost answer that fails is made again, each time after a wait, and
// a few times only.
func TestLooksForALostAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &wrapped{Store: newStore()}
		m := open(t, store, storetest.Schema(), fixed())
		p := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1")))).Record
		store.commit = func(driver.Table, context.Context, *driver.Write) error { return &fsm.AmbiguousError{Err: errLost} }
		var looks []time.Duration
		begun := time.Now()
		store.view = func(driver.Table, context.Context, func(driver.Reader) error) error {
			looks = append(looks, time.Since(begun))
			return errLost
		}
		if _, err := m.Apply(t.Context(), p, note("r", "x")); !errors.Is(err, fsm.ErrAmbiguous) {
			t.Errorf("got %v, want ErrAmbiguous", err)
		}
		if len(looks) != 5 || looks[0] != 0 {
			t.Fatalf("looked after %v, want five looks, the first at once", looks)
		}
		for i := 1; i < len(looks); i++ {
			if looks[i] <= looks[i-1] {
				t.Errorf("looked after %v, want a wait before each but the first", looks)
			}
		}
	})
}

// blind is a transaction whose first look for a request finds nothing, as one
// that began before the request landed, and sees what lands meanwhile.
type blind struct {
	fsm.Tx
	looked int
}

func (b *blind) Request(id, requestID string) ([]fsm.Event, error) {
	if b.looked++; b.looked == 1 {
		return nil, nil
	}
	return b.Tx.Request(id, requestID)
}

// A try that lands between the look for its request and the look at the record
// is a replay, and no record that was there already, nor one that has moved.
func TestLandsBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := open(t, store, storetest.Schema(), fixed())
	p := must(t)(m.Create(t.Context(), storetest.Register(meta("p"), in("p1"))))
	dedupe := storetest.Register(meta("q"), storetest.RegisterInput{Lane: "a", Label: fsm.Some("l")})
	q := must(t)(m.Create(t.Context(), dedupe))
	noted := must(t)(m.Apply(t.Context(), p, note("n", "x")))
	store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		return table.Update(ctx, func(tx fsm.Tx) error { return f(&blind{Tx: tx}) })
	}
	store.view = func(driver.Table, context.Context, func(driver.Reader) error) error { return errLost } // else it would tell
	for name, call := range map[string]func() (outcome, error){
		"create": func() (outcome, error) { return m.Create(t.Context(), storetest.Register(meta("p"), in("p1"))) },
		"dedupe": func() (outcome, error) { return m.Create(t.Context(), dedupe) },
		"apply":  func() (outcome, error) { return m.Apply(t.Context(), p.Ref(), note("n", "x")) },
	} {
		want := map[string]outcome{"create": p, "dedupe": q, "apply": noted}[name]
		out, err := call()
		if err != nil || !out.Replayed || out.Existing || out.Ref() != want.Ref() {
			t.Errorf("%s: got %v, replayed %v, existing %v, %v; want the replay of %v", name, out.Ref(), out.Replayed, out.Existing, err, want.Ref())
		}
	}
}

// A busy store is asked again, within bounds.
func TestBusy(t *testing.T) {
	t.Parallel()
	busy := &fsm.Refusal{Code: fsm.ErrBusy}
	for _, times := range []int{3, 1000} {
		store := &wrapped{Store: newStore()}
		m := open(t, store, storetest.Schema())
		left := times
		store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
			if left--; left >= 0 {
				return busy
			}
			return table.Update(ctx, f)
		}
		store.commit = func(driver.Table, context.Context, *driver.Write) error { return busy }
		out, err := m.Create(t.Context(), storetest.Register(meta("r"), in("p1")))
		if times == 3 {
			applied(t, m, []outcome{out}, err)
		} else if !errors.Is(err, fsm.ErrBusy) || 1000-left > 20 {
			t.Errorf("after %d tries: %v, want ErrBusy", 1000-left, err)
		}
	}
}

// An effect in the transaction that reports a lost answer of its own is a failed
// effect: this transaction is surely taken back.
func TestEffectErrorIsCertain(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	n := 0
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(
		func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
			n++
			return &fsm.AmbiguousError{Err: errLost}
		}))
	if err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	_, err = m.Apply(t.Context(), out, storetest.Bill(meta("r")))
	var e *fsm.EffectError
	if !errors.As(err, &e) || n != 1 {
		t.Errorf("got %v after %d tries, want an *EffectError after one", err, n)
	}
	grown(t, m, 0)
}

// The step of `then` is taken once, though the answer to its commit is lost.
func TestDeliveryAnswerLost(t *testing.T) {
	t.Parallel()
	store := newStore()
	m := open(t, store, storetest.Schema(), fixed())
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
	must(t)(m.Apply(t.Context(), out, storetest.Dispatch(meta(""))))
	store.Inject(func(p memstore.Point) error {
		if p == memstore.AfterCommit {
			return errLost
		}
		return nil
	})
	if n, err := m.Deliver(t.Context()); n != 1 || err != nil {
		t.Errorf("delivered %d, %v, want 1", n, err)
	}
	store.Inject(nil)
	grown(t, m, 4)
	if p, err := m.Record(t.Context(), "p1"); err != nil || p.State != "sent" {
		t.Errorf("got %s, %v, want sent", p.State, err)
	}
}

// The step of `then` is taken by another try where its commit failed for an
// unknown reason and left nothing.
func TestDeliveryCommitFailed(t *testing.T) {
	t.Parallel()
	store := newStore()
	m := open(t, store, storetest.Schema(), fixed())
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
	must(t)(m.Apply(t.Context(), out, storetest.Dispatch(meta(""))))
	commits := 0
	store.Inject(func(p memstore.Point) error {
		if p != memstore.BeforeCommit {
			return nil
		}
		if commits++; commits == 2 { // the first one claims
			return errLost
		}
		return nil
	})
	n, err := m.Deliver(t.Context())
	store.Inject(nil)
	if p, recordErr := m.Record(t.Context(), "p1"); n != 1 || err != nil || commits != 3 || recordErr != nil || p.State != "sent" {
		t.Errorf("delivered %d, %v with %d commits, and p1 is %s", n, err, commits, p.State)
	}
}
