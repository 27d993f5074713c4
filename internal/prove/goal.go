package prove

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// goal is one fact that the record must satisfy after a step.
type goal struct {
	code string
	// condition is what must hold after the step, and false when it cannot be
	// expressed: it names a number too large to calculate with.
	condition  func() (formula, bool)
	should     bool
	everywhere bool // an invariant of the machine
	fields     []*spec.Field
	fact       *spec.Fact // nil for presence and bounds
	present    bool       // presence: which one is needed
	accepted   bool       // bounds: what is set is within them by itself
	long       *value     // bounds of a length: what is set
	from       spec.Value // where that comes from
	low, high  *formula   // bounds of a number: that it keeps each end, where there is one
	ends       [2]bool    // which of the two a step can leave

	left    string // how a failure reads: "`owner` present"
	pos     spec.Pos
	related string // what the target needs
}

// goals lists everything that the target needs of a record.
func (s *part) goals(branch *spec.Branch, to *spec.State, record after) []goal {
	read := record.read(s.problem)
	var list []goal
	presence := func(refs []spec.FieldRef, present, should bool) {
		for _, r := range refs {
			if contradictory(to, r.Field, should) {
				continue // FSM013 speaks of it
			}
			g := goal{
				code: "FSM301", should: should, fields: []*spec.Field{r.Field}, present: present, pos: r.Pos,
				condition: func() (formula, bool) {
					holds := s.present(read(r.Field))
					if !present {
						holds = not(holds)
					}
					return holds, true
				},
				left: "`" + r.Field.Name + "` absent", related: to.Name + " needs it present",
			}
			if !present {
				g.left, g.related = "`"+r.Field.Name+"` present", to.Name+" needs it absent"
			}
			if should {
				g.code, g.related = "FSM303", strings.Replace(g.related, "needs it", "should have it", 1)
			}
			list = append(list, g)
		}
	}
	presence(to.Present, true, false)
	presence(to.Absent, false, false)
	facts := func(facts []*spec.Fact, who string, everywhere bool) {
		for _, f := range facts {
			list = append(list, goal{
				code: "FSM302", fields: fieldsOf(f), fact: f, present: true, everywhere: everywhere, pos: f.Pos,
				condition: func() (formula, bool) { return s.fact(f, read) },
				left:      "`" + f.Text + "` false", related: who + " needs it true: `" + f.Text + "`",
			})
		}
	}
	facts(s.m.Invariant, "every state", true)
	facts(to.Invariant, to.Name, false)
	list = append(list, s.typed(branch, read)...)
	presence(to.ShouldPresent, true, true)
	presence(to.ShouldAbsent, false, true)
	return list
}

// contradictory reports whether a state has the field present and absent. A
// SHOULD makes no MUST contradictory.
func contradictory(to *spec.State, f *spec.Field, should bool) bool {
	present, absent := to.Present, to.Absent
	if should {
		present, absent = slices.Concat(present, to.ShouldPresent), slices.Concat(absent, to.ShouldAbsent)
	}
	names := func(r spec.FieldRef) bool { return r.Field == f }
	return slices.ContainsFunc(present, names) && slices.ContainsFunc(absent, names)
}

