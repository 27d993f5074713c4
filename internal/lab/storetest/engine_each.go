package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// inLane narrows a call on each to the parcels of a lane.
func inLane(c fsmimpl.Call[Parcel], lane string) fsmimpl.Call[Parcel] {
	c.Where = []driver.Cond{{Column: "lane", Op: driver.OpEq, Value: lane}}
	return c
}

// noted is a call of annotate.
func noted(m Meta, note string) fsmimpl.Call[Parcel] {
	return Annotate(m, fsm.Some(fsm.MustJSON(`"`+note+`"`)), fsm.Optional[string]{}, fsm.Optional[bool]{})
}

// A call on each takes all records that fit, or none.
var eachTests = []test{
	{"each that fits, by id, and its replay", func(b *bench) {
		d := b.open()
		for _, id := range []string{"p3", "p1", "p2"} {
			d.register(id, "a")
		}
		d.register("q1", "b")
		call := inLane(noted(Meta{RequestID: "r"}, "n"), "a")
		first, err := d.Each(d.ctx, call)
		if err != nil || picked(first) != "p1 p2 p3" {
			d.Fatalf("got %q, %v", picked(first), err)
		}
		for i, out := range first {
			d.fresh(out)
			if e := out.Events[0]; e.RequestN != int64(i) || e.RequestID != "r" || out.Record.Rev != 2 {
				d.Errorf("event %d has number %d of request %q, its record is at %v", i, e.RequestN, e.RequestID, out.Record.Ref())
			}
		}
		d.register("p4", "a") // it came later, and a retry is no new call
		before := d.dump()
		again, err := d.Each(d.ctx, call)
		if err != nil || picked(again) != "p1 p2 p3" {
			d.Fatalf("again: %q, %v", picked(again), err)
		}
		for i, out := range again {
			d.replays(first[i], out, first[i].Ref(), "waiting")
		}
		_, err = d.Each(d.ctx, inLane(noted(Meta{RequestID: "r"}, "other"), "a"))
		d.code(err, fsm.ErrRequestReused)
		d.same(before, d.dump())
	}},
	{"no record, too many, and an operation that takes one", func(b *bench) {
		d := b.open()
		_, err := d.Each(d.ctx, inLane(Bill(Meta{RequestID: "r"}), "a"))
		d.code(err, fsm.ErrNothingToDo)
		for i := range 3 {
			d.register(fmt.Sprint("p", i), "a")
		}
		if outs, err := d.Each(d.ctx, inLane(Bill(Meta{RequestID: "r"}), "a")); err != nil || len(outs) != 3 { // not remembered
			d.Errorf("got %q, %v", picked(outs), err)
		}
		d.register("p9", "a")
		before := d.dump()
		_, err = d.Each(d.ctx, inLane(Bill(Meta{RequestID: "r2"}), "a"))
		d.code(err, fsm.ErrTooLarge)
		if _, err = d.Each(d.ctx, Send(Meta{})); err == nil || errors.As(err, new(*fsm.Refusal)) {
			d.Errorf("an operation without each: %v", err)
		}
		if _, err = d.Batch(d.ctx, func(m *fsm.Machine[Parcel]) error {
			_, err := m.Each(d.ctx, Bill(Meta{}))
			return err
		}); err == nil || !strings.Contains(err.Error(), "batch") {
			d.Errorf("in a batch: %v", err)
		}
		d.same(before, d.dump())
	}},
	{"one that refuses takes all back, and is named", func(b *bench) {
		d := b.open()
		for i := range 4 {
			d.hold(fmt.Sprint("p", i), "a")
		}
		d.must(d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: "p4", Lane: "b", Weight: fsm.Some(int64(7))})))
		d.must(d.Apply(d.ctx, d.parcel("p4"), Hold(Meta{Actor: "ann"}, "b", instant.Add(time.Hour))))
		before := d.dump()
		expel := Expel(Meta{RequestID: "e", Actor: "ann", Reason: "why"})
		refused := d.refused(fsm.ErrGuard, func() (outcome, error) { // of the step that follows
			_, err := d.Each(d.ctx, expel)
			return outcome{}, err
		})
		if refused == nil || refused.ID != "p4" {
			d.Errorf("the refusal names %+v, want p4", refused)
		}
		d.same(before, d.dump())
		_, err := d.Each(d.ctx, inLane(Shelve(Meta{RequestID: "s"}, "s1", "t"), "a")) // one place for all of them
		if r := d.code(err, fsm.ErrNotUnique); r != nil && r.ID != "p1" {
			d.Errorf("the refusal names %q, want p1, which found the place taken", r.ID)
		}
		d.same(before, d.dump())
		outs, err := d.Each(d.ctx, inLane(expel, "a"))
		if err != nil || picked(outs) != "p0 p1 p2 p3" || len(outs[3].Events) != 2 || outs[3].Record.State != "sent" {
			d.Errorf("got %+v, %v", outs, err)
		}
		again, err := d.Each(d.ctx, inLane(expel, "a"))
		if err != nil || len(again) != 4 || len(again[0].Events) != 2 || !again[0].Replayed {
			d.Errorf("again: %+v, %v", again, err)
		}
	}},
	{"a limit counts those before it", func(b *bench) {
		d := b.open()
		for i := range 4 {
			d.hold(fmt.Sprint("p", i), "a")
		}
		before := d.dump()
		slots := 0
		shelve := inLane(Shelve(Meta{RequestID: "s"}, "s", "t"), "a")
		decide := shelve.Decide
		shelve.Decide = func(p *Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
			step, err := decide(p, id, peers, now)
			slots++
			p.Slot = fsm.Some(fmt.Sprint("s", slots))
			return step, err
		}
		_, err := d.Each(d.ctx, shelve)
		if r := d.code(err, fsm.ErrGuard); r != nil && r.ID != "p3" {
			d.Errorf("the refusal names %q, want p3, the fourth", r.ID)
		}
		d.same(before, d.dump())
	}},
	{"an atomic effect of each, and one that fails", func(b *bench) {
		d := b.open()
		for i := range 3 {
			d.register(fmt.Sprint("p", i), "a")
		}
		d.fail = func(_, id string) error {
			if id == "p2" {
				return errDown
			}
			return nil
		}
		before := d.dump()
		_, err := d.Each(d.ctx, inLane(Bill(Meta{RequestID: "r"}), "a"))
		d.effectError(err, "charge", "p2")
		d.same(before, d.dump())
		d.fail = nil
		outs, err := d.Each(d.ctx, inLane(Bill(Meta{RequestID: "r"}), "a"))
		if err != nil || picked(outs) != "p0 p1 p2" {
			d.Errorf("got %q, %v", picked(outs), err)
		}
	}},
	{"each that a guard keeps back is recorded, where it says so", func(b *bench) {
		d := b.open()
		for i, weight := range []int64{7, 8, 7} {
			d.must(d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: fmt.Sprint("p", i), Lane: "a", Weight: fsm.Some(weight)})))
		}
		verify := inLane(Verify(Meta{RequestID: "v"}, 7, 1), "a")
		first, err := d.Each(d.ctx, verify)
		if err != nil || picked(first) != "p0 p1 p2" {
			d.Fatalf("got %q, %v", picked(first), err)
		}
		for i, out := range first {
			e, rev := out.Events[0], int64(2)
			if i == 1 {
				rev = 1
			}
			if out.RecordOnly != (i == 1) || e.Rev != rev || e.RequestN != int64(i) || out.Record.Rev != rev {
				d.Errorf("%s: recorded only %t, %d.%d, number %d", out.Record.ID, out.RecordOnly, e.Rev, e.N, e.RequestN)
			}
		}
		before := d.dump()
		again, err := d.Each(d.ctx, verify)
		if err != nil || picked(again) != "p0 p1 p2" || !again[1].RecordOnly || !again[2].Replayed {
			d.Errorf("again: %+v, %v", again, err)
		}
		d.same(before, d.dump())
	}},
	{"what the store does not compare is looked at", func(b *bench) {
		d := b.open()
		for i := range 8 {
			d.register(fmt.Sprint("p", i), "a")
		}
		call := Bill(Meta{RequestID: "r"})
		call.Fits = func(p *Parcel, _ time.Time) bool { return p.ID == "p1" || p.ID == "p6" || p.ID == "p7" }
		outs, err := d.Each(d.ctx, call)
		if err != nil || picked(outs) != "p1 p6 p7" {
			d.Errorf("got %q, %v", picked(outs), err)
		}
	}},
	{"within a transaction of the caller's own", func(b *bench) {
		d := b.open()
		d.register("p0", "b")
		for i := range 3 {
			d.register(fmt.Sprint("q", i), "a")
		}
		d.inTx = func(_ context.Context, tx fsm.Tx, p Parcel) error {
			if p.ID != "p0" {
				return nil
			}
			outs, err := d.in(tx).Each(d.ctx, inLane(noted(Meta{RequestID: "n"}, "n"), "a"))
			if err == nil && picked(outs) != "q0 q1 q2" {
				d.Errorf("got %q", picked(outs))
			}
			return err
		}
		d.must(d.Apply(d.ctx, d.parcel("p0"), Bill(Meta{})))
		if p := d.parcel("q2"); p.Rev != 2 {
			d.Errorf("q2 is at revision %d", p.Rev)
		}
	}},
}
