package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

func delivery(id string, rev int64) driver.Delivery {
	return driver.Delivery{ID: id, Rev: rev, Effect: "notify", Key: "key " + id, Due: instant}
}

// placeOf says which delivery d is; the first of a commit needs no number.
func placeOf(d *driver.Delivery) string {
	if d.N == 0 {
		return fmt.Sprintf("%s@%d", d.ID, d.Rev)
	}
	return fmt.Sprintf("%s@%d.%d", d.ID, d.Rev, d.N)
}

// ask commits a parcel that was sent, with a delivery that is due after wait.
func (b *bench) ask(id string, wait time.Duration) Parcel {
	b.Helper()
	return b.askOf("notify", id, wait)
}

// askOf is ask for an effect.
func (b *bench) askOf(effect, id string, wait time.Duration) Parcel {
	b.Helper()
	p := b.makeShelved(parcel(id, "a"), "slot "+id)
	sent := p.sent()
	w := change(p, sent, "send", "")
	d := delivery(id, sent.Rev)
	d.Effect, d.Due = effect, instant.Add(wait)
	w.Outbox = []driver.Delivery{d}
	b.commit(w)
	return sent
}

// outbox lists what is due, as texts.
func (b *bench) outbox(due time.Time, limit int) string {
	b.Helper()
	var ids []string
	b.view(func(r driver.Reader) error {
		ids = nil
		list, err := r.Outbox(due, limit)
		for _, d := range list {
			ids = append(ids, placeOf(&d))
		}
		return err
	})
	return strings.Join(ids, " ")
}

// holds changes a delivery and compares whether it was the caller's.
func (b *bench) holds(want bool, f func(tx fsm.Tx) (bool, error)) {
	b.Helper()
	var got bool
	b.update(func(tx fsm.Tx) (err error) {
		got, err = f(tx)
		return err
	})
	if got != want {
		b.Errorf("it says %v, want %v", got, want)
	}
}

// claims claims and compares what comes.
func (b *bench) claims(now, until time.Time, limit int, want string) {
	b.Helper()
	b.claimsOf("notify", now, until, limit, want)
}

// claimsOf is claims for an effect.
func (b *bench) claimsOf(effect string, now, until time.Time, limit int, want string) {
	b.Helper()
	var got []string
	b.update(func(tx fsm.Tx) error {
		list, err := tx.Claim(effect, now, until, limit)
		got = nil
		for _, d := range list {
			got = append(got, fmt.Sprintf("%s attempt %d", placeOf(&d), d.Attempts))
			if !d.Due.Equal(until) {
				b.Errorf("%s is due at %v, want %v", d.ID, d.Due, until)
			}
		}
		return err
	})
	if s := strings.Join(got, "; "); s != want {
		b.Errorf("claimed %q, want %q", s, want)
	}
}

// waits compares the one delivery that the outbox holds.
func (b *bench) waits(want driver.Delivery) {
	b.Helper()
	b.view(func(r driver.Reader) error {
		list, err := r.Outbox(want.Due, 10)
		if len(list) != 1 || list[0] != want {
			b.Errorf("the outbox holds %+v, want %+v", list, want)
		}
		return err
	})
}

