package worker_test

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	_ "github.com/fsmgen/fsmgen/runtime/sqlite" // the driver "sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// joint does something in a transaction of the caller's own and commits it.
type joint func(ctx context.Context, do func(in *machine) error) error

// place is a store with one waiting parcel "p1".
type place struct {
	m, other *machine // the worker's, and that of somebody else: in another process, where there can be one
	joints   map[string]joint
}

// places are the stores of the tests.
var places = map[string]func(t *testing.T, wrap func(fsm.Store) fsm.Store) *place{"memstore": inMemory, "sqlite": inSQLite, "postgres": inPostgres}

// eachPlace runs a test in each store.
func eachPlace(t *testing.T, test func(t *testing.T, opened func(t *testing.T, wrap func(fsm.Store) fsm.Store) *place)) {
	for name, opened := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, opened)
		})
	}
}

func plain(s fsm.Store) fsm.Store { return s }

// on opens the suite's machine, without its atomic effect, which takes not every kind
// of transaction.
func on(t *testing.T, store fsm.Store, dialect string) *machine {
	t.Helper()
	schema := storetest.Schema()
	if dialect != "" {
		text, err := os.ReadFile(filepath.Join("..", "..", "gen", "testdata", "schema", "parcel."+dialect+".sql"))
		if err != nil {
			t.Fatal(err)
		}
		schema.SQL = map[string]string{dialect: string(text)}
	}
	if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
		t.Fatal(err)
	}
	d := *storetest.Descriptor(schema)
	d.Operations = nil
	for _, op := range storetest.Descriptor(schema).Operations {
		if !op.MayAsk(true) {
			d.Operations = append(d.Operations, op)
		}
	}
	nothing := func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return nil }
	m, err := fsm.NewMachine(t.Context(), store, &d, map[string]fsmimpl.EffectFunc[storetest.Parcel]{"carry": nothing, "notify": nothing})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// filled registers the parcel.
func filled(t *testing.T, p *place) *place {
	t.Helper()
	if _, err := p.m.Create(t.Context(), storetest.Register(ann, storetest.RegisterInput{ID: "p1", Lane: "a"})); err != nil {
		t.Fatal(err)
	}
	return p
}

// within does something in a transaction, and commits it.
func within(ctx context.Context, m *machine, tx fsm.Joined, commit func() error, do func(*machine) error) error {
	in, err := m.In(ctx, tx)
	if err == nil {
		err = do(in)
	}
	if err == nil {
		err = commit()
	}
	if err == nil {
		in.Committed()
	}
	return err
}

func inMemory(t *testing.T, wrap func(fsm.Store) fsm.Store) *place {
	store := memstore.New()
	m := on(t, wrap(store), "")
	in := on(t, store, "")
	return filled(t, &place{m, m, map[string]joint{"memstore": func(ctx context.Context, do func(*machine) error) error {
		tx, err := store.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		return within(ctx, in, fsm.Join(store, tx), func() error { return tx.Commit(ctx) }, do)
	}}})
}

// joinedSQL does something in a transaction of database/sql.
func joinedSQL(m *machine, store *sqlstore.Store, db *sql.DB) joint {
	return func(ctx context.Context, do func(*machine) error) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		return within(ctx, m, fsm.Join(store, tx), tx.Commit, do)
	}
}

func inSQLite(t *testing.T, wrap func(fsm.Store) fsm.Store) *place {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "x.db")+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"+
		"&_pragma=foreign_keys(1)&_pragma=recursive_triggers(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	store, err := sqlstore.New(db, sqlstore.SQLite())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	m := on(t, wrap(store), "sqlite")
	return filled(t, &place{m, m, map[string]joint{"database/sql": joinedSQL(on(t, store, "sqlite"), store, db)}})
}

func inPostgres(t *testing.T, wrap func(fsm.Store) fsm.Store) *place {
	dsn := pgtest.DSN(t)
	open := func() *sqlstore.Store {
		store, err := postgres.Open(t.Context(), dsn, postgres.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return store
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	store := open()
	m := on(t, store, "postgres")
	byPgx := func(ctx context.Context, do func(*machine) error) error {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback(context.WithoutCancel(ctx))
		return within(ctx, m, postgres.Join(store, tx), func() error { return tx.Commit(ctx) }, do)
	}
	return filled(t, &place{on(t, wrap(store), "postgres"), on(t, open(), "postgres"), map[string]joint{"database/sql": joinedSQL(m, store, db), "pgx": byPgx}})
}

// told is what a worker has told.
type told struct {
	mu     sync.Mutex
	log    bytes.Buffer
	kinds  []string
	events chan worker.Event // all but Idle, as they come
}

func newTold() *told { return &told{events: make(chan worker.Event, 1000)} }

func (l *told) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

func (l *told) observe(e worker.Event) {
	if e.Kind == worker.Idle {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kinds = append(l.kinds, string(e.Kind))
	l.events <- e
}

// until waits until a kind is told.
func (l *told) until(t *testing.T, kind string) worker.Event {
	t.Helper()
	guard := time.After(time.Minute)
	for {
		select {
		case e := <-l.events:
			if string(e.Kind) == kind {
				return e
			}
		case <-guard:
			l.expect(t, kind)
			t.FailNow()
		}
	}
}

// expect checks all that was told.
func (l *told) expect(t *testing.T, kinds ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got, want := strings.Join(l.kinds, " "), strings.Join(kinds, " "); got != want {
		t.Errorf("told %q, want %q; the log:\n%s", got, want, l.log.String())
	}
}

func (l *told) logged() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.String()
}

// funcs are a worker that claims once and holds what it claims in the state "held".
func funcs(m *machine, work func(ctx context.Context, h *handle) error, failed func(cause error)) worker.Funcs[storetest.Parcel] {
	claimed := false
	return worker.Funcs[storetest.Parcel]{
		Claim: func(ctx context.Context, n int, until time.Time) ([]fsm.Outcome[storetest.Parcel], error) {
			if claimed {
				return nil, fsm.ErrNothingToDo
			}
			outs, err := m.Pick(ctx, n, storetest.Hold(w1, "a", until))
			claimed = err == nil
			return outs, err
		},
		Holds: func(p *storetest.Parcel) bool { return p.State == "held" },
		Work:  work,
		Failed: func(ctx context.Context, h *handle, cause error) error {
			failed(cause)
			_, err := h.EngineMove(ctx, storetest.Shelve(w1, h.Ref().ID, "failed"))
			return err
		},
	}
}

// beating adds heartbeats.
func beating(do worker.Funcs[storetest.Parcel]) worker.Funcs[storetest.Parcel] {
	do.Beats = do.Holds
	do.Beat = func(ctx context.Context, h *handle, until time.Time) error {
		return h.EngineStay(ctx, storetest.Touch(w1, until))
	}
	return do
}

// never is for work that must not be told to have failed.
func never(t *testing.T) func(error) {
	return func(cause error) { t.Errorf("Failed is called: %v", cause) }
}

// run runs a worker until stop is called, which returns what Run returned.
func run(t *testing.T, m *machine, l *told, do worker.Funcs[storetest.Parcel], opt worker.Options) (stop func() error) {
	t.Helper()
	opt.Observe, opt.Log, opt.Poll = l.observe, slog.New(slog.NewTextHandler(l, nil)), 10*time.Millisecond
	w, err := worker.New(m, "w1", do, opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
}
