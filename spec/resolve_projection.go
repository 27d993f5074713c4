package spec

// bindProjection binds the derived machine.
func (r *resolver) bindProjection() {
	a := r.ast.projection
	if a == nil {
		return
	}
	q := &Projection{Pos: a.pos, Entity: a.entity.text, Key: r.groupRefs(a.key)}
	r.m.Projection = q
	for _, f := range a.fields {
		out := &ProjectionField{Pos: f.name.pos, Name: f.name.text, Agg: f.agg.text}
		if f.field.given() {
			if out.Field = r.field(f.field); out.Field == nil {
				continue
			}
			switch out.Field.Type.Kind {
			case KindInt, KindCounter, KindSequence, KindTime, KindString, 0:
			default:
				r.at(codeValue, f.field, "name a number, a time or a string", "field %s is %s, which has no %s", out.Field.Name, article(out.Field.Type.Kind.String()), f.agg.text)
				continue
			}
		}
		q.Fields = append(q.Fields, out)
	}
	states := table[ProjectedState]{what: "projected state", byName: map[string]ProjectedState{}, broken: a.broken}
	for _, rule := range a.rules {
		out := &ProjectionRule{
			Pos: rule.pos, State: ProjectedState{rule.state.pos, rule.state.text},
			Any: r.stateRefs(rule.any), All: r.stateRefs(rule.all), None: r.stateRefs(rule.none), AtLeast: rule.atLeast,
		}
		if rule.atLeast > 0 && !rule.any.given() && !rule.all.given() {
			r.add(codeTogether, rule.atLeastPos, len("at_least"), "add `any: [...]` or `all: [...]` with the states to count", "rule for %s: `at_least` counts the records of `any` and `all`, and there is neither", rule.state.text)
		}
		q.Rules = append(q.Rules, out)
		states.add(out.State.Name, out.State)
		r.note(rule.state, states.byName[out.State.Name])
	}
	for _, w := range a.reserved.words {
		if at, taken := states.byName[w.text]; taken {
			r.at(codeTogether, w, "remove it from `reserved`", "projected state %s is reserved, but a rule leads to it", w.text).related(at.Pos, "the rule")
			continue
		}
		q.Reserved = append(q.Reserved, ProjectedState{w.pos, w.text})
		states.add(w.text, ProjectedState{w.pos, w.text})
	}
	for _, t := range a.transitions {
		from, ok1 := lookup(r, &states, t.from)
		to, ok2 := lookup(r, &states, t.to)
		if ok1 && ok2 {
			q.Transitions = append(q.Transitions, &ProjectionMove{Pos: t.pos, From: ProjectedState{t.from.pos, from.Name}, To: ProjectedState{t.to.pos, to.Name}})
		}
	}
}
