package call_test

import (
	"context"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// The mark of a worker's claim is read once: what the claim runs has it no more.
func TestOfWorker(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if _, worker := call.OfWorker(ctx); worker {
		t.Error("a context without the mark is a worker's")
	}
	ctx, worker := call.OfWorker(call.Worker(ctx))
	if !worker {
		t.Error("a context with the mark is no worker's")
	}
	if _, worker = call.OfWorker(ctx); worker {
		t.Error("the mark is still there after it was read")
	}
	if _, worker = call.OfWorker(call.Worker(ctx)); !worker {
		t.Error("a claim within a claim is no worker's")
	}
}
