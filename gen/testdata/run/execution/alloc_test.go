package execution

import (
	"errors"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

func TestAllocations(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	req := LeaseRequest{Actor: "w1", JobID: "job", LeaseExpiresAt: now.Add(time.Minute)}
	running := Execution{
		ID: "x", State: StateInProgress, Rev: 2, CreatedAt: now, UpdatedAt: now, JobID: "job", Attempt: 1,
		LeaseOwner: "w1", LeaseExpiresAt: now.Add(time.Minute), StartedAt: fsm.Some(now),
	}
	var j Execution
	for name, call := range map[string]func() error{
		"lease":  func() error { _, _, err := Lease("x", req, LeasePeers{Attempt: 1}, now); return err },
		"commit": func() error { j = running; _, err := j.Commit(CommitRequest{Actor: "w1"}, now); return err },
		"expire": func() error { j = running; _, err := j.Expire(ExpireRequest{}, now.Add(time.Hour)); return err },
	} {
		if n := testing.AllocsPerRun(200, func() {
			if err := call(); err != nil {
				t.Fatal(name, err)
			}
		}); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	if n := testing.AllocsPerRun(200, func() {
		if _, _, err := Lease("x", req, LeasePeers{JobNotLeased: 1, Attempt: 1}, now); !errors.Is(err, ErrJobAlreadyLeased) {
			t.Fatal(err)
		}
	}); n != 1 {
		t.Errorf("a refusal allocates %v times", n)
	}
}
