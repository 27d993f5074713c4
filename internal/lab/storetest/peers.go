package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

func lane(lane any, except string, states ...string) driver.PeerQuery {
	return driver.PeerQuery{Name: "lane_open", Columns: []string{"lane"}, Values: []any{lane}, States: states, Except: except}
}

// Questions about other records are answered under one lock per group.
var peerTests = []test{
	{"count", func(b *bench) {
		b.make(parcel("p1", "a"))
		b.make(parcel("p2", "a"))
		b.makeHeld(parcel("p3", "a"), "ann", instant)
		b.make(parcel("q1", "b"))
		b.update(func(tx fsm.Tx) error {
			for _, c := range []struct {
				q    driver.PeerQuery
				want int64
			}{
				{lane("a", "p1", "waiting"), 1},
				{lane("a", "x", "waiting"), 2},
				{lane("a", "p1", "waiting", "held"), 2},
				{lane("a", "p1", "sent"), 0},
				{lane("b", "q1", "waiting"), 0},
				{lane(nil, "x", "waiting"), 0},
				{driver.PeerQuery{Name: "any", States: []string{"waiting"}, Except: "p1"}, 2},
			} {
				got, err := tx.Peers(c.q)
				if err != nil || got != c.want {
					b.Errorf("Peers(%+v): got %d, %v, want %d", c.q, got, err, c.want)
				}
			}
			return nil
		})
	}},
	{"numbers count per group", func(b *bench) {
		number := func(group string) (n int64) {
			b.update(func(tx fsm.Tx) (err error) {
				n, err = tx.NextNumber(driver.PeerQuery{Name: "number", Sequence: true, Columns: []string{"lane"}, Values: []any{group}})
				return err
			})
			return n
		}
		got := []int64{number("a"), number("a"), number("b"), number("a")}
		if !slices.Equal(got, []int64{1, 2, 1, 3}) {
			b.Errorf("got %v, want 1 2 1 3", got)
		}
	}},
	{"numbers count records without a group together", func(b *bench) {
		number := func(lane, holder any) (n int64) {
			b.update(func(tx fsm.Tx) (err error) {
				n, err = tx.NextNumber(driver.PeerQuery{
					Name: "number", Sequence: true, Columns: []string{"lane", "holder"}, Values: []any{lane, holder},
				})
				return err
			})
			return n
		}
		got := []int64{number("a", nil), number("a", nil), number("b", nil), number("a", "ann"), number("a", nil)}
		if !slices.Equal(got, []int64{1, 2, 1, 1, 3}) {
			b.Errorf("got %v, want 1 2 1 1 3", got)
		}
	}},
	{"numbers go on behind those that records bring", func(b *bench) {
		b.table = b.numbered()
		number := func(holder any) int64 { return b.number("weight", "holder", holder) }
		got := []int64{number(nil), number("ann")}
		p := parcel("p1", "a")
		p.Weight = fsm.Some(int64(7))
		p = b.make(p)
		got = append(got, number(nil), number(nil), number("ann"))
		b.commit(change(p, p.held("ann", instant), "hold", ""))
		got = append(got, number("ann"), number(nil), number("ann"), number("ben"))
		if want := []int64{1, 1, 8, 9, 2, 8, 10, 9, 1}; !slices.Equal(got, want) {
			b.Errorf("got %v, want %v", got, want)
		}
	}},
	{"numbers do not remember who only passed through", func(b *bench) {
		b.table = b.numbered()
		number := func(holder any) int64 { return b.number("weight", "holder", holder) }
		heavy := parcel("p1", "a")
		heavy.Weight = fsm.Some(int64(7))
		heavy = b.make(heavy)
		light := parcel("p2", "a")
		light.Weight = fsm.Some(int64(3))
		light = b.make(light)
		held := heavy.held("ann", instant)
		b.commit(change(heavy, held, "hold", ""))
		b.commit(change(light, light.held("ann", instant), "hold", ""))
		back := held
		back.State, back.Rev = "waiting", held.Rev+1
		back.Holder, back.Due = fsm.Optional[string]{}, fsm.Optional[time.Time]{}
		b.commit(change(held, back, "release", "")) // ann had 7, and nobody has asked for a number meanwhile
		got := []int64{number("ann"), number(nil)}
		if want := []int64{4, 8}; !slices.Equal(got, want) {
			b.Errorf("got %v, want %v", got, want)
		}
	}},
	{"numbers end at the greatest", func(b *bench) {
		b.table = b.numbered()
		p := parcel("p1", "a")
		p.Weight = fsm.Some(int64(math.MaxInt64 - 1))
		b.make(p)
		number := func(holder any) int64 { return b.number("weight", "holder", holder) }
		got := []int64{number(nil), number(nil), number("ann"), number(nil), number("ann")}
		p.ID, p.Weight = "p2", fsm.Some(int64(math.MaxInt64))
		p = b.make(p)
		got = append(got, number(nil))
		b.commit(change(p, p.held("ben", instant), "hold", ""))
		got = append(got, number("ben"), number("ben"), number("ann"))
		if want := []int64{math.MaxInt64, 0, 1, 0, 2, 0, 0, 0, 3}; !slices.Equal(got, want) {
			b.Errorf("got %v, want %v", got, want)
		}
	}},
	{"a number that was taken back is given again", func(b *bench) {
		q := driver.PeerQuery{Name: "number", Sequence: true, Columns: []string{"lane"}, Values: []any{"a"}}
		err := b.table.Update(b.ctx, func(tx fsm.Tx) error {
			if _, err := tx.NextNumber(q); err != nil {
				return err
			}
			return errStop
		})
		if !errors.Is(err, errStop) {
			b.Fatal(err)
		}
		b.update(func(tx fsm.Tx) error {
			n, err := tx.NextNumber(q)
			if n != 1 {
				b.Errorf("got %d, want 1", n)
			}
			return err
		})
	}},
	{"groups of other names are others", func(b *bench) {
		b.update(func(tx fsm.Tx) error {
			for _, name := range []string{"number", "other"} {
				n, err := tx.NextNumber(driver.PeerQuery{Name: name, Sequence: true, Columns: []string{"lane"}, Values: []any{"a"}})
				if err != nil || n != 1 {
					b.Errorf("%s: got %d, %v, want 1", name, n, err)
				}
			}
			return nil
		})
	}},
	{"what was counted stays so until the commit", func(b *bench) {
		const rooms = 3
		var held []Parcel
		for _, id := range []string{"p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"} {
			held = append(held, b.makeHeld(parcel(id, "a"), "ann", instant))
		}
		b.crowd(len(held), func(i int) error {
			p := held[i]
			return b.table.Update(b.ctx, func(tx fsm.Tx) error {
				n, err := tx.Peers(lane("a", p.ID, "shelved"))
				if err != nil {
					return err
				}
				if n >= rooms {
					return errStop
				}
				return tx.Write(change(p, p.shelved("slot "+p.ID), "shelve", ""))
			})
		}, isStop)
		if got := b.ids(driver.Query{States: []string{"shelved"}}); len(got) != rooms {
			b.Errorf("got %q in the lane, want %d", got, rooms)
		}
	}},
	{"who has counted a group keeps others from leaving it", func(b *bench) {
		for round := range 10 {
			lanes := fmt.Sprint("lane ", round)
			var held []Parcel
			for _, id := range []string{fmt.Sprintf("p%d", round), fmt.Sprintf("q%d", round)} {
				held = append(held, b.makeHeld(parcel(id, lanes), "ann", instant))
			}
			var left atomic.Bool
			late, relied := false, false
			b.crowd(2, func(i int) error {
				p := held[i]
				q := lane(lanes, p.ID, "held")
				if q.Locked = round%2 == 0; i == 1 { // it may leave what the other one relies on
					q.Hold = true
				}
				err := b.table.Update(b.ctx, func(tx fsm.Tx) error {
					n, err := tx.Peers(q)
					switch {
					case err != nil:
						return err
					case q.Hold && n != 0:
						b.Errorf("a group that is held has %d records, want 0: none is counted", n)
					case !q.Hold && n != 1:
						return errStop
					}
					if !q.Hold {
						time.Sleep(2 * time.Millisecond)
						late = left.Load()
					}
					return tx.Write(change(p, p.shelved("slot "+p.ID), "shelve", ""))
				})
				if q.Hold {
					left.Store(err == nil)
				} else {
					relied = err == nil
				}
				return err
			}, isStop)
			if relied && (late || b.surelyBefore(held[1].Ref(), held[0].Ref())) {
				b.Errorf("round %d: %s relied on one that had left before it was written", round, held[0].ID)
			}
		}
	}},
	{"rules over different groups see each other", func(b *bench) {
		// Each of the two counts nobody in its own group only while the other one
		// has not been written, so one of them must be told.
		for round := range 10 {
			ids := []string{fmt.Sprintf("p%d", round), fmt.Sprintf("q%d", round)}
			lanes := fmt.Sprint("lane ", round)
			var held []Parcel
			for _, id := range ids {
				held = append(held, b.makeHeld(parcel(id, lanes), "ann", instant))
			}
			rules := []driver.PeerQuery{
				{Name: "by_lane", Columns: []string{"lane"}, Values: []any{lanes}, States: []string{"shelved"}, Except: ids[0]},
				{Name: "by_lane_and_holder", Columns: []string{"lane", "moves"}, Values: []any{lanes, int64(1)}, States: []string{"shelved"}, Except: ids[1]},
			}
			won := b.crowd(len(rules), func(i int) error {
				return b.table.Update(b.ctx, func(tx fsm.Tx) error {
					n, err := tx.Peers(rules[i])
					if err != nil {
						return err
					}
					time.Sleep(2 * time.Millisecond)
					if n > 0 {
						return errStop
					}
					return tx.Write(change(held[i], held[i].shelved("slot "+ids[i]), "shelve", ""))
				})
			}, isStop)
			if won != 1 {
				b.Errorf("round %d: %d were shelved, want 1", round, won)
			}
		}
	}},
}

