package fsmcases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
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
	GivesUp string         // of a delivery: the effect that gives up, and its error: "send: no answer"

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

// Retell runs the steps of a story against a generated package over memstore. A story
// ends with a broken promise, so the test fails when all steps succeed and the end is the
// same. After the specification is fixed, a step is refused or the end differs, and the test
// passes. With [EndsAsTold] the test fails at the first step that leads elsewhere.
func Retell[R interface{ Ref() fsm.Ref }](t testing.TB, d Package[R], s Story) {
	t.Helper()
	ctx, store, clock, fx := t.Context(), memstore.New(), fsmtest.NewClock(), &Effects{}
	if err := d.Migrate(ctx, store); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	m, err := d.Open(ctx, store, fx, fsm.WithClock(clock.Now), fsm.WithCallerTime(), fsm.WithDelivery(time.Minute, 0))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	if _, err := m.Startup(ctx); err != nil { // finds nothing; Deliver asks for it
		t.Fatalf("Startup of an empty store: %v", err)
	}
	for i, step := range s.Steps {
		clock.Set(step.At)
		what := fmt.Sprintf("step %d, %s of %q", i+1, step.Do, step.Record)
		if step.Do == "" {
			what = fmt.Sprintf("step %d, the effects that wait", i+1)
		}
		fx.end(step.GivesUp, 0)
		leads, refusal, err := lead(ctx, m, step, s.Ends == EndsAsTold)
		switch want := strings.TrimSpace(step.Leads + " " + step.Guard); {
		case s.Ends != EndsAsTold && errors.As(err, new(*NotOfferedError)):
			t.Logf("%s: nobody can call it, so the story cannot happen", what)
			return
		case err != nil:
			t.Fatalf("%s: %v", what, err)
		case s.Ends == EndsAsTold && leads != want:
			t.Fatalf("%s: %s, want %s", what, leads, want)
		case s.Ends == EndsAsTold:
			for _, id := range sortedKeys(step.Is) {
				if is, err := d.standing(ctx, m, id); err != nil || is != step.Is[id] {
					t.Fatalf("%s: the record %q is %s after it (%v), want %s", what, id, is, err, step.Is[id])
				}
			}
		case refusal != nil && i == len(s.Steps)-1 && s.Ends == EndsBroken && refusal.Code == fsm.ErrInvariant:
			t.Errorf("%s: it would break an invariant: %v", what, refusal)
			return
		case refusal != nil:
			t.Logf("%s is refused, so the story cannot happen: %v", what, refusal)
			return
		}
	}
	done := map[string]int{}
	for _, p := range fx.Done() {
		if p.Effect == s.Effect {
			done[p.Key]++
		}
	}
	for key, n := range done {
		if s.Ends == EndsTwice && n > 1 {
			t.Errorf("effect %s was applied %d times for key %s", s.Effect, n, key)
		}
	}
	if s.Ends == EndsEarly && len(done) == 0 {
		t.Errorf("%s was accepted before effect %s was performed", s.Steps[len(s.Steps)-1].Do, s.Effect)
	}
}

// lead takes one step and says what it led to. A story that is told as it was names the revision
// that the caller expects; in all others the caller has the record as it is.
func lead[R interface{ Ref() fsm.Ref }](ctx context.Context, m *Durable[R], s StoryStep, asTold bool) (string, *fsm.Refusal, error) {
	if s.Do == "" {
		_, err := m.Deliver(ctx)
		if s.GivesUp != "" && onlyGaveUp(err) {
			err = nil
		}
		return "delivered", nil, err
	}
	at := fsm.Target(fsm.Ref{ID: s.Record, Rev: s.Rev})
	if asTold && s.Record == "" {
		at = nil
	} else if r, err := m.Record(ctx, s.Record); err == nil && !asTold {
		at = r.Ref()
	}
	c := Call{ID: s.Record, RequestID: s.Request, Actor: s.Actor, Reason: s.Reason, At: s.At, Inputs: s.Inputs}
	var refusal *fsm.Refusal
	switch out, err := m.Do(ctx, s.Do, at, c); {
	case errors.As(err, &refusal):
		return strings.TrimSpace(string(refusal.Code) + " " + refusal.Guard), refusal, nil
	case err != nil:
		return "", nil, err
	case out.Replayed:
		return "replayed", nil, nil
	case out.Existing:
		return "existing", nil, nil
	case out.RecordOnly:
		return "recorded", nil, nil
	}
	return "accepted", nil, nil
}

// standing is the stored state of a record and its revision.
func (p *Package[R]) standing(ctx context.Context, m *Durable[R], id string) (string, error) {
	r, err := m.Record(ctx, id)
	if err != nil {
		return "", err
	}
	row := p.Descriptor.Encode(&r)
	return fmt.Sprintf("%s@%d", row.State, row.Rev), nil
}
