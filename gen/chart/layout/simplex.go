package layout

// arc demands that to stands at least length behind from, and costs weight for
// each unit of distance.
type arc struct {
	from, to, length, weight int
}

// maxPivots bounds the work; the positions are allowed after every step, only
// not yet the cheapest.
const maxPivots = 20_000

// solve gives n points integer positions, the least 0, that meet every arc and
// make the sum of weight × distance as small as it can be: the network simplex
// algorithm of Gansner, Koutsofios, North and Vo. The arcs must have no cycle
// and connect all points.
func solve(n int, arcs []arc) []int {
	s := &simplex{arcs: arcs, at: longest(n, arcs), touching: make([][]int, n)}
	for i, a := range arcs {
		s.touching[a.from] = append(s.touching[a.from], i)
		s.touching[a.to] = append(s.touching[a.to], i)
	}
	s.inTree = make([]bool, len(arcs))
	s.cut = make([]int, len(arcs))
	s.parent, s.low, s.lim = make([]int, n), make([]int, n), make([]int, n)
	s.tree()
	s.walk()
	s.cuts()
	from := 0
	for range maxPivots {
		leave := s.leaving(&from)
		if leave < 0 {
			break
		}
		s.exchange(leave, s.entering(leave))
	}
	least := s.at[0]
	for _, p := range s.at {
		least = min(least, p)
	}
	for i := range s.at {
		s.at[i] -= least
	}
	return s.at
}

// longest puts each point as far to the front as the arcs allow.
func longest(n int, arcs []arc) []int {
	at, waits, out := make([]int, n), make([]int, n), make([][]int, n)
	for i, a := range arcs {
		waits[a.to]++
		out[a.from] = append(out[a.from], i)
	}
	var ready []int
	for i := range n {
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	done := 0
	for ; len(ready) > 0; done++ {
		p := ready[0]
		ready = ready[1:]
		for _, i := range out[p] {
			a := arcs[i]
			at[a.to] = max(at[a.to], at[p]+a.length)
			if waits[a.to]--; waits[a.to] == 0 {
				ready = append(ready, a.to)
			}
		}
	}
	if done < n {
		panic("the arcs have a cycle")
	}
	return at
}

// simplex is a feasible solution and a spanning tree of tight arcs.
type simplex struct {
	arcs     []arc
	at       []int
	touching [][]int
	inTree   []bool
	cut      []int // of arcs in the tree
	parent   []int // arc that leads to the root; -1 at the root
	low, lim []int // numbers of a walk in depth: the points below p are low[p]..lim[p]
}

func (s *simplex) slack(i int) int {
	a := s.arcs[i]
	return s.at[a.to] - s.at[a.from] - a.length
}

// other returns the end of arc i that is not p.
func (s *simplex) other(i, p int) int {
	if s.arcs[i].from == p {
		return s.arcs[i].to
	}
	return s.arcs[i].from
}

// tree grows a tree of tight arcs, and moves what it has whenever it must, so
// that the next arc becomes tight.
func (s *simplex) tree() {
	in := make([]bool, len(s.at))
	in[0] = true
	members := []int{0}
	for i := 0; i < len(members); i++ {
		members = s.grow(in, members, i)
		if i < len(members)-1 || len(members) == len(s.at) {
			continue
		}
		best := -1 // the arc with the least slack that leaves the tree
		for j, a := range s.arcs {
			if in[a.from] != in[a.to] && (best < 0 || s.slack(j) < s.slack(best)) {
				best = j
			}
		}
		if best < 0 {
			panic("the arcs do not connect all points")
		}
		move := s.slack(best)
		if in[s.arcs[best].to] {
			move = -move
		}
		for _, p := range members {
			s.at[p] += move
		}
		s.inTree[best] = true
		p := s.arcs[best].from
		if in[p] {
			p = s.arcs[best].to
		}
		in[p] = true
		members = append(members, p)
	}
}

// grow adds the neighbours of members[i] that tight arcs lead to.
func (s *simplex) grow(in []bool, members []int, i int) []int {
	for _, j := range s.touching[members[i]] {
		if o := s.other(j, members[i]); !in[o] && s.slack(j) == 0 {
			s.inTree[j] = true
			in[o] = true
			members = append(members, o)
		}
	}
	return members
}

// walk numbers the points of the tree from point 0.
func (s *simplex) walk() {
	s.parent[0] = -1
	s.number(0, 1)
}

// number numbers what is below root, from the number first on; parent[root] is
// set.
func (s *simplex) number(root, first int) {
	type frame struct{ p, next int }
	n := first
	stack := []frame{{p: root}}
	s.low[root] = n
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		down := -1
		for ; f.next < len(s.touching[f.p]) && down < 0; f.next++ {
			if j := s.touching[f.p][f.next]; s.inTree[j] && j != s.parent[f.p] {
				down = j
			}
		}
		if down < 0 {
			s.lim[f.p] = n
			n++
			stack = stack[:len(stack)-1]
			continue
		}
		o := s.other(down, f.p)
		s.parent[o] = down
		s.low[o] = n
		stack = append(stack, frame{p: o})
	}
}

