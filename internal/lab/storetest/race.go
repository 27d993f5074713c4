package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

const racers = 8

// race runs f in several goroutines at once and returns their answers.
func race(f func(i int) (outcome, error)) ([]outcome, []error) {
	outs, errs := make([]outcome, racers), make([]error, racers)
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range racers {
		group.Go(func() {
			<-start
			outs[i], errs[i] = f(i)
		})
	}
	close(start)
	group.Wait()
	return outs, errs
}

// oneFresh checks that all answers are the same outcome and one of them is fresh.
func (d *depot) oneFresh(outs []outcome, errs []error) {
	d.Helper()
	fresh := 0
	for i, out := range outs {
		if errs[i] != nil {
			d.Errorf("answer %d: %v", i, errs[i])
			continue
		}
		d.same(outcomeText(outs[0]), outcomeText(out))
		if !out.Replayed {
			fresh++
		}
	}
	if fresh != 1 {
		d.Errorf("%d answers are fresh, want 1", fresh)
	}
}

// raceTests let goroutines meet.
var raceTests = []test{
	{"one creation request", func(b *bench) {
		d := b.open()
		d.oneFresh(race(func(int) (outcome, error) {
			return d.Create(d.ctx, Register(Meta{RequestID: "r"}, RegisterInput{Lane: "a", Label: fsm.Some("l")}))
		}))
		if ids := d.ids(driver.Query{}); len(ids) != 1 {
			d.Errorf("got %q, want one record", ids)
		}
	}},
	{"one dedupe value", func(b *bench) {
		d := b.open()
		outs, errs := race(func(i int) (outcome, error) {
			return d.Create(d.ctx, Register(Meta{RequestID: fmt.Sprint("r", i)}, RegisterInput{Lane: "a", Label: fsm.Some("l")}))
		})
		made := 0
		for i, out := range outs {
			if errs[i] != nil || out.Record.ID != outs[0].Record.ID {
				d.Errorf("answer %d: %q, %v, want %q", i, out.Record.ID, errs[i], outs[0].Record.ID)
			}
			if !out.Existing {
				made++
			}
		}
		if made != 1 {
			d.Errorf("%d answers say that they made it, want 1", made)
		}
	}},
	{"one id", func(b *bench) {
		d := b.open()
		_, errs := race(func(i int) (outcome, error) {
			return d.Create(d.ctx, Register(Meta{RequestID: fmt.Sprint("r", i)}, RegisterInput{ID: "p1", Lane: "a"}))
		})
		exists := 0
		for _, err := range errs {
			if errors.Is(err, fsm.ErrExists) {
				exists++
			} else if err != nil {
				d.Error(err)
			}
		}
		if exists != racers-1 {
			d.Errorf("%d were told that it exists, want %d", exists, racers-1)
		}
	}},
	{"one request on a record", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		d.oneFresh(race(func(i int) (outcome, error) {
			var at fsm.Target = out
			if i%2 == 0 {
				at = out.Ref()
			}
			return d.Apply(d.ctx, at, Hold(Meta{RequestID: "r", Actor: "ann"}, "a", instant))
		}))
		d.oneFresh(race(func(int) (outcome, error) {
			return d.Apply(d.ctx, fsm.Ref{ID: "p1"}, Bill(Meta{RequestID: "b"}))
		}))
		if got := d.performed(); got != "charge a p1@3" {
			d.Errorf("performed %q, want one charge", got)
		}
	}},
	{"requests at one revision", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		outs, errs := race(func(i int) (outcome, error) {
			return d.Apply(d.ctx, out, Hold(Meta{RequestID: fmt.Sprint("r", i), Actor: fmt.Sprint("w", i)}, "a", instant))
		})
		won := 0
		for i := range outs {
			switch {
			case errs[i] == nil:
				won++
				d.fresh(outs[i])
			case !errors.Is(errs[i], fsm.ErrStale):
				d.Error(errs[i])
			}
		}
		if won != 1 {
			d.Errorf("%d won, want 1", won)
		}
	}},
	{"calls without a revision all count", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		_, errs := race(func(i int) (outcome, error) {
			for range 3 {
				if _, err := d.Apply(d.ctx, fsm.Ref{ID: "p1"}, Bill(Meta{})); err != nil {
					return out, err
				}
			}
			return out, nil
		})
		if err := errors.Join(errs...); err != nil {
			d.Error(err)
		}
		if p := d.parcel("p1"); p.Moves != 3*racers || p.Rev != 3*racers+1 {
			d.Errorf("moves %d at revision %d, want %d", p.Moves, p.Rev, 3*racers)
		}
	}},
	{"workers never share a parcel", func(b *bench) {
		d := b.open()
		var weights []int64
		for i := range 3 * racers {
			weights = append(weights, int64(i%5))
		}
		d.queue("a", weights...)
		var lock sync.Mutex
		holders := map[string]string{}
		_, errs := race(func(i int) (outcome, error) {
			for n := 0; ; n++ {
				m := Meta{RequestID: fmt.Sprint("r", i, "/", n), Actor: fmt.Sprint("w", i)}
				outs, err := d.Pick(d.ctx, 1+n%2, Hold(m, "a", instant))
				if errors.Is(err, fsm.ErrNothingToDo) {
					return outcome{}, nil
				}
				if err != nil {
					return outcome{}, err
				}
				lock.Lock()
				for _, out := range outs {
					if other := holders[out.Record.ID]; other != "" {
						d.Errorf("%s was given to %s and to %s", out.Record.ID, other, m.Actor)
					}
					holders[out.Record.ID] = m.Actor
				}
				lock.Unlock()
			}
		})
		if err := errors.Join(errs...); err != nil {
			d.Error(err)
		}
		if len(holders) != len(weights) {
			d.Errorf("%d parcels were given out, want %d", len(holders), len(weights))
		}
		for p, err := range d.List(d.ctx, driver.Query{}) {
			if err != nil || p.Rev != 2 || p.Holder.Or("") != holders[p.ID] {
				d.Errorf("%v is held by %v, %v", p.Ref(), p.Holder, err)
			}
		}
	}},
	{"one batch request", func(b *bench) {
		d := b.open()
		d.queue("a", 1, 2, 3, 4, 5, 6, 7, 8, 9)
		var lock sync.Mutex
		answers := map[string]int{}
		_, errs := race(func(int) (outcome, error) {
			outs, err := d.Pick(d.ctx, 4, Hold(Meta{RequestID: "r", Actor: "ann"}, "a", instant))
			lock.Lock()
			defer lock.Unlock()
			answers[picked(outs)]++
			return outcome{}, err
		})
		// A store that passes over what another racer has locked may choose later
		// ones; then they are the answer for everybody.
		held, err := d.Count(d.ctx, "held")
		if err := errors.Join(append(errs, err)...); err != nil || len(answers) != 1 || held["held"] != 4 {
			d.Errorf("got %v, %v are held, %v", answers, held, err)
		}
	}},
	{"one slot", func(b *bench) {
		d := b.open()
		var held []outcome
		for i := range racers {
			held = append(held, d.hold(fmt.Sprint("p", i), fmt.Sprint("lane", i)))
		}
		_, errs := race(func(i int) (outcome, error) { return d.Apply(d.ctx, held[i], Shelve(Meta{}, "s", "t")) })
		taken := 0
		for _, err := range errs {
			if errors.Is(err, ErrSlotTaken) {
				taken++
			} else if err != nil {
				d.Error(err)
			}
		}
		if taken != racers-1 {
			d.Errorf("%d were told that the slot is taken, want %d", taken, racers-1)
		}
	}},
	{"three places in a lane", func(b *bench) {
		d := b.open()
		var held []outcome
		for i := range racers {
			held = append(held, d.hold(fmt.Sprint("p", i), "a"))
		}
		_, errs := race(func(i int) (outcome, error) {
			return d.Apply(d.ctx, held[i], Shelve(Meta{}, fmt.Sprint("s", i), "t"))
		})
		full := 0
		for _, err := range errs {
			if errors.Is(err, ErrLaneFull) {
				full++
			} else if err != nil {
				d.Error(err)
			}
		}
		if full != racers-3 {
			d.Errorf("%d were told that the lane is full, want %d", full, racers-3)
		}
	}},
	{"deliveries of one process do not meet", func(b *bench) {
		d := b.open()
		d.start()
		for i := range 3 {
			d.must(d.Apply(d.ctx, d.shelve(fmt.Sprint("p", i), "a"), Dispatch(Meta{})))
		}
		d.fail = func(string, string) error {
			time.Sleep(time.Millisecond)
			return nil
		}
		_, errs := race(func(int) (outcome, error) {
			_, err := d.Deliver(d.ctx)
			return outcome{}, err
		})
		if err := errors.Join(errs...); err != nil {
			d.Error(err)
		}
		if got := d.performed(); strings.Count(got, "/carry ") != 3 {
			d.Errorf("performed %q, want each once", got)
		}
		if counts, err := d.Count(d.ctx, "sent"); err != nil || counts["sent"] != 3 {
			d.Errorf("got %v, %v, want 3 sent", counts, err)
		}
	}},
}
