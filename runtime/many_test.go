package fsm_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Calls on many records have one answer, whether the store writes many at once or
// not; only writes of different records and requests are made at once.
func TestManyCallsAsOneByOne(t *testing.T) {
	t.Parallel()
	made := func(id, request string) fsmimpl.Call[storetest.Parcel] {
		return storetest.Register(meta(request), in(id))
	}
	for name, c := range map[string]struct {
		calls  []fsmimpl.Call[storetest.Parcel]
		items  func(held []outcome) []fsmimpl.Item[storetest.Parcel]
		atOnce int // writes of the first try
	}{
		"made":                   {calls: []fsmimpl.Call[storetest.Parcel]{made("a", "r1"), made("b", "r2")}, atOnce: 2},
		"one record twice":       {calls: []fsmimpl.Call[storetest.Parcel]{made("a", "r1"), made("a", "r2")}},
		"one request twice":      {calls: []fsmimpl.Call[storetest.Parcel]{made("a", "r"), made("b", "r")}},
		"a record that is there": {calls: []fsmimpl.Call[storetest.Parcel]{made("a", "r1"), made("p1", "r2")}, atOnce: 1},
		"held": {items: func(held []outcome) []fsmimpl.Item[storetest.Parcel] {
			return []fsmimpl.Item[storetest.Parcel]{{At: held[0], Call: note("r1", "x")}, {At: held[1], Call: note("r2", "y")}}
		}, atOnce: 2},
		"one held twice": {items: func(held []outcome) []fsmimpl.Item[storetest.Parcel] {
			return []fsmimpl.Item[storetest.Parcel]{{At: held[0], Call: note("r1", "x")}, {At: held[0], Call: note("r2", "y")}}
		}},
		"one named only": {items: func(held []outcome) []fsmimpl.Item[storetest.Parcel] {
			return []fsmimpl.Item[storetest.Parcel]{{At: held[0], Call: note("r1", "x")}, {At: held[1].Ref(), Call: note("r2", "y")}}
		}},
		"one at no revision": {items: func(held []outcome) []fsmimpl.Item[storetest.Parcel] {
			return []fsmimpl.Item[storetest.Parcel]{{At: held[0], Call: note("r1", "x")}, {At: fsm.Ref{ID: "p2"}, Call: note("r2", "y")}}
		}},
		"each in its place": {items: func(held []outcome) []fsmimpl.Item[storetest.Parcel] {
			return []fsmimpl.Item[storetest.Parcel]{{At: held[4], Call: note("r1", "x")}, {At: held[5], Call: note("r2", "y")}}
		}, atOnce: 2},
		"a place is taken, then given up": {items: func(held []outcome) []fsmimpl.Item[storetest.Parcel] {
			return []fsmimpl.Item[storetest.Parcel]{{At: held[2], Call: shelved("r1", "s1")}, {At: held[4], Call: storetest.Send(meta("r2"))}}
		}},
		"a place is given up, then taken": {items: func(held []outcome) []fsmimpl.Item[storetest.Parcel] {
			return []fsmimpl.Item[storetest.Parcel]{{At: held[4], Call: storetest.Send(meta("r1"))}, {At: held[2], Call: shelved("r2", "s1")}}
		}},
		"a place is passed on": {items: func(held []outcome) []fsmimpl.Item[storetest.Parcel] {
			return []fsmimpl.Item[storetest.Parcel]{{At: held[4], Call: shelved("r1", "s2")}, {At: held[5], Call: shelved("r2", "s3")}}
		}},
		"two places are taken": {items: func(held []outcome) []fsmimpl.Item[storetest.Parcel] {
			return []fsmimpl.Item[storetest.Parcel]{{At: held[2], Call: shelved("r1", "s3")}, {At: held[3], Call: shelved("r2", "s4")}}
		}, atOnce: 2},
		"two places are given up": {items: func(held []outcome) []fsmimpl.Item[storetest.Parcel] {
			return []fsmimpl.Item[storetest.Parcel]{{At: held[4], Call: storetest.Send(meta("r1"))}, {At: held[5], Call: storetest.Send(meta("r2"))}}
		}, atOnce: 2},
		"a step behind another": {items: func(held []outcome) []fsmimpl.Item[storetest.Parcel] {
			return []fsmimpl.Item[storetest.Parcel]{{At: held[2], Call: storetest.Expel(storetest.Meta{RequestID: "r1", Actor: "root", Reason: "why"})}, {At: held[1], Call: note("r2", "y")}}
		}},
		"one that is refused": {items: func(held []outcome) []fsmimpl.Item[storetest.Parcel] {
			return []fsmimpl.Item[storetest.Parcel]{{At: held[0], Call: note("r1", "x")}, {At: held[1], Call: storetest.Shelve(meta("r2"), "s", "t")}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := func(single bool) (string, int) {
				store := &wrapped{Store: newStore(), single: single}
				m := open(t, store, storetest.Schema(), fixed())
				var held []outcome // two that wait, two that are held, two in the slots s1 and s2
				for i := range 6 {
					out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(fmt.Sprint("p", i+1)))))
					if i > 1 {
						out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
					}
					if i > 3 {
						out = must(t)(m.Apply(t.Context(), out, shelved("", fmt.Sprint("s", i-3))))
					}
					held = append(held, out)
				}
				first := -1
				store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
					n := 0
					err := table.Update(ctx, func(tx fsm.Tx) error { return f(tallying{tx, &n}) })
					if first < 0 {
						first = n
					}
					return err
				}
				var outs []outcome
				var err error
				if c.items != nil {
					outs, err = m.ApplyMany(t.Context(), c.items(held))
				} else {
					outs, err = m.CreateMany(t.Context(), c.calls)
				}
				text := fmt.Sprint(err)
				for _, out := range outs {
					text += fmt.Sprintf("\n%v %s replayed=%t", out.Ref(), out.CurrentState, out.Replayed)
				}
				if list := findings(t, m); list != nil {
					t.Errorf("audit: %v", list)
				}
				if bulks := store.bulks.Load(); !single && (bulks > 0) != (c.atOnce > 0) {
					t.Errorf("%d tries at once, want them: %t", bulks, c.atOnce > 0)
				}
				return text, first
			}
			want, _ := answer(true)
			got, atOnce := answer(false)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("one by one and at once (-one by one +at once):\n%s", diff)
			}
			if c.atOnce > 0 && atOnce != c.atOnce {
				t.Errorf("the first transaction made %d writes, want %d", atOnce, c.atOnce)
			}
		})
	}
}

