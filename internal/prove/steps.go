package prove

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// kept lists the rules over a step: what each transition keeps.
func (s *part) kept(read reader) []goal {
	var list []goal
	for _, rule := range s.m.Steps {
		for _, f := range rule.When {
			g := goal{
				code: "FSM305", fields: fieldsOf(f), fact: f, present: true, pos: f.Pos,
				condition: func() (formula, bool) { return s.fact(f, read) },
				left:      "`" + f.Text + "` false", related: "each step keeps it: `" + f.Text + "`",
			}
			if rule.Reason != "" {
				g.related += " (" + rule.Reason + ")"
			}
			list = append(list, g)
		}
	}
	return list
}

// rules looks at the rules over a step by themselves: whether two records of any kind can
// keep and break each of them.
func (w *work) rules() {
	for _, f := range w.m.Kept() {
		op := &spec.Operation{Name: "step", By: spec.BySystem}
		s := &part{problem: newProblem(w.m, op, w.words), meter: w.meter}
		record := s.stamped(after{})
		read := func(f *spec.Field) value {
			if _, ok := record[f]; !ok && !f.Builtin {
				record[f] = s.fresh(f.Type)
			}
			return record.read(s.problem)(f)
		}
		holds, readable := s.fact(f, read)
		if !readable {
			continue
		}
		pos, mark := w.factMark(f)
		switch {
		case !s.can([]formula{holds}):
			w.find(Finding{
				Code: "FSM306", Pos: pos, Mark: mark, Hint: "remove this line under `steps`, or fix it",
				Message: fmt.Sprintf("every step breaks `%s`, whatever the record is", f.Text),
			})
			w.broken = append(w.broken, f)
		case !s.can([]formula{not(holds)}):
			w.find(Finding{
				Code: "FSM306", Pos: pos, Mark: mark, Hint: "remove this line under `steps`, or fix it",
				Message: fmt.Sprintf("no step can break `%s`, whatever it does", f.Text),
			})
		}
	}
}

// keepWayOut says how a step can keep a rule.
func (w *work) keepWayOut(s *part, branch *spec.Branch, g goal, taken []formula, read reader, key string, at spec.Assign) string {
	op := s.op
	where := op.Name
	if branch != nil {
		where = fmt.Sprintf("the branch in line %d of %s", branch.Pos.Line, op.Name)
	}
	const weaker = ", or weaken the rule under `steps`"
	if guard, ok := s.asGuard(g.fact, branch, taken, read); ok {
		early := slices.ContainsFunc(spec.Leaves([]*spec.Fact{g.fact}), func(f *spec.Fact) bool {
			return slices.ContainsFunc(f.Names(), func(t spec.Term) bool {
				if t.Field == nil {
					return false
				}
				key, _ := touched(&op.Effects, []*spec.Field{t.Field})
				return key != ""
			})
		})
		switch {
		case branch == nil || early: // the branch would read what the operation made of it
			return fmt.Sprintf("require a guard with `when: %s`", guard) + weaker
		case len(branch.When) > 0:
			return fmt.Sprintf("add `%s` to `when` of %s", guard, where) + weaker
		}
		return fmt.Sprintf("put `when: %s` into %s, and below it a branch for the other case", guard, where) + weaker
	}
	if key != "" {
		if branch != nil {
			if own, _ := touched(&branch.Effects, g.fields); own == "" {
				where = op.Name
			}
		}
		return fmt.Sprintf("take %s out of `%s` of %s", at.Field.Name, key, where) + weaker
	}
	return fmt.Sprintf("let %s change the record so that `%s` holds", where, g.fact.Text) + weaker
}

// asGuard writes what a rule over a step asks of the record before the step and of the call;
// false where no guard says it, or where none could pass.
func (s *part) asGuard(f *spec.Fact, branch *spec.Branch, taken []formula, read reader) (string, bool) {
	possible := func(facts []*spec.Fact) bool { return s.can(s.assumed(facts, read), taken) }
	if f.Op != spec.AnyOf {
		if !possible([]*spec.Fact{f}) {
			return "", false
		}
		return s.factBefore(f, branch)
	}
	var members []string
	for _, list := range f.Any {
		if !possible(list) {
			continue
		}
		var texts []string
		for _, x := range list {
			text, ok := s.factBefore(x, branch)
			if !ok {
				return "", false
			}
			texts = append(texts, text)
		}
		member := strings.Join(texts, ", ")
		if len(texts) > 1 {
			member = "[" + member + "]"
		}
		members = append(members, member)
	}
	switch len(members) {
	case 0:
		return "", false
	case 1:
		return members[0], true
	}
	return "{any: [" + strings.Join(members, ", ") + "]}", true
}

// factBefore writes one comparison of a rule in terms of the record before the step.
func (s *part) factBefore(f *spec.Fact, branch *spec.Branch) (string, bool) {
	left, named, ok := s.termBefore(f.Left, branch)
	if !ok {
		return "", false
	}
	how := strings.TrimPrefix(f.Text, f.Left.Text+" ")
	if f.Op == spec.Present || f.Op == spec.Absent {
		return left + " " + how, named
	}
	right, other, ok := s.termBefore(f.Right, branch)
	return left + " " + strings.TrimSuffix(how, f.Right.Text) + right, ok && (named || other)
}

// termBefore writes a term of a rule in terms of the record before the step; named says that
// it is no constant.
func (s *part) termBefore(t spec.Term, branch *spec.Branch) (text string, named, ok bool) {
	switch {
	case t.IsConst():
		return t.Text, false, true
	case t.Kind == spec.TermOld:
		return t.Field.Name, true, true
	case t.Kind == spec.TermSum:
		for _, p := range t.Parts { // a part that the step changes could be a sum itself
			for _, e := range taken(s.op, branch) {
				if key, _ := touched(e, []*spec.Field{p.Term.Field}); key != "" && p.Term.Kind == spec.TermField {
					return "", false, false
				}
			}
		}
		return spec.SumText(t.Parts, func(t spec.Term) string { return strings.TrimPrefix(t.Text, "old.") }), true, true
	}
	for _, e := range taken(s.op, branch) {
		switch key, at := touched(e, []*spec.Field{t.Field}); key {
		case "":
			continue
		case "increment":
			return t.Field.Name + " + 1", true, true
		case "decrement":
			return t.Field.Name + " - 1", true, true
		case "set":
			switch v := at.Value; v.Kind {
			case spec.ValueInput, spec.ValueInputOrAbsent, spec.ValueInputOrReject:
				return "input." + v.Input.Name, true, true
			case spec.ValueField, spec.ValueActor, spec.ValueSum:
				return v.Text, true, true
			case spec.ValueInt, spec.ValueBool, spec.ValueWord, spec.ValueText:
				return v.Text, false, true
			case spec.ValueNow:
				return "now", true, v.Plus == 0
			}
		}
		return "", false, false
	}
	return t.Field.Name, true, true
}

// touched is the effect that changes one of the fields, if there is one.
func touched(e *spec.Effects, fields []*spec.Field) (key string, at spec.Assign) {
	for _, a := range e.Remove {
		if slices.Contains(fields, a.Field) {
			return "remove", a
		}
	}
	return culprit(e, fields)
}
