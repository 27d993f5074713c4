package prove

import (
	"maps"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// meter is what the questions about one machine may still cost together, so
// that no file, however it was made, takes more than some seconds. What is not
// paid for is not decided. Real machines need a thousandth of it.
type meter struct {
	cases int // of questions that are not easy
	work  int // formulas looked at, and differences followed
}

const (
	// budget is how many cases one question may need. Most need a handful.
	budget = 10000
	// easy is how many cases a question may need without being metered.
	easy = 200
	// most is how many strings a question about sets may have.
	most = 200
)

// newMeter is the meter of a machine: what is allowed grows with its cells, as
// what is needed does.
func newMeter(m *spec.Machine) *meter {
	const least, greatest, perCell = 8_000_000, 400_000_000, 100
	cells := len(m.States) + len(m.Fields) + len(m.Invariant) + len(m.Kept())
	for _, op := range m.Operations {
		cells += len(op.Choose)
	}
	return &meter{cases: 100_000, work: min(least+perCell*cells*len(m.Operations), greatest)}
}

// verdict is the answer to "can all of this be true at once".
type verdict uint8

const (
	impossible verdict = iota
	possible
	undecided // the budget is used up: who asks must treat it as possible
)

// solution is one way in which formulas are true at once.
type solution struct {
	bools map[int]bool
	nums  map[int]int64
}

// solve decides whether all formulas can be true at once. It falls apart into
// components without a common atom, which are decided one by one, so that a
// choice in one never multiplies the cases of another. Without want nobody asks
// for the solution, and any will do.
func solve(fs []formula, want func(num int) int64, m *meter) (verdict, *solution) {
	found := &solution{bools: map[int]bool{}, nums: map[int]int64{}}
	result := possible
	if m.work -= len(fs); m.work < 0 {
		return undecided, nil
	}
	limit := max(easy, min(budget, m.cases))
	left := limit
	defer func() {
		if used := limit - left; used > easy {
			m.cases -= used
		}
	}()
	for _, part := range components(fs) {
		s := newState(part, m)
		s.any = want == nil
		end, v := s.search(part, &left)
		switch {
		case v == impossible:
			return impossible, nil
		case v == undecided:
			result = undecided
		case want != nil:
			end.fill(found, want)
		}
	}
	if m.work < 0 {
		return undecided, nil
	}
	return result, found
}

// components groups formulas that share atoms, in the order of the first
// formula of each.
func components(fs []formula) [][]formula {
	parent := map[int]int{}
	var root func(k int) int
	root = func(k int) int {
		p, ok := parent[k]
		if !ok {
			parent[k] = k
			return k
		}
		if p == k {
			return k
		}
		r := root(p)
		parent[k] = r
		return r
	}
	const none = -1
	first := make([]int, len(fs))
	for i := range fs {
		first[i] = none
		fs[i].atoms(func(k int) {
			if first[i] == none {
				first[i] = k
				root(k)
				return
			}
			parent[root(k)] = root(first[i])
		})
	}
	var parts [][]formula
	index := map[int]int{}
	for i := range fs {
		k := none // formulas without an atom: true or false
		if first[i] != none {
			k = root(first[i])
		}
		n, ok := index[k]
		if !ok {
			n = len(parts)
			index[k] = n
			parts = append(parts, nil)
		}
		parts[n] = append(parts[n], fs[i])
	}
	return parts
}

// state is what is known in one case: boolean atoms, differences of numbers as
// edges of a graph, and values of the numbers that keep all of them. Each new
// difference moves only those values that it reaches, so a contradiction shows at
// once and a long chain costs no more than its length.
type state struct {
	bools map[int]bool
	set   []int       // the atoms of bools, in the order in which they were set
	index map[int]int // from number to row; nil: they are the same
	names []int       // from row to number, with an index
	first []int32     // row -> its last edge in edges, or -1
	edges []edge
	at    []int64   // row -> a value that keeps all differences
	used  []int32   // row -> how many edges touch it
	sums  []formula // the sums that are true, which the values need not keep
	meter *meter
	any   bool // any solution will do
	heap  *heap
}

// edge says that row to is at most c above row from.
type edge struct {
	from, to, next int32
	c              int64
}

// far is beyond all values that are calculated with.
const far = int64(1) << 61

func newState(fs []formula, m *meter) *state {
	s := &state{bools: map[int]bool{}, index: map[int]int{0: 0}, names: []int{0}, meter: m, heap: &heap{}}
	for i := range fs {
		fs[i].atoms(func(k int) {
			if k%2 == 0 {
				return
			}
			if _, ok := s.index[k/2]; !ok {
				s.index[k/2] = len(s.names)
				s.names = append(s.names, k/2)
			}
		})
	}
	s.grow(len(s.names))
	return s
}

// grow makes room for so many rows.
func (s *state) grow(n int) {
	for len(s.first) < n {
		s.first, s.at, s.used = append(s.first, -1), append(s.at, 0), append(s.used, 0)
	}
}

// row is where a number stands.
func (s *state) row(num int) int {
	if s.index != nil {
		return s.index[num]
	}
	s.grow(num + 1)
	return num
}

func (s *state) clone() *state {
	c := *s
	c.bools = maps.Clone(s.bools)
	c.first, c.edges, c.at, c.set = slices.Clone(s.first), slices.Clone(s.edges), slices.Clone(s.at), slices.Clone(s.set)
	c.used, c.sums = slices.Clone(s.used), slices.Clip(s.sums)
	s.meter.work -= len(s.edges)
	return &c
}

// undo takes back what was added since there were so many edges, atoms and sums. The
// values stay: they kept more than they have to.
func (s *state) undo(edges, atoms, sums int) {
	s.sums = s.sums[:sums]
	for i := len(s.edges) - 1; i >= edges; i-- {
		e := s.edges[i]
		s.first[e.from] = e.next
		s.used[e.from]--
		s.used[e.to]--
	}
	for _, v := range s.set[atoms:] {
		delete(s.bools, v)
	}
	s.edges, s.set = s.edges[:edges], s.set[:atoms]
}

// bind adds x - y <= c and reports whether that is possible. Values only fall: x as
// far as it has to, and after it whatever is bound to it, those first that fall
// furthest. When y itself has to fall there is no solution.
func (s *state) bind(x, y int, c int64) bool {
	s.edges = append(s.edges, edge{from: int32(y), to: int32(x), next: s.first[y], c: c}) //nolint:gosec // rows are few
	s.first[y] = int32(len(s.edges) - 1)                                                  //nolint:gosec // so are edges
	s.used[x]++
	s.used[y]++
	switch {
	case s.at[x] <= s.at[y]+c:
		return true
	case s.used[y] == 1 && x != y && y != 0 && s.at[x]-c < far: // nothing else asks for y: it rises instead
		s.at[y] = s.at[x] - c
		return true
	}
	h := s.heap.begin(len(s.first))
	h.put(x, s.at[y]+c-s.at[x])
	for len(h.list) > 0 {
		row, fall := h.take()
		v := s.at[row] + fall
		switch {
		case row == y: // the edges from x to here are a circle that cannot be, whatever the values of others are
			return false
		case v < -far:
			s.meter.work = -1 // nobody calculates with that
			return true
		}
		h.moved = append(h.moved, v)
		for e := s.first[row]; e >= 0; e = s.edges[e].next {
			s.meter.work--
			to := int(s.edges[e].to)
			if d := v + s.edges[e].c - s.at[to]; d < 0 {
				h.put(to, d)
			}
		}
	}
	for i, row := range h.done {
		s.at[row] = h.moved[i]
	}
	return true
}

// least returns the least upper bound of x - y that follows, if it is at most c.
func (s *state) least(x, y int, c int64) (int64, bool) {
	// The way from y to x, each step measured by what it leaves between the values.
	room := c + s.at[y] - s.at[x]
	if room < 0 {
		return 0, false
	}
	h := s.heap.begin(len(s.first))
	h.put(y, 0)
	for len(h.list) > 0 {
		row, way := h.take()
		if row == x {
			return way + s.at[x] - s.at[y], true
		}
		for e := s.first[row]; e >= 0; e = s.edges[e].next {
			s.meter.work--
			to := int(s.edges[e].to)
			if d := way + s.edges[e].c + s.at[row] - s.at[to]; d <= room {
				h.put(to, d)
			}
		}
	}
	return 0, false
}

func (s *state) atMost(x, y int, c int64) bool {
	_, ok := s.least(x, y, c)
	return ok
}

// known evaluates a formula as far as the case decides it.
func (s *state) known(f *formula) (value, decided bool) {
	switch f.op {
	case and, or:
		decided = true
		for i := range f.kids {
			v, d := s.known(&f.kids[i])
			if d && v == (f.op == or) {
				return v, true
			}
			decided = decided && d
		}
		return f.op == and, decided
	case isTrue, isFalse:
		v, d := s.bools[f.v]
		return v == (f.op == isTrue), d
	case linear:
		return false, false
	}
	x, y := s.row(f.x), s.row(f.y)
	if f.op == atMost {
		if s.atMost(x, y, f.c) {
			return true, true
		}
		return false, s.atMost(y, x, -f.c-1)
	}
	if s.atMost(x, y, f.c-1) || s.atMost(y, x, -f.c-1) {
		return false, true
	}
	return true, s.atMost(x, y, f.c) && s.atMost(y, x, -f.c)
}

// met picks for each choice one alternative that the values at hand keep, and makes
// it true: then they are a solution.
func (s *state) met(open []formula) bool {
	chosen := maps.Clone(s.bools)
	var kept func(f *formula) bool
	kept = func(f *formula) bool {
		switch f.op {
		case and:
			for i := range f.kids {
				if !kept(&f.kids[i]) {
					return false
				}
			}
			return true
		case or:
			return slices.ContainsFunc(f.kids, func(k formula) bool { return kept(&k) })
		case isTrue, isFalse:
			if v, decided := chosen[f.v]; decided {
				return v == (f.op == isTrue)
			}
			chosen[f.v] = f.op == isTrue
			return true
		case linear:
			return s.keeps(f)
		}
		d := s.at[s.row(f.x)] - s.at[s.row(f.y)]
		return d == f.c || f.op == atMost && d < f.c
	}
	for i := range s.sums {
		if !s.keeps(&s.sums[i]) {
			return false
		}
	}
	for i := range open {
		if !kept(&open[i]) {
			return false
		}
	}
	return true
}

// assert makes a formula true. What needs a choice is returned as open.
func (s *state) assert(f formula, open []formula) ([]formula, bool) {
	var ok bool
	switch f.op {
	case and:
		for _, k := range f.kids {
			if open, ok = s.assert(k, open); !ok {
				return open, false
			}
		}
		return open, true
	case or:
		if len(f.kids) == 0 {
			return open, false
		}
		return append(open, f), true
	case isTrue, isFalse:
		v, d := s.bools[f.v]
		if !d {
			s.bools[f.v], s.set = f.op == isTrue, append(s.set, f.v)
		}
		return open, !d || v == (f.op == isTrue)
	case atMost:
		return open, s.bind(s.row(f.x), s.row(f.y), f.c)
	case linear:
		for _, a := range f.sum {
			s.row(a.num) // makes room for it
		}
		s.sums = append(s.sums, f)
		return open, true
	}
	x, y := s.row(f.x), s.row(f.y)
	return open, s.bind(x, y, f.c) && s.bind(y, x, -f.c)
}

// propagate makes those choices first that are none any more, and returns the others.
func (s *state) propagate(open []formula) ([]formula, bool) {
	var ok bool
	for again := true; again; {
		again = false
		var rest []formula
		for _, f := range open {
			var kids []formula
			done := false
			for i := range f.kids {
				v, decided := s.known(&f.kids[i])
				if decided && v {
					done = true
					break
				}
				if !decided {
					kids = append(kids, f.kids[i])
				}
			}
			switch {
			case done:
			case len(kids) == 0:
				return nil, false
			case len(kids) == 1:
				if rest, ok = s.assert(kids[0], rest); !ok {
					return nil, false
				}
				again = true
			default:
				rest = append(rest, formula{op: or, kids: kids})
			}
		}
		open = rest
	}
	return open, true
}

// search looks for a case in which all formulas are true. It changes s.
func (s *state) search(fs []formula, left *int) (*state, verdict) {
	*left--
	if *left < 0 || s.meter.work < 0 {
		return nil, undecided
	}
	var open []formula
	var ok bool
	for _, f := range fs {
		if open, ok = s.assert(f, open); !ok {
			return nil, impossible
		}
	}
	if open, ok = s.propagate(open); !ok {
		return nil, impossible
	}
	if s.any && s.met(open) {
		return s, possible
	}
	sums := possible
	if len(s.sums) > 0 {
		if sums = s.add(); sums == impossible {
			return nil, impossible
		}
	}
	if len(open) == 0 {
		return s, sums
	}
	pick := 0
	for i := range open {
		if len(open[i].kids) < len(open[pick].kids) {
			pick = i
		}
	}
	result := impossible
	for _, k := range open[pick].kids {
		rest := make([]formula, 0, len(open))
		rest = append(rest, k)
		rest = append(rest, open[:pick]...)
		rest = append(rest, open[pick+1:]...)
		end, v := s.clone().search(rest, left)
		if v == possible {
			return end, possible
		}
		if v == undecided {
			result = undecided
		}
	}
	return nil, result
}

// fill writes one solution of the case. The numbers are fixed one after the
// other, each as near as possible to what want asks for: every value between the
// bounds that follow can be taken.
func (s *state) fill(to *solution, want func(num int) int64) {
	maps.Copy(to.bools, s.bools)
	want = s.summed(want)
	for row, num := range s.names {
		if row == 0 {
			continue
		}
		v := want(num)
		edges, atoms, sums := len(s.edges), len(s.set), len(s.sums)
		if !s.bind(row, 0, v) {
			s.undo(edges, atoms, sums)
			low, _ := s.least(0, row, far)
			v = -low
			s.bind(row, 0, v)
		}
		edges = len(s.edges)
		if !s.bind(0, row, -v) {
			s.undo(edges, atoms, sums)
			v, _ = s.least(row, 0, far)
			s.bind(0, row, -v)
		}
		to.nums[num] = v
	}
}

// base is what a part asks its questions on top of: what is given there, made true
// once. Most questions are answered here, at the cost of what they reach; what is
// left goes to [solve].
type base struct {
	*state
	open         []formula
	given, facts int // how many of them are in it
	broken       bool
}

// add makes more formulas true for all questions to come.
func (b *base) add(fs []formula) {
	b.meter.work -= len(fs)
	var ok bool
	for _, f := range fs {
		if b.open, ok = b.assert(f, b.open); !ok {
			b.broken = true
		}
	}
	if len(fs) > 0 && !b.met(b.open) && !b.broken {
		if b.open, ok = b.propagate(b.open); !ok {
			b.broken = true
		}
	}
}

// ask decides whether formulas can be true, where that takes no search.
func (b *base) ask(fs ...[]formula) verdict {
	if b.broken {
		return impossible
	}
	edges, atoms, sums := len(b.edges), len(b.set), len(b.sums)
	defer b.undo(edges, atoms, sums)
	var open []formula
	var ok bool
	for _, list := range fs {
		b.meter.work -= len(list)
		for _, f := range list {
			if open, ok = b.assert(f, open); !ok {
				return impossible
			}
		}
	}
	b.meter.work -= len(b.open)
	if b.met(open) && b.met(b.open) && b.met(slices.Concat(open, b.open)) {
		return possible
	}
	if open, ok = b.propagate(open); !ok {
		return impossible
	}
	if b.met(slices.Concat(open, b.open)) {
		return possible
	}
	return undecided
}
