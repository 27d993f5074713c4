package gen

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// What the search changes in a call, one thing at a time.

// edits are the calls that differ from one in a single thing.
func (s search) edits(o *spec.Operation, x tried) []tried {
	m := s.m
	var list []tried
	if !creates(o) {
		touched := s.touched(o, x.before.State)
		for _, f := range m.Fields {
			if s.store && !touched[f] {
				continue // no rule and no effect of the operation looks at it
			}
			for _, v := range s.pool(x, f.Type, nil, func(t spec.Term) bool { return t.Field == f }) {
				if v.Kind == interp.KindAbsent && !f.Type.Optional || v == interp.Word("") || s.store && (v == interp.String("") || v.Kind == interp.KindTime && v.Num < 0) {
					continue
				}
				next := x
				next.before = x.before.With(m, f.Name, v)
				list = append(list, next)
			}
		}
		for i, f := range m.Builtin {
			if !reads(m, f) {
				continue
			}
			for _, v := range s.pool(x, f.Type, nil, func(t spec.Term) bool { return t.Field == f }) {
				if next := x; v.Kind == interp.KindTime && v != interp.Time(time.Time{}) { // one of them is there in every record
					if i == 0 {
						if next.before.CreatedAt = v.AsTime(); s.store && next.before.UpdatedAt.Before(v.AsTime()) {
							next.before.UpdatedAt = v.AsTime()
						}
					} else {
						next.before.UpdatedAt = v.AsTime()
					}
					list = append(list, next)
				}
			}
		}
	}
	for _, in := range o.Inputs {
		for _, v := range s.pool(x, in.Type, in, func(t spec.Term) bool { return t.Input == in }) {
			if v.Kind == interp.KindAbsent && !in.Type.Optional {
				continue // in Go it is the zero value, which is tried too
			}
			next := x
			next.call.Inputs = map[string]interp.Value{}
			for name, old := range x.call.Inputs {
				next.call.Inputs[name] = old
			}
			if next.call.Inputs[in.Name] = v; v.Kind == interp.KindAbsent {
				delete(next.call.Inputs, in.Name)
			}
			list = append(list, next)
		}
	}
	if needsActor(o) {
		for _, v := range s.pool(x, spec.Type{Kind: spec.KindString}, nil, func(t spec.Term) bool { return t.Kind == spec.TermActor }) {
			next := x
			next.call.Actor = v.Text
			list = append(list, next)
		}
	}
	if s.store && o.By == spec.ByOperator {
		next := x
		next.call.Reason = ""
		list = append(list, next)
	}
	for _, g := range peerGuards(o) {
		for d := int64(-1); d <= 1; d++ {
			next := x
			next.others.Count = maps.Clone(x.others.Count)
			next.others.Count[g.Name] = max(0, g.Peers.Than+d)
			list = append(list, next)
		}
	}
	for _, f := range sequences(m, o) {
		for _, n := range []int64{0, 7} {
			next := x
			next.others.Next = maps.Clone(x.others.Next)
			next.others.Next[f.Name] = n
			list = append(list, next)
		}
	}
	if readsNow(m, o) {
		for _, v := range s.pool(x, spec.Type{Kind: spec.KindTime}, nil, func(t spec.Term) bool { return t.Kind == spec.TermNow }) {
			if v.Kind == interp.KindTime && v != interp.Time(time.Time{}) {
				next := x
				next.call.At = v.AsTime()
				list = append(list, next)
			}
		}
	}
	return list
}

// touched are the fields that an operation reads or changes, and the first one whose presence
// a state asks for.
func (s search) touched(o *spec.Operation, in *spec.State) map[*spec.Field]bool {
	touched := map[*spec.Field]bool{}
	for _, f := range factsAbout(s.m, tried{call: interp.Call{Op: o}}) {
		touched[f.Left.Field], touched[f.Right.Field] = true, true
	}
	if o.Next != nil {
		for _, f := range o.Next.Where {
			touched[f.Left.Field], touched[f.Right.Field] = true, true
		}
		for _, k := range o.Next.Order {
			touched[k.Field] = true
		}
	}
	for _, e := range allEffects(o) {
		for _, a := range slices.Concat(e.Set, e.Add) {
			touched[a.Field], touched[a.Value.Field] = true, true
		}
		for _, f := range slices.Concat(e.Clear, e.Increment) {
			touched[f.Field] = true
		}
	}
	for _, st := range append(targets(o), in) {
		if st == nil {
			continue
		}
		for _, refs := range [][]spec.FieldRef{st.Absent, st.Present} {
			for _, f := range refs {
				if !touched[f.Field] {
					touched[f.Field] = true
					break
				}
			}
		}
	}
	return touched
}

