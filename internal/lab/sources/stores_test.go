package sources_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// start is when the tests begin.
var start = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that the test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time               { return c.now }
func (c *clock) pass(d time.Duration)         { c.now = c.now.Add(d) }
func (c *clock) in(d time.Duration) time.Time { return c.now.Add(d) }

// over runs a test over an empty store of each database.
func over(t *testing.T, test func(t *testing.T, store *sqlstore.Store)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		store, err := sqlite.Open(filepath.Join(t.TempDir(), "jobs.db"))
		run(t, store, err, test)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		store, err := postgres.Open(t.Context(), pgtest.DSN(t))
		run(t, store, err, test)
	})
}

func run(t *testing.T, store *sqlstore.Store, err error, test func(t *testing.T, store *sqlstore.Store)) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	test(t, store)
}

// must returns what a call came to, which must have gone well.
func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// refused demands an error.
func refused[T any](t *testing.T, want error) func(T, error) {
	t.Helper()
	return func(v T, err error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%+v, %v; want %v", v, err, want)
		}
	}
}

// last returns the last event of a record.
func last(t *testing.T, history func(func(fsm.Event, error) bool)) (e fsm.Event) {
	t.Helper()
	for got, err := range history {
		if err != nil {
			t.Fatal(err)
		}
		e = got
	}
	return e
}
