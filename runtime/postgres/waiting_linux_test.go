package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// queue is a store whose callers wait for what a session of the test holds.
type queue struct {
	*testing.T
	db    *sql.DB
	store *sqlstore.Store
	m     machine
}

// sessions is how many a queue's store has.
const sessions = 8

// newQueue opens a store whose waits end by an event only: its times are those of an hour.
func newQueue(t *testing.T, dsn string) *queue {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	store, err := postgres.Open(t.Context(), dsn, postgres.WithMaxSessions(sessions), postgres.WithDeadline(time.Hour), quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
		t.Fatal(err)
	}
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(schema), effects)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &queue{T: t, db: db, store: store, m: m}
}

func by(request string) storetest.Meta { return storetest.Meta{Actor: "ann", RequestID: request} }

// held makes parcels that somebody holds until due, each in the lane that it is told.
func (q *queue) held(due time.Time, lane func(i int) string, ids ...string) {
	q.Helper()
	var makes []fsmimpl.Call[storetest.Parcel]
	var holds []fsmimpl.Item[storetest.Parcel]
	for i, id := range ids {
		makes = append(makes, storetest.Register(by("make "+id), storetest.RegisterInput{ID: id, Lane: lane(i)}))
		holds = append(holds, fsmimpl.Item[storetest.Parcel]{At: fsm.Ref{ID: id}, Call: storetest.Hold(by("hold "+id), lane(i), due)})
	}
	if _, err := q.m.CreateMany(q.Context(), makes); err != nil {
		q.Fatal(err)
	}
	if _, err := q.m.ApplyMany(q.Context(), holds); err != nil {
		q.Fatal(err)
	}
}

