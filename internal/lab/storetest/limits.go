package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Ids, logs and contexts at their limits.
var limitTests = []test{
	{"ids of every kind", func(b *bench) {
		d := b.open()
		ids := []string{"'", `"`, "`", "''; DROP TABLE parcel; --", `\`, "%", "_", "a b", " a", "a ", "a/b", "a\tb\n", "é", "e\u0301", "😀", "日本語", "\u200b", "NULL", "-1",
			strings.Repeat("x", 255), strings.Repeat("😀", 63) + "xyz", strings.Repeat("'", 255)}
		for _, id := range ids {
			out := d.must(d.Create(d.ctx, Register(Meta{RequestID: "make " + id[:min(len(id), 200)], Actor: id}, RegisterInput{ID: id, Lane: id})))
			call := Hold(Meta{RequestID: id, Actor: id, Reason: id}, id, instant)
			held := d.must(d.Apply(d.ctx, out, call))
			d.replays(held, d.must(d.Apply(d.ctx, fsm.Ref{ID: id, Rev: 1}, call)), held.Ref(), "held")
			if p := d.parcel(id); p.ID != id || p.Lane != id || p.Holder.Or("") != id {
				b.Errorf("%q comes back as %+v", id, p)
			}
			if e := d.events(id); len(e) != 2 || e[1].RequestID != id || e[1].Actor != id || e[1].Reason != id {
				b.Errorf("the log of %q is %+v", id, e)
			}
		}
		if got := b.ids(driver.Query{}); len(got) != len(ids) {
			b.Errorf("%d records, want %d", len(got), len(ids))
		}
		for _, bad := range []string{strings.Repeat("x", 256), strings.Repeat("😀", 64), "a\x00b", "\xff", "\x00"} {
			d.refused(fsm.ErrInvalidInput, func() (outcome, error) {
				return d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: bad, Lane: "a"}))
			})
			d.refused(fsm.ErrInvalidInput, func() (outcome, error) {
				return d.Create(d.ctx, Register(Meta{RequestID: bad}, RegisterInput{Lane: "a"}))
			})
			d.refused(fsm.ErrInvalidInput, func() (outcome, error) {
				return d.Create(d.ctx, Register(Meta{Actor: bad}, RegisterInput{Lane: "a"}))
			})
		}
	}},
	{"a long log", func(b *bench) {
		const n = 2000 // events
		d := b.open()
		out := d.register("p1", "a")
		first := out
		for done := 1; done < n; {
			items := make([]fsmimpl.Item[Parcel], 0, 20)
			for ; done < n && len(items) < cap(items); done++ {
				items = append(items, fsmimpl.Item[Parcel]{At: fsm.Ref{ID: "p1"}, Call: Annotate(Meta{RequestID: fmt.Sprint("r", done)},
					fsm.Some(fsm.MustJSON(fmt.Sprint(done))), fsm.Optional[string]{}, fsm.Optional[bool]{})})
			}
			outs, err := d.ApplyMany(d.ctx, items)
			if err != nil {
				b.Fatalf("after %d events: %v", done, err)
			}
			if out = outs[len(outs)-1]; done <= 21 {
				first = outs[0]
			}
		}
		if out.Record.Rev != int64(n) {
			b.Fatalf("revision %d, want %d", out.Record.Rev, n)
		}
		last := int64(0)
		for e, err := range d.History(d.ctx, "p1") {
			if err != nil || e.Rev != last+1 {
				b.Fatalf("revision %d stands behind %d, %v", e.Rev, last, err)
			}
			last = e.Rev
		}
		if last != int64(n) {
			b.Errorf("the log ends at %d, want %d", last, n)
		}
		again := d.must(d.Apply(d.ctx, fsm.Ref{ID: "p1"}, Annotate(Meta{RequestID: "r1"},
			fsm.Some(fsm.MustJSON("1")), fsm.Optional[string]{}, fsm.Optional[bool]{})))
		d.replays(first, again, out.Ref(), "waiting")
		if list := b.log("", 1000); len(list) != n && len(b.whole(n)) != n {
			b.Errorf("the log of all records has %d events, want %d", len(list), n)
		}
	}},
	{"a context that ends at any step", func(b *bench) {
		d := b.open()
		for name, call := range cancelled {
			for k := int64(1); ; k++ {
				if k > 100 {
					b.Fatalf("%s: the store is asked more than 100 times", name)
				}
				p := d.hold(fmt.Sprintf("%s %d", name, k), fmt.Sprint(name, k))
				before := len(d.events(p.Record.ID))
				ctx, cancel := context.WithCancel(d.ctx)
				steps := &stepStore{Store: d.store, end: cancel}
				m, err := fsm.NewMachine(d.ctx, steps, Descriptor(d.schema), noEffects(), fsm.WithClock(func() time.Time { return instant }))
				if err != nil {
					b.Fatal(err)
				}
				steps.taken.Store(0) // from here on: opening looks, too
				steps.at = k
				want, err := call(ctx, m, p)
				cancel()
				reached := steps.taken.Load() >= k
				written := len(d.events(p.Record.ID)) - before
				switch {
				case err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, fsm.ErrAmbiguous):
					b.Errorf("%s, step %d: got %v, want the context's error", name, k, err)
				case err != nil && written != 0 && written != 2, err == nil && written != 2:
					b.Errorf("%s, step %d: %d events stand, want none or both (%v)", name, k, written, err)
				case errors.Is(err, context.Canceled) && !errors.Is(err, fsm.ErrAmbiguous) && written != 0:
					b.Errorf("%s, step %d: the context's error says that nothing was written", name, k)
				}
				again, err := call(d.ctx, d.Machine, p)
				if err != nil || again.Replayed != (written > 0) || again.Record.Rev != 4 {
					b.Errorf("%s, step %d: the same call again: %v, replayed %v, %v", name, k, again.Ref(), again.Replayed, err)
				}
				if want.Record.Rev != 0 {
					d.same(outcomeText(want), outcomeText(again))
				}
				if !reached {
					if err != nil || k < 5 {
						b.Errorf("%s: the store was asked %d times (%v), want at least 4 and no error", name, k-1, err)
					}
					break
				}
			}
		}
	}},
}

// cancelled are calls of two events each on a parcel that is held.
var cancelled = map[string]func(ctx context.Context, m *fsm.Machine[Parcel], p outcome) (outcome, error){
	"held": func(ctx context.Context, m *fsm.Machine[Parcel], p outcome) (outcome, error) {
		return m.Apply(ctx, p, Expel(Meta{RequestID: "r", Actor: "op", Reason: "lost"}))
	},
	"ref": func(ctx context.Context, m *fsm.Machine[Parcel], p outcome) (outcome, error) {
		return m.Apply(ctx, p.Ref(), Expel(Meta{RequestID: "r", Actor: "op", Reason: "lost"}))
	},
	"many": func(ctx context.Context, m *fsm.Machine[Parcel], p outcome) (outcome, error) {
		outs, err := m.ApplyMany(ctx, []fsmimpl.Item[Parcel]{
			{At: fsm.Ref{ID: p.Record.ID}, Call: Bill(Meta{RequestID: "r1"})}, {At: fsm.Ref{ID: p.Record.ID}, Call: Bill(Meta{RequestID: "r2"})}})
		if err != nil {
			return outcome{}, err
		}
		return outs[1], nil
	},
}

// stepStore ends a context when the store is asked for the at-th time.
type stepStore struct {
	fsm.Store
	at    int64
	end   func()
	taken atomic.Int64
}

func (s *stepStore) step() {
	if s.taken.Add(1) == s.at {
		s.end()
	}
}

// Table returns a table that counts.
func (s *stepStore) Table(schema *driver.Schema) (driver.Table, error) {
	t, err := s.Store.Table(schema)
	return &stepTable{t, s}, err
}

type stepTable struct {
	driver.Table
	s *stepStore
}

// Commit counts.
func (t *stepTable) Commit(ctx context.Context, w *driver.Write) error {
	t.s.step()
	return t.Table.Commit(ctx, w)
}

// View counts, and what is read.
func (t *stepTable) View(ctx context.Context, f func(driver.Reader) error) error {
	t.s.step()
	return t.Table.View(ctx, f)
}

// Look counts.
func (t *stepTable) Look(ctx context.Context, f func(driver.Reader) error) error {
	t.s.step()
	return t.Table.Look(ctx, f)
}

// Update counts, and what is read and written; the last step is before the commit.
func (t *stepTable) Update(ctx context.Context, f func(fsm.Tx) error) error {
	t.s.step()
	return t.Table.Update(ctx, func(tx fsm.Tx) error {
		err := f(&stepTx{tx, t.s})
		t.s.step()
		return err
	})
}

type stepTx struct {
	fsm.Tx
	s *stepStore
}

// Row counts.
func (x *stepTx) Row(id string) (driver.Row, error) {
	x.s.step()
	return x.Tx.Row(id)
}

// Rows counts.
func (x *stepTx) Rows(q driver.Query) iter.Seq2[driver.Row, error] {
	x.s.step()
	return x.Tx.Rows(q)
}

// Request counts.
func (x *stepTx) Request(id, requestID string) ([]fsm.Event, error) {
	x.s.step()
	return x.Tx.Request(id, requestID)
}

// Write counts before and after.
func (x *stepTx) Write(w *driver.Write) error {
	x.s.step()
	defer x.s.step()
	return x.Tx.Write(w)
}
