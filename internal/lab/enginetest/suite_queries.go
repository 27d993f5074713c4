package enginetest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// queries looks at what the durable layer asks a store about other records: a
// name is the key of a lock in some stores, and a state too many does not show
// when another guard looks at it first.
func queries[R any](s *world.Suite[R], t *testing.T) {
	for _, o := range s.M.Ops {
		if !asks(s.M, o) {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			for _, from := range starts(s.M, o) {
				c, ok := s.M.Good(o, from, func(v oracle.Verdict) bool { return oracle.Moves(v) && len(v.Failing) == 0 })
				if !ok {
					continue
				}
				spy := &listening{Store: memstore.New()}
				h := s.NewHarness(t, world.Store{Name: "listening", Open: func(t *testing.T) fsm.Store {
					t.Cleanup(func() { spy.Close() })
					return spy
				}})
				if !h.M.Exported(o) {
					continue
				}
				if o.By != "system" {
					c.Call.RequestID = h.RequestID()
				} else {
					c.Call.Reason = ""
				}
				if o.Creates {
					h.Create("asks", o, c.Call)
				} else {
					seed(h, c.Row)
					spy.asked = nil
					h.Call("asks", o, fsm.Ref{ID: c.Row.ID, Rev: 1}, c.Call)
				}
				want := questions(s.M, o, c)
				got := spy.asked
				for len(got) > len(want) && asksLater(s.M, o, got[len(got)-1].Name) {
					got = got[:len(got)-1]
				}
				if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
					t.Errorf("the store is asked\n\t%+v\nwant\n\t%+v", got, want)
				}
				manyOthers(s, h, spy, o, c)
			}
		})
	}
}

// manyOthers makes the call once more for each guard with a large bound, beside as
// many others as it allows and beside one more: the store says that they are there.
func manyOthers[R any](s *world.Suite[R], h *world.Harness[R], spy *listening, o *oracle.Op, c oracle.Case) {
	number := c.Row.Rev
	for _, g := range o.Guards {
		if g.Fewer <= crowdLimit {
			continue
		}
		for _, n := range []int64{g.Fewer - 1, g.Fewer} {
			spy.more = map[string]int64{g.Name: n}
			h.W.More = spy.more
			c := c.Clone()
			c.Row.ID = fmt.Sprintf("%s-%d", g.Name, n)
			c.Call.ID, c.Call.Peers = c.Row.ID, nil
			if o.By != "system" {
				c.Call.RequestID = h.RequestID()
			}
			for name := range grouped(s.M) { // not beside those of the last call
				mark(s.M, o, &c, name, fmt.Sprintf(" of %s", c.Row.ID))
			}
			what := fmt.Sprintf("with %d others for %s", n, g.Name)
			if o.Creates {
				h.Create(what, o, c.Call)
				continue
			}
			number++
			numberOf(s.M, &c.Row, number)
			seed(h, c.Row)
			h.Call(what, o, fsm.Ref{ID: c.Row.ID, Rev: 1}, c.Call)
		}
	}
	spy.more, h.W.More = nil, nil
}

// asks reports whether an operation must know of other records.
func asks(m *world.Model, o *oracle.Op) bool {
	return slices.ContainsFunc(o.Guards, func(g *oracle.GuardInfo) bool { return g.Fewer > 0 }) ||
		o.Creates && slices.ContainsFunc(m.Order, func(name string) bool { return m.FieldByName[name].Kind == driver.KindSequence })
}

// asksLater reports whether a step of `then` after an operation asks for a
// guard's group: that is looked at where its own operation is called.
func asksLater(m *world.Model, o *oracle.Op, name string) bool {
	seen := map[string]bool{}
	for next := o.Then; next != "" && !seen[next]; next = m.OpNamed(next).Then {
		seen[next] = true
		if slices.ContainsFunc(m.OpNamed(next).Guards, func(g *oracle.GuardInfo) bool { return g.Fewer > 0 && g.Name == name }) {
			return true
		}
	}
	return false
}

// questions lists what a store has to be asked for a call: the guards in their
// order, then the next numbers.
func questions(m *world.Model, o *oracle.Op, c oracle.Case) []driver.PeerQuery {
	r, id := c.Row, c.Row.ID
	if o.Creates {
		r, id = m.Blank(c.Call.ID), c.Call.ID
		m.Apply(o, o.Always, m.Blank(id), &r, c.Call)
	}
	var asked []driver.PeerQuery
	ask := func(q driver.PeerQuery, fields string) {
		for _, name := range oracle.List(fields) {
			f := m.FieldByName[name]
			q.Columns = append(q.Columns, f.Stored)
			q.Values = append(q.Values, r.Values[f.Index])
		}
		q.Except = id
		asked = append(asked, q)
	}
	for _, g := range o.Guards {
		if g.Fewer > 0 {
			var states []string
			for _, name := range oracle.List(g.In) {
				states = append(states, m.StateByName[name].StoredName)
			}
			ask(driver.PeerQuery{Name: g.Name, States: states}, g.Same)
		}
	}
	for _, name := range m.Order {
		if f := m.FieldByName[name]; o.Creates && f.Kind == driver.KindSequence {
			ask(driver.PeerQuery{Name: f.Stored, Sequence: true}, f.Per)
		}
	}
	return asked
}

// listening is a store in memory that notes what it is asked about others.
type listening struct {
	*memstore.Store
	asked []driver.PeerQuery
	more  map[string]int64 // by guard: others that it counts and that are not there
}

// Table returns the store's part for one machine.
func (s *listening) Table(schema *driver.Schema) (driver.Table, error) {
	t, err := s.Store.Table(schema)
	return listeningTable{t, s}, err
}

// Transaction returns the transaction behind tx.
func (s *listening) Transaction(tx fsm.Tx) *memstore.Tx {
	if x, ok := tx.(listeningTx); ok {
		tx = x.Tx
	}
	return s.Store.Transaction(tx)
}

type listeningTable struct {
	driver.Table
	s *listening
}

func (t listeningTable) Update(ctx context.Context, f func(fsm.Tx) error) error {
	return t.Table.Update(ctx, func(tx fsm.Tx) error { return f(listeningTx{tx, t.s}) })
}

type listeningTx struct {
	fsm.Tx
	s *listening
}

func (x listeningTx) Peers(q driver.PeerQuery) (int64, error) {
	x.s.asked = append(x.s.asked, q)
	n, err := x.Tx.Peers(q)
	return n + x.s.more[q.Name], err
}

func (x listeningTx) NextNumber(q driver.PeerQuery) (int64, error) {
	x.s.asked = append(x.s.asked, q)
	return x.Tx.NextNumber(q)
}
