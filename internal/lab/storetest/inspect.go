package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// inspectTests are about what the checks at open look for.
var inspectTests = []test{
	{"who shares a place is found", func(b *bench) {
		for id, lane := range map[string]string{"p1": "a", "p2": "a", "p3": "b", "p4": "c", "p5": "c", "p6": "c"} {
			b.make(parcel(id, lane))
		}
		b.makeHeld(parcel("p7", "b"), "ann", instant) // in a state that does not count
		lane := &driver.UniqueRule{Name: "lane", Columns: []string{"lane"}, States: []string{"waiting"}}
		for _, c := range []struct {
			rule  *driver.UniqueRule
			after string
			limit int
			want  []driver.Double
		}{
			{lane, "", 10, []driver.Double{{First: "p1", Last: "p2", Count: 2}, {First: "p4", Last: "p6", Count: 3}}},
			{lane, "", 1, []driver.Double{{First: "p1", Last: "p2", Count: 2}}},
			{lane, "p1", 10, []driver.Double{{First: "p4", Last: "p6", Count: 3}}},
			{&driver.UniqueRule{Name: "lane", Columns: []string{"lane"}}, "p2", 1, []driver.Double{{First: "p3", Last: "p7", Count: 2}}},
			{&driver.UniqueRule{Name: "slot", Columns: []string{"slot"}}, "", 10, nil}, // absent values never collide
			{&driver.UniqueRule{Name: "one", States: []string{"held"}}, "", 10, nil},
			{&driver.UniqueRule{Name: "one", States: []string{"waiting"}}, "", 10, []driver.Double{{First: "p1", Last: "p6", Count: 6}}},
		} {
			b.view(func(in driver.Reader) error {
				got, err := in.Doubles(c.rule, c.after, c.limit)
				if err == nil && !slices.Equal(got, c.want) {
					b.Errorf("Doubles(%s in %v, %q, %d): got %v, want %v", c.rule.Name, c.rule.States, c.after, c.limit, got, c.want)
				}
				return err
			})
		}
	}},
	{"a row that its log does not end with is found", func(b *bench) {
		for i := range 5 {
			b.makeHeld(parcel(fmt.Sprintf("p%d", i), "a"), "ann", instant)
		}
		for _, id := range []string{"p1", "p3"} { // put back by a revision, past every rule
			before := parcel(id, "a")
			row := Encode(&before)
			e := note(before, "").Event
			e.Operation, e.Name = "__repair", "__repair"
			e.Sum = driver.Checksum(&e)
			err := b.table.Update(b.ctx, func(tx fsm.Tx) error {
				return tx.Restore(&row, &e)
			})
			if err != nil {
				b.Fatalf("Restore: %v", err)
			}
		}
		for _, c := range []struct {
			after string
			limit int
			want  []string
		}{{"", 10, []string{"p1", "p3"}}, {"", 1, []string{"p1"}}, {"p1", 10, []string{"p3"}}, {"p3", 10, nil}} {
			b.view(func(in driver.Reader) error {
				got, err := in.Loose(c.after, c.limit)
				if err == nil && !slices.Equal(got, c.want) {
					b.Errorf("Loose(%q, %d): got %q, want %q", c.after, c.limit, got, c.want)
				}
				return err
			})
		}
	}},
}

// lockTests are about rows that a transaction has locked.
var lockTests = []test{
	{"rows that are waited for are all there", func(b *bench) {
		const rows, callers = 5, 6
		for i := range rows {
			b.make(parcel(fmt.Sprintf("p%d", i), "a"))
		}
		take := func(tx fsm.Tx) error {
			n := 0
			for row, err := range tx.Rows(driver.Query{States: []string{"waiting"}, Limit: rows + 1, Lock: true, Wait: true}) {
				if err != nil {
					return err
				}
				p, err := Decode(row)
				if err != nil {
					return err
				}
				q := p
				q.Moves, q.Rev = q.Moves+1, q.Rev+1
				if err := tx.Write(change(p, q, "bill", "")); err != nil {
					return err
				}
				n++
			}
			if n != rows {
				b.Errorf("%d rows, want all %d", n, rows)
			}
			return nil
		}
		var group sync.WaitGroup
		for range callers {
			group.Go(func() {
				var err error = fsm.ErrBusy
				for errors.Is(err, fsm.ErrBusy) || errors.Is(err, driver.ErrMoved) {
					err = b.table.Update(b.ctx, take)
				}
				if err != nil {
					b.Errorf("it got %v", err)
				}
			})
		}
		group.Wait()
		for i := range rows {
			if row := b.row(fmt.Sprintf("p%d", i)); row.Rev != 1+callers {
				b.Errorf("%s is at revision %d, want %d", row.ID, row.Rev, 1+callers)
			}
		}
	}},
	{"rows that are locked go to one transaction only", func(b *bench) {
		// There are as many rows as pickers, so each must find one that nobody has.
		const pickers = 8
		for i := range pickers {
			b.make(parcel(fmt.Sprintf("p%d", i), "a"))
		}
		var group sync.WaitGroup
		for range pickers {
			group.Go(func() {
				for {
					err := b.table.Update(b.ctx, func(tx fsm.Tx) error {
						var first *driver.Row
						for row, err := range tx.Rows(driver.Query{States: []string{"waiting"}, Order: []driver.Order{{Column: "created_at"}}, Limit: 1, Lock: true}) {
							if err != nil {
								return err
							}
							first = &row
						}
						if first == nil {
							return errStop
						}
						p, err := Decode(*first)
						if err != nil {
							return err
						}
						time.Sleep(time.Millisecond)
						return tx.Write(change(p, p.held("ann", instant), "hold", ""))
					})
					if errors.Is(err, fsm.ErrBusy) {
						continue
					}
					if err != nil {
						b.Errorf("a picker got %v, want a row of its own", err)
					}
					return
				}
			})
		}
		group.Wait()
		if got := b.ids(driver.Query{States: []string{"held"}}); len(got) != pickers {
			b.Errorf("%d rows were picked, want %d", len(got), pickers)
		}
	}},
	{"a table is made without the store", func(b *bench) {
		if err := b.store.Close(); err != nil {
			b.Fatal(err)
		}
		table, err := b.store.Table(b.schema)
		if err != nil {
			b.Fatalf("Table of a store that is closed: %v; want no error before it is used", err)
		}
		for name, err := range map[string]error{
			"Check":   table.Check(b.ctx),
			"Migrate": table.Migrate(b.ctx),
			"View":    table.View(b.ctx, func(driver.Reader) error { return nil }),
			"Look":    table.Look(b.ctx, func(driver.Reader) error { return nil }),
			"Commit":  table.Commit(b.ctx, creation(parcel("p1", "a"), "")),
		} {
			if !errors.Is(err, fsm.ErrClosed) {
				b.Errorf("%s: got %v, want ErrClosed", name, err)
			}
		}
	}},
}
