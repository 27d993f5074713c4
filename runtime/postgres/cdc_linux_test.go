package postgres_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// published are the tables of a machine, with an order of their rows.
var published = map[string]string{
	"fsm_meta": "machine", "parcel": "id", "parcel_events": "id, rev, n", "parcel_outbox": "id, rev, n", "parcel_groups": "name, key",
}

// Under a publication with a subscriber that applies it, calls go on, and Purge, Redact, Forget and Migrate
// work: each table has a replica identity by an index of its own. In the end the subscriber has the same
// rows, and a program that only reads finds nothing wrong with them.
func TestPublication(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "wal_level=logical")
	d := newDepot(t, server.DSN())
	run := func(db *sql.DB, text string) {
		t.Helper()
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	var bare string
	if err := d.db.QueryRow(`SELECT coalesce(string_agg(relname, ','), '') FROM pg_class AS c WHERE relkind = 'r' AND relname ~ '^(parcel|fsm_)'
		AND (relreplident = 'f' OR relreplident = 'n' OR relreplident = 'd' AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary))`).Scan(&bare); err != nil || bare != "" {
		t.Errorf("without a replica identity by an index: %s, %v", bare, err)
	}
	run(d.db, `CREATE DATABASE subscriber`)
	copied := strings.Replace(server.DSN(), "/postgres?", "/subscriber?", 1)
	there, err := sql.Open("pgx", copied)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	run(there, d.schema.SQL["postgres"])
	run(there, `DELETE FROM fsm_meta`)
	run(d.db, `CREATE PUBLICATION cdc FOR ALL TABLES`)
	run(d.db, `SELECT pg_create_logical_replication_slot('cdc', 'pgoutput')`)
	run(there, fmt.Sprintf(`CREATE SUBSCRIPTION cdc
		CONNECTION 'host=%s user=postgres dbname=postgres' PUBLICATION cdc WITH (create_slot = false)`,
		strings.TrimSuffix(server.Socket(), "/.s.PGSQL.5432")))
	defer there.Exec(`ALTER SUBSCRIPTION cdc DISABLE; ALTER SUBSCRIPTION cdc SET (slot_name = NONE); DROP SUBSCRIPTION cdc`)

	if _, err := d.m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	draw, rounds := rand.New(rand.NewPCG(36, 2)), 4
	if campaign.On() {
		rounds = 40
	}
	for round := range rounds {
		d.live(draw, round)
		erase(d, draw, round)
	}
	d.same(there)
	if _, err := d.m.Count(t.Context()); err != nil {
		t.Error(err)
	}
	store, err := postgres.Open(t.Context(), copied, postgres.WithReadOnly(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(d.schema), effects)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*fsm.Machine[storetest.Parcel]{"publisher": d.m, "subscriber": m} {
		for f, err := range audit.Run(t.Context(), m) {
			t.Errorf("audit of the %s: %v, %v", name, f, err)
		}
	}
}

// live lets some records of a round take some calls each, effects and groups among them.
func (d *depot) live(draw *rand.Rand, round int) {
	d.Helper()
	for i := range 6 {
		id := fmt.Sprintf("p%d_%d", round, i)
		out, err := d.m.Create(d.Context(), storetest.Register(storetest.Meta{RequestID: id}, storetest.RegisterInput{ID: id, Lane: id}))
		for _, call := range []fsmimpl.Call[storetest.Parcel]{
			storetest.Weigh(storetest.Meta{RequestID: "w"}, int64(i)),
			storetest.Hold(storetest.Meta{RequestID: "h", Actor: "ann"}, "a", time.Now().Add(time.Hour)),
			bill(i), storetest.Shelve(storetest.Meta{RequestID: "s"}, id, "t"), storetest.Send(storetest.Meta{RequestID: "o"}),
		}[:min(draw.IntN(6), 2+2*i)] { // the first one does not end, so it can be redacted
			if err == nil {
				out, err = d.m.Apply(d.Context(), out, call)
			}
		}
		if err != nil {
			d.Fatal(err)
		}
	}
}

// erase does in some order what changes or removes rows of the log, and delivers.
func erase(d *depot, draw *rand.Rand, round int) {
	d.Helper()
	steps := []func() error{
		func() error {
			_, _, err := audit.Redact(d.Context(), d.m, fmt.Sprintf("p%d_0", round),
				audit.RedactOptions{Fields: []string{"weight"}, Actor: "root", Reason: "asked"})
			return err
		},
		func() error {
			_, err := audit.Purge(d.Context(), d.m, audit.PurgeOptions{Before: time.Now().Add(time.Hour), Limit: 2, Actor: "root", Reason: "old"})
			return err
		},
		func() error {
			_, err := audit.Forget(d.Context(), d.m, audit.ForgetOptions{Before: time.Now().Add(time.Hour), Limit: 1})
			return err
		},
		func() error { return fsmimpl.Migrate(d.Context(), d.store, d.schema) },
		func() error { _, err := d.m.Deliver(d.Context()); return err },
	}
	for _, i := range draw.Perm(len(steps)) {
		if err := steps[i](); err != nil {
			d.Errorf("round %d, step %d: %v", round, i, err)
		}
	}
}

// same waits until a subscriber has the rows of all tables, and says what differs if it gives up.
func (d *depot) same(there *sql.DB) {
	d.Helper()
	for table, order := range published {
		query := fmt.Sprintf(`SELECT coalesce(string_agg(x::text, E'\n' ORDER BY %s), '') FROM %s AS x`, order, table)
		var want, got string
		if err := d.db.QueryRow(query).Scan(&want); err != nil {
			d.Fatal(err)
		}
		if table != "parcel_groups" && table != "parcel_outbox" && want == "" {
			d.Errorf("%s is empty", table)
		}
		for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			if err := there.QueryRow(query).Scan(&got); err != nil {
				d.Fatal(err)
			}
			if got == want {
				break
			}
			if time.Since(begun) > 30*time.Second {
				var state string
				_ = there.QueryRow(`SELECT string_agg(s::text, ' ') FROM pg_stat_subscription_stats AS s`).Scan(&state)
				d.Fatalf("the subscriber (%s) has other rows in %s:\n%s\nwant\n%s", state, table, got, want)
			}
		}
	}
}
