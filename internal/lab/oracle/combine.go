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
	full, covering := [][]int{}, pairs(only(dims, rest))
	for c := range all(only(dims, relevant)) {
		full = append(full, slices.Clone(c))
	}
	// Every relevant combination, and every row of the covering array with each of
	// them as long as the limit allows; but every row once.
	rounds := max(1, min(len(covering), limit/len(full)))
	return func(yield func([]int) bool) {
		choice := make([]int, len(dims))
		for n := 0; n < max(rounds*len(full), len(covering)); n++ {
			if n < rounds*len(full) {
				for i, d := range relevant {
					choice[d] = full[n%len(full)][i]
				}
			}
			for i, d := range rest { // a combination meets another row in each round
				choice[d] = covering[(n+n/len(covering))%len(covering)][i]
			}
			if !yield(choice) {
				return
			}
		}
	}
}

// only returns the dimensions with these indices.
func only(dims []Dim, indices []int) []Dim {
	list := make([]Dim, len(indices))
	for i, d := range indices {
		list[i] = dims[d]
	}
	return list
}

// product counts the choices, of some dimensions or, without indices, of all; a very
// large number it does not count to its end.
func product(dims []Dim, indices []int) int {
	if indices != nil {
		dims = only(dims, indices)
	}
	n := 1
	for _, d := range dims {
		if n < 1<<30 {
			n *= max(1, len(d.Values))
		}
	}
	return n
}

// all yields the whole product.
func all(dims []Dim) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		choice := make([]int, len(dims))
		for i := 0; i >= 0; {
			if !yield(choice) {
				return
			}
			for i = len(dims) - 1; i >= 0; i-- {
				if choice[i]++; choice[i] < len(dims[i].Values) {
					break
				}
				choice[i] = 0
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
	made, ok := coverings.Load(key)
	if !ok {
		made, _ = coverings.LoadOrStore(key, cover(dims))
	}
	return made.([][]int)
}

// cover makes a covering array of strength two, greedily: each row begins with a
// pair that is still missing, and takes as many of the others as it finds.
func cover(dims []Dim) [][]int {
	var rows [][]int
	if len(dims) < 2 {
		for c := range all(dims) {
			rows = append(rows, slices.Clone(c))
		}
		return rows
	}
	type pair struct{ i, a, j, b int }
	var pairs []pair
	missing := map[pair]bool{}
	for j := range dims {
		for i := range j {
			for a := range dims[i].Values {
				for b := range dims[j].Values {
					pairs = append(pairs, pair{i, a, j, b})
					missing[pair{i, a, j, b}] = true
				}
			}
		}
	}
	for _, first := range pairs {
		if !missing[first] {
			continue
		}
		row := slices.Repeat([]int{-1}, len(dims))
		row[first.i], row[first.j] = first.a, first.b
		for i := range dims {
			best, most := row[i], -1
			for off := range dims[i].Values {
				a, gain := (len(rows)+off)%len(dims[i].Values), 0
				for j := range dims {
					if j < i && missing[pair{j, row[j], i, a}] || j > i && missing[pair{i, a, j, row[j]}] {
						gain++
					}
				}
				if row[i] < 0 && gain > most {
					best, most = a, gain
				}
			}
			row[i] = best
		}
		for j := range dims {
			for i := range j {
				delete(missing, pair{i, row[i], j, row[j]})
			}
		}
		rows = append(rows, row)
	}
	return rows
}
