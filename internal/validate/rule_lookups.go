package validate

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// lookupRules say what a `lookup` costs.
var lookupRules = []Rule{{
	Code: "FSM608", Name: "look-up that moves pay for", Severity: spec.Info, Run: costlyLookup, Asked: true,
	Doc: "A fact about the machine, and nothing to fix; `fsmgen check -v` prints it. PostgreSQL writes a row in its page, and no index at\n" +
		"all, when a move changes no column that an index names. A move that changes a field of a look-up, or leads into or out of its\n" +
		"states, writes every index of the table instead. Look up by fields that the creation sets, where it can be chosen.",
}}

func costlyLookup(p *Pass) {
	for _, l := range p.Machine.Lookups {
		var named []*spec.Field
		for _, f := range l.Fields {
			named = append(named, f.Field)
		}
		for _, o := range l.Order {
			named = append(named, o.Field)
		}
		within := func(s *spec.State) bool {
			return len(l.In) == 0 || slices.ContainsFunc(l.In, func(r spec.StateRef) bool { return r.State == s })
		}
		var costly []string
		for _, o := range p.Machine.Operations {
			crosses := slices.ContainsFunc(o.Moves(), func(v spec.Move) bool {
				return within(v.Source()) != within(v.To)
			})
			if len(o.Creates) == 0 && (crosses || slices.ContainsFunc(named, func(f *spec.Field) bool {
				return f.Name == "updated_at" || len(changes(o, f)) > 0
			})) {
				costly = append(costly, o.Name)
			}
		}
		if costly != nil && !p.Machine.OneRecord(l) {
			p.report(finding{pos: l.Pos, mark: l.Name, hint: "nothing to fix: this is what the look-up costs"},
				"%s: each %s writes all indexes of the table in PostgreSQL", l.Name, strings.Join(costly, ", "))
		}
	}
}
