package faults_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// openPostgres opens the machine on a server, with tables.
func openPostgres(t *testing.T, dsn string, opts ...postgres.Option) *faults.Subject {
	t.Helper()
	ctx := t.Context()
	store, err := postgres.Open(ctx, dsn, append(opts, quiet)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := faults.Migrate(ctx, store, db); err != nil {
		t.Fatal(err)
	}
	s, err := faults.Open(ctx, store, db)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// finish ends a load and demands that all is right.
func finish(t *testing.T, l *faults.Load, s *faults.Subject, least int) faults.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := l.End(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := r.Wrong(); wrong != "" {
		t.Error(wrong)
	}
	if r.Acked < int64(least) {
		t.Errorf("%v: the test shows nothing", r)
	}
	return r
}

// work waits until so many more transitions are acknowledged.
func work(t *testing.T, l *faults.Load, more int) {
	t.Helper()
	until := time.Now().Add(2 * time.Minute)
	for want := l.Acked() + more; l.Acked() < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("nothing is acknowledged any more")
		}
	}
}

// Every process of the server is killed again and again, with a server that
// does not wait for its log unless it is told to: the store tells it.
func TestServerKills(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("kills a server; run without -short")
	}
	if !faults.Long() {
		t.Parallel() // it waits more than it works
	}
	began, kills := time.Now(), faults.Size(3, 50)
	server := pgtest.Start(t, "synchronous_commit=off", "wal_writer_delay=200ms")
	a, b := openPostgres(t, server.DSN()), openPostgres(t, server.DSN())
	l := faults.Begin(t.Context(), 8, a, b)
	for range kills {
		work(t, l, 100+rand.IntN(200))
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	work(t, l, 100)
	r := finish(t, l, a, 100*kills)
	lost, acked := killHandWritten(t, server, faults.Size(3, 10), 30)
	if lost == 0 {
		t.Error("the control, sessions without synchronous_commit, lost nothing: the test cannot see a loss")
	}
	faults.Report(t, faults.Row{
		Test: "kill -9 of the server", Store: "PostgreSQL", How: "SIGKILL to all its processes under 8 writers of 2 stores; synchronous_commit=off in its settings, which the store raises",
		Figures: fmt.Sprintf("%d kills, %v", kills, r),
		Control: fmt.Sprintf("hand-written sessions with the same settings lost %d of %d", lost, acked),
		Took:    time.Since(began), Longer: faults.Longer(3, 50),
	})
}

// killHandWritten does the same to sessions that leave the setting as it is, so
// often, and more often until something is lost.
func killHandWritten(t *testing.T, server *pgtest.Server, kills, most int) (lost, acked int) {
	t.Helper()
	ctx := t.Context()
	db, err := sql.Open("pgx", server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS control (n bigint)`); err != nil {
		t.Fatal(err)
	}
	n := 0
	for round := 0; round < kills || lost == 0 && round < most; round++ {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := db.ExecContext(ctx, `INSERT INTO control VALUES ($1)`, n+1); err != nil {
					return
				}
				n++
			}
		})
		time.Sleep(300 * time.Millisecond)
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		close(stop)
		wg.Wait()
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
		var there int
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM control WHERE n <= $1`, n).Scan(&there); err != nil {
			if err = db.QueryRowContext(ctx, `SELECT count(*) FROM control WHERE n <= $1`, n).Scan(&there); err != nil {
				t.Fatal(err)
			}
		}
		lost = n - there
	}
	return lost, n
}

// The server stops dead for longer than the callers wait, and goes on.
func TestServerStops(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("stops a server; run without -short")
	}
	if !faults.Long() {
		t.Parallel() // it waits more than it works
	}
	const limit = 700 * time.Millisecond
	began, stops := time.Now(), faults.Size(2, 50)
	server := pgtest.Start(t)
	a, b := openPostgres(t, server.DSN()), openPostgres(t, server.DSN(), postgres.WithDeadline(limit))
	a.Limit = limit // one that waits so long for each call, and one for each answer of the server
	l := faults.Begin(t.Context(), 8, a, b)
	stop := func() {
		t.Helper()
		if err := server.Pause(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * limit)
		if err := server.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	made := 0
	for ; made < stops || made < stops+20 && l.Failed("unknown", "late") == 0; made++ {
		work(t, l, 100+rand.IntN(100))
		stop()
	}
	work(t, l, 100)
	r := finish(t, l, openPostgres(t, server.DSN()), 100*stops)
	if r.Errors["unknown"]+r.Errors["late"] == 0 {
		t.Errorf("%v: no call ended while the server stood still", r.Errors)
	}
	wrongs := careless(t, server.DSN(), server.DSN(), 40, func(*faults.Careless) { stop() }, postgres.WithDeadline(limit))
	faults.Report(t, faults.Row{
		Test: "SIGSTOP of the server", Store: "PostgreSQL", How: "SIGSTOP to all its processes for 1.4 s under 8 writers who wait 0.7 s",
		Figures: fmt.Sprintf("%d stops, %v", made, r),
		Control: wrongs.String(),
		Took:    time.Since(began), Longer: faults.Longer(2, 50),
	})
}

