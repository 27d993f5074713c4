package prove

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// branchUse is what the source states together say of one branch.
type branchUse struct {
	asked   bool // in some source state that can get as far as `choose`
	meets   bool // its facts can hold there
	reached bool // and the branches above leave something of it
	// With meets and not reached: where, and why.
	source *spec.State
	above  []*spec.Branch
}

// shape looks at a list of branches without asking what facts mean.
func (w *work) shape(op *spec.Operation) {
	var closed []*spec.Branch // branches without `when` for all sources
	for i, b := range op.Choose {
		if len(b.When) == 0 && b.From == nil && i < len(op.Choose)-1 && closed == nil {
			closed = append(closed, b)
			w.find(Finding{
				Code: "FSM202", Pos: b.Pos, Message: fmt.Sprintf("%s: this branch has no `when`, so the branches below it are never taken", op.Name),
				Hint:    "move it to the end of the list, or give it a `when`",
				Related: []spec.Related{{Pos: op.Choose[i+1].Pos, Message: "the first branch that is never taken"}},
			})
		}
		if b.RecordOnly && !op.Effects.Empty() {
			key, a := first(&op.Effects)
			w.find(Finding{
				Code: "FSM205", Pos: b.Pos,
				Message: fmt.Sprintf("%s: this branch changes nothing, but %s already changed %s (line %d)", op.Name, op.Name, a.Field.Name, a.Pos.Line),
				Hint:    fmt.Sprintf("move the `%s` of %s into the branches that change the record", key, op.Name),
				Related: []spec.Related{{Pos: a.Pos, Message: "changed here for every branch"}},
			})
		}
	}
}

// meeting lists, for each source, the branches whose `from` it meets, by index:
// those that a branch without `when` hides among them. A creation has the nil source.
func meeting(op *spec.Operation) map[*spec.State][]int {
	list := make(map[*spec.State][]int, len(op.From))
	for i, b := range op.Choose {
		if b.From == nil {
			list[nil] = append(list[nil], i)
			for _, s := range distinct(op.From) {
				list[s] = append(list[s], i)
			}
		}
		for _, s := range distinct(b.From) {
			list[s] = append(list[s], i)
		}
	}
	return list
}

// distinct lists the states, each once.
func distinct(refs []spec.StateRef) []*spec.State {
	list := make([]*spec.State, 0, len(refs))
	seen := make(map[*spec.State]bool, len(refs))
	for _, r := range refs {
		if !seen[r.State] {
			seen[r.State] = true
			list = append(list, r.State)
		}
	}
	return list
}

// first is the first effect of a list.
func first(e *spec.Effects) (string, spec.Assign) {
	var fields []*spec.Field
	for _, a := range e.Assigned() {
		fields = append(fields, a.Field)
	}
	for _, r := range e.Named() {
		fields = append(fields, r.Field)
	}
	return culprit(e, fields)
}

// choose proves the branches of one source state, in their order: each assumes
// that none above it was taken.
func (w *work) choose(s *part, record after) {
	read := record.read(s.problem)
	var passed []formula // that the branches above were not taken
	var above []*spec.Branch
	complete := true // all branches above could be negated
	for _, i := range w.meets[s.from] {
		b := s.op.Choose[i]
		holds := s.assumed(b.When, read)
		use := &w.branches[i]
		use.asked = true
		switch {
		case s.can(holds, passed):
			use.meets, use.reached = true, true
			w.alternatives(s, b.When, b.When, read, passed)
			w.take(s, b, slices.Concat(holds, passed), record)
		case s.can(holds):
			use.meets = true
			if use.source == nil {
				use.source, use.above = s.from, s.covering(holds, above, read)
			}
		}
		if refuted, ok := s.refuted(b.When, read); ok {
			passed = append(passed, refuted)
		} else {
			complete = false
		}
		above = append(above, b)
	}
	w.report.Obligations++
	if !s.can(passed) || w.gaps {
		return
	}
	s.touch()
	v, gap := s.check(passed)
	if !complete || v == undecided {
		gap = nil
	}
	w.gap(s, above, record, gap)
}

// take proves a branch that can be reached.
func (w *work) take(s *part, b *spec.Branch, holds []formula, record after) {
	if b.Reject != "" || b.RecordOnly {
		return
	}
	to := s.from
	if b.To != nil {
		to = b.To.State
	}
	if to == nil {
		return // a creation that leads nowhere: FSM014 speaks of it
	}
	holds = append(holds, s.brought...)
	for _, in := range b.Rejects() {
		holds = append(holds, s.present(s.input(in)))
	}
	holds = append(holds, w.bare(s, b, &b.Effects, holds)...)
	w.prove(s, b, to, holds, s.apply(&b.Effects, record))
}

// covering returns the branch above that alone covers the facts, or all.
func (s *part) covering(holds []formula, above []*spec.Branch, read reader) []*spec.Branch {
	for _, b := range above {
		if f, ok := s.refuted(b.When, read); ok && !s.can(holds, []formula{f}) {
			return []*spec.Branch{b}
		}
	}
	return above
}

