package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// A log on a server that an older fsmgen made gets its chain when it is migrated,
// and is append-only again afterwards.
func TestOlderPostgresLogGetsItsChain(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "gen", "testdata", "schema", "parcel.postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", pgtest.DSN(t)+"&search_path=older")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE SCHEMA older"); err != nil {
		t.Fatal(err)
	}
	store, err := New(db, Postgres(WithLogger(slog.New(slog.DiscardHandler))), WithRelease(db.Close))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx := t.Context()
	s := storetest.Schema()
	s.SQL = map[string]string{"postgres": string(text)}
	none := func(context.Context, driver.Tx, storetest.Parcel, string, driver.Event) error { return nil }
	open := func() (*fsm.Machine[storetest.Parcel], error) {
		return fsm.NewMachine(ctx, store, storetest.Descriptor(s),
			map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": none, "carry": none, "notify": none})
	}
	if err := fsmimpl.Migrate(ctx, store, s); err != nil {
		t.Fatal(err)
	}
	m, err := open()
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Create(ctx, storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: "p1", Lane: "a"}))
	if err != nil {
		t.Fatal(err)
	}
	if out, err = m.Apply(ctx, out, storetest.Hold(storetest.Meta{Actor: "ann"}, "a", time.Now().Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	if _, err = m.Apply(ctx, out, storetest.Touch(storetest.Meta{Actor: "eve"}, time.Now())); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`ALTER TABLE "parcel_events" DROP COLUMN "chain" CASCADE`); err != nil {
		t.Fatal(err)
	}
	if _, err := open(); !errors.Is(err, fsm.ErrSchemaMismatch) {
		t.Fatalf("an older log was taken: %v", err)
	}
	if err := fsmimpl.Migrate(ctx, store, s); err != nil {
		t.Fatal(err)
	}
	if m, err = open(); err != nil {
		t.Fatal(err)
	}
	for f, err := range audit.Run(ctx, m) {
		t.Errorf("audit: %v, %v", f, err)
	}
	chained := 0
	for e, err := range m.History(ctx, "p1") {
		if err == nil && e.Chain != 0 {
			chained++
		}
	}
	if chained != 3 {
		t.Errorf("%d events are chained, want 3", chained)
	}
	if _, err := db.Exec(`UPDATE "parcel_events" SET "actor" = 'eve'`); err == nil {
		t.Error("the log is no longer append-only")
	}
	if _, err := m.Apply(ctx, out, storetest.Touch(storetest.Meta{Actor: "ann"}, time.Now())); err != nil {
		t.Error(err)
	}
}
