package fsmrefusal

import (
	"context"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// A test may look at what people read.
func TestText(t *testing.T) {
	_, err := new(lifecycle.Machine).Start(context.Background(), lifecycle.Job{}, fsm.Call{})
	if err == nil || !strings.Contains(err.Error(), "not owner") {
		t.Error(err)
	}
}
