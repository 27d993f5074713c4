package postgres_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// A pick whose write waits until its lease is over is refused, although COMMIT goes with the write.
func TestALeaseEndsWhileTheWriteWaits(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	m, _ := parcels(t, dsn)
	if _, err := registerIn(t.Context(), m, "a", "lane"); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(`LOCK TABLE "parcel_events" IN EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	due, heard := time.Now().Add(300*time.Millisecond), make(chan error)
	go func() {
		_, err := m.Pick(t.Context(), 1, storetest.Hold(storetest.Meta{Actor: "w"}, "lane", due))
		heard <- err
	}()
	time.Sleep(time.Until(due.Add(100 * time.Millisecond)))
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	var refused *fsm.Refusal
	if err := <-heard; !errors.As(err, &refused) || refused.Code != fsm.ErrInvalidInput || refused.Name != "due" {
		t.Errorf("%v; want that the lease went by", err)
	}
}