// unused reports the branches of an operation that are never taken.
func (w *work) unused(op *spec.Operation) {
	for i, b := range op.Choose {
		use := w.branches[i]
		if !use.asked || use.reached {
			continue
		}
		pos, mark := b.Pos, ""
		if len(b.When) > 0 {
			pos, mark = w.factMark(b.When[0])
		} else if b.To != nil {
			pos, mark = b.To.Pos, b.To.State.Name
		}
		if !use.meets {
			w.find(Finding{
				Code: "FSM204", Pos: pos, Mark: mark,
				Message: fmt.Sprintf("%s: this branch is never taken: `%s` contradicts what %s", op.Name, factsText(b.When), knownIn(op, b)),
				Hint:    "remove the branch, or fix its `when`",
			})
			continue
		}
		if slices.ContainsFunc(op.Choose[:i], func(a *spec.Branch) bool { return len(a.When) == 0 && a.From == nil }) {
			continue // FSM202 says so at the unconditional branch
		}
		var lines []string
		var related []spec.Related
		for _, a := range use.above {
			text := "always"
			if len(a.When) > 0 {
				text = "`" + factsText(a.When) + "`"
			}
			lines = append(lines, fmt.Sprint(a.Pos.Line))
			related = append(related, spec.Related{Pos: a.Pos, Message: "taken before it: " + text})
		}
		covers := "line " + lines[0] + " holds whenever it does"
		if len(lines) > 1 {
			covers = "lines " + strings.Join(lines[:len(lines)-1], ", ") + " and " + lines[len(lines)-1] + " together hold whenever it does"
		}
		what := "`" + factsText(b.When) + "`"
		if len(b.When) == 0 {
			what = "it leads to " + mark
			if mark == "" {
				what = "it has no `when`"
			}
		}
		hint := "move it up, make the branch above it narrower, or remove it"
		if len(b.When) == 0 { // further up it would take what is for the others
			hint = "give a branch above it a narrower `when`, or remove it"
		}
		w.find(Finding{
			Code: "FSM201", Pos: pos, Mark: mark, Related: related,
			Message: fmt.Sprintf("%s: this branch is never taken: %s (%s)", op.Name, covers, what),
			Hint:    hint,
		})
	}
	w.gaps = false
}

// knownIn says where the facts of a branch are contradicted.
func knownIn(op *spec.Operation, b *spec.Branch) string {
	refs := b.From
	if refs == nil {
		refs = op.From
	}
	var names []string
	for _, r := range refs {
		names = append(names, r.State.Name)
	}
	with := ""
	if len(op.Require) > 0 || !op.Effects.Empty() {
		with = " with its guards and effects"
	}
	if len(names) == 0 {
		return "the creation guarantees" + with
	}
	if len(names) == 1 {
		return names[0] + " guarantees" + with
	}
	return strings.Join(names, ", ") + " guarantee" + with
}

// deadGuard reports a guard that can never pass in a state that the operation
// lists.
func (w *work) deadGuard(s *part, req *spec.Requirement) {
	where, promise := "a creation", "what is so before a creation, with the guards before it"
	var related []spec.Related
	hint := fmt.Sprintf("fix `%s`, or take it out of `require` of %s", req.Guard.Name, s.op.Name)
	if s.from != nil {
		where, promise = "state "+s.from.Name, "what "+s.from.Name+" guarantees, with the guards before it"
		related = []spec.Related{{Pos: s.from.Pos, Message: s.from.Name + " is declared here"}}
		hint = fmt.Sprintf("take %s out of `from` of %s, or fix `%s`", s.from.Name, s.op.Name, req.Guard.Name)
	}
	related = append(related, spec.Related{Pos: req.Guard.Pos, Message: "the guard: `" + factsText(req.When) + "`"})
	message := fmt.Sprintf("%s can never pass %s in %s: `%s` contradicts %s", s.op.Name, req.Guard.Name, where, factsText(req.When), promise)
	if s.from == nil && req.Limit != nil && req.Limit.Left.Field != nil && req.When[0] == req.Limit {
		f := req.Limit.Left.Field
		message = fmt.Sprintf("%s can never pass %s: it counts up to %s, which %s does not set to 1 or more",
			s.op.Name, req.Guard.Name, f.Name, s.op.Name)
		hint = limitWayOut(s.op, req.Guard, f)
	}
	w.find(Finding{Code: "FSM204", Pos: req.Pos, Mark: req.Guard.Name, Related: related, Hint: hint, Message: message})
}

// limitWayOut says how a creation passes a guard that counts up to a field, where it does not set that to enough.
func limitWayOut(op *spec.Operation, guard *spec.Guard, f *spec.Field) string {
	out := fmt.Sprintf("take %s out of `require` of %s", guard.Name, op.Name)
	if most := f.Type.Asked().Max; most != nil && *most < 1 {
		return out
	}
	listed := slices.ContainsFunc(f.ChangedBy, func(r *spec.OperationRef) bool { return r.Operation == op })
	if f.HasChangedBy && !listed {
		return fmt.Sprintf("write `%s: input` and add %s to `changed_by` of %[1]s; else %[3]s", f.Name, op.Name, out)
	}
	return fmt.Sprintf("write `%s: input`; else %s", f.Name, out)
}

// factsText joins facts as a reader says them.
func factsText(facts []*spec.Fact) string {
	return strings.Join(spec.FactTexts(facts), " and ")
}

// factMark returns where a fact stands, and what to mark there: the whole fact
// when it stands there as its text says, else its left term.
func (w *work) factMark(f *spec.Fact) (spec.Pos, string) {
	if f.Op == spec.AnyOf {
		return f.Pos, "any"
	}
	lines := strings.Split(string(w.m.Source), "\n")
	if n := f.Pos.Line; n >= 1 && n <= len(lines) {
		if line := []rune(lines[n-1]); f.Pos.Col >= 1 && f.Pos.Col <= len(line) && strings.HasPrefix(string(line[f.Pos.Col-1:]), f.Text) {
			return f.Pos, f.Text
		}
	}
	return f.Left.Pos, f.Left.Text
}

func (w *work) find(f Finding) { w.report.Findings = append(w.report.Findings, f) }
