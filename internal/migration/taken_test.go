package migration_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/migration"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
	"github.com/fsmgen/fsmgen/spec"
)

// During a roll-out, a program of the old version is refused as not unique only by a record
// that the rule counts. Records in states without the rule, other refusals and concurrent moves
// do not lead to that refusal. A record in a later state that has the rule does.
func TestOnlyWhatIsTakenIsToldSo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts PostgreSQL")
	}
	pairs := 1
	if campaign.On() {
		pairs = min(100, *evolutions)
	}
	for _, dialect := range []string{migration.SQLite, migration.Postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			for seed, tried := *firstSeed, 0; tried < pairs && !t.Failed(); seed++ {
				r := rand.New(rand.NewPCG(seed, 47))
				first := newRoll(r)
				first.extend = func(word string) string { // the names of indexes are shortened
					if word == "thing" {
						return strings.Repeat("g", 51)
					}
					return ""
				}
				second := first.evolve()
				old, next := parse(t, "old.yaml", first.yaml()), parse(t, "new.yaml", second.yaml())
				w := &takes{rollOut: rollOut{Rand: r, dialect: dialect, old: old, next: next}}
				if len(diff.Machines(old, next).Beside()) > 0 || !w.suits() {
					continue
				}
				tried++
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					w.T = t
					w.run()
				})
				if t.Failed() {
					t.Logf("seed %d\n%s\n%s", seed, first.yaml(), second.yaml())
				}
			}
		})
	}
}

// A rule over all states of the old version says nothing of those that the later one adds without it.
func TestLaterStatesTakeNoPlace(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts PostgreSQL")
	}
	for _, dialect := range []string{migration.SQLite, migration.Postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			for seed := *firstSeed; ; seed++ {
				r := rand.New(rand.NewPCG(seed, 53))
				first := newRoll(r)
				first.in = slices.Clone(first.states)
				second := first.evolve()
				old, next := parse(t, "old.yaml", first.yaml()), parse(t, "new.yaml", second.yaml())
				w := &takes{rollOut: rollOut{Rand: r, dialect: dialect, old: old, next: next}}
				w.suits()
				if len(diff.Machines(old, next).Beside()) > 0 || w.without == "" || len(words(next.Unique[0].In)) < len(first.in) {
					continue
				}
				w.T = t
				one, two, db := w.opened()
				in, due := first.states[first.open-1], time.Now()
				execute(t, db, `CREATE UNIQUE INDEX "of a user" ON "`+next.Name+`" ("due") WHERE "state" = '`+in+`'`)
				w.made(two, "later", "key", time.Time{}, w.without)
				w.made(two, "user", "", due, in)
				w.made(one, "refused", "key", due)
				if err := w.call(one, "to_"+in, "refused", "", time.Time{}); err == nil || errors.Is(err, fsm.ErrNotUnique) {
					t.Errorf("seed %d, into %s, a rule of a user's refuses: %v", seed, in, err)
				}
				return
			}
		})
	}
}

// takes is one pair of versions. The later one has a state without the rule, and one with it.
type takes struct {
	rollOut
	in           []string // states of the rule that both versions know
	without, has string   // later states
	heard        *heard
}

func (w *takes) suits() bool {
	old, next := words(w.old.Unique[0].In), words(w.next.Unique[0].In)
	for _, st := range w.next.States {
		switch s := st.Stored(); {
		case slices.Contains(old, s) && slices.Contains(next, s) && !st.Terminal:
			w.in = append(w.in, s)
		case s[0] == 'n' && slices.Contains(next, s):
			w.has = s
		case s[0] == 'n':
			w.without = s
		}
	}
	apart := func(s string) bool { return slices.Contains(old, s) || slices.Contains(next, s) }
	return w.without != "" && w.has != "" && len(w.in) > 0 && !apart("s0") && !apart("e0")
}

// opened migrates a database from the old version to the later one, and opens it in programs of both.
func (w *takes) opened() (one, two *program, db *sql.DB) {
	w.Helper()
	if w.place = filepath.Join(w.TempDir(), "x.db"); w.dialect == migration.Postgres {
		w.place = pgtest.DSN(w.T)
	}
	first, second := described(w.T, w.old, w.dialect, "full"), described(w.T, w.next, w.dialect, "full")
	second.Beside = []driver.SpecID{{Version: w.old.Version, Hash: w.old.Hash}}
	oldStore, store := w.listened(), w.store()
	if err := migrates(w.T, oldStore, first); err != nil {
		w.Fatal(err)
	}
	one = open(w.T, oldStore, w.old, first, "one")
	w.migrate(store, w.old, w.next, second)
	two = open(w.T, store, w.next, second, "two")
	db, err := sqlite.OpenDB(w.place)
	if w.dialect == migration.Postgres {
		db, err = sql.Open("pgx", w.place)
	}
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { db.Close() })
	return one, two, db
}

