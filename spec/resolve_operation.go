package spec

import (
	"fmt"
	"slices"
)

func (r *resolver) bindOperation(o *Operation, a *astOperation) {
	if a.keys == nil {
		return // no mapping, which was reported
	}
	o.Creates, o.From = r.stateRefs(a.creates), r.stateRefs(a.from)
	o.RecordOnlyIn = r.stateRefs(a.recordOnlyIn)
	o.OnRefusalRecordOnly = a.onRefusal.text == "record_only"
	if a.to.given() {
		if a.to.text == "same" {
			o.Same = true
		} else {
			o.To = r.stateRef(a.to)
		}
	}
	r.checkShape(o, a)
	r.bindInputs(o, a)
	o.Effects = r.effects(o, a, &a.effects, Effects{})
	sc := scope{op: o, broken: a.inputsBroken}
	for _, w := range a.require.words {
		g, ok := lookup(r, &r.guards, w)
		if !ok || g.Name != w.text { // what the guard near to it asks for is not asked of a slip
			continue
		}
		via := sc
		via.require = w
		q := &Requirement{Pos: w.pos, Guard: g, When: r.facts(r.guardFacts[g], via)}
		if g.Peers != nil {
			if q.Of = g.Peers.Of; !g.Peers.Own() {
				q.Of = r.members(g.Peers, r.groupOf[g], via)
			}
			if g.Peers.Limit != nil {
				q.Limit = r.limit(g, r.groupOf[g], via)
			}
			q.When = q.limitHolds(o)
		}
		o.Require = append(o.Require, q)
	}
	from, created := stateNames(a.from), stateNames(a.creates)
	r.bindAsks(o, a)
	for _, b := range a.choose {
		if branch := r.branch(o, a, b, from, created); branch != nil {
			o.Choose = append(o.Choose, branch)
		}
	}
	o.branches = o.branchesBySource()
	if len(o.From) > 8 {
		o.places = make(map[*State]int, len(o.From))
		for i, f := range o.From {
			o.places[f.State] = i
		}
	}
	o.Event, o.EventPos, o.EventWas = a.event.text, a.event.pos, a.was.event.text
	if !a.event.given() {
		o.Event, o.EventPos = o.Name, o.Pos
		if o.EventWas == "" {
			o.EventWas = o.Was // the event was named after the operation
		}
	}
	o.DedupeBy = r.dedupe(a)
	if a.next != nil {
		o.Next = &Next{Pos: a.next.pos, Where: r.facts(a.next.where, sc), Order: r.orders(a.next.order)}
	}
	if a.each != nil {
		o.Each = &Each{Pos: a.each.pos, Where: r.facts(a.each.where, sc), Most: a.each.most}
	}
	for _, t := range a.triggers {
		if trigger, ok := r.trigger(t); ok {
			o.Triggers = append(o.Triggers, trigger)
		}
	}
}

// checkShape checks that the operation starts and ends somewhere (FSM014) and
// that its keys go together (FSM021).
func (r *resolver) checkShape(o *Operation, a *astOperation) {
	together := func(key, hint, format string, args ...any) {
		r.add(codeTogether, a.keys[key], len(key), hint, "operation %s: %s", o.Name, fmt.Sprintf(format, args...))
	}
	creates := a.has("creates")
	switch {
	case !creates && !a.has("from"):
		r.at(codeShape, a.name, "add `from: <states>` for a step of a record, or `creates: <state>` for a new one", "operation %s has neither `from` nor `creates`", o.Name)
	case creates && a.has("from"):
		r.add(codeShape, a.keys["from"], len("from"), "make two operations of it", "operation %s has both `creates` and `from`", o.Name)
	}
	if a.has("to") && a.has("choose") {
		r.add(codeShape, a.keys["choose"], len("choose"), "keep `to` for one target, `choose` for several", "operation %s has both `to` and `choose`", o.Name)
	}
	if a.has("trigger") && o.By == ByOperator {
		together("trigger", "remove it, or write `by: system`", "`trigger` does not go with `by: operator`: nobody gives a reason")
	}
	switch {
	case !a.has("each") || creates:
	case a.has("next"):
		together("each", "remove it", "`each` does not go with `next`: one takes all records that fit, the other one the first")
	case o.By == BySystem:
		together("each", "remove it", "`each` does not go with `by: system`: the system moves one record at a time")
	}
	if !creates {
		if a.has("from") && !a.has("to") && !a.has("choose") {
			r.at(codeShape, a.name, "add `to: <state>`, `to: same` or `choose`", "operation %s has neither `to` nor `choose`", o.Name)
		}
		if a.has("dedupe_by") {
			together("dedupe_by", "remove it", "`dedupe_by` goes with `creates` only")
		}
		from := stateNames(a.from)
		for i, s := range a.recordOnlyIn.words {
			switch {
			case !from[s.text]:
			case s.group == nil:
				r.at(codeTogether, s, "keep it in one of the two", "operation %s lists state %s under `from` and under `record_only_in`", o.Name, s.text)
			case !slices.ContainsFunc(a.recordOnlyIn.words[:i], func(w word) bool { return w.group == s.group && from[w.text] }):
				r.at(codeTogether, s, "list the states without it in place of the group",
					"operation %s lists state %s of %s under `from` and under `record_only_in`", o.Name, s.text, s.group.Name)
			}
		}
		return
	}
	if a.has("to") {
		together("to", "remove `to`: the record starts in the state under `creates`", "`to` does not go with `creates`")
	}
	if len(a.creates.words) > 1 && !a.has("choose") {
		r.at(codeShape, a.name, "add `choose` with a branch for each state, or create one state", "operation %s creates one of %d states, and nothing chooses", o.Name, len(a.creates.words))
	}
	for _, key := range []string{"next", "each", "record_only_in", "on_refusal", "trigger"} {
		if a.has(key) && !a.has("from") {
			together(key, "remove it: no record exists yet", "`%s` does not go with `creates`", key)
		}
	}
}

