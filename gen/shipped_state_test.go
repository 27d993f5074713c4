package gen_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// What StateOf finds in errors: the state of this machine's record, wherever it stands.
func TestStateOf(t *testing.T) {
	t.Parallel()
	job := lifecycle.Job{ID: "a", State: lifecycle.StateSucceeded}
	refused := job.Can(lifecycle.OpStart)
	_, _, creation := lifecycle.Enqueue("", lifecycle.EnqueueInput{}, now)
	other := &fsm.Refusal{Machine: "other", State: "failed"}
	for name, c := range map[string]struct {
		err  error
		want lifecycle.State
	}{
		"nothing":             {nil, 0},
		"another error":       {errors.New("lifecycle"), 0},
		"a refusal":           {refused, lifecycle.StateSucceeded},
		"a wrapped one":       {fmt.Errorf("start: %w", refused), lifecycle.StateSucceeded},
		"of a creation":       {creation, 0},
		"of another machine":  {other, 0},
		"behind another":      {&fsm.Refusal{Machine: "other", State: "failed", Cause: refused}, lifecycle.StateSucceeded},
		"beside another":      {errors.Join(nil, other, refused), lifecycle.StateSucceeded},
		"recorded only":       {&fsm.RecordedError{Machine: "lifecycle", State: "stalled"}, lifecycle.StateStalled},
		"a record lost":       {&worker.LostError{Machine: "lifecycle", State: "failed", Err: refused}, lifecycle.StateFailed},
		"lost, nobody knows":  {&worker.LostError{Machine: "lifecycle"}, 0},
		"lost, by the answer": {&worker.LostError{Machine: "lifecycle", Err: refused}, lifecycle.StateSucceeded},
		"an unknown state":    {&fsm.Refusal{Machine: "lifecycle", State: "gone"}, 0},
	} {
		if got, ok := lifecycle.StateOf(c.err); got != c.want || ok != (c.want != 0) {
			t.Errorf("%s: %v, %v; want %v", name, got, ok, c.want)
		}
	}
}
