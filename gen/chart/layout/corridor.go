package layout

import (
	"math"
	"slices"
)

// corridor is the room between two layers in which something stands: edges run
// sideways only there.
type corridor struct {
	upper, lower int // layers
	runs         []run
	above, below float64 // how far edges run straight at its ends
	height       float64
}

// run is the way of an edge through a corridor, from the cell from to the cell
// to, x1 above and x2 below. It leaves the vertical only within its tracks,
// first to last of so many: what runs beside each other has tracks of its own.
type run struct {
	edge            int
	from, to        int
	x1, x2          float64
	first, last, of int
	alone           bool // nothing is beside it in its tracks
}

func (r *run) low() float64  { return min(r.x1, r.x2) }
func (r *run) high() float64 { return max(r.x1, r.x2) }

const (
	stub     = 10.0 // how far an edge runs straight before it arrives, so that its tip points at the box
	trackGap = 10.0 // between two tracks
	closeBy  = 7.0  // what stands closer beside each other should not run in one track
	distinct = 5.0  // how far two curves beside each other stay apart, where they need no tracks
	far      = 300  // a way that is longer runs level
)

// solid reports whether something stands in a layer, so that edges must pass it
// upright.
func (l *layered) solid(layer int) bool {
	return l.height[layer] > 0 || slices.ContainsFunc(l.layers[layer], func(i int) bool { return l.cells[i].node >= 0 })
}

// corridorsOf lists the corridors by their upper layer, and for each edge the
// places of its runs there.
func (l *layered) corridorsOf() (all map[int]*corridor, runs [][]int) {
	all, runs = make(map[int]*corridor), make([][]int, len(l.chains))
	for i, chain := range l.chains {
		from := 0
		for k := 1; k < len(chain); k++ {
			c := &l.cells[chain[k]]
			if !l.solid(c.layer) {
				continue
			}
			upper := l.cells[chain[from]].layer
			at := all[upper]
			if at == nil {
				at = &corridor{upper: upper, lower: c.layer}
				all[upper] = at
			}
			at.above = max(at.above, l.stub(chain[from], chain[from+1]))
			at.below = max(at.below, l.stub(chain[k], chain[k-1]))
			runs[i] = append(runs[i], len(at.runs))
			at.runs = append(at.runs, run{
				edge: i, from: chain[from], to: chain[k],
				x1: l.leaves(chain[from], chain[from+1]), x2: l.leaves(chain[k], chain[k-1]),
			})
			from = k
		}
	}
	return all, runs
}

// spread gives the runs their tracks, and the corridor its height. Runs that
// have nobody beside them, or are steep enough to be told apart, share the
// whole height.
func (c *corridor) spread() {
	aside, tracks := 0.0, 0
	for i := range c.runs {
		aside = max(aside, math.Abs(c.runs[i].x1-c.runs[i].x2))
	}
	room := 12 + min(40, 0.14*aside)
	for _, group := range c.groups() {
		of := 1
		if c.crowded(group, room) {
			of = c.tracks(group)
		}
		tracks = max(tracks, of)
		for _, i := range group {
			c.runs[i].of, c.runs[i].alone = of, of > 1 || len(group) == 1
		}
	}
	if tracks > 1 {
		room = max(room, float64(tracks)*trackGap)
	}
	c.height = c.above + room + c.below
}

// groups are the runs that are beside each other, at once or by others.
func (c *corridor) groups() [][]int {
	var order []int
	for i := range c.runs {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := c.runs[a].low(), c.runs[b].low(); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	var groups [][]int
	reach := math.Inf(-1)
	for _, i := range order {
		r := &c.runs[i]
		if r.low() > reach+closeBy {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], i)
		reach = max(reach, r.high())
	}
	return groups
}

// crowded reports whether curves of that height would come too close, or run far.
func (c *corridor) crowded(group []int, height float64) bool {
	for k, i := range group {
		a := &c.runs[i]
		if a.high()-a.low() > far {
			return true
		}
		for _, j := range group[:k] {
			b := &c.runs[j]
			above, below := a.x1-b.x1, a.x2-b.x2
			if above*below <= 0 || !beside(a, b) {
				continue
			}
			aside := min(math.Abs(a.x1-a.x2), math.Abs(b.x1-b.x2))
			apart := min(math.Abs(above), math.Abs(below))
			// A curve is steepest in its middle, 1.8 times as much as on average.
			if apart*height/math.Hypot(height, 1.8*aside) < distinct && aside > 2*height {
				return true
			}
		}
	}
	return false
}

// beside reports whether the runs would lie on each other in one track.
func beside(a, b *run) bool {
	return a.low() < b.high()+closeBy && b.low() < a.high()+closeBy
}

// tracks gives the runs of a group tracks so that no two that are beside each
// other share one, and none cross that need not. It returns how many there are.
//
// Of two runs to the right the one further to the right must be above, of two to
// the left the one further to the left: these rules have no cycle. Where two
// cross, once is the least, whichever is above.
func (c *corridor) tracks(group []int) int {
	n := len(group)
	under := make([][]int, n) // of each run, those that must be below it
	type pair struct{ a, b int }
	var free []pair
	for k, i := range group {
		for j := range k {
			a, b := &c.runs[i], &c.runs[group[j]]
			switch {
			case !beside(a, b):
			case (a.x1-b.x1)*(a.x2-b.x2) < 0 || (a.x1 <= a.x2) != (b.x1 <= b.x2):
				if math.Abs(a.x1-b.x2) < math.Abs(a.x2-b.x1) { // where the one leaves the other arrives
					free = append(free, pair{k, j})
				} else {
					free = append(free, pair{j, k})
				}
			case (a.x1+a.x2 > b.x1+b.x2) == (a.x1 <= a.x2):
				under[k] = append(under[k], j)
			default:
				under[j] = append(under[j], k)
			}
		}
	}
	for _, p := range free {
		if reaches(under, p.b, p.a) {
			p.a, p.b = p.b, p.a
		}
		under[p.a] = append(under[p.a], p.b)
	}
	level := levels(under)
	of := slices.Max(level) + 1
	for k, i := range group {
		r := &c.runs[i]
		r.first, r.last = level[k], of-1
		for _, j := range under[k] {
			r.last = min(r.last, level[j]-1)
		}
	}
	return of
}

// reaches reports whether the way from a leads to b.
func reaches(under [][]int, a, b int) bool {
	seen := make([]bool, len(under))
	stack := []int{a}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if i == b {
			return true
		}
		if seen[i] {
			continue
		}
		seen[i] = true
		stack = append(stack, under[i]...)
	}
	return false
}

// levels puts each as high as those above it allow.
func levels(under [][]int) []int {
	level, waits := make([]int, len(under)), make([]int, len(under))
	for _, below := range under {
		for _, j := range below {
			waits[j]++
		}
	}
	var ready []int
	for i, w := range waits {
		if w == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		for _, j := range under[i] {
			level[j] = max(level[j], level[i]+1)
			if waits[j]--; waits[j] == 0 {
				ready = append(ready, j)
			}
		}
	}
	return level
}
