package fsm_test

import (
	"context"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// What a worker's claim runs of a program's code makes calls of its own: they wait, and look
// their requests up.
func TestClaimIsTheWorkersAlone(t *testing.T) {
	t.Parallel()
	seen := 0
	observe := func(ctx context.Context, o fsm.Observed) (context.Context, func(fsm.Observation)) {
		if seen++; o.Operation == "hold" {
			if _, worker := call.OfWorker(ctx); worker {
				t.Error("the context of the program's code is that of a worker's claim")
			}
		}
		return ctx, func(fsm.Observation) {}
	}
	m := open(t, memstore.New(), storetest.Schema(), fsm.WithObserver(observe))
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	outs, err := m.Pick(call.Worker(t.Context()), 1, storetest.Hold(meta("claim"), "a", start))
	if err != nil || len(outs) != 1 || seen != 2 {
		t.Errorf("%d records, %v; %d calls were observed, want 2", len(outs), err, seen)
	}
}
