package oracle

import (
	"fmt"
	"iter"
	"slices"
	"sync"
)

// wholeLimit is how many choices are all tried, whatever depends on them.
const wholeLimit = 300

// Combine yields choices of one value for each dimension, as indices. A small
// product it yields whole; beyond, it yields all combinations of the relevant
// dimensions (as far as they fit the limit), and lets the others run through
// their pairs beside them: every two values of two dimensions meet at least once.
func Combine(dims []Dim, limit int) iter.Seq[[]int] {
	if product(dims, nil) <= min(limit, wholeLimit) {
		return all(dims)
	}
	var relevant, rest []int
	for i, d := range dims {
		if d.relevant {
			relevant = append(relevant, i)
		} else {
			rest = append(rest, i)
		}
	}
	if product(dims, relevant) > limit {
		return func(yield func([]int) bool) {
			for _, row := range pairs(dims) {
				if !yield(slices.Clone(row)) {
					return
				}
			}
		}
	}
	sub := make([]Dim, len(relevant))
	for i, d := range relevant {
		sub[i] = dims[d]
	}
	others := make([]Dim, len(rest))
	for i, d := range rest {
		others[i] = dims[d]
	}
	var full [][]int
	for c := range all(sub) {
		full = append(full, append([]int(nil), c...))
	}
	return func(yield func([]int) bool) {
		covering := pairs(others)
		choice := make([]int, len(dims))
		// Every relevant combination, and every row of the covering array with
		// each of them as long as the limit allows.
		rounds := max(1, min(len(covering), limit/len(full)))
		n := 0
		for range rounds {
			for _, c := range full {
				for i, d := range relevant {
					choice[d] = c[i]
				}
				for i, d := range rest {
					choice[d] = covering[n%len(covering)][i]
				}
				n++
				if !yield(choice) {
					return
				}
			}
			n++ // shift, so that a combination meets other rows in the next round
		}
		for ; n < len(covering); n++ {
			for i, d := range rest {
				choice[d] = covering[n][i]
			}
			if !yield(choice) {
				return
			}
		}
	}
}

func product(dims []Dim, only []int) int {
	n := 1
	take := func(d Dim) {
		if n < 1<<30 {
			n *= max(1, len(d.Values))
		}
	}
	if only == nil {
		for _, d := range dims {
			take(d)
		}
		return n
	}
	for _, i := range only {
		take(dims[i])
	}
	return n
}

// all yields the whole product.
func all(dims []Dim) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		choice := make([]int, len(dims))
		for {
			if !yield(choice) {
				return
			}
			i := len(dims) - 1
			for ; i >= 0; i-- {
				if choice[i]++; choice[i] < len(dims[i].Values) {
					break
				}
				choice[i] = 0
			}
			if i < 0 {
				return
			}
		}
	}
}

// coverings keeps what pairs has made, by the number of values of each dimension.
var coverings sync.Map

// pairs is a covering array of strength two. Nobody may change it.
func pairs(dims []Dim) [][]int {
	sizes := make([]int, len(dims))
	for i, d := range dims {
		sizes[i] = len(d.Values)
	}
	key := fmt.Sprint(sizes)
	if made, ok := coverings.Load(key); ok {
		return made.([][]int)
	}
	made := cover(dims)
	coverings.Store(key, made)
	return made
}

// cover makes a covering array of strength two, greedily: each row takes as
// many pairs that are still missing as it finds.
func cover(dims []Dim) [][]int {
	type pair struct{ i, a, j, b int }
	missing := map[pair]bool{}
	for i := range dims {
		for j := i + 1; j < len(dims); j++ {
			for a := range dims[i].Values {
				for b := range dims[j].Values {
					missing[pair{i, a, j, b}] = true
				}
			}
		}
	}
	var rows [][]int
	if len(dims) < 2 {
		for c := range all(dims) {
			rows = append(rows, append([]int(nil), c...))
		}
		return rows
	}
	for start := 0; len(missing) > 0; start++ {
		row := make([]int, len(dims))
		for i := range row {
			row[i] = -1
		}
		// Begin with one missing pair, the first in order, so that every row helps.
		first := pair{i: -1}
	find:
		for i := range dims {
			for j := i + 1; j < len(dims); j++ {
				for a := range dims[i].Values {
					for b := range dims[j].Values {
						if missing[pair{i, a, j, b}] {
							first = pair{i, a, j, b}
							break find
						}
					}
				}
			}
		}
		row[first.i], row[first.j] = first.a, first.b
		for i := range dims {
			if row[i] >= 0 {
				continue
			}
			best, bestGain := start%len(dims[i].Values), -1
			for off := range dims[i].Values {
				a := (start + off) % len(dims[i].Values)
				gain := 0
				for j := range dims {
					if j == i || row[j] < 0 {
						continue
					}
					p := pair{i, a, j, row[j]}
					if j < i {
						p = pair{j, row[j], i, a}
					}
					if missing[p] {
						gain++
					}
				}
				if gain > bestGain {
					best, bestGain = a, gain
				}
			}
			row[i] = best
		}
		for i := range dims {
			for j := i + 1; j < len(dims); j++ {
				delete(missing, pair{i, row[i], j, row[j]})
			}
		}
		rows = append(rows, row)
	}
	return rows
}
