package fsmtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/machines/paymentintent"
	"github.com/fsmgen/fsmgen/examples/machines/riverjob"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// everyState has a record made in each state of a machine, with nothing but the
// state, and looks whether the machine and its audit take it.
func everyState[R any, S any](t *testing.T, m interface {
	Core() *fsm.Machine[R]
}, store fsm.Store, states []S, in func(S) R, sound func(R, S) error) {
	t.Helper()
	for _, s := range states {
		if err := sound(fsmtest.Given(t, store, m.Core(), in(s)), s); err != nil {
			t.Errorf("in %v: %v", s, err)
		}
	}
	for f, err := range audit.Run(t.Context(), m) {
		t.Errorf("the audit found %v, %v", f, err)
	}
}

func TestGivenEveryState(t *testing.T) {
	t.Parallel()
	t.Run("lifecycle", func(t *testing.T) {
		t.Parallel()
		m, store := opened(t, lifecycle.Migrate, func(ctx context.Context, s fsm.Store) (*lifecycle.Machine, error) { return lifecycle.Open(ctx, s) })
		everyState(t, m, store, lifecycle.States(), func(s lifecycle.State) lifecycle.Job { return lifecycle.Job{State: s} },
			func(j lifecycle.Job, s lifecycle.State) error { return same(t, m.Record, j.ID, j, j.State == s) })
	})
	t.Run("riverjob", func(t *testing.T) {
		t.Parallel()
		m, store := opened(t, riverjob.Migrate, func(ctx context.Context, s fsm.Store) (*riverjob.Machine, error) { return riverjob.Open(ctx, s, never) })
		everyState(t, m, store, riverjob.States(), func(s riverjob.State) riverjob.Job { return riverjob.Job{State: s, Priority: 2} },
			func(j riverjob.Job, s riverjob.State) error {
				return same(t, m.Record, j.ID, j, j.State == s && j.Priority == 2)
			})
	})
	t.Run("paymentintent", func(t *testing.T) {
		t.Parallel()
		m, store := opened(t, paymentintent.Migrate, func(ctx context.Context, s fsm.Store) (*paymentintent.Machine, error) {
			return paymentintent.Open(ctx, s)
		})
		everyState(t, m, store, paymentintent.States(), func(s paymentintent.State) paymentintent.PaymentIntent {
			return paymentintent.PaymentIntent{State: s}
		}, func(p paymentintent.PaymentIntent, s paymentintent.State) error {
			return same(t, m.Record, p.ID, p, p.State == s)
		})
	})
}

// same reports a record that the store has otherwise.
func same[R interface{ Equal(R) bool }](t *testing.T, read func(context.Context, string) (R, error), id string, want R, right bool) error {
	t.Helper()
	got, err := read(t.Context(), id)
	if err == nil && (!got.Equal(want) || !right) {
		return errors.New(cmp.Diff(want, got))
	}
	return err
}

// opened opens a machine over an empty store in memory.
func opened[M any](t *testing.T, migrate func(context.Context, fsm.Store) error, open func(context.Context, fsm.Store) (M, error)) (M, fsm.Store) {
	t.Helper()
	store := memstore.New()
	if err := migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	return m, store
}

// What is given stays; what cannot be is refused in the words of the rules.
func TestArrange(t *testing.T) {
	t.Parallel()
	m, store := opened(t, riverjob.Migrate, func(ctx context.Context, s fsm.Store) (*riverjob.Machine, error) { return riverjob.Open(ctx, s, never) })
	at := fsmtest.Start.Add(time.Minute)
	want := riverjob.Job{
		ID: "job-1", State: riverjob.StateRunning, Queue: "mail", Attempt: 2, MaxAttempts: 3,
		AttemptedAt: fsm.Some(at), AttemptedBy: fsm.NewSet("w1"), CreatedAt: at,
	}
	got, err := fsmtest.Arrange(t.Context(), store, m.Core(), want)
	if err != nil {
		t.Fatal(err)
	}
	want.Rev, want.UpdatedAt, want.Kind, want.Args, want.ScheduledAt, want.Priority = got.Rev, got.UpdatedAt, got.Kind, got.Args, got.ScheduledAt, got.Priority
	if !got.Equal(want) || got.Rev != 1 || got.Kind == "" || got.Priority != 1 || got.Error != (fsm.Optional[fsm.JSON]{}) {
		t.Errorf("what was given changed, or too much was filled in:\n%s", cmp.Diff(want, got))
	}
	for _, tt := range []struct {
		name string
		rec  riverjob.Job
		want string
	}{
		{"a rule that what is given breaks", riverjob.Job{State: riverjob.StateAvailable, Attempt: 3, MaxAttempts: 3}, "attempt < max_attempts"},
		{"no state", riverjob.Job{}, "has no state"},
		{"an id that is there", riverjob.Job{ID: "job-1", State: riverjob.StatePending}, "job-1"},
	} {
		if _, err := fsmtest.Arrange(t.Context(), store, m.Core(), tt.rec); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// never is the source of the rescuer's inputs, which no test here asks for.
var never = riverjob.Sources{Rescue: func(riverjob.Job, time.Time) (riverjob.RescueInput, error) {
	return riverjob.RescueInput{}, errors.New("nobody rescues here")
}}
