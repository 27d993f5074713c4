package fsm_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// wrapped is a store in which a test can break what it likes.
type wrapped struct {
	fsm.Store
	commit func(table driver.Table, ctx context.Context, w *driver.Write) error
	update func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error
	view   func(table driver.Table, ctx context.Context, f func(driver.Reader) error) error
	single bool // it has no better way for many writes than one by one
	bulks  atomic.Int64
	looks  atomic.Int64
}

func (w *wrapped) Table(s *driver.Schema) (driver.Table, error) {
	t, err := w.Store.Table(s)
	if w.single {
		return &wrappedTable{t, w}, err
	}
	return &wrappedBulk{wrappedTable{t, w}}, err
}

type wrappedTable struct {
	driver.Table
	store *wrapped
}

func (t *wrappedTable) Commit(ctx context.Context, w *driver.Write) error {
	if f := t.store.commit; f != nil {
		return f(t.Table, ctx, w)
	}
	return t.Table.Commit(ctx, w)
}

func (t *wrappedTable) Update(ctx context.Context, f func(fsm.Tx) error) error {
	if u := t.store.update; u != nil {
		return u(t.Table, ctx, f)
	}
	return t.Table.Update(ctx, f)
}

// wrappedBulk is a table that writes many records at once.
type wrappedBulk struct{ wrappedTable }

func (t *wrappedBulk) UpdateMany(ctx context.Context, f func(driver.ManyTx) error) error {
	t.store.bulks.Add(1)
	return t.Update(ctx, func(tx fsm.Tx) error { return f(oneByOne{tx}) })
}

// oneByOne writes many records as any store can.
type oneByOne struct{ fsm.Tx }

func (o oneByOne) WriteMany(ws []*driver.Write) error {
	seen := map[string]bool{}
	for _, w := range ws {
		for _, key := range []string{"id " + w.Prev.ID, "request " + w.Event.RequestID} {
			if seen[key] && (key[0] == 'i' || w.Prev.Rev == 0) {
				panic("two writes of one statement have the " + key)
			}
			seen[key] = true
		}
	}
	for _, w := range slices.Backward(ws) { // their order says nothing
		if err := o.Write(w); err != nil {
			return err
		}
	}
	return nil
}

func (t *wrappedTable) Look(ctx context.Context, f func(driver.Reader) error) error {
	t.store.looks.Add(1)
	return t.View(ctx, f)
}

func (t *wrappedTable) View(ctx context.Context, f func(driver.Reader) error) error {
	if v := t.store.view; v != nil {
		return v(t.Table, ctx, f)
	}
	return t.Table.View(ctx, f)
}

// tampered is a reader that shows other things than the store holds.
type tampered struct {
	driver.Reader
	row     func(*driver.Row)
	event   func(*fsm.Event) bool // false: the event is not shown
	request func([]fsm.Event) []fsm.Event
	orphans []string
}

func (r *tampered) Row(id string) (driver.Row, error) {
	row, err := r.Reader.Row(id)
	if r.row != nil && err == nil {
		r.row(&row)
	}
	return row, err
}

func (r *tampered) Events(id string, from int64) iter.Seq2[fsm.Event, error] {
	return func(yield func(fsm.Event, error) bool) {
		for e, err := range r.Reader.Events(id, from) {
			if r.event != nil {
				e.Chain = 0 // as in a store that keeps none: what was done to an event by hand is found otherwise
				if !r.event(&e) {
					continue
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (r *tampered) Request(id, requestID string) ([]fsm.Event, error) {
	events, err := r.Reader.Request(id, requestID)
	if id != "" && r.event != nil {
		events = nil
		for e, err := range r.Events(id, 0) {
			if err != nil {
				return nil, err
			}
			if e.RequestID == requestID {
				events = append(events, e)
			}
		}
	}
	if r.request != nil {
		events = r.request(events)
	}
	return events, err
}

func (r *tampered) Orphans(after string, limit int) ([]string, error) {
	if r.orphans != nil && after == "" {
		return r.orphans, nil
	}
	return r.Reader.Orphans(after, limit)
}

// start is when the tests begin.
var start = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// open opens the suite's machine over store.
func open(tb testing.TB, store fsm.Store, schema *driver.Schema, opts ...fsm.Option) *fsm.Machine[storetest.Parcel] {
	tb.Helper()
	if err := fsmimpl.Migrate(tb.Context(), store, schema); err != nil {
		tb.Fatal(err)
	}
	m, err := fsm.NewMachine(tb.Context(), store, storetest.Descriptor(schema), effects(nil), opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// effects returns effects that all do f.
func effects(f fsmimpl.EffectFunc[storetest.Parcel]) map[string]fsmimpl.EffectFunc[storetest.Parcel] {
	if f == nil {
		f = func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return nil }
	}
	return map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": f, "carry": f, "notify": f}
}

// fixed is a clock that stands still.
func fixed() fsm.Option {
	return together(fsm.WithClock(func() time.Time { return start }), fsm.WithCallerTime())
}

// together returns one option that sets all of them.
func together[O ~func(T), T any](opts ...O) O {
	return O(func(t T) {
		for _, o := range opts {
			o(t)
		}
	})
}

type outcome = fsm.Outcome[storetest.Parcel]

// must passes on the outcome of a call that must succeed.
func must(tb testing.TB) func(outcome, error) outcome {
	return func(out outcome, err error) outcome {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return out
	}
}

// findings lists the checks that an audit reports.
func findings(tb testing.TB, m *fsm.Machine[storetest.Parcel], probes ...fsmimpl.Probe[storetest.Parcel]) []string {
	tb.Helper()
	var list []string
	for f, err := range audit.Run(tb.Context(), m, probes...) {
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, f.Check)
	}
	return list
}

// log returns the events of a record, or of all records for an empty id.
func log(tb testing.TB, m *fsm.Machine[storetest.Parcel], id string) []fsm.Event {
	tb.Helper()
	var list []fsm.Event
	for p, err := range m.List(tb.Context(), driver.Query{}) {
		if err != nil {
			tb.Fatal(err)
		}
		if id != "" && p.ID != id {
			continue
		}
		for e, err := range m.History(tb.Context(), p.ID) {
			if err != nil {
				tb.Fatal(err)
			}
			list = append(list, e)
		}
	}
	return list
}

var errLost = errors.New("connection reset")

func newStore() *memstore.Store { return memstore.New() }

func meta(requestID string) storetest.Meta {
	return storetest.Meta{RequestID: requestID, Actor: "ann", Reason: "why"}
}

func in(id string) storetest.RegisterInput { return storetest.RegisterInput{ID: id, Lane: "a"} }

// note is an annotation, possible in every state but the last.
func note(requestID, text string) fsmimpl.Call[storetest.Parcel] {
	return storetest.Annotate(storetest.Meta{RequestID: requestID}, fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Some(text == "x"))
}
