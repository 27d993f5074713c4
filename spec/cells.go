package spec

import "slices"

// Class is what one state × operation cell does.
type Class uint8

const (
	Unclassified Class = iota // nothing says what happens: FSM101
	Transition
	RecordOnly
	Reject
)

// String returns the word that diagrams, tests and messages use.
func (c Class) String() string {
	switch c {
	case Transition:
		return "transition"
	case RecordOnly:
		return "record_only"
	case Reject:
		return "reject"
	}
	return "unclassified"
}

// Class returns what operation o does to a record in state s. A listed state
// beats `otherwise`, and the state's `otherwise` beats the machine's. A
// creation is no cell: it is always Reject here.
func (m *Machine) Class(s *State, o *Operation) Class {
	if len(o.Creates) > 0 {
		return Reject
	}
	if o.leaves(s) {
		return Transition
	}
	for _, f := range o.RecordOnlyIn {
		if f.State == s {
			return RecordOnly
		}
	}
	ow := m.Otherwise
	if s.Otherwise != OtherwiseUnset {
		ow = s.Otherwise
	}
	return ow.class()
}

// leaves reports whether a state stands under `from`. A long list has a map, which is
// believed where it is right: tests change copies of an operation.
func (o *Operation) leaves(s *State) bool {
	if i, ok := o.places[s]; ok && i < len(o.From) && o.From[i].State == s {
		return true
	}
	return slices.ContainsFunc(o.From, func(f StateRef) bool { return f.State == s })
}

// Row returns what operation o does to a record in each state, in the order of the
// states: the same as Class, for all of them at once.
func (m *Machine) Row(o *Operation) []Class {
	row := make([]Class, len(m.States))
	for i, s := range m.States {
		switch {
		case len(o.Creates) > 0:
			row[i] = Reject
		case s.Otherwise != OtherwiseUnset:
			row[i] = s.Otherwise.class()
		default:
			row[i] = m.Otherwise.class()
		}
	}
	if len(o.Creates) > 0 {
		return row
	}
	for _, f := range o.RecordOnlyIn {
		row[f.State.Index] = RecordOnly
	}
	for _, f := range o.From {
		row[f.State.Index] = Transition
	}
	return row
}

func (o Otherwise) class() Class {
	switch o {
	case OtherwiseReject:
		return Reject
	case OtherwiseRecordOnly:
		return RecordOnly
	}
	return Unclassified
}
