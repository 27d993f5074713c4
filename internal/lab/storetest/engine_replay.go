package storetest

import (
	"errors"
	"fmt"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// The same request gives the same outcome, whatever has happened since.
var replayTests = []test{
	{"creation is replayed", func(b *bench) {
		d := b.open()
		c := func() fsmimpl.Call[Parcel] {
			return Register(Meta{RequestID: "r"}, RegisterInput{Lane: "a", Tags: fsm.NewSet("x"), Label: fsm.Some("l")})
		}
		first := d.must(d.Create(d.ctx, c()))
		d.replays(first, d.must(d.Create(d.ctx, c())), first.Ref(), "waiting")
		moved := d.must(d.Apply(d.ctx, first, Hold(Meta{Actor: "ann"}, "a", instant)))
		d.replays(first, d.must(d.Create(d.ctx, c())), moved.Ref(), "held")
		named := c()
		named.ID = first.Record.ID
		d.replays(first, d.must(d.Create(d.ctx, named)), moved.Ref(), "held")
		named.ID = "another"
		d.refused(fsm.ErrRequestReused, func() (outcome, error) { return d.Create(d.ctx, named) })
	}},
	{"a step is replayed after the terminal state", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		first := d.must(d.Apply(d.ctx, out, Hold(Meta{RequestID: "r", Actor: "ann"}, "a", instant)))
		shelved := d.must(d.Apply(d.ctx, first, Shelve(Meta{RequestID: "r2"}, "s", "t")))
		sent := d.must(d.Apply(d.ctx, shelved, Send(Meta{RequestID: "r3"})))
		before := d.dump()
		for _, at := range []fsm.Target{out, first, sent, fsm.Ref{ID: "p1", Rev: 1}, fsm.Ref{ID: "p1", Rev: 77}, fsm.Ref{ID: "p1"}} {
			again := d.must(d.Apply(d.ctx, at, Hold(Meta{
				RequestID: "r", Actor: "ann", At: instant.Add(time.Hour), Labels: map[string]string{"retry": "1"},
			}, "a", instant.Add(time.Minute)))) // lease, time and labels may differ
			d.replays(first, again, sent.Ref(), "sent")
			d.replays(shelved, d.must(d.Apply(d.ctx, at, Shelve(Meta{RequestID: "r2"}, "s", "t"))), sent.Ref(), "sent")
			d.replays(sent, d.must(d.Apply(d.ctx, at, Send(Meta{RequestID: "r3"}))), sent.Ref(), "sent")
		}
		d.same(before, d.dump())
	}},
	{"another request with the same id", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		out = d.must(d.Apply(d.ctx, out, Hold(Meta{RequestID: "r", Actor: "ann", Reason: "x"}, "a", instant)))
		for name, c := range map[string]fsmimpl.Call[Parcel]{
			"actor":     Hold(Meta{RequestID: "r", Actor: "bob", Reason: "x"}, "a", instant),
			"reason":    Hold(Meta{RequestID: "r", Actor: "ann", Reason: "y"}, "a", instant),
			"input":     Hold(Meta{RequestID: "r", Actor: "ann", Reason: "x"}, "b", instant),
			"operation": bare(Meta{RequestID: "r", Actor: "ann", Reason: "x"}),
		} {
			r := d.refused(fsm.ErrRequestReused, func() (outcome, error) { return d.Apply(d.ctx, out, c) })
			if !errors.Is(r, fsm.ErrRequestReused) || r.Retry() != fsm.NoRetry {
				d.Errorf("%s: got %+v", name, r)
			}
		}
		d.refused(fsm.ErrStale, func() (outcome, error) { // another id is another request
			return d.Apply(d.ctx, fsm.Ref{ID: "p1", Rev: 1}, Hold(Meta{RequestID: "R", Actor: "ann", Reason: "x"}, "a", instant))
		})
	}},
	{"refusals are not remembered", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		call := Shelve(Meta{RequestID: "r"}, "s", "t")
		d.refused(fsm.ErrWrongState, func() (outcome, error) { return d.Apply(d.ctx, out, call) })
		held := d.must(d.Apply(d.ctx, out, Hold(Meta{Actor: "ann"}, "a", instant)))
		d.fresh(d.must(d.Apply(d.ctx, held, call)))
	}},
	{"record-only events are replayed and move nothing", func(b *bench) {
		d := b.open()
		held := d.hold("p1", "a")
		call := Touch(Meta{RequestID: "r", Actor: "bob"}, instant)
		first := d.must(d.Apply(d.ctx, held, call))
		if !first.RecordOnly || first.Ref() != held.Ref() || first.Events[0].Guard != "right_holder" || first.Events[0].N != 1 || first.Events[0].Rev != 2 {
			d.Errorf("got %+v", first)
		}
		d.same([]string{rowText(Encode(&held.Record))}, []string{rowText(Encode(&first.Record))})
		second := d.must(d.Apply(d.ctx, held.Ref(), Touch(Meta{RequestID: "r2", Actor: "bob"}, instant)))
		if second.Events[0].N != 2 {
			d.Errorf("n is %d, want 2", second.Events[0].N)
		}
		d.replays(first, d.must(d.Apply(d.ctx, held, call)), held.Ref(), "held")
		d.refused(fsm.ErrStale, func() (outcome, error) {
			return d.Apply(d.ctx, fsm.Ref{ID: "p1", Rev: 1}, Touch(Meta{Actor: "bob"}, instant))
		})
		shelved := d.must(d.Apply(d.ctx, held, Shelve(Meta{}, "s", "t")))
		sent := d.must(d.Apply(d.ctx, shelved, Send(Meta{})))
		onTerminal := d.must(d.Apply(d.ctx, sent, Touch(Meta{RequestID: "r4", Actor: "bob"}, instant)))
		if !onTerminal.RecordOnly || onTerminal.Events[0].Rev != 4 {
			d.Errorf("got %+v", onTerminal)
		}
		d.replays(first, d.must(d.Apply(d.ctx, held, call)), sent.Ref(), "sent")
		d.replays(onTerminal, d.must(d.Apply(d.ctx, sent, Touch(Meta{RequestID: "r4", Actor: "bob"}, instant))), sent.Ref(), "sent")
	}},
	{"a long log is folded from its images", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		outs := []outcome{out}
		call := func(i int) fsmimpl.Call[Parcel] {
			return Annotate(Meta{RequestID: fmt.Sprint("r", i)}, fsm.Some(fsm.MustJSON(fmt.Sprint(i))), fsm.Optional[string]{}, fsm.Some(i%3 == 0))
		}
		for i := 2; i <= 140; i++ {
			out = d.must(d.Apply(d.ctx, out, call(i)))
			outs = append(outs, out)
			if got, want := !out.Events[0].Image.IsZero(), i%64 == 0; got != want {
				d.Errorf("revision %d: image %v, want %v", i, got, want)
			}
		}
		for _, i := range []int{2, 63, 64, 65, 127, 128, 129, 140} {
			d.replays(outs[i-1], d.must(d.Apply(d.ctx, fsm.Ref{ID: "p1", Rev: 1}, call(i))), out.Ref(), "waiting")
		}
		folded, err := fsmimpl.Fold(Descriptor(d.schema), d.events("p1"))
		if err != nil {
			d.Fatal(err)
		}
		d.same([]string{rowText(Encode(&out.Record))}, []string{rowText(Encode(&folded))})
	}},
	{"the steps of then belong to the request", func(b *bench) {
		d := b.open()
		held := d.hold("p1", "a")
		call := Expel(Meta{RequestID: "r", Actor: "op", Reason: "lost"})
		first := d.must(d.Apply(d.ctx, held, call))
		d.fresh(first)
		if len(first.Events) != 2 || first.Record.State != "sent" || first.Record.Rev != 4 {
			d.Fatalf("got %+v", first)
		}
		e := first.Events[1]
		if e.Cause != "expel" || e.RequestID != "" || e.Rev != 4 || e.Actor != driver.SystemActor || e.From != "waiting" || e.To != "sent" {
			d.Errorf("got %+v", e)
		}
		d.must(d.Apply(d.ctx, first, Touch(Meta{Actor: "ann"}, instant)))
		for _, at := range []fsm.Target{held, first, fsm.Ref{ID: "p1"}} {
			d.replays(first, d.must(d.Apply(d.ctx, at, call)), first.Ref(), "sent")
		}
	}},
	{"a refused then takes everything back", func(b *bench) {
		d := b.open()
		out := d.must(d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: "p1", Lane: "a", Weight: fsm.Some(int64(1))})))
		held := d.must(d.Apply(d.ctx, out, Hold(Meta{Actor: "ann"}, "a", instant)))
		r := d.refused(fsm.ErrGuard, func() (outcome, error) {
			return d.Apply(d.ctx, held, Expel(Meta{RequestID: "r", Actor: "op", Reason: "lost"}))
		})
		if !errors.Is(r, ErrTooHeavy) || r.Operation != "discard" {
			d.Errorf("got %+v", r)
		}
	}},
}