// branch binds one line of `choose`.
func (r *resolver) branch(o *Operation, a *astOperation, b *astBranch, from, created map[string]bool) *Branch {
	out := &Branch{Pos: b.pos, From: r.stateRefs(b.from), RecordOnly: b.recordOnly, Reject: b.reject.text}
	creates := a.has("creates")
	for _, w := range b.from.words {
		if creates {
			r.at(codeTogether, w, "remove it: no record exists yet", "operation %s: `from` does not go with `creates`", o.Name)
			break
		}
		if r.states.byName[w.text] != nil && a.from.given() && !from[w.text] {
			r.at(codeValue, w, "list the state under `from` of the operation too", "operation %s does not start in state %s", o.Name, w.text)
		}
	}
	var ends []string
	for _, key := range []string{"to", "record_only", "reject"} {
		if b.has(key) {
			ends = append(ends, key)
		}
	}
	switch len(ends) {
	case 0:
		r.add(codeShape, b.pos, 1, "add `to: <state>`, `to: same`, `record_only: true` or `reject: <error>`", "operation %s: this branch leads nowhere", o.Name)
	case 1:
		if key := b.effectKey(); key != "" && ends[0] != "to" {
			r.add(codeTogether, b.keys[key], len(key), "remove it: nothing is written by such a branch", "operation %s: `%s` does not go with `%s`", o.Name, key, ends[0])
		}
	default:
		r.add(codeTogether, b.keys[ends[1]], len(ends[1]), "keep one of them", "operation %s: `%s` and `%s` do not go together", o.Name, ends[0], ends[1])
	}
	switch {
	case b.to.text == "same" && creates, b.recordOnly && creates:
		r.add(codeTogether, b.pos, 1, "name one of the states under `creates`", "operation %s creates a record, so a branch cannot leave one as it is", o.Name)
	case b.to.text == "same":
		out.Same = true
	case b.to.given():
		out.To = r.stateRef(b.to)
		if out.To != nil && creates && len(o.Creates) > 0 && !created[out.To.State.Name] {
			r.at(codeValue, b.to, "list it under `creates`", "state %s is not among the states that operation %s creates", out.To.State.Name, o.Name)
		}
	}
	out.When = r.facts(b.when, scope{op: o, broken: a.inputsBroken, branch: true})
	out.Effects = r.effects(o, a, &b.effects, o.Effects)
	if !b.recordOnly && !b.reject.given() {
		r.bindBranchAsks(o, b, out)
	}
	return out
}

// effectKey returns the first key of the branch that needs a step.
func (b *astBranch) effectKey() string {
	for _, key := range []string{"set", "clear", "increment", "add", "reset", "decrement", "remove", "effect", "then"} {
		if b.has(key) {
			return key
		}
	}
	return ""
}

// dedupe binds `dedupe_by`: fields, or the name of a `unique`.
func (r *resolver) dedupe(a *astOperation) *Dedupe {
	if !a.dedupeBy.given() || len(a.dedupeBy.words) == 0 {
		return nil
	}
	d := &Dedupe{Pos: a.dedupeBy.pos}
	if w := a.dedupeBy.words[0]; len(a.dedupeBy.words) == 1 && r.fields.byName[w.text] == nil {
		if u := r.uniques.byName[w.text]; u != nil {
			d.Unique, d.Fields = u, u.Fields
			r.note(w, u)
			return d
		}
		if r.uniques.broken {
			return nil
		}
	}
	d.Fields = r.groupRefs(a.dedupeBy)
	return d
}

// orders binds `[field, -field]`.
func (r *resolver) orders(l list) []Order {
	var out []Order
	for _, w := range l.words {
		down := len(w.text) > 0 && w.text[0] == '-'
		if down {
			w = w.part(1, w.size-1, w.text[1:])
		}
		f := r.field(w)
		if f == nil {
			continue
		}
		if f.Type.Kind == KindJSON || f.Type.Kind == KindSet {
			r.at(codeValue, w, "order by a string, number, time, bool or enum", "field %s is %s, which has no order", f.Name, article(f.Type.Kind.String()))
		}
		out = append(out, Order{FieldRef{w.pos, f}, down})
	}
	return out
}

func (r *resolver) trigger(a *astTrigger) (Trigger, bool) {
	t := Trigger{Pos: a.text.pos, Startup: a.startup, Plus: a.plus, Text: a.text.text}
	if a.startup {
		return t, true
	}
	if t.After = r.field(a.after); t.After == nil {
		return t, false
	}
	if k := t.After.Type.Kind; k != KindTime && k != 0 {
		r.at(codeValue, a.after, "name a field of type time, created_at or updated_at", "field %s is %s and no time", t.After.Name, article(k.String()))
		return t, false
	}
	if !a.by.given() {
		return t, true
	}
	if t.By = r.field(a.by); t.By == nil {
		return t, false
	}
	if k := t.By.Type.Kind; k != KindDuration && k != 0 {
		hint := "name a field of type duration, or write a length such as 5m"
		if k == KindInt {
			hint = Term{Kind: TermField, Field: t.By}.beLength()
		}
		r.at(codeValue, a.by, hint, "field %s is %s and no length", t.By.Name, article(k.String()))
		return t, false
	}
	return t, true
}
