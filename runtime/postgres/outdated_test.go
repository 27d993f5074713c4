package postgres_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// A migration of another session changes the type of a column while all sessions of the store have their
// statements prepared: what writes goes on, and what reads goes on or may be called again.
func TestMigrationBesidePrepared(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), pgtest.DSN(t)
	store, err := postgres.Open(ctx, server, quiet, postgres.WithEnforce("none")) // a trigger would keep its columns' types
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	if err := fsmimpl.Migrate(ctx, store, schema); err != nil {
		t.Fatal(err)
	}
	m, err := fsm.NewMachine(ctx, store, storetest.Descriptor(schema), effects)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	step := func(id string) {
		t.Helper()
		if _, err := registerIn(ctx, m, id, "l"); err != nil {
			t.Fatalf("register %s: %v", id, err)
		}
		outs, err := m.Pick(ctx, 1, storetest.Hold(storetest.Meta{Actor: "w", RequestID: "hold " + id}, "l", time.Now().Add(time.Hour)))
		if err != nil || len(outs) != 1 {
			t.Fatalf("hold %s: %d, %v", id, len(outs), err)
		}
		touch := storetest.Touch(storetest.Meta{Actor: "w", RequestID: "touch " + id}, time.Now().Add(2*time.Hour))
		if _, err = m.Apply(ctx, outs[0], touch); err != nil {
			t.Fatalf("touch %s: %v", id, err)
		}
	}
	read := func(id string) error {
		_, err := m.Record(ctx, id)
		return err
	}
	step("p1")
	if err := read("p1"); err != nil {
		t.Fatal(err)
	}
	alter := func(column, to string) {
		t.Helper()
		if _, err := db.ExecContext(ctx, `ALTER TABLE "parcel" ALTER "`+column+`" TYPE `+to+` COLLATE "C"`); err != nil {
			t.Fatal(err)
		}
	}
	for i, to := range []string{"varchar", "text"} {
		alter("holder", to)
		step([]string{"p2", "p3"}[i])
		alter("slot", to)
		err := read("p1")
		for range 8 { // sessions
			if errors.Is(err, fsm.ErrBusy) {
				err = read("p1")
			}
		}
		if err != nil {
			t.Errorf("slot is a %s: %v", to, err)
		}
	}
}

// A transaction that an effect ends writes nothing more.
func TestEffectEndsTransaction(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	if _, err := registerIn(t.Context(), d.m, "p1", "l"); err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(t.Context(), d.dsn, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	table, err := store.Table(d.schema)
	if err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(tx *sql.Tx) error{
		"a statement":  func(tx *sql.Tx) error { _, err := tx.Exec("ROLLBACK"); return err },
		"database/sql": func(tx *sql.Tx) error { return tx.Rollback() },
	} {
		err := table.Update(t.Context(), func(tx driver.Tx) error {
			if _, err := tx.Row("p1"); err != nil {
				return err
			}
			if err := end(store.Transaction(tx)); err != nil {
				t.Fatal(err)
			}
			_, err := tx.Row("p1")
			return err
		})
		if !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("ended by %s: got %v, want %v", name, err, sql.ErrTxDone)
		}
		if _, err := d.m.Record(t.Context(), "p1"); err != nil {
			t.Error(err)
		}
	}
}
