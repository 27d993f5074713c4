package cookbook

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"example.com/cookbook/delivery"
	"example.com/cookbook/purchase"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

func TestFollow(t *testing.T) {
	follow(t, memstore.New())
	follow(t, must(sqlite.Open(filepath.Join(t.TempDir(), "follow.db"))))
}

// TestFollowOnPostgres runs where the caller of these tests names a database.
func TestFollowOnPostgres(t *testing.T) {
	if address := os.Getenv("COOKBOOK_POSTGRES"); address != "" {
		follow(t, must(postgres.Open(t.Context(), address)))
	}
}

// follow lets all deliveries of a purchase arrive at once, again and again.
func follow(t *testing.T, store fsm.Store) {
	t.Helper()
	ctx := t.Context()
	t.Cleanup(func() { _ = store.Close() })
	for _, migrate := range []error{purchase.Migrate(ctx, store), delivery.Migrate(ctx, store)} {
		if migrate != nil {
			t.Fatal(migrate)
		}
	}
	back := &recall{}
	purchases := must(purchase.Open(ctx, store, back))
	deliveries := must(delivery.Open(ctx, store, purchases))
	back.deliveries = deliveries
	const rounds, each = 20, 3
	for round := range rounds {
		id := fmt.Sprint("purchase-", round)
		must(purchases.Place(ctx, id, fsm.Call{RequestID: "place " + id}))
		for n := range each {
			child := fmt.Sprint(id, "-", n)
			must(deliveries.Send(ctx, child, delivery.SendInput{Purchase: id}, fsm.Call{RequestID: "send " + child}))
		}
		var all sync.WaitGroup
		for n := range each {
			all.Go(func() {
				child := fmt.Sprint(id, "-", n)
				if _, err := deliveries.Arrive(ctx, fsm.Ref{ID: child}, fsm.Call{RequestID: "arrive " + child}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if p := must(purchases.Record(ctx, id)); p.State != purchase.StateComplete || p.Sent != each || p.Arrived != each {
			t.Errorf("all deliveries have arrived, and the purchase is %+v", p)
		}
	}
	for round := range rounds { // one is cancelled while deliveries are sent and arrive
		id := fmt.Sprint("cancelled-", round)
		must(purchases.Place(ctx, id, fsm.Call{RequestID: "place " + id}))
		var all sync.WaitGroup
		for n := range each {
			all.Go(func() {
				child := fmt.Sprint(id, "-", n)
				_, err := deliveries.Send(ctx, child, delivery.SendInput{Purchase: id}, fsm.Call{RequestID: "send " + child})
				if err == nil && n == 0 {
					_, err = deliveries.Arrive(ctx, fsm.Ref{ID: child}, fsm.Call{RequestID: "arrive " + child})
				}
				if err != nil && !errors.Is(err, fsm.ErrTerminal) {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if _, err := purchases.Cancel(ctx, fsm.Ref{ID: id}, fsm.Call{RequestID: "cancel " + id}); err != nil && !errors.Is(err, fsm.ErrTerminal) {
				t.Error(err)
			}
		})
		all.Wait()
		must(purchases.Deliver(ctx))
		if must(purchases.Record(ctx, id)).State != purchase.StateCancelled {
			continue // its only delivery had arrived
		}
		for d, err := range deliveries.List(ctx, delivery.StateUnderWay) {
			if err != nil || d.Purchase == id {
				t.Errorf("%s was cancelled, and %s is under way, %v", id, d.ID, err)
			}
		}
	}
}
