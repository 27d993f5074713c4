package validate

import (
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
		Code: "FSM301", Name: "presence not established", Severity: spec.Error, Run: proven, Choice: true,
		Doc: `Every transition must leave a record that satisfies what its target state needs. The proof follows every operation
from every source state through every branch. This one can leave a field present that the target needs absent, or absent that it
needs present. Before and after show such a record, which keeps everything that the source state promises. Set or clear the field, require a
guard, or state as an invariant of the source state what rules that record out.`,
	},
	{
		Code: "FSM302", Name: "other fact not established", Severity: spec.Error, Run: proven,
		Doc: `As FSM301, for an invariant of the target state or of the machine, or for the bounds of an int or of a text's length. The record before
keeps everything that the source state promises. If no record ever looks like that, add the fact that rules it out to the source
state, or require a guard.`,
	},
	{
		Code: "FSM303", Name: "operation may break a `should`", Severity: spec.Warning, Run: proven, Allow: true,
		Doc: `Records of other origin may break a fact under ` + "`should`" + `, but the operations of this file are expected to keep
it. This one can break it. Stores do not refuse such a record; audits list it.`,
	},
	{
		Code: "FSM304", Name: "optional input taken as if it were there", Severity: spec.Error, Run: proven, Choice: true,
		Doc: "A value names an input that a call may leave out, and nothing says what happens then: no fact of the source state, of a guard,\n" +
			"of the branch or of those above it makes the input present. Say it: `input.x or absent` makes the field absent, `or same` keeps\n" +
			"its value, `or default` gives it the default of the field, and on a branch `or reject` refuses the call. What the operation\n" +
			"itself takes is there before it looks at any branch, so there only a guard counts. A part of a sum, an input or a field, has no\n" +
			"such form: a guard or the branch makes it present, or the source state promises it.",
	},
	{
		Code: "FSM305", Name: "rule over a step not kept", Severity: spec.Error, Run: proven,
		Doc: "A fact under `steps` compares the record before a step (`old.x`) with the record after it, and each transition keeps it. This\n" +
			"one can break it: the record before keeps all that the source state promises. A guard that refuses such a call is the\n" +
			"usual way out, and the hint writes it where one says it: what the operation sets stands in it for the field.",
	},
	{
		Code: "FSM306", Name: "rule over a step that decides nothing", Severity: spec.Error, Run: proven,
		Doc: "A fact under `steps` holds for any two records that the types of the fields allow, so no step can break it; or it holds for none,\n" +
			"so each step does. Either way it says something else than its author meant.",
	},
}

// proofNotes is the chapter of RULES.md on what the proof decides and what not.
const proofNotes = `
## How far the proof goes

For every operation, source state and branch the proof assumes what the source state guarantees and what the guards require,
follows the effects and the branches above, and shows each fact of the target. A creation starts from the empty record. That is
induction: when it passes, no record that only these operations wrote ever breaks a fact, after any number of steps.

| kind of fact | decided |
|---|---|
| present and absent, words of an enum, true and false | exactly |
| numbers: bounds, comparisons of two, counters that went up, ` + "`!=`" + ` inside an interval | exactly, up to numbers of 2^56 |
| texts and times: equality and order, through any number of steps in between, ` + "`now + 1m`" + ` included | exactly |
| the length of a text that another field or the caller brings | by its type, or that of a text that is equal to it |
| sets: ` + "`in`, `not in`, `covers`" + `, present, after ` + "`add`" + ` | exactly |
| branches: exhaustive, shadowed, never true | exactly |
| inputs that may be left out: whether a value finds one | exactly |
| other records: ` + "`none`, `fewer`, `some`, `unique`" + ` | by FSM501 to FSM507; here they may go either way |

*Exactly* means: a finding is never a false alarm about what the file states. It comes with a record that keeps everything the source
state promises, and the operation makes of it one that breaks the target (the tests replay such records through the interpreter). When
no record ever looks like that, the file does not say why not. State the reason as an invariant of the source state, or as a
guard, and the proof uses it.

What is assumed: the ` + "`present`, `absent` and `invariant`" + ` facts of the source state, ` + "`invariant`" + ` of the machine, the bounds of ints and of lengths,
counters from 0 and sequences from 1 on, inputs within the bounds of the fields they are set into. What is not: a ` + "`trigger`" + ` and the
` + "`where` of `next`" + ` are no guards, because a call may come without them. ` + "`should`" + ` facts are proven for own writes from the
` + "`should`" + ` facts of the source, and nothing else rests on them. A step of ` + "`then`" + ` is an operation like any other.

What is left to run time: what stands in a JSON payload, clocks, probes, a counter beyond 64 bits, a time outside the years 1 to
9999, and records that another program wrote (each is checked when it is loaded). A question that needs more than 10000 cases is
reported and not guessed: state a fact in between.
`

// proven reports what the proof found under the rule's code.
func proven(p *Pass) {
	for _, f := range proofOf(p.Machine).Findings {
		if f.Code == p.rule.Code {
			p.report(finding{
				pos: f.Pos, mark: f.Mark, hint: f.Hint, related: f.Related, fix: f.Fix,
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
	r := proofOf(m)
	return Summary{Steps: r.Steps, Obligations: r.Obligations}
}
