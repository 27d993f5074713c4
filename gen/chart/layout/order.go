package layout

import (
	"cmp"
	"slices"
)

// rounds is how often the layers are swept in each direction.
const rounds = 16

// order orders the layers so that few edges cross: sweeps by the median of the
// neighbours, then neighbours that change places where it helps; from several
// beginnings, the best one stays.
func (l *layered) order() {
	beginnings := 2
	if len(l.cells) <= 600 {
		beginnings = 12
	}
	var found []start
	for k := range beginnings {
		if k < 2 {
			l.begin(k == 0)
		} else {
			l.shuffle(uint32(k))
		}
		own := start{crossings: -1}
		for round := range rounds {
			l.sweep(round%2 == 0)
			l.transpose()
			if n := l.crossings(); own.crossings < 0 || n < own.crossings {
				own = start{n, l.keep()}
			}
			if own.crossings == 0 {
				break
			}
		}
		found = append(found, own)
		if own.crossings == 0 {
			break
		}
	}
	best := slices.MinFunc(found, func(a, b start) int { return cmp.Compare(a.crossings, b.crossings) })
	l.restore(best.rows)
	if best.crossings > 0 {
		l.improve(best.crossings)
	}
}

// start is an order of the layers and its crossings.
type start struct {
	crossings int
	rows      [][]int
}

// begin orders the layers as a walk in depth meets the cells: from the top, or
// from the bottom.
func (l *layered) begin(down bool) {
	seen := make([]bool, len(l.cells))
	rows := make([][]int, len(l.layers))
	var visit func(int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		rows[l.cells[i].layer] = append(rows[l.cells[i].layer], i)
		first, second := l.cells[i].down, l.cells[i].up
		if !down {
			first, second = second, first
		}
		for _, j := range first {
			visit(j)
		}
		for _, j := range second {
			visit(j)
		}
	}
	starts := make([]int, len(l.cells))
	for i := range starts {
		starts[i] = i
	}
	slices.SortStableFunc(starts, func(a, b int) int {
		if !down {
			a, b = b, a
		}
		return cmp.Compare(l.cells[a].layer, l.cells[b].layer)
	})
	for _, i := range starts {
		visit(i)
	}
	l.layers = rows
	for _, row := range rows {
		l.number(row)
	}
}

// shuffle orders the layers by chance: the same for the same seed.
func (l *layered) shuffle(seed uint32) {
	for _, row := range l.layers {
		slices.Sort(row)
		for i := len(row) - 1; i > 0; i-- {
			seed = seed*1664525 + 1013904223
			j := int(seed>>8) % (i + 1)
			row[i], row[j] = row[j], row[i]
		}
		l.number(row)
	}
}

func (l *layered) number(row []int) {
	for place, i := range row {
		l.cells[i].place = place
	}
}

// sweep orders each layer by the medians of the one before it.
func (l *layered) sweep(down bool) {
	for k := 1; k < len(l.layers); k++ {
		row := l.layers[k]
		if !down {
			row = l.layers[len(l.layers)-1-k]
		}
		median := make(map[int]float64, len(row))
		for _, i := range row {
			beside := l.cells[i].up
			if !down {
				beside = l.cells[i].down
			}
			median[i] = l.median(i, beside)
		}
		slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(median[a], median[b]) })
		l.number(row)
	}
}

// median is the middle of the places beside; of two, it leans to the side
// where they are denser. A cell without neighbours stays where it is.
func (l *layered) median(i int, beside []int) float64 {
	if len(beside) == 0 {
		return float64(l.cells[i].place)
	}
	places := make([]int, len(beside))
	for k, j := range beside {
		places[k] = l.cells[j].place
	}
	slices.Sort(places)
	n, m := len(places), len(places)/2
	switch {
	case n%2 == 1:
		return float64(places[m])
	case n == 2:
		return float64(places[0]+places[1]) / 2
	}
	left, right := places[m-1]-places[0], places[n-1]-places[m]
	if left+right == 0 {
		return float64(places[m-1]+places[m]) / 2
	}
	return float64(places[m-1]*right+places[m]*left) / float64(left+right)
}

// transpose lets neighbours change places for as long as that saves crossings.
func (l *layered) transpose() {
	for better, left := true, 20; better && left > 0; left-- {
		better = false
		for _, row := range l.layers {
			for k := 1; k < len(row); k++ {
				a, b := row[k-1], row[k]
				if l.between(a, b) > l.between(b, a) {
					row[k-1], row[k] = b, a
					l.cells[a].place, l.cells[b].place = k, k-1
					better = true
				}
			}
		}
	}
}

// between counts the crossings of the edges of a and b when a stands left of b.
func (l *layered) between(a, b int) int {
	n := 0
	for _, side := range [2][2][]int{{l.cells[a].up, l.cells[b].up}, {l.cells[a].down, l.cells[b].down}} {
		for _, i := range side[0] {
			for _, j := range side[1] {
				if l.cells[i].place > l.cells[j].place {
					n++
				}
			}
		}
	}
	return n
}

// crossings counts the crossings between all layers.
func (l *layered) crossings() int {
	n := 0
	for k := 1; k < len(l.layers); k++ {
		n += l.crossingsAbove(l.layers[k], len(l.layers[k-1]))
	}
	return n
}

// crossingsAbove counts those of the edges that lead up from row: for each
// edge, the ones before it that end further to the right.
func (l *layered) crossingsAbove(row []int, width int) int {
	sums := make([]int, width+1) // a Fenwick tree over the places above
	n, seen := 0, 0
	for _, i := range row {
		ups := make([]int, 0, len(l.cells[i].up))
		for _, j := range l.cells[i].up {
			ups = append(ups, l.cells[j].place)
		}
		for _, p := range ups {
			upTo := 0
			for k := p + 1; k > 0; k -= k & -k {
				upTo += sums[k]
			}
			n += seen - upTo
		}
		for _, p := range ups {
			for k := p + 1; k <= width; k += k & -k {
				sums[k]++
			}
			seen++
		}
	}
	return n
}
