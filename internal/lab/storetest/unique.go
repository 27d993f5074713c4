package storetest

import (
	"errors"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// conflicts commits a write that must break the rule and leave no trace.
func (b *bench) conflicts(w *driver.Write, rule string) {
	b.Helper()
	before := b.dump()
	err := b.table.Commit(b.ctx, w)
	var c *driver.ConflictError
	if !errors.As(err, &c) || c.Rule != rule {
		b.Fatalf("Commit of %s: got %v, want a conflict with %s", w.Prev, err, rule)
	}
	b.same(before, b.dump())
}

// A unique rule holds at every instant.
var uniqueTests = []test{
	{"a place is taken", func(b *bench) {
		b.makeShelved(parcel("p1", "a"), "s1")
		held := b.makeHeld(parcel("p2", "a"), "ann", instant)
		b.conflicts(change(held, held.shelved("s1"), "shelve", ""), "one_per_slot")
		b.commit(change(held, held.shelved("s2"), "shelve", ""))
	}},
	{"a place is free again", func(b *bench) {
		p := b.makeShelved(parcel("p1", "a"), "s1")
		b.commit(change(p, p.sent(), "send", ""))
		b.makeShelved(parcel("p2", "a"), "s1")
	}},
	{"a record does not stand in its own way", func(b *bench) {
		p := b.makeShelved(parcel("p1", "a"), "s1")
		again := p.shelved("s1")
		b.commit(change(p, again, "shelve", ""))
		moved := again.shelved("s2")
		b.commit(change(again, moved, "shelve", ""))
		b.makeShelved(parcel("p2", "a"), "s1") // the place it has left
	}},
	{"dedupe rule", func(b *bench) {
		p := parcel("p1", "a")
		p.Label = fsm.Some("l")
		b.make(p)
		q := parcel("p2", "a")
		q.Label = fsm.Some("l")
		b.conflicts(creation(q, ""), "dedupe_register")
	}},
	{"absent values never collide", func(b *bench) {
		b.make(parcel("p1", "a"))
		b.make(parcel("p2", "a"))
	}},
	{"a swap in one transaction", func(b *bench) {
		p := b.makeShelved(parcel("p1", "a"), "s1")
		q := b.makeHeld(parcel("p2", "a"), "ann", instant)
		b.update(func(tx fsm.Tx) error {
			return errors.Join(
				tx.Write(change(p, p.sent(), "send", "")),
				tx.Write(change(q, q.shelved("s1"), "shelve", "")))
		})
	}},
}
