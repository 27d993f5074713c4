package model

import (
	"slices"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/spec"
)

// classes groups fields, inputs and the actor by what they are compared with
// and set to: the members of a class share their values. What no rule compares
// is in a class that does not matter, and its value is left out of the state.
type classes struct {
	parent map[any]any

	compared map[any]bool // root: some fact compares a member
	keyed    map[any]bool // root: a member makes groups
	ints     map[any][]int64
	consts   map[any][]string  // texts of the file
	lengths  map[any]spec.Type // that the texts of a class have

	presence map[any]bool // field or input: some rule asks whether it is there
	inFact   map[*spec.Input]bool
	into     map[*spec.Input][]*spec.Field // that take it
	ordered  bool                          // some fact compares two times, none of them the clock
	reach    bool                          // some fact adds a length to a time, or takes two times apart
}

// theActor stands for whoever calls.
type theActor struct{}

func (c *classes) root(n any) any {
	for {
		p, ok := c.parent[n]
		if !ok {
			return n
		}
		n = p
	}
}

func (c *classes) join(a, b any) {
	ra, rb := c.root(a), c.root(b)
	if ra == rb {
		return
	}
	c.parent[ra] = rb
	c.compared[rb] = c.compared[rb] || c.compared[ra]
	c.keyed[rb] = c.keyed[rb] || c.keyed[ra]
	c.ints[rb] = append(c.ints[rb], c.ints[ra]...)
	c.consts[rb] = append(c.consts[rb], c.consts[ra]...)
}

// holds notes that a text of the file is among the values of a class.
func (c *classes) holds(n any, text string) {
	if r := c.root(n); !slices.Contains(c.consts[r], text) {
		c.consts[r] = append(c.consts[r], text)
	}
}

// matters reports whether the value of a field or an input makes a difference.
func (c *classes) matters(n any) bool {
	r := c.root(n)
	return c.compared[r] || c.keyed[r]
}

// presenceMatters reports whether it makes a difference that it is there.
func (c *classes) presenceMatters(n any) bool { return c.presence[n] || c.matters(n) }

// keys lists all the field groups by which records are told together.
func keys(m *spec.Machine) [][]spec.FieldRef {
	var list [][]spec.FieldRef
	for _, u := range m.Unique {
		list = append(list, u.Fields)
	}
	for _, op := range m.Operations {
		for _, r := range op.Require {
			if r.Guard.Peers != nil {
				list = append(list, r.Guard.Peers.Same)
			}
		}
		if op.DedupeBy != nil {
			list = append(list, op.DedupeBy.Fields)
		}
		for _, e := range op.AllAsks() {
			if !e.OfRecord() {
				list = append(list, e.Key)
			}
		}
	}
	return list
}

func classify(m *spec.Machine) *classes {
	c := &classes{
		parent: map[any]any{}, compared: map[any]bool{}, keyed: map[any]bool{}, ints: map[any][]int64{}, consts: map[any][]string{}, lengths: map[any]spec.Type{},
		presence: map[any]bool{}, inFact: map[*spec.Input]bool{},
		into: map[*spec.Input][]*spec.Field{},
	}
	for _, key := range keys(m) {
		for _, f := range key {
			c.keyed[c.root(f.Field)] = true
		}
	}
	c.facts(m.Invariant)
	c.facts(m.Kept())
	for _, s := range m.States {
		c.facts(s.Invariant)
		for _, f := range slices.Concat(s.Present, s.Absent) {
			c.presence[f.Field] = true
		}
	}
	for _, op := range m.Operations {
		for _, r := range op.Require {
			c.facts(r.Reads())
		}
		for _, b := range op.Choose {
			c.facts(b.When)
		}
		for _, e := range effects(op) {
			for _, a := range e.Assigned() {
				c.assign(a)
			}
		}
	}
	for _, op := range m.Operations { // an input's presence is that of the field it is set into
		for _, e := range effects(op) {
			for _, a := range e.Set {
				if a.Value.Input != nil && c.presence[a.Field] {
					c.presence[a.Value.Input] = true
				}
			}
			for _, a := range e.Assigned() {
				if a.Value.Kind == spec.ValueInputOrReject {
					c.presence[a.Value.Input] = true
				}
			}
		}
	}
	c.measure(m)
	return c
}

// measure notes how long the texts of each class are: all members take them.
func (c *classes) measure(m *spec.Machine) {
	add := func(n any, t spec.Type) {
		if !t.HasLength() {
			return
		}
		r := c.root(n)
		have := c.lengths[r]
		have.Kind = spec.KindString
		if t.Min != nil && (have.Min == nil || *have.Min < *t.Min) {
			have.Min = t.Min
		}
		if t.Max != nil && (have.Max == nil || *have.Max > *t.Max) {
			have.Max = t.Max
		}
		c.lengths[r] = have
	}
	for _, f := range m.Fields {
		add(f, f.Type)
	}
	for _, op := range m.Operations {
		for _, in := range op.Inputs {
			add(in, in.Type)
		}
	}
}

// around notes a text that a member is compared with, and one on each side of it where the
// order counts.
func (c *classes) around(n any, op spec.FactOp, text string) {
	c.holds(n, text)
	switch op {
	case spec.Lt, spec.Le, spec.Gt, spec.Ge:
		c.holds(n, text+"x")
		if less := text[:len(text)-1] + "!"; less < text && utf8.ValidString(less) {
			c.holds(n, less)
		}
	}
}

