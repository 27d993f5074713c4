package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// A batch is all or nothing, however the store writes it.
var manyTests = []test{
	{"what stands against one of a batch", func(b *bench) {
		d := b.open()
		labelled := func(rid, id, label string) fsmimpl.Call[Parcel] {
			return Register(Meta{RequestID: rid}, RegisterInput{ID: id, Lane: "a", Label: fsm.Some(label)})
		}
		p, err := d.CreateMany(d.ctx, []fsmimpl.Call[Parcel]{labelled("c1", "p1", "l1"), labelled("c2", "p2", "l2"), labelled("c3", "p3", "l3")})
		if err != nil {
			d.Fatal(err)
		}
		item := func(at outcome, rid string) fsmimpl.Item[Parcel] {
			return fsmimpl.Item[Parcel]{At: at, Call: Annotate(Meta{RequestID: rid}, fsm.Some(fsm.MustJSON(`"`+rid+`"`)), fsm.Optional[string]{}, fsm.Optional[bool]{})}
		}
		p0 := d.must(d.Apply(d.ctx, p[0], item(p[0], "m0").Call))
		before := d.dump()
		ended, cancel := context.WithCancel(d.ctx)
		cancel()
		for name, c := range map[string]struct {
			ctx   context.Context
			items []fsmimpl.Item[Parcel]
			want  error
			code  fsm.Code
			index string
		}{
			"stale":            {d.ctx, []fsmimpl.Item[Parcel]{item(p[1], "m1"), item(p[0], "m2"), item(p[2], "m3")}, nil, fsm.ErrStale, "item 1"},
			"one record twice": {d.ctx, []fsmimpl.Item[Parcel]{item(p[1], "m1"), item(p[2], "m3"), item(p[1], "m2")}, nil, fsm.ErrStale, "item 2"},
			"a reused request": {d.ctx, []fsmimpl.Item[Parcel]{item(p[1], "m1"), {At: p0, Call: Annotate(Meta{RequestID: "m0"}, fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Optional[bool]{})}, item(p[2], "m3")}, nil, fsm.ErrRequestReused, "item 1"},
			"the wrong state":  {d.ctx, []fsmimpl.Item[Parcel]{item(p[1], "m1"), {At: p[2], Call: Send(Meta{})}}, nil, fsm.ErrWrongState, "item 1"},
			"nobody knows it":  {d.ctx, []fsmimpl.Item[Parcel]{item(p[1], "m1"), {At: fsm.Ref{ID: "x", Rev: 1}, Call: annotation("x")}}, nil, fsm.ErrNotFound, "item 1"},
			"an ended context": {ended, []fsmimpl.Item[Parcel]{item(p[1], "m1"), item(p[2], "m3")}, context.Canceled, "", ""},
		} {
			_, err := d.ApplyMany(c.ctx, c.items)
			if c.want != nil && !errors.Is(err, c.want) {
				d.Errorf("%s: got %v, want %v", name, err, c.want)
			}
			if c.code != "" {
				d.code(err, c.code)
				if err == nil || !strings.Contains(err.Error(), c.index) {
					d.Errorf("%s: %v does not name %s", name, err, c.index)
				}
			}
			d.same(before, d.dump())
		}
		// A part of a batch was done before: the whole is done then, each once.
		first := d.must(d.Apply(d.ctx, p[1], item(p[1], "m1").Call))
		edited := p[2].Record // what the caller made of it is not what is decided on
		edited.Lane = "z"
		outs, err := d.ApplyMany(d.ctx, []fsmimpl.Item[Parcel]{item(p0, "m4"), item(p[1], "m1"), {At: edited, Call: item(p[2], "m3").Call}})
		if err != nil {
			d.Fatal(err)
		}
		d.fresh(outs[0])
		d.replays(first, outs[1], first.Ref(), "waiting")
		d.fresh(outs[2])
		if got := d.parcel("p3"); got.Lane != "a" || got.Note.Or(fsm.JSON{}).String() != `"m3"` {
			d.Errorf("got %+v, want the note alone changed", got)
		}
		before = d.dump()
		_, err = d.CreateMany(d.ctx, []fsmimpl.Call[Parcel]{labelled("c4", "p4", "l4"), labelled("m1", "p5", "l5"), labelled("c1", "p6", "l6")})
		d.code(err, fsm.ErrRequestReused)
		_, err = d.CreateMany(d.ctx, []fsmimpl.Call[Parcel]{labelled("c4", "p4", "l4"), labelled("c5", "p4", "l5")})
		d.code(err, fsm.ErrExists)
		d.same(before, d.dump())
		made, err := d.CreateMany(d.ctx, []fsmimpl.Call[Parcel]{labelled("c4", "p4", "l4"), labelled("c5", "p5", "l4"), labelled("c6", "p6", "l1"), labelled("c2", "p2", "l2")})
		if err != nil || made[0].Existing || !made[1].Existing || made[1].Record.ID != "p4" || !made[2].Existing || made[2].Record.ID != "p1" || !made[3].Replayed {
			d.Errorf("got %+v, %v", made, err)
		}
		for f, err := range d.Audit(d.ctx) {
			d.Errorf("audit: %v, %v", f, err)
		}
	}},
	{"a place is passed on in the order of the calls", func(b *bench) {
		d := b.open()
		shelve := func(slot string) fsmimpl.Call[Parcel] { // without its guard, so that one write could do it
			c := Shelve(Meta{}, slot, "t")
			decide := c.Decide
			c.Peers = nil
			c.Decide = func(p *Parcel, id string, _ []int64, now time.Time) (fsmimpl.Step, error) {
				return decide(p, id, []int64{0}, now)
			}
			return c
		}
		var on []outcome
		for i, id := range []string{"p1", "p2"} {
			out := d.must(d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: id, Lane: "a"})))
			out = d.must(d.Apply(d.ctx, out, Hold(Meta{Actor: "ann"}, "a", instant)))
			on = append(on, d.must(d.Apply(d.ctx, out, shelve(fmt.Sprint("s", i+1)))))
		}
		before := d.dump()
		for _, taker := range []int{0, 1} { // whichever a store would write first
			giver := 1 - taker
			_, err := d.ApplyMany(d.ctx, []fsmimpl.Item[Parcel]{
				{At: on[taker], Call: shelve(on[giver].Record.Slot.Or(""))}, {At: on[giver], Call: shelve("s3")},
			})
			d.code(err, fsm.ErrNotUnique)
			if err == nil || !strings.Contains(err.Error(), "item 0") {
				d.Errorf("%v does not name item 0", err)
			}
			d.same(before, d.dump())
		}
		if _, err := d.ApplyMany(d.ctx, []fsmimpl.Item[Parcel]{{At: on[0], Call: shelve("s3")}, {At: on[1], Call: shelve("s1")}}); err != nil {
			d.Errorf("a place that was given up before: %v", err)
		}
	}},
	{"a large batch is made of writes like any other", func(b *bench) {
		d := b.open()
		const n = 60 // below what etcd takes in one transaction
		calls := make([]fsmimpl.Call[Parcel], n)
		for i := range calls {
			calls[i] = Register(Meta{RequestID: fmt.Sprint("c", i), Labels: map[string]string{"i": fmt.Sprint(i)}}, RegisterInput{ID: fmt.Sprint("p", i), Lane: "a", Weight: fsm.Some(int64(i))})
		}
		made, err := d.CreateMany(d.ctx, calls)
		if err != nil {
			d.Fatal(err)
		}
		items := make([]fsmimpl.Item[Parcel], n)
		for i, out := range made {
			d.fresh(out)
			items[i] = fsmimpl.Item[Parcel]{At: out, Call: Hold(Meta{RequestID: "h", Actor: "ann"}, "a", instant)}
			if i%2 == 0 {
				items[i].Call = Annotate(Meta{RequestID: "h"}, fsm.Some(fsm.MustJSON(`{"a":"\\\"}"}`)), fsm.Optional[string]{}, fsm.Some(true))
			}
		}
		for _, replayed := range []bool{false, true} {
			moved, err := d.ApplyMany(d.ctx, items)
			if err != nil || len(moved) != n {
				d.Fatalf("%d outcomes, %v", len(moved), err)
			}
			for i, out := range moved {
				if stored := d.parcel(out.Record.ID); out.Replayed != replayed || out.Ref() != (fsm.Ref{ID: made[i].Record.ID, Rev: 2}) || stored.Ref() != out.Ref() {
					d.Errorf("got %+v, %v is stored", out, stored.Ref())
				}
			}
		}
		for f, err := range d.Audit(d.ctx) {
			d.Errorf("audit: %v, %v", f, err)
		}
	}},
}
