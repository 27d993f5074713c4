package shop

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"example.com/shop/parcel"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// TestThreeKnocks uses the generated package as its owner would: on a file, with
// a retry that changes nothing, an intruder, and a parcel that ends in time.
func TestThreeKnocks(t *testing.T) {
	ctx := context.Background()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := parcel.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	m, err := parcel.Open(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	in := parcel.PackInput{Address: "12 Elm Street", Weight: 800, Size: parcel.SizeSmall}
	packed, err := m.Pack(ctx, "", in, fsm.Call{RequestID: "order-1"})
	if err != nil {
		t.Fatal(err)
	}
	due := parcel.LoadInput{Due: time.Now().Add(time.Hour)}
	loaded, err := m.Load(ctx, packed.Record, due, fsm.Call{RequestID: "load-1", Actor: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Knock(ctx, loaded.Record, parcel.KnockInput{Opened: true}, fsm.Call{RequestID: "knock-0", Actor: "eve"})
	if !errors.Is(err, parcel.ErrNotCourier) {
		t.Fatalf("eve delivers a parcel of ann: %v", err)
	}
	at := loaded.Record
	for _, id := range []string{"knock-1", "knock-2", "knock-3"} {
		call := fsm.Call{RequestID: id, Actor: "ann"}
		out, err := m.Knock(ctx, at, parcel.KnockInput{}, call)
		if err != nil {
			t.Fatal(err)
		}
		again, err := m.Knock(ctx, at, parcel.KnockInput{}, call)
		if err != nil || !again.Replayed || !again.Record.Equal(out.Record) {
			t.Fatalf("the retry of %s: %+v, %v", id, again, err)
		}
		at = out.Record
	}
	if at.State != parcel.StateReturned || at.Attempts != 3 {
		t.Errorf("after three knocks the parcel is %s with %d attempts", at.State, at.Attempts)
	}
	if _, err := m.Knock(ctx, at, parcel.KnockInput{}, fsm.Call{RequestID: "knock-4", Actor: "ann"}); !errors.Is(err, fsm.ErrTerminal) {
		t.Errorf("a returned parcel moves: %v", err)
	}
	for finding, err := range audit.Run(ctx, m) {
		t.Errorf("audit: %v, %v", finding, err)
	}
}
