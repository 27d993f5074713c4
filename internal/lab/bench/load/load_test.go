package load

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/durable"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	m, store, err := durable.OpenSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	hot, err := Contend(t.Context(), m, measure.Turns{Rounds: 2, Turn: 50 * time.Millisecond, Callers: 8})
	if err != nil {
		t.Fatal(err)
	}
	if hot.One.Median() <= 0 || hot.Many.Median() <= 0 || hot.Stale <= 0 {
		t.Errorf("%+v", hot)
	}
	e, err := Soak(t.Context(), m, 4, 400*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if e.Lives == 0 || e.Found != 0 || e.Heap[0] == 0 || e.Heap[3] == 0 {
		t.Errorf("%+v", e)
	}
}

// Calls that cannot be served end with their context; none is lost or unknown. The
// one whose transaction waits for the lock is done when it is gone.
func TestBlock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	m, store, err := durable.OpenSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s, err := Block(t.Context(), m, path, 1500, 1500*time.Millisecond, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if s.Again != nil || s.Ambiguous != 0 || s.Ended < s.Calls/2 || s.Ended+s.Busy+s.Done != s.Calls {
		t.Errorf("%+v", s)
	}
}