// below reports whether p is in the part of the tree under root.
func (s *simplex) below(p, root int) bool {
	return s.low[root] <= s.lim[p] && s.lim[p] <= s.lim[root]
}

// cuts computes the cut value of every arc of the tree, leaves first.
func (s *simplex) cuts() {
	byLim := make([]int, len(s.at)+1)
	for p, l := range s.lim {
		byLim[l] = p
	}
	for _, p := range byLim[1:] {
		if s.parent[p] >= 0 {
			s.cutOf(p)
		}
	}
}

// cutOf computes the cut value of the arc above p from those below it: the
// weights that cross the cut in the arc's direction, less those against it.
func (s *simplex) cutOf(p int) {
	above := s.parent[p]
	forward := s.arcs[above].from == p
	sum := 0
	for _, j := range s.touching[p] {
		a := s.arcs[j]
		along := (a.from == p) == forward
		v := a.weight
		if s.below(s.other(j, p), p) {
			// What crosses an arc of the tree below crosses this one as well,
			// but for its own weight, which stays inside.
			along = !along
			v = -a.weight
			if s.inTree[j] {
				v += s.cut[j]
			}
		}
		if !along {
			v = -v
		}
		sum += v
	}
	s.cut[above] = sum
}

// leaving returns an arc of the tree whose cut value is negative, or -1. It
// goes on looking where it stopped.
func (s *simplex) leaving(from *int) int {
	for range s.arcs {
		i := *from
		*from = (*from + 1) % len(s.arcs)
		if s.inTree[i] && s.cut[i] < 0 {
			return i
		}
	}
	return -1
}

// entering returns the arc with the least slack that leads over the cut of the
// arc leave against its direction.
func (s *simplex) entering(leave int) int {
	a := s.arcs[leave]
	// root is the end of the arc that is further from the root of the tree.
	root, tailBelow := a.from, true
	if s.lim[a.to] < s.lim[a.from] {
		root, tailBelow = a.to, false
	}
	best := -1
	for j, b := range s.arcs {
		if s.inTree[j] {
			continue
		}
		f, t := s.below(b.from, root), s.below(b.to, root)
		if f == t || f == tailBelow { // f == tailBelow: the same direction as leave
			continue
		}
		if best < 0 || s.slack(j) < s.slack(best) {
			best = j
		}
	}
	return best
}

// exchange replaces the arc leave of the tree by enter, and moves the points
// below so that enter is tight.
func (s *simplex) exchange(leave, enter int) {
	a := s.arcs[leave]
	root := a.from
	if s.lim[a.to] < s.lim[a.from] {
		root = a.to
	}
	move := s.slack(enter)
	if !s.below(s.arcs[enter].from, root) {
		move = -move // enter leads into the part below, which moves towards its tail
	}
	if move != 0 {
		lo, hi := s.low[root], s.lim[root]
		for p := range s.at {
			if lo <= s.lim[p] && s.lim[p] <= hi {
				s.at[p] += move
			}
		}
	}
	// The cut values change on the path between the ends of enter only.
	value := s.cut[leave]
	top := s.shift(enter, value)
	s.inTree[leave], s.inTree[enter] = false, true
	s.cut[enter] = -value
	s.number(top, s.low[top])
}

// shift takes the cut value of the leaving arc off the path that closes a
// circle with enter, and returns its highest point.
func (s *simplex) shift(enter, value int) int {
	f, t := s.arcs[enter].from, s.arcs[enter].to
	up := func(p, target int, tailSide bool) int {
		for !s.below(target, p) {
			j := s.parent[p]
			towards := s.arcs[j].from == p // the arc leads up
			if towards == tailSide {
				s.cut[j] += value
			} else {
				s.cut[j] -= value
			}
			p = s.other(j, p)
		}
		return p
	}
	top := up(f, t, true)
	up(t, f, false)
	return top
}
