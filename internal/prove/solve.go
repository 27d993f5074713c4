package prove

import "slices"

// meter is what the questions about one machine may still cost together, so
// that no file, however it was made, takes more than some seconds. What is not
// paid for is not decided. Real machines need a thousandth of it.
type meter struct {
	cases int // of questions that are not easy
	work  int // formulas looked at, and bounds between numbers kept
}

const (
	// budget is how many cases one question may need. Most need a handful.
	budget = 10000
	// easy is how many cases a question may need without being metered.
	easy = 200
	// most is how many numbers may depend on each other in one question.
	most = 200
)

func newMeter() *meter { return &meter{cases: 100_000, work: 8_000_000} }

// verdict is the answer to "can all of this be true at once".
type verdict uint8

const (
	impossible verdict = iota
	possible
	undecided // the budget is used up: whoever asks must treat it as possible
)

// solution is one way in which formulas are true at once.
type solution struct {
	bools map[int]bool
	nums  map[int]int64
}

// solve decides whether all formulas can be true at once. It falls apart into
// components without a common atom, which are decided one by one, so that a
// choice in one never multiplies the cases of another.
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
		s := newState(part)
		m.work -= s.n * s.n
		if s.n > most {
			result = undecided
			continue
		}
		end, v := s.search(part, &left)
		switch v {
		case impossible:
			return impossible, nil
		case undecided:
			result = undecided
			continue
		}
		end.fill(found, want)
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

// state is what is known in one case: boolean atoms, and for each pair of
// numbers the least upper bound of their difference. The bounds are closed
// under addition at all times, so that a contradiction shows at once.
type state struct {
	bools map[int]bool
	index map[int]int // from number to row; shared by all cases
	names []int       // from row to number; shared
	n     int
	bound []int64 // n × n: bound[x*n+y] >= x - y
}

const unbounded = int64(1) << 61

func newState(fs []formula) *state {
	s := &state{bools: map[int]bool{}, index: map[int]int{0: 0}, names: []int{0}}
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
	s.n = len(s.names)
	if s.n > most {
		return s
	}
	s.bound = make([]int64, s.n*s.n)
	for i := range s.bound {
		if i%(s.n+1) != 0 {
			s.bound[i] = unbounded
		}
	}
	return s
}

func (s *state) clone() *state {
	c := *s
	c.bools = make(map[int]bool, len(s.bools)+4)
	for k, v := range s.bools {
		c.bools[k] = v
	}
	c.bound = slices.Clone(s.bound)
	return &c
}

// plus adds bounds; what grows beyond all constants is no bound any more.
func plus(a, b int64) int64 {
	if a >= unbounded || b >= unbounded || a+b >= unbounded {
		return unbounded
	}
	return max(a+b, -unbounded)
}

// bind adds x - y <= c and reports whether that is possible.
func (s *state) bind(x, y int, c int64) bool {
	n := s.n
	if s.bound[x*n+y] <= c {
		return true
	}
	if plus(s.bound[y*n+x], c) < 0 {
		return false
	}
	for i := range n {
		via := plus(s.bound[i*n+x], c)
		if via >= unbounded {
			continue
		}
		for j := range n {
			if d := plus(via, s.bound[y*n+j]); d < s.bound[i*n+j] {
				s.bound[i*n+j] = d
			}
		}
	}
	return true
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
	}
	x, y := s.index[f.x], s.index[f.y]
	up, down := s.bound[x*s.n+y], s.bound[y*s.n+x] // x-y <= up, x-y >= -down
	if f.op == atMost {
		return up <= f.c, up <= f.c || down <= -f.c-1
	}
	if up < f.c || down < -f.c {
		return false, true
	}
	return true, up <= f.c && down <= -f.c
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
		s.bools[f.v] = f.op == isTrue
		return open, !d || v == (f.op == isTrue)
	case atMost:
		return open, s.bind(s.index[f.x], s.index[f.y], f.c)
	}
	x, y := s.index[f.x], s.index[f.y]
	return open, s.bind(x, y, f.c) && s.bind(y, x, -f.c)
}

// search looks for a case in which all formulas are true. It changes s.
func (s *state) search(fs []formula, left *int) (*state, verdict) {
	*left--
	if *left < 0 {
		return nil, undecided
	}
	var open []formula
	var ok bool
	for _, f := range fs {
		if open, ok = s.assert(f, open); !ok {
			return nil, impossible
		}
	}
	// Choices that are none any more are made first.
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
				return nil, impossible
			case len(kids) == 1:
				if rest, ok = s.assert(kids[0], rest); !ok {
					return nil, impossible
				}
				again = true
			default:
				rest = append(rest, formula{op: or, kids: kids})
			}
		}
		open = rest
	}
	if len(open) == 0 {
		return s, possible
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
// other, each as near as possible to what want asks for: a closed system of
// differences allows every value within its bounds.
func (s *state) fill(to *solution, want func(num int) int64) {
	for v, b := range s.bools {
		to.bools[v] = b
	}
	for row, num := range s.names {
		if row == 0 {
			continue
		}
		v := want(num)
		if high := s.bound[row*s.n]; high < unbounded {
			v = min(v, high)
		}
		if low := s.bound[row]; low < unbounded {
			v = max(v, -low)
		}
		s.bind(row, 0, v)
		s.bind(0, row, -v)
		to.nums[num] = v
	}
}
