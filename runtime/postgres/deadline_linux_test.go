package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

type machine = *fsm.Machine[storetest.Parcel]

// parcels opens the suite's machine on a server.
func parcels(t *testing.T, dsn string, opts ...postgres.Option) (machine, driver.Table) {
	t.Helper()
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	store, err := postgres.Open(t.Context(), dsn, append(opts, quiet)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	tab, err := store.Table(schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(schema), effects)
	if err != nil {
		t.Fatal(err)
	}
	return m, tab
}

func makeParcel(ctx context.Context, m machine, id string) (fsm.Outcome[storetest.Parcel], error) {
	return m.Create(ctx, storetest.Register(storetest.Meta{Actor: "w", RequestID: "make " + id}, storetest.RegisterInput{ID: id, Lane: "a"}))
}

// A server that stands still hangs nobody. When it goes on, the same call with
// the same request id finds out what became of the first one.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	m, tab := parcels(t, server.DSN(), postgres.WithDeadline(700*time.Millisecond))
	if _, err := makeParcel(t.Context(), m, "before"); err != nil {
		t.Fatal(err)
	}
	const callers = 24
	errs := make([]error, callers)
	took := make([]time.Duration, callers)
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	thawed := sync.OnceFunc(func() {
		if err := server.Resume(); err != nil {
			t.Error(err)
		}
	})
	defer thawed()
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			begun := time.Now()
			id := fmt.Sprint("p", i)
			switch i % 3 {
			case 0:
				_, errs[i] = makeParcel(context.Background(), m, id)
			case 1:
				errs[i] = tab.Update(context.Background(), func(tx fsm.Tx) error { _, err := tx.Row("before"); return err })
			case 2:
				errs[i] = tab.View(context.Background(), func(r driver.Reader) error { _, err := r.Row("before"); return err })
			}
			took[i] = time.Since(begun)
		})
	}
	group.Wait()
	for i := range callers {
		if !errors.Is(errs[i], fsm.ErrAmbiguous) && !errors.Is(errs[i], fsm.ErrBusy) {
			t.Errorf("call %d: got %v, want that it is not known, or that the store is busy", i, errs[i])
		}
		if took[i] > 40*time.Second {
			t.Errorf("call %d hung for %s", i, took[i])
		}
	}
	thawed()
	for i := 0; i < callers; i += 3 {
		id := fmt.Sprint("p", i)
		var out fsm.Outcome[storetest.Parcel]
		var err error
		for range 100 {
			if out, err = makeParcel(t.Context(), m, id); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil || out.Record.Rev != 1 {
			t.Errorf("%s after the thaw: revision %d, %v", id, out.Record.Rev, err)
		}
	}
}

