package pure

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Who does the same depth of work comes to the same end.
func TestLives(t *testing.T) {
	t.Parallel()
	for _, s := range Subjects() {
		want := End{State: "succeeded"}
		if s.Depth != Bare {
			want = End{State: "succeeded", Rev: 7, Attempt: 1, Result: answer.String()}
		}
		for n := 1; n <= 3; n++ {
			got, err := s.Life(n)
			if err != nil {
				t.Fatalf("%s (%s): %v", s.Name, s.Depth, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (%s), life %d: -want +got:\n%s", s.Name, s.Depth, n, diff)
			}
		}
	}
}

// Each refusal is one, for its own reason, and not the last time only.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, s := range Subjects() {
		if strings.HasSuffix(s.Name, EachRecord) && s.Refuse == nil {
			continue // the same as without it
		}
		for _, kind := range Refusals {
			f := s.Refuse[kind]
			if f == nil {
				if s.Depth != Bare || kind != WrongOwner {
					t.Errorf("%s (%s) does not refuse %s", s.Name, s.Depth, kind)
				}
				continue
			}
			for range 2 {
				err := f(2)
				if err == nil {
					t.Errorf("%s (%s) lets %s through", s.Name, s.Depth, kind)
					continue
				}
				if owner := errors.Is(err, errOwner) || errors.Is(err, lifecycle.ErrNotOwner) || strings.Contains(err.Error(),
					errOwner.Error()); owner != (kind == WrongOwner) {
					t.Errorf("%s (%s), %s: %v", s.Name, s.Depth, kind, err)
				}
			}
		}
	}
}

// What is written by hand at full depth refuses as the generated methods do, in
// every state, and gives the same event.
func TestHandIsTheSame(t *testing.T) {
	t.Parallel()
	records := []lifecycle.Job{queued(), running(), succeeded()}
	claimed, stalled, old := running(), queued(), running()
	claimed.State, stalled.State, old.Error = lifecycle.StateClaimed, lifecycle.StateStalled, fsm.Some(answer)
	records = append(records, claimed, stalled, old)
	requests := []struct {
		actor  string
		lease  time.Time
		result fsm.JSON
	}{
		{actor: worker, lease: leases[3], result: answer}, {actor: stranger, lease: leases[3], result: answer},
		{lease: leases[3], result: answer}, {actor: "a\x00b", lease: leases[3], result: answer}, {actor: worker},
	}
	for _, record := range records {
		for _, req := range requests {
			for op, call := range map[string][2]func(j *hand) (lifecycle.Event, error){
				lifecycle.OpClaimNext: {
					func(j *hand) (lifecycle.Event, error) { return j.claim(req.lease, req.actor, instants[3]) },
					func(j *hand) (lifecycle.Event, error) {
						return j.ClaimNext(lifecycle.ClaimNextInput{Lease: req.lease}, req.actor, instants[3])
					},
				},
				lifecycle.OpStart: {
					func(j *hand) (lifecycle.Event, error) { return j.start(req.actor, instants[3]) },
					func(j *hand) (lifecycle.Event, error) { return j.Start(req.actor, instants[3]) },
				},
				lifecycle.OpHeartbeat: {
					func(j *hand) (lifecycle.Event, error) { return j.heartbeat(req.lease, req.actor, instants[3]) },
					func(j *hand) (lifecycle.Event, error) {
						return j.Heartbeat(lifecycle.HeartbeatInput{Lease: req.lease}, req.actor, instants[3])
					},
				},
				lifecycle.OpComplete: {
					func(j *hand) (lifecycle.Event, error) { return j.complete(req.result, req.actor, instants[3]) },
					func(j *hand) (lifecycle.Event, error) {
						return j.Complete(lifecycle.CompleteInput{Result: req.result}, req.actor, instants[3])
					},
				},
			} {
				mine, theirs := hand{record}, hand{record}
				got, err := call[0](&mine)
				want, wantErr := call[1](&theirs)
				if got != want || !mine.Equal(theirs.Job) || code(err) != code(wantErr) {
					t.Errorf("%s in %s for %q: by hand %+v, %v; generated %+v, %v", op, record.State, req.actor, got, err, want,
						wantErr)
				}
			}
		}
	}
}

func code(err error) fsm.Code {
	var r *fsm.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}
