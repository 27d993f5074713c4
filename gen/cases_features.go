package gen

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// What a call shows, by which the search chooses.

// outcome names what became of the call.
func (x tried) outcome() string {
	if r := x.refusal; r != nil {
		return "refused " + r.Code + " " + r.Guard + r.Name
	}
	branch := slices.Index(x.call.Op.Choose, x.done.Branch)
	return fmt.Sprintf("%s %t %s %d", x.done.To.Name, x.done.RecordOnly, x.done.Guard, branch)
}

// features are what a call shows: what becomes of it in the state, how the sides of each
// fact that was looked at stand to each other, and what it did to each field.
func (s search) features(x tried) []string {
	m := s.m
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	o, out := x.call.Op, x.outcome()
	in, whole := "", x.before.State == nil || sound(m, x.before)
	if x.before.State != nil {
		in = x.before.State.Name
	}
	if x.refusal != nil {
		guard := slices.ContainsFunc(o.Require, func(q *spec.Requirement) bool { return q.Guard.Name == x.refusal.Guard })
		switch {
		case x.refusal.Code == interp.CodeInvariant: // one function looks at the rules of all states
			in, out = "any", interp.CodeInvariant
			if slices.ContainsFunc(m.Kept(), func(f *spec.Fact) bool { return f.Text == x.refusal.Name }) { // and another one at those over a step
				out += " of a step"
			}
		case x.refusal.Code != interp.CodeGuard || guard && m.Class(x.before.State, o) != spec.RecordOnly: // the state does not matter
			in = "any"
		}
	}
	if whole || x.refusal != nil {
		add("%s: %s", in, out)
	}
	for _, i := range o.Inputs {
		v := x.call.Inputs[i.Name]
		if x.refusal != nil && x.refusal.Name != i.Name || x.edited && x.input != i {
			continue
		}
		lo, hi := inputBounds(o, i)
		add("input %s %d %s %s %t %t", i.Name, v.Kind, edge(v, lo), edge(v, hi), v.Text == "" && v.Num == 0, x.refusal == nil)
	}
	accepted, refusal := interp.Accept(m, x.call)
	if refusal != nil || !creates(o) && m.Class(x.before.State, o) != spec.Transition {
		return list
	}
	facts := func(where string, list []*spec.Fact, r interp.Record) (all bool) {
		failing := 0
		for _, f := range list {
			if !interp.Holds(m, f, r, accepted) {
				failing++
			}
		}
		for _, f := range list { // where no other one fails, it is this one that decides
			if failing == 0 || failing == 1 && !interp.Holds(m, f, r, accepted) {
				for _, text := range relations(m, f, r, accepted) {
					add("%s %s", where, text)
				}
				for _, x := range spec.Leaves([]*spec.Fact{f}) {
					if how := relation(m, x, r, accepted); how != " beyond" {
						for _, p := range weighing(m, slices.Concat(x.Left.Parts, x.Right.Parts), r, accepted) {
							add("%s %s%s with %s", where, x.Text, how, p)
						}
					}
				}
			}
		}
		return failing == 0
	}
	fails := func(q *spec.Requirement) bool {
		if q.Guard.Peers != nil && !q.Guard.Peers.Passes(x.others.Count[q.Guard.Name], tooMany(m, q, x.before, accepted)) {
			return true
		}
		return slices.ContainsFunc(q.When, func(f *spec.Fact) bool { return !interp.Holds(m, f, x.before, accepted) })
	}
	for i, q := range o.Require {
		if facts("guard "+q.Guard.Name, q.When, x.before); !fails(q) {
			continue
		}
		for _, later := range o.Require[i+1:] {
			if fails(later) {
				add("guard %s before %s", q.Guard.Name, later.Guard.Name)
			}
		}
		return list
	}
	if len(o.Choose) > 0 {
		after := interp.Effects(m, &o.Effects, x.before, accepted)
		branches := o.Branches(x.before.State)
		for i, b := range branches {
			if !facts(fmt.Sprint("branch ", b.Pos.Line, ":", b.Pos.Col), b.When, after) {
				continue
			}
			for _, later := range branches[i+1:] { // those that would be taken, stood they above
				if len(later.When) > 0 && !slices.ContainsFunc(later.When, func(f *spec.Fact) bool { return !interp.Holds(m, f, after, accepted) }) {
					add("branch %s before %s", b.Pos, later.Pos)
				}
			}
			break
		}
	}
	for _, q := range peerRequirements(o) {
		if d := x.others.Count[q.Guard.Name] - tooMany(m, q, x.before, accepted); d >= -1 && d <= 0 {
			add("others for %s by %d", q.Guard.Name, d)
		}
	}
	if x.refusal != nil || x.done.RecordOnly || !whole {
		return list
	}
	branch := slices.Index(o.Choose, x.done.Branch)
	if x.full {
		add("branch %d keeps the others", branch)
	}
	for _, f := range s.view(o).changed {
		was, is := x.before.Value(m, f), x.done.Record.Value(m, f)
		add("branch %d: %s %t %t %t", branch, f.Name, was == is, is.IsPresent(), is.Num == 0 && is.Text == "")
		if (f.Type.Kind == spec.KindEnum || f.Type.Kind == spec.KindBool) && was != is {
			add("branch %d: %s is %s", branch, f.Name, is)
		}
	}
	effects := o.Effects.Set
	if b := x.done.Branch; b != nil {
		effects = slices.Concat(effects, b.Effects.Set)
	}
	for _, a := range effects {
		for _, p := range weighing(m, a.Value.Parts, x.before, accepted) {
			add("branch %d: %s with %s", branch, a.Field.Name, p)
		}
	}
	for i, f := range m.Builtin {
		if reads(m, f) {
			was, is := []time.Time{x.before.CreatedAt, x.before.UpdatedAt}[i], []time.Time{x.done.Record.CreatedAt, x.done.Record.UpdatedAt}[i]
			add("branch %d: %s %t", branch, f.Name, was.Equal(is))
		}
	}
	return list
}

