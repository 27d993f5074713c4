package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// loose is PostgreSQL without one of the rules of the order of locks. It counts the
// deadlocks that the server ends.
type loose struct {
	*postgres
	rows, groups, places bool // it waits for locked rows; for a second group; it locks no places
	met                  *atomic.Int64
}

func (d loose) lock() string {
	if d.rows {
		return d.hold()
	}
	return d.postgres.lock()
}

func (d loose) lockGroup(t *table, try bool) string {
	return d.postgres.lockGroup(t, try && !d.groups)
}

func (d loose) lockPlaces(t *table, try bool) string {
	if d.places {
		return `SELECT cardinality($1::text::int[])`
	}
	return d.postgres.lockPlaces(t, try)
}

func (d loose) failure(err error) failure {
	if sqlState(err) == "40P01" {
		d.met.Add(1)
	}
	return d.postgres.failure(err)
}

// crossing brings two callers to where each has a lock that the other wants next.
type crossing struct {
	t       *testing.T
	db      *sql.DB
	arrived [2]atomic.Bool
}

// meet returns when both callers have been here, or one of them waits for a lock.
func (c *crossing) meet(who int) {
	c.arrived[who].Store(true)
	for !c.arrived[1-who].Load() && c.waiting() == 0 && c.t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// waiting counts the sessions that wait for a lock.
func (c *crossing) waiting() (n int) {
	if err := c.db.QueryRow(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n); err != nil {
		c.t.Error(err)
	}
	return n
}

// watchedStore is a store whose transactions say what they have done; without after, none.
type watchedStore struct {
	*Store
	after func(what string)
	blind bool // no row is locked before the first write
	pairs bool // it writes many records with one statement for two of them
}

type watchedTable struct {
	driver.Table
	s *watchedStore
}

type watchedTx struct {
	driver.Tx
	s    *watchedStore
	last bool // all that are to be locked first have been asked for
}

func (s *watchedStore) Table(schema *driver.Schema) (driver.Table, error) {
	t, err := s.Store.Table(schema)
	switch {
	case s.after == nil:
		return t, err
	case s.pairs:
		return &pairedTable{watchedTable{t, s}}, err
	}
	return &watchedTable{t, s}, err
}

func (t *watchedTable) Update(ctx context.Context, f func(driver.Tx) error) error {
	return t.Table.Update(ctx, func(tx driver.Tx) error { return f(&watchedTx{Tx: tx, s: t.s}) })
}

type pairedTable struct{ watchedTable }

// UpdateMany writes two records with one statement, then the next two.
func (t *pairedTable) UpdateMany(ctx context.Context, f func(driver.ManyTx) error) error {
	tab := t.Table.(*table)
	if d, is := tab.dialect.(loose); is && d.rows {
		waits := *tab.writes.moveMany()
		waits.text = strings.Replace(waits.text, " SKIP LOCKED", "", 1)
		tab.writes.moveMany = func() *writeText { return &waits }
	}
	return tab.UpdateMany(ctx, func(tx driver.ManyTx) error { return f(&pairs{tx, t.s}) })
}

type pairs struct {
	driver.ManyTx
	s *watchedStore
}

func (x *pairs) WriteMany(ws []*driver.Write) error {
	for some := range slices.Chunk(ws, 2) {
		if err := x.ManyTx.WriteMany(some); err != nil {
			return err
		}
		x.s.after("some")
	}
	return nil
}

func (x *watchedTx) Row(id string) (driver.Row, error) {
	if x.s.blind && !x.last {
		x.last = id == "p2"
		return driver.Row{}, driver.ErrNotFound
	}
	row, err := x.Tx.Row(id)
	x.s.after("row")
	return row, err
}

func (x *watchedTx) Rows(q driver.Query) iter.Seq2[driver.Row, error] {
	return func(yield func(driver.Row, error) bool) {
		for row, err := range x.Tx.Rows(q) {
			if !yield(row, err) {
				break
			}
		}
		if q.Lock {
			x.s.after("rows")
		}
	}
}

func (x *watchedTx) Write(w *driver.Write) error {
	err := x.Tx.Write(w)
	if err == nil {
		x.s.after("write")
	}
	return err
}

func (x *watchedTx) Peers(q driver.PeerQuery) (int64, error) {
	n, err := x.Tx.Peers(q)
	if err == nil {
		x.s.after("peers")
	}
	return n, err
}

type parcelMachine = *fsm.Machine[storetest.Parcel]

// order is a scene: two callers whose locks cross.
type order struct {
	*crossing
	dialect loose
	dsn     string
	schema  *driver.Schema
}

// open opens the machine over a store that says to after what its transactions have
// done.
func (o *order) open(after func(what string), how watchedStore) parcelMachine {
	o.t.Helper()
	db, err := sql.Open("pgx", o.dsn)
	if err != nil {
		o.t.Fatal(err)
	}
	store, err := New(db, o.dialect, WithRelease(db.Close))
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { store.Close() })
	tab, err := store.Table(o.schema)
	if err == nil {
		err = tab.Migrate(o.t.Context())
	}
	if err != nil {
		o.t.Fatal(err)
	}
	how.Store, how.after = store, after
	nothing := func(context.Context, driver.Tx, storetest.Parcel, string, driver.Event) error { return nil }
	m, err := fsm.NewMachine(o.t.Context(), &how, storetest.Descriptor(o.schema),
		map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": nothing, "carry": nothing, "notify": nothing})
	if err != nil {
		o.t.Fatal(err)
	}
	return m
}

// at returns what meets the other caller after the n-th time of what, from 1.
func (o *order) at(who int, want string, n int) func(string) {
	return func(what string) {
		if what == want {
			if n--; n == 0 {
				o.meet(who)
			}
		}
	}
}

// make makes parcels: p1, p2 and so on, one in each lane. The later one weighs more.
func (o *order) make(m parcelMachine, held bool, lanes ...string) (made []storetest.Parcel) {
	o.t.Helper()
	for i, lane := range lanes {
		out, err := m.Create(o.t.Context(), storetest.Register(storetest.Meta{},
			storetest.RegisterInput{ID: fmt.Sprint("p", i+1), Lane: lane, Weight: fsm.Some(int64(i))}))
		if err == nil && held {
			out, err = m.Apply(o.t.Context(), out.Record, storetest.Hold(storetest.Meta{Actor: "w"}, lane, time.Now().Add(time.Hour)))
		}
		if err != nil {
			o.t.Fatal(err)
		}
		made = append(made, out.Record)
	}
	return made
}

// both runs two callers and demands that each comes to its end.
func (o *order) both(first, second func() error) {
	o.t.Helper()
	var all sync.WaitGroup
	for who, f := range []func() error{first, second} {
		all.Go(func() {
			if err := f(); err != nil {
				o.t.Errorf("caller %d: %v", who, err)
			}
			o.arrived[who].Store(true)
		})
	}
	all.Wait()
}

func bills(ids ...string) (items []fsmimpl.Item[storetest.Parcel]) {
	for _, id := range ids {
		items = append(items, fsmimpl.Item[storetest.Parcel]{At: driver.Ref{ID: id}, Call: storetest.Bill(storetest.Meta{})})
	}
	return items
}

// relabel is a call that gives a parcel another label, which stands for its place.
func relabel(label string) fsmimpl.Call[storetest.Parcel] {
	c := storetest.Annotate(storetest.Meta{}, fsm.Optional[driver.JSON]{}, fsm.Optional[string]{}, fsm.Optional[bool]{})
	c.Inputs = append(c.Inputs, driver.Input{Name: "label", Value: label, Kind: driver.KindString})
	decide := c.Decide
	c.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
		step, err := decide(p, id, peers, now)
		p.Label = fsm.Some(label)
		return step, err
	}
	return c
}

