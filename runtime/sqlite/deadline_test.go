package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// No wait begins when the time of a call is over: beside a program that keeps the
// database's write lock, each of many callers is refused exactly when its own time
// ends, whatever it waited for before. The clock is the test's own.
func TestNoWaitBeginsTooLate(t *testing.T) {
	t.Parallel()
	const limit = 500 * time.Millisecond
	create := func(ctx context.Context, m *parcels, id string) error {
		_, err := m.Create(ctx, storetest.Register(storetest.Meta{RequestID: "new " + id, Actor: "ann"}, storetest.RegisterInput{ID: id, Lane: "a"}))
		return err
	}
	guarded := func(ctx context.Context, m *parcels, id string) error { // takes the lock before it decides
		_, err := m.Apply(ctx, fsm.Ref{ID: "held"}, storetest.Shelve(storetest.Meta{RequestID: id, Actor: "ann"}, "slot", "t"))
		return err
	}
	many := func(ctx context.Context, m *parcels, id string) error {
		call := storetest.Register(storetest.Meta{RequestID: "new " + id, Actor: "ann"}, storetest.RegisterInput{ID: id, Lane: "a"})
		_, err := m.CreateMany(ctx, []fsmimpl.Call[storetest.Parcel]{call})
		return err
	}
	for name, do := range map[string]func(ctx context.Context, m *parcels, id string) error{"creations": create, "guarded moves": guarded, "calls on many": many} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x.db")
				store, err := sqlite.Open(path, sqlite.WithBusyTimeout(limit))
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				m, err := openParcels(t, store)
				if err != nil {
					t.Fatal(err)
				}
				if err := create(t.Context(), m, "held"); err != nil {
					t.Fatal(err)
				}
				if _, err := m.Apply(t.Context(), fsm.Ref{ID: "held"}, storetest.Hold(storetest.Meta{RequestID: "hold", Actor: "ann"}, "a", corpusTime)); err != nil {
					t.Fatal(err)
				}
				db := foreign(t, path, settings)
				defer db.Close()
				if _, err := db.Exec("BEGIN EXCLUSIVE"); err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				for i := range 20 {
					wg.Go(func() {
						time.Sleep(time.Duration(i) * 7 * time.Millisecond)
						ctx, wait, want := t.Context(), limit, error(fsm.ErrBusy)
						switch i % 4 {
						case 1:
							limited, cancel := context.WithTimeout(ctx, limit/2)
							defer cancel()
							ctx, wait, want = limited, limit/2, context.DeadlineExceeded
						case 2:
							ended, cancel := context.WithCancel(ctx)
							time.AfterFunc(limit/3, cancel)
							ctx, wait, want = ended, limit/3, context.Canceled
						case 3:
							longer, cancel := context.WithTimeout(ctx, 10*limit)
							defer cancel()
							ctx = longer
						}
						begun := time.Now()
						err := do(ctx, m, fmt.Sprint("p", i))
						if took := time.Since(begun); took != wait || !errors.Is(err, want) {
							t.Errorf("caller %d: %v after %v, want %v after %v", i, err, took, want, wait)
						}
					})
				}
				wg.Wait()
				if _, err := db.Exec("ROLLBACK"); err != nil {
					t.Fatal(err)
				}
				if err := create(t.Context(), m, "later"); err != nil {
					t.Errorf("when the lock is free: %v", err)
				}
			})
		})
	}
}
