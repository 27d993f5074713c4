package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// depth is the key of how many calls a context is inside of.
type depth struct{}

// transcript is an observer that writes down what it hears, calls within calls
// indented.
type transcript struct {
	name  string
	lines []string
}

func (t *transcript) observe(ctx context.Context, c fsm.Observed) (context.Context, func(fsm.Observation)) {
	n, _ := ctx.Value(depth{}).(int)
	indent := strings.Repeat("  ", n) + t.name
	what := c.Operation
	if c.Effect != "" {
		what += "!" + c.Effect
	}
	t.lines = append(t.lines, fmt.Sprintf("%s%s.%s id=%s request=%s actor=%s calls=%d", indent, c.Machine, what, c.ID, c.RequestID, c.Actor, c.Calls))
	return context.WithValue(ctx, depth{}, n+1), func(o fsm.Observation) {
		var events []string
		for _, e := range o.Events {
			events = append(events, fmt.Sprintf("%s/%d:%s", e.ID, e.Rev, e.Operation))
		}
		word := ""
		var r *fsm.Refusal
		switch {
		case errors.As(o.Err, &r):
			word = " " + string(r.Code)
		case o.Err != nil:
			word = " " + o.Err.Error()
		}
		t.lines = append(t.lines, fmt.Sprintf("%s= [%s] replayed=%d%s", indent, strings.Join(events, " "), o.Replayed, word))
	}
}

func (t *transcript) want(tb testing.TB, lines ...string) {
	tb.Helper()
	if diff := cmp.Diff(lines, t.lines); diff != "" {
		tb.Errorf("what the observer heard (-want +got):\n%s", diff)
	}
	t.lines = nil
}

