package validate

import (
	"go/types"
	"slices"
	"testing"
)

// The list of what Go declares itself is Go's.
func TestPredeclared(t *testing.T) {
	t.Parallel()
	if want := types.Universe.Names(); !slices.Equal(predeclared, want) {
		t.Errorf("the names are %q, want %q", predeclared, want)
	}
}
