package gen

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// ending is an effect that gives up, and its last error: at once by itself, or after so many
// tries that failed.
type ending struct {
	effect, problem string
	tries           int
}

func (e ending) String() string { return e.effect + ": " + e.problem }

// mostTries is how often an effect fails in a test at most.
const mostTries = 100

// givenUp returns calls among those of a list whose effect gives up.
func (s search) givenUp(list []played) []played {
	var found []played
	for _, p := range list {
		if p.want != nil || p.noStore || p.idle {
			continue
		}
		add := func(gives ending) {
			q, ok := s.playTo(p.tried, p.beside, p.trigger, gives)
			if !ok || q.gives.effect == "" || len(q.events) <= q.first {
				return
			}
			q.pure = p.pure
			end := q.events[q.first]
			q.shows = []string{fmt.Sprintf("%s gives up: %s %s %d %s", gives.effect, end.Op.Name, end.To.Name, end.N, gives.problem)}
			if gives.tries > 0 {
				q.shows = []string{fmt.Sprintf("%s gives up after %d tries", gives.effect, gives.tries)}
			}
			found = append(found, q)
		}
		for _, e := range p.events {
			for _, x := range e.Asks {
				if x.Failed == nil {
					continue
				}
				for _, problem := range problems(x.Failed.Operation) {
					add(ending{effect: x.Name, problem: problem})
				}
				if x.Attempts > 0 && x.Attempts <= mostTries && p.trigger == "" {
					add(ending{x.Name, "no answer", x.Attempts})
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