// Each form of a call is told once, with what it wrote.
func TestObserver(t *testing.T) {
	t.Parallel()
	var seen transcript
	store := newStore()
	now := start
	m := open(t, store, storetest.Schema(), fsm.WithClock(func() time.Time { return now }), fsm.WithObserver(seen.observe), fsm.WithObserver(nil))
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()

	out := must(t)(m.Create(ctx, storetest.Register(meta("c1"), in("p1"))))
	seen.want(t, "parcel.register id=p1 request=c1 actor=ann calls=1", "= [p1/1:register] replayed=0")
	must(t)(m.Create(ctx, storetest.Register(meta("c1"), in("p1"))))
	seen.want(t, "parcel.register id=p1 request=c1 actor=ann calls=1", "= [] replayed=1")

	labelled := in("p2")
	labelled.Label = fsm.Some("once")
	must(t)(m.Create(ctx, storetest.Register(meta("c2"), labelled)))
	seen.lines = nil
	labelled.ID = ""
	must(t)(m.Create(ctx, storetest.Register(storetest.Meta{}, labelled)))
	seen.want(t, "parcel.register id= request= actor= calls=1", "= [] replayed=0")

	must(t)(m.Apply(ctx, out, note("n1", "x")))
	seen.want(t, "parcel.annotate id=p1 request=n1 actor= calls=1", "= [p1/2:annotate] replayed=0")
	if _, err := m.Apply(ctx, out, note("n2", "x")); !errors.Is(err, fsm.ErrStale) {
		t.Fatal(err)
	}
	seen.want(t, "parcel.annotate id=p1 request=n2 actor= calls=1", "= [] replayed=0 stale")
	if _, err := m.Apply(ctx, nil, note("n2", "x")); err == nil {
		t.Fatal("no record was needed")
	}
	seen.want(t, "parcel.annotate id= request=n2 actor= calls=1", "= [] replayed=0 parcel: the call names no record")
	if _, err := m.Apply(ctx, (*storetest.Parcel)(nil), fsmimpl.Call[storetest.Parcel]{}); err == nil {
		t.Fatal("no operation was needed")
	}
	seen.want(t, "parcel. id= request= actor= calls=1", "= [] replayed=0 parcel: the call names no record")

	if _, err := m.ApplyMany(ctx, []fsmimpl.Item[storetest.Parcel]{
		{At: fsm.Ref{ID: "p1"}, Call: note("n3", "x")},
		{At: fsm.Ref{ID: "p1", Rev: 1}, Call: note("n1", "x")},
		{At: fsm.Ref{ID: "p2"}, Call: note("n4", "x")},
	}); err != nil {
		t.Fatal(err)
	}
	seen.want(t, "parcel.annotate id= request= actor= calls=3", "= [p1/3:annotate p2/2:annotate] replayed=1")
	if _, err := m.CreateMany(ctx, []fsmimpl.Call[storetest.Parcel]{
		storetest.Register(meta("c3"), in("p3")), storetest.Register(meta("c1"), in("p1")),
	}); err != nil {
		t.Fatal(err)
	}
	seen.want(t, "parcel.register id= request= actor= calls=2", "= [p3/1:register] replayed=1")
	if outs, err := m.CreateMany(ctx, nil); len(outs) > 0 || err != nil {
		t.Fatal(outs, err)
	}
	if outs, err := m.ApplyMany(ctx, nil); len(outs) > 0 || err != nil {
		t.Fatal(outs, err)
	}
	seen.want(t)

	if _, err := m.Pick(ctx, 2, storetest.Hold(meta("h1"), "a", start.Add(time.Minute))); err != nil {
		t.Fatal(err)
	}
	seen.want(t, "parcel.hold id= request=h1 actor=ann calls=1", "= [p1/4:hold p2/3:hold] replayed=0")
	now = start.Add(time.Hour)
	if n, err := m.Sweep(ctx); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	seen.want(t,
		"parcel.release id=p1 request= actor= calls=1", "= [p1/5:release] replayed=0",
		"parcel.release id=p2 request= actor= calls=1", "= [p2/4:release] replayed=0")

	must(t)(m.Apply(ctx, fsm.Ref{ID: "p1"}, storetest.Bill(meta("b1"))))
	seen.want(t,
		"parcel.bill id=p1 request=b1 actor=ann calls=1",
		"  parcel.bill!charge id=p1 request=a actor=ann calls=0", "  = [] replayed=0",
		"= [p1/6:bill] replayed=0")

	tx, err := store.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	adopted, err := store.Adopt(ctx, m.Schema(), tx)
	if err != nil {
		t.Fatal(err)
	}
	must(t)(storetest.In(t, m, store, adopted).Create(ctx, storetest.Register(meta("c4"), in("p4"))))
	must(t)(storetest.In(t, m, store, adopted).Apply(ctx, fsm.Ref{ID: "p4"}, note("n5", "x")))
	if _, err := storetest.In(t, m, store, adopted).Apply(ctx, fsm.Ref{ID: "p5"}, note("n6", "x")); !errors.Is(err, fsm.ErrNotFound) {
		t.Error(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	seen.want(t,
		"parcel.register id=p4 request=c4 actor=ann calls=1", "= [p4/1:register] replayed=0",
		"parcel.annotate id=p4 request=n5 actor= calls=1", "= [p4/2:annotate] replayed=0",
		"parcel.annotate id=p5 request=n6 actor= calls=1", "= [] replayed=0 not_found")
}

// A delivered effect and the step that follows it are calls of their own, each
// within the context that the observer gave.
func TestObserverOfDelivery(t *testing.T) {
	t.Parallel()
	var seen transcript
	store := newStore()
	open(t, store, storetest.Schema())
	broken := errors.New("no road")
	fail := broken
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(
		func(ctx context.Context, _ fsm.Tx, _ storetest.Parcel, _ string, _ fsm.Event) error {
			if n, _ := ctx.Value(depth{}).(int); n != 1 {
				t.Errorf("the effect runs inside of %d calls, want 1", n)
			}
			return fail
		}), fixed(), fsm.WithObserver(seen.observe), fsm.WithBackoff(time.Nanosecond, time.Nanosecond))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
	must(t)(m.Apply(t.Context(), out, storetest.Dispatch(meta(""))))
	seen.lines = nil
	if n, err := m.Deliver(t.Context()); n != 0 || !errors.Is(err, broken) {
		t.Fatal(n, err)
	}
	seen.want(t, "parcel.dispatch!carry id=p1 request=parcel/p1/4/carry actor=ann calls=0", "= [] replayed=0 no road")

	fail = nil
	later, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(nil),
		fsm.WithClock(func() time.Time { return start.Add(time.Hour) }), fsm.WithObserver(seen.observe))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := later.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen.lines = nil
	if n, err := later.Deliver(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	seen.want(t,
		"parcel.dispatch!carry id=p1 request=parcel/p1/4/carry actor=ann calls=0", "= [] replayed=0",
		"parcel.arrive id=p1 request=sys:arrive:4 actor=system calls=1", "= [p1/5:arrive] replayed=0")
}

// An observer may have nothing to say at the end.
func TestObserverOfBeginnings(t *testing.T) {
	t.Parallel()
	var begun []string
	m := open(t, newStore(), storetest.Schema(), fixed(), fsm.WithObserver(func(ctx context.Context, c fsm.Observed) (context.Context, func(fsm.Observation)) {
		begun = append(begun, c.Operation)
		return ctx, nil
	}))
	if _, err := m.Create(t.Context(), storetest.Register(meta(""), in("p1"))); err != nil || len(begun) != 1 || begun[0] != "register" {
		t.Errorf("%v, the observer heard of %q", err, begun)
	}
}

// What a try wrote that was taken back is not told, when the next one finds that
// the record has moved on.
func TestObserverOfASecondTry(t *testing.T) {
	t.Parallel()
	var seen transcript
	store := &wrapped{Store: newStore()}
	m := open(t, store, storetest.Schema(), fixed(), fsm.WithObserver(seen.observe))
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), "s", "t")))
	out = must(t)(m.Apply(t.Context(), out, storetest.Dispatch(meta(""))))
	tries := 0
	store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if tries++; tries != 2 { // the first one claims
			return table.Update(ctx, f)
		}
		if err := table.Update(ctx, func(tx fsm.Tx) error { return errors.Join(f(tx), errBack) }); !errors.Is(err, errBack) {
			t.Error(err)
		}
		must(t)(m.Apply(ctx, out, note("", "x")))
		return driver.ErrMoved
	}
	seen.lines = nil
	if n, err := m.Deliver(t.Context()); n != 0 || !errors.Is(err, fsm.ErrMovedOn) {
		t.Error(n, err)
	}
	if last := seen.lines[len(seen.lines)-1]; last != "= [] replayed=0 "+fsm.ErrMovedOn.Error() || tries < 3 {
		t.Errorf("after %d tries the observer heard %q, want no events", tries, last)
	}
}

