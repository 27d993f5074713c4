package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// swept sweeps and returns how many steps were taken.
func (d *depot) swept(m *fsm.Machine[Parcel]) int {
	d.Helper()
	n, err := m.Sweep(d.ctx)
	if err != nil {
		d.Errorf("Sweep: %v", err)
	}
	return n
}

// What leaves a state by time does leave it, once.
var timeTests = []test{
	{"the deadline is inclusive", func(b *bench) {
		d := b.open()
		d.hold("p1", "a") // until an hour from instant
		d.register("p2", "a")
		d.tick(time.Hour - time.Microsecond)
		if n := d.swept(d.Machine); n != 0 {
			d.Errorf("swept %d before the deadline", n)
		}
		d.tick(time.Microsecond)
		if n := d.swept(d.Machine); n != 1 {
			d.Errorf("swept %d at the deadline, want 1", n)
		}
		log := d.events("p1")
		e := log[len(log)-1]
		if e.Operation != "release" || e.RequestID != "sys:release:2" || e.RequestN != -1 || e.Actor != driver.SystemActor || e.To != "waiting" {
			d.Errorf("got %+v", e)
		}
		if n := d.swept(d.Machine); n != 0 {
			d.Errorf("swept %d once more", n)
		}
	}},
	{"another deadline at open", func(b *bench) {
		d := b.open()
		late := d.another(fsm.WithTrigger("release", time.Minute))
		d.hold("p1", "a")
		d.tick(time.Hour + time.Minute - time.Microsecond)
		if n := d.swept(late); n != 0 {
			d.Errorf("swept %d before the deadline", n)
		}
		d.tick(time.Microsecond)
		if n := d.swept(late); n != 1 {
			d.Errorf("swept %d, want 1", n)
		}
	}},
	{"sweepers converge", func(b *bench) {
		d := b.open()
		const parcels = 40
		var calls []fsmimpl.Call[Parcel]
		for i := range parcels {
			calls = append(calls, Register(Meta{}, RegisterInput{ID: fmt.Sprintf("p%02d", i), Lane: "a"}))
		}
		if _, err := d.CreateMany(d.ctx, calls); err != nil {
			d.Fatal(err)
		}
		if _, err := d.Pick(d.ctx, parcels, Hold(Meta{Actor: "ann"}, "a", instant)); err != nil {
			d.Fatal(err)
		}
		machines := []*fsm.Machine[Parcel]{d.Machine, d.another(), d.another()}
		total := 0
		var lock sync.Mutex
		var group sync.WaitGroup
		for _, m := range machines {
			group.Go(func() {
				n := d.swept(m)
				lock.Lock()
				defer lock.Unlock()
				total += n
			})
		}
		group.Wait()
		if total != parcels {
			d.Errorf("the sweepers took %d steps, want %d", total, parcels)
		}
		for p, err := range d.List(d.ctx, driver.Query{}) {
			if err != nil || p.Rev != 3 || p.State != "waiting" {
				d.Errorf("%v in %s, %v", p.Ref(), p.State, err)
			}
		}
	}},
	{"recovery", func(b *bench) {
		d := b.open()
		d.hold("p1", "a")
		d.hold("p2", "a")
		d.register("p3", "a")
		if n, err := d.Startup(d.ctx); n != 2 || err != nil {
			d.Errorf("got %d, %v, want 2", n, err)
		}
		if n, err := d.another().Startup(d.ctx); n != 0 || err != nil {
			d.Errorf("another process's recovery took %d steps, %v", n, err)
		}
	}},
	{"a process recovers once", func(b *bench) {
		d := b.open()
		d.start()
		d.hold("p1", "a")
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if n, err := d.Startup(d.ctx); n != 0 || !errors.Is(err, fsm.ErrStarted) {
					d.Errorf("a second Startup took %d steps, %v, want ErrStarted", n, err)
				}
			})
		}
		group.Wait()
		if p := d.parcel("p1"); p.State != "held" {
			d.Errorf("a second Startup left the parcel in %s", p.State)
		}
		m := d.another()
		var took, refused atomic.Int64
		for range 4 { // at once: one of them recovers
			group.Go(func() {
				switch n, err := m.Startup(d.ctx); {
				case errors.Is(err, fsm.ErrStarted):
					refused.Add(1)
				case err == nil:
					took.Add(int64(n))
				default:
					d.Error(err)
				}
			})
		}
		group.Wait()
		if took.Load() != 1 || refused.Load() != 3 {
			d.Errorf("4 calls at once took %d steps, and %d were refused, want 1 and 3", took.Load(), refused.Load())
		}
	}},
	{"a system call is the same for everybody", func(b *bench) {
		d := b.open()
		held := d.hold("p1", "a")
		first := d.must(d.Apply(d.ctx, held, Release()))
		d.replays(first, d.must(d.Apply(d.ctx, held, Release())), first.Ref(), "waiting")
		d.replays(first, d.must(d.Apply(d.ctx, held.Ref(), Release())), first.Ref(), "waiting")
		d.refused(fsm.ErrWrongState, func() (outcome, error) { return d.Apply(d.ctx, fsm.Ref{ID: "p1"}, Release()) })
	}},
}
