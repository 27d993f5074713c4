package fsm_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// An outcome that a test makes of a record by hand leads to it as the engine's own does.
func TestOutcomeByHand(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	made := must(t)(m.Create(t.Context(), storetest.Register(meta("made"), in("p1"))))
	byHand := fsm.Outcome[storetest.Parcel]{Record: made.Record}
	if byHand.Ref() != made.Ref() || m.HoldOutcome(byHand, "w1").Ref() != made.Ref() {
		t.Errorf("it is at %v, and its handle at %v; want %v", byHand.Ref(), m.HoldOutcome(byHand, "w1").Ref(), made.Ref())
	}
	moved := must(t)(m.Apply(t.Context(), byHand, words("x")))
	replayed := must(t)(m.Create(t.Context(), storetest.Register(meta("made"), in("p1"))))
	if moved.Record.Rev != 2 || replayed.Ref() != made.Ref() {
		t.Errorf("it moved to %v, and the replay is at %v", moved.Ref(), replayed.Ref())
	}
	if none := (fsm.Outcome[storetest.Parcel]{}).Ref(); none != (fsm.Ref{}) {
		t.Errorf("no outcome is at %v", none)
	}
}
