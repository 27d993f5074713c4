package claims_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/claims/box"
	"github.com/fsmgen/fsmgen/internal/lab/claims/load"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// reopenYard opens both machines in a store of a kind, as one process does.
func reopenYard(ctx context.Context, kind, address string) (y yard, err error) {
	if kind == "sqlite" {
		y.store, err = sqlite.Open(address)
	} else {
		y.store, err = postgres.Open(ctx, address, postgres.WithMaxSessions(4), postgres.WithLogger(slog.New(slog.DiscardHandler)))
	}
	if err != nil {
		return y, err
	}
	if err := errors.Join(load.Migrate(ctx, y.store), box.Migrate(ctx, y.store)); err != nil {
		return y, err
	}
	if y.loads, err = load.Open(ctx, y.store, noTelling{}); err != nil {
		return y, err
	}
	y.boxes, err = box.Open(ctx, y.store, y.loads)
	return y, err
}

// sender is a process that sends all boxes, in an order of its own and under requests that the other processes make, too.
func sender(kind, address, name string) error {
	ctx := context.Background()
	y, err := reopenYard(ctx, kind, address)
	if err != nil {
		return err
	}
	defer y.store.Close()
	var ids []string
	for b, err := range y.boxes.List(ctx) {
		if err != nil {
			return err
		}
		ids = append(ids, b.ID)
	}
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		switch _, err := y.boxes.Send(ctx, fsm.Ref{ID: id}, fsm.Call{RequestID: "send " + id}); {
		case err == nil:
			fmt.Println("sent", id)
		case !errors.Is(err, fsm.ErrBusy):
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	fmt.Println("nothing", name)
	return nil
}

// TestProcessesFollow: processes send the boxes of a few loads at once, all of them the same boxes, and some are killed. Each load
// hears of each box once and leaves with the last one, and the server meets no deadlock.
func TestProcessesFollow(t *testing.T) {
	t.Parallel()
	numbers := []int{3}
	if campaign.On() {
		numbers = []int{1, 3, 8}
	}
	for _, kind := range []string{"postgres", "sqlite"} {
		for _, n := range numbers {
			t.Run(fmt.Sprint(kind, " ", n), func(t *testing.T) {
				address := filepath.Join(t.TempDir(), "yard.db")
				if kind == "postgres" {
					address = pgtest.DSN(t)
				}
				processesFollow(t, kind, address, n)
			})
		}
	}
}

func processesFollow(t *testing.T, kind, address string, processes int) {
	ctx := t.Context()
	y, err := reopenYard(ctx, kind, address)
	if err != nil {
		t.Fatal(err)
	}
	const loads, perLoad = 3, 30
	name := func(n int) string { return fmt.Sprint("load-", n) }
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range loads {
		must(y.loads.Begin(ctx, name(n), fsm.Call{RequestID: name(n)}))
	}
	must(y.boxes.Batch(ctx, func(m *box.Machine) error {
		for n := range loads {
			for i := range perLoad {
				id := fmt.Sprintf("box-%d-%d", n, i)
				if _, err := m.Pack(ctx, id, box.PackInput{LoadID: name(n), Kilos: 1 + int64(i)}, fsm.Call{RequestID: id}); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	for n := range loads {
		must(y.loads.Close(ctx, fsm.Ref{ID: name(n)}, fsm.Call{RequestID: "close " + name(n)}))
	}
	var live []*worker
	for n := range processes {
		live = append(live, start(t, "boxes-"+kind, address, fmt.Sprint("w", n), time.Now()))
	}
	for range 2 * *kills {
		victim := live[rand.IntN(len(live))]
		for until := time.Now().Add(limit); len(victim.lines("sent")) == 0 && len(victim.lines("nothing")) == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("a process does nothing")
			}
		}
		victim.kill()
		next := start(t, "boxes-"+kind, address, "again", time.Now())
		for i := range live {
			if live[i] == victim {
				live[i] = next
			}
		}
	}
	for _, w := range live {
		<-w.done
		if len(w.lines("nothing")) != 1 {
			t.Errorf("%s ended with %q", w.name, w.said)
		}
	}
	if _, err := y.boxes.SendEach(ctx, fsm.Call{RequestID: "rest"}); err != nil && !errors.Is(err, fsm.ErrNothingToDo) {
		t.Fatal(err) // what met a busy store in all processes
	}
	for n := range loads {
		followed(t, y, name(n), perLoad)
		if rec, err := y.loads.Record(ctx, name(n)); err != nil || rec.State != load.StateShipped {
			t.Errorf("%s is %v: %v", name(n), rec.State, err)
		}
	}
	for f, err := range audit.Run(ctx, y.loads) {
		t.Error(f, err)
	}
	for f, err := range audit.Run(ctx, y.boxes) {
		t.Error(f, err)
	}
	y.store.Close()
	if kind == "postgres" {
		if n := pgtest.Deadlocks(t, address); n != 0 {
			t.Errorf("the server ended %d deadlocks", n)
		}
	}
}
