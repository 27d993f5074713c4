package layout

import (
	"math"
	"slices"
)

// ports gives each edge its place at the side of a box, as a distance from the
// middle: beside each other, in the order in which they arrive.
func (l *layered) ports(i int, beside []int) map[int]float64 {
	at := make(map[int]float64, len(beside))
	c := &l.cells[i]
	if c.node < 0 {
		return at // an edge passes in the middle
	}
	sorted := slices.Clone(beside)
	slices.SortFunc(sorted, func(a, b int) int { return l.cells[a].place - l.cells[b].place })
	step := l.step(i, len(sorted))
	for k, j := range sorted {
		at[j] = (float64(k) - float64(len(sorted)-1)/2) * step
	}
	return at
}

// step is the distance between two of n edges at one side of the box i.
func (l *layered) step(i, n int) float64 {
	node := &l.g.Nodes[l.cells[i].node]
	if !node.box() && n > 1 {
		return 0.64 * node.W / float64(n-1)
	}
	return min(portGap, (node.W-16)/float64(n))
}

// beside returns the cells at the side of i where j is.
func (l *layered) beside(i, j int) []int {
	if l.cells[j].layer < l.cells[i].layer {
		return l.cells[i].up
	}
	return l.cells[i].down
}

// portOf returns where the edge between the cells i and j leaves i.
func (l *layered) portOf(i, j int) float64 {
	return l.ports(i, l.beside(i, j))[j]
}

// widen makes room for the edges at the sides of each box.
func (l *layered) widen() {
	const least, slanted = 12.0, 14.0
	for i := range l.cells {
		c := &l.cells[i]
		if c.node < 0 || l.g.Nodes[c.node].Round {
			continue
		}
		most := max(len(c.up), len(c.down))
		need := least * float64(1+most)
		if l.g.Nodes[c.node].Diamond {
			need = slanted * float64(most-1)
		}
		if more := need - l.g.Nodes[c.node].W; more > 0 {
			l.g.Nodes[c.node].W += more
			c.left += more / 2
			c.right += more / 2
		}
	}
}

// pull wants two cells to stand so that the edge between them is straight: the
// x of b at that of a plus d.
type pull struct {
	a, b   int // blocks
	d      float64
	weight int
}

// placer finds the coordinates of the blocks: cells that stand straight below
// each other.
type placer struct {
	l      *layered
	block  []int // of each cell
	n      int
	pulls  []pull
	pairs  []pair // what stands side by side
	x      []float64
	around [][]int // pulls of each block
	before [][]int // pairs in which the block is right
	behind [][]int // pairs in which it is left
}

// pair keeps the block b to the right of a.
type pair struct {
	a, b int
	gap  float64
}

// placeX gives each cell its x.
func (l *layered) placeX() {
	p := &placer{l: l, block: make([]int, len(l.cells))}
	p.blocks()
	p.collect()
	arcs := make([]arc, 0, len(p.pairs)+2*len(p.pulls)+p.n)
	for _, q := range p.pairs {
		arcs = append(arcs, arc{from: q.a, to: q.b, length: int(math.Ceil(q.gap))})
	}
	points := p.n
	for _, q := range p.pulls {
		d := int(math.Round(q.d))
		arcs = append(arcs,
			arc{from: points, to: q.a, length: max(0, -d), weight: q.weight},
			arc{from: points, to: q.b, length: max(0, d), weight: q.weight})
		points++
	}
	for i := range p.n {
		arcs = append(arcs, arc{from: points, to: i})
	}
	at := solve(points+1, arcs)
	p.x = make([]float64, p.n)
	for i := range p.x {
		p.x[i] = float64(at[i])
	}
	p.balance()
	least := math.Inf(1)
	for i := range l.cells {
		l.cells[i].x = p.x[p.block[i]]
		least = min(least, l.cells[i].x-l.cells[i].left)
	}
	for i := range l.cells {
		l.cells[i].x -= least
	}
}

