// Package measure times variants of the same work side by side.
//
// Variants take turns of a fraction of a millisecond, so that what else the
// machine does meets all of them alike and mostly falls between two turns. The
// figure of a round is the median of its turns, the figure of a run the median
// of its rounds. It measures wall time; it does not charge a variant for the
// garbage that it leaves, except where the collector stops it in its turn.
package measure

import (
	"slices"
	"testing"
	"time"
)

// Variant is one way of doing the work.
type Variant struct {
	Name string
	Work func(n int) error // does it n times
	Per  int               // steps in one work; figures are per step
}

// Result is what one variant took.
type Result struct {
	Name   string
	Rounds []float64 // nanoseconds per step, one figure per round
	Allocs float64   // allocations per step
}

// Median returns the median of the rounds, in nanoseconds per step.
func (r Result) Median() float64 { return Median(r.Rounds) }

// Plan says how much is measured.
type Plan struct {
	Rounds int           // of all variants
	Turns  int           // of each variant within a round
	Turn   time.Duration // about how long one turn lasts
}

// Interleaved measures the variants under the plan. The order of the turns moves
// on by one with each turn. It returns the first error of a variant.
func Interleaved(p Plan, variants []Variant) ([]Result, error) {
	results := make([]Result, len(variants))
	sizes := make([]int, len(variants))
	for i, v := range variants {
		results[i].Name = v.Name
		n, err := size(v, p.Turn)
		if err != nil {
			return nil, err
		}
		sizes[i] = n
		const runs = 100
		results[i].Allocs = testing.AllocsPerRun(runs, func() { err = v.Work(1) }) / float64(v.Per)
		if err != nil {
			return nil, err
		}
	}
	turns := make([][]float64, len(variants))
	for range p.Rounds {
		for i := range turns {
			turns[i] = turns[i][:0]
		}
		for t := range p.Turns {
			for k := range variants {
				i := (k + t) % len(variants)
				begun := time.Now()
				err := variants[i].Work(sizes[i])
				took := time.Since(begun)
				if err != nil {
					return nil, err
				}
				turns[i] = append(turns[i], float64(took)/float64(sizes[i]*variants[i].Per))
			}
		}
		for i := range turns {
			results[i].Rounds = append(results[i].Rounds, Median(turns[i]))
		}
	}
	return results, nil
}

// size returns how often the work fits into a turn, once at least. It takes the
// fastest of several tries, since a try that is interrupted says nothing.
func size(v Variant, turn time.Duration) (int, error) {
	for n := 1; ; n *= 2 {
		fastest := time.Hour
		for range 5 {
			begun := time.Now()
			if err := v.Work(n); err != nil {
				return 0, err
			}
			fastest = min(fastest, time.Since(begun))
		}
		if fastest >= turn/2 {
			return n, nil
		}
	}
}

// Median returns the middle of the values, the mean of the two middle ones when
// there are two, and 0 when there is none.
func Median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	switch {
	case n == 0:
		return 0
	case n%2 == 0:
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[n/2]
}

// Ratio returns the median over the rounds of a's figure by b's figure of the
// same round: what the machine did in a round it did to both.
func Ratio(a, b Result) float64 {
	var ratios []float64
	for i := range min(len(a.Rounds), len(b.Rounds)) {
		ratios = append(ratios, a.Rounds[i]/b.Rounds[i])
	}
	return Median(ratios)
}
