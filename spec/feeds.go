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
// one that a guard, `next` or a branch finds it equal to, or a member of, or that tells
// by it whose records a guard counts. What a sum adds feeds the field that becomes the sum.
// So does an input that is found equal to what such a field becomes; two places are equal, too,
// where neither is above the other. Where facts leave it open, they may be equal: a branch
// that two unequal places stand before is taken when any of its facts fails. An input that
// feeds nothing feeds the field of its name. This is the one place that says so.
func (m *Machine) Feeds(o *Operation) []Feed {
	if len(o.Inputs) == 0 {
		return nil
	}
	fed := make(map[*Input][]*Field, len(o.Inputs))
	branches := o.Choose
	if len(branches) == 0 {
		branches = []*Branch{{}}
	}
	var passed []*Fact // of the branches before: one of each does not hold here
	for _, b := range branches {
		newFlow(o, b, passed).feed(fed)
		passed = append(passed, b.When...)
	}
	for _, q := range o.Require {
		for _, f := range q.Of {
			if in := f.Right.Input; in != nil && !f.Left.Field.Builtin {
				fed[in] = append(fed[in], f.Left.Field)
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
			return slices.Index(m.Fields, a) - slices.Index(m.Fields, b)
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
	within map[place][]place // the sets that hold a place, or its members
	holds  map[place][]place // what is in a set
	below  map[place][]place // what is not below a place
	fields map[*Field]bool   // that stand in it
	added  map[*Input][]*Field
}

func newFlow(o *Operation, b *Branch, passed []*Fact) *flow {
	w := &flow{
		equal: map[place][]place{}, within: map[place][]place{}, holds: map[place][]place{}, below: map[place][]place{},
		fields: map[*Field]bool{}, added: map[*Input][]*Field{},
	}
	for _, r := range o.Require {
		w.facts(r.When, 0, false)
	}
	w.facts(o.Chosen(), 0, false)
	changed := w.effects(&o.Effects, 1)
	w.facts(b.When, 1, false)
	w.facts(passed, 1, true)
	for f := range w.fields {
		if !changed[f] {
			link(w.equal, place{kind: TermField, field: f}, place{kind: TermField, field: f, step: 1})
		}
	}
	w.effects(&b.Effects, 2)
	w.level()
	return w
}

func link(edges map[place][]place, a, b place) {
	edges[a], edges[b] = append(edges[a], b), append(edges[b], a)
}

// facts notes what facts about the fields at a step say, or what one of them says when it
// does not hold.
func (w *flow) facts(facts []*Fact, step int, denied bool) {
	for _, f := range Leaves(facts) {
		left, right := w.term(&f.Left, step), w.term(&f.Right, step)
		if left.kind == 0 || right.kind == 0 {
			continue
		}
		switch {
		case f.Op == Eq && !denied, f.Op == Ne && denied:
			link(w.equal, left, right)
		case f.Op == In && !denied, f.Op == NotIn && denied:
			w.put(left, right)
		case f.Op == Covers && !denied:
			w.put(right, left)
		case f.Op == Le && !denied, f.Op == Gt && denied:
			w.below[left] = append(w.below[left], right)
		case f.Op == Ge && !denied, f.Op == Lt && denied:
			w.below[right] = append(w.below[right], left)
		}
	}
}

// put notes that a place, or all its members, are in a set.
func (w *flow) put(p, set place) {
	w.within[p], w.holds[set] = append(w.within[p], set), append(w.holds[set], p)
}

// level links places of which neither is above the other.
func (w *flow) level() {
	for p, above := range w.below {
		for _, next := range above {
			met := map[place]bool{next: true}
			for around := []place{next}; len(around) > 0; around = around[1:] {
				for _, q := range slices.Concat(w.equal[around[0]], w.below[around[0]]) {
					if !met[q] {
						met[q] = true
						around = append(around, q)
					}
				}
			}
			if met[p] {
				link(w.equal, p, next)
			}
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

// effects notes what fields become at a step, and returns those that are not what they
// were. All values are of the record before the operation.
func (w *flow) effects(e *Effects, step int) map[*Field]bool {
	changed := map[*Field]bool{}
	for i, list := range [][]Assign{e.Set, slices.Concat(e.Add, e.Remove)} {
		for _, a := range list {
			w.note(a.Field)
			to := place{kind: TermField, field: a.Field, step: step}
			var from place
			switch a.Value.Kind {
			case ValueInput, ValueInputOrAbsent, ValueInputOrSame, ValueInputOrDefault, ValueInputOrReject:
				from = place{kind: TermInput, input: a.Value.Input}
			case ValueField:
				w.note(a.Value.Field)
				from = place{kind: TermField, field: a.Value.Field}
			case ValueActor:
				from = place{kind: TermActor}
			case ValueSum:
				for _, in := range a.Value.Inputs() {
					w.added[in] = append(w.added[in], a.Field)
				}
			}
			switch {
			case i == 1:
				w.put(place{kind: TermField, field: a.Field}, to)
				if from.kind != 0 {
					w.put(from, to)
				}
			case from.kind != 0:
				link(w.equal, to, from)
			}
			changed[a.Field] = changed[a.Field] || i == 1 || a.Value.Kind != ValueInputOrSame
		}
	}
	for _, r := range e.Named() {
		changed[r.Field] = true
	}
	return changed
}

// feed adds the fields that each input feeds.
func (w *flow) feed(fed map[*Input][]*Field) {
	for in, fields := range w.added {
		fed[in] = append(fed[in], fields...)
	}
	for f := range w.fields {
		seen := map[place]bool{}
		for step := range 3 {
			from := place{kind: TermField, field: f, step: step}
			reach(from, seen, w.equal, w.within)
			reach(from, seen, w.equal, w.holds)
		}
		for p := range seen {
			if p.kind == TermInput {
				fed[p.input] = append(fed[p.input], f)
			}
		}
	}
}

// reach notes the places that hold a value of a place, or are sets that hold it: from set
// to wider set, or from set to what is in it. Two members of one set are not equal.
func reach(from place, seen map[place]bool, ways ...map[place][]place) {
	met := map[place]bool{from: true}
	for around := []place{from}; len(around) > 0; around = around[1:] {
		seen[around[0]] = true
		for _, edges := range ways {
			for _, next := range edges[around[0]] {
				if !met[next] {
					met[next] = true
					around = append(around, next)
				}
			}
		}
	}
}
