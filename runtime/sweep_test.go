package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// sweeping opens a machine in which annotate, like release, is run by the system
// when due has come and at startup, with the sources of both, and holds parcels.
func sweeping(t *testing.T, store fsm.Store, release, annotate func(p *storetest.Parcel) error, ids ...string) *machine {
	t.Helper()
	open(t, store, storetest.Schema())
	d, _ := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"release": func(op *fsmimpl.Operation[storetest.Parcel]) {
			op.System = func(p *storetest.Parcel, _ time.Time) (fsmimpl.Call[storetest.Parcel], error) {
				c := storetest.Release()
				decide := c.Decide
				c.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
					if err := release(p); err != nil {
						return fsmimpl.Step{}, err
					}
					return decide(p, id, peers, now)
				}
				return c, nil
			}
		},
		"touch": func(op *fsmimpl.Operation[storetest.Parcel]) {
			op.By, op.NeedActor, op.Triggers = fsmimpl.BySystem, false, []fsmimpl.Trigger{{Startup: true}, {After: "due"}}
			op.System = func(p *storetest.Parcel, _ time.Time) (fsmimpl.Call[storetest.Parcel], error) {
				c := storetest.Release()
				c.Decide = func(p *storetest.Parcel, _ string, _ []int64, now time.Time) (fsmimpl.Step, error) {
					if err := annotate(p); err != nil {
						return fsmimpl.Step{}, err
					}
					p.Rev, p.Due = p.Rev+1, fsm.Some(now.Add(time.Hour))
					return fsmimpl.Step{From: p.State, To: p.State}, nil
				}
				return c, nil
			}
		},
	})
	m, err := fsm.NewMachine(t.Context(), store, d, effects(nil), fixed())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(id))))
		must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	}
	return m
}

func fine(*storetest.Parcel) error { return nil }

// What has moved on or is held back by a rule of the machine is no error of a
// sweep; all else is.
func TestSweepPassesOver(t *testing.T) {
	t.Parallel()
	for want, codes := range map[bool][]fsm.Code{
		true:  {fsm.ErrStale, fsm.ErrWrongState, fsm.ErrTerminal, fsm.ErrGuard, fsm.ErrNotUnique, fsm.ErrNotFound},
		false: {fsm.ErrInvariant, fsm.ErrInvalidInput, fsm.ErrQuarantined},
	} {
		for _, c := range codes {
			m := sweeping(t, newStore(), func(p *storetest.Parcel) error {
				if p.ID == "p1" {
					return &fsm.Refusal{ID: p.ID, Code: c, Machine: "parcel", Operation: "release"}
				}
				return nil
			}, func(*storetest.Parcel) error { return &fsm.Refusal{Code: fsm.ErrGuard} }, "p1", "p2")
			if at := audit.HealthOf(m).Swept; !at.IsZero() {
				t.Errorf("health tells of a sweep at %v before the first one", at)
			}
			n, err := m.Sweep(t.Context())
			if at := audit.HealthOf(m).Swept; !at.Equal(start) {
				t.Errorf("%s: health tells of a sweep at %v, want %v: no record keeps one from its end", c, at, start)
			}
			var r *fsm.Refusal
			if n != 1 || want != (err == nil) || !want && (!errors.As(err, &r) || r.Code != c) {
				t.Errorf("%s: swept %d, %v; want p2 to be released and passed over %t", c, n, err, want)
			}
		}
	}
}

// What a program has recorded at a revision for reasons of its own stands in the way of no
// start and of no sweep: they would write the same call without a reason.
func TestSweepPassesOverWhatIsRecorded(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	kept := func(p *storetest.Parcel, _ string, _ []int64, _ time.Time) (fsmimpl.Step, error) {
		return fsmimpl.Step{From: p.State, To: p.State, RecordOnly: true}, nil
	}
	d, ops := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"release": func(op *fsmimpl.Operation[storetest.Parcel]) {
			op.System = func(*storetest.Parcel, time.Time) (fsmimpl.Call[storetest.Parcel], error) {
				c := storetest.Release()
				c.Decide = kept
				return c, nil
			}
		},
	})
	m, err := fsm.NewMachine(t.Context(), store, d, effects(nil), fixed())
	if err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	c := storetest.Release()
	c.Operation, c.Decide, c.Reason = ops["release"], kept, "by hand"
	if out = must(t)(m.Apply(t.Context(), out, c)); !out.RecordOnly {
		t.Fatal("the call was not recorded only")
	}
	if n, err := m.Startup(t.Context()); n != 0 || err != nil {
		t.Errorf("started %d, %v", n, err)
	}
	if n, err := m.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
}

// A sweep whose context ends does not go on: neither with other records nor with
// other operations.
func TestSweepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	store := &wrapped{Store: newStore()}
	views, updates := 0, 0
	m := sweeping(t, store, func(*storetest.Parcel) error { cancel(); return nil }, func(*storetest.Parcel) error { cancel(); return nil }, "p1", "p2", "p3")
	store.view = func(table driver.Table, inner context.Context, f func(driver.Reader) error) error {
		views++
		return table.View(inner, f)
	}
	store.commit = func(table driver.Table, inner context.Context, w *driver.Write) error {
		updates++
		return table.Commit(inner, w)
	}
	n, err := m.Sweep(ctx)
	if n != 0 || !errors.Is(err, context.Canceled) || views != 1 || updates != 1 {
		t.Errorf("swept %d, %v, with %d looks and %d writes; want it to end at the first write", n, err, views, updates)
	}
	if err != nil && strings.Count(err.Error(), context.Canceled.Error()) != 1 {
		t.Errorf("got %v, want one error", err)
	}
	store.view = func(driver.Table, context.Context, func(driver.Reader) error) error {
		return errors.New("the server is away")
	}
	if _, err := m.Sweep(t.Context()); err == nil {
		t.Error("a sweep without a server succeeded")
	}
	if at := audit.HealthOf(m).Swept; !at.IsZero() {
		t.Errorf("health tells of a sweep at %v that did not come to its end", at)
	}
}

// Recovery that was not whole holds delivery back, whichever operation failed.
func TestStartupThatIsNotWhole(t *testing.T) {
	t.Parallel()
	failed := error(&fsm.Refusal{Code: fsm.ErrInvariant, Machine: "parcel", Operation: "release"})
	refuse := func(*storetest.Parcel) error { return failed }
	wraps := func(*storetest.Parcel) error { return fmt.Errorf("odd: %w", failed) }
	broken := func(*storetest.Parcel) error { return errors.Join(failed, errLost) }
	for name, sources := range map[string][2]func(*storetest.Parcel) error{
		"the first":            {refuse, fine},
		"the second":           {fine, refuse},
		"one, by no refusal":   {wraps, fine},
		"both, in another way": {broken, broken},
	} {
		store := newStore()
		m := sweeping(t, store, sources[1], sources[0], "p1")
		if _, err := m.Startup(t.Context()); !errors.Is(err, failed) {
			t.Errorf("%s: Startup: %v, want its error", name, err)
		}
		if _, err := m.Deliver(t.Context()); err == nil {
			t.Errorf("%s: it delivers although recovery was not whole", name)
		}
	}
}
