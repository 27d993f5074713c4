// Package storetest is the conformance suite of stores: a store that passes it
// keeps what fsm.Store, fsm.Table, fsm.Reader and fsm.Tx promise, and the
// engine over it keeps the guarantees that package fsm lists.
//
// What it cannot see from outside the process it does not test: that a commit
// survives a crash or a power cut is for the tests of each store.
//
// Every test gets a store of its own, which must be empty. The machine is the
// parcel of parcel.yaml; a store that runs on generated SQL hands it in by
// WithSQL. The writes of the suite obey the specification, so it passes at every
// level of enforcement.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Option sets something about the suite.
type Option func(*suite)

// WithSQL hands in the SQL that was generated from Spec, by dialect.
func WithSQL(sql map[string]string) Option { return func(s *suite) { s.sql = sql } }

type suite struct {
	open func(testing.TB) fsm.Store
	sql  map[string]string
}

// Run runs the suite. open returns an empty store and closes it with tb.Cleanup.
func Run(t *testing.T, open func(tb testing.TB) fsm.Store, opts ...Option) {
	s := &suite{open: open}
	for _, opt := range opts {
		opt(s)
	}
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"schema", schemaTests},
		{"rollout", rolloutTests},
		{"write", writeTests},
		{"request", requestTests},
		{"unique", uniqueTests},
		{"query", append(queryTests, laterTests...)},
		{"lookup", lookupTests},
		{"inspect", inspectTests},
		{"lock", lockTests},
		{"log", logTests},
		{"watch", watchTests},
		{"transaction", transactionTests},
		{"peers", peerTests},
		{"outbox", outboxTests},
		{"engine", engineTests},
		{"projection", projectionTests},
		{"repair", repairTests},
		{"redact", redactTests},
		{"import", importTests},
		{"race", raceTests},
		{"crowd", crowdTests},
		{"limits", limitTests},
		{"values", valueTests},
		{"spelling", spellingTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					test.run(newBench(t, s))
				})
			}
		})
	}
}

type test struct {
	name string
	run  func(*bench)
}

// bench is a store with the suite's table in it.
type bench struct {
	*testing.T
	ctx    context.Context
	store  fsm.Store
	schema *driver.Schema
	table  driver.Table
	suite  *suite
}

func newBench(t *testing.T, s *suite) *bench {
	t.Helper()
	b := &bench{T: t, ctx: t.Context(), store: s.open(t), schema: Schema(), suite: s}
	b.schema.SQL = s.sql
	table, err := b.store.Table(b.schema)
	if err != nil {
		t.Fatalf("Table: %v", err)
	}
	b.table = table
	if err := table.Migrate(b.ctx); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	return b
}

// instant is when everything in the low-level tests happens.
var instant = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// parcel returns a waiting parcel at revision 1.
func parcel(id, lane string) Parcel {
	return Parcel{ID: id, State: "waiting", Rev: 1, CreatedAt: instant, UpdatedAt: instant, Lane: lane}
}

// creation returns the write that makes p.
func creation(p Parcel, requestID string) *driver.Write {
	row := Encode(&p)
	w := &driver.Write{Prev: fsm.Ref{ID: p.ID}, Row: &row}
	w.Event = event(p, "register", "", "waiting", requestID, 0)
	w.Event.Image = fsm.MustJSON(fmt.Sprintf(`{"lane":%q}`, p.Lane))
	w.Event.Changes = w.Event.Image
	if requestID == "" {
		w.Event.RequestN = -1
	}
	w.Event.Sum = driver.Checksum(&w.Event)
	return w
}

// change returns the write that moves old to next by an operation.
func change(old, next Parcel, operation, requestID string) *driver.Write {
	row, before := Encode(&next), Encode(&old)
	w := &driver.Write{Prev: old.Ref(), PrevState: old.State, Row: &row}
	for i := range row.Values {
		if row.Values[i] != before.Values[i] {
			w.Changed = append(w.Changed, i)
		}
	}
	w.Event = event(next, operation, old.State, next.State, requestID, -1)
	w.Event.Sum = driver.Checksum(&w.Event)
	return w
}

// note returns the write of a record-only event.
func note(p Parcel, requestID string) *driver.Write {
	w := &driver.Write{Prev: p.Ref(), PrevState: p.State}
	w.Event = event(p, "touch", p.State, p.State, requestID, -1)
	w.Event.Guard = "right_holder"
	w.Event.Sum = driver.Checksum(&w.Event)
	return w
}

func event(p Parcel, operation, from, to, requestID string, n int64) fsm.Event {
	return fsm.Event{
		ID: p.ID, Rev: p.Rev, Operation: operation, Name: operation, From: from, To: to, At: instant,
		Actor: "ann", Reason: "because \"so\"", RequestID: requestID, RequestN: n, Fingerprint: "v1:00",
		Labels: map[string]string{"trace": "x1", "é": "ü"},
		Inputs: fsm.MustJSON(`{"a":[1,2.50,"ö"]}`), Changes: fsm.MustJSON(`{}`), Version: 1,
	}
}

// held returns p in the hands of a holder until due, one revision on.
func (p Parcel) held(holder string, due time.Time) Parcel {
	p.State, p.Rev = "held", p.Rev+1
	p.Holder, p.Due = fsm.Some(holder), fsm.Some(due)
	return p
}

// shelved returns p in a slot, one revision on.
func (p Parcel) shelved(slot string) Parcel {
	p.State, p.Rev, p.Moves = "shelved", p.Rev+1, p.Moves+1
	p.Slot, p.Holder, p.Due = fsm.Some(slot), fsm.Optional[string]{}, fsm.Optional[time.Time]{}
	return p
}

