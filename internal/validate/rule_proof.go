package validate

import (
	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

// proofRules report what the proof of the machine finds: lists of branches that
// are not as they look, and facts that a transition does not keep.
var proofRules = []Rule{
	{
		Code: "FSM201", Name: "shadowed branch", Severity: spec.Error, Run: proven,
		Doc: `The first branch of ` + "`choose`" + ` that fits is taken. A branch whose facts hold only when one of those above it holds, in
every state that the operation starts in, is never taken: the order is wrong, or the branch above is wider than it was meant to be.`,
	},
	{
		Code: "FSM202", Name: "branch after an unconditional one", Severity: spec.Error, Run: proven,
		Doc: `A branch without ` + "`when`" + ` is always taken, so nothing below it ever is. It belongs at the end of the list, or its
condition was forgotten.`,
	},
	{
		Code: "FSM203", Name: "branches that are not exhaustive", Severity: spec.Error, Run: proven,
		Doc: `Some record passes the guards and fits no branch: the operation would have no meaning for it. Add a last branch
without ` + "`when`" + `, or one for the case that the message names; ` + "`reject: <error>`" + ` or ` + "`record_only: true`" + ` are answers, too. Mind that
a comparison with an absent field is false, so ` + "`x < 3`" + ` and ` + "`x >= 3`" + ` together do not cover an absent x.`,
	},
	{
		Code: "FSM204", Name: "guard or branch that is never true", Severity: spec.Error, Run: proven,
		Doc: `The guard contradicts what the source state guarantees, so the operation can never pass there, although the state is
listed under ` + "`from`" + `; or a branch contradicts it in every source state. Either the guard is wrong, or the list of states is.`,
	},
	{
		Code: "FSM205", Name: "effects of an operation with a record-only branch", Severity: spec.Error, Run: proven,
		Doc: `A branch with ` + "`record_only: true`" + ` leaves the record as it was, but the effects of the operation come before the
branches and change it: the two contradict each other. Move the effects into the branches that change the record.`,
	},
	{
		Code: "FSM301", Name: "presence not established", Severity: spec.Error, Run: proven,
		Doc: `Every transition must leave a record that satisfies what its target state needs. The proof follows every operation
from every source state through every branch, and this one can end with a field present that the target needs absent, or the other way
round. Before and after are such a record, which keeps everything that the source state promises. Set or clear the field, require a
guard, or state as an invariant of the source state what rules that record out.`,
	},
	{
		Code: "FSM302", Name: "other fact not established", Severity: spec.Error, Run: proven,
		Doc: `As FSM301, for an invariant of the target state or of the machine, or for the bounds of an int. The record before
satisfies all that is stated of the source state; when no record ever looks like that, say why: the fact that keeps it away belongs
into the source state, or into a guard.`,
	},
	{
		Code: "FSM303", Name: "SHOULD not established by an own write", Severity: spec.Warning, Run: proven,
		Doc: `A fact under ` + "`should`" + ` may be broken by records of other origin, but the operations of this file are expected to keep
it, and this one need not. Stores do not refuse such a record; audits list it.`,
	},
}

// proven reports what the proof found under the rule's code.
func proven(p *Pass) {
	for _, f := range p.proof().Findings {
		if f.Code == p.rule.Code {
			p.report(finding{
				pos: f.Pos, mark: f.Mark, hint: f.Hint, related: f.Related,
				before: f.Before(p.Machine), after: f.After(p.Machine),
			}, "%s", f.Message)
		}
	}
}

// Summary says how much was proven of a machine.
type Summary struct {
	Steps       int // transitions: operation × source state × branch
	Obligations int // facts of the targets that hold after them, and lists of branches that are complete
}

// Proof counts what the proof of a machine has to show. It says nothing about
// whether it succeeds: that is what the findings of [Run] are for.
func Proof(m *spec.Machine) Summary {
	r := prove.Machine(m)
	return Summary{Steps: r.Steps, Obligations: r.Obligations}
}