// blocks makes one block of the cells of an edge that can stand straight below
// each other: of two edges that cross, the second one bends.
func (p *placer) blocks() {
	l := p.l
	straight := make([][2][]int, len(l.layers)) // of each gap: the places at both ends
	for i := range p.block {
		p.block[i] = -1
	}
	for i := range l.cells {
		if l.cells[i].node >= 0 {
			p.block[i] = p.n
			p.n++
		}
	}
	for _, chain := range l.chains {
		for k := 1; k < len(chain)-1; k++ {
			c := &l.cells[chain[k]]
			s := &straight[c.layer]
			above := &l.cells[chain[k-1]]
			if k > 1 && !crossesAny(s, above.place, c.place) {
				s[0], s[1] = append(s[0], above.place), append(s[1], c.place)
				p.block[chain[k]] = p.block[chain[k-1]]
				continue
			}
			p.block[chain[k]] = p.n
			p.n++
		}
	}
}

func crossesAny(s *[2][]int, above, below int) bool {
	for i := range s[0] {
		if (s[0][i] < above) != (s[1][i] < below) {
			return true
		}
	}
	return false
}

// collect lists what stands side by side, and what should be straight.
func (p *placer) collect() {
	l := p.l
	for _, row := range l.layers {
		for k := 1; k < len(row); k++ {
			a, b := row[k-1], row[k]
			p.pairs = append(p.pairs, pair{p.block[a], p.block[b], l.cells[a].right + l.gap(a, b) + l.cells[b].left})
		}
	}
	for i, chain := range l.chains {
		for k := 1; k < len(chain); k++ {
			a, b := chain[k-1], chain[k]
			if p.block[a] == p.block[b] {
				continue
			}
			weight := 1
			if l.cells[a].node < 0 && l.cells[b].node < 0 {
				weight = 8
			} else if len(chain) == 3 {
				weight = 2
			}
			weight *= max(1, l.g.Edges[i].Weight)
			p.pulls = append(p.pulls, pull{p.block[a], p.block[b], l.portOf(a, b) - l.portOf(b, a), weight})
		}
	}
	for i, lone := range l.g.lone() {
		if lone { // nothing else holds it near the rest
			p.pulls = append(p.pulls, pull{p.block[0], p.block[l.g.Edges[i].From], 0, 1})
		}
	}
	p.around, p.before, p.behind = make([][]int, p.n), make([][]int, p.n), make([][]int, p.n)
	for i, q := range p.pulls {
		p.around[q.a] = append(p.around[q.a], i)
		p.around[q.b] = append(p.around[q.b], i)
	}
	for i, q := range p.pairs {
		p.before[q.b] = append(p.before[q.b], i)
		p.behind[q.a] = append(p.behind[q.a], i)
	}
}

// balance moves each block into the middle of the places that are equally good
// for it: the solution before is the one furthest to the left, or to the right.
func (p *placer) balance() {
	for round := range 8 {
		for k := range p.n {
			i := k
			if round%2 == 1 {
				i = p.n - 1 - k
			}
			p.center(i)
		}
	}
}

// wish is where one pull wants a block to be.
type wish struct {
	x      float64
	weight int
}

func (p *placer) center(i int) {
	if len(p.around[i]) == 0 {
		return
	}
	wishes := make([]wish, 0, len(p.around[i]))
	total := 0
	for _, k := range p.around[i] {
		q := p.pulls[k]
		w := wish{p.x[q.a] + q.d, q.weight}
		if q.a == i {
			w.x = p.x[q.b] - q.d
		}
		wishes = append(wishes, w)
		total += w.weight
	}
	slices.SortStableFunc(wishes, func(a, b wish) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	low, high := wishes[0].x, wishes[len(wishes)-1].x
	sum := 0
	for k, w := range wishes {
		sum += w.weight
		if 2*sum >= total {
			low, high = w.x, w.x
			if 2*sum == total {
				high = wishes[k+1].x
			}
			break
		}
	}
	first, last := math.Inf(-1), math.Inf(1)
	for _, k := range p.before[i] {
		first = max(first, p.x[p.pairs[k].a]+p.pairs[k].gap)
	}
	for _, k := range p.behind[i] {
		last = min(last, p.x[p.pairs[k].b]-p.pairs[k].gap)
	}
	if first > last {
		return // rounding
	}
	p.x[i] = min(max((low+high)/2, first), last)
}
