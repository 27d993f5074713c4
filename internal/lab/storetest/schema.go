package storetest

import (
	"context"
	"errors"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// A store knows which specification it holds.
var schemaTests = []test{
	{"check after migrate", func(b *bench) {
		if err := b.table.Check(b.ctx); err != nil {
			b.Fatalf("Check: %v", err)
		}
	}},
	{"migrate twice keeps everything", func(b *bench) {
		b.make(parcel("p1", "a"))
		before := b.dump()
		if err := b.table.Migrate(b.ctx); err != nil {
			b.Fatalf("second Migrate: %v", err)
		}
		b.same(before, b.dump())
	}},
	{"check refuses another hash", func(b *bench) {
		other := Schema()
		other.SQL, other.Hash = b.suite.sql, "another"
		table, err := b.store.Table(other)
		if err != nil {
			b.Fatal(err)
		}
		wantMismatch(b, table.Check(b.ctx))
	}},
	{"check refuses a store without tables", func(b *bench) {
		empty := b.suite.open(b.T)
		table, err := empty.Table(b.schema)
		if err != nil {
			b.Fatal(err)
		}
		wantMismatch(b, table.Check(b.ctx))
		_, err = fsm.NewMachine(b.ctx, empty, Descriptor(b.schema), noEffects())
		wantMismatch(b, err)
	}},
}

func wantMismatch(b *bench, err error) {
	b.Helper()
	var r *fsm.Refusal
	if !errors.Is(err, fsm.ErrSchemaMismatch) || !errors.As(err, &r) || r.Machine != "parcel" {
		b.Fatalf("got %v, want a refusal of parcel with CodeSchemaMismatch", err)
	}
}

func noEffects() map[string]fsmimpl.EffectFunc[Parcel] {
	none := func(context.Context, fsm.Tx, Parcel, string, fsm.Event) error { return nil }
	return map[string]fsmimpl.EffectFunc[Parcel]{"charge": none, "carry": none, "notify": none}
}
