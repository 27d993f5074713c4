package gen_test

import (
	"context"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// A handle's operation takes who, why and labels; the handle says what is left out. What
// nobody made is refused.
func TestHandleCalls(t *testing.T) {
	ctx := context.Background()
	store := memstore.New()
	if err := lifecycle.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.As("ann").Enqueue(ctx, "j", lifecycle.EnqueueInput{}); err != nil {
		t.Fatal(err)
	}
	lease := time.Now().Add(time.Hour)
	claimed, err := m.As("ann").ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: lease}, fsm.Call{RequestID: "r1", Reason: "free"})
	if err != nil || claimed.Owner() != "ann" {
		t.Fatalf("claimed %+v: %v", claimed.Record(), err)
	}
	if _, err := claimed.Start(ctx, fsm.Call{Actor: "ben"}); err == nil {
		t.Error("ben starts what ann has claimed")
	}
	running, err := claimed.Start(ctx, fsm.Call{Labels: map[string]string{"node": "a"}}, fsm.Call{RequestID: "r2", Reason: "now"})
	if err != nil {
		t.Fatal(err)
	}
	e := running.Outcome().Events[0]
	if e.RequestID != "r2" || e.Actor != "ann" || e.Reason != "now" || e.Labels["node"] != "a" {
		t.Errorf("the event says %+v", e)
	}
	held, err := lifecycle.Hold(m, running.Record(), "ann")
	if _, ok := held.(lifecycle.RunningJob); !ok || err != nil {
		t.Errorf("a running job is held as %T: %v", held, err)
	}
	if held, err := lifecycle.Hold(m, lifecycle.Job{ID: "a"}, "ann"); held != nil || err == nil ||
		err.Error() != `lifecycle "a" is in state "State(0)", for which this call returns no handle; read it again` {
		t.Errorf("a job in no state is held as %T: %v", held, err)
	}
	empty := lifecycle.RunningJob{}
	in := lifecycle.CompleteInput{Result: fsm.MustJSON("1")}
	if _, err := empty.Complete(ctx, in); err == nil || empty.Owner() != "" || empty.Record().ID != "" {
		t.Errorf("a handle that nobody made: %v", err)
	}
	if err := empty.Heartbeat(ctx, lifecycle.HeartbeatInput{Lease: lease}); err == nil {
		t.Error("a handle that nobody made lives")
	}
}
