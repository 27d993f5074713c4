package model

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// ask is an effect outside the transaction that the future depends on: a step follows its
// delivery, or it is counted.
type ask struct {
	op     *spec.Operation
	effect *spec.Effect
}

// mostAsks is how many such effects of one record may wait at once: one bit each says
// which were performed.
const mostAsks = 8

// asks numbers what may wait of a record: sets of effects. The empty one is 0.
type asks struct {
	sets  [][]ask
	index map[string]uint16
	steps map[path]uint16 // what steps ask for that ask for anything
}

// path is a way that a step takes; from is nil for a creation.
type path struct {
	op       *spec.Operation
	branch   *spec.Branch
	from, to *spec.State
}

// newAsks collects the effects that track names, and reports whether some step asks for more
// of them than can be told apart.
func newAsks(m *spec.Machine, track func(*spec.Effect) bool) (a *asks, crowded bool) {
	a = &asks{sets: [][]ask{nil}, index: map[string]uint16{"": 0}, steps: map[path]uint16{}}
	for _, v := range m.Moves() {
		var set []ask
		for _, e := range v.Asked() {
			switch {
			case e.Atomic || !track(e):
			case len(set) == mostAsks:
				crowded = true
			default:
				set = append(set, ask{v.Operation, e})
			}
		}
		if n := a.number(set); n > 0 {
			a.steps[path{v.Operation, v.Branch, v.Source(), v.To}] = n
		}
	}
	return a, crowded
}

// number returns the number of a set.
func (a *asks) number(set []ask) uint16 {
	key := ""
	for _, x := range set {
		key += fmt.Sprintf("%d %p ", x.op.Index, x.effect)
	}
	n, known := a.index[key]
	if !known {
		n = uint16(len(a.sets)) //nolint:gosec // a handful
		a.index[key] = n
		a.sets = append(a.sets, slices.Clone(set))
	}
	return n
}

// of returns what a step asks for.
func (a *asks) of(op *spec.Operation, b *spec.Branch, from, to *spec.State) uint16 {
	if len(a.steps) == 0 {
		return 0
	}
	return a.steps[path{op, b, from, to}]
}

// waited returns the effect of a set that a step follows, its delivery or its end without
// success, and its place.
func (a *asks) waited(n uint16) (ask, int) {
	i := slices.IndexFunc(a.sets[n], func(x ask) bool { return x.effect.Waits() })
	if i < 0 {
		return ask{}, i
	}
	return a.sets[n][i], i
}

// without takes the effect at a place out of what waits of a record.
func (a *asks) without(x *slot, i int) {
	set := slices.Clone(a.sets[x.wait])
	low := x.done & (1<<i - 1)
	x.wait, x.done = a.number(slices.Delete(set, i, i+1)), x.done>>1&^(1<<i-1)|low
}

// leave takes out what is of no more use when the record goes on.
func (a *asks) leave(x *slot) {
	if _, i := a.waited(x.wait); i >= 0 {
		a.without(x, i)
	}
}