// careless lets careless callers meet faults until they have done all the harm
// that they can, and demands that they do within so many rounds.
func careless(t *testing.T, dsn, calm string, rounds int, fault func(*faults.Careless), opts ...postgres.Option) faults.Wrongs {
	t.Helper()
	ctx := t.Context()
	store, err := postgres.Open(ctx, dsn, append(opts, quiet)...)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, err := sql.Open("pgx", calm)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := faults.BeginCareless(ctx, 8, store, db)
	if err != nil {
		t.Fatal(err)
	}
	defer c.End()
	var w faults.Wrongs
	for range rounds {
		until := time.Now().Add(2 * time.Minute)
		for want := c.Made() + 20; c.Made() < want; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("the control: nothing is made any more")
			}
		}
		fault(c)
		if w, err = c.Look(ctx); err != nil {
			t.Fatal(err)
		}
		if w.Both() {
			return w
		}
	}
	t.Errorf("the control: %v: the test cannot see a wrong caller", w)
	return w
}

// Connections end before and after what was sent arrives, or it arrives when
// the caller has gone; answers take long.
func TestConnectionCuts(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("cuts hundreds of connections; run without -short")
	}
	if !faults.Long() {
		t.Parallel() // it waits more than it works
	}
	began, cuts := time.Now(), faults.Size(60, 1000)
	server := pgtest.Start(t)
	dir := t.TempDir()
	proxy, err := faults.Listen(filepath.Join(dir, ".s.PGSQL.5432"), server.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() }) // after the stores, whose connections it waits for
	through := "host=" + dir + " user=postgres dbname=postgres sslmode=disable"
	calm := openPostgres(t, server.DSN())
	a, b := openPostgres(t, through), openPostgres(t, through)
	l := faults.Begin(t.Context(), 8, a, b)
	made := func() int { return proxy.Made(faults.Before) + proxy.Made(faults.After) + proxy.Made(faults.Late) }
	all := func() bool {
		return proxy.Made(faults.Before) > 0 && proxy.Made(faults.After) > 0 && proxy.Made(faults.Late) > 0 && proxy.Made(faults.Slow) > 0
	}
	for made() < cuts || !all() && made() < 10*cuts {
		work(t, l, 5+rand.IntN(20))
		proxy.Arm(faults.Before + faults.Cut(rand.IntN(4)))
	}
	work(t, l, 100)
	r := finish(t, l, calm, 5*cuts)
	before, after, late, slow := proxy.Made(faults.Before), proxy.Made(faults.After), proxy.Made(faults.Late), proxy.Made(faults.Slow)
	if before == 0 || after == 0 || late == 0 || slow == 0 {
		t.Errorf("%d, %d, %d, %d cuts of the four kinds: the test shows nothing", before, after, late, slow)
	}
	wrongs := careless(t, through, server.DSN(), 2000, func(*faults.Careless) { proxy.Arm(faults.After + faults.Cut(rand.IntN(2))) })
	faults.Report(t, faults.Row{
		Test: "connections cut", Store: "PostgreSQL", How: "a proxy between 8 writers and the server",
		Figures: fmt.Sprintf("%d before arrival, %d after it, %d that arrived late, %d slow answers: %v",
			before, after, late, slow, r),
		Control: wrongs.String(),
		Took:    time.Since(began), Longer: faults.Longer(60, 1000),
	})
}