// weighing lists the parts of sums that are not 0: a test in which one is 0 does not tell it
// from a sum without it.
func weighing(m *spec.Machine, parts []spec.Part, r interp.Record, c interp.Call) []string {
	var list []string
	for i, p := range parts {
		if termValue(m, p.Term, r, c).Num != 0 {
			list = append(list, fmt.Sprint(i, " ", p.Term.Text))
		}
	}
	return list
}

// relations says how the sides of a fact stand to each other; of an `any` how those facts do
// of which one alone decides.
func relations(m *spec.Machine, f *spec.Fact, r interp.Record, c interp.Call) []string {
	if f.Op != spec.AnyOf {
		return []string{f.Text + " " + relation(m, f, r, c)}
	}
	var holding [][]*spec.Fact
	var list []string
	fails := func(x *spec.Fact) bool { return !interp.Holds(m, x, r, c) }
	for _, facts := range f.Any {
		failing := slices.DeleteFunc(slices.Clone(facts), func(x *spec.Fact) bool { return !fails(x) })
		switch len(failing) {
		case 0:
			holding = append(holding, facts)
		case 1: // where no other list holds, it is this one that decides
			list = append(list, failing[0].Text+" "+relation(m, failing[0], r, c))
		}
	}
	switch len(holding) {
	case 0:
		return append(list, f.Text+": none")
	case 1:
		list = nil
		for _, x := range holding[0] {
			list = append(list, x.Text+" alone "+relation(m, x, r, c))
		}
		return list
	}
	return []string{f.Text + ": several"}
}

// mentions reports whether a fact names a field.
func mentions(f *spec.Fact, field *spec.Field) bool {
	return slices.ContainsFunc(spec.Leaves([]*spec.Fact{f}), func(x *spec.Fact) bool {
		return x.Reads(field)
	})
}

// relation says how the sides of a fact stand to each other, and whether they are next to
// each other.
func relation(m *spec.Machine, f *spec.Fact, r interp.Record, c interp.Call) string {
	left := termValue(m, f.Left, r, c)
	if f.Op == spec.Present || f.Op == spec.Absent {
		return fmt.Sprint(left.IsPresent())
	}
	right := termValue(m, f.Right, r, c)
	switch f.Op {
	case spec.In, spec.NotIn:
		return fmt.Sprint(right.Has(left.Text), left.IsPresent())
	case spec.Covers:
		return fmt.Sprint(left.Covers(right), left == right)
	}
	if left.Kind == interp.KindAbsent || right.Kind == interp.KindAbsent {
		return fmt.Sprint("absent ", left.Kind == interp.KindAbsent, right.Kind == interp.KindAbsent)
	}
	switch {
	case f.Op == spec.Eq || f.Op == spec.Ne:
		return fmt.Sprint(left == right)
	case left.Kind == interp.KindInt || left.Kind == interp.KindTime || left.Kind == interp.KindDuration:
		return edge(left, &right.Num)
	}
	return fmt.Sprint(left.Compare(right))
}

// edge says whether a number, or the length of a text, is at a bound or next to it.
func edge(v interp.Value, bound *int64) string {
	n, wide := v.Num, ""
	switch {
	case bound == nil:
		return ""
	case v.Kind == interp.KindString:
		if n = int64(utf8.RuneCountInString(v.Text)); n < int64(len(v.Text)) {
			wide = ", more bytes"
		}
	case v.Kind != interp.KindInt && v.Kind != interp.KindTime && v.Kind != interp.KindDuration:
		return ""
	}
	switch d := n - *bound; {
	case d >= -1 && d <= 1:
		return fmt.Sprint(" by ", d, wide)
	default:
		return " beyond"
	}
}
