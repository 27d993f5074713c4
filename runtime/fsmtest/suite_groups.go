package fsmtest

import (
	"fmt"
	"slices"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// others runs the operations that look at other records, or that lead into a
// state in which something is unique, with the other records in every state,
// in the same group and in another one, one too few, just enough and too many.
func (s *suite[R]) others(t *testing.T, st Store) {
	for _, o := range s.m.operations {
		if !s.m.looksAround(o) {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			h := s.tracedHarness(t, st)
			n := 0
			for _, from := range s.m.starts(o) {
				c, ok := s.m.good(o, from, func(v verdict) bool { return moves(v) && len(v.failing) == 0 })
				if !ok {
					continue
				}
				for _, other := range s.m.stateOrder {
					for _, k := range s.m.crowds(o) {
						for _, where := range s.m.wheres(o) {
							n++
							c := c.clone()
							if !s.m.apart(o, &c, n) {
								h = s.tracedHarness(t, st)
							}
							h.crowded(n, o, c, other, k, where)
						}
					}
				}
			}
		})
	}
}

// Where the others of a crowd are.
const (
	sameGroup  = "in the same group"
	otherGroup = "in another group"
	nextGroup  = "in the group it goes to"
)

// wheres lists the groups that the others are put into.
func (m *model) wheres(o *operation) []string {
	if !o.creates && m.regroups(o) {
		return []string{sameGroup, otherGroup, nextGroup}
	}
	return []string{sameGroup, otherGroup}
}

// regroups reports whether an operation changes a field of a group.
func (m *model) regroups(o *operation) bool {
	groups := m.grouped()
	in := func(e effects) bool {
		return slices.ContainsFunc(e.set, func(a assign) bool { return groups[a.field] }) ||
			slices.ContainsFunc(e.clear, func(name string) bool { return groups[name] })
	}
	return in(o.effects) || slices.ContainsFunc(o.branches, func(b *branch) bool { return in(b.effects) })
}

// looksAround reports whether what the operation does depends on other records.
func (m *model) looksAround(o *operation) bool {
	if slices.ContainsFunc(o.require, func(g *guard) bool { return g.Fewer > 0 }) || m.regroups(o) {
		return true
	}
	for _, u := range m.Uniques {
		for _, s := range m.targets(o) {
			if slices.Contains(list(u.In), s) {
				return true
			}
		}
	}
	return false
}

// targets lists the states that an operation can lead to.
func (m *model) targets(o *operation) []string {
	var names []string
	for from, c := range o.cells {
		if c.kind == cellMove {
			names = append(names, c.to)
		}
		for _, b := range o.branches {
			if to := b.To; c.kind == cellChoose && to != "" {
				if to == "same" {
					to = from
				}
				names = append(names, to)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// crowdLimit is the largest bound of a guard that real records are counted up to.
// No store knows the bound, so for a larger one a store that counts more than there
// is will do: see manyOthers.
const crowdLimit = 5

// crowds lists how many other records there are to be.
func (m *model) crowds(o *operation) []int {
	list := []int{1}
	for _, g := range o.require {
		if g.Fewer > 1 && g.Fewer <= crowdLimit {
			list = append(list, int(g.Fewer)-1, int(g.Fewer))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// crowded runs the operation once, with k others in a state. Records and groups
// bear the number n, so that they do not meet those of other runs.
func (h *harness[R]) crowded(n int, o *operation, c theCase, other *state, k int, where string) {
	h.t.Helper()
	what := fmt.Sprintf("with %d others in %s, %s", k, other.Name, where)
	id := fmt.Sprintf("record-%d", n)
	c.row.ID, c.call.ID = id, id
	// The group the call is about: that of its own record, or of the one it makes.
	group := c.row
	switch {
	case o.creates:
		group = h.m.blank(id)
		h.m.apply(o, o.effects, h.m.blank(id), &group, c.call)
	case where == nextGroup:
		v := h.m.decide(o, c.row, c.call)
		if !moves(v) {
			return // its own mark has made it another case
		}
		group = v.row
	}
	base, ok := h.m.soundRow(other)
	if !ok {
		return
	}
	var rows []driver.Row
	for i := range k {
		r := base
		r.ID = fmt.Sprintf("other-%d-%d", n, i+1)
		r.Values = slices.Clone(base.Values)
		for _, name := range sortedKeys(h.m.grouped()) {
			f := h.m.fields[name]
			before := r.Values[f.index]
			r.Values[f.index] = group.Values[f.index]
			if text, ok := r.Values[f.index].(string); ok && where == otherGroup && f.kind == driver.KindString {
				r.Values[f.index] = text + " elsewhere"
			}
			if !h.m.sound(r) { // the state forbids it: a value of its own, in a group of its own
				if text, ok := before.(string); ok && f.kind == driver.KindString {
					before = fmt.Sprintf("%s #%d-%d", text, n, i)
				}
				r.Values[f.index] = before
			}
		}
		rows = append(rows, r)
	}
	if !o.creates {
		rows = append(rows, c.row)
	}
	trial := h.w.clone()
	for i := range rows { // what is unique is unique among them, too
		rows[i].Rev = 1
		trial.number(&rows[i])
		if trial.uniqueBroken(verdict{row: rows[i]}) != nil || trial.dedupeBroken(rows[i]) {
			return
		}
		trial.seed(rows[i])
	}
	h.seed(rows...)
	h.s.durableCount++
	call := c.call
	if o.By != "system" {
		call.RequestID = h.requestID()
	} else {
		call.Reason = ""
	}
	if o.creates {
		h.create(what, o, call)
	} else if h.exported(o) {
		h.call(what, o, fsm.Ref{ID: id, Rev: 1}, call)
	}
	h.same(what)
}

// number gives a record the next number of its group in every sequence.
func (w *world) number(r *driver.Row) {
	r.Values = slices.Clone(r.Values)
	for _, f := range w.m.fields {
		if f.kind == driver.KindSequence {
			r.Values[f.index] = w.nextNumber(f, *r)
		}
	}
}

// number gives a record this number in every sequence.
func (m *model) number(r *driver.Row, n int64) {
	r.Values = slices.Clone(r.Values)
	for _, f := range m.fields {
		if f.kind == driver.KindSequence {
			r.Values[f.index] = n
		}
	}
}

// dedupeBroken reports whether a record has the dedupe fields of another one.
func (w *world) dedupeBroken(r driver.Row) bool {
	return slices.ContainsFunc(w.m.operations, func(o *operation) bool {
		return o.Dedupe != "" && len(w.others(o.Dedupe, o.DedupeIn, r)) > 0
	})
}

// soundRow is a record in a state that breaks no rule: one that is found, or that of
// the table.
func (m *model) soundRow(st *state) (driver.Row, bool) {
	rows := m.made.rows(st.Name, func() []driver.Row {
		if r, ok := m.newSoundRow(st); ok {
			return []driver.Row{r}
		}
		return nil
	})
	if len(rows) == 0 {
		return driver.Row{}, false
	}
	return rows[0], true
}

func (m *model) newSoundRow(st *state) (driver.Row, bool) {
	if row, ok := m.rowIn(st, true); ok {
		return row, true
	}
	if w := witness(st.Witnesses, "sound"); w != nil && w.Never+w.Unknown == "" {
		row, err := m.witnessRow(st, *w)
		return row, err == nil && m.sound(row)
	}
	return driver.Row{}, false
}
