package storetest

import (
	"errors"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// rolloutTests are about two specifications that are open at once. A store whose
// tables are not for a program to change refuses a specification of another hash
// and keeps its own.
var rolloutTests = []test{
	{"a later version keeps the one before it open", func(b *bench) {
		first := b.make(parcel("p1", "a"))
		later, ok := b.later(2, "later", b.schema.ID())
		if !ok {
			return
		}
		for name, call := range map[string]func() error{
			"Check": func() error { return b.table.Check(b.ctx) }, "Migrate": func() error { return b.table.Migrate(b.ctx) },
			"Check of the later one": func() error { return later.Check(b.ctx) }, "its second Migrate": func() error { return later.Migrate(b.ctx) },
		} {
			if err := call(); err != nil {
				b.Errorf("%s: %v", name, err)
			}
		}
		held := first.held("ann", instant)
		if err := later.Commit(b.ctx, change(first, held, "hold", "")); err != nil {
			b.Fatalf("the later version writes: %v", err)
		}
		b.commit(change(held, held.shelved("s1"), "shelve", "")) // and the one before it goes on from there
		if row := b.row("p1"); row.Rev != 3 {
			b.Errorf("revision %d, want 3", row.Rev)
		}
		if err := later.Retire(b.ctx); err != nil {
			b.Fatalf("Retire: %v", err)
		}
		b.wantRetired(2, "later")
		if err := later.Check(b.ctx); err != nil {
			b.Errorf("Check of the later one, after it has retired the other: %v", err)
		}
	}},
	{"a later version that stands alone retires the one before it", func(b *bench) {
		if _, ok := b.later(2, "later"); !ok {
			return
		}
		b.wantRetired(2, "later")
		wantMismatch(b, b.table.Retire(b.ctx))
	}},
	{"the third version retires the first", func(b *bench) {
		second, ok := b.later(2, "second", b.schema.ID())
		if !ok {
			return
		}
		b.later(3, "third", driver.SpecID{Version: 2, Hash: "second"})
		b.wantRetired(3, "third")
		if err := second.Check(b.ctx); err != nil {
			b.Errorf("the second version: %v", err)
		}
	}},
	{"a version that did not rise retires nothing", func(b *bench) {
		if _, ok := b.later(1, "edited"); !ok {
			return
		}
		wantMismatch(b, b.table.Check(b.ctx))
		if err := b.table.Migrate(b.ctx); err != nil {
			b.Fatalf("Migrate back: %v", err)
		}
		if err := b.table.Check(b.ctx); err != nil {
			b.Errorf("Check: %v", err)
		}
	}},
}

// later migrates the store to another specification of the same machine; ok is
// false when a program cannot do that here, and then nothing must have changed.
func (b *bench) later(version int, hash string, beside ...driver.SpecID) (table driver.Table, ok bool) {
	b.Helper()
	s := Schema()
	s.SQL, s.Version, s.Hash, s.Beside = b.suite.sql, version, hash, beside
	table, err := b.store.Table(s)
	if err != nil {
		b.Fatal(err)
	}
	err = table.Migrate(b.ctx)
	switch {
	case err == nil:
		return table, true
	default:
		wantMismatch(b, err)
		if err := b.table.Check(b.ctx); err != nil {
			b.Errorf("Check, after a migration that was refused: %v", err)
		}
	}
	return nil, false
}

// wantRetired demands that the bench's own specification was retired.
func (b *bench) wantRetired(version int, hash string) {
	b.Helper()
	before := driver.RetiredError{Machine: "parcel", Program: b.schema.ID(), Store: driver.SpecID{Version: version, Hash: hash}}
	for name, err := range map[string]error{"Check": b.table.Check(b.ctx), "Migrate": b.table.Migrate(b.ctx)} {
		wantMismatch(b, err)
		var retired *driver.RetiredError
		if !errors.As(err, &retired) || *retired != before {
			b.Errorf("%s: got %v, want %v", name, err, &before)
		}
	}
}
