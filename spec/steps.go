package spec

import (
	"slices"
	"strings"
)

// StepRule is a rule over one step: facts about a record before and after it, all of which
// each transition keeps.
type StepRule struct {
	Pos    Pos
	When   []*Fact
	Reason string
}

type astStep struct {
	when   []*astFact
	pos    Pos
	reason word
}

const oldMark = "old."

// stepRules reads a list of `{when, reason}`.
func (p *parser) stepRules(o *object) []*astStep {
	var out []*astStep
	for _, n := range p.items(o, "steps") {
		so := p.object(n, "item of steps", "when", "reason")
		if so == nil {
			continue
		}
		so.require("when")
		out = append(out, &astStep{when: p.facts(so, "when", true), pos: n.pos, reason: so.word("reason")})
	}
	return out
}

func (r *resolver) bindSteps() {
	seen := map[string]Pos{}
	for _, a := range r.ast.steps {
		s := &StepRule{Pos: a.pos, Reason: a.reason.text}
		for _, x := range a.when {
			f := r.fact(x, scope{step: true})
			switch {
			case f == nil:
			case !f.readsOld():
				r.at(codeTogether, x.text, "list it under `invariant`", "`%s` says nothing about the record before the step", f.Text)
			case seen[f.Text] != Pos{}:
				r.at(codeDuplicate, x.text, "remove one of the two", "steps: %q is listed twice", f.Text).related(seen[f.Text], "first listed here")
			default:
				seen[f.Text] = f.Pos
				s.When = append(s.When, f)
			}
		}
		r.m.Steps = append(r.m.Steps, s)
	}
}

// readsOld reports whether a fact names the record before the step.
func (f *Fact) readsOld() bool {
	return slices.ContainsFunc(Leaves([]*Fact{f}), func(x *Fact) bool {
		return slices.ContainsFunc(x.Names(), func(t Term) bool { return t.Kind == TermOld })
	})
}

// Kept lists the facts about a record before and after each transition.
func (m *Machine) Kept() []*Fact {
	var list []*Fact
	for _, s := range m.Steps {
		list = append(list, s.When...)
	}
	return list
}

func oldHint(name string) string {
	return "write `" + name + "`: a guard or a value reads the record before the step"
}

// noOld reports `old.` in a fact or a value that reads one record.
func (r *resolver) noOld(a astTerm, sc scope) {
	name := strings.TrimPrefix(a.text.text, oldMark)
	hint := oldHint(name)
	switch {
	case sc.invariant:
		hint = "list the fact under `steps`: `- {when: <fact>}`"
	case sc.branch:
		hint = "write `" + name + "`, which is what the operation made of it; for what it was before, require a guard"
	}
	d := r.at(codeTogether, a.text, hint, "%s is of the record before a step, and stands under `steps` only", a.text.text)
	if !sc.invariant && !sc.branch {
		d.fix(a.text, name)
	}
}
