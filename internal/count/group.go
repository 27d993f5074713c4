package count

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// highest is the largest number that a count can tell from "more".
const highest = 250

// Group says how many records of a group are in each state, in the order of
// the machine's states.
type Group struct {
	counts string // one byte per state
	shape  *shape
}

// shape is what all groups of one walk have in common.
type shape struct {
	machine *spec.Machine
	caps    []uint8 // by state: the count that means "this many or more"
}

// String lists the states that have records: `{committed, 2 aborted}`. A count
// that is saturated reads `2+ aborted`.
func (g Group) String() string {
	var list []string
	for i, s := range g.shape.machine.States {
		n := g.counts[i]
		switch {
		case n == 0:
		case n == g.shape.caps[i]:
			list = append(list, fmt.Sprintf("%d+ %s", n, s.Name))
		case n == 1:
			list = append(list, s.Name)
		default:
			list = append(list, fmt.Sprintf("%d %s", n, s.Name))
		}
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// span is a number that is known between two bounds.
type span struct {
	lo   int64
	open bool // any number from lo on; else exactly lo
}

// atLeast reports whether the number is n or more, and whether it may be.
func (s span) atLeast(n int64) (surely, maybe bool) {
	return s.lo >= n, s.lo >= n || s.open
}

// in counts the records in the states. Each state counts once.
func (g Group) in(states ...spec.StateRef) span {
	var total span
	for k, r := range states {
		i := r.State.Index
		if listed(r.State, states[:k]) {
			continue
		}
		total.lo += int64(g.counts[i])
		total.open = total.open || g.counts[i] == g.shape.caps[i]
	}
	return total
}

// leave returns the groups that are left when a record in the state goes: a
// saturated count may stay what it is. There are none when no record is there.
func (g Group) leave(s *spec.State) []Group {
	n, top := g.counts[s.Index], g.shape.caps[s.Index]
	switch {
	case n == top && top > 0:
		return []Group{g.with(s, n-1), g}
	case n == top: // not counted at all: there may be one
		return []Group{g}
	case n > 0:
		return []Group{g.with(s, n-1)}
	}
	return nil
}

// enter returns the group with one more record in the state.
func (g Group) enter(s *spec.State) Group {
	n := g.counts[s.Index]
	if n == g.shape.caps[s.Index] {
		return g
	}
	return g.with(s, n+1)
}

func (g Group) with(s *spec.State, n uint8) Group {
	b := []byte(g.counts)
	b[s.Index] = n
	return Group{counts: string(b), shape: g.shape}
}