// ofOneNumber returns two labels whose places have one number.
func ofOneNumber(t *testing.T, schema *driver.Schema) (x, y string) {
	t.Helper()
	tab := &table{schema: schema}
	known := map[int]string{}
	for i := range placeNumbers + 1 {
		label := fmt.Sprint("l", i)
		row := storetest.Encode(&storetest.Parcel{State: "waiting", Label: fsm.Some(label)})
		n := numbersOf(tab.placesOf(&row))[0]
		if other, ok := known[n]; ok {
			return other, label
		}
		known[n] = label
	}
	t.Fatal("no two places have one number")
	return "", ""
}

func (o *order) register(m parcelMachine, label string) storetest.Parcel {
	o.t.Helper()
	out, err := m.Create(o.t.Context(), storetest.Register(storetest.Meta{}, storetest.RegisterInput{Label: fsm.Some(label), Lane: "a"}))
	if err != nil {
		o.t.Fatal(err)
	}
	return out.Record
}

func (o *order) exec(text string) {
	o.t.Helper()
	if _, err := o.db.Exec(text); err != nil {
		o.t.Fatal(err)
	}
}

// meetWithinStatements lets labels change and makes each statement that moves a parcel wait when its new row
// is there and the unique index has no entry of it yet: until there are two of them, or
// somebody waits for a lock.
func (o *order) meetWithinStatements() {
	o.t.Helper()
	o.exec(`CREATE SEQUENCE arrivals START 2; CREATE FUNCTION meet(label text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
		PERFORM nextval('public.arrivals');
		WHILE (SELECT last_value FROM public.arrivals) < 2
				AND NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock') LOOP
			PERFORM pg_sleep(0.001), pg_stat_clear_snapshot();
		END LOOP;
		RETURN label;
	END $$`)
	const rule = `"parcel_unique_dedupe_register"`
	var text string
	if err := o.db.QueryRow(`SELECT pg_get_indexdef('` + rule + `'::regclass)`).Scan(&text); err != nil {
		o.t.Fatal(err)
	}
	o.exec(`ALTER TABLE parcel DISABLE TRIGGER USER; DROP INDEX ` + rule + `; CREATE INDEX meeting ON parcel (meet(label)); ` + text + `; ALTER SEQUENCE arrivals RESTART 1`)
}

