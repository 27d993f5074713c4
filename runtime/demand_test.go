package fsm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

func code(t *testing.T, err error, want fsm.Code, name string) {
	t.Helper()
	var r *fsm.Refusal
	if !errors.As(err, &r) || r.Code != want || r.Name != name {
		t.Errorf("got %v, want code %s for %q", err, want, name)
	}
}

func TestRequestIDDemand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		demand        driver.Demand
		without, with fsm.Code
	}{
		{driver.Required, fsm.ErrRequestMissing, ""},
		{driver.Optionally, "", ""},
		{driver.Never, "", fsm.ErrInvalidInput},
	} {
		schema := storetest.Schema()
		schema.RequestID = c.demand
		m := open(t, newStore(), schema)
		_, without := m.Create(t.Context(), storetest.Register(meta(""), in("p1")))
		_, with := m.Create(t.Context(), storetest.Register(meta("r"), in("p2")))
		for i, got := range []error{without, with} {
			want := []fsm.Code{c.without, c.with}[i]
			var r *fsm.Refusal
			if want == "" && got != nil || want != "" && (!errors.As(got, &r) || r.Code != want) {
				t.Errorf("demand %d: got %v, want code %q", c.demand, got, want)
			}
		}
	}
}

// An event always has a request id to be found by, except for a step of `then`.
func TestOwnRequestID(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	created := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	moved := must(t)(m.Apply(t.Context(), created, note("", "")))
	again := must(t)(m.Apply(t.Context(), moved, note("", "")))
	seen := map[string]bool{}
	for _, out := range []outcome{created, moved, again} {
		rid := out.Events[0].RequestID
		if !strings.HasPrefix(rid, "sys:call:") || seen[rid] {
			t.Errorf("request id %q, want one of its own", rid)
		}
		seen[rid] = true
	}
}

func TestExpectedRevDemand(t *testing.T) {
	t.Parallel()
	schema := storetest.Schema()
	schema.ExpectedRev = driver.Required
	m := open(t, newStore(), schema, fixed())
	old := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	_, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("", ""))
	code(t, err, fsm.ErrInvalidInput, "rev")
	_, err = m.Apply(t.Context(), fsm.Ref{ID: "p1", Rev: -1}, note("", ""))
	code(t, err, fsm.ErrInvalidInput, "rev")
	must(t)(m.Apply(t.Context(), old, note("", "")))
	_, err = m.Apply(t.Context(), old, note("", ""))
	code(t, err, fsm.ErrStale, "")

	schema = storetest.Schema()
	schema.ExpectedRev = driver.Never // the revision of a target means nothing
	m = open(t, newStore(), schema, fixed())
	old = must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	for range 3 {
		must(t)(m.Apply(t.Context(), old, note("", "x")))
	}
	out := must(t)(m.Apply(t.Context(), old.Ref(), storetest.Hold(meta(""), "a", start)))
	if out.Record.Rev != 5 {
		t.Errorf("rev is %d, want 5", out.Record.Rev)
	}
	stale := fsm.Ref{ID: "p1", Rev: 2} // except for the engine's own calls, which must converge
	_, err = m.Apply(t.Context(), stale, storetest.Release())
	code(t, err, fsm.ErrStale, "")
}

func TestNewMachineRefuses(t *testing.T) {
	t.Parallel()
	store := newStore()
	if err := fsmimpl.Migrate(t.Context(), store, storetest.Schema()); err != nil {
		t.Fatal(err)
	}
	noCarry := effects(nil)
	delete(noCarry, "carry")
	for _, c := range []struct {
		name    string
		effects map[string]fsmimpl.EffectFunc[storetest.Parcel]
		opts    []fsm.Option
		want    string
	}{
		{"a missing effect", noCarry, nil, "effect carry of operation dispatch has no function"},
		{"an unknown trigger", effects(nil), []fsm.Option{fsm.WithTrigger("fly", 1)}, `"fly", which is no operation`},
		{"a trigger before its field", effects(nil), []fsm.Option{fsm.WithTrigger("release", -5*time.Minute)}, `"release" needs zero or more, not -5m0s`},
		{"a limit of an unknown guard", effects(nil), []fsm.Option{fsm.WithLimit("few", 1)}, `"few", which is no guard with`},
		{"who is eligible for an unknown pick", effects(nil), []fsm.Option{fsm.WithEligible("fly", func(storetest.Parcel, time.Time) bool { return true })}, `"fly", which is no operation with`},
		{"who is eligible for what picks nothing", effects(nil), []fsm.Option{fsm.WithEligible("release", func(storetest.Parcel, time.Time) bool { return true })}, `"release", which is no operation with`},
		{"who is eligible, of another record", effects(nil), []fsm.Option{fsm.WithEligible("hold", func(int, time.Time) bool { return true })}, `needs a func(storetest.Parcel, time.Time) bool`},
		{"an operation without trigger", effects(nil), []fsm.Option{fsm.WithTrigger("hold", 1)}, `"hold", which has no`},
		{"a wait of nothing", effects(nil), []fsm.Option{fsm.WithBackoff(0, time.Second)}, "positive first wait"},
		{"a longest wait below the first", effects(nil), []fsm.Option{fsm.WithBackoff(2, 1)}, "positive first wait"},
	} {
		_, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), c.effects, c.opts...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.name, err, c.want)
		}
	}
	sourceless := storetest.Descriptor(storetest.Schema())
	for i, op := range sourceless.Operations {
		if op.Name == "release" {
			without := *op
			without.System = nil
			sourceless.Operations[i] = &without
		}
	}
	if _, err := fsm.NewMachine(t.Context(), store, sourceless, effects(nil)); err == nil || !strings.Contains(err.Error(), "source") {
		t.Errorf("an operation without source: %v", err)
	}
}

