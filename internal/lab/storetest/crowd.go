package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// crowdTests let many callers commit at once, so that a store that commits
// together what waits together shows what it makes of the guilty among them.
var crowdTests = []test{
	{"each has its own answer", func(b *bench) {
		const each = 12
		at := b.make(parcel("moved", "a"))
		b.commit(change(at, at.held("ann", instant), "hold", ""))
		b.makeShelved(parcel("taken", "a"), "slot")
		b.commit(creation(parcel("first", "a"), "used"))
		type call struct {
			w    *driver.Write
			want error
		}
		var calls []call
		for i := range each {
			id := fmt.Sprintf("p%02d", i)
			rival := b.makeHeld(parcel("rival-"+id, "a"), "ann", instant)
			own := b.make(parcel("own-"+id, "a"))
			box := b.makeShelved(parcel("box-"+id, "a"), "slot "+id)
			send := change(box, box.sent(), "send", "send "+id)
			send.Outbox = []driver.Delivery{delivery(box.ID, box.Rev+1)}
			exact := full("exact-" + id)
			b.commit(creation(exact, ""))
			old := Encode(&exact)
			next := exact
			next.Rev, next.Note = 2, fsm.Some(fsm.MustJSON(`{"quote\"":"back\\slash {,} ä"}`))
			annotate := change(exact, next, "annotate", "")
			annotate.Old = &old
			edited := exact
			edited.Label = fsm.Some("edited")
			wrong := Encode(&edited)
			mistaken := change(exact, next, "annotate", "")
			mistaken.Old = &wrong
			calls = append(calls,
				call{creation(parcel("new-"+id, "a"), "make "+id), nil},
				call{change(own, own.held("ann", instant), "hold", "hold "+id), nil},
				call{send, nil},
				call{annotate, nil},
				call{mistaken, driver.ErrMoved},
				call{change(at, at.held("bob", instant), "hold", ""), driver.ErrMoved},
				call{change(rival, rival.shelved("slot"), "shelve", ""), &driver.ConflictError{}},
				call{creation(parcel("late-"+id, "a"), "used"), driver.ErrRequestTaken},
				call{creation(parcel("first", "b"), ""), driver.ErrIDTaken},
			)
		}
		answers := make([]error, len(calls))
		start := make(chan struct{})
		var group sync.WaitGroup
		for i := range calls {
			group.Go(func() {
				<-start
				for {
					if answers[i] = b.table.Commit(b.ctx, calls[i].w); !errors.Is(answers[i], fsm.ErrBusy) {
						return
					}
				}
			})
		}
		close(start)
		group.Wait()
		for i, c := range calls {
			var conflict *driver.ConflictError
			switch {
			case errors.As(c.want, &conflict):
				if !errors.As(answers[i], &conflict) || conflict.Rule != "one_per_slot" {
					b.Errorf("%s of %s: got %v, want a conflict of one_per_slot", c.w.Event.Operation, c.w.Prev, answers[i])
				}
			case errors.As(answers[i], &conflict) || !errors.Is(answers[i], c.want):
				b.Errorf("%s of %s: got %v, want %v", c.w.Event.Operation, c.w.Prev, answers[i], c.want)
			}
			if answers[i] != nil {
				continue
			}
			events := b.events(c.w.Prev.ID)
			b.same([]string{rowText(*c.w.Row), eventText(c.w.Event)}, []string{rowText(b.row(c.w.Prev.ID)), eventText(events[len(events)-1])})
		}
		b.view(func(r driver.Reader) error {
			box, err := r.Outbox(instant.AddDate(100, 0, 0), 1000)
			if len(box) != each {
				b.Errorf("the outbox has %d deliveries, want %d", len(box), each)
			}
			return err
		})
	}},
	{"of rivals one wins", func(b *bench) {
		const rivals, rounds = 24, 4
		for round := range rounds {
			slot := fmt.Sprint("slot", round)
			var held []Parcel
			for i := range rivals {
				held = append(held, b.makeHeld(parcel(fmt.Sprintf("p%d-%02d", round, i), "a"), "ann", instant))
			}
			won := b.crowd(rivals, func(i int) error {
				return b.table.Commit(b.ctx, change(held[i], held[i].shelved(slot), "shelve", ""))
			}, func(err error) bool {
				var conflict *driver.ConflictError
				return errors.As(err, &conflict) && conflict.Rule == "one_per_slot"
			})
			made := b.crowd(rivals, func(i int) error {
				return b.table.Commit(b.ctx, creation(parcel(fmt.Sprintf("q%d-%02d", round, i), "a"), slot))
			}, func(err error) bool { return errors.Is(err, driver.ErrRequestTaken) })
			if won != 1 || made != 1 {
				b.Errorf("%d took the slot and %d the request, want 1 and 1", won, made)
			}
		}
	}},
	{"who stops waiting has written nothing", func(b *bench) {
		const callers = 64
		answers := make([]error, callers)
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				ctx, cancel := context.WithTimeout(b.ctx, time.Duration(i)*50*time.Microsecond)
				defer cancel()
				answers[i] = b.table.Commit(ctx, creation(parcel(fmt.Sprintf("p%02d", i), "a"), ""))
			})
		}
		group.Wait()
		ids := b.ids(driver.Query{})
		for i, err := range answers {
			id := fmt.Sprintf("p%02d", i)
			switch there := slices.Contains(ids, id); {
			case errors.Is(err, fsm.ErrAmbiguous): // it was on its way
			case err == nil && !there:
				b.Errorf("%s was acknowledged and is not there", id)
			case errors.Is(err, context.DeadlineExceeded) && there:
				b.Errorf("%s is there, and its caller was told that it is not", id)
			case err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, fsm.ErrBusy):
				b.Errorf("%s: %v", id, err)
			}
		}
	}},
}

// isStop reports that a caller was told to stop.
func isStop(err error) bool { return errors.Is(err, errStop) }

// crowd lets n callers do f at once and returns how many it succeeded for.
func (b *bench) crowd(n int, f func(i int) error, lost func(error) bool) int {
	b.Helper()
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			for {
				if errs[i] = f(i); !errors.Is(errs[i], fsm.ErrBusy) {
					return
				}
			}
		})
	}
	group.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !lost(err) {
			b.Errorf("an answer: %v", err)
		}
	}
	return won
}
