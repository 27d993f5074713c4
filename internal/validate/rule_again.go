package validate

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// againRules follow one value through the steps that keep it: the key of an effect
// until the effect is asked for again, a deadline until something reads it.
var againRules = []Rule{
	{
		Code: "FSM208", Name: "effect key that repeats", Severity: spec.Warning, Run: repeatedKey, Allow: true,
		Doc: `The step can come again, and nothing in between surely changes a part of the key. Receivers of an effect tell a retry by its key.
So the second mail, charge or check is taken for a repeat of the first, and never happens. Put ` + "`rev`" + ` or a counter into the key
that the step or each way back raises, or leave the key out: the default has the revision. Where one effect for all steps is
meant, write ` + "`allow: {FSM208: one mail for all}`" + `.`,
	},
	{
		Code: "FSM209", Name: "deadline that nothing watches", Severity: spec.Warning, Run: unwatched, Allow: true,
		Doc: `An operation sets the time to ` + "`now + ...`" + `, or adds a length to another time, and no trigger, fact or order reads it: neither
in the next state nor later. So the hour passes and nothing happens: the worker that died keeps its job. Add a ` + "`by: system`" + ` operation
with ` + "`trigger: [after <field>]`" + `, or a guard that compares the time with ` + "`now`" + `. A time that is only shown to people may be allowed.`,
	},
}

// changed lists what a move does to a field: the values it is set to, and
// whether it is changed at all.
func changed(v spec.Move, f *spec.Field) (values []spec.Value, hit bool) {
	list := []*spec.Effects{&v.Operation.Effects}
	if v.Branch != nil {
		list = append(list, &v.Branch.Effects)
	}
	for _, e := range list {
		for _, a := range e.Assigned() {
			if a.Field == f {
				values = append(values, a.Value)
			}
		}
		hit = hit || e.Changes(f)
	}
	return values, hit
}

// renews reports whether a move gives a part of a key a value that no step had
// before it: a counter goes up that nothing lowers, the time goes on, or the call brings another.
func renews(m *spec.Machine, v spec.Move, f *spec.Field) bool {
	if f.Builtin && f.Name == "updated_at" {
		return true
	}
	values, hit := changed(v, f)
	if f.Type.Kind == spec.KindCounter {
		return hit && !m.Lowers(f)
	}
	return slices.ContainsFunc(values, func(x spec.Value) bool { return readsNow(x) || x.Input != nil })
}

func repeatedKey(p *Pass) {
	m := p.Machine
	out := leaving(m)
	for _, op := range m.Operations {
		all := op.AllAsks()
		for i, e := range all {
			if !slices.ContainsFunc(all[:i], func(x *spec.Effect) bool { return sameAsk(x, e) }) {
				repeated(p, out, op, e)
			}
		}
	}
}

// repeated reports an effect that steps ask for again with the same key.
func repeated(p *Pass, out map[*spec.State][]spec.Move, op *spec.Operation, e *spec.Effect) {
	m := p.Machine
	hasRev := func(r spec.FieldRef) bool { return r.Field == m.Rev }
	if e.Atomic || len(e.Key) == 0 || len(op.From) == 0 || slices.ContainsFunc(e.Key, hasRev) {
		return
	}
	kept := func(v spec.Move) bool {
		return !slices.ContainsFunc(e.Key, func(r spec.FieldRef) bool { return renews(m, v, r.Field) })
	}
	asks := func(v spec.Move) bool {
		return slices.ContainsFunc(v.Asked(), func(x *spec.Effect) bool { return sameAsk(x, e) })
	}
	again := func(w spec.Move) bool { return asks(w) && kept(w) }
	for _, v := range op.Moves() {
		if !asks(v) || onlyOnce(m, v) {
			continue
		}
		back := func(s *spec.State) bool {
			return slices.ContainsFunc(op.Moves(), func(w spec.Move) bool { return w.Source() == s && again(w) })
		}
		if state := follow(out, []*spec.State{v.To}, kept, back); state != nil {
			p.report(finding{pos: op.Pos, mark: op.Name, related: also(v.Pos, "the record goes to %s here", v.To.Name),
				hint: fmt.Sprintf("add `rev` to the key, or add a counter to the key that %s raises; "+
					"where one %s for all is meant, write `allow: {FSM208: <why>}` on %s", op.Name, e.Name, op.Name)},
				"%s can come again from %s with the same key of %s: its receiver takes the second for a retry", op.Name, state.Name, e.Name)
			return
		}
	}
}

// onlyOnce reports whether a step shuts the door behind itself: a guard asks for
// an absent field or a constant, the step changes it, and no other operation does.
func onlyOnce(m *spec.Machine, v spec.Move) bool {
	return slices.ContainsFunc(needed(v.Operation), func(x *spec.Fact) bool {
		f := x.Left.Field
		if f == nil || x.Op != spec.Absent && (x.Op != spec.Eq || !x.Right.IsConst()) {
			return false
		}
		if _, hit := changed(v, f); !hit {
			return false
		}
		return !slices.ContainsFunc(m.Operations, func(op *spec.Operation) bool {
			return op != v.Operation && len(op.From) > 0 && len(changes(op, f)) > 0
		})
	})
}

