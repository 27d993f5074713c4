package spec

import "slices"

// Feed says that what an input brings can stand in a field too, so that who erases
// the field erases the input.
type Feed struct {
	Input *Input
	Field *Field
}

// Feeds lists which inputs of an operation flow into which fields, by input and
// then by field. An input feeds a field that a `set` or an `add` gives it to, and
// one that a guard, `next` or a branch finds it equal to, or a member of. So does
// an input that is found equal to what such a field becomes. An input that feeds
// nothing feeds the field of its name. This is the one place that says so.
func (m *Machine) Feeds(o *Operation) []Feed {
	if len(o.Inputs) == 0 {
		return nil
	}
	fed := make(map[*Input][]*Field, len(o.Inputs))
	branches := o.Choose
	if len(branches) == 0 {
		branches = []*Branch{{}}
	}
	var passed []*Fact // of the branches before, that find two places unequal: here they may be equal
	for _, b := range branches {
		newFlow(o, b, passed).feed(fed)
		for _, f := range b.When {
			if f.Op == Ne || f.Op == NotIn {
				passed = append(passed, f)
			}
		}
	}
	var list []Feed
	for _, in := range o.Inputs {
		fields := fed[in]
		if f := m.Field(in.Name); len(fields) == 0 && f != nil && !f.Builtin {
			fields = append(fields, f)
		}
		slices.SortFunc(fields, func(a, b *Field) int {
			if a.Pos.Before(b.Pos) {
				return -1
			}
			return 1
		})
		for _, f := range slices.Compact(fields) {
			list = append(list, Feed{in, f})
		}
	}
	return list
}

// place is where a value stands in a call: an input, the actor, the time, or a
// field before the step (0), after the effects of the operation (1), after those of
// the branch (2).
type place struct {
	kind  TermKind
	input *Input
	field *Field
	step  int
}

// flow says which places of a call hold equal values on the way through one branch.
type flow struct {
	equal  map[place][]place
	holds  map[place][]place // places between which one is a set that holds the other, or its members
	fields map[*Field]bool   // that stand in it
}

func newFlow(o *Operation, b *Branch, passed []*Fact) *flow {
	w := &flow{equal: map[place][]place{}, holds: map[place][]place{}, fields: map[*Field]bool{}}
	for _, r := range o.Require {
		w.facts(r.When, 0, Eq, In)
	}
	if o.Next != nil {
		w.facts(o.Next.Where, 0, Eq, In)
	}
	changed := w.effects(&o.Effects, 1)
	w.facts(b.When, 1, Eq, In)
	w.facts(passed, 1, Ne, NotIn)
	for f := range w.fields {
		if !changed[f] {
			link(w.equal, place{kind: TermField, field: f}, place{kind: TermField, field: f, step: 1})
		}
	}
	w.effects(&b.Effects, 2)
	return w
}

func link(edges map[place][]place, a, b place) {
	edges[a], edges[b] = append(edges[a], b), append(edges[b], a)
}

// facts notes what facts about the fields at a step say, by the two relations under
// which places hold one value, and one place the other's.
func (w *flow) facts(facts []*Fact, step int, equal, in FactOp) {
	for _, f := range facts {
		edges := w.equal
		switch f.Op {
		case equal:
		case in, Covers:
			edges = w.holds
		default:
			continue
		}
		if left, right := w.term(&f.Left, step), w.term(&f.Right, step); left.kind != 0 && right.kind != 0 {
			link(edges, left, right)
		}
	}
}

// term returns the place of a term; that of a constant has no kind.
func (w *flow) term(t *Term, step int) place {
	switch t.Kind {
	case TermField:
		w.note(t.Field)
		return place{kind: TermField, field: t.Field, step: step}
	case TermInput:
		return place{kind: TermInput, input: t.Input}
	case TermActor, TermNow:
		return place{kind: t.Kind}
	}
	return place{}
}

func (w *flow) note(f *Field) {
	if !f.Builtin {
		w.fields[f] = true
	}
}

// effects notes what fields become at a step, and returns them. All values are of
// the record before the operation.
func (w *flow) effects(e *Effects, step int) map[*Field]bool {
	changed := map[*Field]bool{}
	for i, list := range [][]Assign{e.Set, e.Add} {
		edges := []map[place][]place{w.equal, w.holds}[i]
		for _, a := range list {
			w.note(a.Field)
			changed[a.Field] = true
			to := place{kind: TermField, field: a.Field, step: step}
			switch a.Value.Kind {
			case ValueInput, ValueInputOrAbsent, ValueInputOrSame:
				link(edges, to, place{kind: TermInput, input: a.Value.Input})
			case ValueField:
				w.note(a.Value.Field)
				link(edges, to, place{kind: TermField, field: a.Value.Field})
			case ValueActor:
				link(edges, to, place{kind: TermActor})
			}
		}
	}
	for _, list := range [][]FieldRef{e.Clear, e.Increment} {
		for _, r := range list {
			changed[r.Field] = true
		}
	}
	return changed
}

// feed adds the fields that each input feeds.
func (w *flow) feed(fed map[*Input][]*Field) {
	for f := range w.fields {
		seen := map[place]bool{}
		for step := range 3 {
			w.reach(place{kind: TermField, field: f, step: step}, true, seen)
		}
		for p := range seen {
			if p.kind == TermInput {
				fed[p.input] = append(fed[p.input], f)
			}
		}
	}
}

// reach notes the places that hold a value of a place, or are a set that holds it:
// at most one set lies on the way, since two members of a set are not equal.
func (w *flow) reach(from place, sets bool, seen map[place]bool) {
	around := []place{from}
	met := map[place]bool{from: true}
	for len(around) > 0 {
		p := around[0]
		around = around[1:]
		seen[p] = true
		for _, next := range w.equal[p] {
			if !met[next] {
				met[next] = true
				around = append(around, next)
			}
		}
		if sets {
			for _, next := range w.holds[p] {
				w.reach(next, false, seen)
			}
		}
	}
}
