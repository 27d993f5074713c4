package fsmtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// relive takes the steps of a story by a clock that shows what they say, and
// compares what each of them leads to.
func relive[R interface{ Ref() fsm.Ref }](t testing.TB, d Package[R], steps []StoryStep) {
	t.Helper()
	ctx, store, clock := t.Context(), memstore.New(), NewClock()
	if err := d.Migrate(ctx, store); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	m, err := d.Open(ctx, store, &Effects{}, fsm.WithClock(clock.Now), fsm.WithCallerTime(), fsm.WithDelivery(time.Minute, 0))
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	if _, err := m.Startup(ctx); err != nil { // finds nothing; Deliver asks for it
		t.Fatalf("Startup of an empty store: %v", err)
	}
	for i, step := range steps {
		clock.Set(step.At)
		what := fmt.Sprintf("step %d, %s of %q", i+1, step.Do, step.Record)
		if step.Do == "" {
			what = fmt.Sprintf("step %d, the effects that wait", i+1)
		}
		leads, guard, err := lead(ctx, m, step)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if leads != step.Leads || guard != step.Guard {
			t.Fatalf("%s: %s, want %s", what, told(leads, guard), told(step.Leads, step.Guard))
		}
		for _, id := range sortedKeys(step.Is) {
			r, err := m.Record(ctx, id)
			if err != nil {
				t.Fatalf("%s: the record %q after it: %v", what, id, err)
			}
			row := d.Descriptor.Encode(&r)
			if is := fmt.Sprintf("%s@%d", row.State, row.Rev); is != step.Is[id] {
				t.Fatalf("%s: the record %q is %s after it, want %s", what, id, is, step.Is[id])
			}
		}
	}
}

func told(leads, guard string) string {
	if guard != "" {
		return leads + " " + guard
	}
	return leads
}

// lead takes one step and says what it led to. An error is one that no caller
// can expect.
func lead[R any](ctx context.Context, m *Durable[R], s StoryStep) (leads, guard string, err error) {
	if s.Do == "" {
		_, err := m.Deliver(ctx)
		return "delivered", "", err
	}
	c := Call{ID: s.Record, RequestID: s.Request, Actor: s.Actor, Reason: s.Reason, At: s.At, Inputs: s.Inputs}
	var at fsm.Target
	if s.Record != "" { // else the machine picks one
		at = fsm.Ref{ID: s.Record, Rev: s.Rev}
	}
	out, err := m.Do(ctx, s.Do, at, c)
	var refusal *fsm.Refusal
	switch {
	case errors.As(err, &refusal):
		return string(refusal.Code), refusal.Guard, nil
	case err != nil:
		return "", "", err
	case out.Replayed:
		return "replayed", "", nil
	case out.Existing:
		return "existing", "", nil
	case out.RecordOnly:
		return "recorded", "", nil
	}
	return "accepted", "", nil
}
