package postgres_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Transactions of callers whose snapshots are older than what others did to the
// group they look at: with one place left in a lane, two of them put a parcel each
// into it. One is told that it is busy, and only what it does again, in a new
// transaction, is told that the lane is full: nobody decides on a group that was.
func TestPeersOfAnOldSnapshot(t *testing.T) {
	t.Parallel()
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
		for _, first := range []bool{true, false} { // the other one commits before this one asks, or while it waits
			t.Run(fmt.Sprintf("%v, committed before %t", level, first), func(t *testing.T) {
				t.Parallel()
				ctx := t.Context()
				dsn := pgtest.DSN(t)
				d := newDepot(t, dsn)
				for i := range 4 {
					id := fmt.Sprintf("p%d", i)
					p, err := d.m.Create(ctx, storetest.Register(storetest.Meta{Actor: "ann"}, storetest.RegisterInput{ID: id, Lane: "a"}))
					if err == nil {
						p, err = d.m.Apply(ctx, p, storetest.Hold(storetest.Meta{Actor: "ann"}, "a", time.Now().Add(time.Hour)))
					}
					if err == nil && i < 2 {
						_, err = d.m.Apply(ctx, p, storetest.Shelve(storetest.Meta{Actor: "ann"}, "slot "+id, "t"))
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				db, err := sql.Open("pgx", dsn)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { db.Close() })
				begin := func() *sql.Tx {
					tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
					if err == nil {
						_, err = tx.Exec(`SELECT count(*) FROM "parcel"`) // the snapshot is taken
					}
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = tx.Rollback() })
					return tx
				}
				shelve := func(tx *sql.Tx, id string) error {
					m, err := d.m.In(ctx, fsm.Join(d.store, tx))
					if err == nil {
						_, err = m.Apply(ctx, fsm.Ref{ID: id}, storetest.Shelve(storetest.Meta{RequestID: "r " + id, Actor: "ann"}, "slot "+id, "t"))
					}
					return err
				}
				one, two := begin(), begin()
				if err := shelve(one, "p2"); err != nil {
					t.Fatal(err)
				}
				second := make(chan error, 1)
				if first {
					if err := one.Commit(); err != nil {
						t.Fatal(err)
					}
					second <- shelve(two, "p3")
				} else {
					go func() { second <- shelve(two, "p3") }()
					time.Sleep(200 * time.Millisecond) // it waits for the group
					if err := one.Commit(); err != nil {
						t.Fatal(err)
					}
				}
				err = <-second
				if err == nil {
					err = two.Commit()
					t.Errorf("the second one was let in; its commit: %v", err)
				}
				if !errors.Is(err, fsm.ErrBusy) || errors.Is(err, storetest.ErrLaneFull) {
					t.Errorf("got %v, want ErrBusy: it saw what was", err)
				}
				var ambiguous *fsm.AmbiguousError
				if errors.As(err, &ambiguous) {
					t.Errorf("got %v, but surely nothing was written", err)
				}
				_ = two.Rollback()
				if err := shelve(begin(), "p3"); !errors.Is(err, storetest.ErrLaneFull) {
					t.Errorf("once more: %v, want that the lane is full", err)
				}
				n := 0
				for p, err := range d.m.List(ctx, driver.Query{States: []string{"shelved"}}) {
					if err != nil {
						t.Fatal(p, err)
					}
					n++
				}
				if n != 3 {
					t.Errorf("%d parcels are in the lane, want 3", n)
				}
			})
		}
	}
}
