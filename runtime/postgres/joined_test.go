package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// joinable opens stores in schemas of their own and remembers their addresses.
func joinable(t *testing.T) (open func(tb testing.TB) fsm.Store, address func(fsm.Store) string) {
	server := pgtest.DSN(t)
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var n atomic.Int64
	var addresses sync.Map
	return func(tb testing.TB) fsm.Store {
			schema := fmt.Sprint("j", n.Add(1))
			if _, err := db.Exec("CREATE SCHEMA " + schema); err != nil {
				tb.Fatal(err)
			}
			dsn := server + "&search_path=" + schema
			store, err := postgres.Open(tb.Context(), dsn, quiet)
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(func() { store.Close() })
			addresses.Store(store, dsn)
			return store
		}, func(s fsm.Store) string {
			dsn, _ := addresses.Load(s)
			return dsn.(string)
		}
}

func TestJoinedSQL(t *testing.T) {
	t.Parallel()
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelSerializable} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			open, address := joinable(t)
			storetest.RunJoined(t, open, func(ctx context.Context, store fsm.Store) (storetest.CallersTx, error) {
				db, err := sql.Open("pgx", address(store))
				if err != nil {
					return storetest.CallersTx{}, err
				}
				tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
				if err != nil {
					return storetest.CallersTx{}, errors.Join(err, db.Close())
				}
				return storetest.CallersTx{
					Joined:   fsm.Join(store.(*sqlstore.Store), tx),
					Commit:   func() error { return errors.Join(tx.Commit(), db.Close()) },
					Rollback: func() error { return errors.Join(tx.Rollback(), db.Close()) },
					Exec:     func(text string) error { _, err := tx.Exec(text); return err },
				}, nil
			}, storetest.WithSQL(parcelSQL(t)))
		})
	}
}

func TestJoinedPgx(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.Serializable} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			open, address := joinable(t)
			storetest.RunJoined(t, open, func(ctx context.Context, store fsm.Store) (storetest.CallersTx, error) {
				conn, err := pgx.Connect(ctx, address(store))
				if err != nil {
					return storetest.CallersTx{}, err
				}
				tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
				if err != nil {
					return storetest.CallersTx{}, errors.Join(err, conn.Close(ctx))
				}
				ctx = context.WithoutCancel(ctx)
				return storetest.CallersTx{
					Joined:   postgres.Join(store.(*sqlstore.Store), tx),
					Commit:   func() error { return errors.Join(tx.Commit(ctx), conn.Close(ctx)) },
					Rollback: func() error { return errors.Join(tx.Rollback(ctx), conn.Close(ctx)) },
					Exec:     func(text string) error { _, err := tx.Exec(ctx, text); return err },
				}, nil
			}, storetest.WithSQL(parcelSQL(t)))
		})
	}
}

