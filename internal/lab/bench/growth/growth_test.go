package growth

import (
	"net/url"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
)

func small(t *testing.T, db Database, audit int) {
	t.Helper()
	seen := 0
	err := Measure(t.Context(), db, Options{Sizes: []int{1000, 1500}, Rounds: 1, Turn: 20 * time.Millisecond, Callers: 4, Audit: audit}, func(at At) {
		seen++
		for i := range 2 {
			if at.Transition[i].Median() <= 0 || at.Replay[i].Median() <= 0 || len(at.Sweep[i]) != 1 {
				t.Errorf("%s, %d records, database %d: %+v", db.Name, at.Records, i, at)
			}
		}
		if at.Bytes < 500*int64(at.Records) || (at.Records <= audit) != (at.Audit > 0) {
			t.Errorf("%d bytes, audit %s", at.Bytes, at.Audit)
		}
	})
	if err != nil || seen != 2 {
		t.Fatal(seen, err)
	}
}

// What is filled in is what the engine writes: transitions, replays and sweeps
// work on it, and the audit, whose findings are errors, has none.
func TestSQLite(t *testing.T) {
	t.Parallel()
	small(t, SQLite(t.TempDir()), 1000)
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	a, b := pgtest.DSN(t), pgtest.DSN(t)
	if _, err := url.Parse(a); err != nil {
		t.Fatal(err)
	}
	small(t, Postgres(a, b), 1500)
}

// A fold that is told of fewer events comes to another revision.
func TestFold(t *testing.T) {
	t.Parallel()
	if took, err := Fold(t.Context(), 500); err != nil || took <= 0 {
		t.Errorf("%s, %v", took, err)
	}
}

// A row that was filled in wrong is found by the audit.
func TestAuditLooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := SQLite(dir)
	_, store, err := db.open(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	store.Close()
	wrong, err := claimed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wrong.job.Attempt++
	if err := db.fill(t.Context(), false, wrong, 0, 3); err != nil {
		t.Fatal(err)
	}
	m, store, err := db.open(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, _, err := audit(t.Context(), m); err == nil {
		t.Error("the audit found nothing")
	}
}
