package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

var errDown = errors.New("it is down")

// effectError checks that an error is that of an effect.
func (d *depot) effectError(err error, effect, id string) {
	d.Helper()
	var e *fsm.EffectError
	if !errors.As(err, &e) || !errors.Is(err, fsm.ErrEffect) || !errors.Is(err, errDown) || e.Effect != effect || e.ID != id {
		d.Fatalf("got %v, want an error of effect %s on %s", err, effect, id)
	}
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

// start runs the recovery, without which nothing is delivered.
func (d *depot) start() {
	d.Helper()
	if n, err := d.Startup(d.ctx); n != 0 || err != nil {
		d.Fatalf("Startup: %d, %v", n, err)
	}
}

// deliver delivers what is due and returns the effects performed.
func (d *depot) deliver(want int) (string, error) {
	d.Helper()
	n, err := d.Deliver(d.ctx)
	if n != want {
		d.Errorf("delivered %d, want %d (%v)", n, want, err)
	}
	performed := strings.Split(d.performed(), "; ")
	slices.Sort(performed) // several are performed at once
	return strings.Join(performed, "; "), err
}

// send sends a parcel, which asks for the effect notify.
func (d *depot) send(id string) {
	d.Helper()
	d.must(d.Apply(d.ctx, d.shelve(id, id), Send(Meta{})))
}

// await waits within an effect.
func (d *depot) await(what string, c <-chan struct{}) {
	select {
	case <-c:
	case <-time.After(time.Minute):
		d.Errorf("%s: that did not come", what)
	}
}

// await waits for an effect.
func await(d *depot, what string, c <-chan string) {
	d.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		d.Fatalf("%s was not performed", what)
	}
}

