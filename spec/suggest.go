package spec

import (
	"fmt"
	"strings"
)

// nearest is nearest below, for as long as the file has not had its share: a
// file of thousands of wrong names is told what is wrong, not what is near.
func (r *reporter) nearest(name string, names []string) string {
	const longest = 80
	if len(name) > longest || !r.roomFor(len(names)) {
		return ""
	}
	return nearest(name, names)
}

// roomFor reports whether n more names may be looked through for a finding.
func (r *reporter) roomFor(n int) bool {
	const most = 200_000
	r.compared += n
	return r.compared <= most
}

// nearest returns the name that name was probably meant to be, or "" when none
// is near or two are equally near.
func nearest(name string, names []string) string {
	best, bestAt, tie := "", 1+max(1, len([]rune(name))/3), false
	for _, n := range names {
		if n == name {
			continue
		}
		d := distance(strings.ToLower(name), strings.ToLower(n), bestAt+1)
		switch {
		case d < bestAt:
			best, bestAt, tie = n, d, false
		case d == bestAt && best != "":
			tie = true
		}
	}
	if tie {
		return ""
	}
	return best
}

// distance is the number of characters to insert, remove, replace or swap with
// the neighbour, to make b of a; limit when it is at least that.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) >= limit || len(y)-len(x) >= limit {
		return limit
	}
	var before []int
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return min(last[len(y)], limit)
}

// didYouMean is the hint for an unknown name: the near one, else all of them.
func didYouMean(near, label string, names []string) string {
	switch {
	case near != "":
		return fmt.Sprintf("did you mean %q?", near)
	case len(names) == 0:
		return ""
	}
	const most = 20
	shown := names
	if len(shown) > most {
		shown = shown[:most]
	}
	text := label + ": " + strings.Join(shown, ", ")
	if len(names) > most {
		text += ", ..."
	}
	return text
}

// Nearest returns the one of names that name was probably meant to be, or ""
// when none is near or two are equally near.
func Nearest(name string, names []string) string { return nearest(name, names) }

// DidYouMean is the hint for an unknown name: the near one, else all names
// behind label, or the first of them when there are many.
func DidYouMean(near, label string, names []string) string { return didYouMean(near, label, names) }