// sent returns p sent, one revision on.
func (p Parcel) sent() Parcel {
	p.State, p.Rev, p.Slot = "sent", p.Rev+1, fsm.Optional[string]{}
	return p
}

// commit commits a write that must succeed.
func (b *bench) commit(w *driver.Write) {
	b.Helper()
	if err := b.table.Commit(b.ctx, w); err != nil {
		b.Fatalf("Commit of %s: %v", w.Prev, err)
	}
}

// make commits a new parcel.
func (b *bench) make(p Parcel) Parcel {
	b.Helper()
	b.commit(creation(p, ""))
	return p
}

// makeHeld commits a parcel and the step into held.
func (b *bench) makeHeld(p Parcel, holder string, due time.Time) Parcel {
	b.Helper()
	b.make(p)
	next := p.held(holder, due)
	b.commit(change(p, next, "hold", ""))
	return next
}

// makeShelved commits a parcel and the steps into a slot.
func (b *bench) makeShelved(p Parcel, slot string) Parcel {
	b.Helper()
	held := b.makeHeld(p, "ann", instant.Add(time.Hour))
	next := held.shelved(slot)
	b.commit(change(held, next, "shelve", ""))
	return next
}

// refuse commits a write that must be refused with want and leave no trace.
func (b *bench) refuse(w *driver.Write, want error) {
	b.Helper()
	before := b.dump()
	if err := b.table.Commit(b.ctx, w); !errors.Is(err, want) {
		b.Fatalf("Commit of %s: got %v, want %v", w.Prev, err, want)
	}
	b.same(before, b.dump())
}

// view reads and must succeed.
func (b *bench) view(f func(r driver.Reader) error) {
	b.Helper()
	if err := b.table.View(b.ctx, f); err != nil {
		b.Fatalf("View: %v", err)
	}
}

// update writes and must succeed.
func (b *bench) update(f func(tx fsm.Tx) error) {
	b.Helper()
	if err := b.table.Update(b.ctx, f); err != nil {
		b.Fatalf("Update: %v", err)
	}
}

// row returns a row that must be there.
func (b *bench) row(id string) driver.Row {
	b.Helper()
	var row driver.Row
	b.view(func(r driver.Reader) (err error) {
		row, err = r.Row(id)
		return err
	})
	return row
}

// events returns the whole log of a record.
func (b *bench) events(id string) []fsm.Event {
	b.Helper()
	var list []fsm.Event
	b.view(func(r driver.Reader) error {
		list = nil
		for e, err := range r.Events(id, 0) {
			if err != nil {
				return err
			}
			list = append(list, e)
		}
		return nil
	})
	return list
}

// dump is all that a reader sees, as comparable texts.
func (b *bench) dump() []string {
	b.Helper()
	var lines []string
	b.view(func(r driver.Reader) error {
		lines = nil
		for row, err := range r.Rows(driver.Query{}) {
			if err != nil {
				return err
			}
			lines = append(lines, rowText(row))
			for e, err := range r.Events(row.ID, 0) {
				if err != nil {
					return err
				}
				lines = append(lines, eventText(e))
			}
		}
		box, err := r.Outbox(instant.AddDate(100, 0, 0), 1000)
		for _, d := range box {
			lines = append(lines, fmt.Sprintf("outbox %s %s %s %d %s %q",
				placeOf(&d), d.Effect, d.Key, d.Attempts, stamp(d.Due), d.LastError))
		}
		orphans, orphanErr := r.Orphans("", 1000)
		for _, id := range orphans {
			lines = append(lines, "orphan "+id)
		}
		return errors.Join(err, orphanErr)
	})
	return lines
}

// same compares two lists of lines.
func (b *bench) same(want, got []string) {
	b.Helper()
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			b.Fatalf("line %d is missing: %s", i, want[i])
		case i >= len(want):
			b.Fatalf("line %d is too much: %s", i, got[i])
		case want[i] != got[i]:
			b.Fatalf("line %d\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}

// rowText is a row as a comparable text that shows the Go type of each value.
func rowText(row driver.Row) string {
	s := fmt.Sprintf("row %q %s %d %s %s", row.ID, row.State, row.Rev, stamp(row.CreatedAt), stamp(row.UpdatedAt))
	for _, v := range row.Values {
		if t, ok := v.(time.Time); ok {
			s += " time:" + stamp(t)
			continue
		}
		s += fmt.Sprintf(" %T:%v", v, v)
	}
	return s
}

// eventText is an event as a comparable text.
func eventText(e fsm.Event) string {
	at := stamp(e.At)
	e.At, e.Chain = time.Time{}, 0 // what the store makes of the log has tests of its own
	if len(e.Labels) == 0 {
		e.Labels = nil
	}
	return fmt.Sprintf("event %s %+v", at, e)
}

// stamp shows that a time is UTC and has nothing below a microsecond.
func stamp(t time.Time) string {
	if t.Location() != time.UTC {
		return "not UTC: " + t.String()
	}
	return t.Format(time.RFC3339Nano)
}

// ids collects rows' ids.
func (b *bench) ids(q driver.Query) []string {
	b.Helper()
	ids := []string{}
	b.view(func(r driver.Reader) error {
		ids = ids[:0]
		for row, err := range r.Rows(q) {
			if err != nil {
				return err
			}
			ids = append(ids, row.ID)
		}
		return nil
	})
	return ids
}
