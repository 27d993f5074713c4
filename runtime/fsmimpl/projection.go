package fsmimpl

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
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
	Limit   string   // the guard that counts the same records up to the same number; empty when none does
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

// Leads reports whether a step may move the projection so. Staying is no move.
func (p *Projection) Leads(from, to string) bool {
	return from == to || p.Moves == nil || slices.Contains(p.Moves, Move{from, to})
}

// Group returns the group of a row: the values of the key as JSON.
func (p *Projection) Group(s *driver.Schema, row *driver.Row) (string, error) {
	members := make([]driver.Member, len(p.Key))
	for i, name := range p.Key {
		c := s.Column(name)
		if c < 0 {
			return "", fmt.Errorf("the projection of %s is by %q, which no field is stored as", s.Machine, name)
		}
		members[i] = driver.Member{Name: name, Kind: s.Columns[c].Kind, Value: row.Values[c]}
	}
	group, err := driver.Object(members)
	return group.String(), err
}
