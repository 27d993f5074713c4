package interp

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// Deliver says that the effect of a delivery was performed: it leaves the
// outbox, and the step that was to follow it is taken. A delivery that is not
// in the outbox any more changes nothing: it came twice, or the record went
// another way meanwhile.
func Deliver(m *spec.Machine, w World, d Delivery, at time.Time) (Outcome, World, *Refusal) {
	return settle(m, w, d, at, d.Effect.Then, nil)
}

// GiveUp says that the effect of a delivery gave up, for the last error that is told: it leaves
// the outbox with the step of `failed`. Where that is refused, it stays. An effect without
// `failed` never gives up.
func GiveUp(m *spec.Machine, w World, d Delivery, problem string, at time.Time) (Outcome, World, *Refusal) {
	if d.Effect.Failed == nil {
		return Outcome{Record: w.Records[d.ID], Current: w.Records[d.ID], Replayed: true}, w, nil
	}
	inputs := map[string]Value{}
	for _, in := range d.Effect.Failed.Operation.Inputs {
		if in.Name == spec.ErrorInput {
			inputs[in.Name] = String(problem)
		}
	}
	return settle(m, w, d, at, d.Effect.Failed, inputs)
}

// settle takes a delivery out of the outbox, with the step that follows.
func settle(
	m *spec.Machine, w World, d Delivery, at time.Time, next *spec.OperationRef, inputs map[string]Value,
) (Outcome, World, *Refusal) {
	i := slices.IndexFunc(w.Outbox, func(o Delivery) bool { return o.ID == d.ID && o.Rev == d.Rev && o.N == d.N })
	if i < 0 {
		return Outcome{Record: w.Records[d.ID], Current: w.Records[d.ID], Replayed: true}, w, nil
	}
	settled := w.clone()
	settled.Outbox = slices.Delete(settled.Outbox, i, i+1)
	if next == nil {
		return Outcome{Record: w.Records[d.ID], Current: w.Records[d.ID]}, settled, nil
	}
	c := follow(next.Operation, d.ID, cut(at))
	if inputs != nil {
		c.Inputs = inputs
	}
	c.RequestID = systemID(c.Op, d.Rev) // a transaction of its own, hence a request of its own
	// A trigger may have asked for the step at this revision: then it was recorded, or the record would not be here.
	if slices.ContainsFunc(w.Log, func(e Event) bool { return e.ID == d.ID && e.RequestID == c.RequestID }) {
		return Outcome{Record: w.Records[d.ID], Current: w.Records[d.ID], Replayed: true}, settled, nil
	}
	out, done, refusal := settled.commit(m, settled.Records[d.ID], c, origin{cause: d.Op})
	if refusal != nil {
		return Outcome{}, w, refusal
	}
	return out, done, nil
}
