package validate

import (
	"context"

	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/spec"
)

// modelRules are the findings of the model checker. They run on demand only,
// by `fsmgen check --model`: see [Model].
var modelRules = []Rule{
	{
		Code: "FSM801", Name: "promise broken by a sequence of steps", Severity: spec.Error, Model: true,
		Doc: "`fsmgen check --model` explores every interleaving of a few records, with crashes, retries and late calls: any worker\n" +
			"sends anything at any time, and effects are performed again. It found a way to break a promise: an invariant, a\n" +
			"`unique`, an atomic effect that happens twice for one key, a step before the effect it follows. No way is shorter than\n" +
			"these steps; each has its place. `--go-test FILE` writes them as a test of the generated code.",
	},
	{
		Code: "FSM802", Name: "bound of the model checker reached", Severity: spec.Info, Model: true,
		Doc: "`fsmgen check --model` explores a bounded number of records, workers, counts and states. It met this bound and did\n" +
			"not explore beyond it: no finding there proves nothing. Raise the bound with the flag that the hint names, or live with\n" +
			"it: what holds across records is proven for any number of them by the ordinary check (FSM505).",
	},
	{
		Code: "FSM803", Name: "what never happens", Severity: spec.Error, Model: true, Allow: true,
		Doc: "`fsmgen check --model` saw all that can become of a record: no bound was met, no rule looks across records, and\n" +
			"the values that it tried stand for all values. Yet this operation or branch never happened, or this guard refused\n" +
			"nobody; a state that no record reached for it is named. So the file says something that is not so: most often a\n" +
			"fact that nothing makes true, or a step that sets too little. What follows from another such finding is left out.\n" +
			"Records are those that operations make: imported ones and rows of older versions may be others. Where the search is\n" +
			"not sure, it is an info (FSM802).",
	},
	{
		Code: "FSM804", Name: "what waits in vain", Severity: spec.Warning, Model: true, Allow: true,
		Doc: "A record waits for a deadline, or for the step after an effect. `fsmgen check --model` found a way to a record that\n" +
			"every such operation refuses. It goes on to refuse it while time passes, and while people do what leaves the record\n" +
			"waiting. So the sweeper comes again and again, and the worker that died keeps its job. No way there is shorter than\n" +
			"these steps. Let a second operation of the system take what the first one refuses. It is looked for where the\n" +
			"search met no bound.",
	},
}

// Model runs the model checker on a machine that passed the other rules, and
// returns what it found beside the result of the search. For progress, which may be
// nil, see [model.Search].
func Model(m *spec.Machine, o model.Options, progress func(looked, known int)) (model.Result, spec.Diagnostics) {
	r, _ := model.Search(context.Background(), m, o, progress) // which never ends
	var found spec.Diagnostics
	if r.Violation != nil {
		found = append(found, r.Violation.Diagnostic(m))
	}
	found = append(found, r.Never(m)...)
	found = append(found, r.Waits(m)...)
	found = allowed(m, found, func(rule Rule) bool { return rule.Model && r.Whole })
	if d, ok := r.Limit(m); ok {
		found = append(found, d)
	}
	return r, found
}

// Check looks at a file with the rules that the rule is among: what `fsmgen
// check` finds, with --model where the rule needs it, or what `fsmgen diff` finds
// between the rule's old example and the file.
func (r Rule) Check(file string, src []byte) (*spec.Machine, spec.Diagnostics) {
	if r.Changes {
		return r.compare(file, src)
	}
	m, found := Source(file, src)
	if r.Asked && m != nil {
		found = append(found, Facts(m)...)
		found.Sort()
	}
	if r.Model && m != nil && !found.HasErrors() {
		_, more := Model(m, model.Options{}, nil)
		found = append(found, more...)
		found.Sort()
	}
	return m, found
}