// pool lists the values that are tried in one place: those at the edges of its type,
// and of each comparison that it stands in.
func (s search) pool(x tried, t spec.Type, in *spec.Input, is func(spec.Term) bool) []interp.Value {
	m := s.m
	var list []interp.Value
	add := func(v interp.Value) {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	near := func(v interp.Value) {
		switch set := t.Kind == spec.KindSet; {
		case set && v.Kind == interp.KindString: // what may be its member
			v = interp.Set(v.Text)
		case set && v.Kind == interp.KindSet:
			add(v.Union(interp.Set("z")))
			add(interp.Set(v.Members()[min(1, len(v.Members())):]...))
		case v.Kind == interp.KindSet:
			for _, member := range v.Members() {
				add(interp.String(member))
			}
			return
		}
		switch v.Kind {
		case interp.KindInt:
			for d := int64(-1); d <= 1; d++ {
				if sum := v.Num + d; (sum > v.Num) == (d > 0) {
					add(interp.Int(sum))
				}
			}
		case interp.KindTime:
			for d := -time.Microsecond; d <= time.Microsecond; d += time.Microsecond {
				if at := v.AsTime().Add(d); at.Year() > 1 && at.Year() < 9999 { // the interpreter has the bounds of stores
					add(interp.Time(at))
				}
			}
		case interp.KindAbsent:
		default:
			add(v)
		}
	}
	add(interp.Absent)
	switch t.Kind {
	case spec.KindString:
		for _, text := range []string{"", "a", "b"} {
			add(interp.String(text))
		}
		if s.store && in != nil {
			add(interp.String("a\x00"))
		}
	case spec.KindBool:
		add(interp.Bool(false))
		add(interp.Bool(true))
	case spec.KindEnum:
		for _, w := range t.Values {
			add(interp.Word(w.Name))
		}
		add(interp.Word(""))
	case spec.KindJSON:
		add(interp.JSON("{}"))
		add(interp.JSON(`["a",1]`))
		switch {
		case in != nil && s.store:
			add(interp.JSON(`{"a":"\u0000"}`))
		case in != nil:
			add(interp.JSON("null"))
		}
	case spec.KindSet:
		add(interp.Set())
		add(interp.Set("a"))
		add(interp.Set("b", "a"))
		if in != nil {
			add(interp.Set(""))
		}
	case spec.KindSequence:
		for n := range int64(3) {
			add(interp.Int(n))
		}
	case spec.KindTime:
		if s.store && in != nil {
			add(interp.Time(time.Date(0, 12, 31, 23, 0, 0, 0, time.UTC)))
		}
		add(interp.Time(time.Time{}))
		add(interp.Time(noon.Add(time.Hour)))
		add(interp.Time(noon.Add(-time.Hour)))
	case spec.KindCounter:
		near(interp.Int(0))
		add(interp.Int(math.MaxInt64))
	default:
		add(interp.Int(0))
		add(interp.Int(7))
		lo, hi := t.Min, t.Max
		if in != nil {
			lo, hi = inputBounds(x.call.Op, in)
		}
		for _, bound := range []*int64{lo, hi} {
			if bound != nil {
				near(interp.Int(*bound))
			}
		}
	}
	for _, f := range factsAbout(m, x) {
		switch {
		case is(f.Left):
			near(termValue(m, f.Right, x.before, x.call))
		case f.Right.Kind != 0 && is(f.Right):
			near(termValue(m, f.Left, x.before, x.call))
		}
	}
	return list
}

// factsAbout lists the facts that may decide a call: guards, branches, and the rules of
// the states that it can lead to. Without an operation they are those of the state.
func factsAbout(m *spec.Machine, x tried) []*spec.Fact {
	facts := slices.Clone(m.Invariant)
	if x.call.Op == nil {
		return append(facts, x.before.State.Invariant...)
	}
	facts = append(facts, allFacts(x.call.Op)...)
	for _, s := range targets(x.call.Op) {
		facts = append(facts, s.Invariant...)
	}
	return facts
}

// termValue returns the value of one side of a fact.
func termValue(m *spec.Machine, t spec.Term, r interp.Record, c interp.Call) interp.Value {
	switch t.Kind {
	case spec.TermField:
		return r.Value(m, t.Field)
	case spec.TermInput:
		return c.Inputs[t.Name]
	case spec.TermActor:
		return interp.String(c.Actor)
	case spec.TermNow:
		return interp.Time(c.At)
	case spec.TermInt:
		return interp.Int(t.Int)
	case spec.TermBool:
		return interp.Bool(t.Bool)
	case spec.TermWord:
		return interp.Word(t.Word.Name)
	}
	return interp.Absent
}
