package fsm

import (
	"slices"

	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Workers that found nothing to pick, and those who perform effects, wait for the store's bell. A call that leaves
// something to pick rings it once its transaction is committed: never within, where a
// database would have to put the commits in a row. A ring may be in vain, and one may be
// missing where a process died or time alone made a record fit: workers also look by themselves.
// The bell also tells who holds a record that it has moved: a worker whose record was
// cancelled hears of it without a heartbeat.

// left is what calls have left for others.
type left struct {
	records, effects int
	moved            []string // ids of records that a worker may hold
}

// Committed tells idle workers what a machine made by In has left for them. Call it after
// the commit of the transaction; without it they find it at their next look. For any
// other machine it does nothing: its calls commit, and tell, by themselves.
func (m *Machine[R]) Committed() {
	if m.joined != nil {
		m.ringOthers()
		m.ring(m.joined.left)
		m.joined.left = left{}
	}
}

// rung rings for the result of a call, and returns it.
func (m *Machine[R]) rung(out Outcome[R], err error) (Outcome[R], error) {
	if err == nil {
		m.tell([]Outcome[R]{out})
	}
	return out, err
}

// rungMany is rung for several calls.
func (m *Machine[R]) rungMany(outs []Outcome[R], err error) ([]Outcome[R], error) {
	if err == nil {
		m.tell(outs)
	}
	return outs, err
}

// tell rings for what calls have left; in a transaction of the caller's it is noted.
func (m *Machine[R]) tell(outs []Outcome[R]) {
	var all left
	for i := range outs {
		if m.leaves(&outs[i]) {
			all.records++
		}
		if m.asks(&outs[i]) {
			all.effects++
		}
		if !m.movesHeld(&outs[i]) {
			continue
		}
		if id := outs[i].Events[0].ID; m.joined != nil {
			m.joined.left.moved = append(m.joined.left.moved, id)
		} else {
			m.store.Bell().Moved(m.schema.Table, id)
		}
	}
	if m.joined == nil {
		m.ringOthers()
		m.ring(all)
		return
	}
	m.joined.left.records += all.records
	m.joined.left.effects += all.effects
}

func (m *Machine[R]) ring(all left) {
	if all.records > 0 {
		m.store.Bell().Ring(m.schema.Table, all.records)
	}
	if all.effects > 0 {
		m.store.Bell().Ring(m.outbox(), all.effects)
	}
	for _, id := range all.moved {
		m.store.Bell().Moved(m.schema.Table, id)
	}
}

// outbox is the queue of those who perform effects.
func (m *Machine[R]) outbox() string { return m.schema.Table + "_outbox" }

// asks reports whether a call asked for an effect that is performed after its commit.
func (m *Machine[R]) asks(out *Outcome[R]) bool {
	for i := range out.Events {
		e := &out.Events[i]
		if op := m.byStored[e.Operation]; e.N == 0 && op != nil && op.MayAsk(false) {
			return !out.Replayed
		}
	}
	return false
}

// movesHeld reports whether a call has moved a record that a worker may hold. A pick takes
// it even where it stays in its state.
func (m *Machine[R]) movesHeld(out *Outcome[R]) bool {
	if len(out.Events) == 0 || out.Replayed || out.Existing || out.RecordOnly || !m.worked[out.Events[0].From] {
		return false
	}
	first, last := &out.Events[0], &out.Events[len(out.Events)-1]
	op := m.byStored[first.Operation]
	return first.From != last.To || op != nil && op.Picks
}

// workedOn returns the states in which a worker may hold a record, as it may wherever no
// pick takes it from; where one does, only when one leads there.
func (m *Machine[R]) workedOn() map[string]bool {
	free, led := map[string]bool{}, map[string]bool{}
	for _, op := range m.d.Operations {
		if op.Picks {
			for _, mv := range op.Moves {
				free[mv.From], led[mv.To] = true, true
			}
		}
	}
	worked := map[string]bool{}
	for i := range m.schema.States {
		s := m.schema.States[i].Stored
		worked[s] = len(led) > 0 && (led[s] || !free[s])
	}
	return worked
}

// leaves reports whether a call has perhaps left one record more to pick.
func (m *Machine[R]) leaves(out *Outcome[R]) bool {
	if len(out.Events) == 0 || out.Replayed || out.Existing || out.RecordOnly {
		return false
	}
	return m.leavesOne(&out.Record, out.Events[0].From, out.Events[len(out.Events)-1].To)
}

// leavesOne reports whether a record that went from one stored state to another may be
// picked now, or has made room for one that may.
func (m *Machine[R]) leavesOne(rec *R, from, to string) bool {
	for _, op := range m.d.Operations {
		if !op.Picks {
			continue
		}
		if slices.Contains(op.From, to) && m.fitsNow(op, rec, from != to) {
			return true
		}
		if op.Parking == nil {
			continue
		}
		for i := range op.Parking.Rules {
			if states := op.Parking.Rules[i].States; slices.Contains(states, from) && !slices.Contains(states, to) {
				return true
			}
		}
	}
	return false
}

// fitsNow reports whether a record in a state that op picks from may have become fit: it
// came there, or is one of those that their own fields decide on.
func (m *Machine[R]) fitsNow(op *fsmimpl.Operation[R], rec *R, came bool) bool {
	due := op.Parking != nil && len(op.Parking.Due) > 0
	if op.Own == nil && !due {
		return came
	}
	its := *rec // what is handed to a function escapes: else each outcome would
	if op.Own != nil && !op.Own(&its) {
		return false
	}
	if !due {
		return true
	}
	row := m.d.Encode(&its)
	for _, c := range op.Parking.Due {
		if m.dueAt(&row, c, m.now()) != 0 {
			return false
		}
	}
	return true
}
