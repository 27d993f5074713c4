package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// asked is a kind of call on the parcel of an id, which is held in a lane of its name.
type asked struct {
	row, group, place bool // what it waits for, where that is locked
	free              bool // it waits for nothing: it only reads, or passes over
	due               bool // its parcel's time has come
	waiting           bool // its parcel is held by nobody
	call              func(ctx context.Context, q *queue, id string) error
}

// joined makes a call in a transaction of the test's.
func joined(ctx context.Context, q *queue, call func(in machine) error) error {
	tx, err := q.db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	in, err := q.m.In(context.WithoutCancel(ctx), fsm.Join(q.store, tx))
	if err == nil {
		err = call(in)
	}
	if err == nil {
		err = tx.Commit()
	}
	return err
}

var askings = map[string]asked{
	"create": {place: true, call: func(ctx context.Context, q *queue, id string) error {
		_, err := q.m.Create(ctx, storetest.Register(by("call "+id), storetest.RegisterInput{Lane: "l", Label: fsm.Some(id)}))
		return err
	}},
	"create many": {place: true, call: func(ctx context.Context, q *queue, id string) error {
		_, err := q.m.CreateMany(ctx, []fsmimpl.Call[storetest.Parcel]{storetest.Register(by("call "+id), storetest.RegisterInput{Lane: "l", Label: fsm.Some(id)})})
		return err
	}},
	"apply on held": {row: true, call: func(ctx context.Context, q *queue, id string) error {
		_, err := q.m.Apply(ctx, fsm.Ref{ID: id, Rev: 2}, storetest.Weigh(by("call "+id), 1))
		return err
	}},
	"apply by id": {row: true, call: func(ctx context.Context, q *queue, id string) error {
		_, err := q.m.Apply(ctx, fsm.Ref{ID: id}, storetest.Weigh(by("call "+id), 1))
		return err
	}},
	"effect": {row: true, call: func(ctx context.Context, q *queue, id string) error {
		_, err := q.m.Apply(ctx, fsm.Ref{ID: id}, storetest.Bill(by("call "+id)))
		return err
	}},
	"guard": {row: true, group: true, call: func(ctx context.Context, q *queue, id string) error {
		_, err := q.m.Apply(ctx, fsm.Ref{ID: id}, storetest.Shelve(by("call "+id), "slot "+id, "t"))
		return err
	}},
	"batch": {row: true, group: true, call: func(ctx context.Context, q *queue, id string) error {
		_, err := q.m.ApplyMany(ctx, []fsmimpl.Item[storetest.Parcel]{
			{At: fsm.Ref{ID: id}, Call: storetest.Weigh(by("weigh "+id), 1)}, {At: fsm.Ref{ID: id}, Call: storetest.Shelve(by("call "+id), "slot "+id, "t")},
		})
		return err
	}},
	"joined": {row: true, group: true, call: func(ctx context.Context, q *queue, id string) error {
		return joined(ctx, q, func(in machine) error {
			_, err := in.Apply(ctx, fsm.Ref{ID: id}, storetest.Shelve(by("call "+id), "slot "+id, "t"))
			return err
		})
	}},
	"pick": {row: true, waiting: true, call: func(ctx context.Context, q *queue, id string) error {
		_, err := q.m.Pick(ctx, 1, storetest.Hold(by("call "+id), id, time.Now().Add(time.Hour)))
		return err
	}},
	"sweep": {row: true, due: true, call: func(ctx context.Context, q *queue, _ string) error {
		_, err := q.m.Sweep(ctx)
		return err
	}},
	"deliver": {free: true, call: func(ctx context.Context, q *queue, _ string) error { _, err := q.m.Deliver(ctx); return err }},
	"count":   {free: true, call: func(ctx context.Context, q *queue, _ string) error { _, err := q.m.Count(ctx); return err }},
	"list": {free: true, call: func(ctx context.Context, q *queue, _ string) error {
		for _, err := range q.m.List(ctx, driver.Query{}) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	"history": {free: true, call: func(ctx context.Context, q *queue, id string) error {
		for _, err := range q.m.History(ctx, id) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	"group": {free: true, call: func(ctx context.Context, q *queue, id string) error {
		_, err := q.m.Group(ctx, &storetest.InLane, []any{id})
		return err
	}},
	"record": {free: true, call: func(ctx context.Context, q *queue, id string) error { _, err := q.m.Record(ctx, id); return err }},
}

// prepare makes the parcel of a call.
func (q *queue) prepare(a *asked, id string) {
	q.Helper()
	due := time.Now().Add(time.Hour)
	if a.due {
		due = time.Now().Add(-time.Hour)
	}
	if !a.waiting {
		lane := func(int) string { return id }
		q.held(due, lane, id)
		q.held(time.Now().Add(time.Hour), lane, "blocker "+id)
		return
	}
	if _, err := registerIn(q.Context(), q.m, id, id); err != nil {
		q.Fatal(err)
	}
}

// events counts the events of the database.
func (q *queue) events() (n int) {
	q.Helper()
	if err := q.db.QueryRowContext(q.Context(), `SELECT count(*) FROM parcel_events`).Scan(&n); err != nil {
		q.Fatal(err)
	}
	return n
}

// returned waits for the end of a call while what it waits for stays as it is.
func (q *queue) returned(what string, end <-chan error) error {
	q.Helper()
	select {
	case err := <-end:
		return err
	case <-time.After(time.Minute): // only against a test that hangs
		q.Fatalf("%s: the context has ended, the call has not", what)
		return nil
	}
}

// A context that ends while the server waits for a lock ends the call, which was not applied, and
// the statement. The lock is held until then. The same call again is applied.
func TestContextEndsLockWaits(t *testing.T) {
	t.Parallel()
	locks := map[string]func(q *queue, tx *sql.Tx, id string) error{
		"row": func(q *queue, tx *sql.Tx, id string) error {
			return lines["record"].lock(q, tx, []string{id})
		},
		"group": func(q *queue, tx *sql.Tx, id string) error {
			return lines["group"].lock(q, tx, []string{"blocker " + id})
		},
		"place": func(q *queue, tx *sql.Tx, id string) error {
			return lines["place of a creation"].lock(q, tx, []string{id})
		},
	}
	for name, a := range askings {
		for locked, lock := range locks {
			if !(locked == "row" && a.row || locked == "group" && a.group || locked == "place" && a.place) {
				continue
			}
			t.Run(name+" "+locked, func(t *testing.T) {
				t.Parallel()
				q := newQueue(t, pgtest.DSN(t))
				// ends ends a call that waits, and reports whether the server was too slow to say
				// what became of it.
				ends := func(id, lasts string) (slow bool) {
					q.prepare(&a, id)
					tx, err := q.db.BeginTx(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = tx.Rollback() })
					if err := lock(q, tx, id); err != nil {
						t.Fatal(err)
					}
					before := q.events()
					ctx, cancel := context.WithCancel(t.Context())
					end := make(chan error, 1)
					go func() { end <- a.call(ctx, q, id) }()
					q.until("a wait", func() (waits bool) {
						if err := q.db.QueryRowContext(t.Context(), `SELECT count(*) > 0 FROM pg_stat_activity, pg_sleep(0.01)
							WHERE datname = current_database() AND wait_event_type = 'Lock' AND clock_timestamp() - query_start >= $1::interval`, lasts).Scan(&waits); err != nil {
							t.Fatal(err)
						}
						return waits
					})
					cancel()
					if err := q.returned(lasts, end); !errors.Is(err, context.Canceled) {
						t.Errorf("after %s: %v, want that it was canceled", lasts, err)
					} else {
						slow = errors.Is(err, fsm.ErrAmbiguous)
					}
					q.until("the end of the statement", func() bool { return q.waiting() == 0 })
					if err := tx.Rollback(); err != nil {
						t.Fatal(err)
					}
					if n := q.events(); n != before {
						t.Errorf("after %s: %d events were written", lasts, n-before)
					}
					if err := a.call(t.Context(), q, id); err != nil {
						t.Errorf("the same call again: %v", err)
					}
					if q.events() == before {
						t.Error("the same call again wrote nothing")
					}
					return slow
				}
				for _, lasts := range []string{"0 s", "0.2 s"} { // in its first try, and later
					n := 0
					for ends(fmt.Sprint(lasts, n), lasts) {
						if n++; n == 20 {
							t.Fatalf("after %s: nobody ever said what became of the call", lasts)
						}
					}
				}
			})
		}
	}
}

// A context that ends while all sessions are taken ends the call, which was not applied.
func TestContextEndsTheWaitForSessions(t *testing.T) {
	t.Parallel()
	q := newQueue(t, pgtest.DSN(t))
	var inside sync.WaitGroup
	open := make(chan struct{})
	inside.Add(sessions)
	hang := map[string]fsmimpl.EffectFunc[storetest.Parcel]{"carry": nothing, "notify": nothing, "charge": func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
		inside.Done()
		<-open
		return nil
	}}
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	m, err := fsm.NewMachine(t.Context(), q.store, storetest.Descriptor(schema), hang)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range askings {
		q.prepare(&a, name)
	}
	var ids []string
	for i := range sessions {
		ids = append(ids, fmt.Sprint("hangs ", i))
	}
	q.held(time.Now().Add(time.Hour), func(int) string { return "hangs" }, ids...)
	var hanging sync.WaitGroup
	for _, id := range ids {
		hanging.Go(func() {
			if _, err := m.Apply(context.Background(), fsm.Ref{ID: id}, storetest.Bill(by("bill "+id))); err != nil {
				t.Error(err)
			}
		})
	}
	release := sync.OnceFunc(func() { close(open) })
	defer hanging.Wait()
	defer release()
	inside.Wait()
	before := q.events()
	for name, a := range askings {
		if name == "joined" { // it has a session of its own
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		end := make(chan error, 1)
		go func() { end <- a.call(ctx, q, name) }()
		cancel()
		if err := q.returned(name, end); !errors.Is(err, context.Canceled) || errors.Is(err, fsm.ErrAmbiguous) {
			t.Errorf("%s: %v, want that it was canceled", name, err)
		}
	}
	if n := q.events(); n != before {
		t.Errorf("%d events were written", n-before)
	}
	release()
	hanging.Wait()
	for name, a := range askings {
		if err := a.call(t.Context(), q, name); err != nil {
			t.Errorf("%s again: %v", name, err)
		}
	}
}

// A context that ends while the server stands still ends the call, of which nobody knows whether
// it was applied. Those whose contexts last get their answers when the server goes on, and the
// same calls again are applied once.
func TestContextEndsBeforeTheServerAnswers(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	q := newQueue(t, server.DSN())
	for name, a := range askings {
		q.prepare(&a, name)
	}
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	resume := sync.OnceFunc(func() {
		if err := server.Resume(); err != nil {
			t.Error(err)
		}
	})
	defer resume()
	const lasting = 20
	errs := make([]error, lasting)
	var all sync.WaitGroup
	for i := range lasting {
		all.Go(func() { _, errs[i] = registerIn(context.WithoutCancel(t.Context()), q.m, fmt.Sprint("lasts ", i), "l") })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	ends := map[string]chan error{}
	for name, a := range askings {
		if name != "joined" { // its transaction is the test's
			end := make(chan error, 1)
			ends[name] = end
			go func() { end <- a.call(ctx, q, name) }()
		}
	}
	for i := range lasting {
		name := fmt.Sprint("leaves ", i)
		end := make(chan error, 1)
		ends[name] = end
		go func() { _, err := registerIn(ctx, q.m, name, "l"); end <- err }()
	}
	for name, end := range ends {
		if err := q.returned(name, end); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, fsm.ErrAmbiguous) {
			t.Errorf("%s: %v, want that its time is over, or that nobody knows", name, err)
		}
	}
	resume()
	all.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("caller %d, whose context lasts: %v", i, err)
		}
	}
	for name, a := range askings {
		if err := a.call(t.Context(), q, name); err != nil {
			t.Errorf("%s again: %v", name, err)
		}
	}
	for i := range lasting {
		if out, err := registerIn(t.Context(), q.m, fmt.Sprint("leaves ", i), "l"); err != nil || out.Record.Rev != 1 {
			t.Errorf("caller %d again: revision %d, %v", i, out.Record.Rev, err)
		}
	}
	for f, err := range audit.Run(t.Context(), q.m) {
		t.Errorf("audit: %v, %v", f, err)
	}
}
