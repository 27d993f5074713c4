package storetest

import (
	"fmt"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The log of a record is complete, in order, and as it was written.
var logTests = []test{
	{"events from a revision on", func(b *bench) {
		p := b.make(parcel("p1", "a"))
		for range 11 {
			next := p
			next.Rev++
			next.Fragile = fsm.Some(next.Rev%2 == 0)
			b.commit(change(p, next, "annotate", ""))
			p = next
		}
		for _, from := range []int64{0, 1, 2, 9, 12, 13} {
			var got []string
			b.view(func(r driver.Reader) error {
				got = nil
				for e, err := range r.Events("p1", from) {
					if err != nil {
						return err
					}
					got = append(got, fmt.Sprint(e.Rev))
				}
				return nil
			})
			var want []string
			for rev := max(from, 1); rev <= 12; rev++ {
				want = append(want, fmt.Sprint(rev))
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				b.Errorf("from %d: got %v, want %v", from, got, want)
			}
		}
	}},
	{"logs do not mix", func(b *bench) {
		b.make(parcel("p", "a"))
		b.make(parcel("p1", "a"))
		b.make(parcel("P", "a"))
		if events := b.events("p"); len(events) != 1 || events[0].ID != "p" {
			b.Errorf("got %v, want the one event of p", events)
		}
	}},
	{"an unknown record has no log", func(b *bench) {
		if events := b.events("nobody"); len(events) != 0 {
			b.Errorf("got %v, want none", events)
		}
	}},
	{"every field of an event comes back", func(b *bench) {
		p := b.make(full("p1"))
		next := p.held("ann", instant)
		w := change(p, next, "hold", "r")
		w.Event.RequestN = 4
		w.Event.Cause, w.Event.Guard = "cause", "guard"
		w.Event.Version = 3
		w.Event.Image = fsm.MustJSON(`{"x":{"$json":null},"n":1e400}`)
		w.Event.Sum = 1<<32 - 1
		want := eventText(w.Event)
		b.commit(w)
		b.same([]string{want}, []string{eventText(b.events("p1")[1])})
		b.view(func(r driver.Reader) error {
			events, err := r.Request("", "r")
			if err == nil {
				b.same([]string{want}, []string{eventText(events[0])})
			}
			return err
		})
	}},
	{"an event may be nearly empty", func(b *bench) {
		p := b.make(parcel("p1", "a"))
		w := change(p, p.held("ann", instant), "hold", "")
		e := &w.Event
		e.Actor, e.Reason, e.Fingerprint, e.Labels = "", "", "", nil
		e.Inputs, e.Changes = fsm.JSON{}, fsm.MustJSON(`{}`)
		want := eventText(*e)
		b.commit(w)
		b.same([]string{want}, []string{eventText(b.events("p1")[1])})
	}},
	{"no orphans", func(b *bench) {
		b.make(parcel("p1", "a"))
		b.view(func(r driver.Reader) error {
			ids, err := r.Orphans("", 10)
			if len(ids) != 0 {
				b.Errorf("got %q, want none", ids)
			}
			return err
		})
	}},
}
