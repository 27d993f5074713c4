package fsmword

import (
	"testing"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
)

// A test may say what the words are.
func TestWords(t *testing.T) {
	if lifecycle.StateQueued.String() != "queued" {
		t.Error("another word")
	}
}
