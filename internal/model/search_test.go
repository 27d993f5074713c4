package model_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fsmgen/fsmgen/internal/model"
)

// A search that nobody waits for ends at once, and says so.
func TestSearchEnds(t *testing.T) {
	t.Parallel()
	m := shipped(t, "execution")
	o := model.Options{}
	whole, heard := model.Check(m, o), 0
	ctx, cancel := context.WithCancel(t.Context())
	r, err := model.Search(ctx, m, o, func(looked, known int) {
		if looked > known || known > whole.States {
			t.Errorf("looked at %d of %d states; there are %d", looked, known, whole.States)
		}
		if heard++; heard == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || r.States == 0 || r.States >= whole.States || heard != 2 {
		t.Errorf("told %d times, %d of %d states, %v", heard, r.States, whole.States, err)
	}
	if again, err := model.Search(t.Context(), m, o, nil); err != nil || again.States != whole.States || again.Violation != nil {
		t.Errorf("to its end: %d of %d states, %v", again.States, whole.States, err)
	}
}
