package fsm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// operations of a log.
func operations(t *testing.T, m *machine) (list []string) {
	t.Helper()
	for _, e := range log(t, m, "p1") {
		list = append(list, e.Operation)
	}
	return list
}

func sound(t *testing.T, m *machine) {
	t.Helper()
	for f, err := range audit.Run(t.Context(), m) {
		t.Errorf("the audit finds %v, %v", f, err)
	}
}

// What somebody hastens is due at once, and as it was where somebody else has it.
func TestHasten(t *testing.T) {
	t.Parallel()
	x := newEnding(t, newStore(), 0)
	if _, err := x.Deliver(t.Context()); !errors.Is(err, errLost) {
		t.Fatal(err)
	}
	d := x.waits()
	if _, err := x.Deliver(t.Context()); err != nil || x.calls.Load() != 1 {
		t.Errorf("before: %v, %d calls", err, x.calls.Load())
	}
	if done, err := x.Engine().Hasten(t.Context(), d); !done || err != nil {
		t.Errorf("hastened: %v, %v", done, err)
	}
	if now := x.waits(); now.LastError != d.LastError || now.Attempts != d.Attempts || now.Due.After(x.now) {
		t.Errorf("there waits %+v, before %+v", now, d)
	}
	if _, err := x.Deliver(t.Context()); !errors.Is(err, errLost) || x.calls.Load() != 2 {
		t.Errorf("afterwards: %v, %d calls", err, x.calls.Load())
	}
	due := x.waits().Due
	if done, err := x.Engine().Hasten(t.Context(), d); done || err != nil || !x.waits().Due.Equal(due) {
		t.Errorf("of what was tried since: %v, %v", done, err)
	}
}

// Somebody ends the tries of an effect: all that follows is one transaction, and happens once.
func TestAbandon(t *testing.T) {
	t.Parallel()
	lost := 0 // answers of transactions that are lost, done or not
	done := false
	store := &wrapped{Store: newStore(), update: func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if lost == 0 {
			return table.Update(ctx, f)
		}
		lost--
		if done {
			if err := table.Update(ctx, f); err != nil {
				return err
			}
		}
		return &fsm.AmbiguousError{Err: errors.New("lost")}
	}}
	for _, answers := range []string{"all come", "lost before", "lost behind"} {
		x := newEnding(t, store, 3)
		_ = x.round()
		d := x.waits()
		if answers != "all come" {
			lost, done = 1, answers == "lost behind"
		}
		err := x.Engine().Abandon(t.Context(), d, "ann", "it is cancelled")
		if answers == "lost before" && errors.Is(err, fsm.ErrAmbiguous) { // nobody knows; it is asked again
			err = x.Engine().Abandon(t.Context(), d, "ann", "it is cancelled")
		}
		if err != nil {
			t.Fatalf("%s: %v", answers, err)
		}
		if x.waits().ID != "" || x.calls.Load() != 1 || !slices.Equal(x.told, []string{"given up by hand"}) {
			t.Errorf("%s: there waits %+v; the step was told %q", answers, x.waits(), x.told)
		}
		events := log(t, x.machine, "p1")
		if got := operations(t, x.machine)[len(events)-2:]; !slices.Equal(got, []string{driver.OpGiveUp, "discard"}) {
			t.Errorf("%s: the log ends with %s", answers, got)
		}
		e := events[len(events)-2]
		if !e.RecordOnly() || e.Actor != "ann" || e.Reason != "it is cancelled" || e.Inputs.String() != `{"effect":"carry","attempts":1}` {
			t.Errorf("%s: the event is %+v", answers, e)
		}
		if err := x.Engine().Abandon(t.Context(), d, "ann", "once more"); !errors.Is(err, fsm.ErrOvertaken) || len(log(t, x.machine, "p1")) != len(events) {
			t.Errorf("%s: a second time: %v", answers, err)
		}
		store.Store = newStore()
	}
}

// Who gives up says who and why, and is refused where the step is, or where the effect was tried meanwhile.
func TestAbandonIsRefused(t *testing.T) {
	t.Parallel()
	x := newEnding(t, newStore(), 3)
	d := x.waits()
	for want, who := range map[fsm.Code][2]string{
		fsm.ErrActorMissing: {"", "x"}, fsm.ErrReasonMissing: {"ann", ""}, fsm.ErrSystemActor: {driver.SystemActor, "x"}, fsm.ErrInvalidInput: {"a\x00", "x"},
	} {
		if err := x.Engine().Abandon(t.Context(), d, who[0], who[1]); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", who, err, want)
		}
	}
	_ = x.round()
	if err := x.Engine().Abandon(t.Context(), d, "ann", "too slow"); !errors.Is(err, fsm.ErrOvertaken) {
		t.Errorf("tried meanwhile: %v", err)
	}
	x.refuses = true
	d = x.waits()
	if err := x.Engine().Abandon(t.Context(), d, "ann", "no"); !errors.Is(err, fsm.ErrWrongState) {
		t.Errorf("the step is refused: %v", err)
	}
	if now := x.waits(); now != d || x.last() != "dispatch" {
		t.Errorf("there waits %+v, before %+v; last is %s", now, d, x.last())
	}
	sound(t, x.machine)
}

