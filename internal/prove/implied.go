package prove

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// Implied lists the guards that an operation requires and that cannot refuse it:
// in every state it leaves, the fact follows from what the state guarantees and
// from the guards before it. What is not decided is not listed, and neither is a
// guard about other records.
func Implied(m *spec.Machine, op *spec.Operation) []*spec.Guard {
	if len(op.Require) == 0 {
		return nil
	}
	froms := []*spec.State{nil}
	if len(op.Creates) == 0 {
		froms = froms[:0]
		for _, r := range op.From {
			froms = append(froms, r.State)
		}
	}
	words, meter := wordsOf(m), newMeter(m)
	refuses := make([]bool, len(op.Require))
	for _, from := range froms {
		s := &part{problem: newProblem(m, op, words), from: from, meter: meter}
		if from != nil {
			s.given = s.guaranteed(from)
		}
		for i, req := range op.Require {
			fails, readable := s.refuted(req.When, s.field)
			if req.Guard.Peers != nil || !readable || s.can([]formula{fails}) {
				refuses[i] = true
			}
			s.given = append(s.given, s.assumed(req.When, s.field)...)
		}
	}
	var list []*spec.Guard
	for i, req := range op.Require {
		if !refuses[i] && !slices.Contains(list, req.Guard) {
			list = append(list, req.Guard)
		}
	}
	return list
}
