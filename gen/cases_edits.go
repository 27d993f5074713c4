package gen

import (
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// What the search changes in a call, one thing at a time.

// edits are the calls that differ from one in a single thing.
func (s search) edits(o *spec.Operation, x tried) iter.Seq[tried] {
	return func(yield func(tried) bool) { s.eachEdit(o, x, yield) }
}

func (s search) eachEdit(o *spec.Operation, x tried, yield func(tried) bool) {
	m := s.m
	x.edited, x.input = true, nil
	if !creates(o) {
		for _, f := range s.view(o).fields { // no rule and no effect of the operation looks at the others
			for _, v := range s.pool(x, f.Type, nil, func(t spec.Term) bool { return t.Field == f }) {
				if v.Kind == interp.KindAbsent && !f.Type.Optional || v == interp.Word("") || v == interp.String("") || v.Kind == interp.KindTime && v.Num < 0 {
					continue
				}
				next := x
				next.before = x.before.With(m, f.Name, v)
				if !yield(next) {
					return
				}
			}
		}
		for i, f := range m.Builtin {
			if !reads(m, f) {
				continue
			}
			for _, v := range s.pool(x, f.Type, nil, func(t spec.Term) bool { return t.Field == f }) {
				if next := x; v.Kind == interp.KindTime && v != interp.Time(time.Time{}) { // one of them is there in every record
					if i == 0 {
						if next.before.CreatedAt = v.AsTime(); next.before.UpdatedAt.Before(v.AsTime()) {
							next.before.UpdatedAt = v.AsTime()
						}
					} else {
						next.before.UpdatedAt = v.AsTime()
					}
					if !yield(next) {
						return
					}
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
			next.input, next.call.Inputs = in, maps.Clone(x.call.Inputs)
			if next.call.Inputs[in.Name] = v; v.Kind == interp.KindAbsent {
				delete(next.call.Inputs, in.Name)
			}
			if !yield(next) {
				return
			}
		}
	}
	if needsActor(o) {
		for _, v := range s.pool(x, spec.Type{Kind: spec.KindString}, nil, func(t spec.Term) bool { return t.Kind == spec.TermActor }) {
			next := x
			next.call.Actor = v.Text
			if !yield(next) {
				return
			}
		}
	}
	if o.By == spec.ByOperator {
		next := x
		next.call.Reason = ""
		if !yield(next) {
			return
		}
	}
	for _, q := range peerRequirements(o) {
		for d := int64(-1); d <= 1; d++ {
			next := x
			next.others.Count = maps.Clone(x.others.Count)
			next.others.Count[q.Guard.Name] = max(0, tooMany(m, q, x.before, filledInputs(m, x.call))+d)
			if !yield(next) {
				return
			}
		}
	}
	for _, f := range sequences(m, o) {
		for _, n := range []int64{0, 7} {
			next := x
			next.others.Next = maps.Clone(x.others.Next)
			next.others.Next[f.Name] = n
			if !yield(next) {
				return
			}
		}
	}
	if readsNow(m, o) {
		for _, v := range s.pool(x, spec.Type{Kind: spec.KindTime}, nil, func(t spec.Term) bool { return t.Kind == spec.TermNow }) {
			if v.Kind == interp.KindTime && v != interp.Time(time.Time{}) {
				next := x
				next.call.At = v.AsTime()
				if !yield(next) {
					return
				}
			}
		}
	}
}

// view is what the search knows of an operation.
type view struct {
	fields  []*spec.Field // that the operation reads or changes, in their order
	changed []*spec.Field
	facts   []*spec.Fact // that may decide a call
}

// view returns the fields and the facts that matter to an operation: those of its guards and
// branches, what its effects change and read, and the rules of states about them. Of the fields
// whose presence a state asks for it has the first.
func (s search) view(o *spec.Operation) *view {
	if v := s.known.views[o]; v != nil {
		return v
	}
	v, read, changed := &view{facts: allFacts(o)}, map[*spec.Field]bool{}, map[*spec.Field]bool{}
	if o.Next != nil {
		for _, k := range o.Next.Order {
			read[k.Field] = true
		}
	}
	for _, f := range v.facts {
		for _, t := range f.Names() {
			read[t.Field] = true
		}
	}
	for _, e := range allEffects(o) {
		for _, a := range e.Assigned() {
			changed[a.Field] = true
			for _, f := range a.Value.Fields() {
				read[f] = true
			}
		}
		for _, f := range e.Named() {
			changed[f.Field] = true
		}
	}
	for _, f := range sequences(s.m, o) {
		changed[f] = true
	}
	own := maps.Clone(read)
	maps.Copy(own, changed)
	delete(own, nil)
	ends := targets(o)
	rules := slices.Clone(s.m.Invariant)
	for _, st := range ends {
		rules = append(rules, st.Invariant...)
	}
	for _, f := range spec.Leaves(rules) {
		if slices.ContainsFunc(f.Names(), func(t spec.Term) bool { return own[t.Field] }) {
			v.facts = append(slices.Clip(v.facts), f)
			for _, t := range f.Names() {
				read[t.Field] = true
			}
		}
	}
	for _, st := range slices.Concat(ends, states(o.From)) {
		for _, refs := range [][]spec.FieldRef{st.Absent, st.Present} {
			for _, f := range refs {
				if !read[f.Field] && !changed[f.Field] {
					read[f.Field] = true
					break
				}
			}
		}
		if len(v.facts) > len(s.m.Fields) { // enough
			break
		}
	}
	for _, f := range s.m.Fields {
		if read[f] || changed[f] {
			v.fields = append(v.fields, f)
		}
		if changed[f] {
			v.changed = append(v.changed, f)
		}
	}
	s.known.views[o] = v
	return v
}

// longest is how many characters a text has at most with which an end of a length is tried.
const longest = 1000

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
		case interp.KindDuration:
			for d := int64(-1); d <= 1; d++ {
				if sum := v.Num + d; sum >= -2*spec.MaxSpan && sum <= 2*spec.MaxSpan { // others are none in Go
					add(interp.Span(sum))
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
		add(interp.String(""))
		lo, hi := t.Min, t.Max
		if in != nil {
			lo, hi = inputBounds(x.call.Op, in)
		}
		bounded := spec.Type{Kind: t.Kind, Min: lo, Max: hi}
		for _, text := range []string{"a", "b"} {
			add(interp.String(bounded.Fitted(text)))
		}
		for _, bound := range []*int64{lo, hi} {
			for d := int64(-1); bound != nil && d <= 1; d++ {
				if n := *bound + d; n > 0 && n <= longest {
					add(interp.String(strings.Repeat("é", int(n)))) // a character is not a byte
				}
			}
		}
		if in != nil {
			add(interp.String(bounded.Fitted("a\x00")))
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
		if in != nil {
			add(interp.JSON(`{"a":"\u0000"}`))
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
		if in != nil {
			add(interp.Time(time.Date(0, 12, 31, 23, 0, 0, 0, time.UTC)))
		}
		add(interp.Time(time.Time{}))
		add(interp.Time(noon.Add(time.Hour)))
		add(interp.Time(noon.Add(-time.Hour)))
	case spec.KindDuration:
		lo, hi := t.Min, t.Max
		if in != nil {
			lo, hi = inputBounds(x.call.Op, in)
		}
		add(interp.Span(0))
		near(interp.Span(*lo))
		near(interp.Span(*hi))
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
	for _, v := range leaving(x, is) {
		add(v)
	}
	for _, v := range fullLength(m, x, is) {
		near(v)
	}
	facts := factsAbout(m, x)
	if x.call.Op != nil {
		facts = s.view(x.call.Op).facts
	}
	for _, f := range facts {
		switch {
		case is(f.Left):
			near(termValue(m, f.Right, x.before, x.call))
		case f.Right.Kind != 0 && is(f.Right):
			near(termValue(m, f.Left, x.before, x.call))
		}
		for _, v := range meeting(m, f, x, is) {
			near(v)
		}
	}
	return list
}

// fullLength lists what a part of a length that an operation sets would have to be for it to be
// the longest one.
func fullLength(m *spec.Machine, x tried, is func(spec.Term) bool) (list []interp.Value) {
	if x.call.Op == nil {
		return nil
	}
	for _, e := range allEffects(x.call.Op) {
		for _, a := range e.Set {
			if a.Value.Kind != spec.ValueSum || a.Field.Type.Kind != spec.KindDuration {
				continue
			}
			all := interp.Term(m, spec.Term{Kind: spec.TermSum, Parts: a.Value.Parts}, x.before, x.call)
			for _, p := range a.Value.Parts {
				v := termValue(m, p.Term, x.before, x.call)
				if is(p.Term) && all.Kind != interp.KindAbsent && v.Kind != interp.KindAbsent {
					v.Num += p.Signed(spec.MaxSpan - all.Num)
					list = append(list, v)
				}
			}
		}
	}
	return list
}

// factsAbout lists the facts that may decide a call: guards, branches, and the rules of
// the states that it can lead to. Without an operation they are those of the state.
func factsAbout(m *spec.Machine, x tried) []*spec.Fact {
	facts := slices.Clone(m.Invariant)
	if x.call.Op == nil {
		return spec.Leaves(append(facts, x.before.State.Invariant...))
	}
	facts = append(facts, allFacts(x.call.Op)...)
	for _, s := range targets(x.call.Op) {
		facts = append(facts, s.Invariant...)
	}
	return spec.Leaves(facts)
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
	case spec.TermText:
		return interp.String(t.Const)
	case spec.TermSum, spec.TermBackoff, spec.TermSpan:
		return interp.Term(m, t, r, c)
	}
	return interp.Absent
}

// meeting lists what a number that a sum of the fact reads would have to be for both sides to be
// equal.
func meeting(m *spec.Machine, f *spec.Fact, x tried, is func(spec.Term) bool) []interp.Value {
	factor, part := int64(0), spec.Term{}
	for i, side := range []spec.Term{f.Left, f.Right} {
		for _, p := range side.Parts {
			if is(p.Term) {
				part = p.Term
				factor += []int64{1, -1}[i] * p.Signed(1)
			}
		}
	}
	left, right := termValue(m, f.Left, x.before, x.call), termValue(m, f.Right, x.before, x.call)
	if factor == 0 || left.Kind == interp.KindAbsent || right.Kind == interp.KindAbsent {
		return nil
	}
	v := termValue(m, part, x.before, x.call)
	v.Num -= (left.Num - right.Num) / factor
	return []interp.Value{v}
}