// surelyBefore reports whether the log says that the step after one revision was made before that after another one.
func (b *bench) surelyBefore(first, second fsm.Ref) (before bool) {
	b.Helper()
	var at *fsm.Entry
	list := b.log("", 1000)
	for i := range list {
		switch e := &list[i]; {
		case e.ID == first.ID && e.Rev == first.Rev+1:
			at = e
		case e.ID == second.ID && e.Rev == second.Rev+1 && at != nil:
			b.view(func(r driver.Reader) error { before = !r.Blurred(at, e); return nil })
		}
	}
	return before
}

// numbered opens a table in which the weight is a sequence per holder; parcels
// without one are counted together.
func (b *bench) numbered() driver.Table {
	b.Helper()
	schema := Schema()
	schema.SQL = b.suite.sql
	schema.Columns[colWeight].Kind = driver.KindSequence
	schema.Uniques = append(schema.Uniques, driver.UniqueRule{Name: "sequence_weight", Columns: []string{"holder", "weight"}})
	table, err := b.suite.open(b.T).Table(schema)
	if err != nil {
		b.Fatal(err)
	}
	if err := table.Migrate(b.ctx); err != nil {
		b.Fatal(err)
	}
	return table
}

// number asks for the next number of a group.
func (b *bench) number(sequence, column string, value any) (n int64) {
	b.Helper()
	b.update(func(tx fsm.Tx) (err error) {
		n, err = tx.NextNumber(driver.PeerQuery{Name: sequence, Sequence: true, Columns: []string{column}, Values: []any{value}})
		return err
	})
	return n
}
