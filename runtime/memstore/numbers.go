package memstore

import (
	"math"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// place is a number of a sequence within its group.
type place struct {
	group string
	n     int64
}

// numbers lists the places that a row has in the sequences of its machine.
func numbers(s *driver.Schema, row *driver.Row) []place {
	var list []place
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Kind != driver.KindSequence {
			continue
		}
		u := slices.IndexFunc(s.Uniques, func(u driver.UniqueRule) bool { return u.Name == "sequence_"+c.Name })
		n, ok := row.Values[i].(int64)
		if u < 0 || !ok {
			continue
		}
		var group []any
		for _, name := range s.Uniques[u].Columns {
			if name != c.Stored {
				group = append(group, row.Values[s.Column(name)])
			}
		}
		list = append(list, place{joined(c.Name, group), n})
	}
	return list
}

// renumber keeps the highest number of each group when a row comes, changes or
// goes (next is nil). t.rows is as after that.
func (t *table) renumber(tx *Tx, s *driver.Schema, old, next *driver.Row) {
	var before, after []place
	if old != nil {
		before = numbers(s, old)
	}
	if next != nil {
		after = numbers(s, next)
	}
	set := func(group string, n int64) {
		was := t.highest[group]
		t.highest[group] = n
		tx.later(func() { t.highest[group] = was })
	}
	for _, p := range before {
		if slices.Contains(after, p) || p.n < t.highest[p.group] {
			continue
		}
		most := int64(0) // the highest goes: look for the next one
		for _, row := range t.rows {
			for _, x := range numbers(s, &row) {
				if x.group == p.group {
					most = max(most, x.n)
				}
			}
		}
		set(p.group, most)
	}
	for _, p := range after {
		if p.n > t.highest[p.group] {
			set(p.group, p.n)
		}
	}
}

// NextNumber counts the group's sequence up, behind the numbers that were given
// in the group and those that its records have brought with them. A record must
// have a number: those with an absent value in the group are counted together.
func (v *view) NextNumber(q driver.PeerQuery) (int64, error) {
	t, key := v.table, joined(q.Name, q.Values)
	was := t.given[key]
	last := max(was, t.highest[key])
	if last == math.MaxInt64 {
		return 0, nil
	}
	t.given[key] = last + 1
	v.tx.later(func() { t.given[key] = was })
	return t.given[key], nil
}