// leaving returns the moves out of each state.
func leaving(m *spec.Machine) map[*spec.State][]spec.Move {
	out := map[*spec.State][]spec.Move{}
	for _, v := range m.Moves() {
		if v.From != nil {
			out[v.Source()] = append(out[v.Source()], v)
		}
	}
	return out
}

// follow goes from states along the moves that keep a value, and returns the first state
// that is one of those looked for, or nil.
func follow(out map[*spec.State][]spec.Move, from []*spec.State, keeps func(spec.Move) bool, found func(*spec.State) bool) *spec.State {
	seen, queue := map[*spec.State]bool{}, []*spec.State{}
	reach := func(s *spec.State) {
		if !seen[s] {
			seen[s] = true
			queue = append(queue, s)
		}
	}
	for _, s := range from {
		reach(s)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		if found(queue[0]) {
			return queue[0]
		}
		for _, v := range out[queue[0]] {
			if keeps(v) {
				reach(v.To)
			}
		}
	}
	return nil
}

func unwatched(p *Pass) {
	m := p.Machine
	out := leaving(m)
	for _, f := range m.Fields {
		if f.Type.Kind != spec.KindTime || readAnywhere(m, f) {
			continue
		}
		keeps := func(v spec.Move) bool {
			_, hit := changed(v, f)
			return !hit && !absentIn(v.To, f)
		}
		watched := func(s *spec.State) bool {
			return slices.ContainsFunc(m.Operations, func(op *spec.Operation) bool { return listed(s, op.From) && readsTime(op, f) })
		}
		set, seen := map[spec.Pos]spec.Move{}, map[spec.Pos]bool{} // by the place of the value
		var order []spec.Value
		for _, v := range m.Moves() {
			values, _ := changed(v, f)
			for _, x := range values {
				if later(x) {
					if _, known := set[x.Pos]; !known {
						set[x.Pos], order = v, append(order, x)
					}
					seen[x.Pos] = seen[x.Pos] || follow(out, []*spec.State{v.To}, keeps, watched) != nil
				}
			}
		}
		for _, x := range order {
			v := set[x.Pos]
			if seen[x.Pos] {
				continue
			}
			hint := fmt.Sprintf("add a `by: system` operation with `from: %s` and `trigger: [after %s]`, or compare %s with `now` in a guard",
				v.To.Name, f.Name, f.Name)
			if m.Alone() {
				hint = fmt.Sprintf("add a `by: system` operation with `from: %s` and a guard that compares %s with `now`", v.To.Name, f.Name)
			}
			p.report(finding{pos: x.Pos, mark: x.Text, related: also(v.To.Pos, "%s is declared here", v.To.Name), hint: hint},
				"%s sets %s to %s, and nothing watches it: no trigger, fact or order reads it in %s or later",
				v.Operation.Name, f.Name, x.Text, v.To.Name)
		}
	}
}

// readAnywhere reports whether a promise, a look-up, the projection or a copy reads
// the time, whatever state the record is in.
func readAnywhere(m *spec.Machine, f *spec.Field) bool {
	is := func(r spec.FieldRef) bool { return r.Field == f }
	for _, l := range m.Lookups {
		if slices.ContainsFunc(l.Fields, is) || slices.ContainsFunc(l.Order, func(o spec.Order) bool { return o.Field == f }) {
			return true
		}
	}
	if m.Projection != nil && slices.ContainsFunc(m.Projection.Fields, func(x *spec.ProjectionField) bool { return x.Field == f }) {
		return true
	}
	for _, op := range m.Operations {
		for _, e := range effects(op) {
			if slices.ContainsFunc(e.effects.Set, func(a spec.Assign) bool { return a.Field != f && slices.Contains(a.Value.Fields(), f) }) {
				return true
			}
		}
	}
	promised := slices.Clone(m.Invariant)
	for _, s := range m.States {
		promised = append(promised, s.Invariant...)
	}
	return slices.ContainsFunc(promised, func(x *spec.Fact) bool { return compares(x, f) })
}

// readsTime reports whether a trigger, a fact or the order of a pick reads the time.
func readsTime(op *spec.Operation, f *spec.Field) bool {
	return slices.ContainsFunc(op.Triggers, func(t spec.Trigger) bool { return waitsFor(t, f) }) ||
		slices.ContainsFunc(slices.Concat(needed(op), facts(op)), func(x *spec.Fact) bool { return compares(x, f) }) ||
		op.Next != nil && slices.ContainsFunc(op.Next.Order, func(o spec.Order) bool { return o.Field == f })
}

// compares reports whether a fact compares the field, and asks for more than its presence.
func compares(x *spec.Fact, f *spec.Field) bool {
	return slices.ContainsFunc(spec.Leaves([]*spec.Fact{x}), func(y *spec.Fact) bool {
		return y.Op != spec.Present && y.Op != spec.Absent && y.Reads(f)
	})
}