// An effect without `failed` goes with its event alone, also when its record has moved on since.
func TestAbandonWithoutFailed(t *testing.T) {
	t.Parallel()
	now := start
	m := senders(t, newStore(), 1, func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return errLost },
		fsm.WithClock(func() time.Time { return now }))
	_, _ = m.Deliver(t.Context())
	var box []driver.Delivery
	if err := m.Engine().Table.View(t.Context(), func(r driver.Reader) (err error) {
		box, err = r.Outbox(now.Add(24*time.Hour), 10)
		return err
	}); err != nil || len(box) != 1 {
		t.Fatal(box, err)
	}
	if failed, err := m.Engine().Failed(t.Context(), box[0]); failed != "" || err != nil {
		t.Errorf("it has a step: %s, %v", failed, err)
	}
	if err := m.Engine().Abandon(t.Context(), box[0], "ann", "nobody waits for it"); err != nil {
		t.Fatal(err)
	}
	events := log(t, m, box[0].ID)
	if e := events[len(events)-1]; e.Operation != driver.OpGiveUp || !e.RecordOnly() {
		t.Errorf("the log ends with %+v", e)
	}
	if n, err := m.Deliver(t.Context()); n != 0 || err != nil {
		t.Errorf("afterwards: %d, %v", n, err)
	}
	sound(t, m)
}

// What a call would be refused with is what it is refused with, and asking writes nothing.
func TestWould(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	m := open(t, store, storetest.Schema())
	p := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	other := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p2"))))
	must(t)(m.Apply(t.Context(), other, storetest.Hold(meta(""), "other", start)))
	calls := map[string]fsmimpl.Call[storetest.Parcel]{
		"hold": storetest.Hold(meta(""), "a", start), "hold the other's": storetest.Hold(meta(""), "other", start), "discard": storetest.Discard(),
		"shelve": storetest.Shelve(meta(""), "s", "t"), "dispatch": storetest.Dispatch(meta("")), "note": note("", "x"), "bill": storetest.Bill(meta("")),
	}
	refs := map[string]fsm.Ref{"as it is": p.Ref(), "any": {ID: "p1"}, "elsewhere": {ID: "p1", Rev: 7}, "none": {ID: "p9"}}
	refused, taken := 0, 0
	for at, ref := range refs {
		for name, c := range calls {
			before := len(log(t, m, "p1"))
			would := m.Engine().Would(t.Context(), ref, c)
			if n := len(log(t, m, "p1")); n != before {
				t.Fatalf("%s at %s: asking made %d events", name, at, n-before)
			}
			_, err := rolledBack(t, store, m, ref, c)
			var a, b *fsm.Refusal
			switch errors.As(would, &a); {
			case (would == nil) != (err == nil) && !errors.Is(err, fsm.ErrNotUnique):
				t.Errorf("%s at %s would be %v, and is %v", name, at, would, err)
			case would == nil:
				taken++
			case errors.As(err, &b) && (a == nil || a.Code != b.Code || a.Guard != b.Guard || strings.Split(a.Error(), " at ")[0] != strings.Split(b.Error(), " at ")[0]):
				t.Errorf("%s at %s would be %v, and is %v", name, at, would, err)
			default:
				refused++
			}
		}
	}
	if refused < 10 || taken < 4 {
		t.Errorf("%d were refused, %d taken", refused, taken)
	}
}

// rolledBack makes a call in a transaction that is given up.
func rolledBack(t *testing.T, store *memstore.Store, m *machine, at fsm.Ref, c fsmimpl.Call[storetest.Parcel]) (out outcome, err error) {
	t.Helper()
	tx, failed := store.Begin(t.Context())
	if failed != nil {
		t.Fatal(failed)
	}
	defer tx.Rollback()
	in, failed := m.In(t.Context(), fsm.Join(store, tx))
	if failed != nil {
		t.Fatal(failed)
	}
	return in.Apply(t.Context(), at, c)
}
