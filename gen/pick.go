package gen

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// asked is a fact that a store can decide while it looks for the next record: a
// column, beside a value that the call knows.
type asked struct {
	op    spec.FactOp
	field *spec.Field
	left  spec.Term // names the field
	value spec.Term // zero with Present, Absent and now
	now   bool      // the value is the time at which the store looks
}

// asks returns what `next` asks the store for: the facts of its `where`, and of
// the guards that refuse what is picked without them. `each` asks for the facts of its
// `where` alone, for a guard that refuses a record is to refuse the call. complete is false when the
// store does not decide all facts of `where`. What it decides by the time at which it
// looks is decided once more at the time of the call: that is later.
//
// The query and its index are both made of it: an index that leaves a place to
// absent values, say, does not serve a query that asks for none.
func asks(o *spec.Operation) (list []asked, complete bool) {
	order, given := pickOrder(o), givenBy(o)
	complete = true
	for _, a := range decidable(o) {
		if o.Each != nil || a.served(order, func(f *spec.Field) bool { return slices.Contains(given, f) }) {
			list = append(list, a.asked)
		} else if a.where {
			complete = false
		}
	}
	for _, f := range o.Chosen() {
		if a, ok := askable(f); !ok || a.now {
			complete = false
		}
	}
	return list, complete
}

// candidate is a fact that a store could decide.
type candidate struct {
	asked
	where bool // of `where`, not of a guard
}

// decidable returns the facts of `where` and of the guards that a store could decide.
func decidable(o *spec.Operation) (list []candidate) {
	for _, f := range o.Chosen() {
		if a, ok := askable(f); ok {
			list = append(list, candidate{a, true})
		}
	}
	if o.OnRefusalRecordOnly || o.Next == nil {
		return list
	}
	for _, r := range o.Require {
		for _, f := range r.When {
			if a, ok := askable(f); ok {
				list = append(list, candidate{a, false})
			}
		}
	}
	return list
}

// served reports whether the store asks for a fact. What an index would only pass over
// row by row, and does not depend on the call, is left to parking.
func (a candidate) served(order []spec.Order, given func(*spec.Field) bool) bool {
	switch {
	case a.op == spec.Eq, a.value.Kind == spec.TermInput, a.value.Kind == spec.TermActor, a.now && a.op == spec.Ne:
		return true
	case len(order) > 0 && order[0].Field == a.field: // the index begins there
		return true
	}
	return a.op == spec.Absent && given(a.field)
}

// askable returns a fact with its field on the left, when a store can decide it.
func askable(f *spec.Fact) (asked, bool) {
	a := asked{op: f.Op, field: f.Left.Field, left: f.Left, value: f.Right}
	if f.Op == spec.Present || f.Op == spec.Absent {
		return a, a.field != nil && (a.field.Type.Optional || a.field.Type.Kind == spec.KindSet)
	}
	if a.field == nil {
		a = asked{op: mirrored[f.Op], field: f.Right.Field, left: f.Right, value: f.Left}
	}
	if a.field == nil || condOps[a.op] == "" || a.field.Type.Kind == spec.KindSet || a.field.Type.Kind == spec.KindJSON {
		return asked{}, false
	}
	switch in := a.value.Input; a.value.Kind {
	case spec.TermField, spec.TermSum:
		return asked{}, false
	case spec.TermNow:
		a.value, a.now = spec.Term{}, true
		return a, true
	case spec.TermInput:
		return a, !isOptional(in.Type) && (in.Type.Kind != spec.KindEnum || sameWords(in.Type.Values, a.field.Type.Values))
	}
	return a, true
}

var mirrored = map[spec.FactOp]spec.FactOp{
	spec.Eq: spec.Eq, spec.Ne: spec.Ne, spec.Lt: spec.Gt, spec.Le: spec.Ge, spec.Gt: spec.Lt, spec.Ge: spec.Le,
}

// givenBy returns the fields that have one value in all records that are asked for, or
// are a key of its order and have none in any.
func givenBy(o *spec.Operation) []*spec.Field {
	var fields []*spec.Field
	for _, a := range decidable(o) {
		ordered := o.Next != nil && slices.ContainsFunc(o.Next.Order, func(x spec.Order) bool { return x.Field == a.field })
		if (a.op == spec.Eq && !a.now || a.op == spec.Absent && ordered) && !slices.Contains(fields, a.field) {
			fields = append(fields, a.field)
		}
	}
	return fields
}

// pickOrder is the order in which `next` picks, without the fields that have one
// value in all records it asks for.
func pickOrder(o *spec.Operation) []spec.Order {
	if o.Next == nil {
		return nil
	}
	given := givenBy(o)
	return slices.DeleteFunc(slices.Clone(o.Next.Order), func(x spec.Order) bool { return slices.Contains(given, x.Field) })
}
