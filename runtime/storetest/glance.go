package storetest

import (
	"slices"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// glanceTests are about picks that look without a lock. A store whose Table is no
// fsm.Glancer has nothing to promise here; its picks lock what they look at.
var glanceTests = []test{
	{"it shows what a query finds", func(b *bench) {
		g, ok := b.table.(fsm.Glancer)
		if !ok {
			return
		}
		b.shelf()
		b.makeHeld(parcel("late", "a"), "ann", instant)
		for _, q := range []fsm.Query{
			{States: []string{"waiting"}, Order: []fsm.Order{{Column: "weight"}}, Limit: 2, Lock: true},
			{States: []string{"waiting", "held"}, Order: []fsm.Order{{Column: "weight", Descending: true}}, Limit: 100},
			{States: []string{"held"}, Where: []fsm.Cond{{Column: "lane", Op: fsm.OpEq, Value: "a"}}, Order: []fsm.Order{{Column: "created_at"}}, Limit: 1},
			{States: []string{"sent"}, Order: []fsm.Order{{Column: "created_at"}}, Limit: 1},
		} {
			seen, err := g.Glance(b.ctx, q)
			if err != nil {
				b.Fatal(err)
			}
			q.Lock = false
			var got, want []string
			for _, s := range seen {
				got = append(got, rowText(s.Row))
			}
			b.view(func(r fsm.Reader) error {
				for row, err := range r.Rows(q) {
					if err != nil {
						return err
					}
					want = append(want, rowText(row))
				}
				return nil
			})
			b.same(want, got)
		}
		if _, err := g.Glance(b.ctx, fsm.Query{Order: []fsm.Order{{Column: "missing"}}, Limit: 1}); err == nil {
			b.Error("an order by a column that there is not was taken")
		}
	}},
	{"it waits for no writer and tells what is held", func(b *bench) {
		g, ok := b.table.(fsm.Glancer)
		if !ok {
			return
		}
		locked, moved := b.make(parcel("p1", "a")), b.make(parcel("p2", "a"))
		b.make(parcel("p3", "a"))
		b.update(func(tx fsm.Tx) error {
			if _, err := tx.Row(locked.ID); err != nil {
				return err
			}
			if err := tx.Write(change(moved, moved.held("ann", instant), "hold", "")); err != nil {
				return err
			}
			if err := tx.Write(creation(parcel("p0", "a"), "")); err != nil {
				return err
			}
			seen, err := g.Glance(b.ctx, fsm.Query{States: []string{"waiting"}, Order: []fsm.Order{{Column: "lane"}}, Limit: 10})
			var got []string
			for _, s := range seen {
				if s.Held {
					s.Row.ID += " held"
				}
				got = append(got, s.Row.ID)
			}
			if want := []string{"p1 held", "p2 held", "p3"}; !slices.Equal(got, want) {
				b.Errorf("got %q, want %q", got, want)
			}
			return err
		})
	}},
	{"after the end", func(b *bench) {
		g, ok := b.table.(fsm.Glancer)
		if !ok {
			return
		}
		if err := b.store.Close(); err != nil {
			b.Fatal(err)
		}
		if seen, err := g.Glance(b.ctx, fsm.Query{Limit: 1}); err == nil {
			b.Errorf("a closed store showed %v", seen)
		}
	}},
}
