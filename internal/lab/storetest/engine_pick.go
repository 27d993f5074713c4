package storetest

import (
	"fmt"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// queue makes waiting parcels "p0", "p1", ... of these weights.
func (d *depot) queue(lane string, weights ...int64) {
	d.Helper()
	for i, w := range weights {
		d.must(d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: fmt.Sprint("p", i), Lane: lane, Weight: fsm.Some(w)})))
	}
}

func picked(outs []outcome) string {
	var ids []string
	for _, out := range outs {
		ids = append(ids, out.Record.ID)
	}
	return strings.Join(ids, " ")
}

// The store picks a record once.
var pickTests = []test{
	{"the first in order, then the next", func(b *bench) {
		d := b.open()
		d.queue("a", 3, 9, 5, 9)
		d.must(d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: "q", Lane: "b", Weight: fsm.Some(int64(99))})))
		var got []string
		for i := range 4 {
			outs, err := d.Pick(d.ctx, 1, Hold(Meta{RequestID: fmt.Sprint("r", i), Actor: "ann"}, "a", instant))
			if err != nil {
				d.Fatal(err)
			}
			d.fresh(outs[0])
			got = append(got, picked(outs))
		}
		d.same(strings.Fields("p1 p3 p2 p0"), got)
		before := d.dump()
		_, err := d.Pick(d.ctx, 1, Hold(Meta{RequestID: "r9", Actor: "ann"}, "a", instant))
		d.code(err, fsm.ErrNothingToDo)
		d.same(before, d.dump())
		d.must(d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: "p9", Lane: "a"})))
		outs, err := d.Pick(d.ctx, 1, Hold(Meta{RequestID: "r9", Actor: "ann"}, "a", instant)) // not remembered
		if err != nil || picked(outs) != "p9" {
			d.Errorf("got %q, %v, want p9", picked(outs), err)
		}
	}},
	{"n at once and their replay", func(b *bench) {
		d := b.open()
		d.queue("a", 1, 2, 3, 4, 5)
		call := Hold(Meta{RequestID: "r", Actor: "ann"}, "a", instant)
		first, err := d.Pick(d.ctx, 3, call)
		if err != nil || picked(first) != "p4 p3 p2" {
			d.Fatalf("got %q, %v", picked(first), err)
		}
		for i, out := range first {
			if e := out.Events[0]; e.RequestN != int64(i) || e.RequestID != "r" {
				d.Errorf("event %d has number %d of request %q", i, e.RequestN, e.RequestID)
			}
		}
		moved := d.must(d.Apply(d.ctx, first[1], Shelve(Meta{}, "s", "t")))
		before := d.dump()
		for _, n := range []int{1, 3, 5} {
			again, err := d.Pick(d.ctx, n, call)
			if err != nil || len(again) != 3 {
				d.Fatalf("got %d outcomes, %v, want the three of the first answer", len(again), err)
			}
			d.replays(first[0], again[0], first[0].Ref(), "held")
			d.replays(first[1], again[1], moved.Ref(), "shelved")
		}
		d.same(before, d.dump())
		_, err = d.Pick(d.ctx, 3, Hold(Meta{RequestID: "r", Actor: "bob"}, "a", instant))
		d.code(err, fsm.ErrRequestReused)
		rest, err := d.Pick(d.ctx, 7, Hold(Meta{RequestID: "r2", Actor: "ann"}, "a", instant))
		if err != nil || picked(rest) != "p1 p0" {
			d.Errorf("got %q, %v, want what was left", picked(rest), err)
		}
	}},
	{"what does not fit is passed over", func(b *bench) {
		d := b.open()
		var weights []int64
		for i := range 30 {
			weights = append(weights, int64(i))
		}
		d.queue("a", weights...)
		call := Hold(Meta{Actor: "ann"}, "a", instant)
		call.Fits = func(p *Parcel, _ time.Time) bool { return p.Weight.Or(0) < 3 }
		outs, err := d.Pick(d.ctx, 2, call)
		if err != nil || picked(outs) != "p2 p1" {
			d.Errorf("got %q, %v, want p2 p1", picked(outs), err)
		}
	}},
	{"what is refused is passed over", func(b *bench) {
		d := b.open()
		d.queue("a", 9, 8, 7)
		call := Hold(Meta{Actor: "ann"}, "a", instant)
		decide := call.Decide
		call.Decide = func(p *Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
			if p.ID == "p0" {
				return fsmimpl.Step{}, p.refuse(opHold, fsm.ErrGuard, "")
			}
			return decide(p, id, peers, now)
		}
		outs, err := d.Pick(d.ctx, 5, call)
		if err != nil || picked(outs) != "p1 p2" {
			d.Errorf("got %q, %v, want p1 p2", picked(outs), err)
		}
	}},
	{"the caller may name the record", func(b *bench) {
		d := b.open()
		d.queue("a", 1, 2)
		out := d.must(d.Apply(d.ctx, fsm.Ref{ID: "p0", Rev: 1}, Hold(Meta{RequestID: "r", Actor: "ann"}, "a", instant)))
		if out.Events[0].RequestN != -1 {
			d.Errorf("the scope is the machine, want the record")
		}
		outs, err := d.Pick(d.ctx, 1, Hold(Meta{RequestID: "r", Actor: "ann"}, "a", instant)) // another scope
		if err != nil || picked(outs) != "p1" {
			d.Errorf("got %q, %v, want p1", picked(outs), err)
		}
	}},
	{"an odd number is refused", func(b *bench) {
		d := b.open()
		r := d.refused(fsm.ErrInvalidInput, func() (outcome, error) {
			_, err := d.Pick(d.ctx, 0, Hold(Meta{Actor: "ann"}, "a", instant))
			return outcome{}, err
		})
		if r.Name != "n" || r.Message == "" {
			d.Errorf("got %+v, want what is wrong with n", r)
		}
	}},
}