// statements counts what pgx sends.
type statements struct{ n atomic.Int64 }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.n.Add(1)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A batch in the caller's transaction takes as many statements for 200 records as for two.
func TestJoinedBatchStatements(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	plain := *storetest.Descriptor(d.schema)
	plain.Operations = slices.DeleteFunc(slices.Clone(plain.Operations), func(op *fsmimpl.Operation[storetest.Parcel]) bool {
		return op.MayAsk(true)
	})
	m, err := fsm.NewMachine(t.Context(), d.store, &plain, effects)
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	sent := &statements{}
	config.Tracer = sent
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	batch := func(n int, fill func(in *fsm.Machine[storetest.Parcel], i int) error) int64 {
		t.Helper()
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		in, err := m.In(t.Context(), postgres.Join(d.store, tx))
		if err != nil {
			t.Fatal(err)
		}
		before := sent.n.Load()
		outs, err := in.Batch(t.Context(), func(in *fsm.Machine[storetest.Parcel]) error {
			for i := range n {
				if err := fill(in, i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(outs) != n {
			t.Fatalf("%d outcomes, %v; want %d", len(outs), err, n)
		}
		took := sent.n.Load() - before
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		return took
	}
	create := func(prefix string) func(*fsm.Machine[storetest.Parcel], int) error {
		return func(in *fsm.Machine[storetest.Parcel], i int) error {
			_, err := in.Create(t.Context(), storetest.Register(storetest.Meta{RequestID: fmt.Sprint(prefix, i)}, storetest.RegisterInput{ID: fmt.Sprint(prefix, i), Lane: "a"}))
			return err
		}
	}
	two, many := batch(2, create("a")), batch(200, create("b"))
	if two != many || many > 10 {
		t.Errorf("two creations take %d statements, 200 take %d", two, many)
	}
	held := func(prefix string) func(*fsm.Machine[storetest.Parcel], int) error {
		return func(in *fsm.Machine[storetest.Parcel], i int) error {
			p, err := m.Record(t.Context(), fmt.Sprint(prefix, i))
			if err == nil {
				_, err = in.Apply(t.Context(), p, storetest.Annotate(storetest.Meta{}, fsm.Some(fsm.MustJSON("1")), fsm.Optional[string]{}, fsm.Optional[bool]{}))
			}
			return err
		}
	}
	if two, many := batch(2, held("a")), batch(200, held("b")); two != many || many > 10 {
		t.Errorf("two calls on held records take %d statements, 200 take %d", two, many)
	}
}

// Every kind of column and of event comes through pgx as it does through
// database/sql.
func TestPgxReadsTheSame(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	p, err := d.m.Create(t.Context(), storetest.Register(storetest.Meta{RequestID: "r", Actor: "ann", Reason: "new", Labels: map[string]string{"k": "v"}},
		storetest.RegisterInput{ID: "p1", Label: fsm.Some("l"), Lane: "a", Weight: fsm.Some(int64(-1) << 62), Tags: fsm.NewSet("y", "ü")}))
	if err != nil {
		t.Fatal(err)
	}
	p, err = d.m.Apply(t.Context(), p, storetest.Annotate(storetest.Meta{}, fsm.Some(fsm.MustJSON(`{"b":1.0,"a":null}`)), fsm.Some("large"), fsm.Some(false)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = d.m.Apply(t.Context(), p, storetest.Hold(storetest.Meta{Actor: "ann"}, "a", p.Record.CreatedAt)); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	other, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plain := *storetest.Descriptor(d.schema)
	plain.Operations = nil
	for _, op := range storetest.Descriptor(d.schema).Operations {
		if !op.MayAsk(true) {
			plain.Operations = append(plain.Operations, op)
		}
	}
	m, err := fsm.NewMachine(t.Context(), d.store, &plain, effects)
	if err != nil {
		t.Fatal(err)
	}
	joined, err := m.In(t.Context(), postgres.Join(d.store, other))
	if err != nil {
		t.Fatal(err)
	}
	table, err := d.store.Table(d.schema)
	if err != nil {
		t.Fatal(err)
	}
	var want driver.Row
	var wanted []string
	if err := table.View(t.Context(), func(r driver.Reader) (err error) {
		if want, err = r.Row("p1"); err != nil {
			return err
		}
		for e, err := range r.Events("p1", 0) {
			if err != nil {
				return err
			}
			wanted = append(wanted, fmt.Sprintf("%#v", e))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	rec, err := joined.Record(t.Context(), "p1")
	if err != nil {
		t.Fatal(err)
	}
	got := storetest.Encode(&rec)
	got.Chain = want.Chain // a record has none
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Errorf("the row is\n%#v, want\n%#v", got, want)
	}
	var events []string
	for e, err := range joined.History(t.Context(), "p1") {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, fmt.Sprintf("%#v", e))
	}
	if fmt.Sprint(events) != fmt.Sprint(wanted) || len(events) != 3 {
		t.Errorf("the events are\n%v, want\n%v", events, wanted)
	}
	if err := other.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.m.In(t.Context(), postgres.Join(d.store, other)); err == nil {
		t.Error("a machine with atomic effects took a pgx.Tx")
	}
}
