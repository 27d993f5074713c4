package interp_test

import (
	"os"
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
)

// gives reads the machine of effects that give up.
func gives(t *testing.T) *story {
	t.Helper()
	text, err := os.ReadFile("../../gen/testdata/scenarios/givesup.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := tell(t, parse(t, string(text)))
	s.does(s.call("ask", in{"amount": interp.Int(5)}))
	return s
}

// The step of an effect that gave up gets the last error, and the delivery goes with it.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	s := gives(t)
	s.does(s.call("charge", nil))
	waiting := s.w.Outbox[0]
	out, w, refusal := interp.GiveUp(s.m, s.w, waiting, "no answer", at(50))
	if refusal != nil || out.Record.State.Name != "ready" || len(w.Outbox) != 0 ||
		out.Record.Value(s.m, s.m.Field("problem")).Text != "no answer" {
		t.Fatalf("gave up: %+v, outbox %v, %v", out, w.Outbox, refusal)
	}
	if e := out.Events[0]; e.Cause.Name != "charge" || e.RequestID != "sys:declined:2" || e.Inputs["error"].Text != "no answer" {
		t.Errorf("the event is %+v", e)
	}
	s.w = w
	s.folds()
	if out, _, refusal := interp.Deliver(s.m, s.w, waiting, at(51)); refusal != nil || len(out.Events) > 0 {
		t.Errorf("delivered after it gave up: %+v, %v", out, refusal)
	}
	if out, _, refusal := interp.GiveUp(s.m, s.w, waiting, "again", at(51)); refusal != nil || len(out.Events) > 0 {
		t.Errorf("gave up twice: %+v, %v", out, refusal)
	}
	s.does(s.call("charge", nil))
	if out, _, _ = interp.GiveUp(s.m, s.w, s.w.Outbox[0], "no answer", at(52)); out.Record.State.Name != "refused" {
		t.Errorf("gave up for the second record of it: %s", out.Record.State.Name)
	}
	if out, _, _ = interp.GiveUp(s.m, s.w, s.w.Outbox[0], "no money", at(52)); out.Record.State.Name != "refused" {
		t.Errorf("gave up for want of money: %s", out.Record.State.Name)
	}
}

// A delivery that only `failed` may follow is performed and forgotten, and is dropped when its
// record goes on; one without `failed` never gives up.
func TestGiveUpWithoutThen(t *testing.T) {
	t.Parallel()
	s := gives(t)
	s.does(s.call("charge", nil))
	_, s.w, _ = interp.Deliver(s.m, s.w, s.w.Outbox[0], at(9))
	s.does(s.call("tell", nil))
	waiting := s.w.Outbox[0]
	if _, w, refusal := interp.Deliver(s.m, s.w, waiting, at(10)); refusal != nil || len(w.Outbox) != 0 || len(w.Log) != len(s.w.Log) {
		t.Errorf("delivered: %v, outbox %v", refusal, w.Outbox)
	}
	out, _, refusal := interp.GiveUp(s.m, s.w, waiting, "no answer", at(10))
	if refusal != nil || out.Record.State.Name != "paid" || len(out.Events[0].Inputs) != 0 {
		t.Errorf("gave up: %+v, %v", out, refusal)
	}
	s.does(s.call("heard", nil))
	if len(s.w.Outbox) != 0 {
		t.Errorf("the outbox holds %v", s.w.Outbox)
	}
	other := tell(t, shipped(t, "task"))
	other.does(other.call("submit", nil))
	other.does(other.call("start", nil))
	out, w, refusal := interp.GiveUp(other.m, other.w, other.w.Outbox[0], "no answer", at(11))
	if refusal != nil || len(out.Events) > 0 || len(w.Outbox) != 1 {
		t.Errorf("gave up without a step for it: %+v, %v", out, refusal)
	}
}

// What only an effect that gave up leads to is called by nobody.
func TestGiveUpIsInternal(t *testing.T) {
	t.Parallel()
	m := gives(t).m
	for _, name := range []string{"charged", "declined", "unheard", "noted"} {
		if !interp.Internal(m, m.Operation(name)) {
			t.Errorf("everybody may call %s", name)
		}
	}
}
