package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
)

// holder is one that the server keeps something for.
type holder struct {
	what string // in the documented query
	log  bool   // it holds the log back
	// take begins it, and returns its name and what ends it.
	take func(name string) (string, func())
}

// order is a rank: a slot is made when all older transactions have ended.
func (h *holder) order() int {
	if i := slices.Index([]string{"replication slot", "standby"}, h.what); i >= 0 {
		return i
	}
	return 2
}

// sessionOf runs a statement in a transaction and keeps it open.
func sessionOf(t *testing.T, db *sql.DB, text string) (pid string, end func()) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err == nil {
		err = tx.QueryRow(`SELECT pg_backend_pid()::text || substr((` + text + `)::text, 1, 0)`).Scan(&pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pid, func() { tx.Rollback() }
}

// documented is the query that a page shows under a title.
func documented(t *testing.T, page, title string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\n## "+title+"\n")
	_, after, _ = strings.Cut(after, "```sql postgres only\n")
	query, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatalf("%s shows no query under %q", page, title)
	}
	return query
}

// Whatever holds something back is in the documented query, which says what: the log, or other things
// only. The observer of a reader is told the oldest one of those that hold the log.
func TestWhatHoldsTheLogBackIsNamed(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "wal_level=logical", "max_prepared_transactions=20", "hot_standby_feedback=on", "wal_receiver_status_interval=1")
	d := newDepot(t, server.DSN())
	open := func(dsn string) *sql.DB {
		db, err := sql.Open("pgx", dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	run := func(db *sql.DB, text string) {
		t.Helper()
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	until := func(text string) {
		t.Helper()
		for done := false; !done; {
			if err := d.db.QueryRow(`SELECT (` + text + `) FROM pg_sleep(0.005)`).Scan(&done); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(d.db, `CREATE DATABASE neighbour`)
	other := open(strings.Replace(server.DSN(), "/postgres?", "/neighbour?", 1))
	var kinds []holder
	for _, db := range []*sql.DB{d.db, other} {
		kinds = append(kinds,
			holder{"session", true, func(string) (string, func()) { return sessionOf(t, db, `SELECT pg_current_xact_id()`) }},
			holder{"session", false, func(string) (string, func()) { return sessionOf(t, db, `SELECT count(*) FROM pg_class`) }},
			holder{"prepared transaction", true, func(name string) (string, func()) {
				run(db, `BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION '`+name+`'`)
				return name, func() { run(db, `ROLLBACK PREPARED '`+name+`'`) }
			}},
		)
	}
	drop := func(name string) func() {
		return func() { run(d.db, `SELECT pg_drop_replication_slot('`+name+`')`) }
	}
	kinds = append(kinds,
		holder{"replication slot", false, func(name string) (string, func()) {
			run(d.db, `SELECT pg_create_logical_replication_slot('`+name+`', 'pgoutput')`)
			return name, drop(name)
		}},
		holder{"replication slot", false, func(name string) (string, func()) {
			run(d.db, `SELECT pg_create_physical_replication_slot('`+name+`', true)`)
			return name, drop(name)
		}},
	)
	if campaign.On() {
		follower := server.Follower(t)
		there := open(follower.DSN())
		kinds = append(kinds, holder{"standby", false, func(string) (string, func()) {
			_, end := sessionOf(t, there, `SELECT count(*) FROM pg_class`)
			until(`EXISTS (SELECT FROM pg_stat_replication WHERE backend_xmin IS NOT NULL)`)
			return "follower", end
		}}, holder{"replication slot", false, func(name string) (string, func()) {
			run(d.db, `SELECT pg_create_physical_replication_slot('`+name+`', true)`)
			run(there, `ALTER SYSTEM SET primary_slot_name = '`+name+`'`)
			run(there, `SELECT pg_reload_conf()`)
			_, end := sessionOf(t, there, `SELECT count(*) FROM pg_class`)
			until(`EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '` + name + `' AND xmin IS NOT NULL)`)
			return name, func() {
				end()
				run(there, `ALTER SYSTEM RESET primary_slot_name`)
				run(there, `SELECT pg_reload_conf()`)
				until(`NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '` + name + `' AND active)`)
				drop(name)()
			}
		}})
	}
	query := documented(t, "queries.md", "What holds the log back?")
	var cursor fsm.Cursor
	draw := rand.New(rand.NewPCG(36, 3))
	rounds := len(kinds) + 2
	if campaign.On() {
		rounds += 40
	}
	for round := range rounds {
		chosen := draw.Perm(len(kinds))[:1+draw.IntN(4)]
		if round < len(kinds) {
			chosen = []int{round}
		}
		chosen = slices.DeleteFunc(chosen, func(i int) bool { // a standby tells one of the two
			return kinds[i].what == "standby" && slices.Contains(chosen, i+1)
		})
		slices.SortFunc(chosen, func(a, b int) int { return kinds[a].order() - kinds[b].order() })
		var holds string // the oldest one that holds the log
		var ends []func()
		names := map[string]holder{}
		for _, i := range chosen {
			name, end := kinds[i].take(fmt.Sprintf("h_%d_%d", round, i))
			ends, names[kinds[i].what+" "+name] = append(ends, end), kinds[i]
			if kinds[i].log && holds == "" {
				holds = name
			}
		}
		if _, err := d.m.Create(t.Context(), register(fmt.Sprint("r", round))); err != nil {
			t.Fatal(err)
		}
		var seen fsm.Observation
		m, err := fsm.NewMachine(t.Context(), d.store, storetest.Descriptor(d.schema), effects,
			fsm.WithObserver(func(ctx context.Context, call fsm.Observed) (context.Context, func(fsm.Observation)) {
				return ctx, func(o fsm.Observation) {
					if call.Log {
						seen = o
					}
				}
			}))
		if err != nil {
			t.Fatal(err)
		}
		if holds != "" {
			for e, err := range m.Log(t.Context(), cursor) {
				t.Errorf("round %d: %v, %v is read although %v hold the log back", round, e.Ref(), err, names)
			}
			if seen.Lag <= 0 || !strings.Contains(seen.HeldBy, holds) {
				t.Errorf("round %d: the observer is told %v by %q, want %s", round, seen.Lag, seen.HeldBy, holds)
			}
		} else {
			for range m.Log(t.Context(), cursor) { // to its end, for health
			}
			d.log(&cursor, 1)
		}
		if h := audit.HealthOf(m); h.Lag > 0 != (holds != "") || !strings.Contains(h.HeldBy, holds) {
			t.Errorf("round %d: health tells %v by %q, want %q", round, h.Lag, h.HeldBy, holds)
		}
		shown := heldBack(t, d.db, query)
		for name, h := range names {
			if what, found := shown[name]; !found || strings.Contains(what, "log,") != h.log || what == "" {
				t.Errorf("round %d: the documented query says that %s holds %q; it holds the log: %v", round, name, what, h.log)
			}
		}
		draw.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
		for _, end := range ends {
			end()
		}
		if holds != "" {
			d.log(&cursor, 1)
		}
	}
}

// heldBack returns what the documented query says, by what holds and its name.
func heldBack(t *testing.T, db *sql.DB, query string) map[string]string {
	t.Helper()
	rows, err := db.Query(`SELECT what || ' ' || name, holds FROM (` + strings.TrimSuffix(strings.TrimSpace(query), ";") + `) AS q`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name, holds string
		if err := rows.Scan(&name, &holds); err != nil {
			t.Fatal(err)
		}
		found[name] = holds
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}
