package storetest

import (
	"fmt"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// A request id stands once in its scope.
var requestTests = []test{
	{"scope of the record", func(b *bench) {
		p := b.make(parcel("p1", "a"))
		q := b.make(parcel("p2", "a"))
		b.commit(change(p, p.held("ann", instant), "hold", "r"))
		b.commit(change(q, q.held("ann", instant), "hold", "r")) // another record may have the same
		b.view(func(r driver.Reader) error {
			for _, id := range []string{"p1", "p2"} {
				events, err := r.Request(id, "r")
				if err != nil {
					return err
				}
				if len(events) != 1 || events[0].ID != id || events[0].Rev != 2 {
					b.Errorf("Request(%s) returned %v, want the event of revision 2", id, events)
				}
			}
			events, err := r.Request("", "r")
			if len(events) != 0 {
				b.Errorf("the machine's scope has %d events of a record's request", len(events))
			}
			return err
		})
	}},
	{"taken in the record", func(b *bench) {
		p := b.make(parcel("p1", "a"))
		held := p.held("ann", instant)
		b.commit(change(p, held, "hold", "r"))
		b.refuse(change(held, held.shelved("s1"), "shelve", "r"), driver.ErrRequestTaken)
		b.refuse(note(held, "r"), driver.ErrRequestTaken)
	}},
	{"taken by a record-only event", func(b *bench) {
		p := b.makeHeld(parcel("p1", "a"), "ann", instant)
		b.commit(note(p, "r"))
		b.refuse(change(p, p.shelved("s1"), "shelve", "r"), driver.ErrRequestTaken)
	}},
	{"taken in the machine", func(b *bench) {
		b.commit(creation(parcel("p1", "a"), "r"))
		b.refuse(creation(parcel("p2", "a"), "r"), driver.ErrRequestTaken)
	}},
	{"the machine's request is the record's too", func(b *bench) {
		p := parcel("p1", "a")
		b.commit(creation(p, "r"))
		b.refuse(change(p, p.held("ann", instant), "hold", "r"), driver.ErrRequestTaken)
		b.view(func(r driver.Reader) error {
			events, err := r.Request("p1", "r")
			if len(events) != 1 {
				b.Errorf("the record's scope has %d events, want 1", len(events))
			}
			return err
		})
	}},
	{"a batch shares one request", func(b *bench) {
		var writes []*driver.Write
		for i := range 12 {
			p := b.make(parcel(fmt.Sprintf("p%02d", 11-i), "a"))
			w := change(p, p.held("ann", instant), "hold", "batch")
			w.Event.RequestN = int64(i)
			writes = append(writes, w)
		}
		b.update(func(tx fsm.Tx) error {
			for _, w := range writes {
				if err := tx.Write(w); err != nil {
					return err
				}
			}
			return nil
		})
		b.view(func(r driver.Reader) error {
			events, err := r.Request("", "batch")
			if len(events) != 12 {
				b.Fatalf("got %d events, want 12", len(events))
			}
			for i, e := range events {
				if e.RequestN != int64(i) || e.ID != fmt.Sprintf("p%02d", 11-i) {
					b.Errorf("event %d is %s number %d: not in the order of RequestN", i, e.ID, e.RequestN)
				}
			}
			return err
		})
		p := b.make(parcel("q", "a"))
		w := change(p, p.held("ann", instant), "hold", "batch")
		w.Event.RequestN = 3
		b.refuse(w, driver.ErrRequestTaken)
	}},
	{"events without a request are not found by none", func(b *bench) {
		b.make(parcel("p1", "a"))
		b.view(func(r driver.Reader) error {
			events, err := r.Request("p1", "")
			if len(events) != 0 {
				b.Errorf("got %d events for an empty request id", len(events))
			}
			return err
		})
	}},
	{"ids are compared byte by byte", func(b *bench) {
		b.commit(creation(parcel("P", "a"), "Req"))
		b.commit(creation(parcel("p", "a"), "req"))
		b.commit(creation(parcel("p ", "a"), "req "))
		if got := b.ids(driver.Query{}); len(got) != 3 {
			b.Errorf("got %q, want three records", got)
		}
	}},
}
