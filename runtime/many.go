package fsm

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// A call on many records is first tried as one: every step is decided, and all
// are written at once, or none. Whatever speaks against one of them (a refusal, a
// request that is known, a record that moved) takes the whole try back, and then
// the calls are made one by one in one transaction, which finds out what it is.

// target is one call on one record on its way through the engine.
type target[R any] struct {
	at  fsmimpl.Target
	q   *request[R]
	ref driver.Ref
}

// fastTogether returns the first try of a call on many records, or nil where the
// store has nothing to gain by it. Decide returns the steps, one for each of
// outs, or nil when one of them needs more than one write.
func (m *Machine[R]) fastTogether(ctx context.Context, decide func() []*step[R], outs []Outcome[R]) func() (bool, error) {
	bulk, ok := m.table.(driver.Bulk)
	if !ok {
		return nil
	}
	return func() (slow bool, err error) {
		steps := decide()
		if steps == nil {
			return true, nil
		}
		slow, err = bulkTry(ctx, bulk, func(tx driver.ManyTx) error { return tx.WriteMany(writesOf(steps)) })
		if err == nil && !slow {
			for i, s := range steps {
				outs[i] = m.stepOutcome(s)
			}
		}
		return slow, err
	}
}

// decideAll decides on records that their callers hold.
func (m *Machine[R]) decideAll(work []target[R]) []*step[R] {
	steps := make([]*step[R], len(work))
	seen := make(map[string]bool, len(work))
	for i, w := range work {
		held, ok := holds[R](w.at)
		if !ok || w.ref.Rev == 0 || seen[w.ref.ID] || !simple(w.q.op, &w.q.Call) {
			return nil
		}
		seen[w.ref.ID] = true
		if steps[i] = m.decideHeld(w.q, w.at, held, w.ref); steps[i] == nil {
			return nil
		}
	}
	if m.passOn(steps) {
		return nil
	}
	return steps
}

// passOn reports whether one step gives up a place of a unique rule and another
// one takes one: the order of the calls may decide then, and one write has none.
func (m *Machine[R]) passOn(steps []*step[R]) bool {
	for i := range m.schema.Uniques {
		u := &m.schema.Uniques[i]
		given, taken := false, false
		for _, s := range steps {
			before, had := inspect.PlaceOf(m.schema, u, s.write.Old)
			after, has := inspect.PlaceOf(m.schema, u, &s.row)
			if had && has && inspect.SameConds(before.Where, after.Where) {
				continue
			}
			given, taken = given || had, taken || has
		}
		if given && taken {
			return true
		}
	}
	return false
}

// decideAllNew decides on records that are to be made.
func (m *Machine[R]) decideAllNew(queue []*request[R], ids []string) []*step[R] {
	steps := make([]*step[R], len(queue))
	seen := make(map[string]bool, 2*len(queue))
	for i, q := range queue {
		id, request := "id "+ids[i], "request "+q.RequestID
		if seen[id] || seen[request] || !simple(q.op, &q.Call) {
			return nil
		}
		seen[id], seen[request] = true, true
		var err error
		if steps[i], err = m.decideNew(q, ids[i]); err != nil {
			return nil
		}
	}
	return steps
}

func writesOf[R any](steps []*step[R]) []*driver.Write {
	writes := make([]*driver.Write, len(steps))
	for i, s := range steps {
		writes[i] = &s.write
	}
	return writes
}

// stepOutcome is the outcome of a call that was one step.
func (m *Machine[R]) stepOutcome(s *step[R]) Outcome[R] {
	return m.outcome(s.rec, &s.row, s.write.Event)
}

// bulkTry runs f in one transaction. Slow says that surely nothing was written,
// and that another way has to give the answer.
func bulkTry(ctx context.Context, bulk driver.Bulk, f func(driver.ManyTx) error) (slow bool, err error) {
	begun, ours := false, false
	err = bulk.UpdateMany(ctx, func(tx driver.ManyTx) error {
		err := f(tx)
		begun, ours = true, err != nil
		return err
	})
	var refused *Refusal
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, ErrFull), errors.Is(err, ErrBusy): // who is busy now is asked again by run, after a while
		return false, err
	case !begun, ours, errors.As(err, &refused):
		return true, nil
	}
	return false, err
}