func (c *classes) assign(a spec.Assign) {
	switch {
	case a.Value.Input != nil:
		if a.Value.Kind == spec.ValueInputOrDefault {
			c.assign(spec.Assign{Field: a.Field, Value: *a.Field.Default})
		}
		c.join(a.Field, a.Value.Input)
		c.into[a.Value.Input] = append(c.into[a.Value.Input], a.Field)
	case a.Value.Field != nil:
		c.join(a.Field, a.Value.Field)
		c.presence[a.Value.Field] = c.presence[a.Value.Field] || c.presence[a.Field]
	case a.Value.Kind == spec.ValueSum:
		for _, p := range a.Value.Parts {
			for _, t := range p.Term.Names() {
				n := node(t)
				if n == nil {
					continue
				}
				if isTime(t) == (a.Field.Type.Kind == spec.KindTime) && p.Term.Kind != spec.TermBackoff {
					c.join(a.Field, n)
				}
				c.presence[n] = c.presence[n] || c.presence[a.Field]
			}
		}
	case a.Value.Kind == spec.ValueActor:
		c.join(a.Field, theActor{})
	case a.Value.Kind == spec.ValueText && a.Field.Type.Kind != spec.KindTime && a.Field.Type.Kind != spec.KindJSON:
		c.holds(a.Field, a.Value.Const)
	}
}

// fitting is the type of an input without the numbers that a field which takes it
// cannot hold: a call with one of them is refused, so nothing follows from it.
func (c *classes) fitting(in *spec.Input) spec.Type {
	t := in.Type
	for _, f := range c.into[in] {
		low, high := f.Type.Min, f.Type.Max
		if f.Type.Kind == spec.KindCounter {
			low = new(int64)
		}
		if low != nil && (t.Min == nil || *t.Min < *low) {
			t.Min = low
		}
		if high != nil && (t.Max == nil || *t.Max > *high) {
			t.Max = high
		}
	}
	return t
}

func (c *classes) facts(facts []*spec.Fact) {
	for _, f := range spec.Leaves(facts) {
		if f.Left.Kind == spec.TermSum || f.Right.Kind == spec.TermSum {
			c.sum(f.Names())
			continue
		}
		left, right := node(f.Left), node(f.Right)
		for _, n := range []any{left, right} {
			if in, ok := n.(*spec.Input); ok {
				c.inFact[in] = true
			}
		}
		if f.Op == spec.Present || f.Op == spec.Absent {
			if left != nil {
				c.presence[left] = true
			}
			continue
		}
		for _, n := range []any{left, right} {
			if n != nil {
				c.compared[c.root(n)] = true
			}
		}
		switch {
		case left != nil && right != nil:
			c.join(left, right)
			c.ordered = c.ordered || isTime(f.Left) && isTime(f.Right)
		case left != nil && (f.Right.Kind == spec.TermInt || f.Right.Kind == spec.TermSpan):
			r := c.root(left)
			c.ints[r] = append(c.ints[r], f.Right.Int)
		case right != nil && (f.Left.Kind == spec.TermInt || f.Left.Kind == spec.TermSpan):
			r := c.root(right)
			c.ints[r] = append(c.ints[r], f.Left.Int)
		case left != nil && f.Right.Kind == spec.TermText:
			c.around(left, f.Op, f.Right.Const)
		case right != nil && f.Left.Kind == spec.TermText:
			c.around(right, f.Op, f.Left.Const)
		}
	}
}

// sum puts what is added, or compared with a sum, into one class: around its numbers, and around
// 0 and 1, the sum may come to either side. Times are no numbers: a length separates near ones
// from those that are far.
func (c *classes) sum(names []spec.Term) {
	var first any
	timed, ints := false, []int64{0, 1}
	if slices.ContainsFunc(names, func(t spec.Term) bool { return isTime(t) || t.Kind == spec.TermNow }) {
		c.reach, timed, ints = true, true, nil
	}
	for _, t := range names {
		n := node(t)
		if timed && (n == nil || isTime(t)) {
			if n != nil {
				c.compared[c.root(n)] = true
			}
			if in, ok := n.(*spec.Input); ok {
				c.inFact[in] = true
			}
			continue
		}
		if n == nil {
			ints = append(ints, t.Int)
			continue
		}
		if in, ok := n.(*spec.Input); ok {
			c.inFact[in] = true
		}
		if first == nil {
			first = n
		}
		c.join(n, first)
		c.compared[c.root(n)] = true
	}
	if first != nil {
		c.ints[c.root(first)] = append(c.ints[c.root(first)], ints...)
	}
}

// node returns what a term names, or nil for a constant and the clock.
func node(t spec.Term) any {
	switch {
	case t.Kind == spec.TermField || t.Kind == spec.TermOld:
		return t.Field
	case t.Kind == spec.TermInput && t.Input != nil:
		return t.Input
	case t.Kind == spec.TermActor:
		return theActor{}
	}
	return nil
}

func isTime(t spec.Term) bool {
	switch {
	case t.Kind == spec.TermField || t.Kind == spec.TermOld:
		return t.Field.Type.Kind == spec.KindTime
	case t.Kind == spec.TermInput && t.Input != nil:
		return t.Input.Type.Kind == spec.KindTime
	}
	return false
}

// effects lists the effects of an operation and of its branches.
func effects(op *spec.Operation) []*spec.Effects {
	list := []*spec.Effects{&op.Effects}
	for _, b := range op.Choose {
		list = append(list, &b.Effects)
	}
	return list
}
