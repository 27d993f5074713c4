package validate_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/validate"
)

// Checking all six machines, the proof included, is no reason to wait: it is
// below 50 ms, and so it can run at every save. The best of some runs counts,
// since other tests run beside this one.
func TestChecksAreQuick(t *testing.T) {
	files, err := filepath.Glob("../../specs/*.yaml")
	if err != nil || len(files) != 6 {
		t.Fatalf("found %d specifications (%v)", len(files), err)
	}
	best := time.Hour
	for n := 0; n < 10 || n < 400 && best > 50*time.Millisecond; n++ { // a busy machine is given time to show it
		start := time.Now()
		for _, file := range files {
			validate.Source(filepath.Base(file), read(t, file))
		}
		best = min(best, time.Since(start))
	}
	if best > 50*time.Millisecond {
		t.Errorf("six machines take %v", best)
	}
	t.Logf("six machines take %v", best)
}

// The proof of each machine has something to show.
func TestProofCounts(t *testing.T) {
	t.Parallel()
	m, found := validate.Source("lifecycle.yaml", read(t, "../../specs/lifecycle.yaml"))
	if m == nil {
		t.Fatal(found)
	}
	if got, want := validate.Proof(m), (validate.Summary{Steps: 11, Obligations: 56}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
