package gen

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

// The tests of a package are calls with what must come of them. They are found here:
// from sound records, and from those that the proof finds for each way to decide an
// operation, one thing at a time is changed, to each value at the edge of a comparison.
// The interpreter says what happens. Of all calls those are kept that together show all
// that any of them shows.

// search looks for the calls that the tests of a machine make.
type search struct {
	m     *spec.Machine
	store bool // the package has a durable layer
	known *known
}

// known is what a search has found out already.
type known struct {
	sound, full map[*spec.State]interp.Record
	calls       map[*spec.Operation][]tried
	places      map[*spec.Unique]bool // that were shown
}

func newSearch(m *spec.Machine, store bool) search {
	return search{m, store, &known{map[*spec.State]interp.Record{}, map[*spec.State]interp.Record{}, map[*spec.Operation][]tried{}, map[*spec.Unique]bool{}}}
}

// tried is one call and what the interpreter says of it.
type tried struct {
	before  interp.Record
	call    interp.Call
	others  interp.Others
	done    interp.Decision
	refusal *interp.Refusal
	full    bool     // the record held all it can before the change that was tried
	shows   []string // features
}

// noon is the time of a call, where nothing asks for another one.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// someone calls, where nothing asks for somebody else.
const someone = "ann"

// reason is why, where an operator calls.
const reason = "asked"

// mostBases bounds the search in one operation.
const mostBases = 40

// mostWork bounds it for large machines: calls that are tried, times the fields and facts
// that each of them looks at.
const mostWork = 60_000

// calls returns the calls that the tests make of an operation.
func (s search) calls(o *spec.Operation) []tried {
	if list, ok := s.known.calls[o]; ok {
		return list
	}
	bases := s.firstCalls(o)
	seen := map[string]bool{} // outcomes
	shown := map[string]bool{}
	var kept []tried
	try := func(x tried) (fresh bool) {
		x.done, x.refusal = interp.Decide(s.m, x.before, x.call, x.others)
		x.shows = x.features(s.m, s.store)
		for _, f := range x.shows {
			if !shown[f] {
				shown[f], fresh = true, true
			}
		}
		if fresh {
			kept = append(kept, x)
		}
		out := x.outcome()
		if x.before.State != nil {
			out += " in " + x.before.State.Name
		}
		fresh = !seen[out]
		seen[out] = true
		return fresh
	}
	for _, b := range bases {
		try(b)
	}
	each := 1 + len(s.m.Fields) + len(factsAbout(s.m, tried{call: interp.Call{Op: o}}))
	left := mostWork / each
	if !s.store {
		left = math.MaxInt
	}
	for i := 0; i < len(bases) && i < mostBases && left > 0; i++ {
		for _, next := range s.edits(o, bases[i]) {
			if left--; left < 0 {
				break
			}
			if try(next) {
				bases = append(bases, next)
			}
		}
	}
	s.known.calls[o] = essential(kept, func(x tried) []string { return x.shows })
	return s.known.calls[o]
}

// essential returns as few of a list as show all that the list shows, in their order:
// again and again the one that shows most of what is left.
func essential[X any](list []X, shows func(X) []string) []X {
	left := map[string]bool{}
	for _, x := range list {
		for _, f := range shows(x) {
			left[f] = true
		}
	}
	// What one shows of the rest only gets less, so what was counted once is the most it can be.
	chosen, most := make([]bool, len(list)), make([]int, len(list))
	for i, x := range list {
		most[i] = len(shows(x))
	}
	for len(left) > 0 {
		best := -1
		for i := range list {
			if !chosen[i] && (best < 0 || most[i] > most[best]) {
				best = i
			}
		}
		n := 0
		for _, f := range shows(list[best]) {
			if left[f] {
				n++
			}
		}
		if n < most[best] {
			most[best] = n
			continue
		}
		chosen[best] = true
		for _, f := range shows(list[best]) {
			delete(left, f)
		}
	}
	var kept []X
	for i, x := range list {
		if chosen[i] {
			kept = append(kept, x)
		}
	}
	return kept
}

