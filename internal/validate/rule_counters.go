package validate

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// counterRules look at who may change a field, and how.
var counterRules = []Rule{
	{
		Code: "FSM401", Name: "counter assigned, or something else incremented", Severity: spec.Error, Run: wrongChange,
		Doc: `A counter is 0 or what the creation sets. From then on ` + "`increment`" + ` adds one, ` + "`decrement`" + ` takes one off, and ` + "`reset`" + ` makes it 0 again: that nothing
else happens to it needs no proof, because the language has no other way to change it. So nothing but a creation may set a counter, and
` + "`increment`" + ` is for counters only.`,
	},
	{
		Code: "FSM402", Name: "change that `changed_by` does not list", Severity: spec.Error, Run: changedByOthers,
		Doc: "`changed_by` names exactly the operations that change a field, so that a reader of the field need not read the" + `
whole file. An operation that changes the field and is not in the list breaks that.`,
	},
	{
		Code: "FSM403", Name: "`changed_by` lists an operation that changes nothing", Severity: spec.Error, Run: changedByNothing,
		Doc: "`changed_by` is checked both ways: an operation in the list that does not change the field is a forgotten effect or" + `
a leftover.`,
	},
	{
		Code: "FSM404", Name: "counter without `changed_by`", Severity: spec.Warning, Run: counterUnlisted, Allow: true,
		Doc: `A counter is read by rules: attempts left, retries made. One careless ` + "`increment`" + ` more changes their meaning.
Name the operations that may raise it.`,
	},
}

// incremented reports whether an operation increments a field.
func incremented(m *spec.Machine, f *spec.Field) bool {
	for _, op := range m.Operations {
		for _, e := range effects(op) {
			if slices.ContainsFunc(e.effects.Increment, func(r spec.FieldRef) bool { return r.Field == f }) {
				return true
			}
		}
	}
	return false
}

func wrongChange(p *Pass) {
	for _, op := range p.Machine.Operations {
		for _, e := range effects(op) {
			for _, a := range e.effects.Set {
				if a.Field.Type.Kind == spec.KindCounter && len(op.Creates) == 0 {
					key := "increment"
					if a.Value.Kind == spec.ValueInt && a.Value.Int == 0 {
						key = "reset"
					}
					hint := fmt.Sprintf("write `%s: [%s]`, or declare the field `int`", key, a.Field.Name)
					if incremented(p.Machine, a.Field) {
						hint = fmt.Sprintf("write `%s: [%s]`, or remove the change", key, a.Field.Name)
						if slices.ContainsFunc(a.Field.ChangedBy, func(r *spec.OperationRef) bool { return r.Operation == op }) {
							hint += fmt.Sprintf(" and take %s out of `changed_by`", op.Name)
						}
					}
					p.report(finding{pos: a.Pos, mark: a.Field.Name, hint: hint},
						"%s is a counter: only `increment`, `decrement` and `reset` can change it", a.Field.Name)
				}
			}
			for _, r := range e.effects.Increment {
				if r.Field.Type.Kind != spec.KindCounter {
					p.report(finding{pos: r.Pos, mark: r.Field.Name, hint: fmt.Sprintf("declare `%s: counter`, or write `set`", r.Field.Name)},
						"%s is not a counter: `increment` changes counters only", r.Field.Name)
				}
			}
		}
	}
}

func changedByOthers(p *Pass) {
	for _, f := range p.Machine.Fields {
		if !f.HasChangedBy {
			continue
		}
		names := make([]string, len(f.ChangedBy))
		for i, r := range f.ChangedBy {
			names[i] = r.Operation.Name
		}
		only := "no operation may"
		if len(names) > 0 {
			only = "only " + enumerate(names, "and") + " may"
		}
		for _, op := range p.Machine.Operations {
			if slices.Contains(names, op.Name) {
				continue
			}
			for _, pos := range changes(op, f) {
				p.report(finding{pos: pos, mark: f.Name, related: also(f.Pos, "%s is declared here", f.Name),
					hint: fmt.Sprintf("add %s to `changed_by` of %s, or remove the change", op.Name, f.Name)},
					"%s changes %s, but %s (line %d)", op.Name, f.Name, only, f.Pos.Line)
			}
		}
	}
}

func changedByNothing(p *Pass) {
	for _, f := range p.Machine.Fields {
		for _, r := range f.ChangedBy {
			numbered := f.Type.Kind == spec.KindSequence && len(r.Operation.Creates) > 0
			if !numbered && len(changes(r.Operation, f)) == 0 {
				p.report(finding{pos: r.Pos, mark: r.Operation.Name, related: also(r.Operation.Pos, "%s is declared here", r.Operation.Name),
					hint: fmt.Sprintf("take %s out of `changed_by`, or let it change %s", r.Operation.Name, f.Name)},
					"%s does not change %s, although `changed_by` says so", r.Operation.Name, f.Name)
			}
		}
	}
}

func counterUnlisted(p *Pass) {
	for _, f := range p.Machine.Fields {
		if f.Type.Kind == spec.KindCounter && !f.HasChangedBy {
			var names []string
			for _, op := range p.Machine.Operations {
				if len(changes(op, f)) > 0 {
					names = append(names, op.Name)
				}
			}
			by := fmt.Sprintf("changed_by: [%s]", commas(names))
			p.report(finding{pos: f.Pos, mark: f.Name, hint: fmt.Sprintf("write `%s: {type: counter, %s}`", f.Name, by),
				fix: p.Machine.Extended(f.Pos, by)},
				"counter %s has no `changed_by`, so nothing says which operations may raise it", f.Name)
		}
	}
}
