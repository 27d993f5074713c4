package fsm

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
)

// Projection describes the machine that is derived from all records with one
// key. The audit judges by it how the steps of the records moved it.
type Projection struct {
	Entity string
	Key    []string         // stored names of the columns that the records of a group share
	Rules  []ProjectionRule // the first one that holds gives the state
	Moves  []Move           // the only ways in which a step may move it, in names of projected states; none: all are allowed
}

// ProjectionRule gives the derived state of the groups for which all that it
// asks holds. States are stored words.
type ProjectionRule struct {
	State   string   // the projected one
	Any     []string // some record is in one of them
	All     []string // all records are in one of them, and there is a record
	None    []string // no record is in one of them
	AtLeast int64    // so many records are in those of Any and All; 0: it does not matter
}

// State returns the derived state of a group with so many records in each stored
// state; empty when no rule holds.
func (p *Projection) State(records map[string]int64) string {
	var all int64
	for _, n := range records {
		all += n
	}
	in := func(states []string) (n int64) {
		for state, k := range records {
			if slices.Contains(states, state) {
				n += k
			}
		}
		return n
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		switch {
		case r.Any != nil && in(r.Any) == 0:
		case r.All != nil && (all == 0 || in(r.All) != all):
		case r.None != nil && in(r.None) != 0:
		case in(slices.Concat(r.Any, r.All)) < r.AtLeast:
		default:
			return r.State
		}
	}
	return ""
}

// leads reports whether a step may move the projection so. Staying is no move.
func (p *Projection) leads(from, to string) bool {
	return from == to || p.Moves == nil || slices.Contains(p.Moves, Move{from, to})
}

// groupOf returns the group of a row: the values of the key as JSON.
func (p *Projection) groupOf(s *Schema, row *Row) (string, error) {
	members := make([]member, len(p.Key))
	for i, name := range p.Key {
		c := s.Column(name)
		if c < 0 {
			return "", fmt.Errorf("the projection of %s is by %q, which no field is stored as", s.Machine, name)
		}
		members[i] = member{name, s.Columns[c].Kind, row.Values[c]}
	}
	group, err := object(members)
	return group.text, err
}

// groupNumber spreads the groups over all numbers.
func groupNumber(group string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(group)) // never fails
	n := h.Sum64()
	n ^= n >> 33 // fnv leaves the high bits of short texts alike
	n *= 0xff51afd7ed558ccd
	return n ^ n>>33
}

// numberText is how a purge says from which group a record is missing.
func numberText(n uint64) string { return fmt.Sprintf("%016x", n) }

// numberOf reads what numberText wrote, as JSON; false when it is none.
func numberOf(raw json.RawMessage) (uint64, bool) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 16, 64)
	return n, err == nil && text == numberText(n)
}
