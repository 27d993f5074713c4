package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// full returns a parcel in which every column holds something telling.
func full(id string) Parcel {
	p := parcel(id, "lane ä\"'\\%_\n")
	p.Label = fsm.Some("label " + id)
	p.Weight = fsm.Some(int64(-1) << 62)
	p.Tags = fsm.NewSet("b", "a<&>", "ü")
	return p
}

// A write is one piece: the row, the event, the request, the outbox.
var writeTests = []test{
	{"creation comes back as it was", func(b *bench) {
		p := full("p \"1\"'ü")
		w := creation(p, "req-1")
		want := []string{rowText(*w.Row), eventText(w.Event)}
		b.commit(w)
		b.same(want, []string{rowText(b.row(p.ID)), eventText(b.events(p.ID)[0])})
	}},
	{"absent values come back absent", func(b *bench) {
		b.make(parcel("p1", "a"))
		row := b.row("p1")
		for _, i := range []int{colLabel, colSlot, colHolder, colWeight, colFragile, colDue, colNote, colSize} {
			if row.Values[i] != nil {
				b.Errorf("column %d is %v, want nil", i, row.Values[i])
			}
		}
		if row.Values[colTags] != "[]" || row.Values[colMoves] != int64(0) {
			b.Errorf("tags and moves are %#v and %#v, want an empty set and 0", row.Values[colTags], row.Values[colMoves])
		}
	}},
	{"a step changes its columns only", func(b *bench) {
		p := b.make(full("p1"))
		next := p
		next.Rev = 2
		next.Note = fsm.Some(fsm.MustJSON(`{"b":1.0,"a":null,"a":"\u0041<>"}`))
		next.Size, next.Fragile = fsm.Some("large"), fsm.Some(false)
		next.UpdatedAt = instant.Add(time.Second)
		w := change(p, next, "annotate", "")
		want := []string{rowText(*w.Row), eventText(w.Event)}
		b.commit(w)
		b.same(want, []string{rowText(b.row("p1")), eventText(b.events("p1")[1])})
	}},
	{"json null is present", func(b *bench) {
		p := b.make(parcel("p1", "a"))
		next := p
		next.Rev, next.Note = 2, fsm.Some(fsm.MustJSON("null"))
		b.commit(change(p, next, "annotate", ""))
		if got := b.row("p1").Values[colNote]; got != "null" {
			b.Errorf("note is %#v, want the text null", got)
		}
	}},
	{"a value becomes absent", func(b *bench) {
		p := b.makeHeld(parcel("p1", "a"), "ann", instant)
		next := p
		next.State, next.Rev, next.Holder, next.Due = "waiting", 3, fsm.Optional[string]{}, fsm.Optional[time.Time]{}
		b.commit(change(p, next, "release", ""))
		if row := b.row("p1"); row.Values[colHolder] != nil || row.Values[colDue] != nil || row.State != "waiting" {
			b.Errorf("got %s, want it released", rowText(row))
		}
	}},
	{"times keep microseconds", func(b *bench) {
		for i, at := range []time.Time{
			time.Date(1, 1, 2, 0, 0, 0, 1000, time.UTC),
			time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC),
			time.Date(9999, 12, 30, 23, 59, 59, 999999000, time.UTC),
		} {
			p := b.makeHeld(parcel(fmt.Sprint("p", i), "a"), "ann", at)
			if got := b.row(p.ID).Values[colDue]; got != at {
				b.Errorf("due is %v, want %v", got, at)
			}
		}
	}},
	{"a creation that exists is refused", func(b *bench) {
		b.make(parcel("p1", "a"))
		b.refuse(creation(parcel("p1", "b"), ""), driver.ErrIDTaken)
	}},
	{"a moved record refuses", func(b *bench) {
		p := b.make(parcel("p1", "a"))
		held := p.held("ann", instant)
		b.commit(change(p, held, "hold", ""))
		b.refuse(change(p, p.held("bob", instant), "hold", ""), driver.ErrMoved)
	}},
	{"a row that is not the one decided on refuses", func(b *bench) {
		p := b.makeHeld(full("p1"), "ann", instant)
		for name, edit := range map[string]func(p *Parcel){
			"created_at": func(p *Parcel) { p.CreatedAt = p.CreatedAt.Add(time.Microsecond) },
			"updated_at": func(p *Parcel) { p.UpdatedAt = p.UpdatedAt.Add(-time.Microsecond) },
			"a text":     func(p *Parcel) { p.Holder = fsm.Some("eve") },
			"absent":     func(p *Parcel) { p.Weight = fsm.Optional[int64]{} },
			"present":    func(p *Parcel) { p.Fragile = fsm.Some(false) },
			"a set":      func(p *Parcel) { p.Tags = fsm.NewSet("b") },
			"a counter":  func(p *Parcel) { p.Moves = 7 },
			"a time":     func(p *Parcel) { p.Due = fsm.Some(instant.Add(time.Hour)) },
		} {
			edited := p
			edit(&edited)
			w := change(p, p.shelved("s1"), "shelve", "")
			old := Encode(&edited)
			w.Old = &old
			if b.refuse(w, driver.ErrMoved); b.Failed() {
				b.Fatalf("with %s edited", name)
			}
		}
		w := change(p, p.shelved("s1"), "shelve", "")
		old := b.row("p1")
		w.Old = &old
		b.commit(w)
	}},
	{"a revision ahead refuses", func(b *bench) {
		p := b.make(parcel("p1", "a"))
		p.Rev = 7
		b.refuse(change(p, p.held("bob", instant), "hold", ""), driver.ErrMoved)
	}},
	{"another state at the revision refuses", func(b *bench) {
		p := b.make(parcel("p1", "a"))
		wrong := p.held("ann", instant)
		wrong.Rev = 1
		b.refuse(change(wrong, wrong.shelved("s1"), "shelve", ""), driver.ErrMoved)
	}},
	{"a record that is not there refuses", func(b *bench) {
		p := parcel("p1", "a")
		b.refuse(change(p, p.held("ann", instant), "hold", ""), driver.ErrMoved)
	}},
	{"a record-only event leaves the row", func(b *bench) {
		p := b.makeHeld(parcel("p1", "a"), "ann", instant)
		before := rowText(b.row("p1"))
		for n := int64(1); n <= 3; n++ {
			w := note(p, fmt.Sprint("n", n))
			b.commit(w)
			if w.Event.N != n {
				b.Errorf("the write says N is %d, want %d", w.Event.N, n)
			}
		}
		b.same([]string{before}, []string{rowText(b.row("p1"))})
		next := p.shelved("s1")
		b.commit(change(p, next, "shelve", ""))
		w := note(next, "n4")
		w.Event.Operation = "touch"
		b.commit(w)
		var got []string
		for _, e := range b.events("p1") {
			got = append(got, fmt.Sprintf("%d.%d", e.Rev, e.N))
		}
		b.same(strings.Fields("1.0 2.0 2.1 2.2 2.3 3.0 3.1"), got)
	}},
	{"a record-only event at a moved record refuses", func(b *bench) {
		p := b.makeHeld(parcel("p1", "a"), "ann", instant)
		b.commit(change(p, p.shelved("s1"), "shelve", ""))
		b.refuse(note(p, "n1"), driver.ErrMoved)
	}},
	{"a terminal record takes record-only events", func(b *bench) {
		p := b.makeShelved(parcel("p1", "a"), "s1")
		sent := p.sent()
		b.commit(change(p, sent, "send", ""))
		b.commit(note(sent, "n1"))
		if n := len(b.events("p1")); n != 5 {
			b.Errorf("the log has %d events, want 5", n)
		}
	}},
	{"a context that has ended writes nothing", func(b *bench) {
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		before := b.dump()
		if err := b.table.Commit(ctx, creation(parcel("p1", "a"), "")); !errors.Is(err, context.Canceled) {
			b.Errorf("got %v, want the context's error", err)
		}
		b.same(before, b.dump())
	}},
}
