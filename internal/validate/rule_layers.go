package validate

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// layerRules look for what the layers that a file chooses cannot do.
var layerRules = []Rule{
	{
		Code: "FSM028", Name: "pure package that would need a store", Severity: spec.Error, Run: needsStore,
		Doc: "A machine with `layers: [pure]`, or one generated with `--layers pure`, becomes a package without a store: its operations are\n" +
			"methods on a value, and it imports the standard library alone. What compares records, wakes them up, performs effects, keeps a log\n" +
			"or reads old rows has nothing to work with there. Take it out of the file, or let the durable layer be generated too.\n" +
			"`--layers pure` leaves out what does not change what an operation does to its record, and says so: requests, `unique`,\n" +
			"`lookup`, `dedupe_by`, `next`, triggers, effects, probes, the projection and first names. It refuses the rest.",
	},
}

// NeedsStore lists what of a machine a package of the pure layer alone cannot carry: as an error
// what changes the meaning of an operation, as a fact what such a package leaves out.
func NeedsStore(m *spec.Machine) spec.Diagnostics {
	var found spec.Diagnostics
	rule, _ := Explain("FSM028")
	storeNeeds(&Pass{Machine: m, rule: &rule, found: &found}, false)
	found.Sort()
	return found
}

func needsStore(p *Pass) {
	if slices.Equal(p.Machine.Chosen(), []spec.Layer{spec.LayerPure}) {
		storeNeeds(p, true)
	}
}

// needs reports one thing that needs a store.
type needs func(pos spec.Pos, mark, hint, format string, args ...any)

// storeNeeds reports what needs a store. All of it is an error in a file that asks for a
// package without one.
func storeNeeds(p *Pass, asked bool) {
	m := p.Machine
	report := needs(func(pos spec.Pos, mark, hint, format string, args ...any) {
		p.report(finding{pos: pos, mark: mark, hint: hint + ", or generate the durable layer too"}, "a pure package cannot have "+format, args...)
	})
	leave := report
	if !asked {
		leave = func(pos spec.Pos, mark, _, format string, args ...any) {
			p.report(finding{pos: pos, mark: mark}, "the pure package is without "+format, args...)
			(*p.found)[len(*p.found)-1].Severity = spec.Info
		}
	}
	was := func(pos spec.Pos, name, was string) {
		if was != "" {
			leave(pos, name, "take `was` out", "a first name of %s: nothing is stored under it", name)
		}
	}
	if !m.RequestsAt.IsZero() {
		leave(m.RequestsAt, "requests", "take it out of the file", "`requests`: a method is called once, on the value that the caller has")
	}
	for _, f := range m.Fields {
		hint, what := "", ""
		switch f.Type.Kind {
		case spec.KindSequence:
			hint, what = "let the caller count, and set an int to an input", "a sequence: it would have to know the other records"
		case spec.KindJSON:
			hint, what = "declare a string", "json: its type is the runtime's"
		case spec.KindSet:
			hint, what = "declare a bool for each member that matters", "a set: its type is the runtime's"
		}
		if what != "" {
			report(f.Pos, f.Name, hint, "%s", what)
		}
		was(f.Pos, f.Name, f.Was)
		for _, v := range f.Type.Values {
			was(v.Pos, v.Name, v.Was)
		}
	}
	for _, s := range m.States {
		was(s.Pos, s.Name, s.Was)
	}
	for _, r := range m.Removed {
		leave(r.Pos, r.Name, "take it out of the file", "removed states: there are no old rows")
	}
	for _, g := range m.Guards {
		if g.Peers != nil {
			report(g.Pos, g.Name, "let the caller count, and compare an input", "guard %s, which counts other records", g.Name)
		}
	}
	for _, u := range m.Unique {
		leave(u.Pos, u.Name, "take it out of the file", "`unique`: it would have to know the other records")
	}
	for _, l := range m.Lookups {
		leave(l.Pos, l.Name, "take it out of the file", "`lookup`: it would have to find records")
	}
	for _, probe := range m.Probes {
		leave(probe.Pos, probe.Name, "take it out of the file", "probes: it has no audit that would ask them")
	}
	if pr := m.Projection; pr != nil {
		leave(pr.Pos, "projection", "take it out of the file", "a projection: it would have to know all records")
	}
	for _, o := range m.Operations {
		operationNeeds(o, report, leave)
		was(o.Pos, o.Name, o.Was)
		if o.Was == "" {
			was(o.Pos, o.Name, o.EventWas)
		}
	}
}

func operationNeeds(o *spec.Operation, report, leave needs) {
	if o.By == spec.ByOperator {
		leave(o.Pos, o.Name, "leave `by` out, and keep the reason where the method is called",
			"`by: operator`: no log keeps who it was and why")
	}
	if o.DedupeBy != nil {
		leave(o.DedupeBy.Pos, "dedupe_by", "take it out of the file", "`dedupe_by`: it would have to find another record")
	}
	if o.Next != nil {
		leave(o.Next.Pos, "next", "take it out of the file", "`next`: there is nothing to pick from")
	}
	for _, t := range o.Triggers {
		leave(t.Pos, t.Text, fmt.Sprintf("take it out, and call %s when its time has come", o.Name),
			"a trigger: nobody would look at the clock")
	}
	if o.Effect != nil {
		leave(o.Effect.Pos, "effect", "take it out, and do the work when the method has returned",
			"an effect: nobody would perform it again after a crash")
	}
	if o.Then != nil {
		then := report
		if o.Effect != nil && !o.Effect.Atomic { // it waits for the effect
			then = leave
		}
		then(o.Then.Pos, o.Then.Operation.Name, "take it out, and call both methods", "`then`: there is no transaction around two steps")
	}
	for _, in := range o.Inputs {
		if k := in.Type.Kind; in.Field == nil && (k == spec.KindJSON || k == spec.KindSet) {
			report(in.Pos, in.Name, "declare a string", "an input that is json or a set: these types are the runtime's")
		}
	}
}
