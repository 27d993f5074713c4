package spec

import "slices"

// Move is one way in which an operation takes a record from one state to
// another, keeps it where it is, or makes it.
type Move struct {
	Operation *Operation
	From      *StateRef // where `from` names the source; nil for a creation
	To        *State
	Branch    *Branch // nil without `choose`
	Pos       Pos     // of the target's name, or of the branch with `to: same`
}

// Source returns the state that the move starts in, or nil for a creation.
func (v Move) Source() *State {
	if v.From == nil {
		return nil
	}
	return v.From.State
}

// Leaves reports whether the move ends in another state than it starts in.
func (v Move) Leaves() bool { return v.Source() != v.To }

// Moves lists the moves of all operations, in the order of the file.
func (m *Machine) Moves() []Move {
	var list []Move
	for _, o := range m.Operations {
		list = append(list, o.Moves()...)
	}
	return list
}

// Moves lists the moves of an operation, by source and then by branch. A branch
// that rejects or only records makes none, and neither does one that Branches
// leaves out. This is the one place that says where an operation can lead.
func (o *Operation) Moves() []Move {
	var list []Move
	if len(o.Creates) > 0 {
		list = o.moves(list, nil, o.Choose)
	}
	if len(o.From) == 0 {
		return list
	}
	for i := range o.From {
		list = o.moves(list, &o.From[i], o.branches[o.From[i].State])
	}
	return list
}

// moves adds the moves from one source; nil is that of a creation.
func (o *Operation) moves(list []Move, from *StateRef, branches []*Branch) []Move {
	v := Move{Operation: o, From: from}
	switch {
	case len(o.Choose) > 0:
		for _, b := range branches {
			v.Branch, v.To, v.Pos = b, nil, b.Pos
			switch {
			case b.To != nil:
				v.To, v.Pos = b.To.State, b.To.Pos
			case b.Same:
				v.To = v.Source()
			}
			if v.To != nil {
				list = append(list, v)
			}
			if b.takesAll() {
				break
			}
		}
	case from == nil:
		for _, r := range o.Creates {
			v.To, v.Pos = r.State, r.Pos
			list = append(list, v)
		}
	case o.To != nil:
		v.To, v.Pos = o.To.State, o.To.Pos
		list = append(list, v)
	case o.Same:
		v.To, v.Pos = from.State, o.Pos
		list = append(list, v)
	}
	return list
}

// takesAll reports whether no record that meets the branch passes it.
func (b *Branch) takesAll() bool { return len(b.When) == 0 }

// Branches lists the branches that a record in state s can meet, in their order;
// with nil, those of a creation. A branch without `when` takes every record, so
// none below it is listed.
func (o *Operation) Branches(s *State) []*Branch {
	if list, ok := o.branches[s]; ok {
		return list
	}
	var list []*Branch
	for _, b := range o.Choose {
		if s != nil && b.From != nil && !slices.ContainsFunc(b.From, func(r StateRef) bool { return r.State == s }) {
			continue
		}
		list = append(list, b)
		if b.takesAll() {
			break
		}
	}
	return list
}

// branchesBySource is Branches for every state under `from` at once: it looks at
// each branch, and at each state that the branch names, once.
func (o *Operation) branchesBySource() map[*State][]*Branch {
	if len(o.Choose) == 0 {
		return nil
	}
	list := make(map[*State][]*Branch, len(o.From))
	closed := make(map[*State]bool, len(o.From)) // whose records have all been taken
	for _, r := range o.From {
		closed[r.State] = false
	}
	open := o.From // a superset of the states that still reach the branch at hand
	for _, b := range o.Choose {
		meets := b.From
		if meets == nil {
			open = slices.DeleteFunc(slices.Clone(open), func(r StateRef) bool { return closed[r.State] })
			meets = open
		}
		for _, r := range meets {
			if over, source := closed[r.State]; source && !over {
				list[r.State] = append(list[r.State], b)
				closed[r.State] = b.takesAll()
			}
		}
	}
	return list
}
