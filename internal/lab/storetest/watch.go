package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// log reads the log of all records in steps of so many events, and checks that a
// second reading from any of its cursors goes on behind it.
func (b *bench) log(after fsm.Cursor, step int) []fsm.Entry {
	b.Helper()
	var list []fsm.Entry
	for {
		var page []fsm.Entry
		b.view(func(r driver.Reader) (err error) {
			page, err = r.Log(after, step)
			return err
		})
		if len(page) > step {
			b.Fatalf("Log returned %d events, at most %d were asked for", len(page), step)
		}
		if len(page) == 0 {
			return list
		}
		list = append(list, page...)
		after = page[len(page)-1].Cursor
	}
}

// newest reads the log backwards, in steps of so many events.
func (b *bench) newest(before fsm.Cursor, step int) (list []fsm.Entry) {
	b.Helper()
	for {
		var page []fsm.Entry
		b.view(func(r driver.Reader) (err error) {
			page, err = r.Newest(before, step)
			return err
		})
		if len(page) > step {
			b.Fatalf("Newest returned %d events, at most %d were asked for", len(page), step)
		}
		if len(page) == 0 {
			return list
		}
		list = append(list, page...)
		before = page[len(page)-1].Cursor
	}
}

// whole reads the log until it holds so many events: an event may come after its
// commit, while an older transaction is open.
func (b *bench) whole(want int) []fsm.Entry {
	b.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		list := b.log("", 100)
		if len(list) >= want || time.Now().After(deadline) {
			if len(list) != want {
				b.Fatalf("the log has %d events, want %d", len(list), want)
			}
			return list
		}
		time.Sleep(time.Millisecond)
	}
}

func entryTexts(list []fsm.Entry) []string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = eventText(e.Event)
	}
	return texts
}

