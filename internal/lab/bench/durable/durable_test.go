package durable

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
)

var short = measure.Turns{Rounds: 1, Turn: 20 * time.Millisecond}

// moved fails unless the records of a database have moved and each revision has its
// event: what is by hand does all of the work.
func moved(t *testing.T, driver, dsn string) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var records, revisions, events, beats int
	if err := db.QueryRow(`SELECT count(*), sum("rev") FROM "lifecycle"`).Scan(&records, &revisions); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow(`SELECT count(*), sum(CASE WHEN "operation" = 'heartbeat' THEN 1 ELSE 0 END) FROM "lifecycle_events"`).Scan(&events, &beats); err != nil {
		t.Fatal(err)
	}
	if beats == 0 || events != revisions || events != 3*records+beats {
		t.Errorf("%s: %d records, %d revisions, %d events, %d heartbeats", dsn, records, revisions, events, beats)
	}
}

// At level checks everybody's tables are without the triggers of level full, and what
// has none of them is left out.
func TestLevelChecks(t *testing.T) {
	t.Parallel()
	dir, dsn := t.TempDir(), pgtest.DSN(t)
	var names []string
	note := func(_ int, rates []measure.Rate) {
		for _, r := range rates {
			names = append(names, r.Name)
		}
	}
	if err := SQLite(t.Context(), dir, Checks, short, []int{2}, note); err != nil {
		t.Fatal(err)
	}
	if err := Postgres(t.Context(), dsn, Checks, short, []int{2}, note); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{Ours, Prepared, Grouped, Naive, Ours, CTE, Unnest, NaiveServer}, names); diff != "" {
		t.Error(diff)
	}
	for _, file := range []string{"ours.db", "hand1.db", "hand2.db", "hand3.db"} {
		at := "file:" + filepath.Join(dir, file)
		moved(t, "sqlite", at)
		triggers(t, "sqlite", at, `SELECT count(*) FROM "sqlite_master" WHERE "type" = 'trigger' AND "name" = `, "lifecycle_events_update", "lifecycle_update")
	}
	moved(t, "pgx", dsn)
	triggers(t, "pgx", dsn, `SELECT count(*) FROM pg_trigger WHERE tgname = `, "lifecycle_events_keep", "lifecycle_has_event")
}

// triggers fails unless a database has the one and lacks the other.
func triggers(t *testing.T, driver, dsn, query, has, lacks string) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, want := range map[string]int{has: 1, lacks: 0} {
		var n int
		if err := db.QueryRow(query + "'" + name + "'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != want {
			t.Errorf("%s: %d triggers %s, want %d", dsn, n, name, want)
		}
	}
}

// Every load works, with one caller and with several, and writes what it says.
func TestSQLite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seen := 0
	err := SQLite(t.Context(), dir, Full, short, []int{1, 4}, func(n int, rates []measure.Rate) {
		seen++
		for _, r := range rates {
			if r.Median() <= 0 || len(r.Each) != n {
				t.Errorf("%d callers, %s: %v a second, by %v", n, r.Name, r.Median(), r.Each)
			}
		}
		if len(rates) != 6 || rates[0].Name != Ours {
			t.Errorf("%d loads, the first is %s", len(rates), rates[0].Name)
		}
	})
	if err != nil || seen != 2 {
		t.Fatal(seen, err)
	}
	for _, file := range []string{"ours.db", "hand1.db", "hand2.db", "hand3.db"} {
		moved(t, "sqlite", "file:"+filepath.Join(dir, file))
	}
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	seen := 0
	err := Postgres(t.Context(), dsn, Full, short, []int{1, 4}, func(n int, rates []measure.Rate) {
		seen++
		for _, r := range rates {
			if r.Median() <= 0 || len(r.Each) != n {
				t.Errorf("%d callers, %s: %v a second, by %v", n, r.Name, r.Median(), r.Each)
			}
		}
	})
	if err != nil || seen != 2 {
		t.Fatal(seen, err)
	}
	moved(t, "pgx", dsn)
}

// Every job that is counted has come to its end, on both sides.
func TestRiver(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	const jobs, rounds = 200, 2
	seen := 0
	err := River(t.Context(), dsn, Full, rounds, jobs, []Form{{3, false}, {4, true}}, func(l Lives) {
		seen++
		if l.Ours.Median() <= 0 || l.River.Median() <= 0 || l.Batches != (l.Workers == 4) {
			t.Errorf("%+v", l)
		}
	})
	if err != nil || seen != 2 {
		t.Fatal(seen, err)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const all = 2 * (rounds + 1) * jobs // two numbers of workers, and a round to warm up
	for query, want := range map[string]int{
		`SELECT count(*) FROM "lifecycle" WHERE "state" = 'succeeded'`: all,
		`SELECT count(*) FROM "lifecycle"`:                             all,
		`SELECT count(*) FROM "lifecycle_events"`:                      4 * all,
		`SELECT count(*) FROM river_job WHERE state = 'completed'`:     all,
	} {
		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d, want %d (%v)", query, n, want, err)
		}
	}
}

// The group commit by hand writes each job once and hands errors to all of a batch.
func TestGatherer(t *testing.T) {
	t.Parallel()
	written := map[*Job]int{}
	g := newGatherer(func(jobs []*Job) error {
		for _, j := range jobs {
			written[j]++
		}
		if len(jobs) > 128 {
			t.Errorf("a batch of %d", len(jobs))
		}
		return context.Canceled
	})
	jobs := make([]*Job, 300)
	answers := make(chan error, len(jobs))
	for i := range jobs {
		jobs[i] = &Job{}
		go func() { answers <- g.do(jobs[i]) }()
	}
	for range jobs {
		if err := <-answers; err != context.Canceled {
			t.Error(err)
		}
	}
	g.stop()
	for _, j := range jobs {
		if written[j] != 1 {
			t.Errorf("a job was written %d times", written[j])
		}
	}
}
