package fsmtest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// queries looks at what the durable layer asks a store about other records: a
// name is the key of a lock in some stores, and a state too many does not show
// when another guard looks at it first.
func (s *suite[R]) queries(t *testing.T) {
	for _, o := range s.m.operations {
		if !s.m.asks(o) {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			for _, from := range s.m.starts(o) {
				c, ok := s.m.good(o, from, func(v verdict) bool { return moves(v) && len(v.failing) == 0 })
				if !ok {
					continue
				}
				spy := &listening{Store: memstore.New()}
				h := s.newHarness(t, Store{Name: "listening", Open: func(t *testing.T) fsm.Store {
					t.Cleanup(func() { spy.Close() })
					return spy
				}})
				if !h.exported(o) {
					continue
				}
				if o.By != "system" {
					c.call.RequestID = h.requestID()
				} else {
					c.call.Reason = ""
				}
				if o.creates {
					h.create("asks", o, c.call)
				} else {
					h.seed(c.row)
					spy.asked = nil
					h.call("asks", o, fsm.Ref{ID: c.row.ID, Rev: 1}, c.call)
				}
				want := s.m.questions(o, c)
				got := spy.asked
				for len(got) > len(want) && s.m.asksLater(o, got[len(got)-1].Name) {
					got = got[:len(got)-1]
				}
				if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
					t.Errorf("the store is asked\n\t%+v\nwant\n\t%+v", got, want)
				}
				s.manyOthers(h, spy, o, c)
			}
		})
	}
}

// manyOthers makes the call once more for each guard with a large bound, beside as
// many others as it allows and beside one more: the store says that they are there.
func (s *suite[R]) manyOthers(h *harness[R], spy *listening, o *operation, c theCase) {
	number := c.row.Rev
	for _, g := range o.require {
		if g.Fewer <= crowdLimit {
			continue
		}
		for _, n := range []int64{g.Fewer - 1, g.Fewer} {
			spy.more = map[string]int64{g.Name: n}
			h.w.more = spy.more
			c := c.clone()
			c.row.ID = fmt.Sprintf("%s-%d", g.Name, n)
			c.call.ID, c.call.Peers = c.row.ID, nil
			if o.By != "system" {
				c.call.RequestID = h.requestID()
			}
			for name := range s.m.grouped() { // not beside those of the last call
				s.m.mark(o, &c, name, fmt.Sprintf(" of %s", c.row.ID))
			}
			what := fmt.Sprintf("with %d others for %s", n, g.Name)
			if o.creates {
				h.create(what, o, c.call)
				continue
			}
			number++
			s.m.number(&c.row, number)
			h.seed(c.row)
			h.call(what, o, fsm.Ref{ID: c.row.ID, Rev: 1}, c.call)
		}
	}
	spy.more, h.w.more = nil, nil
}

// asks reports whether an operation must know of other records.
func (m *model) asks(o *operation) bool {
	return slices.ContainsFunc(o.require, func(g *guard) bool { return g.Fewer > 0 }) ||
		o.creates && slices.ContainsFunc(m.order, func(name string) bool { return m.fields[name].kind == driver.KindSequence })
}

// asksLater reports whether a step of `then` after an operation asks for a
// guard's group: that is looked at where its own operation is called.
func (m *model) asksLater(o *operation, name string) bool {
	seen := map[string]bool{}
	for next := o.Then; next != "" && !seen[next]; next = m.operation(next).Then {
		seen[next] = true
		if slices.ContainsFunc(m.operation(next).require, func(g *guard) bool { return g.Fewer > 0 && g.Name == name }) {
			return true
		}
	}
	return false
}

// questions lists what a store has to be asked for a call: the guards in their
// order, then the next numbers.
func (m *model) questions(o *operation, c theCase) []driver.PeerQuery {
	r, id := c.row, c.row.ID
	if o.creates {
		r, id = m.blank(c.call.ID), c.call.ID
		m.apply(o, o.effects, m.blank(id), &r, c.call)
	}
	var asked []driver.PeerQuery
	ask := func(q driver.PeerQuery, fields string) {
		for _, name := range list(fields) {
			f := m.fields[name]
			q.Columns = append(q.Columns, f.Stored)
			q.Values = append(q.Values, r.Values[f.index])
		}
		q.Except = id
		asked = append(asked, q)
	}
	for _, g := range o.require {
		if g.Fewer > 0 {
			var states []string
			for _, name := range list(g.In) {
				states = append(states, m.states[name].stored)
			}
			ask(driver.PeerQuery{Name: g.Name, States: states}, g.Same)
		}
	}
	for _, name := range m.order {
		if f := m.fields[name]; o.creates && f.kind == driver.KindSequence {
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
