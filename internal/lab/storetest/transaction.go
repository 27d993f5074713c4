package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

var errStop = errors.New("stop")

// A transaction is all or nothing.
var transactionTests = []test{
	{"all of it", func(b *bench) {
		b.update(func(tx fsm.Tx) error {
			return errors.Join(
				tx.Write(creation(parcel("p1", "a"), "")),
				tx.Write(creation(parcel("p2", "a"), "")))
		})
		if got := b.ids(driver.Query{}); !slices.Equal(got, []string{"p1", "p2"}) {
			b.Errorf("got %q, want both", got)
		}
	}},
	{"it sees its own writes", func(b *bench) {
		p := parcel("p1", "a")
		b.update(func(tx fsm.Tx) error {
			if err := tx.Write(creation(p, "r")); err != nil {
				return err
			}
			events, err := tx.Request("", "r")
			if err != nil || len(events) != 1 {
				b.Errorf("Request: %d events, %v", len(events), err)
			}
			if row, err := tx.Row("p1"); err != nil || row.Rev != 1 {
				b.Errorf("Row: %v, %v", row, err)
			}
			return tx.Write(change(p, p.held("ann", instant), "hold", ""))
		})
		if rev := b.row("p1").Rev; rev != 2 {
			b.Errorf("rev is %d, want 2", rev)
		}
	}},
	{"an error takes it back", func(b *bench) {
		p := b.makeShelved(parcel("p1", "a"), "s1")
		before := b.dump()
		err := b.table.Update(b.ctx, func(tx fsm.Tx) error {
			w := change(p, p.sent(), "send", "r")
			w.Outbox = []driver.Delivery{delivery("p1", 4)}
			if err := tx.Write(w); err != nil {
				return err
			}
			if err := tx.Write(creation(parcel("p2", "a"), "r2")); err != nil {
				return err
			}
			return errStop
		})
		if !errors.Is(err, errStop) {
			b.Fatalf("got %v, want the function's own error", err)
		}
		b.same(before, b.dump())
		b.view(func(r driver.Reader) error {
			events, err := r.Request("", "r2")
			if len(events) != 0 {
				b.Errorf("the request id of a write that was taken back is known")
			}
			return err
		})
		b.makeShelved(parcel("p3", "a"), "s2") // the place, ids and requests are free, the store works
		b.commit(creation(parcel("p2", "a"), "r2"))
	}},
	{"a refused write can be told from outside", func(b *bench) {
		p := b.make(parcel("p1", "a"))
		p.Rev = 9
		err := b.table.Update(b.ctx, func(tx fsm.Tx) error {
			if err := tx.Write(creation(parcel("p2", "a"), "")); err != nil {
				return err
			}
			return tx.Write(change(p, p.held("ann", instant), "hold", ""))
		})
		if !errors.Is(err, driver.ErrMoved) {
			b.Errorf("got %v, want ErrMoved", err)
		}
		if got := b.ids(driver.Query{}); !slices.Equal(got, []string{"p1"}) {
			b.Errorf("got %q, want p1 only", got)
		}
	}},
	{"a panic takes it back", func(b *bench) {
		before := b.dump()
		func() {
			defer func() {
				if recover() == nil {
					b.Error("the panic was swallowed")
				}
			}()
			_ = b.table.Update(b.ctx, func(tx fsm.Tx) error {
				if err := tx.Write(creation(parcel("p1", "a"), "")); err != nil {
					return err
				}
				panic("stop")
			})
		}()
		b.same(before, b.dump())
		b.make(parcel("p1", "a"))
	}},
	{"a context that ends before the commit leaves nothing", func(b *bench) {
		ctx, cancel := context.WithCancel(b.ctx)
		defer cancel()
		err := b.table.Update(ctx, func(tx fsm.Tx) error {
			if err := tx.Write(creation(parcel("p1", "a"), "")); err != nil {
				return err
			}
			cancel()
			return nil
		})
		if err == nil {
			b.Fatal("the commit went on with an ended context")
		}
		if got := b.ids(driver.Query{}); len(got) != 0 {
			b.Errorf("got %q, want nothing", got)
		}
		b.make(parcel("p1", "a"))
	}},
	{"a missing row is ErrNotFound", func(b *bench) {
		b.view(func(r driver.Reader) error {
			if _, err := r.Row("nobody"); !errors.Is(err, driver.ErrNotFound) {
				b.Errorf("got %v, want ErrNotFound", err)
			}
			return nil
		})
	}},
	{"a view is one snapshot", func(b *bench) {
		p := b.make(parcel("p1", "a"))
		written := make(chan error, 1)
		b.view(func(r driver.Reader) error {
			if row, err := r.Row("p1"); err != nil || row.Rev != 1 {
				b.Errorf("got %v, %v, want revision 1", row.Ref(), err)
			}
			go func() { // a store may make it wait for the end of the view
				written <- errors.Join(b.table.Commit(b.ctx, change(p, p.held("ann", instant), "hold", "")),
					b.table.Commit(b.ctx, creation(parcel("p2", "a"), "")))
			}()
			select {
			case err := <-written:
				written <- err
			case <-time.After(50 * time.Millisecond):
			}
			row, err := r.Row("p1")
			if err != nil || row.Rev != 1 {
				b.Errorf("in the same view: got %v, %v, want revision 1", row.Ref(), err)
			}
			n, err := r.Count(driver.Query{})
			if err != nil || n != 1 {
				b.Errorf("in the same view: got %d records, %v, want 1", n, err)
			}
			return nil
		})
		if err := <-written; err != nil {
			b.Error(err)
		}
		if rev := b.row("p1").Rev; rev != 2 {
			b.Errorf("revision %d afterwards, want 2", rev)
		}
	}},
	{"an error of a view comes back", func(b *bench) {
		if err := b.table.View(b.ctx, func(driver.Reader) error { return errStop }); !errors.Is(err, errStop) {
			b.Errorf("got %v, want the function's own error", err)
		}
	}},
	{"a look sees what was written", func(b *bench) {
		look := func(want int64) {
			b.Helper()
			var row driver.Row
			err := b.table.Look(b.ctx, func(r driver.Reader) (err error) { row, err = r.Row("p1"); return err })
			if want == 0 && errors.Is(err, driver.ErrNotFound) {
				return
			}
			if err != nil || row.Rev != want {
				b.Fatalf("revision %d, %v; want %d", row.Rev, err, want)
			}
		}
		look(0)
		p := b.make(parcel("p1", "a"))
		look(1)
		b.commit(change(p, p.sent(), "send", ""))
		look(2)
		if err := b.table.Look(b.ctx, func(driver.Reader) error { return errStop }); !errors.Is(err, errStop) {
			b.Errorf("got %v, want the function's own error", err)
		}
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		if err := b.table.Look(ctx, func(r driver.Reader) error { _, err := r.Row("p1"); return err }); !errors.Is(err, context.Canceled) {
			b.Errorf("got %v, want the error of the context", err)
		}
	}},
	{"no lost update", func(b *bench) {
		b.make(parcel("p1", "a"))
		const writers, each = 6, 8
		var group sync.WaitGroup
		for range writers {
			group.Go(func() {
				for done := 0; done < each; {
					err := b.table.Update(b.ctx, func(tx fsm.Tx) error {
						row, err := tx.Row("p1")
						if err != nil {
							return err
						}
						p, err := Decode(row)
						if err != nil {
							return err
						}
						next := p
						next.Rev, next.Moves = p.Rev+1, p.Moves+1
						return tx.Write(change(p, next, "bill", ""))
					})
					switch {
					case err == nil:
						done++
					case errors.Is(err, driver.ErrMoved), errors.Is(err, fsm.ErrBusy):
					default:
						b.Errorf("Update: %v", err)
						return
					}
				}
			})
		}
		group.Wait()
		if row := b.row("p1"); row.Rev != 1+writers*each || row.Values[colMoves] != int64(writers*each) {
			b.Errorf("got %s, want %d moves", rowText(row), writers*each)
		}
		if n := len(b.events("p1")); n != 1+writers*each {
			b.Errorf("the log has %d events, want %d", n, 1+writers*each)
		}
	}},
	{"of many writers at one revision one wins", func(b *bench) {
		p := b.make(parcel("p1", "a"))
		var won, moved int
		var lock sync.Mutex
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				err := b.table.Commit(b.ctx, change(p, p.held("ann", instant), "hold", ""))
				for errors.Is(err, fsm.ErrBusy) {
					err = b.table.Commit(b.ctx, change(p, p.held("ann", instant), "hold", ""))
				}
				lock.Lock()
				defer lock.Unlock()
				switch {
				case err == nil:
					won++
				case errors.Is(err, driver.ErrMoved):
					moved++
				default:
					b.Errorf("Commit: %v", err)
				}
			})
		}
		group.Wait()
		if won != 1 || moved != 7 {
			b.Errorf("%d won and %d were told that it moved, want 1 and 7", won, moved)
		}
	}},
}
