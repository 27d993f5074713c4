package prove

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// bare proves of each value that names an optional input, and does not say what happens
// without it, that it is there: what state, guards and branches say is known, and taken
// holds besides. It returns that those are there of which it does not hold, so that no
// other finding speaks of them.
func (w *work) bare(s *part, branch *spec.Branch, e *spec.Effects, taken []formula) (brought []formula) {
	for _, a := range e.Bare() {
		w.report.Obligations++
		there := s.present(s.input(a.Value.Input))
		if missing := []formula{not(there)}; s.can(missing, taken) {
			w.absentInput(s, branch, a, slices.Concat(missing, taken))
			brought = append(brought, there)
		}
	}
	for _, a := range e.Assigned() {
		for _, t := range (spec.Term{Kind: spec.TermSum, Parts: a.Value.Parts}).Names() {
			if t.IsConst() {
				continue
			}
			w.report.Obligations++
			there := s.present(s.term(t, s.field))
			if missing := []formula{not(there)}; s.can(missing, taken) {
				w.absentPart(s, branch, a, t, slices.Concat(missing, taken))
				brought = append(brought, there)
			}
		}
	}
	return brought
}

// absentPart reports a part of a sum that can be absent.
func (w *work) absentPart(s *part, branch *spec.Branch, a spec.Assign, t spec.Term, against []formula) {
	key := mergeKey{pos: t.Pos}
	if _, known := w.merged[key]; known {
		return
	}
	f := Finding{
		Code: "FSM304", Pos: t.Pos, Mark: t.Text,
		Message: fmt.Sprintf("%s: `%s` can be absent where field %s takes it", s.op.Name, t.Text, a.Field.Name),
	}
	var ways []string
	if t.Input != nil {
		f.Related = []spec.Related{{Pos: t.Input.Pos, Message: "the input is optional"}}
		ways = append(ways, fmt.Sprintf("make input %s required", t.Input.Name))
	} else {
		f.Related = []spec.Related{{Pos: t.Field.Pos, Message: "the field is optional"}}
	}
	switch {
	case branch == nil:
		ways = append(ways, fmt.Sprintf("require a guard with `when: %s is present`", t.Text))
	case len(branch.When) > 0:
		ways = append(ways, fmt.Sprintf("add `%s is present` to `when` of the branch in line %d of %s", t.Text, branch.Pos.Line, s.op.Name))
	default:
		ways = append(ways, fmt.Sprintf("put a branch above the branch in line %d of %s for the case in which `%s is absent`",
			branch.Pos.Line, s.op.Name, t.Text))
	}
	if t.Field != nil && s.from != nil && !promises(s.from.Absent, t.Field) {
		ways = append(ways, fmt.Sprintf("promise it before: add %s to `present` of %s", t.Field.Name, s.from.Name))
	}
	f.Hint = strings.Join(ways, ", or ")
	s.touch()
	record := s.begin()
	v, sol := s.check(against)
	if v == impossible { // another input or field has no value then
		return
	}
	if v != undecided && !s.untold(sol) {
		f.Example = w.example(s, nil, record, sol)
		if t.Input != nil {
			f.Example.relevant[t.Input] = true
		}
		f.Example.note(w.about(s, branch, goal{fields: []*spec.Field{a.Field}}))
	}
	w.merged[key] = len(w.report.Findings)
	w.find(f)
}

// absentInput reports an input that can be absent where a value needs it.
func (w *work) absentInput(s *part, branch *spec.Branch, a spec.Assign, against []formula) {
	key := mergeKey{pos: a.Value.Pos}
	if _, known := w.merged[key]; known {
		return
	}
	name := "input." + a.Value.Input.Name
	ways := slices.DeleteFunc(a.Field.OrWays(a.Value.Text, s.from == nil, branch != nil), func(way string) bool {
		return s.breaks(way, a.Field, branch)
	})
	f := Finding{
		Code: "FSM304", Pos: a.Value.Pos, Mark: a.Value.Text,
		Message: fmt.Sprintf("%s: `%s` can be absent where field %s takes it", s.op.Name, name, a.Field.Name),
		Related: []spec.Related{{Pos: a.Value.Input.Pos, Message: "the input is optional"}},
	}
	if len(ways) > 0 {
		f.Fix = w.m.Instead(a.Value.Pos, ways[0])
	}
	for i, way := range ways {
		ways[i] = "`" + way + "`"
	}
	if len(ways) > 0 {
		ways[0] = "write " + ways[0]
	}
	ways = append(ways, fmt.Sprintf("make input %s required", a.Value.Input.Name))
	switch {
	case branch == nil:
		ways = append(ways, fmt.Sprintf("require a guard with `when: %s is present`", name))
	case len(branch.When) > 0:
		ways = append(ways, fmt.Sprintf("add `%s is present` to `when` of the branch in line %d of %s", name, branch.Pos.Line, s.op.Name))
	}
	f.Hint = strings.Join(ways, ", or ")
	s.touch()
	record := s.begin()
	v, sol := s.check(against)
	if v == impossible { // another input or field has no value then
		return
	}
	if v != undecided && !s.untold(sol) {
		f.Example = w.example(s, nil, record, sol)
		f.Example.relevant[a.Value.Input] = true
		f.Example.note(w.about(s, branch, goal{fields: []*spec.Field{a.Field}}))
	}
	w.merged[key] = len(w.report.Findings)
	w.find(f)
}

// breaks reports whether a field can be absent where a target wants it, when a value says this
// of a call without its input.
func (s *part) breaks(way string, f *spec.Field, branch *spec.Branch) bool {
	promises := func(st *spec.State) bool {
		return st != nil && slices.ContainsFunc(st.Present, func(r spec.FieldRef) bool { return r.Field == f })
	}
	wanted := f.Type.Optional && slices.ContainsFunc(s.op.Moves(), func(v spec.Move) bool {
		return v.Source() == s.from && (branch == nil || v.Branch == branch) && promises(v.To)
	})
	return wanted && (strings.HasSuffix(way, " or absent") || strings.HasSuffix(way, " or same") && !promises(s.from))
}
