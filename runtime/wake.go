package fsm

import (
	"slices"

	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Workers that found nothing to pick wait for the store's bell. A call that leaves
// something to pick rings it once its transaction is committed: never within, where a
// database would have to put the commits in a row. A ring may be in vain, and one may be
// missing where a process died or time alone made a record fit: workers also look by themselves.

// Committed tells idle workers what a machine made by In has left for them. Call it after
// the commit of the transaction; without it they find it at their next look. For any
// other machine it does nothing: its calls commit, and tell, by themselves.
func (m *Machine[R]) Committed() {
	if m.joined != nil {
		m.store.Bell().Ring(m.schema.Table, m.joined.left)
		m.joined.left = 0
	}
}

// rung rings for the result of a call, and returns it.
func (m *Machine[R]) rung(out Outcome[R], err error) (Outcome[R], error) {
	if err == nil && m.leaves(&out) {
		m.ring(1)
	}
	return out, err
}

// rungMany is rung for several calls.
func (m *Machine[R]) rungMany(outs []Outcome[R], err error) ([]Outcome[R], error) {
	n := 0
	for i := range outs {
		if err == nil && m.leaves(&outs[i]) {
			n++
		}
	}
	if n > 0 {
		m.ring(n)
	}
	return outs, err
}

func (m *Machine[R]) ring(n int) {
	if m.joined != nil {
		m.joined.left += n
		return
	}
	m.store.Bell().Ring(m.schema.Table, n)
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
	if op.Own != nil && !op.Own(rec) {
		return false
	}
	if op.Parking == nil || len(op.Parking.Due) == 0 {
		return came || op.Own != nil
	}
	row := m.d.Encode(rec)
	for _, c := range op.Parking.Due {
		if m.dueAt(&row, c, m.now()) != 0 {
			return false
		}
	}
	return true
}
