package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Lanes returns a projection of the parcels, by lane: it is full with three in
// slots, and a guard keeps the fourth one out.
func Lanes() *fsmimpl.Projection {
	return &fsmimpl.Projection{
		Entity: "Lane", Key: []string{"lane"},
		Rules: []fsmimpl.ProjectionRule{
			{State: "crammed", Any: []string{"shelved"}, AtLeast: 4},
			{State: "full", Any: []string{"shelved"}, AtLeast: 3},
			{State: "busy", Any: []string{"held", "shelved"}},
			{State: "idle", None: []string{"held", "shelved"}},
		},
		Moves: []fsmimpl.Move{
			{From: "idle", To: "busy"}, {From: "busy", To: "idle"},
			{From: "busy", To: "full"}, {From: "full", To: "busy"},
		},
	}
}

// Unasked is a call as a program would make it that does not look at other
// records: a guard that counts them lets it through. It is for those who look
// for what an audit finds.
func Unasked(c fsmimpl.Call[Parcel]) fsmimpl.Call[Parcel] {
	decide := c.Decide
	c.Peers = nil
	c.Decide = func(p *Parcel, id string, _ []int64, now time.Time) (fsmimpl.Step, error) {
		return decide(p, id, []int64{0}, now)
	}
	return c
}

// without returns a projection that does not allow a move.
func without(p *fsmimpl.Projection, from, to string) *fsmimpl.Projection {
	p.Moves = slices.DeleteFunc(p.Moves, func(m fsmimpl.Move) bool { return m == fsmimpl.Move{From: from, To: to} })
	return p
}

// follows audits the records with a projection and compares what is found: the
// record and revision of each finding.
func (d *depot) follows(what string, p *fsmimpl.Projection, want ...string) {
	d.Helper()
	desc := Descriptor(d.schema)
	desc.Projection = p
	none := func(context.Context, fsm.Tx, Parcel, string, fsm.Event) error { return nil }
	m, err := fsm.NewMachine(d.ctx, d.store, desc, map[string]fsmimpl.EffectFunc[Parcel]{"charge": none, "carry": none, "notify": none})
	if err != nil {
		d.Fatalf("NewMachine: %v", err)
	}
	d.wholeLog()
	var got []string
	for f, err := range audit.Run(d.ctx, m) {
		if err != nil {
			d.Fatalf("%s: audit: %v", what, err)
		}
		if f.Check != audit.CheckProjection || !f.Must {
			d.Errorf("%s: %v", what, f)
		}
		got = append(got, fmt.Sprintf("%s@%d", f.ID, f.Rev))
	}
	if !slices.Equal(got, want) {
		d.Errorf("%s: the audit found %v, want %v", what, got, want)
	}
}