// firstCalls are the calls from which the search begins: in each state of the operation a
// sound record, and each example of a way to decide.
func (s search) firstCalls(o *spec.Operation) []tried {
	m := s.m
	c := interp.Call{Op: o, Actor: someone, Reason: reason, At: noon, Inputs: map[string]interp.Value{}}
	for i, in := range o.Inputs {
		if !in.Type.Optional {
			lo, hi := inputBounds(o, in)
			t := in.Type
			t.Max = hi
			c.Inputs[in.Name] = plainValue(t, lo, in.Name, len(m.Fields)+i)
		}
	}
	var list []tried
	if creates(o) {
		if s.store {
			full := c
			full.Inputs = maps.Clone(c.Inputs)
			for i, in := range o.Inputs {
				lo, _ := inputBounds(o, in)
				full.Inputs[in.Name] = plainValue(in.Type, lo, in.Name, len(m.Fields)+i)
			}
			list = append(list, tried{before: interp.NewRecord(m, ""), call: full, others: firstNumbers(m, o)})
		}
		list = append(list, tried{before: interp.NewRecord(m, ""), call: c, others: firstNumbers(m, o)})
	}
	from := states(o.From)
	for i, class := range m.Row(o) {
		if class == spec.RecordOnly && s.store {
			from = append(from, m.States[i])
		}
	}
	for _, st := range from {
		if s.store {
			list = append(list, tried{before: s.fullRecord(st), call: c, others: firstNumbers(m, o), full: true})
		}
		list = append(list, tried{before: s.soundRecord(st), call: c, others: firstNumbers(m, o)})
	}
	for _, w := range prove.Ways(m, o, func(prove.Way) bool { return true }) {
		if w.Witness == nil {
			continue
		}
		r, c, others := exampleCall(m, o, w)
		if !creates(o) {
			r = s.filled(r)
		}
		r.ID, c.ID, c.Reason, r.Rev = "", "", reason, 0
		list = append(list, tried{before: r, call: c, others: others})
	}
	return list
}

// firstNumbers is what a call is told of other records where there are none.
func firstNumbers(m *spec.Machine, o *spec.Operation) interp.Others {
	others := interp.Others{Count: map[string]int64{}, Next: map[string]int64{}}
	for _, f := range sequences(m, o) {
		others.Next[f.Name] = 1
	}
	return others
}

// soundRecord is a record in a state that breaks no rule, where there is one.
func (s search) soundRecord(st *spec.State) interp.Record {
	if r, ok := s.known.sound[st]; ok {
		return r
	}
	r := s.findSound(st)
	s.known.sound[st] = r
	return r
}

func (s search) findSound(st *spec.State) interp.Record {
	r := interp.NewRecord(s.m, "").In(st)
	if e, _ := prove.Sound(s.m, st); e != nil {
		r = exampleRecord(s.m, e)
		r.ID, r.Rev = "", 0
	}
	r = s.filled(r)
	for i, f := range s.m.Fields { // no two fields have the same value, where the rules let them
		if r.Fields[i].Kind == interp.KindAbsent || f.Type.Kind == spec.KindBool || f.Type.Kind == spec.KindEnum || f.Type.Kind == spec.KindSet {
			continue
		}
		if next := r.With(s.m, f.Name, plainValue(f.Type, f.Type.Min, f.Name, i)); sound(s.m, next) || !sound(s.m, r) {
			r = next
		}
	}
	return r
}

// fullRecord is a sound record that holds as much as it can.
func (s search) fullRecord(st *spec.State) interp.Record {
	if r, ok := s.known.full[st]; ok {
		return r
	}
	r := s.soundRecord(st)
	defer func() { s.known.full[st] = r }()
	for i, f := range s.m.Fields {
		if r.Fields[i].IsPresent() {
			continue
		}
		v := plainValue(f.Type, f.Type.Min, f.Name, i)
		if f.Type.Kind == spec.KindSet {
			v = interp.Set(f.Name)
		}
		if next := r.With(s.m, f.Name, v); len(interp.Check(s.m, next)) == 0 {
			r = next
		}
	}
	return r
}

// sound reports whether a record breaks no rule that must hold.
func sound(m *spec.Machine, r interp.Record) bool {
	return !slices.ContainsFunc(interp.Check(m, r), func(v interp.Violation) bool { return v.Must })
}

// filled gives every mandatory field of a record a value.
func (s search) filled(r interp.Record) interp.Record {
	m := s.m
	for i, b := range []*time.Time{&r.CreatedAt, &r.UpdatedAt} {
		switch {
		case !s.store && !reads(m, m.Builtin[i]):
			*b = time.Time{}
		case b.IsZero() || !reads(m, m.Builtin[i]):
			*b = noon.Add(-time.Hour)
		}
	}
	return r.WithAll(m, func(f *spec.Field) interp.Value {
		if v := r.Value(m, f); v.Kind != interp.KindAbsent || f.Type.Optional {
			return v
		}
		return plainValue(f.Type, f.Type.Min, f.Name, m.FieldIndex(f))
	})
}

