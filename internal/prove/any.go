package prove

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// alternative is one list of an `any`, and whether it can hold in some source state of some
// operation.
type alternative struct {
	in    *spec.Fact // the `any`, as the guard or the branch declares it
	facts []*spec.Fact
	holds bool
}

// alternatives notes which lists of each `any` among the facts can hold, with what is passed
// by the branches above. Declared are the same facts, where they are not bound to an operation.
func (w *work) alternatives(s *part, facts, declared []*spec.Fact, read reader, passed []formula) {
	for i, f := range facts {
		for j, list := range f.Any {
			in := declared[i]
			at := slices.IndexFunc(w.any, func(a alternative) bool { return a.in == in && a.facts[0] == in.Any[j][0] })
			if at < 0 {
				at = len(w.any)
				w.any = append(w.any, alternative{in: in, facts: in.Any[j]})
			}
			w.any[at].holds = w.any[at].holds || s.can(s.assumed(facts, read), s.assumed(list, read), passed)
		}
	}
}

// deadAlternatives reports the lists that never hold, wherever their guard or branch is asked.
func (w *work) deadAlternatives() {
	for _, a := range w.any {
		if a.holds {
			continue
		}
		pos, mark := w.factMark(a.facts[0])
		hint := fmt.Sprintf("remove `%s` from the list", factsText(a.facts))
		if len(a.in.Any) == 2 {
			other := a.in.Any[0]
			if other[0] == a.facts[0] {
				other = a.in.Any[1]
			}
			hint = fmt.Sprintf("write `%s` without `any`", factsText(other))
		}
		w.find(Finding{
			Code: "FSM204", Pos: pos, Mark: mark, Hint: hint + ", or fix it",
			Message: fmt.Sprintf("`%s` never holds where `any` is asked: it contradicts what is known there", factsText(a.facts)),
			Related: []spec.Related{{Pos: a.in.Pos, Message: "one of: `" + a.in.Text + "`"}},
		})
	}
}
