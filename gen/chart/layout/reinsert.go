package layout

import "slices"

// effort bounds the work of improve, in comparisons: small graphs are tried
// again and again, large ones only a little. It is no time, so that equal graphs
// get equal places.
const effort = 300_000

// improve lowers the number of crossings further than sweeps can: each edge is
// taken out and led anew where it crosses least, box by box is moved with all
// its edges, and what became worse is taken back. now is how many crossings there are.
func (l *layered) improve(now int) {
	var inner []int // edges that have a choice
	around := make([][]int, len(l.g.Nodes))
	for i, chain := range l.chains {
		if chain == nil {
			continue
		}
		around[l.g.Edges[i].From] = append(around[l.g.Edges[i].From], i)
		around[l.g.Edges[i].To] = append(around[l.g.Edges[i].To], i)
		inner = append(inner, i)
	}
	left, seed := effort, uint32(0)
	next := func(n int) int {
		seed = seed*1664525 + 1013904223
		return int(seed>>8) % n
	}
	settle := func(edges []int) int {
		n := l.crossings()
		for n > 0 && left > 0 {
			for _, i := range edges {
				left -= l.reinsert(i)
			}
			l.transpose()
			was := n
			n = l.crossings()
			left -= 20 * len(l.cells)
			if n >= was {
				break
			}
		}
		return n
	}
	best := l.keep()
	if n := settle(inner); n < now {
		now, best = n, l.keep()
	} else {
		l.restore(best)
	}
	for tries := 0; now > 0 && left > 0 && len(l.g.Nodes) > 1 && tries < 40*len(l.g.Nodes); tries++ {
		node := next(len(l.g.Nodes))
		row := l.layers[l.cells[node].layer]
		l.move(row, l.cells[node].place, next(len(row)))
		n := settle(around[node])
		if n < now {
			n = settle(inner)
		}
		if n > now {
			l.restore(best)
			continue
		}
		if n < now {
			tries = 0
		}
		now, best = n, l.keep()
	}
	l.restore(best)
}

// keep returns a copy of the order of the layers, and restore brings it back.
func (l *layered) keep() [][]int {
	rows := make([][]int, len(l.layers))
	for i, row := range l.layers {
		rows[i] = slices.Clone(row)
	}
	return rows
}

func (l *layered) restore(rows [][]int) {
	for i, row := range rows {
		copy(l.layers[i], row)
		l.number(l.layers[i])
	}
}

// move takes what stands at one place of a row to another.
func (l *layered) move(row []int, from, to int) {
	c := row[from]
	for ; from < to; from++ {
		row[from] = row[from+1]
	}
	for ; from > to; from-- {
		row[from] = row[from-1]
	}
	row[to] = c
	l.number(row)
}

// crossing is what a crossing costs in reinsert, where a step aside costs up to
// skew.
const (
	crossing = 1 << 12
	skew     = 1 << 6
)

// reinsert takes the inner cells of edge i out of their layers and puts them
// back where the edge crosses least, and of such places where it is straightest:
// the best way through all layers at once. It returns how much it compared.
func (l *layered) reinsert(i int) int {
	chain := l.chains[i]
	inner := chain[1 : len(chain)-1]
	if len(inner) == 0 {
		return 0
	}
	for _, j := range inner {
		k := l.cells[j].layer
		p := l.cells[j].place
		l.layers[k] = slices.Delete(l.layers[k], p, p+1)
		l.number(l.layers[k])
	}
	work := 0
	cost := []int{0} // of the way so far, by the place where it ends; at the box just one
	back := make([][]int, len(inner))
	for k := range chain[1:] {
		next, from := l.goOn(chain[k], chain[k+1], i, cost)
		work += len(next) * (len(cost) + len(l.layers[l.cells[chain[k]].layer]))
		if k < len(inner) {
			back[k] = from
			cost = next
			continue
		}
		at := from[0]
		for k := len(inner) - 1; k >= 0; k-- {
			j := inner[k]
			row := slices.Insert(l.layers[l.cells[j].layer], at, j)
			l.layers[l.cells[j].layer] = row
			l.number(row)
			at = back[k][at]
		}
	}
	return work
}

// goOn leads from the places in the layer of the cell upper, which cost what
// cost says, to those in the layer of lower, and returns what these cost and
// from where each is reached best. A place is the one before what stands there;
// at a box there is one, its own. Edge i stands in no layer.
func (l *layered) goOn(upper, lower, i int, cost []int) (next, from []int) {
	a, b := &l.cells[upper], &l.cells[lower]
	rows, wide := len(l.layers[a.layer]), len(l.layers[b.layer])
	counts := l.counts(a.layer, wide, i)
	w := wide + 1
	begin := func(p int) (left, right int) {
		if a.node >= 0 {
			return a.place, a.place + 1
		}
		return p, p
	}
	size := w
	if b.node >= 0 {
		size = 1
	}
	next, from = make([]int, size), make([]int, size)
	for q := range next {
		next[q] = -1
	}
	all := counts[rows*w : (rows+1)*w]
	for p, c := range cost {
		left, right := begin(p)
		toLeft, toRight := counts[left*w:(left+1)*w], counts[right*w:(right+1)*w]
		aside := (2*left + 1) * skew / (2*rows + 2)
		for q := range next {
			leftUnder, rightUnder := q, q
			if b.node >= 0 {
				leftUnder, rightUnder = b.place, b.place+1
			}
			// Those from its left to its right, and from its right to its left.
			n := toLeft[wide] - toLeft[rightUnder] + all[leftUnder] - toRight[leftUnder]
			d := aside - (2*leftUnder+1)*skew/(2*wide+2)
			if sum := c + n*crossing + max(d, -d); next[q] < 0 || sum < next[q] {
				next[q], from[q] = sum, p
			}
		}
	}
	return next, from
}

// counts returns how many edges lead from the first p places of a layer to the
// first q of the next one, at p*(wide+1)+q; edge i does not count.
func (l *layered) counts(layer, wide, i int) []int {
	row, w := l.layers[layer], wide+1
	size := (len(row) + 1) * w
	if cap(l.scratch) < size {
		l.scratch = make([]int, 2*size)
	}
	counts := l.scratch[:size]
	clear(counts)
	for p, c := range row {
		for _, d := range l.cells[c].down {
			if l.cells[d].edge == i {
				continue
			}
			if l.cells[c].edge != i {
				counts[(p+1)*w+l.cells[d].place+1]++
			}
		}
		sum := 0
		for q := 1; q < w; q++ {
			sum += counts[(p+1)*w+q]
			counts[(p+1)*w+q] = counts[p*w+q] + sum
		}
	}
	return counts
}