// plainValue is a value of the n-th thing of its kind, other than that of the others.
func plainValue(t spec.Type, low *int64, name string, n int) interp.Value {
	switch t.Kind {
	case spec.KindString:
		return interp.String(name)
	case spec.KindBool:
		return interp.Bool(false)
	case spec.KindTime:
		return interp.Time(noon.Add(time.Hour + time.Duration(n)*time.Minute))
	case spec.KindEnum:
		return interp.Word(t.Values[0].Name)
	case spec.KindJSON:
		return interp.JSON(fmt.Sprintf(`{"%s":%d}`, name, n))
	case spec.KindSet:
		return interp.Set()
	case spec.KindSequence, spec.KindCounter:
		return interp.Int(int64(n + 1))
	}
	if low == nil {
		if low = new(int64); t.Max != nil {
			*low = min(0, *t.Max)
		}
	}
	if v := *low + int64(n); t.Max == nil || v <= *t.Max {
		return interp.Int(v)
	}
	return interp.Int(*low)
}

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

// outcome names what became of the call.
func (x tried) outcome() string {
	if r := x.refusal; r != nil {
		return "refused " + r.Code + " " + r.Guard + r.Name
	}
	branch := slices.Index(x.call.Op.Choose, x.done.Branch)
	return fmt.Sprintf("%s %t %s %d", x.done.To.Name, x.done.RecordOnly, x.done.Guard, branch)
}

// features are what a call shows: what becomes of it in the state, how the sides of each
// fact that was looked at stand to each other, and what it did to each field.
func (x tried) features(m *spec.Machine, store bool) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	o, out := x.call.Op, x.outcome()
	in, whole := "", x.before.State == nil || !store || sound(m, x.before)
	if x.before.State != nil {
		in = x.before.State.Name
	}
	if store && x.refusal != nil {
		guard := slices.ContainsFunc(o.Require, func(q *spec.Requirement) bool { return q.Guard.Name == x.refusal.Guard })
		switch {
		case x.refusal.Code == interp.CodeInvariant: // one function looks at the rules of all states
			in, out = "any", interp.CodeInvariant
		case x.refusal.Code != interp.CodeGuard || guard && m.Class(x.before.State, o) != spec.RecordOnly: // the state does not matter
			in = "any"
		}
	}
	if whole || x.refusal != nil {
		add("%s: %s", in, out)
	}
	for _, i := range o.Inputs {
		v := x.call.Inputs[i.Name]
		if store && x.refusal != nil && x.refusal.Name != i.Name {
			continue
		}
		lo, hi := inputBounds(o, i)
		add("input %s %d %s %s %t %t", i.Name, v.Kind, edge(v, lo), edge(v, hi), v.Text == "" && v.Num == 0, x.refusal == nil)
	}
	accepted, refusal := interp.Accept(m, x.call)
	if refusal != nil || !creates(o) && m.Class(x.before.State, o) != spec.Transition {
		return list
	}
	facts := func(where string, list []*spec.Fact, r interp.Record) (all bool) {
		failing := 0
		for _, f := range list {
			if !interp.Holds(m, f, r, accepted) {
				failing++
			}
		}
		for _, f := range list { // where no other one fails, it is this one that decides
			if failing == 0 || failing == 1 && !interp.Holds(m, f, r, accepted) {
				add("%s %s %s", where, f.Text, relation(m, f, r, accepted))
			}
		}
		return failing == 0
	}
	fails := func(q *spec.Requirement) bool {
		if p := q.Guard.Peers; p != nil {
			return x.others.Count[q.Guard.Name] >= p.Than
		}
		return slices.ContainsFunc(q.When, func(f *spec.Fact) bool { return !interp.Holds(m, f, x.before, accepted) })
	}
	for i, q := range o.Require {
		if facts("guard "+q.Guard.Name, q.When, x.before); !fails(q) {
			continue
		}
		for _, later := range o.Require[i+1:] {
			if store && fails(later) {
				add("guard %s before %s", q.Guard.Name, later.Guard.Name)
			}
		}
		return list
	}
	if len(o.Choose) > 0 {
		after := interp.Effects(m, &o.Effects, x.before, accepted)
		for i, b := range o.Choose {
			if b.From != nil && !slices.Contains(states(b.From), x.before.State) {
				continue
			}
			if facts(fmt.Sprint("branch ", i), b.When, after) {
				break
			}
		}
	}
	for _, g := range peerGuards(o) {
		if d := x.others.Count[g.Name] - g.Peers.Than; d >= -1 && d <= 0 {
			add("others for %s by %d", g.Name, d)
		}
	}
	if x.refusal != nil || x.done.RecordOnly || !whole {
		return list
	}
	branch := slices.Index(o.Choose, x.done.Branch)
	if store && x.full {
		add("branch %d keeps the others", branch)
	}
	for i, f := range m.Fields {
		was, is := x.before.Fields[i], x.done.Record.Fields[i]
		if store && was == is && !touches(o, f) {
			continue
		}
		add("branch %d: %s %t %t %t", branch, f.Name, was == is, is.IsPresent(), is.Num == 0 && is.Text == "")
		if (f.Type.Kind == spec.KindEnum || f.Type.Kind == spec.KindBool) && (!store || was != is) {
			add("branch %d: %s is %s", branch, f.Name, is)
		}
	}
	for i, f := range m.Builtin {
		if reads(m, f) {
			was, is := []time.Time{x.before.CreatedAt, x.before.UpdatedAt}[i], []time.Time{x.done.Record.CreatedAt, x.done.Record.UpdatedAt}[i]
			add("branch %d: %s %t", branch, f.Name, was.Equal(is))
		}
	}
	return list
}

