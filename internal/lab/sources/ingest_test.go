package sources_test

import (
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/pipeline/ingest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// 003:376, 451, 542: the timeout of a stalled job is what Open says, shorter or longer
// than in the file; progress begins it again.
func TestTimeoutBothWays(t *testing.T) {
	over(t, func(t *testing.T, store *sqlstore.Store) {
		if err := ingest.Migrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		c := &clock{start}
		for timeout, opts := range map[time.Duration][]fsm.Option{
			10 * time.Minute: nil,
			5 * time.Minute:  {fsm.WithTrigger("fail_stalled", 5*time.Minute)},
			30 * time.Minute: {fsm.WithTrigger("fail_stalled", 30*time.Minute)},
		} {
			m := must[*ingest.Machine](t)(ingest.Open(t.Context(), store, append(opts, fsm.WithClock(c.Now))...))
			id := timeout.String()
			must[ingest.Outcome](t)(m.Enqueue(t.Context(), id, fsm.Call{}))
			job := must[ingest.Outcome](t)(m.StartOf(t.Context(), fsm.Ref{ID: id}, fsm.Call{}))
			state := func(after time.Duration, want ingest.State) {
				t.Helper()
				c.pass(after)
				must[int](t)(m.Sweep(t.Context()))
				if got := must[ingest.Job](t)(m.Record(t.Context(), id)); got.State != want {
					t.Errorf("timeout %s: the job is %s, want %s", timeout, got.State, want)
				}
			}
			state(timeout-time.Second, ingest.StateRunning)
			must[ingest.Outcome](t)(m.Progress(t.Context(), job, fsm.Call{}))
			state(timeout-time.Second, ingest.StateRunning)
			state(time.Second, ingest.StatePending)
			must[ingest.Outcome](t)(m.Reschedule(t.Context(), fsm.Ref{ID: id}, ingest.RescheduleInput{RunAfter: c.in(time.Hour * 1000)}, fsm.Call{}))
		}
	})
}
