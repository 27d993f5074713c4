package fsmtest

import (
	"context"
	"errors"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// Story is a sequence of calls that ends in a broken promise: what the model
// checker has found, to be told again to a generated package.
type Story struct {
	Steps []StoryStep
	Ends  Ending
	// Effect is the effect that is performed twice for one key, or not at all
	// before the step that follows it.
	Effect string
}

// StoryStep is one step of a story.
type StoryStep struct {
	Record  string // its id
	Do      string // the operation; empty: what waits to be delivered is delivered
	Actor   string
	Reason  string
	Request string // request id; empty: none
	At      time.Time
	Inputs  map[string]any // as in [Call]

	// With [EndsAsTold] besides:

	Rev   int64             // the revision that the caller expects; 0: none
	Leads string            // to what: "accepted", "recorded", "replayed", "existing", "delivered", or the code of the refusal
	Guard string            // with the code "guard": the one that refused
	Is    map[string]string // by record: its stored state and its revision after the step, as in "open@2"
}

// Ending says how a story goes wrong.
type Ending int

const (
	// EndsTwice is an effect that was performed twice for one key.
	EndsTwice Ending = iota + 1
	// EndsEarly is a step that was taken although the effect before it was not performed.
	EndsEarly
	// EndsBroken is a last step that would break an invariant; the runtime refuses it.
	EndsBroken
	// EndsAsTold is a story in which nothing goes wrong: each step leads to what it
	// says. Such a test passes until the package does something else.
	EndsAsTold
)

// Retell tells a story to a generated package over memstore, and fails when it
// ends as it does: the promise is broken. A package of a mended specification
// refuses a step, or ends otherwise, and passes. With [EndsAsTold] it is the other
// way round: the test fails at the first step that leads elsewhere.
func Retell[R interface{ Ref() fsm.Ref }](t testing.TB, d Package[R], s Story) {
	t.Helper()
	if s.Ends == EndsAsTold {
		relive(t, d, s.Steps)
		return
	}
	ctx := t.Context()
	store, fx := memstore.New(), &Effects{}
	if err := d.Migrate(ctx, store); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	m, err := d.Open(ctx, store, fx, fsm.WithCallerTime())
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	for i, step := range s.Steps {
		last := i == len(s.Steps)-1
		if err = tell(ctx, m, step); err == nil {
			continue
		}
		switch code := codeOf(err); {
		case errors.As(err, new(*NotOfferedError)):
			t.Logf("step %d: nobody can call %s, so the story cannot happen", i+1, step.Do)
		case last && s.Ends == EndsBroken && code == fsm.ErrInvariant:
			t.Errorf("step %d, %s of %s: it would break an invariant: %v", i+1, step.Do, step.Record, err)
		case code == "":
			t.Fatalf("step %d, %s of %s: %v", i+1, step.Do, step.Record, err)
		default:
			t.Logf("step %d, %s of %s, is refused, so the story cannot happen: %v", i+1, step.Do, step.Record, err)
		}
		return
	}
	done := map[string]int{}
	for _, p := range fx.Done() {
		if p.Effect == s.Effect {
			done[p.Key]++
		}
	}
	switch s.Ends {
	case EndsTwice:
		for key, n := range done {
			if n > 1 {
				t.Errorf("effect %s was applied %d times for key %s", s.Effect, n, key)
			}
		}
	case EndsEarly:
		if len(done) == 0 {
			t.Errorf("%s was accepted before effect %s was performed", s.Steps[len(s.Steps)-1].Do, s.Effect)
		}
	case EndsBroken: // the step was accepted and kept the promise
	}
}

// tell takes one step at the revision that the record has.
func tell[R interface{ Ref() fsm.Ref }](ctx context.Context, m *Durable[R], s StoryStep) error {
	if s.Do == "" {
		_, err := m.Deliver(ctx)
		return err
	}
	at := fsm.Ref{ID: s.Record}
	if r, err := m.Record(ctx, s.Record); err == nil {
		at = r.Ref()
	}
	_, err := m.Do(ctx, s.Do, at, Call{ID: s.Record, RequestID: s.Request, Actor: s.Actor, Reason: s.Reason, At: s.At, Inputs: s.Inputs})
	return err
}

// codeOf returns the code of a refusal, or "" for any other error.
func codeOf(err error) fsm.Code {
	var r *fsm.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}
