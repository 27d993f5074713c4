package layout

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// begun is a graph of up to so many nodes in layers, ordered in some way.
func begun(t *rapid.T, most int) *layered {
	g := random(t, most)
	l := newLayered(&g, backByWalk(&g, 0))
	l.shuffle(uint32(rapid.IntRange(1, 1000).Draw(t, "seed")))
	return l
}

// An edge that is led anew crosses as little as trying everything finds.
func TestReinsert(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := begun(t, 6)
		for i, chain := range l.chains {
			if chain == nil || len(chain) > 5 {
				continue
			}
			l.reinsert(i)
			got, kept := l.crossings(), l.keep()
			if least := l.tryAll(chain[1 : len(chain)-1]); got != least {
				t.Errorf("edge %d is led so that there are %d crossings, the least is %d", i, got, least)
			}
			l.restore(kept)
		}
	})
}

// tryAll tries all places of the cells, and returns the fewest crossings.
func (l *layered) tryAll(cells []int) int {
	if len(cells) == 0 {
		return l.crossings()
	}
	row := l.layers[l.cells[cells[0]].layer]
	least := -1
	for at := range row {
		l.move(row, l.cells[cells[0]].place, at)
		if n := l.tryAll(cells[1:]); least < 0 || n < least {
			least = n
		}
	}
	return least
}

// Improve makes nothing worse, and each cell stands in its layer once.
func TestImprove(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := begun(t, 12)
		for range 3 {
			was := l.crossings()
			l.improve(was)
			if n := l.crossings(); n > was {
				t.Errorf("%d crossings became %d", was, n)
			}
		}
		var all []int
		for k, row := range l.layers {
			for place, i := range row {
				if c := &l.cells[i]; c.layer != k || c.place != place {
					t.Errorf("cell %d says that it stands in layer %d at %d, it is in %d at %d", i, c.layer, c.place, k, place)
				}
			}
			all = append(all, row...)
		}
		slices.Sort(all)
		for i, c := range all {
			if i != c || len(all) != len(l.cells) {
				t.Fatalf("of %d cells the layers have %v", len(l.cells), all)
			}
		}
	})
}

// Runs that are beside each other have no track in common, and a corridor has
// room for its tracks.
func TestTracks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := &corridor{}
		for range rapid.IntRange(1, 14).Draw(t, "runs") {
			c.runs = append(c.runs, run{x1: rapid.Float64Range(0, 900).Draw(t, "x1"), x2: rapid.Float64Range(0, 900).Draw(t, "x2")})
		}
		c.spread()
		for i := range c.runs {
			a := &c.runs[i]
			if a.first < 0 || a.first > a.last || a.last >= a.of {
				t.Errorf("run %d has the tracks %d to %d of %d", i, a.first, a.last, a.of)
			}
			if a.of > 1 && c.height < float64(a.of)*trackGap {
				t.Errorf("%d tracks in %v", a.of, c.height)
			}
			for j := range i {
				b := &c.runs[j]
				if beside(a, b) && a.of != b.of {
					t.Errorf("the runs %d and %d are beside each other, one has %d tracks and one %d", i, j, a.of, b.of)
				}
				if beside(a, b) && a.of > 1 && a.first <= b.last && b.first <= a.last {
					t.Errorf("the runs %d and %d share a track: %d to %d and %d to %d", i, j, a.first, a.last, b.first, b.last)
				}
			}
		}
	})
}
