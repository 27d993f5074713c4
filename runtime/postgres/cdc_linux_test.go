package postgres_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// Under a publication of all tables, calls go on, Purge and Redact work, and Migrate settles the replica
// identity of a log that an older fsmgen made, without another index.
func TestPublication(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "wal_level=logical")
	d := newDepot(t, server.DSN())
	run := func(db *sql.DB, text string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	run(d.db, `ALTER TABLE parcel_events REPLICA IDENTITY DEFAULT; CREATE PUBLICATION dbz FOR ALL TABLES`)
	var indexes string
	const which = `SELECT string_agg(indexrelid::regclass::text, ',' ORDER BY indexrelid) FROM pg_index WHERE indrelid::regclass::text LIKE 'parcel%'`
	if err := d.db.QueryRow(which).Scan(&indexes); err != nil {
		t.Fatal(err)
	}
	if err := fsmimpl.Migrate(t.Context(), d.store, d.schema); err != nil {
		t.Fatal(err)
	}
	var bare, after string
	if err := d.db.QueryRow(which).Scan(&after); err != nil || after != indexes {
		t.Errorf("the indexes are %s, were %s, %v", after, indexes, err)
	}
	if err := d.db.QueryRow(`SELECT coalesce(string_agg(relname, ','), '') FROM pg_class AS c WHERE relkind = 'r' AND relname ~ '^(parcel|fsm_)'
		AND (relreplident = 'f' OR relreplident = 'n' OR relreplident = 'd' AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary))`).Scan(&bare); err != nil || bare != "" {
		t.Errorf("without a replica identity by an index: %s, %v", bare, err)
	}
	for i := range 6 {
		id := fmt.Sprint("p", i)
		out, err := d.m.Create(t.Context(), storetest.Register(storetest.Meta{RequestID: id}, storetest.RegisterInput{ID: id, Lane: "a"}))
		for _, call := range []fsmimpl.Call[storetest.Parcel]{
			storetest.Weigh(storetest.Meta{RequestID: "w"}, int64(i)), storetest.Hold(storetest.Meta{RequestID: "h", Actor: "ann"}, "a", time.Now().Add(time.Hour)),
			storetest.Shelve(storetest.Meta{RequestID: "s"}, id, "t"), storetest.Send(storetest.Meta{RequestID: "o"}),
		} {
			if err == nil {
				out, err = d.m.Apply(t.Context(), out, call)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.m.Deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := audit.Redact(t.Context(), d.m, "p0", audit.RedactOptions{Fields: []string{"weight"}, Actor: "root", Reason: "asked"}); err != nil {
		t.Errorf("Redact: %v", err)
	}
	if n, err := audit.Purge(t.Context(), d.m, audit.PurgeOptions{Before: time.Now().Add(time.Hour), Limit: 3, Actor: "root", Reason: "old"}); err != nil || n != 3 {
		t.Errorf("Purge: %d, %v", n, err)
	}
	if err := fsmimpl.Migrate(t.Context(), d.store, d.schema); err != nil {
		t.Errorf("Migrate: %v", err)
	}
	if _, err := d.m.Count(t.Context()); err != nil {
		t.Error(err)
	}
	for f, err := range audit.Run(t.Context(), d.m) {
		t.Errorf("audit: %v, %v", f, err)
	}
}
