package storetest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// broken makes the stores of a process forget which request wrote an event.
const broken = "STORETEST_BROKEN"

// store is what a stranger would write: here it wraps the store in memory.
type store struct{ *memstore.Store }

func (s store) Table(schema *driver.Schema) (driver.Table, error) {
	t, err := s.Store.Table(schema)
	return table{t, s}, err
}

type table struct {
	driver.Table
	store store
}

// A machine is over this store, so it is the one that knows the calls within its own transactions.

func (t table) View(ctx context.Context, f func(driver.Reader) error) error {
	if err := driver.Inside(ctx, t.store); err != nil {
		return err
	}
	return t.Table.View(ctx, f)
}

func (t table) Look(ctx context.Context, f func(driver.Reader) error) error { return t.View(ctx, f) }

func (t table) Update(ctx context.Context, f func(driver.Tx) error) error {
	if err := driver.Inside(ctx, t.store); err != nil {
		return err
	}
	return t.Table.Update(ctx, f)
}

func (t table) Commit(ctx context.Context, w *driver.Write) error {
	if os.Getenv(broken) != "" {
		w.Event.RequestID, w.Event.RequestN = "", -1
	}
	return t.Update(ctx, func(tx driver.Tx) error { return tx.Write(w) })
}

func open(testing.TB) fsm.Store { return store{memstore.New()} }

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}

func TestJoined(t *testing.T) {
	t.Parallel()
	storetest.RunJoined(t, open, func(ctx context.Context, s fsm.Store) (storetest.CallersTx, error) {
		tx, err := s.(store).Begin(ctx)
		if err != nil {
			return storetest.CallersTx{}, err
		}
		return storetest.CallersTx{
			Joined: fsm.Join(s.(store), tx), Commit: func() error { return tx.Commit(ctx) },
			Rollback: func() error { tx.Rollback(); return nil },
		}, nil
	})
}

// A store that breaks a promise is noticed through the door. The suite's own tests break each one.
func TestBrokenIsNoticed(t *testing.T) {
	t.Parallel()
	if os.Getenv(broken) != "" {
		return // the process that runs the broken store
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestConformance$/^request$")
	cmd.Env = append(os.Environ(), broken+"=1")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "--- FAIL: TestConformance/request") {
		t.Errorf("nothing was noticed (%v):\n%s", err, out)
	}
}
