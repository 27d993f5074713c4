package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// A pooler is noticed by what it refuses, or else by the number of the session.
func TestPoolerIsRefused(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	const silent = "ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout,default_transaction_read_only"
	for _, mode := range []string{"transaction", "session"} {
		for noticed, more := range map[string]string{"unsupported startup parameter": "", "answers": silent} {
			address := pgtest.Pooler(t, dsn, "pool_mode = "+mode, more)
			for _, opt := range []postgres.Option{quiet, postgres.WithReadOnly()} {
				store, err := postgres.Open(t.Context(), address, opt)
				if err == nil {
					store.Close()
				}
				var pooler *postgres.PoolerError
				if !errors.As(err, &pooler) || !strings.Contains(pooler.Noticed, noticed) || !strings.Contains(err.Error(), "postgres.WithPooler()") {
					t.Errorf("%s, %q: got %v, want a PoolerError that tells of %q and WithPooler", mode, more, err, noticed)
				}
			}
			for _, opt := range []postgres.Option{quiet, postgres.WithReadOnly()} {
				store, err := postgres.Open(t.Context(), address, postgres.WithPooler(), opt)
				if err != nil {
					t.Errorf("%s, WithPooler: %v", mode, err)
					continue
				}
				store.Close()
			}
		}
	}
}

// An address that leads to the server first and to a pooler later: the later connection is
// refused as well.
func TestPoolerThatComesLater(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	const silent = "ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout,default_transaction_read_only"
	var hosts []*pgx.ConnConfig
	for _, address := range []string{dsn, pgtest.Pooler(t, dsn, "pool_mode = transaction", silent)} {
		config, err := pgx.ParseConfig(address)
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, config)
	}
	var list net.ListenConfig
	l, err := list.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	first := make(chan net.Conn, 1)
	go func() {
		for i := 0; ; i++ {
			client, err := l.Accept()
			if err != nil {
				return
			}
			to := hosts[min(i, 1)]
			server, err := to.DialFunc(context.Background(), "unix", fmt.Sprintf("%s/.s.PGSQL.%d", to.Host, to.Port))
			if err != nil {
				t.Errorf("dial: %v", err)
				return
			}
			go func() { io.Copy(server, client); server.Close() }()
			go func() { io.Copy(client, server); client.Close() }()
			if i == 0 {
				first <- server
			}
		}
	}()
	store, err := postgres.Open(t.Context(), fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", hosts[0].User, l.Addr(), hosts[0].Database), quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	(<-first).Close()
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	var pooler *postgres.PoolerError
	for range 10 { // the first ones may find broken connections
		err = fsmimpl.Migrate(t.Context(), store, schema)
		if err == nil || errors.As(err, &pooler) {
			break
		}
		t.Log(err)
	}
	if pooler == nil {
		t.Errorf("got %v, want a PoolerError", err)
	}
}

// The store behind PgBouncer, with two sessions of the server for all.
func TestConformanceBehindPooler(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	dsn := pgtest.DSN(t)
	address := pgtest.Pooler(t, dsn, "pool_mode = transaction")
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var n atomic.Int64
	storetest.Run(t, func(tb testing.TB) fsm.Store {
		schema := fmt.Sprint("s", n.Add(1))
		if _, err := db.Exec("CREATE SCHEMA " + schema); err != nil {
			tb.Fatal(err)
		}
		store, err := postgres.Open(tb.Context(), address, postgres.WithPooler(), postgres.WithSchema(schema), quiet)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { store.Close() })
		return store
	}, storetest.WithSQL(parcelSQL(t)))
}