// The log of all records can be followed from any place in it.
var watchTests = []test{
	{"an empty log", func(b *bench) {
		if list := b.log("", 10); len(list) != 0 {
			b.Errorf("got %d events, want none", len(list))
		}
	}},
	{"in the order of the commits", func(b *bench) {
		var want []string
		commit := func(w *driver.Write) {
			b.commit(w)
			want = append(want, eventText(w.Event))
		}
		p, q := full("z"), parcel("a.b/\"c\" 1.2", "a")
		commit(creation(p, "r1"))
		commit(creation(q, "r2"))
		held := p.held("ann", instant)
		commit(change(p, held, "hold", "r3"))
		commit(change(q, q.held("ann", instant), "hold", "r3"))
		commit(note(held, "n1"))
		commit(note(held, "n2"))
		commit(change(held, held.shelved("s1"), "shelve", ""))
		list := b.whole(len(want))
		b.same(want, entryTexts(list))
		for _, step := range []int{1, 2, 3, 7, 8} {
			b.same(want, entryTexts(b.log("", step)))
		}
		for i, e := range list {
			b.same(want[i+1:], entryTexts(b.log(e.Cursor, 3)))
		}
	}},
	{"the newest first", func(b *bench) {
		if list := b.newest("", 3); len(list) != 0 {
			b.Errorf("got %d events of an empty log, want none", len(list))
		}
		b.make(parcel("p3", "a"))
		p, q := parcel("p2", "a"), parcel("p1", "a")
		b.update(func(tx fsm.Tx) error {
			return errors.Join(tx.Write(creation(p, "")), tx.Write(creation(q, "")), tx.Write(change(q, q.held("ann", instant), "hold", "")))
		})
		b.make(parcel("p0", "a"))
		b.commit(note(p, "n1"))
		want := b.whole(6)
		slices.Reverse(want)
		for _, step := range []int{1, 2, 4, 100} {
			b.same(entryTexts(want), entryTexts(b.newest("", step)))
		}
		for i, e := range want {
			b.same(entryTexts(want[i+1:]), entryTexts(b.newest(e.Cursor, 2)))
		}
		if err := b.table.View(b.ctx, func(r driver.Reader) error {
			_, err := r.Newest("x", 10)
			return err
		}); !errors.Is(err, fsm.ErrCursor) {
			b.Errorf("got %v, want ErrCursor", err)
		}
	}},
	{"a transaction comes as one, a record by revision", func(b *bench) {
		p, q := parcel("p2", "a"), parcel("p1", "a")
		b.make(parcel("p0", "a"))
		b.update(func(tx fsm.Tx) error {
			return errors.Join(
				tx.Write(creation(p, "")), tx.Write(change(p, p.held("ann", instant), "hold", "")),
				tx.Write(creation(q, "")), tx.Write(change(q, q.held("ann", instant), "hold", "")))
		})
		b.make(parcel("p00", "a"))
		list := b.whole(6)
		if list[0].ID != "p0" || list[5].ID != "p00" {
			b.Errorf("the log begins with %s and ends with %s, want p0 and p00", list[0].ID, list[5].ID)
		}
		b.byRevision(list)
	}},
	{"what was taken back is not in the log", func(b *bench) {
		b.make(parcel("p1", "a"))
		before := b.whole(1)
		if err := b.table.Update(b.ctx, func(tx fsm.Tx) error {
			return errors.Join(tx.Write(creation(parcel("p2", "a"), "")), errStop)
		}); !errors.Is(err, errStop) {
			b.Fatalf("got %v, want the function's own error", err)
		}
		b.make(parcel("p3", "a"))
		list := b.whole(2)
		if list[0].Cursor != before[0].Cursor || list[1].ID != "p3" {
			b.Errorf("got %s behind %q, want p3 behind %q", list[1].ID, list[0].Cursor, before[0].Cursor)
		}
	}},
	{"a cursor that is none", func(b *bench) {
		b.make(parcel("p1", "a"))
		good := b.whole(1)[0].Cursor
		for _, c := range []fsm.Cursor{"x", "-1", "0x1", " ", "1 ", "\x00", "9223372036854775807", "99999999999999999999", "-" + good, "18446744073709551615.1.0.p1", "4611686018427387904.1.0.p1"} {
			err := b.table.View(b.ctx, func(r driver.Reader) error {
				_, err := r.Log(c, 10)
				return err
			})
			if !errors.Is(err, fsm.ErrCursor) {
				b.Errorf("%q: got %v, want ErrCursor", c, err)
			}
		}
	}},
	{"a reader beside writers misses nothing", func(b *bench) {
		const writers, each = 6, 15
		ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
		defer cancel()
		d := b.open()
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for i := range each {
					c := Register(Meta{}, RegisterInput{ID: fmt.Sprintf("p%d-%02d", w, i), Lane: fmt.Sprint(w)})
					out, err := d.Create(ctx, c)
					if err == nil && i%3 > 0 {
						_, err = d.Apply(ctx, out, Hold(Meta{Actor: "ann"}, fmt.Sprint(w), instant.Add(time.Hour)))
					}
					if err != nil {
						b.Errorf("writer %d: %v", w, err)
						return
					}
				}
			})
		}
		var list []fsm.Entry
		for e, err := range d.Watch(ctx, "") {
			if err != nil {
				b.Fatalf("after %d events: %v", len(list), err)
			}
			if list = append(list, e); len(list) == writers*(each+each/3*2) {
				break
			}
		}
		group.Wait()
		b.same(entryTexts(b.whole(len(list))), entryTexts(list))
		b.byRevision(list)
	}},
	{"watching ends with its context", func(b *bench) {
		d := b.open(fsm.WithPoll(time.Millisecond))
		d.register("p1", "a")
		ctx, cancel := context.WithCancel(b.ctx)
		defer cancel()
		var got []string
		for e, err := range d.Watch(ctx, "") {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					b.Errorf("got %v, want the context's error", err)
				}
				got = append(got, "end")
				continue
			}
			if got = append(got, e.Ref().String()); len(got) == 1 {
				d.register("p2", "a")
			} else {
				cancel()
			}
		}
		if s := strings.Join(got, " "); s != "p1@1 p2@1 end" {
			b.Errorf("got %q, want both events and the end", s)
		}
	}},
	{"the log of a machine ends at its end", func(b *bench) {
		d := b.open()
		out := d.hold("p1", "a")
		d.register("p2", "a")
		b.whole(3)
		var got []string
		var last fsm.Cursor
		for e, err := range d.Log(d.ctx, "") {
			if err != nil {
				b.Fatal(err)
			}
			got, last = append(got, e.Ref().String()), e.Cursor
		}
		if !slices.Equal(got, []string{"p1@1", "p1@2", "p2@1"}) {
			b.Errorf("got %v", got)
		}
		d.must(d.Apply(d.ctx, out, Shelve(Meta{}, "s", "t")))
		b.whole(4)
		for e, err := range d.another().Log(d.ctx, last) {
			if err != nil || e.Ref().String() != "p1@3" {
				b.Errorf("got %s, %v, want p1@3", e.Ref(), err)
			}
			last = e.Cursor
		}
		for e, err := range d.Log(d.ctx, last) {
			b.Errorf("got %s, %v behind the end", e.Ref(), err)
		}
	}},
}

// byRevision checks that every record's events follow one another and none comes twice.
func (b *bench) byRevision(list []fsm.Entry) {
	b.Helper()
	last := map[string]fsm.Entry{}
	seen := map[fsm.Cursor]bool{}
	for _, e := range list {
		before := last[e.ID]
		if e.N == 0 && e.Rev != before.Rev+1 || e.N > 0 && (e.Rev != before.Rev || e.N != before.N+1) {
			b.Errorf("%s.%d stands behind %s.%d", e.Ref(), e.N, before.Ref(), before.N)
		}
		if seen[e.Cursor] {
			b.Errorf("the cursor %q stands behind two events", e.Cursor)
		}
		last[e.ID], seen[e.Cursor] = e, true
	}
}
