package jobstate

import (
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

func TestAllocations(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	expected := fsm.NewSet("a", "b", "c")
	running := Job{
		ID: "j", State: StateRunning, Rev: 2, CreatedAt: now, UpdatedAt: now,
		Expected: expected, Satisfied: fsm.NewSet("a"), CompensationPolicy: fsm.Some("undo"),
	}
	compensating := running
	compensating.State = StateCompensating
	var j Job
	for name, c := range map[string]struct {
		call func() error
		want float64
	}{
		"create":         {func() error { _, _, err := Create("j", CreateRequest{Expected: expected}, now); return err }, 0},
		"known event":    {func() error { j = running; _, err := j.ExpectedEvent(ExpectedEventRequest{Name: "a"}, now); return err }, 0},
		"new event":      {func() error { j = running; _, err := j.ExpectedEvent(ExpectedEventRequest{Name: "b"}, now); return err }, 1}, // the set
		"recorded event": {func() error { j = running; _, err := j.ExpectedEvent(ExpectedEventRequest{Name: "x"}, now); return err }, 0},
		"error":          {func() error { j = running; _, err := j.ErrorEvent(ErrorEventRequest{}, now); return err }, 0},
		"compensation": {func() error {
			j = compensating
			_, err := j.CompensationEvent(CompensationEventRequest{Decision: CompensationEventDecisionDone}, now)
			return err
		}, 0},
	} {
		if n := testing.AllocsPerRun(200, func() {
			if err := c.call(); err != nil {
				t.Fatal(name, err)
			}
		}); n != c.want {
			t.Errorf("%s allocates %v times, expected %v", name, n, c.want)
		}
	}
}
