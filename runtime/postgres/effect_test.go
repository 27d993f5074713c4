package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// An effect whose statement meets another writer is run again in a new
// transaction, as the store's own statements are; any other error is the
// effect's.
func TestEffectMeetsAnother(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, err := postgres.Open(ctx, pgtest.DSN(t), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	if err := fsmimpl.Migrate(ctx, store, schema); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		state string
		times int // that the effect meets the error
		again bool
	}{
		{"40001", 3, true}, {"40P01", 1, true}, {"55P03", 2, true}, {"40001", 1000, false},
		{"57014", 1, false}, {"22012", 1, false}, {"23505", 1, false},
	} {
		calls := 0
		mine := maps.Clone(effects)
		mine["charge"] = func(ctx context.Context, tx fsm.Tx, _ storetest.Parcel, _ string, _ fsm.Event) error {
			if calls++; calls > c.times {
				return nil
			}
			_, err := store.Transaction(tx).ExecContext(ctx, fmt.Sprintf(`DO $$ BEGIN RAISE EXCEPTION 'met' USING ERRCODE = '%s'; END $$`, c.state))
			return err
		}
		m, err := fsm.NewMachine(ctx, store, storetest.Descriptor(schema), mine)
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("p%s-%d", c.state, c.times)
		p, err := m.Create(ctx, storetest.Register(storetest.Meta{Actor: "w", RequestID: id}, storetest.RegisterInput{ID: id, Lane: id}))
		if err != nil {
			t.Fatal(err)
		}
		out, err := m.Apply(ctx, p, storetest.Bill(storetest.Meta{Actor: "w", RequestID: "bill"}))
		var failed *fsm.EffectError
		switch {
		case c.again && (err != nil || calls != c.times+1 || out.Record.Rev != 2):
			t.Errorf("%s: %v at revision %d after %d calls; want the step after %d", c.state, err, out.Record.Rev, calls, c.times+1)
		case !c.again && !errors.As(err, &failed):
			t.Errorf("%s: got %v, want the effect's error", c.state, err)
		case !c.again && c.times == 1 && calls != 1:
			t.Errorf("%s: the effect ran %d times, want once", c.state, calls)
		}
	}
}

// An effect that ends the engine's transaction by a text is told so, and nothing is told to be done that is not.
func TestEffectEndsTheTransaction(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, err := postgres.Open(ctx, pgtest.DSN(t), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	if err := fsmimpl.Migrate(ctx, store, schema); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"ROLLBACK", "COMMIT"} {
		calls := 0
		mine := maps.Clone(effects)
		mine["charge"] = func(ctx context.Context, tx fsm.Tx, _ storetest.Parcel, _ string, _ fsm.Event) error {
			calls++
			_, err := store.Transaction(tx).ExecContext(ctx, text)
			return err
		}
		m, err := fsm.NewMachine(ctx, store, storetest.Descriptor(schema), mine)
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Create(ctx, storetest.Register(storetest.Meta{Actor: "w", RequestID: text}, storetest.RegisterInput{ID: text, Lane: text}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Apply(ctx, p, storetest.Bill(storetest.Meta{Actor: "w", RequestID: "bill"}))
		if failed := (*fsm.EffectError)(nil); !errors.As(err, &failed) || calls != 1 {
			t.Errorf("%s: got %v after %d calls, want that the effect has ended the transaction", text, err, calls)
		}
		if now, err := m.Record(ctx, text); text == "ROLLBACK" && (err != nil || now.Rev != 1) {
			t.Errorf("%s: revision %d, %v", text, now.Rev, err)
		}
		if err := m.Engine().Table.Check(ctx); err != nil { // the session is of use
			t.Error(err)
		}
	}
}