// Each rule of the order of locks is what keeps the server from deadlocks: without it
// there is one, with it none. Both times all callers come to their ends.
func TestOrderOfLocks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "gen", "testdata", "schema", "parcel.postgres.sql"))
	if err != nil {
		t.Fatal(err)
	}
	scenes := []struct {
		name string
		lift func(d *loose)
		run  func(o *order, lifted bool)
	}{
		{"1, a claim passes over locked rows", func(d *loose) { d.rows = true }, func(o *order, _ bool) {
			claims, batches := o.open(o.at(0, "rows", 1), watchedStore{}), o.open(o.at(1, "row", 1), watchedStore{})
			o.make(claims, false, "a", "a")
			o.both(func() error { // it meets p2, which does not fit, and looks on
				c := storetest.Hold(storetest.Meta{Actor: "w"}, "a", time.Now().Add(time.Hour))
				c.Fits = func(p *storetest.Parcel, _ time.Time) bool { return p.ID == "p1" }
				_, err := claims.Pick(o.t.Context(), 1, c)
				return err
			}, func() error {
				_, err := batches.ApplyMany(o.t.Context(), bills("p1", "p2"))
				return err
			})
		}},
		{"1, a statement of several moves passes over locked rows", func(d *loose) { d.rows = true }, func(o *order, _ bool) {
			first, second := o.open(o.at(0, "some", 1), watchedStore{pairs: true}), o.open(o.at(1, "some", 1), watchedStore{pairs: true})
			held := o.make(first, false, "a", "a", "a", "a")
			annotate := func(m parcelMachine, places ...int) error {
				var items []fsmimpl.Item[storetest.Parcel]
				for _, i := range places {
					items = append(items, fsmimpl.Item[storetest.Parcel]{At: held[i],
						Call: storetest.Annotate(storetest.Meta{}, fsm.Some(driver.MustJSON(`1`)), fsm.Optional[string]{}, fsm.Optional[bool]{})})
				}
				_, err := m.ApplyMany(o.t.Context(), items)
				return err
			}
			var errs [2]error // of one of them, whose records the other one moved
			o.both(func() error { errs[0] = annotate(first, 0, 1, 2, 3); return nil }, func() error { errs[1] = annotate(second, 3, 2, 1, 0); return nil })
			if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs[:]...), fsm.ErrStale) {
				o.t.Errorf("got %v, want one ErrStale", errs)
			}
		}},
		{"2, a batch locks its records by id first", nil, func(o *order, lifted bool) {
			first, second := o.open(o.at(0, "write", 1), watchedStore{blind: lifted}), o.open(o.at(1, "write", 1), watchedStore{blind: lifted})
			o.make(first, false, "a", "a")
			o.both(func() error {
				_, err := first.ApplyMany(o.t.Context(), bills("p1", "p2"))
				return err
			}, func() error {
				_, err := second.ApplyMany(o.t.Context(), bills("p2", "p1"))
				return err
			})
		}},
		{"3, only the first group is waited for", func(d *loose) { d.groups = true }, func(o *order, _ bool) {
			first, second := o.open(o.at(0, "peers", 1), watchedStore{}), o.open(o.at(1, "peers", 1), watchedStore{})
			held := o.make(first, true, "a", "b", "b", "a")
			shelve := func(m parcelMachine, list ...storetest.Parcel) error {
				var items []fsmimpl.Item[storetest.Parcel]
				for _, p := range list {
					items = append(items, fsmimpl.Item[storetest.Parcel]{At: p, Call: storetest.Shelve(storetest.Meta{}, "slot "+p.ID, "t")})
				}
				_, err := m.ApplyMany(o.t.Context(), items)
				return err
			}
			o.both(func() error { return shelve(first, held[0], held[1]) }, func() error { return shelve(second, held[2], held[3]) })
		}},
		// The second transaction of each, which knows that it takes several, is at its first place.
		{"4, several places are locked before they are taken", func(d *loose) { d.places = true }, func(o *order, _ bool) {
			first, second := o.open(o.at(0, "write", 2), watchedStore{}), o.open(o.at(1, "write", 2), watchedStore{})
			register := func(m parcelMachine, labels ...string) error {
				var calls []fsmimpl.Call[storetest.Parcel]
				for _, label := range labels {
					calls = append(calls, storetest.Register(storetest.Meta{}, storetest.RegisterInput{Label: fsm.Some(label), Lane: "a"}))
				}
				outs, err := m.CreateMany(o.t.Context(), calls)
				if err == nil && outs[0].Existing != outs[1].Existing {
					err = errors.New("one record was there, the other one was made")
				}
				return err
			}
			o.both(func() error { return register(first, "x", "y") }, func() error { return register(second, "y", "x") })
		}},
		// Each waits within its statement, between its row and the entry of an index.
		{"4, places of one number are several, too", func(d *loose) { d.places = true }, func(o *order, _ bool) {
			first, second := o.open(nil, watchedStore{}), o.open(nil, watchedStore{})
			x, y := ofOneNumber(o.t, o.schema)
			var held []storetest.Parcel
			for _, label := range []string{x, y} {
				held = append(held, o.register(first, label))
			}
			o.meetWithinStatements()
			swap := func(m parcelMachine, p storetest.Parcel, label string) error {
				if _, err := m.Apply(o.t.Context(), p, relabel(label)); !errors.Is(err, fsm.ErrNotUnique) {
					return fmt.Errorf("got %v, want ErrNotUnique", err)
				}
				return nil
			}
			o.both(func() error { return swap(first, held[0], y) }, func() error { return swap(second, held[1], x) })
		}},
		// A record is at y, and its log says at x. A batch takes both.
		{"4, a repair locks its places, too", func(d *loose) { d.places = true }, func(o *order, _ bool) {
			repairs, batches := o.open(nil, watchedStore{}), o.open(o.at(1, "write", 1), watchedStore{})
			id := o.register(repairs, "x").ID
			o.make(repairs, false, "a", "a")
			o.exec(`ALTER TABLE parcel DISABLE TRIGGER USER; UPDATE parcel SET label = 'y' WHERE label = 'x'`)
			o.both(func() error {
				for !o.arrived[1].Load() && o.t.Context().Err() == nil {
					time.Sleep(time.Millisecond)
				}
				_, repaired, err := audit.Repair(o.t.Context(), repairs, id, "root", "asked")
				if err == nil && !repaired {
					err = errors.New("nothing was repaired")
				}
				return err
			}, func() error {
				items := []fsmimpl.Item[storetest.Parcel]{{At: driver.Ref{ID: "p1"}, Call: relabel("x")}, {At: driver.Ref{ID: "p2"}, Call: relabel("y")}}
				if _, err := batches.ApplyMany(o.t.Context(), items); err != nil && !errors.Is(err, fsm.ErrNotUnique) {
					return err // else the repair came first
				}
				return nil
			})
		}},
	}
	for _, scene := range scenes {
		for _, lifted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, kept %t", scene.name, !lifted), func(t *testing.T) {
				t.Parallel()
				o := &order{crossing: &crossing{t: t}, dsn: pgtest.DSN(t), schema: storetest.Schema()}
				o.schema.SQL = map[string]string{"postgres": string(text)}
				o.dialect = loose{postgres: Postgres(WithLogger(slog.New(slog.DiscardHandler))).(*postgres), met: new(atomic.Int64)}
				o.dialect.moment = time.Minute // so that the server speaks first
				if lifted && scene.lift != nil {
					scene.lift(&o.dialect)
				}
				var err error
				if o.db, err = sql.Open("pgx", o.dsn); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { o.db.Close() })
				scene.run(o, lifted)
				if n := o.dialect.met.Load(); (n > 0) != lifted {
					t.Errorf("the server ended %d deadlocks", n)
				}
			})
		}
	}
}