// Two programs have tables of the same names in schemas of their own, and the same two
// sessions of the server; a third client leaves settings in these. Every acknowledged
// creation stands in its own program's table, and each was committed with the durability and
// the time limits that the store asks for: the one of locks without a seat, or with one.
func TestProgramsBehindPooler(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	address := pgtest.Pooler(t, dsn, "pool_mode = transaction")
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	leak, err := sql.Open("pgx", address+"&default_query_exec_mode=simple_protocol")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leak.Close() })
	modes := []string{"", "exec", "simple_protocol", "cache_describe", "describe_exec", "cache_statement"}
	const each = 30
	var all sync.WaitGroup
	for program, schema := range []string{"one", "two"} {
		if _, err := db.Exec("CREATE SCHEMA " + schema); err != nil {
			t.Fatal(err)
		}
		for i, mode := range modes {
			through := address
			if mode != "" {
				through += "&default_query_exec_mode=" + mode
			}
			store, err := postgres.Open(t.Context(), through, postgres.WithPooler(), postgres.WithSchema(schema), quiet)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			s := storetest.Schema()
			s.SQL = parcelSQL(t)
			if err := fsmimpl.Migrate(t.Context(), store, s); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				witness(t, db, schema)
			}
			m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(s), effects)
			if err != nil {
				t.Fatal(err)
			}
			for caller := range 2 {
				all.Go(func() {
					for n := range each {
						id := fmt.Sprintf("p%d-%d-%d-%d", program, i, caller, n)
						if _, err := registerIn(t.Context(), m, id, "l"); err != nil {
							t.Errorf("%s, %s: %v", schema, mode, err)
							return
						}
					}
				})
			}
		}
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for going := true; going; {
		select {
		case <-done:
			going = false
		default:
			if _, err := leak.Exec("SET search_path = two, one; SET synchronous_commit = off; SET lock_timeout = '1h'; SET statement_timeout = '1h'"); err != nil {
				t.Error(err)
			}
		}
	}
	for program, schema := range []string{"one", "two"} {
		var own, others, events, wrong int
		if err := db.QueryRow(fmt.Sprintf(`SELECT (SELECT count(*) FROM %[1]s.parcel WHERE id LIKE 'p%[2]d-%%'), (SELECT count(*) FROM %[1]s.parcel WHERE id NOT LIKE 'p%[2]d-%%'),
			(SELECT count(*) FROM %[1]s.parcel_events), (SELECT count(*) FROM %[1]s.seen WHERE settings NOT IN ('on 25s 50ms', 'on 25s 1s'))`, schema, program)).Scan(&own, &others, &events, &wrong); err != nil {
			t.Fatal(err)
		}
		if want := len(modes) * 2 * each; own != want || others != 0 || events != want || wrong != 0 {
			t.Errorf("schema %s: %d records of its own, %d of others, %d events, %d commits in other settings; want %d, 0, %d, 0", schema, own, others, events, wrong, want, want)
		}
	}
}

// witness notes the settings that are in force at each commit.
func witness(t *testing.T, db *sql.DB, schema string) {
	t.Helper()
	if _, err := db.Exec(strings.ReplaceAll(`CREATE TABLE @.seen (settings text);
		CREATE FUNCTION @.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO @.seen SELECT concat_ws(' ', current_setting('synchronous_commit'), current_setting('statement_timeout'), current_setting('lock_timeout'));
			RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER z_see AFTER INSERT ON @.parcel DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION @.see()`, "@", schema)); err != nil {
		t.Fatal(err)
	}
}

// Another client's search_path chooses no schema, and tables that were made again are noticed
// by the next transaction, with no new session of the store's.
func TestTablesBehindPooler(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	address := pgtest.Pooler(t, dsn, "pool_mode = transaction", "default_pool_size = 1")
	db, err := sql.Open("pgx", address+"&default_query_exec_mode=simple_protocol")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec("CREATE SCHEMA decoy; SET search_path = decoy"); err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(t.Context(), address, postgres.WithPooler(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s := storetest.Schema()
	s.SQL = parcelSQL(t)
	if err := fsmimpl.Migrate(t.Context(), store, s); err != nil {
		t.Fatal(err)
	}
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(s), effects)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := registerIn(t.Context(), m, "a", "l"); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM public.parcel").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d records in the schema of the role, %v; want 1", n, err)
	}
	if _, err := db.Exec("ALTER TABLE public.parcel RENAME TO gone; CREATE TABLE public.parcel (LIKE public.gone INCLUDING ALL)"); err != nil {
		t.Fatal(err)
	}
	if _, err := registerIn(t.Context(), m, "b", "l"); !errors.Is(err, sqlstore.ErrTables) {
		t.Errorf("tables of the same name: %v, want ErrTables", err)
	}
}
