package sqlstore

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The plan that a server keeps for the statement of a batch finds each record by an
// index, although it was made when the table was empty, and depends on no batch.
func TestPlansOfBatches(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join("..", "..", "gen", "testdata", "schema", "parcel.postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, text := range []string{string(script), "SET plan_cache_mode = force_generic_plan"} {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	tab := parcels(t, Postgres())
	tab.keep(func(string) bool { return true })
	tab.build()
	send := func(id string) *driver.Write {
		return parcelStep(id, func(w *driver.Write) {
			w.Old, w.Leave = &driver.Row{Values: make([]any, len(tab.schema.Columns)), Chain: 1}, true
			w.Outbox = []driver.Delivery{{ID: id, Rev: w.Row.Rev}}
		})
	}
	for name, writes := range map[string][]*driver.Write{
		"moves":     {send("a"), send("b"), send("c")},
		"takes":     {send("a"), send("b"), send("c")},
		"creations": moves(true, "a", "b", "c"),
	} {
		for _, w := range writes {
			w.Row.Values = make([]any, len(tab.schema.Columns))
		}
		text, args := tab.writing(false, writes...)
		if name == "takes" {
			text, args = tab.taking(true, writes, time.Minute)
		}
		_, err = conn.ExecContext(t.Context(), "PREPARE "+name+" AS "+text)
		if err != nil {
			t.Fatal(err)
		}
		nulls := strings.TrimSuffix(strings.Repeat("NULL, ", len(args)), ", ")
		rows, err := conn.QueryContext(t.Context(), fmt.Sprintf("EXPLAIN EXECUTE %s(%s)", name, nulls))
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, line)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(plan, "\n")
		if strings.Contains(all, "Seq Scan") || strings.Contains(all, "Hash") || !strings.Contains(all, "Index") || !strings.Contains(all, "Limit") {
			t.Errorf("%s: the plan reads what it need not:\n%s", name, all)
		}
	}
}

// Tombstones are found by the index of purges, in a log of many events that are none.
func TestPlanOfTombstones(t *testing.T) {
	t.Parallel()
	s, texts := looseParcels(t)
	tab := parcels(t, Postgres())
	if _, err := s.conn.ExecContext(t.Context(), `ALTER TABLE parcel_events DISABLE TRIGGER USER; INSERT INTO parcel_events
		("id", "rev", "n", "operation", "name", "to_state", "occurred_at", "actor", "reason", "request_n", "fingerprint", "version", "checksum", "chain")
		SELECT 'p' || i, 1, 0, 'register', 'register', 'waiting', now(), '', '', -1, '', 1, 0, 0 FROM generate_series(1, 5000) AS i;
		ANALYZE parcel_events; SET plan_cache_mode = force_generic_plan; PREPARE buried AS `+tab.text("tombstones")); err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(texts("EXPLAIN EXECUTE buried('p', now(), 10)"), "\n")
	if !strings.Contains(plan, "parcel_events_purged") || strings.Contains(plan, "Seq Scan on parcel_events") || strings.Contains(plan, "Sort") {
		t.Errorf("the plan:\n%s", plan)
	}
}

