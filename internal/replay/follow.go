package replay

import (
	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// took notes the operation of a step, which the machine may not know, and what follows it. Where
// the log says too little to decide on the branch, any branch may have been taken.
func (r *record) took(op *spec.Operation, known bool, d interp.Decision, decided bool) {
	r.op, r.pending, r.follow = nil, nil, nil
	if !known {
		return
	}
	r.op = op
	asked, then := op.AllAsks(), op.Followers()
	if decided {
		asked, then = d.Asks, nil
		if r.pending = d.Then; d.Then != nil {
			r.follow = append(r.follow, d.Then)
		}
	} else if op.Then != nil {
		r.pending = op.Then.Operation
	}
	for _, t := range then {
		r.follow = append(r.follow, t.Operation)
	}
	for _, e := range asked {
		if e.Then != nil {
			r.follow = append(r.follow, e.Then.Operation)
		}
	}
}
