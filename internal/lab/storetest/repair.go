package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// repairTests are about what outlives a record's life: the chain over its log, and
// its removal and repair.
var repairTests = []test{
	{"each event is chained to the one before it", func(b *bench) {
		d := b.open()
		out := d.hold("p1", "a")
		for i := range 3 { // recorded only
			d.must(d.Apply(d.ctx, out, Touch(Meta{Actor: "eve", RequestID: fmt.Sprint("t", i)}, instant)))
		}
		out = d.must(d.Apply(d.ctx, out, Shelve(Meta{}, "s1", "t")))
		d.must(d.Apply(d.ctx, out, Send(Meta{})))
		var steps, last uint32
		events := d.events("p1")
		if events[0].Chain == 0 { // a store keeps chains, or none at all
			for _, e := range events {
				if e.Chain != 0 {
					d.Errorf("event %d.%d is chained to one that is not", e.Rev, e.N)
				}
			}
			return
		}
		for i := range events {
			e := &events[i]
			before := steps
			if e.RecordOnly() {
				before = last
			} else {
				steps = driver.Chained(before, e)
			}
			if last = e.Chain; last != driver.Chained(before, e) {
				d.Errorf("event %d.%d: the chain is %08x, want %08x", e.Rev, e.N, last, driver.Chained(before, e))
			}
		}
		again := d.must(d.Apply(d.ctx, fsm.Ref{ID: "p1"}, Touch(Meta{Actor: "eve", RequestID: "t1"}, instant)))
		if out.Events[0].Chain != 0 || !again.Replayed || again.Events[0].Chain != 0 {
			d.Errorf("an outcome's event is chained: %+v, %+v", out.Events[0], again.Events[0])
		}
		if len(events) != 7 {
			d.Errorf("%d events, want 7", len(events))
		}
	}},
	{"a finished record goes, its id and requests stay", func(b *bench) {
		d := b.open()
		held := map[string]Parcel{} // as their holder has them, before the last step
		sent := func(id string) {
			d.must(d.Create(d.ctx, Register(Meta{RequestID: "make " + id, Reason: "secret"}, RegisterInput{ID: id, Lane: "l " + id, Label: fsm.Some(id)})))
			outs, err := d.Pick(d.ctx, 1, Hold(Meta{RequestID: "pick " + id, Actor: "ann"}, "l "+id, instant.Add(time.Hour)))
			if err != nil {
				d.Fatal(err)
			}
			out := d.must(d.Apply(d.ctx, outs[0], Shelve(Meta{}, "slot "+id, "t")))
			held[id] = out.Record
			out = d.must(d.Apply(d.ctx, out, Send(Meta{RequestID: "send " + id})))
			d.must(d.Apply(d.ctx, out, Touch(Meta{Actor: "eve"}, instant))) // recorded only
		}
		sent("p1")
		sent("p2")
		d.register("p3", "a")
		o := audit.PurgeOptions{Before: instant.Add(time.Second), Actor: "root", Reason: "too old"}
		if n, err := d.Purge(d.ctx, o); n != 0 || err != nil {
			d.Errorf("purged %d, %v; their effects are not delivered yet", n, err)
		}
		if _, err := d.Startup(d.ctx); err != nil {
			d.Fatal(err)
		}
		if _, err := d.Deliver(d.ctx); err != nil {
			d.Fatal(err)
		}
		sent("p4")
		late := o
		late.Before = instant
		if n, err := d.Purge(d.ctx, late); n != 0 || err != nil {
			d.Errorf("purged %d, %v; nothing is that old", n, err)
		}
		o.Limit = 1
		for range 2 {
			if n, err := d.Purge(d.ctx, o); n != 1 || err != nil {
				d.Errorf("purged %d, %v, want 1", n, err)
			}
		}
		if n, err := d.Purge(d.ctx, o); n != 0 || err != nil {
			d.Errorf("purged %d, %v, want none more", n, err)
		}
		if got := fmt.Sprint(d.ids(driver.Query{})); got != "[p3 p4]" {
			d.Errorf("there are %s, want p3 and p4", got)
		}
		// What is left of the log says who, and nothing of the record.
		var left []string
		for _, e := range d.events("p1") {
			left = append(left, fmt.Sprintf("%d.%d %s %s %s %s", e.Rev, e.N, e.Operation, e.Actor, e.Reason, e.RequestID))
			if text := e.Inputs.String() + e.Changes.String() + e.Image.String(); e.Operation != "__purge" && text != "" {
				d.Errorf("%s is left", text)
			}
		}
		want := "1.0 __purged   make p1\n2.0 __purged   pick p1\n4.2 __purge root too old sys:__purge:4"
		if got := strings.Join(left, "\n"); got != want {
			d.Errorf("left of the log:\n%s\nwant\n%s", got, want)
		}
		// Late retries find that it is over; so does who takes the id or the request anew.
		for name, call := range map[string]fsmimpl.Call[Parcel]{
			"the creation":   Register(Meta{RequestID: "make p1", Reason: "secret"}, RegisterInput{ID: "p1", Lane: "l p1", Label: fsm.Some("p1")}),
			"the id, anew":   Register(Meta{RequestID: "again"}, RegisterInput{ID: "p1", Lane: "a"}),
			"another, batch": Register(Meta{}, RegisterInput{ID: "p2", Lane: "a"}),
		} {
			if _, err := d.Create(d.ctx, call); !errors.Is(err, fsm.ErrPurged) {
				d.Errorf("%s: %v, want ErrPurged", name, err)
			}
		}
		if _, err := d.Pick(d.ctx, 1, Hold(Meta{RequestID: "pick p1", Actor: "ann"}, "l p1", instant.Add(time.Hour))); !errors.Is(err, fsm.ErrPurged) {
			d.Errorf("the pick: %v, want ErrPurged", err)
		}
		if _, err := d.Create(d.ctx, Register(Meta{RequestID: "make p1"}, RegisterInput{Lane: "z"})); !errors.Is(err, fsm.ErrRequestReused) {
			d.Errorf("another request of that id: %v, want ErrRequestReused", err)
		}
		if _, err := d.Record(d.ctx, "p1"); !errors.Is(err, fsm.ErrNotFound) {
			d.Errorf("Record: %v, want ErrNotFound", err)
		}
		for name, at := range map[string]fsm.Target{"a reference": fsm.Ref{ID: "p1"}, "a revision": fsm.Ref{ID: "p1", Rev: 3}, "the record": held["p1"]} {
			late := Send(Meta{RequestID: "send p1"})
			if _, err := d.Apply(d.ctx, at, late); !errors.Is(err, fsm.ErrPurged) {
				d.Errorf("a late retry that names %s: %v, want ErrPurged", name, err)
			}
			items := []fsmimpl.Item[Parcel]{{At: fsm.Ref{ID: "p3"}, Call: annotation("x")}, {At: at, Call: late}}
			before := d.dump()
			if _, err := d.ApplyMany(d.ctx, items); !errors.Is(err, fsm.ErrPurged) {
				d.Errorf("a late batch that names %s: %v, want ErrPurged", name, err)
			}
			d.same(before, d.dump())
		}
		if _, err := d.Apply(d.ctx, fsm.Ref{ID: "p9", Rev: 1}, annotation("x")); !errors.Is(err, fsm.ErrNotFound) {
			d.Errorf("a record that there never was: %v, want ErrNotFound", err)
		}
		// Its places are free.
		d.must(d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: "p5", Lane: "a", Label: fsm.Some("p1")})))
	}},
	{"what a purge left can be forgotten", func(b *bench) {
		d := b.open()
		purged := func(id string) {
			d.must(d.Create(d.ctx, Register(Meta{RequestID: "make " + id}, RegisterInput{ID: id, Lane: "l " + id})))
			outs, err := d.Pick(d.ctx, 1, Hold(Meta{RequestID: "pick " + id, Actor: "ann"}, "l "+id, instant.Add(time.Hour)))
			if err != nil {
				d.Fatal(err)
			}
			out := d.must(d.Apply(d.ctx, outs[0], Expel(Meta{Actor: "root", Reason: "r"})))
			d.must(d.Apply(d.ctx, out, Touch(Meta{Actor: "eve"}, instant)))
			n, err := d.Purge(d.ctx, audit.PurgeOptions{Before: instant.Add(time.Second), Actor: "root", Reason: "too old"})
			if n != 1 || err != nil {
				d.Fatalf("purged %d, %v", n, err)
			}
		}
		d.register("p0", "a")
		for _, id := range []string{"p1", "p2", "p3"} {
			purged(id)
		}
		d.register("p4", "a")
		forget := func(want int, o audit.ForgetOptions) {
			d.Helper()
			if n, err := d.Forget(d.ctx, o); n != want || err != nil {
				d.Errorf("forgotten: %d, %v; want %d", n, err, want)
			}
		}
		before := d.dump()
		forget(0, audit.ForgetOptions{Before: instant}) // they were purged at the instant
		d.same(before, d.dump())
		if _, err := d.Forget(d.ctx, audit.ForgetOptions{}); !errors.Is(err, fsm.ErrInvalidInput) {
			d.Errorf("without a time: %v", err)
		}
		o := audit.ForgetOptions{Before: instant.Add(time.Second), Limit: 2}
		forget(2, o)
		if _, err := d.Apply(d.ctx, fsm.Ref{ID: "p3"}, annotation("x")); !errors.Is(err, fsm.ErrPurged) {
			d.Errorf("the one that is left: %v, want ErrPurged", err)
		}
		forget(1, o)
		forget(0, o)
		for _, id := range []string{"p1", "p2", "p3"} {
			if n := len(d.events(id)); n != 0 {
				d.Errorf("%d events of %s are left", n, id)
			}
			if _, err := d.Apply(d.ctx, fsm.Ref{ID: id}, annotation("x")); !errors.Is(err, fsm.ErrNotFound) {
				d.Errorf("%s: %v, want ErrNotFound", id, err)
			}
		}
		if got := fmt.Sprint(d.ids(driver.Query{})); got != "[p0 p4]" {
			d.Errorf("there are %s, want p0 and p4", got)
		}
		// Ids and requests are free, those of the machine too.
		purged("p1")
		forget(1, o)
		d.must(d.Create(d.ctx, Register(Meta{RequestID: "make p1"}, RegisterInput{ID: "p2", Lane: "a"})))
		for f, err := range d.Audit(d.ctx) {
			d.Errorf("audit: %v, %v", f, err)
		}
	}},
	{"two who purge converge", func(b *bench) {
		d := b.open()
		for i := range 12 {
			out := d.hold(fmt.Sprintf("p%02d", i), "a")
			d.must(d.Apply(d.ctx, out, Expel(Meta{Actor: "root", Reason: "r"})))
		}
		o := audit.PurgeOptions{Before: instant.Add(time.Second), Actor: "root", Reason: "too old"}
		var wg sync.WaitGroup
		var mu sync.Mutex
		total := 0
		for range 3 {
			m := d.another()
			wg.Go(func() {
				n, err := audit.Purge(d.ctx, m, o)
				mu.Lock()
				defer mu.Unlock()
				if total += n; err != nil {
					d.Errorf("Purge: %v", err)
				}
			})
		}
		wg.Wait()
		if total != 12 || len(d.ids(driver.Query{})) != 0 {
			d.Errorf("purged %d, want each of 12 once; %d are left", total, len(d.ids(driver.Query{})))
		}
	}},
	{"a sound record needs no repair", func(b *bench) {
		d := b.open()
		d.hold("p1", "a")
		before := d.dump()
		p, repaired, err := d.Repair(d.ctx, "p1", "root", "look")
		if err != nil || repaired || p.ID != "p1" {
			d.Errorf("%v, %v, %v", p.Ref(), repaired, err)
		}
		if _, _, err := d.Repair(d.ctx, "nobody", "root", "look"); !errors.Is(err, fsm.ErrNotFound) {
			d.Errorf("a record that there is not: %v", err)
		}
		if _, _, err := d.Repair(d.ctx, "p1", "", "look"); !errors.Is(err, fsm.ErrActorMissing) {
			d.Errorf("without an actor: %v", err)
		}
		if _, _, err := d.Repair(d.ctx, "p1", "root", ""); !errors.Is(err, fsm.ErrReasonMissing) {
			d.Errorf("without a reason: %v", err)
		}
		d.same(before, d.dump())
	}},
	{"a row is put in its place", func(b *bench) {
		d := b.open()
		out := d.hold("p1", "a")
		wrong := out.Record
		wrong.Lane, wrong.Holder = "z", fsm.Some("eve")
		row := Encode(&wrong)
		e := fsm.Event{ID: "p1", Rev: 2, Operation: "__repair", Name: "__repair", From: "held", To: "held", At: instant, Actor: "root",
			RequestN: -1, Inputs: fsm.MustJSON("{}"), Changes: fsm.MustJSON("{}"), Version: 1}
		e.Sum = driver.Checksum(&e)
		errBack := errors.New("take it back")
		before := d.dump()
		restore := func(end error) error {
			return d.table.Update(d.ctx, func(tx fsm.Tx) error {
				if err := tx.Restore(&row, &e); err != nil {
					return err
				}
				if e.N != 1 {
					d.Errorf("the event got number %d, want 1", e.N)
				}
				return end
			})
		}
		if err := restore(errBack); !errors.Is(err, errBack) {
			d.Fatal(err)
		}
		d.same(before, d.dump())
		if err := restore(nil); err != nil {
			d.Fatal(err)
		}
		if got := rowText(d.row("p1")); got != rowText(row) {
			d.Errorf("got %s, want %s", got, rowText(row))
		}
		p, repaired, err := d.Repair(d.ctx, "p1", "root", "it was edited")
		if err != nil || !repaired || p.Lane != "a" || p.Holder != fsm.Some("ann") {
			d.Errorf("%+v, %v, %v", p, repaired, err)
		}
		events := d.events("p1")
		last := events[len(events)-1]
		if len(events) != 4 || last.N != 2 || last.Operation != "__repair" || last.Actor != "root" || last.Reason != "it was edited" ||
			!strings.Contains(last.Inputs.String(), `"holder":"eve"`) {
			d.Errorf("the repair is logged as %+v", last)
		}
		d.must(d.Apply(d.ctx, p, annotation("and on")))
	}},
}