// A session plans a claim once, although the table is empty then, and walks its index.
func TestPlanOfClaims(t *testing.T) {
	t.Parallel()
	s, texts := looseParcels(t)
	tab := parcels(t, Postgres())
	tab.keep(func(column string) bool { return column == "_in_waiting" })
	claim, err := tab.selectRows(&driver.Query{States: []string{"waiting"}, Limit: 2, Lock: true, Order: []driver.Order{{Column: "lane"}, {Column: "weight", Descending: true}}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(text string) {
		t.Helper()
		if _, err := s.conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	run("PREPARE claim AS " + claim.String() + tab.dialect.lock())
	for _, fill := range []string{"SELECT", `ALTER TABLE parcel DISABLE TRIGGER USER; INSERT INTO parcel ("id", "state", "rev", "created_at", "updated_at", "lane", "weight", "tags", "moves", "_in_waiting")
		SELECT 'p' || i, 'waiting', 1, now(), now(), 'l' || i % 7, i, '[]', 0, true FROM generate_series(1, 5000) AS i`, "ANALYZE parcel"} {
		run(fill)
		for range 10 {
			run("EXECUTE claim")
		}
		plan := strings.Join(texts("EXPLAIN EXECUTE claim"), "\n")
		if !strings.Contains(plan, "parcel_next_hold") || strings.Contains(plan, "Sort") {
			t.Errorf("after %.20s:\n%s", fill, plan)
		}
	}
	if planned := texts("SELECT custom_plans::text FROM pg_prepared_statements WHERE name = 'claim'"); len(planned) != 1 || planned[0] != "0" {
		t.Errorf("planned anew %v times, want none", planned)
	}
}

// A session keeps its plan of a claim. Made in a calm hour, when only a few records of the
// lane wait, it walks the index all the same, and does not sort what waits later.
func TestPlanOfClaimsInCalm(t *testing.T) {
	t.Parallel()
	s, texts := looseParcels(t)
	tab := parcels(t, Postgres())
	tab.keep(func(column string) bool { return column == "_in_waiting" })
	claim, err := tab.selectRows(&driver.Query{States: []string{"waiting"}, Limit: 8, Lock: true,
		Where: []driver.Cond{{Column: "lane", Op: driver.OpEq, Value: "l1"}}, Order: []driver.Order{{Column: "weight", Descending: true}}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(text string) {
		t.Helper()
		if _, err := s.conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	run("ALTER TABLE parcel DISABLE TRIGGER USER; SET plan_cache_mode = force_generic_plan")
	d := Postgres(WithLogger(slog.New(slog.DiscardHandler))).(*postgres)
	d.met.Store(true)
	if err := d.settings(t.Context(), s, forStore, nil); err != nil {
		t.Fatal(err)
	}
	for _, all := range []int{300, 1000, 3000, 10000} { // a table of a few pages is read whole
		for _, waiting := range []int{0, 1, 2, 4, 8, 16} { // in each lane
			run(fmt.Sprintf(`TRUNCATE parcel; INSERT INTO parcel ("id", "state", "rev", "created_at", "updated_at", "lane", "weight", "tags", "moves", "_in_waiting")
				SELECT md5(i::text), CASE WHEN waits THEN 'waiting' ELSE 'sent' END, 1, now(), now(), 'l' || i %% 5, hashint4(i), '[]', 0, waits
				FROM (SELECT i, i > %d AS waits FROM generate_series(1, %d) AS i) AS x`, all, all+5*waiting))
			for _, when := range []string{"VACUUM parcel", "ANALYZE parcel"} {
				run(when)
				run("PREPARE claim AS " + claim.String() + tab.dialect.lock())
				plan := strings.Join(texts("EXPLAIN EXECUTE claim('l1')"), "\n")
				if !strings.Contains(plan, "parcel_next_hold") || strings.Contains(plan, "Sort") {
					t.Errorf("%d of %d wait in each lane, %s:\n%s", waiting, all, when, plan)
				}
				run("DEALLOCATE claim")
			}
		}
	}
}

// The sweeper finds what is due after a time and a length that a field holds by the index over
// both, which the generated schema has in the same words, in a plan for every call too.
func TestPlanOfDeadlinesWithALength(t *testing.T) {
	t.Parallel()
	s, texts := looseParcels(t)
	tab := parcels(t, Postgres())
	tab.keep(func(column string) bool { return column == "_in_held" })
	due, err := tab.selectRows(&driver.Query{States: []string{"held"}, Limit: 1000, Order: []driver.Order{{Column: "due", By: "weight"}},
		Where: []driver.Cond{{Column: "due", By: "weight", Op: driver.OpLe, Value: time.UnixMicro(0)}}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(text string) {
		t.Helper()
		if _, err := s.conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	run(`CREATE INDEX "parcel_due_late" ON "parcel" (` + tab.dialect.later(`"due"`, `"weight"`) + `) WHERE "_in_held"`)
	run("PREPARE due AS " + due.String())
	for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
		run("SET plan_cache_mode = " + mode)
		for _, fill := range []string{"SELECT", `ALTER TABLE parcel DISABLE TRIGGER USER; TRUNCATE parcel;
			INSERT INTO parcel ("id", "state", "rev", "created_at", "updated_at", "lane", "weight", "holder", "due", "tags", "moves", "_in_held")
			SELECT 'p' || i, 'held', 1, now(), now(), 'l', i, 'h', now() + i * interval '1 hour', '[]', 0, true
			FROM generate_series(1, 20000) AS i`, "ANALYZE parcel"} {
			run(fill)
			plan := strings.Join(texts("EXPLAIN EXECUTE due(now() - interval '1 day', 1000)"), "\n")
			if !strings.Contains(plan, "parcel_due_late") {
				t.Errorf("%s, after %.20s:\n%s", mode, fill, plan)
			}
		}
	}
}

// What reads the log of all records in parts, and what looks whether it is whole, reads no more of it than its part, in a
// plan that is kept: also within one transaction of many events, and whether or not there are statistics.
func TestPlansOfTheLog(t *testing.T) {
	t.Parallel()
	s, texts := looseParcels(t)
	tab := parcels(t, Postgres())
	run := func(text string) {
		t.Helper()
		if _, err := s.conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	const events = `ALTER TABLE parcel_events DISABLE TRIGGER USER; INSERT INTO parcel_events ("id", "rev", "n",
		"operation", "name", "to_state", "occurred_at", "actor", "reason", "request_n", "fingerprint", "version", "checksum", "chain")
		SELECT 'p' || lpad(i::text, 6, '0'), 1, 0, 'register', 'register', 'waiting', now(), '', '', -1, '', 1, 0, 0
		FROM generate_series(1, 20000) AS i`
	const rows = `ALTER TABLE parcel DISABLE TRIGGER USER; INSERT INTO parcel
		("id", "state", "rev", "created_at", "updated_at", "lane", "weight", "tags", "moves")
		SELECT 'p' || lpad(i::text, 6, '0'), 'waiting', 1, now(), now(), 'l', i, '[]', 0 FROM generate_series(1, 20000) AS i`
	run(events + "; " + rows)
	for _, fill := range []string{"SELECT", "ANALYZE parcel_events; ANALYZE parcel"} {
		run(fill + "; SET plan_cache_mode = force_generic_plan")
		place := texts(`SELECT min("xid"::text) FROM parcel_events`)[0]
		for query, args := range map[string]string{
			"log":           "'" + place + "', 'p010000', 1, 0, 50",
			"log_newest":    "'" + place + "', 'p010000', 1, 0, 50",
			"log_is_ahead":  "'" + place + "'",
			"orphans":       "'p010000', 'p010100', 50",
			"logged_behind": "'p010000', 99",
		} {
			run("PREPARE part AS " + tab.text(query))
			plan := strings.Join(texts("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE part("+args+")"), "\n")
			run("DEALLOCATE part")
			read := 0
			for _, m := range regexp.MustCompile(`(?m)^(?:  )?Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?`).FindAllStringSubmatch(plan, 1) {
				hit, _ := strconv.Atoi("0" + m[1])
				other, _ := strconv.Atoi("0" + m[2])
				read = hit + other
			}
			most := 50
			if query == "orphans" { // three pages for each id
				most = 600
			}
			if read == 0 || read > most || strings.Contains(plan, "Seq Scan") {
				t.Errorf("%s, after %s: %d pages are read:\n%s", query, fill, read, plan)
			}
		}
	}
}