// An answer that is lost on its way leaves the outcome open, until the request id
// is found in the log.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	p := newProxy(t, server)
	m, tab := parcels(t, p.dsn(), postgres.WithDeadline(500*time.Millisecond))
	if _, err := makeParcel(t.Context(), m, "before"); err != nil {
		t.Fatal(err)
	}
	const callers, most = 8, 40
	ambiguous, replayed, rounds := 0, 0, 0
	for ; rounds < most && (ambiguous == 0 || replayed == 0); rounds++ { // on a slow machine no call may come to its commit in time
		p.silence(true)
		errs := make([]error, callers)
		id := func(i int) string { return fmt.Sprintf("p%d.%d", rounds, i) }
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() { _, errs[i] = makeParcel(context.Background(), m, id(i)) })
		}
		group.Wait()
		for i, err := range errs {
			switch {
			case errors.Is(err, fsm.ErrAmbiguous):
				ambiguous++
			case !errors.Is(err, fsm.ErrBusy):
				t.Errorf("call %d: got %v", i, err)
			}
		}
		p.silence(false)
		p.cut()
		for i := range callers {
			var out fsm.Outcome[storetest.Parcel]
			var err error
			for range 100 {
				if out, err = makeParcel(t.Context(), m, id(i)); err == nil {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			if err != nil {
				t.Errorf("the same call again: %v", err)
			}
			if out.Replayed {
				replayed++
			}
		}
	}
	if ambiguous == 0 || replayed == 0 {
		t.Errorf("in %d rounds %d outcomes were unknown and %d calls had been committed: the test shows nothing", rounds, ambiguous, replayed)
	}
	err := tab.View(t.Context(), func(r driver.Reader) error {
		n, err := r.Count(driver.Query{})
		if want := int64(rounds*callers + 1); n != want {
			t.Errorf("there are %d records, want %d", n, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d calls: %d ambiguous, %d had been committed", rounds*callers, ambiguous, replayed)
}

// A server that lets nobody in has surely written nothing.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	p := newProxy(t, server)
	db, err := sql.Open("pgx", server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	do := func(statement string) {
		t.Helper()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	do("CREATE ROLE guest LOGIN")
	do("GRANT ALL ON SCHEMA public TO guest")
	_, tab := parcels(t, "postgres://guest@"+p.Addr().String()+"/postgres?sslmode=disable")
	commit := func() error {
		return tab.Commit(t.Context(), &driver.Write{Prev: fsm.Ref{ID: "x", Rev: 7}, PrevState: "held", Row: blank("x", 8),
			Event: driver.Event{ID: "x", Rev: 8, From: "held", To: blank("x", 8).State}})
	}
	busy := func(what string) {
		t.Helper()
		var err error
		for range 3 { // the first calls may find out that their connections are gone
			err = commit()
		}
		if !errors.Is(err, fsm.ErrBusy) {
			t.Errorf("%s: got %v, want that the store is busy", what, err)
		}
	}
	if err := commit(); !errors.Is(err, driver.ErrMoved) {
		t.Fatalf("got %v, want that there is no such record", err)
	}
	do("ALTER ROLE guest CONNECTION LIMIT 0")
	p.cut()
	busy("too many connections")
	do("ALTER ROLE guest CONNECTION LIMIT -1")
	if err := commit(); !errors.Is(err, driver.ErrMoved) {
		t.Errorf("with a connection again: %v", err)
	}
	p.Close() // refused from now on
	p.cut()
	busy("connection refused")
	l, err := net.Listen("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p.Listener = l
	go p.serve()
	t.Cleanup(func() { l.Close() })
	if err := commit(); !errors.Is(err, driver.ErrMoved) {
		t.Errorf("with a server again: %v", err)
	}
}

// blank is a row with nothing in it.
func blank(id string, rev int64) *driver.Row {
	row := storetest.Encode(&storetest.Parcel{ID: id, State: "held", Rev: rev, Lane: "a"})
	return &row
}

// The look for doubles reads a table of any size in one statement: the server's limit
// of a statement's time does not end it, and holds again for the next.
func TestDoublesTakeTheirTime(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	const limit = 500 * time.Millisecond
	_, tab := parcels(t, dsn, postgres.WithStatementTimeout(limit))
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rule := storetest.Schema().Uniques[0]
	err = tab.View(t.Context(), func(r driver.Reader) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(t.Context(), `LOCK TABLE parcel IN ACCESS EXCLUSIVE MODE`); err != nil {
			return err
		}
		timer := time.AfterFunc(3*limit, func() { _ = tx.Rollback() })
		defer timer.Stop()
		if _, err := r.Doubles(&rule, "", 0); err != nil {
			return fmt.Errorf("while the table is locked: %w", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	err = tab.View(t.Context(), func(r driver.Reader) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(t.Context(), `LOCK TABLE parcel IN ACCESS EXCLUSIVE MODE`); err != nil {
			return err
		}
		_, err = r.Count(driver.Query{})
		return err
	})
	if !errors.Is(err, fsm.ErrBusy) {
		t.Errorf("a count of a locked table: %v, want ErrBusy", err)
	}
}
