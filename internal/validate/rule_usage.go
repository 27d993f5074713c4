package validate

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// usageRules look for what is declared and does nothing.
var usageRules = []Rule{
	{
		Code: "FSM027", Name: "finding that cannot be allowed", Severity: spec.Error,
		Doc: "`allow: {FSM106: the author may leave}` overrules a finding that judges style or operations: FSM106, FSM109 to FSM111, FSM207 to\n" +
			"FSM209, FSM303, FSM404, FSM506 to FSM508, FSM601 to FSM605, FSM609, FSM803, FSM804. A finding that says that a\n" +
			"promise does not hold cannot be overruled, and no finding without a reason: the next reader must know why it is meant.",
	},
	{
		Code: "FSM607", Name: "`allow` that allows nothing", Severity: spec.Warning,
		Doc: "The file allows a finding that is not there. What it was about has changed, or it stands in another declaration than the\n" +
			"finding; a reader would think that something here is unusual on purpose.",
	},
	{
		Code: "FSM601", Name: "unused guard or probe", Severity: spec.Warning, Run: unusedGuard, Allow: true,
		Doc: `A guard that no operation requires protects nothing, and a probe that no state names is never asked. Readers
believe in a safeguard that does not exist.`,
	},
	{
		Code: "FSM602", Name: "field never changed", Severity: spec.Warning, Run: unchangedField, Allow: true,
		Doc: `No operation sets, clears, increments or adds to the field, so it holds what it held at the creation: nothing. Either
an effect is missing, or the field belongs in another table.`,
	},
	{
		Code: "FSM603", Name: "one event name for two operations", Severity: spec.Warning, Run: sharedEvent, Allow: true,
		Doc: `The event name is what auditors and consumers of the log read. They cannot tell two operations with one name apart
without further fields.`,
	},
	{
		Code: "FSM604", Name: "input never read", Severity: spec.Warning, Run: unreadInput, Allow: true,
		Doc: `A declared input that no fact, no effect and no external effect reads asks every caller for something that matters
to nothing but the log. Where the log is what it is for, ` + "`allow: {FSM604: <why>}`" + ` on the operation says so. Inputs that ` + "`set`" + ` implies need no declaration.`,
	},
}

func unusedGuard(p *Pass) {
	for _, g := range p.Machine.Guards {
		used := slices.ContainsFunc(p.Machine.Operations, func(op *spec.Operation) bool {
			return slices.ContainsFunc(op.Require, func(r *spec.Requirement) bool { return r.Guard == g })
		})
		if !used {
			p.report(finding{pos: g.Pos, mark: g.Name, hint: "name it under `require` of an operation, or remove it"}, "guard %s is not used", g.Name)
		}
	}
	for _, probe := range p.Machine.Probes {
		used := slices.ContainsFunc(p.Machine.States, func(s *spec.State) bool { return slices.Contains(s.Probes, probe) })
		if !used {
			p.report(finding{pos: probe.Pos, mark: probe.Name, hint: "name it under `probe` of a state, or remove it"}, "probe %s is not used", probe.Name)
		}
	}
}

func unchangedField(p *Pass) {
	for _, f := range p.Machine.Fields {
		if f.Type.Kind == spec.KindSequence || len(f.ChangedBy) > 0 {
			continue // numbered by the store; or FSM403 says what does not change it
		}
		changed := slices.ContainsFunc(p.Machine.Operations, func(op *spec.Operation) bool { return len(changes(op, f)) > 0 })
		if !changed && !unsetRequired(p.Machine, f) {
			p.report(finding{pos: f.Pos, mark: f.Name, hint: "change it in an operation, or remove it"}, "no operation ever changes %s", f.Name)
		}
	}
}

// unsetRequired reports whether FSM016 has a finding for a field that nothing
// changes: one finding is enough.
func unsetRequired(m *spec.Machine, f *spec.Field) bool { return mustBeSet(f) && hasCreation(m) }

func sharedEvent(p *Pass) {
	first := make(map[string]*spec.Operation) // by event
	for _, op := range p.Machine.Operations {
		earlier := first[op.Event]
		if earlier == nil {
			first[op.Event] = op
			continue
		}
		pos, mark := op.EventPos, op.Event
		if pos.IsZero() {
			pos, mark = op.Pos, op.Name
		}
		p.report(finding{pos: pos, mark: mark, related: also(earlier.Pos, "%s is declared here", earlier.Name), hint: "give each operation an event name of its own"},
			"%s writes the event %q, as %s does", op.Name, op.Event, earlier.Name)
	}
}

func unreadInput(p *Pass) {
	for _, op := range p.Machine.Operations {
		if len(op.AllAsks()) > 0 {
			continue // it reads all inputs
		}
		for _, in := range op.Inputs {
			if in.Declared && !reads(op, in) {
				p.report(finding{pos: in.Pos, mark: in.Name, hint: fmt.Sprintf("read it in a fact or an effect; where the log alone is to keep it, write `allow: {FSM604: <why>}` on %s", op.Name)}, "input %s of %s is not used", in.Name, op.Name)
			}
		}
	}
}

// reads reports whether a fact or an effect of the operation reads the input.
func reads(op *spec.Operation, in *spec.Input) bool {
	named := func(f *spec.Fact) bool {
		return slices.ContainsFunc(f.Names(), func(t spec.Term) bool { return t.Input == in })
	}
	for _, r := range op.Require {
		if slices.ContainsFunc(spec.Leaves(r.Reads()), named) {
			return true
		}
	}
	if slices.ContainsFunc(spec.Leaves(facts(op)), named) {
		return true
	}
	for _, e := range effects(op) {
		for _, a := range e.effects.Assigned() {
			if slices.Contains(a.Value.Inputs(), in) {
				return true
			}
		}
	}
	return false
}
