package validate

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// triggerRules look at what fires operations and picks records.
var triggerRules = []Rule{
	{
		Code: "FSM206", Name: "trigger that never succeeds", Severity: spec.Error, Run: deadTrigger,
		Doc: `The sweeper fires the operation once the deadline is past. In every source state the deadline is absent then, or a guard of the
operation asks for just the opposite: that it is not past yet. So the operation is never run, and what it should end goes on for
ever. Mostly a comparison is the wrong way round, or the field is another one.`,
	},
	{
		Code: "FSM605", Name: "pick without an order", Severity: spec.Warning, Run: unorderedPick,
		Doc: `Without ` + "`order`" + ` the store picks by id, and ids say nothing about who waits longest: while others come in, a record may never
have its turn. Write ` + "`next: {order: [created_at]}`" + `, or the field that says what is due first.`,
	},
}

func deadTrigger(p *Pass) {
	for _, op := range p.Machine.Operations {
		for _, t := range op.Triggers {
			if t.After == nil || len(op.From) == 0 {
				continue
			}
			at := finding{pos: t.Pos, mark: t.Text}
			for _, r := range op.Require {
				if i := slices.IndexFunc(r.When, func(x *spec.Fact) bool { return notPast(x, t.After) }); i >= 0 {
					at.hint = fmt.Sprintf("turn the comparison in %s around, or name another field under `trigger`", r.Guard.Name)
					at.related = also(r.When[i].Pos, "guard %s asks for it here", r.Guard.Name)
					p.report(at, "%s is fired when %s is past, and requires `%s`", op.Name, t.After.Name, r.When[i].Text)
				}
			}
			never := !slices.ContainsFunc(op.From, func(s spec.StateRef) bool {
				return !slices.ContainsFunc(s.State.Absent, func(r spec.FieldRef) bool { return r.Field == t.After })
			})
			if never {
				at.hint = "name a field that is present in " + stateNames(op.From)
				at.related = also(op.From[0].State.Pos, "%s is declared here", op.From[0].State.Name)
				p.report(at, "nothing ever fires %s: %s is absent in %s", op.Name, t.After.Name, stateNames(op.From))
			}
		}
	}
}

// notPast reports whether a fact says that an instant is still to come.
func notPast(x *spec.Fact, f *spec.Field) bool {
	if x.Left.Field == f && x.Right.Kind == spec.TermNow {
		return x.Op == spec.Gt
	}
	return x.Right.Field == f && x.Left.Kind == spec.TermNow && x.Op == spec.Lt
}

func unorderedPick(p *Pass) {
	for _, op := range p.Machine.Operations {
		if op.Next != nil && len(op.Next.Order) == 0 {
			p.report(finding{pos: op.Next.Pos, hint: "add `order: [created_at]`, or the field that says what is due first"},
				"%s picks by id: nothing says which record comes first", op.Name)
		}
	}
}