// The outbox holds what the commits asked for until it is settled.
var outboxTests = []test{
	{"a delivery comes back as it was", func(b *bench) {
		b.ask("p1", 0)
		b.view(func(r driver.Reader) error {
			list, err := r.Outbox(instant, 10)
			if len(list) != 1 || list[0] != delivery("p1", 4) {
				b.Errorf("got %+v, want %+v", list, delivery("p1", 4))
			}
			one, oneErr := r.Delivery("p1", 4, 0)
			_, none := r.Delivery("p1", 4, 1)
			if one != delivery("p1", 4) || !errors.Is(none, driver.ErrNotFound) {
				b.Errorf("by its place it is %+v, %v; another place: %v", one, oneErr, none)
			}
			return errors.Join(err, oneErr)
		})
	}},
	{"due at the same time, by id, whichever was asked for first", func(b *bench) {
		for _, id := range []string{"p2", "p3", "p1"} {
			b.ask(id, time.Second)
		}
		if got, want := b.outbox(instant.Add(time.Second), 10), "p1@4 p2@4 p3@4"; got != want {
			b.Errorf("got %q, want %q", got, want)
		}
	}},
	{"due, oldest first, at most so many", func(b *bench) {
		b.ask("p3", 2*time.Second)
		b.ask("p1", 3*time.Second)
		b.ask("p2", time.Second)
		for _, c := range []struct {
			wait  time.Duration
			limit int
			want  string
		}{
			{0, 10, ""},
			{time.Second - time.Microsecond, 10, ""},
			{time.Second, 10, "p2@4"},
			{time.Minute, 10, "p2@4 p3@4 p1@4"},
			{time.Minute, 2, "p2@4 p3@4"},
		} {
			if got := b.outbox(instant.Add(c.wait), c.limit); got != c.want {
				b.Errorf("after %v, %d: got %q, want %q", c.wait, c.limit, got, c.want)
			}
		}
	}},
	{"attempts end at the greatest number", func(b *bench) {
		p := b.makeShelved(parcel("p1", "a"), "slot p1")
		w := change(p, p.sent(), "send", "")
		w.Outbox = []driver.Delivery{delivery("p1", p.Rev+1)}
		w.Outbox[0].Attempts = math.MaxInt - 1
		b.commit(w)
		b.ask("p2", time.Second)
		for i := range 3 { // it holds up nobody, and can still be settled
			now := instant.Add(time.Duration(1+i) * time.Minute)
			want := []string{fmt.Sprintf("p1@4 attempt %d", math.MaxInt), fmt.Sprintf("p2@4 attempt %d", i+1)}
			if i == 0 { // p2 is fresh
				slices.Reverse(want)
			}
			b.claims(now, now.Add(time.Second), 10, strings.Join(want, "; "))
		}
		b.holds(true, func(tx fsm.Tx) (bool, error) { return tx.Settle("p1", 4, 0, math.MaxInt) })
	}},
	{"settle", func(b *bench) {
		b.ask("p1", 0)
		b.ask("p2", 0)
		for _, want := range []bool{true, false} { // twice is no error
			b.holds(want, func(tx fsm.Tx) (bool, error) { return tx.Settle("p1", 4, 0, 0) })
		}
		b.holds(false, func(tx fsm.Tx) (bool, error) { return tx.Settle("p2", 3, 0, 0) })
		b.holds(false, func(tx fsm.Tx) (bool, error) { return tx.Settle("p2", 4, 0, 1) })
		if got := b.outbox(instant, 10); got != "p2@4" {
			b.Errorf("got %q, want p2 only", got)
		}
	}},
	{"postpone", func(b *bench) {
		b.ask("p1", 0)
		due := instant.Add(2 * time.Minute)
		b.holds(true, func(tx fsm.Tx) (bool, error) { return tx.Postpone("p1", 4, 0, 0, due, "it's down") })
		b.holds(false, func(tx fsm.Tx) (bool, error) { return tx.Postpone("p1", 4, 0, 1, instant, "another attempt") })
		b.holds(false, func(tx fsm.Tx) (bool, error) { return tx.Postpone("nobody", 4, 0, 0, instant, "x") })
		if got := b.outbox(instant.Add(time.Minute), 10); got != "" {
			b.Errorf("%q is due too early", got)
		}
		want := delivery("p1", 4)
		want.Due, want.LastError = due, "it's down"
		b.waits(want)
	}},
	{"claim", func(b *bench) {
		b.ask("p3", 2*time.Second)
		b.ask("p1", time.Second)
		b.ask("p2", time.Minute)
		now, until := instant.Add(2*time.Second), instant.Add(time.Hour)
		b.claims(now, until, 1, "p1@4 attempt 1")
		b.claims(now, until.Add(time.Second), 10, "p3@4 attempt 1")
		b.claims(now, until, 10, "")
		b.claims(until.Add(time.Second), until.Add(time.Hour), 10, "p2@4 attempt 1; p1@4 attempt 2; p3@4 attempt 2")
		// Whoever had the first attempt has nothing to say any more.
		b.holds(false, func(tx fsm.Tx) (bool, error) { return tx.Settle("p1", 4, 0, 1) })
		b.holds(false, func(tx fsm.Tx) (bool, error) { return tx.Postpone("p1", 4, 0, 1, instant, "late") })
		b.holds(true, func(tx fsm.Tx) (bool, error) { return tx.Settle("p1", 4, 0, 2) })
		b.holds(true, func(tx fsm.Tx) (bool, error) { return tx.Settle("p2", 4, 0, 1) })
		want := delivery("p3", 4)
		want.Attempts, want.Due = 2, until.Add(time.Hour)
		b.waits(want)
	}},
	{"several of one commit", func(b *bench) {
		write := func(p, next Parcel, op string, rev int64, effects ...string) *driver.Write {
			w := change(p, next, op, "")
			for n, effect := range effects {
				d := delivery(p.ID, rev)
				d.N, d.Effect, d.Key = int64(n), effect, fmt.Sprint("key ", n)
				w.Outbox = append(w.Outbox, d)
			}
			return w
		}
		p1, p2 := b.makeShelved(parcel("p1", "a"), "slot p1"), b.makeShelved(parcel("p2", "b"), "slot p2")
		b.commit(write(p1, p1.sent(), "send", p1.Rev+1, "notify", "notify", "weigh"))
		b.commit(write(p2, p2.sent(), "send", p2.Rev+1, "weigh", "notify"))
		if got, want := b.outbox(instant, 10), "p1@4 p1@4.1 p1@4.2 p2@4 p2@4.1"; got != want {
			b.Errorf("got %q, want %q", got, want)
		}
		until := instant.Add(time.Hour)
		b.claims(instant, until, 10, "p1@4 attempt 1; p1@4.1 attempt 1; p2@4.1 attempt 1")
		b.claimsOf("weigh", instant, until, 1, "p1@4.2 attempt 1")
		b.holds(true, func(tx fsm.Tx) (bool, error) { return tx.Settle("p1", 4, 1, 1) })
		b.holds(false, func(tx fsm.Tx) (bool, error) { return tx.Settle("p1", 4, 1, 1) })
		b.holds(false, func(tx fsm.Tx) (bool, error) { return tx.Settle("p1", 4, 3, 1) })
		b.holds(true, func(tx fsm.Tx) (bool, error) { return tx.Postpone("p1", 4, 2, 1, instant, "late") })
		if got, want := b.outbox(instant, 10), "p1@4.2 p2@4"; got != want {
			b.Errorf("got %q, want %q", got, want)
		}
		b.claimsOf("weigh", instant, until, 10, "p2@4 attempt 1; p1@4.2 attempt 2")
		b.holds(true, func(tx fsm.Tx) (bool, error) { return tx.Settle("p1", 4, 0, 1) })
		want := delivery("p1", 4)
		want.N, want.Effect, want.Key, want.Attempts, want.Due, want.LastError = 2, "weigh", "key 2", 2, until, "late"
		b.holds(true, func(tx fsm.Tx) (bool, error) { return tx.Settle("p2", 4, 0, 1) })
		b.holds(true, func(tx fsm.Tx) (bool, error) { return tx.Settle("p2", 4, 1, 1) })
		b.waits(want)
	}},
	{"claim of one effect", func(b *bench) {
		b.askOf("notify", "p1", 0)
		b.askOf("a", "p2", 0)
		b.askOf("notify2", "p3", 0)
		until := instant.Add(time.Hour)
		b.claimsOf("charge", instant, until, 10, "")
		b.claimsOf("notify", instant, until, 10, "p1@4 attempt 1")
		b.claimsOf("notify2", instant, until, 10, "p3@4 attempt 1")
		b.claimsOf("a", instant, until, 10, "p2@4 attempt 1")
	}},
	{"claim, fresh ones first", func(b *bench) {
		b.ask("p1", 0)
		b.ask("p2", 0)
		until := instant.Add(time.Second)
		b.claims(instant, until, 10, "p1@4 attempt 1; p2@4 attempt 1")
		for i := range 3 {
			b.ask(fmt.Sprintf("p%d", 5-i), time.Duration(i+2)*time.Second)
		}
		now := instant.Add(time.Minute)
		until = instant.Add(time.Hour)
		b.claims(now, until, 2, "p5@4 attempt 1; p4@4 attempt 1")
		b.claims(now, until, 2, "p3@4 attempt 1; p1@4 attempt 2")
		b.claims(now, until, 2, "p2@4 attempt 2")
	}},
	{"effects that are due", func(b *bench) {
		for i, effect := range []string{"b", "a", "b", "c", "d", "b"} {
			b.askOf(effect, fmt.Sprintf("p%d", i), time.Duration(i)*time.Second)
		}
		effects := func(wait time.Duration, want string) {
			b.Helper()
			b.view(func(r driver.Reader) error {
				names, err := r.Effects(instant.Add(wait))
				if got := strings.Join(names, " "); got != want {
					b.Errorf("after %v: effects %q, want %q", wait, got, want)
				}
				return err
			})
		}
		effects(-time.Second, "")
		effects(0, "b")
		effects(2*time.Second, "a b")
		effects(time.Minute, "a b c d")
		b.claimsOf("a", instant.Add(time.Minute), instant.Add(2*time.Minute), 10, "p1@4 attempt 1")
		b.claimsOf("d", instant.Add(time.Minute), instant.Add(2*time.Minute), 10, "p4@4 attempt 1")
		effects(time.Minute, "b c")
		effects(2*time.Minute, "a b c d")
		b.holds(true, func(tx fsm.Tx) (bool, error) { return tx.Settle("p1", 4, 0, 1) })
		effects(2*time.Minute, "b c d")
	}},
	{"a claim that is taken back claims nothing", func(b *bench) {
		b.ask("p1", 0)
		err := b.table.Update(b.ctx, func(tx fsm.Tx) error {
			if _, err := tx.Claim("notify", instant, instant.Add(time.Hour), 1); err != nil {
				return err
			}
			return errStop
		})
		if !errors.Is(err, errStop) {
			b.Errorf("got %v, want the error of the transaction", err)
		}
		b.claims(instant, instant.Add(time.Hour), 1, "p1@4 attempt 1")
	}},
	{"many claim", func(b *bench) {
		const all, claimers = 40, 6
		for i := range all {
			b.ask(fmt.Sprintf("p%02d", i), 0)
		}
		var mu sync.Mutex
		taken := map[string]int{}
		var group sync.WaitGroup
		for range claimers {
			group.Go(func() {
				for n := 0; n < 1000 && b.ctx.Err() == nil; n++ {
					var list []driver.Delivery
					err := b.table.Update(b.ctx, func(tx fsm.Tx) (err error) {
						list, err = tx.Claim("notify", instant, instant.Add(time.Hour), 3)
						return err
					})
					if err != nil && !errors.Is(err, fsm.ErrBusy) {
						b.Errorf("a claim: %v", err)
						return
					}
					mu.Lock()
					if err == nil {
						for _, d := range list {
							taken[d.ID]++
						}
					}
					over := len(taken) == all
					mu.Unlock()
					if over {
						return
					}
				}
			})
		}
		group.Wait()
		for id, n := range taken {
			if n != 1 {
				b.Errorf("%s was claimed %d times", id, n)
			}
		}
		if len(taken) != all {
			b.Errorf("%d of %d were claimed", len(taken), all)
		}
	}},
	{"settle and write in one transaction", func(b *bench) {
		p := b.makeShelved(parcel("p1", "a"), "s1")
		again := p
		again.Rev++
		w := change(p, again, "dispatch", "")
		w.Outbox = []driver.Delivery{delivery("p1", again.Rev)}
		b.commit(w)
		err := b.table.Update(b.ctx, func(tx fsm.Tx) error {
			if _, err := tx.Settle("p1", again.Rev, 0, 0); err != nil {
				return err
			}
			if err := tx.Write(change(again, again.sent(), "arrive", "")); err != nil {
				return err
			}
			return errStop
		})
		if err == nil || b.outbox(instant, 10) == "" {
			b.Errorf("the delivery is gone although its transaction was taken back (%v)", err)
		}
	}},
	{"leaving a revision drops its delivery", func(b *bench) {
		for _, leave := range []bool{true, false} {
			id := fmt.Sprint("leave ", leave)
			p := b.makeShelved(parcel(id, id), "slot "+id)
			again := p
			again.Rev++
			w := change(p, again, "dispatch", "")
			w.Outbox = []driver.Delivery{delivery(id, again.Rev)}
			b.commit(w)
			last := change(again, again.sent(), "send", "")
			last.Leave = leave
			last.Outbox = []driver.Delivery{delivery(id, again.Rev+1)}
			b.commit(last)
		}
		if got := b.outbox(instant, 10); got != "leave false@4 leave false@5 leave true@5" && got != "leave true@5 leave false@4 leave false@5" {
			b.Errorf("got %q", got)
		}
	}},
}