// typed lists what the types of the changed fields promise: the bounds of an
// int, and that a required field has a value after a creation.
func (s *part) typed(branch *spec.Branch, read reader) []goal {
	var list []goal
	done := map[*spec.Field]bool{}
	for _, e := range taken(s.op, branch) {
		for _, r := range e.Decrement {
			v := read(r.Field)
			least := v.atLeast(0)
			list = append(list, goal{
				code: "FSM302", fields: []*spec.Field{r.Field}, present: true, low: &least,
				condition: func() (formula, bool) { return least, !v.opaque },
				left:      fmt.Sprintf("`%s` outside its bounds", r.Field.Name), pos: r.Field.Pos, related: r.Field.Name + " is at least 0",
			})
		}
		for _, a := range e.Set {
			f := a.Field
			if done[f] {
				continue
			}
			done[f] = true
			v := read(f)
			if s.from == nil && !f.Type.Optional && f.Type.Kind != spec.KindCounter && f.Type.Kind != spec.KindSet {
				list = append(list, goal{
					code: "FSM301", condition: func() (formula, bool) { return s.present(v), true }, fields: []*spec.Field{f}, present: true,
					left: fmt.Sprintf("`%s` absent", f.Name), pos: f.Pos, related: fmt.Sprintf("%s is not optional", f.Name),
				})
			}
			asked := f.Type.Asked()
			low := asked.Min
			if f.Type.Kind == spec.KindCounter {
				low = new(int64)
			}
			if a.Value.Kind == spec.ValueInt || a.Value.Kind == spec.ValueText || a.Value.Kind == spec.ValueSpan {
				continue // a constant in the file: FSM015 speaks of it
			}
			if f.Type.HasLength() {
				list = append(list, goal{
					code: "FSM302", fields: []*spec.Field{f}, present: true, accepted: acceptedBefore(a, f), long: &v, from: a.Value,
					condition: func() (formula, bool) { return s.fits(v, lengthOf(f.Type)), true },
					left:      fmt.Sprintf("`%s` outside its bounds", f.Name), pos: f.Pos, related: fmt.Sprintf("%s is %s", f.Name, f.Type),
				})
			}
			if low == nil && asked.Max == nil || f.Type.Kind != spec.KindInt && f.Type.Kind != spec.KindCounter && f.Type.Kind != spec.KindDuration {
				continue
			}
			end := func(low, high *int64) *formula {
				if low == nil && high == nil {
					return nil
				}
				f := s.bounds(v, spec.Type{Min: low, Max: high})
				return &f
			}
			within := s.bounds(v, spec.Type{Min: low, Max: asked.Max})
			list = append(list, goal{
				low: end(low, nil), high: end(nil, asked.Max),
				code: "FSM302", fields: []*spec.Field{f}, present: true,
				condition: func() (formula, bool) { return anyOf(not(s.present(v)), within), !v.opaque }, accepted: acceptedBefore(a, f),
				left: fmt.Sprintf("`%s` outside its bounds", f.Name), pos: f.Pos,
				related: fmt.Sprintf("%s is %s", f.Name, boundsText(f.Type.Kind, low, asked.Max)),
			})
		}
	}
	return list
}

// acceptedBefore reports whether a value is within the bounds of the field by
// itself: an input was accepted with the bounds of every field it is set into,
// and a field is within its own.
func acceptedBefore(a spec.Assign, f *spec.Field) bool {
	switch a.Value.Kind {
	case spec.ValueInput, spec.ValueInputOrAbsent, spec.ValueInputOrSame, spec.ValueInputOrDefault, spec.ValueInputOrReject:
		return true
	case spec.ValueField:
		from, to := a.Value.Field.Type.Asked(), f.Type.Asked()
		low := from.Min
		if from.Kind == spec.KindCounter {
			low = new(int64)
		}
		return (to.Min == nil || low != nil && *low >= *to.Min) && (to.Max == nil || from.Max != nil && *from.Max <= *to.Max)
	}
	return false
}

func boundsText(k spec.Kind, low, high *int64) string {
	switch {
	case high == nil:
		return "at least " + numberText(k, *low)
	case low == nil:
		return "at most " + numberText(k, *high)
	}
	return numberText(k, *low) + " to " + numberText(k, *high)
}

// taken lists the effects of one way through an operation.
func taken(op *spec.Operation, branch *spec.Branch) []*spec.Effects {
	if branch == nil {
		return []*spec.Effects{&op.Effects}
	}
	return []*spec.Effects{&branch.Effects, &op.Effects}
}

// culprit is the effect that changes one of the fields, if there is one.
func culprit(e *spec.Effects, fields []*spec.Field) (key string, at spec.Assign) {
	for _, a := range e.Set {
		if slices.Contains(fields, a.Field) {
			return "set", a
		}
	}
	for _, r := range e.Increment {
		if slices.Contains(fields, r.Field) {
			return "increment", spec.Assign{Pos: r.Pos, Field: r.Field}
		}
	}
	for _, a := range e.Add {
		if slices.Contains(fields, a.Field) {
			return "add", a
		}
	}
	for _, r := range e.Clear {
		if slices.Contains(fields, r.Field) {
			return "clear", spec.Assign{Pos: r.Pos, Field: r.Field}
		}
	}
	for _, r := range e.Decrement {
		if slices.Contains(fields, r.Field) {
			return "decrement", spec.Assign{Pos: r.Pos, Field: r.Field}
		}
	}
	for _, r := range e.Reset {
		if slices.Contains(fields, r.Field) {
			return "reset", spec.Assign{Pos: r.Pos, Field: r.Field}
		}
	}
	return "", spec.Assign{}
}