// An atomic effect happens with its step or not at all; another one at least once.
var effectTests = []test{
	{"an atomic effect takes part", func(b *bench) {
		d := b.open()
		d.inTx = func(ctx context.Context, tx fsm.Tx, p Parcel) error {
			_, err := d.in(tx).Create(ctx, Register(Meta{RequestID: "bill of " + p.ID}, RegisterInput{ID: "bill", Lane: "z"}))
			return err
		}
		out := d.register("p1", "a")
		call := Bill(Meta{RequestID: "r"})
		first := d.must(d.Apply(d.ctx, out, call))
		d.fresh(first)
		if got := d.performed(); got != "charge a p1@2" {
			d.Errorf("performed %q", got)
		}
		d.parcel("bill")
		d.replays(first, d.must(d.Apply(d.ctx, out, call)), first.Ref(), "waiting")
		if got := d.performed(); got != "" {
			d.Errorf("a replay performed %q", got)
		}
	}},
	{"an atomic effect that fails takes everything back", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		d.inTx = func(ctx context.Context, tx fsm.Tx, p Parcel) error {
			if _, err := d.in(tx).Create(ctx, Register(Meta{}, RegisterInput{ID: "bill", Lane: "z"})); err != nil {
				return err
			}
			return errDown
		}
		before := d.dump()
		_, err := d.Apply(d.ctx, out, Bill(Meta{RequestID: "r"}))
		d.effectError(err, "charge", "p1")
		d.same(before, d.dump())
		d.inTx = nil
		d.fresh(d.must(d.Apply(d.ctx, out, Bill(Meta{RequestID: "r"}))))
	}},
	{"an atomic effect reads many records only where its call has locked them", func(b *bench) {
		d := b.open()
		d.register("p2", "a")
		d.register("p3", "b")
		group := func(m *fsm.Machine[Parcel], lane string) func(context.Context) (int, error) {
			return func(ctx context.Context) (int, error) {
				list, err := m.Group(ctx, &InLane, []any{lane})
				return len(list), err
			}
		}
		reads := func(m *fsm.Machine[Parcel]) map[string]func(context.Context) (int, error) {
			return map[string]func(context.Context) (int, error){
				"own group":   group(m, "a"),
				"other group": group(m, "b"),
				"other field": func(ctx context.Context) (int, error) {
					list, err := m.Group(ctx, &OfSize, []any{"small"})
					return len(list), err
				},
				"own page": func(ctx context.Context) (int, error) {
					list, _, err := m.Page(ctx, &InLane, []any{"a"}, fsm.Page{})
					return len(list), err
				},
				"own list": func(ctx context.Context) (n int, err error) {
					for _, e := range m.List(ctx, driver.Query{Where: []driver.Cond{{Column: "lane", Op: driver.OpEq, Value: "a"}}}) {
						if e != nil {
							return n, e
						}
						n++
					}
					return n, nil
				},
				"list": func(ctx context.Context) (n int, err error) {
					for _, err = range m.List(ctx, driver.Query{States: []string{"waiting"}}) {
						n++
					}
					return n, err
				},
				"count": func(ctx context.Context) (int, error) {
					_, err := m.Count(ctx)
					return 0, err
				},
			}
		}
		out := d.register("p1", "a")
		for name := range reads(d.Machine) {
			for _, first := range []string{"nothing", "a guard", "a sequence", "a group that it may leave", "a read"} {
				locks := first == "a guard"
				for _, joined := range []bool{false, true} {
					call := Bill(Meta{})
					switch first {
					case "a guard":
						call.Peers = Shelve(Meta{}, "", "").Peers
					case "a group that it may leave": // others come into it without a lock
						call.Peers = func(*Parcel, string) []driver.PeerQuery {
							q := driver.PeerQuery{Name: "lane", Hold: true, Columns: []string{"lane"}, Values: []any{"a"}}
							for _, st := range Schema().States {
								q.States = append(q.States, st.Stored)
							}
							return []driver.PeerQuery{q}
						}
					case "a sequence": // others leave the group without it
						call.Peers = func(*Parcel, string) []driver.PeerQuery {
							return []driver.PeerQuery{{Name: "number", Sequence: true, Columns: []string{"lane"}, Values: []any{"a"}}}
						}
					}
					d.inTx = func(ctx context.Context, tx fsm.Tx, _ Parcel) error {
						ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // of a store that waits for itself
						defer cancel()
						m := d.Machine
						if joined {
							m = d.in(tx)
						}
						if first == "a read" { // of the record, and of what is asked for below
							_, _ = m.Record(ctx, "p1")
							_, _ = reads(m)[name](ctx)
						}
						n, err := reads(m)[name](ctx)
						if allowed := locks && joined && strings.HasPrefix(name, "own"); !allowed && !errors.Is(err, fsm.ErrUnlocked) {
							d.Errorf("%s after %s, joined %t: got %v, want ErrUnlocked", name, first, joined, err)
						} else if allowed && (n != 2 || err != nil) {
							d.Errorf("%s: read %d records, %v; want 2", name, n, err)
						}
						return nil
					}
					out = d.must(d.Apply(d.ctx, out, call))
				}
			}
		}
		if _, err := d.Group(d.ctx, &InLane, []any{"a"}); err != nil {
			d.Errorf("outside of an effect: %v", err)
		}
	}},
	{"a call beside the transaction is refused within an atomic effect", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		d.register("p2", "a")
		before := d.dump()
		for name, call := range map[string]func(ctx context.Context) error{
			"apply":         func(ctx context.Context) error { return second(d.Apply(ctx, fsm.Ref{ID: "p2"}, annotation("x"))) },
			"apply to held": func(ctx context.Context) error { return second(d.Apply(ctx, out, annotation("x"))) },
			"create": func(ctx context.Context) error {
				return second(d.Create(ctx, Register(Meta{}, RegisterInput{Lane: "z"})))
			},
			"pick":   func(ctx context.Context) error { return second(d.Pick(ctx, 1, Hold(Meta{Actor: "ann"}, "a", instant))) },
			"update": func(ctx context.Context) error { return d.table.Update(ctx, func(fsm.Tx) error { return nil }) },
		} {
			d.inTx = func(ctx context.Context, _ fsm.Tx, _ Parcel) error {
				ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
				defer cancel()
				return call(ctx)
			}
			_, err := d.Apply(d.ctx, out, Bill(Meta{RequestID: "r"}))
			if !errors.Is(err, fsm.ErrInside) || !errors.Is(err, fsm.ErrEffect) {
				d.Errorf("%s: got %v, want the effect's error with ErrInside", name, err)
			}
			d.same(before, d.dump())
		}
		d.inTx = nil
		d.must(d.Apply(d.ctx, out, Bill(Meta{RequestID: "r"})))
	}},
	{"an atomic effect goes on without half a call", func(b *bench) {
		d := b.open()
		out := d.register("p1", "a")
		d.register("p2", "a")
		d.inTx = func(ctx context.Context, tx fsm.Tx, p Parcel) error {
			if p.ID == "p2" {
				return errDown
			}
			_, err := d.in(tx).Apply(ctx, fsm.Ref{ID: "p2", Rev: 1}, Bill(Meta{RequestID: "of p1"}))
			d.effectError(err, "charge", "p2")
			return nil
		}
		out = d.must(d.Apply(d.ctx, out, Bill(Meta{RequestID: "half"})))
		if p := d.parcel("p2"); p.Rev != 1 {
			d.Errorf("p2, whose call failed half done, is at revision %d", p.Rev)
		}

		d.inTx = func(ctx context.Context, tx fsm.Tx, _ Parcel) error { // refused before anything is written
			_, err := d.in(tx).Apply(ctx, fsm.Ref{ID: "p2", Rev: 1}, Send(Meta{}))
			d.code(err, fsm.ErrWrongState)
			return nil
		}
		d.must(d.Apply(d.ctx, out, Bill(Meta{RequestID: "r"})))
	}},
	{"a closed store is no lost answer", func(b *bench) {
		m := (&depot{bench: b, now: instant}).another()
		out, err := m.Create(b.ctx, Register(Meta{}, RegisterInput{Lane: "a"}))
		if err != nil {
			b.Fatal(err)
		}
		if err := b.store.Close(); err != nil {
			b.Fatal(err)
		}
		for name, call := range map[string]func() error{
			"one write":       func() error { return second(m.Apply(b.ctx, out, annotation("x"))) },
			"read and write":  func() error { return second(m.Apply(b.ctx, fsm.Ref{ID: out.Record.ID}, annotation("x"))) },
			"create":          func() error { return second(m.Create(b.ctx, Register(Meta{}, RegisterInput{Lane: "a"}))) },
			"read the record": func() error { return second(m.Record(b.ctx, out.Record.ID)) },
		} {
			if err := call(); !errors.Is(err, fsm.ErrClosed) || errors.Is(err, fsm.ErrAmbiguous) {
				b.Errorf("%s: got %v, want ErrClosed", name, err)
			}
		}
	}},
	{"an effect is delivered after the commit", func(b *bench) {
		d := b.open()
		d.start()
		shelved := d.shelve("p1", "a")
		sent := d.must(d.Apply(d.ctx, shelved, Send(Meta{RequestID: "r"})))
		d.must(d.Apply(d.ctx, shelved, Send(Meta{RequestID: "r"}))) // a replay asks for nothing
		if got := d.performed(); got != "" {
			d.Errorf("performed %q before Deliver", got)
		}
		d.must(d.Apply(d.ctx, sent, Touch(Meta{Actor: "ann"}, instant)))
		if got, err := d.deliver(1); err != nil || got != "notify parcel/p1/4/notify p1@4" {
			d.Errorf("performed %q, %v", got, err)
		}
		if got, err := d.deliver(0); err != nil || got != "" {
			d.Errorf("performed %q once more, %v", got, err)
		}
	}},
	{"a failing effect waits and holds back no other", func(b *bench) {
		d := b.open(fsm.WithBackoff(time.Second, 3*time.Second))
		d.start()
		d.must(d.Apply(d.ctx, d.shelve("p1", "a"), Send(Meta{})))
		d.must(d.Apply(d.ctx, d.shelve("p2", "a"), Send(Meta{})))
		d.fail = func(_, id string) error {
			if id == "p1" {
				return errDown
			}
			return nil
		}
		got, err := d.deliver(1)
		d.effectError(err, "notify", "p1")
		if got != "notify parcel/p1/4/notify p1@4; notify parcel/p2/4/notify p2@4" {
			d.Errorf("performed %q", got)
		}
		for _, wait := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
			d.tick(wait - time.Microsecond)
			if got, err := d.deliver(0); got != "" || err != nil {
				d.Errorf("performed %q too early, %v", got, err)
			}
			d.tick(time.Microsecond)
			got, err := d.deliver(0)
			d.effectError(err, "notify", "p1")
			if got != "notify parcel/p1/4/notify p1@4" {
				d.Errorf("performed %q", got)
			}
		}
		d.view(func(r driver.Reader) error {
			list, err := r.Outbox(d.now.Add(time.Hour), 10)
			if len(list) != 1 || list[0].Attempts != 5 || list[0].LastError != errDown.Error() {
				d.Errorf("the outbox holds %+v", list)
			}
			return err
		})
		d.fail = nil
		d.tick(3 * time.Second)
		if _, err := d.deliver(1); err != nil {
			d.Error(err)
		}
	}},
	{"several deliverers perform each effect once", func(b *bench) {
		const all = 20
		d := b.open()
		for i := range all {
			id := fmt.Sprintf("p%02d", i)
			d.must(d.Apply(d.ctx, d.shelve(id, id), Send(Meta{})))
		}
		machines := []*fsm.Machine[Parcel]{d.Machine, d.another(), d.another()}
		ctx, stop := context.WithCancel(d.ctx)
		defer stop()
		var group sync.WaitGroup
		var began, performed atomic.Int64
		d.fail = func(string, string) error {
			if began.Add(1) > all { // it is wrong by now, and may go on for ever
				stop()
			}
			return nil
		}
		for i, m := range machines {
			group.Go(func() {
				if _, err := m.Startup(d.ctx); err != nil {
					d.Errorf("deliverer %d: Startup: %v", i, err)
				}
				for tries := 0; performed.Load() < all && ctx.Err() == nil && tries < 1000; tries++ {
					n, err := m.Deliver(ctx)
					performed.Add(int64(n))
					if err != nil && !errors.Is(err, fsm.ErrBusy) {
						d.Errorf("deliverer %d: %v", i, err)
						return
					}
				}
			})
		}
		group.Wait()
		calls := strings.Split(d.performed(), "; ")
		slices.Sort(calls)
		if len(calls) != all || len(slices.Compact(calls)) != all || performed.Load() != all {
			d.Errorf("%d effects were performed, %d counted, want each of %d once", len(calls), performed.Load(), all)
		}
		if got := d.outbox(instant.AddDate(1, 0, 0), 100); got != "" {
			d.Errorf("the outbox holds %q", got)
		}
	}},
	{"effects that hang hold up none of another name", func(b *bench) {
		d := b.open(fsm.WithDelivery(time.Hour, 8))
		d.start()
		for _, k := range []int{1, 2, 7, 8, 9, 16, 64} { // up to the lanes, and far above
			hang, done := make(chan struct{}), make(chan string, 2)
			d.fail = func(name, id string) error {
				if name == "carry" {
					d.await(fmt.Sprintf("what is due while %d hang", k), hang)
				} else {
					done <- id
				}
				return nil
			}
			for i := range k {
				id := fmt.Sprintf("%d of %d", i, k)
				d.must(d.Apply(d.ctx, d.shelve(id, id), Dispatch(Meta{})))
			}
			d.send(fmt.Sprint("first ", k))
			var round sync.WaitGroup
			round.Go(func() {
				if n, err := d.Deliver(d.ctx); n != k+2 || err != nil {
					d.Errorf("%d that hang: delivered %d (%v), want %d", k, n, err, k+2)
				}
			})
			await(d, "what was due before", done)
			d.send(fmt.Sprint("then ", k))
			await(d, "what is due since", done)
			close(hang)
			round.Wait()
			d.performed()
		}
	}},
	{"what a call took on top holds up no call", func(b *bench) {
		d := b.open(fsm.WithDelivery(time.Hour, 1))
		d.start()
		own, top, began := make(chan struct{}), make(chan struct{}), make(chan string, 1)
		d.fail = func(name, id string) error {
			switch {
			case name == "notify":
				began <- id
				d.await("all others are performed", top)
			case id == "own":
				began <- id
				d.await("the one on top began", own)
			}
			return nil
		}
		deliver := func(ctx context.Context, want int, cause error) {
			if n, err := d.Deliver(ctx); n != want || !errors.Is(err, cause) {
				d.Errorf("delivered %d (%v), want %d (%v)", n, err, want, cause)
			}
		}
		d.must(d.Apply(d.ctx, d.shelve("own", "own"), Dispatch(Meta{})))
		var round sync.WaitGroup
		round.Go(func() { deliver(d.ctx, 1, nil) })
		await(d, "the one that is due", began)
		d.tick(time.Second)
		d.send("top")
		await(d, "the one on top", began)
		close(own)
		round.Wait()
		d.must(d.Apply(d.ctx, d.shelve("next", "next"), Dispatch(Meta{})))
		deliver(d.ctx, 1, nil)
		close(top)
		ended, end := context.WithCancel(d.ctx)
		end()
		deliver(ended, 1, context.Canceled) // it waits for what runs
		if got := d.outbox(instant.AddDate(1, 0, 0), 100); got != "" {
			d.Errorf("the outbox holds %q", got)
		}
	}},
	{"a lease that is over is another's", func(b *bench) {
		d := b.open(fsm.WithDelivery(time.Minute, 1))
		other := d.another(fsm.WithDelivery(time.Minute, 1))
		d.start()
		if _, err := other.Startup(d.ctx); err != nil {
			d.Fatal(err)
		}
		d.must(d.Apply(d.ctx, d.shelve("p1", "a"), Dispatch(Meta{})))
		first := true
		d.fail = func(string, string) error {
			if first { // the first one takes longer than it may
				first = false
				d.tick(time.Minute - time.Microsecond)
				if n, err := other.Deliver(d.ctx); n != 0 || err != nil {
					d.Errorf("delivered %d within the lease of another (%v)", n, err)
				}
				d.tick(time.Microsecond)
				if n, err := other.Deliver(d.ctx); n != 1 || err != nil {
					d.Errorf("delivered %d after the lease of another (%v)", n, err)
				}
			}
			return nil
		}
		n, err := d.Deliver(d.ctx)
		if n != 0 || !errors.Is(err, fsm.ErrOvertaken) {
			d.Errorf("delivered %d (%v), want that it was overtaken", n, err)
		}
		if log := d.events("p1"); len(log) != 5 || log[4].Operation != "arrive" {
			d.Errorf("the log is %+v, want one step of then", log)
		}
	}},
	{"then waits for the effect", func(b *bench) {
		d := b.open()
		d.start()
		first := d.must(d.Apply(d.ctx, d.shelve("p1", "a"), Dispatch(Meta{RequestID: "r"})))
		if len(first.Events) != 1 || first.Record.State != "shelved" {
			d.Errorf("got %+v", first)
		}
		d.fail = func(string, string) error { return errDown }
		_, err := d.deliver(0)
		d.effectError(err, "carry", "p1")
		if p := d.parcel("p1"); p.State != "shelved" {
			d.Errorf("state is %s although the effect failed", p.State)
		}
		d.fail = nil
		d.tick(time.Minute)
		if _, err := d.deliver(1); err != nil {
			d.Error(err)
		}
		p := d.parcel("p1")
		log := d.events("p1")
		e := log[len(log)-1]
		if p.State != "sent" || e.Operation != "arrive" || e.Cause != "dispatch" || e.RequestID != "sys:arrive:4" || e.Actor != driver.SystemActor {
			d.Errorf("state %s by %+v", p.State, e)
		}
		again := d.must(d.Apply(d.ctx, fsm.Ref{ID: "p1"}, Dispatch(Meta{RequestID: "r"})))
		d.replays(first, again, p.Ref(), "sent") // the outcome of the call ends before the delivery
	}},
	{"what has moved on is not delivered", func(b *bench) {
		d := b.open()
		d.start()
		out := d.must(d.Apply(d.ctx, d.shelve("p1", "a"), Dispatch(Meta{})))
		d.must(d.Apply(d.ctx, out, Send(Meta{})))
		if got, err := d.deliver(1); err != nil || got != "notify parcel/p1/5/notify p1@5" {
			d.Errorf("performed %q, %v; want notify only", got, err)
		}
		if got := d.outbox(instant.AddDate(1, 0, 0), 10); got != "" {
			d.Errorf("the outbox holds %q", got)
		}
	}},
	{"what moves on during the effect is settled without then, and told", func(b *bench) {
		d := b.open()
		d.start()
		out := d.must(d.Apply(d.ctx, d.shelve("p1", "a"), Dispatch(Meta{})))
		d.fail = func(effect, _ string) error {
			if effect == "carry" {
				d.must(d.Apply(d.ctx, out, annotation("meanwhile")))
			}
			return nil
		}
		if got, err := d.deliver(0); !errors.Is(err, fsm.ErrMovedOn) || !strings.HasPrefix(got, "carry") {
			d.Errorf("performed %q, %v", got, err)
		}
		if p := d.parcel("p1"); p.State != "shelved" || p.Rev != 5 {
			d.Errorf("got %s at %v, want it where the other call left it", p.State, p.Ref())
		}
		if got, err := d.deliver(0); got != "" || err != nil {
			d.Errorf("performed %q, %v", got, err)
		}
	}},
	{"the effect gets the record of its revision", func(b *bench) {
		d := b.open()
		d.start()
		sent := d.must(d.Apply(d.ctx, d.shelve("p1", "a"), Send(Meta{})))
		if _, err := d.deliver(1); err != nil { // another compares id and revision of record and event
			d.Error(err)
		}
		d.fresh(sent)
	}},
	{"recovery comes before delivery", func(b *bench) {
		d := b.open()
		if _, err := d.Deliver(d.ctx); err == nil || !strings.Contains(err.Error(), "Startup") {
			d.Errorf("got %v, want to be sent to Startup", err)
		}
	}},
}