// Calls that no record can answer are mistakes of the program.
func TestMisusedCalls(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema())
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	foreign := *storetest.Release().Operation
	c := storetest.Release()
	c.Operation = &foreign
	for name, err := range map[string]error{
		"create with a step":    second(m.Create(t.Context(), note("", ""))),
		"apply a creation":      second(m.Apply(t.Context(), out, storetest.Register(meta(""), in("p2")))),
		"apply to nothing":      second(m.Apply(t.Context(), nil, note("", ""))),
		"apply a foreign call":  second(m.Apply(t.Context(), out, c)),
		"apply no operation":    second(m.Apply(t.Context(), out, fsmimpl.Call[storetest.Parcel]{})),
		"pick by what does not": second(m.Pick(t.Context(), 1, note("", ""))),
	} {
		var r *fsm.Refusal
		if err == nil || errors.As(err, &r) && r.Code != fsm.ErrInvalidInput {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if outs, err := m.ApplyMany(t.Context(), nil); outs != nil || err != nil {
		t.Errorf("an empty batch: %v, %v", outs, err)
	}
	if outs, err := m.CreateMany(t.Context(), nil); outs != nil || err != nil {
		t.Errorf("an empty batch: %v, %v", outs, err)
	}
}

func second[T any](_ T, err error) error { return err }

// A call takes part in a transaction of the caller: it stands or falls with it.
func TestCallersTransaction(t *testing.T) {
	t.Parallel()
	store := newStore()
	m := open(t, store, storetest.Schema(), fixed())
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	work := func(end func(*memstore.Tx) error) {
		tx, err := store.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		in2, err := store.Adopt(t.Context(), storetest.Schema(), tx)
		if err != nil {
			t.Fatal(err)
		}
		made := must(t)(storetest.In(t, m, store, in2).Create(t.Context(), storetest.Register(meta("r"), in("p2"))))
		must(t)(storetest.In(t, m, store, in2).Apply(t.Context(), made, storetest.Hold(meta(""), "a", start)))
		must(t)(storetest.In(t, m, store, in2).Apply(t.Context(), fsm.Ref{ID: "p1", Rev: 1}, note("n", "x")))
		again := must(t)(storetest.In(t, m, store, in2).Apply(t.Context(), fsm.Ref{ID: "p1", Rev: 1}, note("n", "x")))
		if !again.Replayed {
			t.Error("the transaction does not see its own request")
		}
		_, err = storetest.In(t, m, store, in2).Create(t.Context(), storetest.Register(meta("s"), in("p1")))
		code(t, err, fsm.ErrExists, "")
		_, err = storetest.In(t, m, store, in2).Apply(t.Context(), fsm.Ref{ID: "p1", Rev: 1}, note("m", "x"))
		code(t, err, fsm.ErrStale, "")
		tx.Put("paid", 7)
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
	}
	work(func(tx *memstore.Tx) error { tx.Rollback(); return nil })
	grown(t, m, 0)
	if v := store.Value("paid"); v != nil {
		t.Errorf("the application's value is %v after a rollback", v)
	}
	work(func(tx *memstore.Tx) error { return tx.Commit(t.Context()) })
	grown(t, m, 3)
	if v := store.Value("paid"); v != 7 {
		t.Errorf("the application's value is %v, want 7", v)
	}
	if list := findings(t, m); list != nil {
		t.Errorf("audit: %v", list)
	}
}

// An atomic effect may write beside the machine, in the same transaction.
func TestAtomicEffectWritesBeside(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	var fail error
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()), effects(
		func(_ context.Context, tx fsm.Tx, p storetest.Parcel, key string, _ fsm.Event) error {
			mine := store.Transaction(tx)
			n, _ := mine.Value(key).(int)
			mine.Put(key, n+1)
			return fail
		}))
	if err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	fail = errLost
	if _, err := m.Apply(t.Context(), out, storetest.Bill(meta("r"))); !errors.Is(err, errLost) {
		t.Errorf("got %v, want the effect's error", err)
	}
	if v := store.Value("a"); v != nil {
		t.Errorf("the ledger says %v after a failure", v)
	}
	fail = nil
	for range 3 {
		must(t)(m.Apply(t.Context(), out, storetest.Bill(meta("r"))))
	}
	if v := store.Value("a"); v != 1 {
		t.Errorf("the ledger says %v, want 1", v)
	}
}