// Of several observers the first is the outermost; one may have nothing to say
// at the end.
func TestSeveralObservers(t *testing.T) {
	t.Parallel()
	var both transcript
	first, second := transcript{name: "1 "}, transcript{name: "2 "}
	tee := func(one *transcript) fsm.Observer {
		return func(ctx context.Context, c fsm.Observed) (context.Context, func(fsm.Observation)) {
			ctx, end := one.observe(ctx, c)
			both.lines = append(both.lines, one.lines...)
			one.lines = nil
			return ctx, func(o fsm.Observation) {
				end(o)
				both.lines = append(both.lines, one.lines...)
				one.lines = nil
			}
		}
	}
	mute := func(ctx context.Context, _ fsm.Observed) (context.Context, func(fsm.Observation)) { return ctx, nil }
	m := open(t, newStore(), storetest.Schema(), fixed(),
		fsm.WithObserver(tee(&first)), fsm.WithObserver(mute), fsm.WithObserver(tee(&second)))
	must(t)(m.Create(t.Context(), storetest.Register(meta("c1"), in("p1"))))
	both.want(t,
		"1 parcel.register id=p1 request=c1 actor=ann calls=1", "  2 parcel.register id=p1 request=c1 actor=ann calls=1",
		"  2 = [p1/1:register] replayed=0", "1 = [p1/1:register] replayed=0")

	alone := open(t, newStore(), storetest.Schema(), fixed(), fsm.WithObserver(mute), fsm.WithObserver(mute)) //nolint:gocritic // both have nothing to say
	if out := must(t)(alone.Create(t.Context(), storetest.Register(meta("c1"), in("p1")))); out.Record.ID != "p1" {
		t.Errorf("got %+v", out)
	}
}

// An observer hears the end of a call that panics, too.
func TestObserverOfPanic(t *testing.T) {
	t.Parallel()
	var seen transcript
	store := newStore()
	open(t, store, storetest.Schema())
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(
		func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { panic("no way") }), fixed(), fsm.WithObserver(seen.observe))
	if err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	seen.lines = nil
	func() {
		defer func() {
			if v := recover(); v != "no way" {
				t.Errorf("recovered %v", v)
			}
		}()
		_, _ = m.Apply(t.Context(), out, storetest.Bill(meta("b")))
	}()
	seen.want(t,
		"parcel.bill id=p1 request=b actor=ann calls=1",
		"  parcel.bill!charge id=p1 request=a actor=ann calls=0", "  = [] replayed=0 the call panicked",
		"= [] replayed=0 the call panicked")
}
