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
				Code: "FSM306", Pos: pos, Mark: mark, Hint: "remove it, or fix it",
				Message: fmt.Sprintf("every step breaks `%s`, whatever the record is", f.Text),
			})
			w.broken = append(w.broken, f)
		case !s.can([]formula{not(holds)}):
			w.find(Finding{
				Code: "FSM306", Pos: pos, Mark: mark, Hint: "remove it, or fix it",
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
	if guard, names, ok := s.asGuard(g.fact, branch, taken, read); ok {
		changed, _ := touched(&op.Effects, names)
		switch {
		case branch == nil || changed != "": // the branch would read what the operation made of it
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

// asGuard writes what a rule over a step asks of the record before the step and of the call,
// and lists the fields that it names; false where no guard says it, or where none could pass.
func (s *part) asGuard(f *spec.Fact, branch *spec.Branch, passed []formula, read reader) (string, []*spec.Field, bool) {
	w := earlier{effects: taken(s.op, branch)}
	possible := func(facts []*spec.Fact) bool { return s.can(s.assumed(facts, read), passed) }
	if f.Op != spec.AnyOf {
		text, ok := w.fact(f)
		return text, w.names, ok && possible([]*spec.Fact{f})
	}
	var members []string
	for _, list := range f.Any {
		if !possible(list) {
			continue
		}
		var texts []string
		for _, x := range list {
			text, ok := w.fact(x)
			if !ok {
				return "", nil, false
			}
			texts = append(texts, text)
		}
		member := strings.Join(texts, ", ")
		if len(texts) > 1 {
			member = "[" + member + "]"
		}
		members = append(members, member)
	}
	if len(members) == 1 {
		return strings.Trim(members[0], "[]"), w.names, true
	}
	return "{any: [" + strings.Join(members, ", ") + "]}", w.names, len(members) > 0
}

// earlier writes rules over a step in terms of the record before it.
type earlier struct {
	effects []*spec.Effects
	names   []*spec.Field // that were named
}

func (w *earlier) field(f *spec.Field) string {
	w.names = append(w.names, f)
	return f.Name
}

// fact writes one comparison; false where there is no way to.
func (w *earlier) fact(f *spec.Fact) (string, bool) {
	left, lok := w.term(f.Left)
	how := strings.TrimPrefix(f.Text, f.Left.Text+" ")
	if f.Op == spec.Present || f.Op == spec.Absent {
		return left + " " + how, lok && (strings.HasPrefix(left, "input.") || w.named(left))
	}
	right, rok := w.term(f.Right)
	ok := lok && rok && (w.varies(f.Left) || w.varies(f.Right))
	if word, turns := turned[f.Op]; turns && !w.varies(f.Left) { // a text that stands first is no YAML
		return right + " " + word + " " + left, ok
	}
	return left + " " + strings.TrimSuffix(how, f.Right.Text) + right, ok
}

// turned are the comparisons from the other side.
var turned = map[spec.FactOp]string{spec.Eq: "==", spec.Ne: "!=", spec.Lt: ">", spec.Le: ">=", spec.Gt: "<", spec.Ge: "<="}

// named reports whether a text is a field that was named.
func (w *earlier) named(text string) bool {
	return slices.ContainsFunc(w.names, func(f *spec.Field) bool { return f.Name == text })
}

// change is what a step does to a field of a term, if anything.
func (w *earlier) change(t spec.Term) (key string, at spec.Assign) {
	for _, e := range w.effects {
		if key == "" && t.Kind == spec.TermField {
			key, at = touched(e, []*spec.Field{t.Field})
		}
	}
	return key, at
}

// varies reports whether a term is no constant, before the step.
func (w *earlier) varies(t spec.Term) bool {
	_, at := w.change(t)
	switch at.Value.Kind {
	case spec.ValueInt, spec.ValueBool, spec.ValueWord, spec.ValueText, spec.ValueSpan:
		return false
	}
	return !t.IsConst()
}

// term writes one side; false where there is no way to.
func (w *earlier) term(t spec.Term) (text string, ok bool) {
	switch t.Kind {
	case spec.TermOld:
		return w.field(t.Field), true
	case spec.TermSum:
		ok = true
		text = spec.SumText(t.Parts, func(t spec.Term) string {
			key, _ := w.change(t) // a part that the step changes could be a sum itself
			part, written := w.term(t)
			ok = ok && written && key == ""
			return part
		})
		return text, ok
	case spec.TermField:
	default:
		return t.Text, true
	}
	switch key, at := w.change(t); key {
	case "":
		return w.field(t.Field), true
	case "increment":
		return w.field(t.Field) + " + 1", true
	case "decrement":
		return w.field(t.Field) + " - 1", true
	case "set":
		w.names = append(w.names, at.Value.Fields()...)
		switch v := at.Value; v.Kind {
		case spec.ValueInput, spec.ValueInputOrAbsent, spec.ValueInputOrReject:
			return "input." + v.Input.Name, true
		case spec.ValueInputOrSame, spec.ValueInputOrDefault:
			return "", false
		default:
			return at.Value.Text, true
		}
	}
	return "", false
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