func (w *takes) run() {
	w.Helper()
	one, two, db := w.opened()
	execute(w.T, db, `CREATE UNIQUE INDEX "of a user" ON "`+w.next.Name+`" ("due") WHERE "state" IN ('`+strings.Join(w.in, "', '")+`')`)
	due := time.Now()
	for _, in := range w.in {
		for point := range w.heard.points() {
			key := fmt.Sprint(in, point)
			due = due.Add(time.Hour)
			// A rule of a user's refuses, and a record without a place moves on meanwhile.
			w.made(two, "later "+key, key, time.Time{}, w.without)
			w.made(two, "still "+key, key, time.Time{})
			w.made(two, "user "+key, "", due, in)
			w.made(one, "refused "+key, key, due)
			w.heard.then(point, func() { w.must(w.call(two, "to_"+w.without, "still "+key, "", time.Time{})) })
			if err := w.call(one, "to_"+in, "refused "+key, "", time.Time{}); err == nil || errors.Is(err, fsm.ErrNotUnique) {
				w.Errorf("into %s, at point %d, a rule of a user's refuses: %v", in, point, err)
			}
		}
		// Who holds the place leaves before the cause is asked for.
		w.made(two, "later "+in, in, time.Time{}, w.without)
		w.made(one, "next "+in, in, time.Time{})
		if w.heard != nil {
			w.made(two, "holds "+in, in, time.Time{}, in)
			w.heard.then(0, func() { w.must(w.call(two, "to_e0", "holds "+in, "", time.Time{})) })
		}
		if err := w.call(one, "to_"+in, "next "+in, "", time.Time{}); err != nil && !errors.Is(err, fsm.ErrBusy) {
			w.Errorf("into %s, nobody has the place any more: %v", in, err)
		}
		w.made(two, "has "+in, "has "+in, time.Time{}, w.has)
		w.made(one, "wants "+in, "has "+in, time.Time{})
		if err := w.call(one, "to_"+in, "wants "+in, "", time.Time{}); !errors.Is(err, fsm.ErrNotUnique) {
			w.Errorf("into %s, a record in %s has the place: %v", in, w.has, err)
		}
	}
}

func (w *takes) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// made makes a record and brings it into states.
func (w *takes) made(p *program, id, key string, due time.Time, states ...string) {
	w.Helper()
	w.must(w.call(p, "make", id, key, due))
	for _, s := range states {
		w.must(w.call(p, "to_"+s, id, "", time.Time{}))
	}
}

// call makes one call; an empty key and no due time are absent.
func (w *takes) call(p *program, operation, id, key string, due time.Time) error {
	o := p.m.Operations[slices.IndexFunc(p.m.Operations, func(o *spec.Operation) bool { return o.Name == operation })]
	c := p.request(w.Rand, o)
	for i := range c.Inputs {
		switch in := &c.Inputs[i]; {
		case in.Name == "k" && key != "":
			in.Value = key
		case in.Name == "due" && !due.IsZero():
			in.Value = driver.Time(due)
		default:
			in.Value = nil
		}
	}
	c.Decide = p.decide(o, c)
	var err error
	if len(o.Creates) > 0 {
		c.ID = id
		_, err = p.core.Create(w.Context(), c)
	} else {
		_, err = p.core.Apply(w.Context(), driver.Ref{ID: id}, c)
	}
	return err
}

// listened opens the store of the old program; on PostgreSQL its statements are heard.
func (w *takes) listened() fsm.Store {
	w.Helper()
	if w.dialect == migration.SQLite {
		return w.store()
	}
	config, err := pgx.ParseConfig(w.place)
	w.must(err)
	w.heard = &heard{Connector: stdlib.GetConnector(*config), write: `INSERT INTO "public"."` + w.old.Name + `_events"`}
	db := sql.OpenDB(w.heard)
	w.Cleanup(func() { db.Close() })
	store, err := sqlstore.New(db, sqlstore.Postgres(sqlstore.WithLogger(slog.New(slog.DiscardHandler))))
	w.must(err)
	w.Cleanup(func() { store.Close() })
	return store
}

// heard opens connections whose statements are heard.
type heard struct {
	sqldriver.Connector
	write string // what a write's statement contains
	after int    // how many statements that come after the next write
	do    func() // is called once then
	wrote bool
}

// points is how many statements after a write something may happen.
func (h *heard) points() int {
	if h == nil {
		return 1
	}
	return 8
}

// then has f called when n statements have come after the next write.
func (h *heard) then(n int, f func()) {
	if h != nil {
		h.after, h.do, h.wrote = n, f, false
	}
}

// ended hears of the end of a statement.
func (h *heard) ended(text string) {
	if h.wrote = h.wrote || strings.Contains(text, h.write); !h.wrote || h.do == nil {
		return
	}
	if h.after--; h.after < 0 {
		f := h.do
		h.do = nil
		f()
	}
}

func (h *heard) Connect(ctx context.Context) (sqldriver.Conn, error) {
	c, err := h.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &heardConn{c.(*stdlib.Conn), h}, nil
}

type heardConn struct {
	*stdlib.Conn
	h *heard
}

func (c *heardConn) ExecContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	defer c.h.ended(text)
	return c.Conn.ExecContext(ctx, text, args)
}

func (c *heardConn) QueryContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	defer c.h.ended(text)
	return c.Conn.QueryContext(ctx, text, args)
}
