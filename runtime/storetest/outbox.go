package storetest

import (
	"fmt"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

func delivery(id string, rev int64) *fsm.Delivery {
	return &fsm.Delivery{ID: id, Rev: rev, Effect: "notify", Key: "key " + id, Due: instant}
}

// ask commits a parcel that was sent, with a delivery that is due after wait.
func (b *bench) ask(id string, wait time.Duration) Parcel {
	b.Helper()
	p := b.makeShelved(parcel(id, "a"), "slot "+id)
	sent := p.sent()
	w := change(p, sent, "send", "")
	w.Outbox = delivery(id, sent.Rev)
	w.Outbox.Due = instant.Add(wait)
	b.commit(w)
	return sent
}

// outbox lists what is due, as texts.
func (b *bench) outbox(due time.Time, limit int) string {
	b.Helper()
	var ids []string
	b.view(func(r fsm.Reader) error {
		ids = nil
		list, err := r.Outbox(due, limit)
		for _, d := range list {
			ids = append(ids, fmt.Sprintf("%s@%d", d.ID, d.Rev))
		}
		return err
	})
	return strings.Join(ids, " ")
}

// The outbox holds what the commits asked for until it is settled.
var outboxTests = []test{
	{"a delivery comes back as it was", func(b *bench) {
		b.ask("p1", 0)
		b.view(func(r fsm.Reader) error {
			list, err := r.Outbox(instant, 10)
			if len(list) != 1 || list[0] != *delivery("p1", 4) {
				b.Errorf("got %+v, want %+v", list, delivery("p1", 4))
			}
			return err
		})
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
	{"settle", func(b *bench) {
		b.ask("p1", 0)
		b.ask("p2", 0)
		for range 2 { // twice is no error
			b.update(func(tx fsm.Tx) error { return tx.Settle("p1", 4) })
		}
		b.update(func(tx fsm.Tx) error { return tx.Settle("p2", 3) })
		if got := b.outbox(instant, 10); got != "p2@4" {
			b.Errorf("got %q, want p2 only", got)
		}
	}},
	{"postpone", func(b *bench) {
		b.ask("p1", 0)
		for i := range 2 {
			b.update(func(tx fsm.Tx) error {
				return tx.Postpone("p1", 4, instant.Add(time.Duration(i+1)*time.Minute), fmt.Sprint("it's down ", i))
			})
		}
		b.update(func(tx fsm.Tx) error { return tx.Postpone("nobody", 4, instant, "x") })
		if got := b.outbox(instant.Add(time.Minute), 10); got != "" {
			b.Errorf("%q is due too early", got)
		}
		b.view(func(r fsm.Reader) error {
			list, err := r.Outbox(instant.Add(2*time.Minute), 10)
			if err != nil || len(list) != 1 {
				b.Fatalf("got %v, %v, want one", list, err)
			}
			want := *delivery("p1", 4)
			want.Attempts, want.Due, want.LastError = 2, instant.Add(2*time.Minute), "it's down 1"
			if list[0] != want {
				b.Errorf("got %+v, want %+v", list[0], want)
			}
			return nil
		})
	}},
	{"settle and write in one transaction", func(b *bench) {
		p := b.makeShelved(parcel("p1", "a"), "s1")
		again := p
		again.Rev++
		w := change(p, again, "dispatch", "")
		w.Outbox = delivery("p1", again.Rev)
		b.commit(w)
		err := b.table.Update(b.ctx, func(tx fsm.Tx) error {
			if err := tx.Settle("p1", again.Rev); err != nil {
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
			w.Outbox = delivery(id, again.Rev)
			b.commit(w)
			last := change(again, again.sent(), "send", "")
			last.Leave = leave
			last.Outbox = delivery(id, again.Rev+1)
			b.commit(last)
		}
		if got := b.outbox(instant, 10); got != "leave false@4 leave false@5 leave true@5" && got != "leave true@5 leave false@4 leave false@5" {
			b.Errorf("got %q", got)
		}
	}},
}
