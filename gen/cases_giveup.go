package gen

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// ending is an effect that gives up, and its last error.
type ending struct{ effect, problem string }

func (e ending) String() string { return e.effect + ": " + e.problem }

// givenUp returns calls among those of a list whose effect gives up.
func (s search) givenUp(list []played) []played {
	var found []played
	for _, p := range list {
		if p.want != nil || p.noStore || p.idle {
			continue
		}
		for _, e := range p.events {
			for _, x := range e.Asks {
				if x.Failed == nil {
					continue
				}
				for _, problem := range problems(x.Failed.Operation) {
					q, ok := s.playTo(p.tried, p.beside, p.trigger, ending{x.Name, problem})
					if !ok || q.gives.effect == "" || len(q.events) <= q.first {
						continue
					}
					end := q.events[q.first]
					q.shows = []string{fmt.Sprintf("%s gives up: %s %s %d %s", x.Name, end.Op.Name, end.To.Name, end.N, problem)}
					found = append(found, q)
				}
			}
		}
	}
	return essential(found, func(x played) []string { return x.shows })
}

// problems are the errors that are tried with the step of an effect that gave up: some error,
// and the texts that the step compares.
func problems(o *spec.Operation) []string {
	list := []string{"no answer"}
	var facts []*spec.Fact
	for _, r := range o.Require {
		facts = append(facts, r.When...)
	}
	for _, b := range o.Choose {
		facts = append(facts, b.When...)
	}
	if o.Input(spec.ErrorInput) == nil {
		return list
	}
	for _, f := range spec.Leaves(facts) {
		for _, t := range []spec.Term{f.Left, f.Right} {
			if t.Kind == spec.TermText && t.Const != "" && !slices.Contains(list, t.Const) {
				list = append(list, t.Const)
			}
		}
	}
	return list
}
