package postgres_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// A standby takes no writes, so it is refused when the store is opened and not at
// the first transition.
func TestStandbyIsRefused(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t)
	standby := primary.Standby(t)
	store, err := postgres.Open(t.Context(), standby.DSN(), quiet)
	if err == nil {
		store.Close()
		t.Fatal("a standby was opened")
	}
	if !strings.Contains(err.Error(), "pg_is_in_recovery") || !strings.Contains(err.Error(), "primary") {
		t.Errorf("got %v, want a word about the primary", err)
	}
	if store, err = postgres.Open(t.Context(), primary.DSN(), quiet); err != nil {
		t.Fatalf("the primary: %v", err)
	}
	store.Close()
}

// A role whose synchronous_commit is off loses what was acknowledged when the
// server crashes. The store raises the setting for its sessions and loses nothing;
// the sessions beside it, which leave it as it is, do lose.
func TestSynchronousCommitIsRaised(t *testing.T) {
	if testing.Short() {
		t.Skip("crashes a server; run without -short")
	}
	t.Parallel()
	server := pgtest.Start(t)
	db, err := sql.Open("pgx", server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		"ALTER ROLE postgres SET synchronous_commit = off",
		"ALTER SYSTEM SET wal_writer_delay = '10s'", // so that a crash meets something in memory
		"SELECT pg_reload_conf()",
		"CREATE TABLE raw (id text PRIMARY KEY)",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
	m, _ := parcels(t, server.DSN())
	lost := 0
	for round := range 60 { // on a slow machine a flush may come in time
		if lost > 0 && round > 2 {
			break
		}
		raw, err := sql.Open("pgx", server.DSN())
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var kept, loose []string
		stop := make(chan struct{})
		var group sync.WaitGroup
		for w := range 3 {
			group.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					id := fmt.Sprintf("%d-%d-%d", round, w, i)
					if i%20 == 0 { // seldom: a flush of the store's takes the others' along
						if _, err := makeParcel(t.Context(), m, id); err == nil {
							mu.Lock()
							kept = append(kept, id)
							mu.Unlock()
						}
					}
					if _, err := raw.Exec("INSERT INTO raw VALUES ($1)", id); err == nil {
						mu.Lock()
						loose = append(loose, id)
						mu.Unlock()
					}
				}
			})
		}
		time.Sleep(300 * time.Millisecond)
		both := func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(kept) > 0 && len(loose) > 0
		}
		for until := time.Now().Add(time.Minute); !both() && time.Now().Before(until); {
			time.Sleep(10 * time.Millisecond)
		}
		if err := server.Crash(); err != nil {
			t.Error(err)
		}
		time.Sleep(50 * time.Millisecond)
		close(stop)
		group.Wait()
		raw.Close()
		raw, err = sql.Open("pgx", server.DSN())
		if err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		for range 200 {
			if err = raw.Ping(); err == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		rows, err := raw.Query("SELECT id FROM raw UNION ALL SELECT 'parcel ' || id FROM parcel")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			there[id] = true
		}
		if err := errors.Join(rows.Err(), rows.Close(), raw.Close()); err != nil {
			t.Fatal(err)
		}
		for _, id := range kept {
			if !there["parcel "+id] {
				t.Errorf("round %d: %s was acknowledged and is lost", round, id)
			}
		}
		for _, id := range loose {
			if !there[id] {
				lost++
			}
		}
		if len(kept) == 0 || len(loose) == 0 {
			t.Errorf("round %d: %d and %d acknowledged: the round shows nothing", round, len(kept), len(loose))
		}
	}
	if lost == 0 {
		t.Error("the sessions with synchronous_commit=off lost nothing: the test shows nothing")
	}
	t.Logf("the control lost %d, the store nothing", lost)
}

// Many who ask for the next record share none and pass over those that another
// transaction has locked; who finds none but locked ones waits for their end.
func TestNextPassesOverLockedRecords(t *testing.T) {
	t.Parallel()
	const callers = 32
	dsn := pgtest.DSN(t)
	m, _ := parcels(t, dsn, postgres.WithMaxSessions(callers))
	for i := range callers + 1 {
		if _, err := makeParcel(t.Context(), m, fmt.Sprintf("p%02d", i)); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var first string
	if err := tx.QueryRow(`SELECT id FROM parcel WHERE state = 'waiting' ORDER BY id LIMIT 1 FOR UPDATE`).Scan(&first); err != nil {
		t.Fatal(err)
	}
	pick := func(i int) (string, error) {
		outs, err := m.Pick(t.Context(), 1, storetest.Hold(storetest.Meta{Actor: fmt.Sprint("w", i), RequestID: fmt.Sprint("r", i)}, "a", time.Now().Add(time.Hour)))
		if err != nil {
			return "", err
		}
		return outs[0].Record.ID, nil
	}
	var mu sync.Mutex
	holders := map[string]int{}
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			id, err := pick(i)
			mu.Lock()
			defer mu.Unlock()
			if other, taken := holders[id]; err != nil || taken || id == first {
				t.Errorf("caller %d: got %q, which caller %d has, %v", i, id, other, err)
			}
			holders[id] = i
		})
	}
	group.Wait()
	answer := make(chan string, 1)
	go func() {
		id, err := pick(callers)
		if err != nil {
			id = err.Error()
		}
		answer <- id
	}()
	select {
	case id := <-answer:
		t.Errorf("got %q while the last record was locked", id)
	case <-time.After(200 * time.Millisecond):
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if id := <-answer; id != first {
		t.Errorf("got %q after the lock was gone, want %q", id, first)
	}
	if _, err := pick(callers + 1); !errors.Is(err, fsm.ErrNothingToDo) {
		t.Errorf("got %v, want that there is nothing to do", err)
	}
}

// Programs that start at the same time make the tables at the same time.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	const programs = 6
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	errs := make([]error, programs)
	var group sync.WaitGroup
	for i := range programs {
		store, err := postgres.Open(t.Context(), dsn, quiet)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		tab, err := store.Table(schema)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for range 3 {
				errs[i] = errors.Join(errs[i], tab.Migrate(t.Context()), tab.Check(t.Context()))
			}
		})
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("program %d: %v", i, err)
		}
	}
}
