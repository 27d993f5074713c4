package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/spec"
)

// queries looks at what the durable layer asks a store about other records: a
// name is the key of a lock in some stores, and a state too many does not show
// when another guard looks at it first.
func queries[R any](s *world.Suite[R], t *testing.T) {
	for _, o := range s.M.Operations {
		if !asksOthers(s.M, o) || !exported(s.M, o) {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			for _, from := range world.Starts(s.M, o) {
				c, ok := s.Cases.Good(o, from)
				if !ok {
					continue
				}
				spy := &listening{Store: memstore.New()}
				h := s.NewHarness(t, world.Store{Name: "listening", Open: func(t *testing.T) fsm.Store {
					t.Cleanup(func() { spy.Close() })
					return spy
				}})
				call, ok := placed(h, c, "record-1", "")
				if !ok {
					t.Fatal("there is no room for one record")
				}
				spy.asked = nil
				before, there := h.W.Records[call.ID]
				if !there {
					before = interp.Effects(s.M, &o.Effects, interp.NewRecord(s.M, call.ID), call)
				}
				h.Call("asks", call)
				want, got := questions(s.M, o, before, call), spy.asked
				for len(got) > len(want) && asksLater(s.M, o, got[len(got)-1].Name) {
					got = got[:len(got)-1]
				}
				if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
					t.Errorf("the store is asked\n\t%+v\nwant\n\t%+v", got, want)
				}
			}
		})
	}
}

// asksOthers reports whether an operation must know of other records, or may leave those that rely on it.
func asksOthers(m *spec.Machine, o *spec.Operation) bool {
	return slices.ContainsFunc(m.Guards, func(g *spec.Guard) bool { return reliedOn(m, g) }) ||
		slices.ContainsFunc(o.Require, func(q *spec.Requirement) bool { return q.Guard.Peers != nil }) ||
		creates(o) && slices.ContainsFunc(m.Fields, func(f *spec.Field) bool { return f.Type.Kind == spec.KindSequence })
}

// asksLater reports whether a step of `then` after an operation asks for a
// guard's group: that is looked at where its own operation is called.
func asksLater(m *spec.Machine, o *spec.Operation, name string) bool {
	seen := map[*spec.Operation]bool{}
	var look func(o *spec.Operation) bool
	look = func(o *spec.Operation) bool {
		if seen[o] {
			return false
		}
		seen[o] = true
		return slices.ContainsFunc(o.Followers(), func(next *spec.OperationRef) bool {
			return slices.ContainsFunc(next.Operation.Require, func(q *spec.Requirement) bool {
				return q.Guard.Peers != nil && q.Guard.Name == name
			}) || slices.ContainsFunc(held(m, next.Operation, nil), func(h driver.PeerQuery) bool { return h.Name == name }) || look(next.Operation)
		})
	}
	return look(o)
}

// questions lists what a store has to be asked for a call on a record: the guards in their
// order, then the next numbers.
func questions(m *spec.Machine, o *spec.Operation, r interp.Record, c interp.Call) []driver.PeerQuery {
	var asked []driver.PeerQuery
	c, _ = interp.Accept(m, c)
	ask := func(q driver.PeerQuery, fields []*spec.Field, of []*spec.Fact) {
		for i, f := range fields {
			v := r.Value(m, f)
			if of != nil {
				v = interp.Term(m, of[i].Right, r, c)
			}
			q.Columns = append(q.Columns, f.Stored())
			q.Values = append(q.Values, world.Datum(f.Type, v))
		}
		q.Except = r.ID
		asked = append(asked, q)
	}
	for _, q := range o.Require {
		if p := q.Guard.Peers; p != nil {
			ask(driver.PeerQuery{Name: q.Guard.Name, States: words(states(p.In))}, fields(p.Same), q.Of)
		}
	}
	for _, f := range m.Fields {
		if creates(o) && f.Type.Kind == spec.KindSequence {
			ask(driver.PeerQuery{Name: f.Stored(), Sequence: true}, f.Per, nil)
		}
	}
	for _, h := range held(m, o, r.State) {
		same := slices.IndexFunc(m.Guards, func(g *spec.Guard) bool { return g.Name == h.Name })
		ask(h, fields(m.Guards[same].Peers.Same), nil)
	}
	return asked
}

// reliedOn reports whether some operation relies on a guard with `some`.
func reliedOn(m *spec.Machine, g *spec.Guard) bool {
	return g.Peers != nil && g.Peers.Some && slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool {
		return slices.ContainsFunc(o.Require, func(q *spec.Requirement) bool { return q.Guard == g })
	})
}

// held lists the groups of which an operation takes the lock since a record in a state (nil: in some state) may leave
// what others rely on: one question for all that share their fields, and none where the operation counts the group.
func held(m *spec.Machine, o *spec.Operation, from *spec.State) (list []driver.PeerQuery) {
	of := func(g *spec.Guard) string {
		var names []string
		for _, f := range fields(g.Peers.Same) {
			names = append(names, f.Name)
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	kept := map[string]int{}
	for _, q := range o.Require {
		if q.Guard.Peers != nil && q.Guard.Peers.Own() {
			kept[of(q.Guard)] = -1
		}
	}
	for _, g := range m.Guards {
		if !reliedOn(m, g) {
			continue
		}
		in := func(st *spec.State) bool { return slices.Contains(states(g.Peers.In), st) }
		writes := slices.ContainsFunc(fields(g.Peers.Same), func(f *spec.Field) bool {
			return o.Effects.Changes(f) || slices.ContainsFunc(o.Choose, func(b *spec.Branch) bool { return b.Effects.Changes(f) })
		})
		leaves := func(v spec.Move) bool { return v.Source() != nil && in(v.Source()) && (writes || !in(v.To)) }
		if !slices.ContainsFunc(o.Moves(), leaves) {
			continue
		}
		i, known := kept[of(g)]
		switch {
		case i < 0:
			continue
		case !known:
			i = len(list)
			kept[of(g)] = i
			list = append(list, driver.PeerQuery{Name: g.Name, Hold: true})
		}
		for _, word := range words(states(g.Peers.In)) {
			if !slices.Contains(list[i].States, word) {
				list[i].States = append(list[i].States, word)
			}
		}
	}
	return slices.DeleteFunc(list, func(q driver.PeerQuery) bool { return from != nil && !slices.Contains(q.States, from.Stored()) })
}

// listening is a store in memory that notes what it is asked about others.
type listening struct {
	*memstore.Store
	asked []driver.PeerQuery
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
	said := q
	said.Locked = false // how a store keeps the count, not what it counts: gen's tests judge it
	x.s.asked = append(x.s.asked, said)
	return x.Tx.Peers(q)
}

func (x listeningTx) NextNumber(q driver.PeerQuery) (int64, error) {
	x.s.asked = append(x.s.asked, q)
	return x.Tx.NextNumber(q)
}