// shelved puts a parcel into a slot, without the guard that counts the others.
func shelved(request, slot string) fsmimpl.Call[storetest.Parcel] {
	c := storetest.Shelve(meta(request), slot, "t")
	decide := c.Decide
	c.Peers = nil
	c.Decide = func(p *storetest.Parcel, id string, _ []int64, now time.Time) (fsmimpl.Step, error) {
		return decide(p, id, []int64{0}, now)
	}
	return c
}

// tallying counts the writes of a transaction.
type tallying struct {
	fsm.Tx
	n *int
}

func (c tallying) Write(w *driver.Write) error { *c.n++; return c.Tx.Write(w) }

// What is busy, what a transaction says that cannot begin,
// and a refusal at its end are left to the way that says of which record it is.
// Whoever has gone is not tried for at all.
func TestManyCallsOfABusyStore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails error
		ran   bool  // before it failed
		gone  bool  // the caller, meanwhile
		then  error // of the next try
		bulks int64 // tries at once
	}{
		"busy":                    {fails: &fsm.Refusal{Code: fsm.ErrBusy}, bulks: 1},
		"busy at the commit":      {fails: &fsm.Refusal{Code: fsm.ErrBusy}, ran: true, bulks: 1},
		"refused":                 {fails: &fsm.Refusal{Code: fsm.ErrInvariant}, ran: true, bulks: 1},
		"not begun":               {fails: errBack, bulks: 1},
		"not begun, then refused": {fails: errBack, then: &fsm.Refusal{Code: fsm.ErrInvariant}, bulks: 1},
		"gone":                    {fails: context.Canceled, gone: true, bulks: 1},
	} {
		store := &wrapped{Store: newStore()}
		m := open(t, store, storetest.Schema(), fixed())
		ctx, leave := context.WithCancel(t.Context())
		t.Cleanup(leave)
		tries := 0
		store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
			switch tries++; {
			case tries > 1 && c.then != nil:
				return c.then
			case tries > 1:
				return table.Update(ctx, f)
			}
			if c.ran {
				if err := table.Update(ctx, func(tx fsm.Tx) error { return errors.Join(f(tx), errBack) }); !errors.Is(err, errBack) {
					t.Error(err)
				}
			}
			if c.gone {
				leave()
			}
			return c.fails
		}
		outs, err := m.CreateMany(ctx, []fsmimpl.Call[storetest.Parcel]{storetest.Register(meta("r1"), in("a")), storetest.Register(meta("r2"), in("b"))})
		want := 2
		if c.gone {
			want = 1
		}
		fails := c.gone || c.then != nil
		if (err != nil) != fails || fails == (len(outs) == 2) || errors.Is(err, fsm.ErrAmbiguous) || tries != want || store.bulks.Load() != c.bulks {
			t.Errorf("%s: %d outcomes, %v after %d tries, %d of them at once, want %d and %d", name, len(outs), err, tries, store.bulks.Load(), want, c.bulks)
		}
	}
}
