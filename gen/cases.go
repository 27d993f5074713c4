package gen

import (
	"container/heap"
	"maps"
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
	known *known
}

// known is what a search has found out already.
type known struct {
	sound, full map[*spec.State]interp.Record
	calls       map[*spec.Operation][]tried
	places      map[*spec.Unique]bool // that were shown
	views       map[*spec.Operation]*view
	others      map[otherKey]interp.Record
	several     bool // rules of one state that are broken at once were shown
}

func newSearch(m *spec.Machine) search {
	return search{m, &known{
		sound: map[*spec.State]interp.Record{}, full: map[*spec.State]interp.Record{}, calls: map[*spec.Operation][]tried{},
		places: map[*spec.Unique]bool{}, views: map[*spec.Operation]*view{}, others: map[otherKey]interp.Record{},
	}}
}

// tried is one call and what the interpreter says of it.
type tried struct {
	before  interp.Record
	call    interp.Call
	others  interp.Others
	done    interp.Decision
	refusal *interp.Refusal
	edited  bool        // it differs from another call in one thing
	input   *spec.Input // which is this input, if any
	alone   *spec.Guard // with `some`: the case says itself who is beside the record
	full    bool        // the record held all it can before the change that was tried
	shows   []string    // features
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
		x.shows = s.features(x)
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
	each := 1 + len(s.m.Fields) + len(factsAbout(s.m, tried{call: interp.Call{Op: o}})) // what one call looks at
	left := mostWork / each
	for i := 0; i < len(bases) && i < mostBases && left > 0; i++ {
		for next := range s.edits(o, bases[i]) {
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
	chosen, most := make([]bool, len(list)), make(mostFirst, len(list))
	for i, x := range list {
		most[i] = shown{len(shows(x)), i}
	}
	heap.Init(&most)
	for len(left) > 0 {
		best := most[0]
		n := 0
		for _, f := range shows(list[best.at]) {
			if left[f] {
				n++
			}
		}
		if n < best.most {
			most[0].most = n
			heap.Fix(&most, 0)
			continue
		}
		chosen[best.at] = true
		heap.Pop(&most)
		for _, f := range shows(list[best.at]) {
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

// shown is how much one of a list shows at most.
type shown struct{ most, at int }

// mostFirst is a heap of them: the one that shows most comes first, then the earlier one.
type mostFirst []shown

func (h mostFirst) Len() int { return len(h) }
func (h mostFirst) Less(i, j int) bool {
	return h[i].most > h[j].most || h[i].most == h[j].most && h[i].at < h[j].at
}
func (h mostFirst) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds one.
func (h *mostFirst) Push(x any) { *h = append(*h, x.(shown)) } //nolint:forcetypeassert // of a heap of these

// Pop takes the last one.
func (h *mostFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
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
		full := c
		full.Inputs = maps.Clone(c.Inputs)
		for i, in := range o.Inputs {
			lo, hi := inputBounds(o, in)
			t := in.Type
			t.Max = hi
			full.Inputs[in.Name] = plainValue(t, lo, in.Name, len(m.Fields)+i)
		}
		list = append(list,
			tried{before: interp.NewRecord(m, ""), call: full, others: firstNumbers(m, o)},
			tried{before: interp.NewRecord(m, ""), call: c, others: firstNumbers(m, o)})
	}
	from := states(o.From)
	for i, class := range m.Row(o) {
		if class == spec.RecordOnly {
			from = append(from, m.States[i])
		}
	}
	for _, st := range from {
		list = append(list,
			tried{before: s.fullRecord(st), call: c, others: firstNumbers(m, o), full: true},
			tried{before: s.soundRecord(st), call: c, others: firstNumbers(m, o)})
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