// touches reports whether some effect of an operation changes a field.
func touches(o *spec.Operation, f *spec.Field) bool {
	return slices.ContainsFunc(allEffects(o), func(e *spec.Effects) bool { return changesField(e, f) })
}

// relation says how the sides of a fact stand to each other, and whether they are next to
// each other.
func relation(m *spec.Machine, f *spec.Fact, r interp.Record, c interp.Call) string {
	left := termValue(m, f.Left, r, c)
	if f.Op == spec.Present || f.Op == spec.Absent {
		return fmt.Sprint(left.IsPresent())
	}
	right := termValue(m, f.Right, r, c)
	switch f.Op {
	case spec.In, spec.NotIn:
		return fmt.Sprint(right.Has(left.Text), left.IsPresent())
	case spec.Covers:
		return fmt.Sprint(left.Covers(right), left == right)
	}
	if left.Kind == interp.KindAbsent || right.Kind == interp.KindAbsent {
		return fmt.Sprint("absent ", left.Kind == interp.KindAbsent, right.Kind == interp.KindAbsent)
	}
	switch {
	case f.Op == spec.Eq || f.Op == spec.Ne:
		return fmt.Sprint(left == right)
	case left.Kind == interp.KindInt || left.Kind == interp.KindTime:
		return edge(left, &right.Num)
	}
	return fmt.Sprint(left.Compare(right))
}

// edge says whether a number is at a bound or next to it.
func edge(v interp.Value, bound *int64) string {
	if bound == nil || v.Kind != interp.KindInt && v.Kind != interp.KindTime {
		return ""
	}
	switch d := v.Num - *bound; {
	case d >= -1 && d <= 1:
		return fmt.Sprint(" by ", d)
	default:
		return " beyond"
	}
}

// checked is a record and the rules that it breaks.
type checked struct {
	record interp.Record
	broken []interp.Violation
	shows  []string
}

// checks returns the records that show the rules of the states.
func (s search) checks() []checked {
	var list []checked
	several := false
	for _, st := range s.m.States {
		for _, x := range essential(s.records(st), func(x checked) []string { return x.shows }) {
			if len(x.shows) == 1 && x.shows[0] == "several" {
				if several {
					continue
				}
				several = true
			}
			list = append(list, x)
		}
	}
	return list
}

// records are those among which checks chooses, in one state.
func (s search) records(st *spec.State) []checked {
	m := s.m
	var list []checked
	try := func(r interp.Record, changed *spec.Field) {
		x := checked{record: r, broken: interp.Check(m, r)}
		show := func(format string, args ...any) { x.shows = append(x.shows, fmt.Sprintf(format, args...)) }
		if !s.store || len(x.broken) <= 1 {
			show("%s %v", st.Name, x.broken)
		}
		for _, f := range slices.Concat(m.Invariant, st.Invariant) {
			if s.store && changed != nil && f.Left.Field != changed && f.Right.Field != changed {
				continue
			}
			show("%s %s %s", st.Name, f.Text, relation(m, f, r, interp.Call{}))
		}
		for i, f := range m.Fields {
			if s.store && changed != nil && f != changed {
				continue
			}
			show("%s %s %s %s", st.Name, f.Name, edge(r.Fields[i], f.Type.Min), edge(r.Fields[i], f.Type.Max))
		}
		list = append(list, x)
	}
	base := tried{before: s.soundRecord(st)}
	try(base.before, nil)
	worst := base.before // breaks rules of several fields
	for _, f := range m.Fields {
		for _, v := range s.pool(base, f.Type, nil, func(t spec.Term) bool { return t.Field == f }) {
			if v.Kind == interp.KindAbsent && !f.Type.Optional || s.store && v == interp.Word("") {
				continue
			}
			try(base.before.With(m, f.Name, v), f)
			if more := worst.With(m, f.Name, v); len(interp.Check(m, more)) > len(interp.Check(m, worst)) {
				worst = more
			}
		}
	}
	try(worst, nil)
	if s.store { // that not the first one ends it is shown once for all states
		last := &list[len(list)-1]
		if last.shows = nil; len(last.broken) > 1 {
			last.shows = []string{"several"}
		}
	}
	return list
}