// waiting returns how many sessions of the server wait for a lock.
func (q *queue) waiting() (n int) {
	q.Helper()
	if err := q.db.QueryRowContext(q.Context(), `SELECT count(*) FROM pg_stat_activity, pg_sleep(0.01)
		WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n); err != nil {
		q.Fatal(err)
	}
	return n
}

// until waits for an event that a query of the server tells of.
func (q *queue) until(what string, happened func() bool) {
	q.Helper()
	for over := time.After(time.Minute); !happened(); {
		select {
		case <-over: // only against a test that hangs
			q.Fatalf("%s does not happen", what)
		default:
		}
	}
}

// others makes one call of each kind that has nothing to do with what is waited for.
func (q *queue) others(round string) {
	q.Helper()
	ctx, cancel := context.WithTimeout(q.Context(), time.Minute) // only against a test that hangs
	defer cancel()
	lane := "others " + round
	due := time.Now().Add(time.Hour)
	report := func(what string, err error) {
		q.Helper()
		if err != nil {
			q.Errorf("%s, while others wait: %v", what, err)
		}
	}
	_, err := registerIn(ctx, q.m, "claimed "+round, lane)
	report("a creation", err)
	outs, err := q.m.Pick(ctx, 1, storetest.Hold(by("claim "+round), lane, due))
	report("a claim", err)
	if len(outs) == 1 {
		_, err = q.m.Apply(ctx, outs[0], storetest.Touch(by("beat "+round), due.Add(time.Hour)))
		report("a heartbeat", err)
	}
	_, err = q.m.Apply(ctx, fsm.Ref{ID: "claimed " + round}, storetest.Bill(by("bill "+round)))
	report("a call with an effect", err)
	_, err = q.m.Apply(ctx, fsm.Ref{ID: "claimed " + round}, storetest.Shelve(by("shelve "+round), lane, "t"))
	report("a call that counts others", err)
	n, err := q.m.Sweep(ctx)
	report("a sweep", err)
	if n != 1 {
		q.Errorf("a sweep, while others wait: %d steps, want 1", n)
	}
	_, err = q.m.Deliver(ctx)
	report("a delivery", err)
	_, err = q.m.Count(ctx)
	report("a count", err)
}

// line is a kind of thing that callers wait for.
type line struct {
	// lock takes the things in a transaction of the test's.
	lock func(q *queue, tx *sql.Tx, things []string) error
	// call waits for a thing: the i-th call for it.
	call func(ctx context.Context, q *queue, thing string, i int) error
	// ends reports whether one of n calls for one thing may have come to this end.
	ends func(err error) bool
	// most is how many of the calls for one thing are done in the end.
	most int
}

// lines are records, groups and places of unique rules.
var lines = map[string]line{
	"record": {
		most: 64,
		lock: func(q *queue, tx *sql.Tx, things []string) error {
			_, err := tx.ExecContext(q.Context(), `SELECT 1 FROM parcel WHERE id = ANY($1) FOR UPDATE`, things)
			return err
		},
		call: func(ctx context.Context, q *queue, thing string, i int) (err error) {
			request := fmt.Sprint("wait ", thing, i)
			switch at := (fsm.Ref{ID: thing}); i % 4 {
			case 0:
				_, err = q.m.Apply(ctx, at, storetest.Weigh(by(request), int64(i)))
			case 1:
				_, err = q.m.Apply(ctx, at, storetest.Bill(by(request)))
			case 2:
				_, err = q.m.ApplyMany(ctx, []fsmimpl.Item[storetest.Parcel]{{At: at, Call: storetest.Weigh(by(request), int64(i))}})
			case 3:
				_, err = q.m.Apply(ctx, at, storetest.Touch(by(request), time.Now().Add(time.Hour)))
			}
			return err
		},
	},
	"group": {
		most: 3, // a lane's
		lock: func(q *queue, tx *sql.Tx, things []string) error {
			in, err := q.m.In(q.Context(), fsm.Join(q.store, tx))
			for _, thing := range things {
				if err == nil {
					_, err = in.Apply(q.Context(), fsm.Ref{ID: thing}, storetest.Shelve(by("lock "+thing), "lock "+thing, "t"))
				}
			}
			return err
		},
		call: func(ctx context.Context, q *queue, thing string, i int) error {
			id := fmt.Sprint(thing, " ", i)
			_, err := q.m.Apply(ctx, fsm.Ref{ID: id}, storetest.Shelve(by("wait "+id), id, "t"))
			return err
		},
		ends: func(err error) bool { return errors.Is(err, storetest.ErrLaneFull) },
	},
	"place of a move": {
		most: 1,
		lock: func(q *queue, tx *sql.Tx, things []string) error {
			in, err := q.m.In(q.Context(), fsm.Join(q.store, tx))
			for _, thing := range things {
				if err == nil {
					_, err = in.Apply(q.Context(), fsm.Ref{ID: thing}, storetest.Shelve(by("lock "+thing), thing, "t"))
				}
			}
			return err
		},
		call: func(ctx context.Context, q *queue, thing string, i int) error {
			id := fmt.Sprint(thing, " ", i)
			_, err := q.m.Apply(ctx, fsm.Ref{ID: id}, storetest.Shelve(by("wait "+id), thing, "t"))
			return err
		},
		ends: func(err error) bool { return errors.Is(err, storetest.ErrSlotTaken) },
	},
	"place of a creation": {
		most: 64, // each is told of the one that there is
		lock: func(q *queue, tx *sql.Tx, things []string) error {
			in, err := q.m.In(q.Context(), fsm.Join(q.store, tx))
			for _, thing := range things {
				if err == nil {
					_, err = in.Create(q.Context(), storetest.Register(by("lock "+thing), storetest.RegisterInput{Lane: "lock", Label: fsm.Some(thing)}))
				}
			}
			return err
		},
		call: func(ctx context.Context, q *queue, thing string, i int) error {
			out, err := q.m.Create(ctx, storetest.Register(by(fmt.Sprint("wait ", thing, i)), storetest.RegisterInput{Lane: "wait", Label: fsm.Some(thing)}))
			if err == nil && out.Record.Label != fsm.Some(thing) {
				err = fmt.Errorf("another record: %+v", out.Record)
			}
			return err
		},
	},
}

// However many callers wait for a lock that a stranger holds, for one or for as many, all other
// calls of the process go on: the lock is held until the last of them has returned. Then each of
// those who waited comes to its end.
func TestWaitersLeaveRoom(t *testing.T) {
	t.Parallel()
	for name, l := range lines {
		for _, one := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " one=", one), func(t *testing.T) {
				t.Parallel()
				q := newQueue(t, pgtest.DSN(t))
				for k := 1; k <= 64 && !t.Failed(); k *= 2 {
					if k != 1 && k != 8 && k != 64 && !campaign.On() {
						continue
					}
					q.crowd(&l, name, k, one)
				}
				for f, err := range audit.Run(t.Context(), q.m) {
					t.Errorf("audit: %v, %v", f, err)
				}
			})
		}
	}
}

func (q *queue) crowd(l *line, name string, k int, one bool) {
	q.Helper()
	round := fmt.Sprint("k", k)
	var things, callers []string
	for i := range k {
		if i == 0 || !one {
			things = append(things, fmt.Sprint(name, " ", round, ".", i))
		}
		callers = append(callers, fmt.Sprint(things[len(things)-1], " ", nth(i, one)))
	}
	later := time.Now().Add(time.Hour)
	lane := func(i int) string { return things[min(i, len(things)-1)] }
	q.held(later, lane, things...)
	own := lane
	if name != "group" {
		own = func(i int) string { return callers[i] }
	}
	q.held(later, own, callers...)
	q.held(time.Now().Add(-time.Hour), func(int) string { return "due" }, "due "+round)
	tx, err := q.db.BeginTx(q.Context(), nil)
	if err != nil {
		q.Fatal(err)
	}
	release := sync.OnceFunc(func() { _ = tx.Rollback() })
	defer release()
	if err := l.lock(q, tx, things); err != nil {
		q.Fatal(err)
	}
	errs := make([]error, k)
	var all sync.WaitGroup
	for i := range k {
		all.Go(func() { errs[i] = l.call(q.Context(), q, lane(i), nth(i, one)) })
	}
	q.until("a wait", func() bool { return q.waiting() > 0 })
	q.others(round)
	most := sessions / 2
	if one {
		most = 1
	}
	q.until(fmt.Sprintf("%s: %d waiters take at most %d sessions", round, k, most), func() bool { n := q.waiting(); return n > 0 && n <= most })
	release()
	all.Wait()
	done := 0
	for i, err := range errs {
		switch {
		case err == nil:
			done++
		case l.ends == nil || !l.ends(err):
			q.Errorf("%s: waiter %d: %v", round, i, err)
		}
	}
	want := min(k, l.most)
	if !one {
		want = k
	}
	if done != want {
		q.Errorf("%s: %d of %d waiters were served, want %d", round, done, k, want)
	}
	if slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, fsm.ErrAmbiguous) }) {
		q.Errorf("%s: something is ambiguous", round)
	}
}

// nth is the number of the i-th caller among those for its thing.
func nth(i int, one bool) int {
	if one {
		return i
	}
	return 0
}
