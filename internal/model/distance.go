package model

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// Where facts add lengths to times, an instant stands at one of a few distances from the clock: near,
// which each length reaches, far, which none reaches, and one between each two lengths of the facts.
// Time takes it from one to the next. Instants that are compared with each other keep their order
// among those of one distance.

const (
	mostLengths = 5 // that are told apart; each doubles the distances of an instant
	nearest     = time.Millisecond
	someLength  = time.Second  // where no fact has a constant one
	farthest    = 36_000 * day // less than the longest duration, so that it can be set as one
)

// lengthsOf lists the lengths that a field or an input of a duration has: its default, and one for all.
func lengthsOf(n any) []int64 {
	switch n := n.(type) {
	case *spec.Field:
		list := []int64{constant(n.Type).Num}
		if n.Default != nil {
			list = append(list, n.Default.Int)
		}
		return list
	case *spec.Input:
		return []int64{constant(n.Type).Num}
	}
	return nil
}

// lay works out the lengths by which distances are told apart, and where instants stand.
func (c *classes) lay() {
	var list []time.Duration
	for _, n := range c.spans {
		if d := time.Duration(n) * time.Microsecond; 0 < d && d < farthest {
			list = append(list, d)
		}
	}
	slices.Sort(list)
	if list = slices.Compact(list); len(list) > mostLengths {
		list = append(list[:mostLengths-1:mostLengths-1], list[len(list)-1])
	}
	if len(list) == 0 {
		list = append(list, someLength)
	}
	bounds := list
	ahead := []time.Duration{min(nearest, bounds[0]/2)}
	for i := 1; i < len(bounds); i++ {
		ahead = append(ahead, (bounds[i-1]+bounds[i])/2)
	}
	ahead = append(ahead, farthest)
	behind := slices.Clone(ahead)
	slices.Reverse(behind)
	for i := range behind {
		behind[i] = -behind[i]
	}
	c.bounds, c.distances = bounds, append(behind, ahead...)
}

// distance is which of them an instant has, as its place among all.
func (c *classes) distance(v time.Time) int {
	bounds := c.bounds
	apart := v.Sub(epoch)
	if apart > 0 {
		n := slices.IndexFunc(bounds, func(b time.Duration) bool { return apart <= b })
		if n < 0 {
			n = len(bounds)
		}
		return len(bounds) + 1 + n
	}
	n := slices.IndexFunc(bounds, func(b time.Duration) bool { return -apart <= b })
	if n < 0 {
		n = len(bounds)
	}
	return len(bounds) - n
}

// stand puts instants at their distances, those of one distance in their order.
func (c *classes) stand(at []time.Time, set []func(time.Time), held bool) {
	sorted := slices.Clone(at)
	slices.SortFunc(sorted, time.Time.Compare)
	sorted = slices.CompactFunc(sorted, time.Time.Equal)
	for i, v := range at {
		if held && v.Equal(epoch) {
			continue
		}
		n := c.distance(v)
		to := epoch.Add(c.distances[n])
		if c.ordered {
			first := slices.IndexFunc(sorted, func(o time.Time) bool { return c.distance(o) == n })
			to = to.Add(time.Duration(slices.IndexFunc(sorted, v.Equal)-first) * time.Microsecond)
		}
		set[i](to)
	}
}

// nearer lists what instants become when time goes on: one of them comes to the next distance. Of those
// that keep their order it is the first one of its distance.
func (c *classes) nearer(at []time.Time) [][]time.Time {
	var list [][]time.Time
	for i, v := range at {
		n := c.distance(v)
		earlier := func(o time.Time) bool { return c.distance(o) == n && o.Before(v) }
		if n == 0 || slices.IndexFunc(at, v.Equal) != i || c.ordered && slices.ContainsFunc(at, earlier) {
			continue
		}
		next := slices.Clone(at)
		for k := range next {
			if k == i || c.ordered && next[k].Equal(v) {
				next[k] = epoch.Add(c.distances[n-1] + 100*time.Microsecond) // behind those that are there
			}
		}
		list = append(list, next)
	}
	return list
}
