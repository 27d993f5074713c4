package replay

import (
	"slices"
	"strings"

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
		if d.Then != nil {
			r.pending = append(r.pending, d.Then)
		}
	} else if always(op) {
		for _, t := range then {
			r.pending = append(r.pending, t.Operation)
		}
	}
	r.follow = slices.Clone(r.pending)
	for _, t := range then {
		r.follow = append(r.follow, t.Operation)
	}
	for _, e := range asked {
		if e.Then != nil {
			r.follow = append(r.follow, e.Then.Operation)
		}
		if e.Failed != nil {
			r.follow = append(r.follow, e.Failed.Operation)
		}
	}
}

// always reports whether another step follows each step of an operation in its transaction.
func always(op *spec.Operation) bool {
	return op.Then != nil || len(op.Choose) > 0 && !slices.ContainsFunc(op.Choose, func(b *spec.Branch) bool {
		return (b.Same || b.To != nil) && b.Then == nil
	})
}

// named tells operations of which one is meant.
func named(list []*spec.Operation) string {
	var names []string
	for _, o := range list {
		if !slices.Contains(names, o.Name) {
			names = append(names, o.Name)
		}
	}
	return strings.Join(names, " or ")
}