// wholeLog waits until the log of all records shows what has been committed: it
// holds events back while a transaction is open that has nothing to do with them.
func (b *bench) wholeLog() {
	b.Helper()
	written, listed := 0, -1
	for range 500 {
		b.view(func(r driver.Reader) error {
			list, err := r.Log("", 10_000)
			listed, written = len(list), 0
			seen := map[string]bool{}
			for _, e := range list {
				if seen[e.ID] {
					continue
				}
				seen[e.ID] = true
				written += b.count(r, e.ID)
			}
			for row, rowErr := range r.Rows(driver.Query{}) {
				if err = errors.Join(err, rowErr); rowErr == nil && !seen[row.ID] {
					written += b.count(r, row.ID)
				}
			}
			return err
		})
		if written == listed {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.Fatalf("the log lists %d events, %d are written", listed, written)
}

// count returns how many events a record has.
func (b *bench) count(r driver.Reader, id string) (n int) {
	b.Helper()
	for _, err := range r.Events(id, 0) {
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	return n
}

// projectionTests are about the log of all records as the audit reads it. The
// clock goes on between the steps: a store may have to go by it.
var projectionTests = []test{
	{"the audit follows the projection", func(b *bench) {
		d := b.open()
		do := func(out outcome, err error) outcome {
			d.tick(time.Minute)
			return d.must(out, err)
		}
		var last outcome
		for _, id := range []string{"p1", "p2", "p3"} {
			out := do(d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: id, Lane: "a"})))
			out = do(d.Apply(d.ctx, out, Hold(Meta{Actor: "ann"}, "a", instant.Add(time.Hour))))
			last = do(d.Apply(d.ctx, out, Shelve(Meta{}, "slot "+id, "t")))
			do(d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: "o" + id, Lane: "lane of " + id})))
		}
		last = do(d.Apply(d.ctx, last, Annotate(Meta{}, fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Optional[bool]{})))
		do(d.Apply(d.ctx, last, Send(Meta{})))
		do(d.Apply(d.ctx, fsm.Ref{ID: "op2"}, Hold(Meta{Actor: "ann"}, "lane of p2", instant.Add(time.Hour))))
		do(d.Apply(d.ctx, fsm.Ref{ID: "op2"}, Expel(Meta{Actor: "root", Reason: "why"})))
		d.follows("as declared", Lanes())
		d.follows("full for ever", without(Lanes(), "full", "busy"), "p3@5")
		d.follows("never full", without(Lanes(), "busy", "full"), "p3@3")
		d.follows("never busy", without(Lanes(), "idle", "busy"), "p1@2", "op2@2")
		d.follows("any move", &fsmimpl.Projection{Entity: "Lane", Key: []string{"lane"}, Rules: Lanes().Rules})
	}},
	{"a guard that was passed by is found", func(b *bench) {
		d := b.open()
		for i := range 4 {
			id := fmt.Sprintf("p%d", i)
			d.hold(id, "a")
			d.tick(time.Minute)
			d.must(d.Apply(d.ctx, fsm.Ref{ID: id}, Unasked(Shelve(Meta{}, "slot "+id, "t"))))
			d.tick(time.Minute)
		}
		d.follows("four in a lane", Lanes(), "p3@3")
	}},
	{"the audit follows records from group to group", func(b *bench) {
		d := b.open()
		out := d.hold("p1", "a")
		d.tick(time.Minute)
		d.must(d.Apply(d.ctx, d.register("p2", "a"), Hold(Meta{Actor: "bob"}, "a", instant.Add(time.Hour))))
		d.tick(time.Minute)
		d.must(d.Apply(d.ctx, out, Shelve(Meta{}, "s1", "t")))
		hands := func() *fsmimpl.Projection {
			return &fsmimpl.Projection{
				Entity: "Hand", Key: []string{"holder"},
				Rules: []fsmimpl.ProjectionRule{{State: "full", Any: []string{"held"}}, {State: "empty"}},
				Moves: []fsmimpl.Move{{From: "empty", To: "full"}, {From: "full", To: "empty"}},
			}
		}
		d.follows("as declared", hands())
		d.follows("full for ever", without(hands(), "full", "empty"), "p1@3")
		d.follows("never full", &fsmimpl.Projection{Entity: "Hand", Key: hands().Key, Rules: hands().Rules,
			Moves: []fsmimpl.Move{{From: "full", To: "empty"}}}, "p1@2", "p2@2")
	}},
	{"of what one transaction does no order is made up", func(b *bench) {
		d := b.open()
		d.hold("p1", "a")
		d.register("p2", "a")
		d.tick(time.Minute)
		one, two := d.parcel("p1"), d.parcel("p2")
		b.update(func(tx fsm.Tx) error { // the ids say the opposite
			if err := tx.Write(b.step(two, two.held("ann", instant), "hold", d.now)); err != nil {
				return err
			}
			return tx.Write(b.step(one, one.released(), "release", d.now))
		})
		d.follows("as it was done", without(Lanes(), "busy", "idle"))
		d.follows("in whatever order", without(without(Lanes(), "busy", "idle"), "idle", "busy"), "p1@2")
	}},
	{"what a purged record took part in is not judged", func(b *bench) {
		d := b.open()
		done := func() *fsmimpl.Projection {
			p := Lanes()
			p.Rules = slices.Insert(p.Rules, 0, fsmimpl.ProjectionRule{State: "done", Any: []string{"sent"}})
			p.Moves = []fsmimpl.Move{{From: "idle", To: "busy"}, {From: "busy", To: "done"}}
			return p
		}
		do := func(out outcome, err error) outcome {
			d.tick(time.Minute)
			return d.must(out, err)
		}
		use := func(id, lane string) {
			do(d.Apply(d.ctx, fsm.Ref{ID: id}, Hold(Meta{Actor: "ann"}, lane, instant.Add(time.Hour))))
			d.tick(2 * time.Hour)
			if n, err := d.Sweep(d.ctx); n != 1 || err != nil {
				d.Fatalf("Sweep: %d, %v", n, err)
			}
			d.tick(time.Minute)
		}
		d.register("p2", "a")
		d.register("p3", "b")
		sent := do(d.Apply(d.ctx, d.hold("p1", "a"), Shelve(Meta{}, "s1", "t")))
		do(d.Apply(d.ctx, sent, Send(Meta{})))
		use("p2", "a")
		d.follows("while it is there", done())
		if _, err := d.Startup(d.ctx); err != nil {
			d.Fatal(err)
		}
		if _, err := d.Deliver(d.ctx); err != nil {
			d.Fatal(err)
		}
		desc := Descriptor(d.schema)
		desc.Projection = done()
		none := func(context.Context, fsm.Tx, Parcel, string, fsm.Event) error { return nil }
		m, err := fsm.NewMachine(d.ctx, d.store, desc, map[string]fsmimpl.EffectFunc[Parcel]{"charge": none, "carry": none, "notify": none})
		if err != nil {
			d.Fatal(err)
		}
		use("p3", "b")
		if n, err := audit.Purge(d.ctx, m, audit.PurgeOptions{Before: d.now, Actor: "root", Reason: "too old"}); n != 1 || err != nil {
			d.Fatalf("purged %d, %v", n, err)
		}
		d.follows("in its own group", done(), "p3@3")
		use("p2", "a")
		d.follows("and after it", done(), "p2@5", "p3@3")
	}},
}

// step is change with a time.
func (b *bench) step(old, next Parcel, operation string, at time.Time) *driver.Write {
	next.UpdatedAt = at
	w := change(old, next, operation, "")
	w.Event.At = at
	var err error
	if w.Event.Changes, err = changed(b.schema, w); err != nil {
		b.Fatal(err)
	}
	w.Event.Sum = driver.Checksum(&w.Event)
	return w
}

// changed writes what a write changes, as the engine does.
func changed(s *driver.Schema, w *driver.Write) (fsm.JSON, error) {
	m := map[string]any{}
	for _, i := range w.Changed {
		v := w.Row.Values[i]
		if t, is := v.(time.Time); is {
			v = t.Format("2006-01-02T15:04:05.000000Z")
		}
		m[s.Columns[i].Stored] = v
	}
	return fsm.MarshalValue(m)
}

// released returns p back in the lane, one revision on.
func (p Parcel) released() Parcel {
	p.State, p.Rev = "waiting", p.Rev+1
	p.Holder, p.Due = fsm.Optional[string]{}, fsm.Optional[time.Time]{}
	return p
}
