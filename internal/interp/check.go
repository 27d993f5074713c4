package interp

import (
	"fmt"

	"github.com/fsmgen/fsmgen/spec"
)

// Violation is a rule that a record breaks.
type Violation struct {
	Rule    string // as the specification writes it: "owner is present"
	Must    bool   // false: a SHOULD
	Message string
}

// Check lists the rules that a record breaks, whoever wrote it. A record whose
// state is unknown breaks that one rule.
func Check(m *spec.Machine, r Record) []Violation {
	if r.State == nil {
		return []Violation{{Rule: "state", Must: true, Message: "the record is in no state of the machine"}}
	}
	return check(m, r, func(int, *spec.Field) bool { return true })
}

// arrival lists the rules that a record breaks after a step: bounds, presence and
// invariants. What the types promise besides is not looked at again where no step
// can break it, and so neither in a field that the step left alone, or a counter
// that it raised: it is the load that finds one below 0.
func arrival(m *spec.Machine, before, after Record, creation bool) []Violation {
	return check(m, after, func(i int, f *spec.Field) bool {
		switch f.Type.Kind {
		case spec.KindInt, spec.KindDuration:
			return true
		case spec.KindString:
			if f.Type.HasLength() {
				return true
			}
		case spec.KindCounter:
			return creation || after.Fields[i].Num < before.Fields[i].Num
		case spec.KindSequence:
			return creation
		}
		return creation || before.Fields[i] != after.Fields[i]
	})
}

// check lists the rules that a record breaks; typed says at which fields the
// promise of the type is looked at.
func check(m *spec.Machine, r Record, typed func(int, *spec.Field) bool) []Violation {
	var found []Violation
	for i, f := range m.Fields {
		if !typed(i, f) {
			continue
		}
		if v, broken := checkField(f, r.Fields[i]); broken {
			found = append(found, v)
		}
	}
	presence := func(fields []spec.FieldRef, present, must bool) {
		for _, f := range fields {
			if r.Value(m, f.Field).IsPresent() != present {
				rule := f.Field.Name + " is absent"
				if present {
					rule = f.Field.Name + " is present"
				}
				found = append(found, Violation{Rule: rule, Must: must})
			}
		}
	}
	presence(r.State.Present, true, true)
	presence(r.State.Absent, false, true)
	for _, facts := range [][]*spec.Fact{m.Invariant, r.State.Invariant} {
		for _, f := range facts {
			if !Holds(m, f, r, Call{}) { // invariants name fields and integers only
				found = append(found, Violation{Rule: f.Text, Must: true})
			}
		}
	}
	presence(r.State.ShouldPresent, true, false)
	presence(r.State.ShouldAbsent, false, false)
	return found
}

// checkField looks at what the type of a field promises in every state.
func checkField(f *spec.Field, v Value) (Violation, bool) {
	broken := func(rule, format string, args ...any) (Violation, bool) {
		return Violation{Rule: rule, Must: true, Message: fmt.Sprintf(format, args...)}, true
	}
	if v.Kind == KindAbsent {
		if f.Type.Optional {
			return Violation{}, false
		}
		return broken(f.Name+" is present", "the field is not optional")
	}
	if v.Kind != kindOf(f.Type.Kind) {
		return broken(f.Name, "%s is no value of its type", v)
	}
	switch f.Type.Kind {
	case spec.KindInt, spec.KindCounter, spec.KindDuration:
		if problem := boundProblem(f.Type, v.Num); problem != "" {
			return broken(f.Name, "%s", problem)
		}
	case spec.KindString:
		if problem := lengthProblem(f.Type, v.Text); problem != "" {
			return broken(f.Name, "%s", problem)
		}
	case spec.KindSequence:
		if v.Num < 1 {
			return broken(f.Name, "%d is less than 1", v.Num)
		}
	case spec.KindTime:
		if !inYears(v.AsTime()) {
			return broken(f.Name, "the time is outside the years 1 to 9999")
		}
	case spec.KindEnum:
		for _, w := range f.Type.Values {
			if w.Name == v.Text {
				return Violation{}, false
			}
		}
		return broken(f.Name, "%q is none of its words", v.Text)
	}
	return Violation{}, false
}