// An administrator ends sessions, holds locks, and makes deadlocks.
func TestHostileSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("ends hundreds of sessions; run without -short")
	}
	if !faults.Long() {
		t.Parallel() // it waits more than it works
	}
	began, rounds := time.Now(), faults.Size(40, 500)
	server := pgtest.Start(t, "deadlock_timeout=10ms", "lock_timeout=150ms", "idle_in_transaction_session_timeout=500ms", "default_transaction_isolation=serializable")
	a, b := openPostgres(t, server.DSN()), openPostgres(t, server.DSN())
	db, err := sql.Open("pgx", server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := t.Context()
	l := faults.Begin(ctx, 8, a, b)
	var ended, locked, deadlocks int
	for i := range 10 * rounds {
		if err := db.QueryRowContext(ctx, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&deadlocks); err != nil && i >= rounds {
			t.Fatal(err)
		}
		if i >= rounds && ended > 0 && locked > 0 && deadlocks > 0 {
			break // one of the three may take more rounds to happen, and be counted late
		}
		work(t, l, 5+rand.IntN(20))
		switch rand.IntN(3) {
		case 0:
			ended += endSessions(ctx, db)
		case 1:
			if inTransaction(ctx, db, func(tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, `LOCK TABLE execution IN SHARE ROW EXCLUSIVE MODE`); err != nil {
					return err
				}
				time.Sleep(time.Duration(rand.IntN(250)) * time.Millisecond)
				return nil
			}) == nil {
				locked++
			}
		case 2:
			deadlock(ctx, db)
		}
	}
	work(t, l, 50)
	r := finish(t, l, a, 5*rounds) // callers need not notice: the store tries again
	if ended == 0 || locked == 0 || deadlocks == 0 {
		t.Errorf("%d sessions ended, %d times locked, %d deadlocks: the test shows nothing", ended, locked, deadlocks)
	}
	codes, calls := onceOnly(t, server.DSN(), db)
	faults.Report(t, faults.Row{
		Test: "sessions ended, locks held, deadlocks", Store: "PostgreSQL", How: "pg_terminate_backend, table locks, rows locked in another order, lock_timeout 150 ms",
		Figures: fmt.Sprintf("%d sessions ended, %d times locked, %d deadlocks: %v", ended, locked, deadlocks, r),
		Control: fmt.Sprintf("callers whose transactions nobody tries again: %d of %d calls failed (SQLSTATE 40P01 %d, 57P01 %d)",
			codes["40P01"]+codes["57P01"], calls, codes["40P01"], codes["57P01"]),
		Took: time.Since(began), Longer: faults.Longer(40, 500),
	})
}

// endSessions ends two sessions of others.
func endSessions(ctx context.Context, db *sql.DB) int {
	var n int
	if err := db.QueryRowContext(ctx, `SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 2) s`).Scan(&n); err != nil {
		return 0 // another administrator was faster
	}
	return n
}

// deadlock locks rows and the log in another order than writers do; either side
// may be the one that the server ends.
func deadlock(ctx context.Context, db *sql.DB) {
	_ = inTransaction(ctx, db, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `SELECT * FROM execution WHERE state IN ('leased', 'in_progress') ORDER BY id DESC FOR UPDATE`)
		if err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond) // writers come to wait for these rows
		_, err = tx.ExecContext(ctx, `LOCK TABLE execution_events IN ACCESS EXCLUSIVE MODE`)
		return err
	})
}

// onceOnly is the control of hostile sessions: callers in transactions of their
// own, which the store does not try again, meet the same, until a deadlock and
// the end of a session have reached them. It returns how often each SQLSTATE did.
func onceOnly(t *testing.T, dsn string, hostile *sql.DB) (codes map[string]int, calls int) {
	t.Helper()
	ctx := t.Context()
	store, err := postgres.Open(ctx, dsn, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := faults.Open(ctx, store, db)
	if err != nil {
		t.Fatal(err)
	}
	codes = map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for w := range 6 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				err := s.Twice(ctx, store, db, fmt.Sprintf("once%d.%d", w, n))
				mu.Lock()
				calls++
				var coded interface{ SQLState() string }
				if errors.As(err, &coded) {
					codes[coded.SQLState()]++
				}
				mu.Unlock()
			}
		})
	}
	for range 500 {
		mu.Lock()
		seen := codes["40P01"] > 0 && codes["57P01"] > 0
		mu.Unlock()
		if seen {
			break
		}
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
		if rand.IntN(2) == 0 {
			endSessions(ctx, hostile)
		} else {
			deadlock(ctx, hostile)
		}
	}
	close(stop)
	wg.Wait()
	if codes["40P01"] == 0 || codes["57P01"] == 0 {
		t.Errorf("the control: of %d calls that nobody tries again none met a deadlock or the end of its session: %v", calls, codes)
	}
	return codes, calls
}

func inTransaction(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // f's error is what matters
		return err
	}
	return tx.Rollback()
}
