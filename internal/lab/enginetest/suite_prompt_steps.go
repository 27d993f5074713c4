package enginetest

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/spec"
)

// way is one way of one operation from a state to a state; from is nil for a creation.
type way struct {
	op       *spec.Operation
	from, to *spec.State
}

// allWays lists what the operations can do, each once.
func allWays(m *spec.Machine) []way {
	var all []way
	for _, v := range m.Moves() {
		if w := (way{v.Operation, v.Source(), v.To}); !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// String names the way.
func (w way) String() string {
	if w.from == nil {
		return fmt.Sprintf("%s to %s", w.op.Name, w.to.Name)
	}
	return fmt.Sprintf("%s from %s to %s", w.op.Name, w.from.Name, w.to.Name)
}

// oneStep is a lawful step of a record: what it was (in no state for a creation) and
// what it becomes.
type oneStep struct {
	way
	before, after interp.Record
	n             int // of the case of its way
}

// steps returns the lawful steps, one for each way in which an operation is
// decided. A way that no case takes by itself is made up.
func steps(k *world.Cases) []oneStep {
	m := k.M
	var all []oneStep
	count := map[way]int{}
	add := func(w way, before, after interp.Record) {
		id := fmt.Sprintf("record-%d", len(all)+1)
		step := oneStep{w, named(before, id), named(after, id), count[w]}
		if step.before.Rev, step.after.Rev = 1, 2; w.from == nil {
			step.before, step.after.Rev = interp.Record{}, 1
		}
		count[w]++
		all = append(all, step)
	}
	for _, o := range m.Operations {
		for _, from := range world.Starts(m, o) {
			for _, c := range k.Ways(o, from) {
				own := fmt.Sprintf(" #%d", len(all))
				c.Call, c.Record = apartCall(m, c.Call, own), apart(m, c.Record, own)
				out, ok := world.Moved(m, c)
				if !ok { // what follows may be refused, or its mark has made it another case
					continue
				}
				first := out.Events[0]
				after, err := interp.World{Log: out.Events}.With(c.Record).At(m, first.ID, first.Rev)
				if from == nil {
					after, err = interp.Fold(m, out.Events[:1])
				}
				if err == nil {
					add(way{o, from, after.State}, c.Record, after)
				}
			}
		}
	}
	made := func(w way, fits func(before, after interp.Record) bool) {
		for _, r := range k.Sound(w.from) {
			if after, ok := fit(k, r, w.to, w.op); ok && fits(r, after) {
				add(w, r, after)
				return
			}
		}
	}
	for _, w := range allWays(m) {
		if w.from == nil {
			continue
		}
		if count[w] == 0 {
			made(w, func(_, _ interp.Record) bool { return true })
		}
		for _, f := range m.Fields { // counters and sets that could be made less
			falls := func(before, after interp.Record) bool {
				return slices.ContainsFunc(k.Values(f), func(v interp.Value) bool {
					return less(m, f, v, before.Value(m, f)) && world.MustHold(m, with(m, after, f, v))
				})
			}
			if writes(w.op, f) && !slices.ContainsFunc(all, func(s oneStep) bool { return s.way == w && falls(s.before, s.after) }) {
				made(w, falls)
			}
		}
	}
	return all
}

// fit returns the record in another state, with no field changed that none of the operations
// writes and no counter or set made less: what may change is as in another record of that state.
func fit(k *world.Cases, r interp.Record, to *spec.State, ops ...*spec.Operation) (interp.Record, bool) {
	m := k.M
	for _, like := range append([]interp.Record{r}, k.Sound(to)...) {
		after := r.In(to)
		for _, f := range m.Fields {
			v := like.Value(m, f)
			if !less(m, f, v, r.Value(m, f)) && slices.ContainsFunc(ops, func(o *spec.Operation) bool { return writes(o, f) }) {
				after = with(m, after, f, v)
			}
		}
		if world.MustHold(m, after) && !strays(m, r, after) {
			return after, true
		}
	}
	return interp.Record{}, false
}

// strays reports whether a step breaks a rule over it.
func strays(m *spec.Machine, before, after interp.Record) bool {
	rule, _ := interp.Broken(m, before, after)
	return rule != nil
}

// less reports whether a counter fell or a set lost a member in a way that no operation can.
func less(m *spec.Machine, f *spec.Field, now, before interp.Value) bool {
	if f.Type.Kind == spec.KindCounter && m.Decrements(f) && now.Num == before.Num-1 {
		return false
	}
	if m.Removes(f) {
		return false
	}
	if m.Resets(f) && now == interp.NewRecord(m, "").Value(m, f) {
		return false
	}
	return f.Type.Kind == spec.KindCounter && now.Num < before.Num || f.Type.Kind == spec.KindSet && !now.Covers(before)
}

// batchesOf puts the steps into as few databases as the rules across records allow.
func batchesOf(k *world.Cases) [][]oneStep {
	var all [][]oneStep
	meet := func(a, b oneStep) bool {
		for _, x := range []interp.Record{a.before, a.after} {
			for _, y := range []interp.Record{b.before, b.after} {
				if x.ID != "" && y.ID != "" && len(clashes(k.M, x, y)) > 0 {
					return true
				}
			}
		}
		return false
	}
next:
	for _, step := range steps(k) {
		for i, b := range all {
			if !slices.ContainsFunc(b, func(other oneStep) bool { return meet(step, other) }) {
				all[i] = append(all[i], step)
				continue next
			}
		}
		all = append(all, []oneStep{step})
	}
	return all
}
