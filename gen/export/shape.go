package export

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// builtins are the members of a record that no machine declares, in their order. A
// package of the pure layer alone has the state, and times that a fact reads.
func builtins(m *spec.Machine) []string {
	if !m.Alone() {
		return []string{"id", "state", "rev", "created_at", "updated_at"}
	}
	list := []string{"state"}
	for _, f := range m.Builtin {
		if slices.ContainsFunc(facts(m), func(x *spec.Fact) bool { return x.Reads(f) }) {
			list = append(list, f.Name)
		}
	}
	return list
}

// facts lists all facts of a machine, those of an `any` one by one.
func facts(m *spec.Machine) []*spec.Fact {
	list := slices.Clone(m.Invariant)
	for _, s := range m.States {
		list = append(list, s.Invariant...)
	}
	for _, r := range m.Steps {
		list = append(list, r.When...)
	}
	for _, o := range m.Operations {
		list = append(list, factsOf(o)...)
	}
	return spec.Leaves(list)
}

// factsOf lists the facts that an operation looks at, those of an `any` one by one.
func factsOf(o *spec.Operation) []*spec.Fact {
	list := slices.Clone(o.Chosen())
	for _, r := range o.Require {
		list = append(list, r.Reads()...)
	}
	for _, b := range o.Choose {
		list = append(list, b.When...)
	}
	return spec.Leaves(list)
}

// effectsOf lists the effects of an operation and of its branches.
func effectsOf(o *spec.Operation) []*spec.Effects {
	list := []*spec.Effects{&o.Effects}
	for _, b := range o.Choose {
		list = append(list, &b.Effects)
	}
	return list
}

// inputType is the type of an input within the bounds of the fields that it is set into.
func inputType(o *spec.Operation, in *spec.Input) spec.Type {
	t := in.Type
	for _, e := range effectsOf(o) {
		for _, a := range e.Set {
			if a.Value.Input != in {
				continue
			}
			if lo := a.Field.Type.Min; lo != nil && (t.Min == nil || *lo > *t.Min) {
				t.Min = lo
			}
			if hi := a.Field.Type.Max; hi != nil && (t.Max == nil || *hi < *t.Max) {
				t.Max = hi
			}
		}
	}
	return t
}

// least is the smallest number of a type, or the shortest length of a text, if any.
func least(t spec.Type) (int64, bool) {
	low, ok := int64(0), false
	switch t.Kind {
	case spec.KindCounter, spec.KindDuration:
		ok = true
	case spec.KindSequence, spec.KindString:
		low, ok = 1, true
	}
	if t.Min != nil && (!ok || *t.Min > low) {
		return *t.Min, true
	}
	return low, ok
}

// changing lists the fields that a step of the operation may change, in the order of the file.
func changing(m *spec.Machine, o *spec.Operation) []*spec.Field {
	var list []*spec.Field
	for _, f := range m.Fields {
		numbered := len(o.Creates) > 0 && f.Type.Kind == spec.KindSequence
		if numbered || slices.ContainsFunc(effectsOf(o), func(e *spec.Effects) bool { return e.Changes(f) }) {
			list = append(list, f)
		}
	}
	return list
}

// moves lists the states that the events of an operation stand in before and after it.
func moves(m *spec.Machine, o *spec.Operation) (from, to []*spec.State) {
	targets := map[*spec.State]bool{}
	reach := func(s *spec.State) {
		for _, b := range branchesOf(o, s) {
			if b.reject == "" && b.to != nil {
				targets[b.to] = true
			}
			if b.recordOnly {
				targets[s] = true
			}
		}
		if o.OnRefusalRecordOnly && len(o.Require) > 0 {
			targets[s] = true
		}
	}
	if len(o.Creates) > 0 {
		reach(nil)
	} else {
		for _, s := range m.States {
			switch m.Class(s, o) {
			case spec.Transition:
				reach(s)
			case spec.RecordOnly:
				targets[s] = true
			default:
				continue
			}
			from = append(from, s)
		}
	}
	for _, s := range m.States {
		if targets[s] {
			to = append(to, s)
		}
	}
	return from, to
}

// ownOperations are the words of events that no operation makes.
var ownOperations = []string{"migrate", "__import", "__repair", "__giveup", "__redact", "__purge", "__purged"}

// promised says what a state promises of a field.
func promised(s *spec.State, f *spec.Field) (present, absent bool) {
	has := func(list []spec.FieldRef) bool {
		return slices.ContainsFunc(list, func(r spec.FieldRef) bool { return r.Field == f })
	}
	return has(s.Present), has(s.Absent)
}

// folded is a doc text on one line, with words that end a comment taken apart.
func folded(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "*/", "* /")
}

// typeNames are the names of the types that an export declares.
type typeNames struct {
	Record, State, Event, OwnEvent, Fields, EventFields string
	of                                                  map[any]string // *spec.State, *spec.Field
	input, event                                        map[*spec.Operation]string
}

// namesOf names the types: each begins with the entity, or with the operation.
func namesOf(m *spec.Machine) *typeNames {
	taken := map[string]bool{"Time": true, "Duration": true, "Json": true, "Record": true, "Partial": true}
	name := func(s string) string {
		for taken[s] {
			s += "_"
		}
		taken[s] = true
		return s
	}
	n := &typeNames{of: map[any]string{}, input: map[*spec.Operation]string{}, event: map[*spec.Operation]string{}}
	for _, x := range []struct {
		name *string
		tail string
	}{
		{&n.Record, ""}, {&n.State, "State"}, {&n.Fields, "Fields"}, {&n.Event, "Event"}, {&n.EventFields, "EventFields"},
		{&n.OwnEvent, "OwnEvent"},
	} {
		*x.name = name(m.Entity + x.tail)
	}
	for _, s := range m.States {
		n.of[s] = name(m.Entity + spec.GoName(s.Name))
	}
	for _, f := range m.Fields {
		if f.Type.Kind == spec.KindEnum {
			n.of[f] = name(m.Entity + spec.GoName(f.Name))
		}
	}
	for _, o := range m.Operations {
		n.input[o] = name(spec.GoName(o.Name) + "Input")
		n.event[o] = name(spec.GoName(o.Name) + "Event")
	}
	return n
}
