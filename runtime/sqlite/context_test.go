package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// office is a machine in a store of which somebody else has what calls wait for.
type office struct {
	*testing.T
	store fsm.Store
	path  string
	m     *parcels
}

// asked is a kind of call on the parcel of an id.
type asked struct {
	reads bool // it waits for no writer
	due   bool // its parcel's time has come
	free  bool // its parcel is held by nobody
	call  func(ctx context.Context, o *office, id string) error
}

func who(request string) storetest.Meta { return storetest.Meta{Actor: "ann", RequestID: request} }

func weigh(id string) fsmimpl.Item[storetest.Parcel] {
	return fsmimpl.Item[storetest.Parcel]{At: fsm.Ref{ID: id}, Call: storetest.Weigh(who("call "+id), 1)}
}

var askings = map[string]asked{
	"create": {call: func(ctx context.Context, o *office, id string) error {
		_, err := o.m.Create(ctx, storetest.Register(who("call "+id), storetest.RegisterInput{ID: "new " + id, Lane: "l"}))
		return err
	}},
	"create many": {call: func(ctx context.Context, o *office, id string) error {
		made := storetest.Register(who("call "+id), storetest.RegisterInput{ID: "new " + id, Lane: "l"})
		_, err := o.m.CreateMany(ctx, []fsmimpl.Call[storetest.Parcel]{made})
		return err
	}},
	"apply on held": {call: func(ctx context.Context, o *office, id string) error {
		_, err := o.m.Apply(ctx, fsm.Ref{ID: id, Rev: 2}, weigh(id).Call)
		return err
	}},
	"apply by id": {call: func(ctx context.Context, o *office, id string) error {
		_, err := o.m.Apply(ctx, fsm.Ref{ID: id}, weigh(id).Call)
		return err
	}},
	"effect": {call: func(ctx context.Context, o *office, id string) error {
		_, err := o.m.Apply(ctx, fsm.Ref{ID: id}, storetest.Bill(who("call "+id)))
		return err
	}},
	"guard": {call: func(ctx context.Context, o *office, id string) error {
		_, err := o.m.Apply(ctx, fsm.Ref{ID: id}, storetest.Shelve(who("call "+id), "slot "+id, "t"))
		return err
	}},
	"batch": {call: func(ctx context.Context, o *office, id string) error {
		_, err := o.m.ApplyMany(ctx, []fsmimpl.Item[storetest.Parcel]{weigh(id)})
		return err
	}},
	"pick": {free: true, call: func(ctx context.Context, o *office, id string) error {
		_, err := o.m.Pick(ctx, 1, storetest.Hold(who("call "+id), id, time.Now().Add(time.Hour)))
		return err
	}},
	"sweep": {due: true, call: func(ctx context.Context, o *office, _ string) error { _, err := o.m.Sweep(ctx); return err }},
	"count": {reads: true, call: func(ctx context.Context, o *office, _ string) error { _, err := o.m.Count(ctx); return err }},
	"list": {reads: true, call: func(ctx context.Context, o *office, _ string) error {
		for _, err := range o.m.List(ctx, driver.Query{}) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	"history": {reads: true, call: func(ctx context.Context, o *office, id string) error {
		for _, err := range o.m.History(ctx, id) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	"record": {reads: true, call: func(ctx context.Context, o *office, id string) error { _, err := o.m.Record(ctx, id); return err }},
}

// prepare makes the parcel of a call.
func (o *office) prepare(a asked, id string) {
	o.Helper()
	due := time.Now().Add(time.Hour)
	if a.due {
		due = time.Now().Add(-time.Hour)
	}
	_, err := o.m.Create(o.Context(), storetest.Register(who("make "+id), storetest.RegisterInput{ID: id, Lane: id}))
	if err == nil && !a.free {
		_, err = o.m.Apply(o.Context(), fsm.Ref{ID: id}, storetest.Hold(who("hold "+id), id, due))
	}
	if err != nil {
		o.Fatal(err)
	}
}

// events counts the events of the store.
func (o *office) events() (n int) {
	o.Helper()
	for _, err := range o.m.Log(o.Context(), "") {
		if err != nil {
			o.Fatal(err)
		}
		n++
	}
	return n
}

// obstacle is what stands in the way of calls.
type obstacle struct {
	memory bool // the store is in memory
	reads  bool // calls that only read wait, too
	put    func(o *office) (remove func())
}

var obstacles = map[string]obstacle{
	"a locked file": {put: func(o *office) func() {
		db := foreign(o.T, o.path, settings)
		if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
			o.Fatal(err)
		}
		return func() {
			if _, err := db.Exec("ROLLBACK"); err != nil {
				o.Fatal(err)
			}
			db.Close()
		}
	}},
	"a full pool": {reads: true, put: func(o *office) func() {
		tab := table(o.T, o.store, parcelSchema(o.T))
		return o.hang(func(f func() error) error {
			return tab.Update(context.Background(), func(driver.Tx) error { return f() })
		}, func(f func() error) error {
			return tab.View(context.Background(), func(driver.Reader) error { return f() })
		})
	}},
	"memory in use": {memory: true, reads: true, put: func(o *office) func() {
		tx, err := o.store.(*memstore.Store).Begin(o.Context())
		if err != nil {
			o.Fatal(err)
		}
		return tx.Rollback
	}},
}

// hang takes all sessions: those of writers, and those of readers.
func (o *office) hang(write, read func(f func() error) error) (remove func()) {
	var inside, all sync.WaitGroup
	open := make(chan struct{})
	for i := range 1 + sqlstore.Readers {
		use := read
		if i == 0 {
			use = write
		}
		inside.Add(1)
		all.Go(func() {
			if err := use(func() error { inside.Done(); <-open; return nil }); err != nil {
				o.Error(err)
			}
		})
	}
	inside.Wait()
	return func() {
		close(open)
		all.Wait()
	}
}

// A context that ends while a call waits, for the file, for a session or for the store in memory,
// ends the call, which was not applied. What it waits for is held until then. The same call again
// is applied. The clock is the test's own, so each call is cut in the wait that is told.
func TestContextEndsWaits(t *testing.T) {
	t.Parallel()
	for what, by := range obstacles {
		for name, a := range askings {
			if a.reads && !by.reads {
				continue
			}
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					o := newOffice(t, by.memory)
					o.prepare(a, name)
					before := o.events()
					remove := by.put(o)
					for _, later := range []int64{0, 1, 2, 10, 100, 1000} {
						ctx, cancel := context.WithCancel(t.Context())
						end := make(chan error, 1)
						go func() { end <- a.call(ctx, o, name) }()
						time.Sleep(time.Duration(later) * time.Millisecond)
						synctest.Wait()
						if len(end) > 0 {
							t.Errorf("it has ended within %d ms: %v", later, <-end)
							cancel()
							continue
						}
						cancel()
						synctest.Wait()
						select {
						case err := <-end:
							if !errors.Is(err, context.Canceled) || errors.Is(err, fsm.ErrAmbiguous) {
								t.Errorf("after %d ms: %v, want that it was canceled", later, err)
							}
						default:
							t.Errorf("after %d ms: the context has ended, the call has not: %v", later, <-end)
						}
					}
					remove()
					if n := o.events(); n != before {
						t.Errorf("%d events were written", n-before)
					}
					if err := a.call(t.Context(), o, name); err != nil {
						t.Errorf("the same call again: %v", err)
					}
					if wrote := o.events() > before; wrote == a.reads {
						t.Errorf("the same call again wrote: %t", wrote)
					}
				})
			})
		}
	}
}

// newOffice opens a store whose waits end by an event only: its time is an hour.
func newOffice(t *testing.T, memory bool) *office {
	t.Helper()
	o := &office{T: t, path: filepath.Join(t.TempDir(), "x.db")}
	if memory {
		o.store = memstore.New()
	} else {
		o.store = open(t, o.path, sqlite.WithBusyTimeout(time.Hour))
	}
	var err error
	if o.m, err = openParcels(t, o.store); err != nil {
		t.Fatal(err)
	}
	return o
}
