package claims_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/claims/box"
	"github.com/fsmgen/fsmgen/internal/lab/claims/load"
	"github.com/fsmgen/fsmgen/internal/lab/claims/van"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// caller sends a box of a yard in an effect of a van.
type caller struct {
	send  func(ctx context.Context, tx *memstore.Tx) error
	heard error
	drops bool // it drops the error
}

func (c *caller) Call(ctx context.Context, tx *memstore.Tx, _ van.Van, _ string, _ fsm.Event) error {
	if c.heard = c.send(ctx, tx); c.drops {
		return nil
	}
	return c.heard
}

// filled is a yard with a load of one box, closed or still open.
func filled(t *testing.T, closed bool) (yard, *memstore.Store) {
	t.Helper()
	store := memstore.New()
	y, ctx := openYard(t, store), t.Context()
	_, err := y.loads.Begin(ctx, "l", fsm.Call{RequestID: "begin"})
	if err == nil {
		_, err = y.boxes.Pack(ctx, "b", box.PackInput{LoadID: "l", Kilos: 1}, fsm.Call{RequestID: "pack"})
	}
	if err == nil && closed {
		_, err = y.loads.Close(ctx, fsm.Ref{ID: "l"}, fsm.Call{RequestID: "close"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return y, store
}

// TestHandlersCallsAreWhole: a handler calls a machine that uses another one, in a store of its own or in the same
// transaction. Its call takes both steps or none, whatever becomes of the step around it.
func TestHandlersCallsAreWhole(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		same, closed, drops bool
	}{
		"another store":                 {closed: true},
		"the same transaction":          {same: true, closed: true},
		"refused and dropped":           {same: true, drops: true},
		"refused elsewhere and dropped": {drops: true},
		"refused":                       {same: true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			outer, store := filled(t, true)
			inner := outer
			c := &caller{drops: tt.drops}
			if tt.same {
				if _, err := outer.loads.Begin(ctx, "m", fsm.Call{RequestID: "begin m"}); err != nil {
					t.Fatal(err)
				}
				if _, err := outer.boxes.Pack(ctx, "c", box.PackInput{LoadID: "m", Kilos: 1}, fsm.Call{RequestID: "pack m"}); err != nil {
					t.Fatal(err)
				}
				if tt.closed {
					if _, err := outer.loads.Close(ctx, fsm.Ref{ID: "m"}, fsm.Call{RequestID: "close m"}); err != nil {
						t.Fatal(err)
					}
				}
				c.send = func(ctx context.Context, tx *memstore.Tx) error {
					in, err := outer.boxes.In(ctx, fsm.Join(store, tx))
					if err == nil {
						_, err = in.Send(ctx, fsm.Ref{ID: "c"}, fsm.Call{RequestID: "send"})
					}
					return err
				}
			} else {
				inner, _ = filled(t, tt.closed)
				c.send = func(ctx context.Context, _ *memstore.Tx) error {
					_, err := inner.boxes.Send(ctx, fsm.Ref{ID: "b"}, fsm.Call{RequestID: "send"})
					return err
				}
			}
			if err := van.Migrate(ctx, store); err != nil {
				t.Fatal(err)
			}
			vans, err := van.Open(ctx, store, c, outer.loads)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := vans.Park(ctx, "v", van.ParkInput{LoadID: "l"}, fsm.Call{RequestID: "park"}); err != nil {
				t.Fatal(err)
			}
			_, err = vans.Drive(ctx, fsm.Ref{ID: "v"}, fsm.Call{RequestID: "drive"})
			stands := tt.closed || tt.drops
			if (err == nil) != stands || !tt.closed && !errors.Is(c.heard, fsm.ErrWrongState) {
				t.Errorf("the drive: %v; its handler heard %v", err, c.heard)
			}
			id, of := "b", "l"
			if tt.same {
				id, of = "c", "m"
			}
			b, err := inner.boxes.Record(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			l, err := inner.loads.Record(ctx, of)
			if err != nil {
				t.Fatal(err)
			}
			if sent := b.State == box.StateGone; sent != tt.closed || sent != (l.State == load.StateShipped) {
				t.Errorf("the box is %v, its load %v", b.State, l.State)
			}
			if l, err = outer.loads.Record(ctx, "l"); err != nil || (l.State == load.StateShipped) != stands {
				t.Errorf("%v: the load of the van is %v", err, l.State)
			}
		})
	}
}
