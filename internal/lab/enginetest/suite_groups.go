package enginetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// others runs the operations that look at other records, or that lead into a
// state in which something is unique, with the other records in every state,
// in the same group and in another one, one too few, just enough and too many.
func others[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	for _, o := range s.M.Ops {
		if !looksAround(s.M, o) {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			h := s.TracedHarness(t, st)
			n := 0
			for _, from := range starts(s.M, o) {
				c, ok := s.M.Good(o, from, func(v oracle.Verdict) bool { return oracle.Moves(v) && len(v.Failing) == 0 })
				if !ok {
					continue
				}
				for _, other := range s.M.StateOrder {
					for _, k := range crowds(s.M, o) {
						for _, where := range wheres(s.M, o) {
							n++
							c := c.Clone()
							if !apart(s.M, o, &c, n) {
								h = s.TracedHarness(t, st)
							}
							crowded(h, n, o, c, other, k, where)
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
func wheres(m *world.Model, o *oracle.Op) []string {
	if !o.Creates && regroups(m, o) {
		return []string{sameGroup, otherGroup, nextGroup}
	}
	return []string{sameGroup, otherGroup}
}

// regroups reports whether an operation changes a field of a group.
func regroups(m *world.Model, o *oracle.Op) bool {
	groups := grouped(m)
	in := func(e oracle.EffectSet) bool {
		return slices.ContainsFunc(e.Set, func(a oracle.Assign) bool { return groups[a.Field] }) ||
			slices.ContainsFunc(e.Clear, func(name string) bool { return groups[name] })
	}
	return in(o.Always) || slices.ContainsFunc(o.Branches, func(b *oracle.BranchInfo) bool { return in(b.Does) })
}

// looksAround reports whether what the operation does depends on other records.
func looksAround(m *world.Model, o *oracle.Op) bool {
	if slices.ContainsFunc(o.Guards, func(g *oracle.GuardInfo) bool { return g.Fewer > 0 }) || regroups(m, o) {
		return true
	}
	for _, u := range m.Uniques {
		for _, s := range targets(m, o) {
			if slices.Contains(oracle.List(u.In), s) {
				return true
			}
		}
	}
	return false
}

// targets lists the states that an operation can lead to.
func targets(m *world.Model, o *oracle.Op) []string {
	var names []string
	for from, c := range o.Cells {
		if c.Kind == oracle.CellMove {
			names = append(names, c.To)
		}
		for _, b := range o.Branches {
			if to := b.To; c.Kind == oracle.CellChoose && to != "" {
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
func crowds(m *world.Model, o *oracle.Op) []int {
	list := []int{1}
	for _, g := range o.Guards {
		if g.Fewer > 1 && g.Fewer <= crowdLimit {
			list = append(list, int(g.Fewer)-1, int(g.Fewer))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// crowded runs the operation once, with k others in a state. Records and groups
// bear the number n, so that they do not meet those of other runs.
func crowded[R any](h *world.Harness[R], n int, o *oracle.Op, c oracle.Case, other *oracle.StateInfo, k int, where string) {
	h.T.Helper()
	what := fmt.Sprintf("with %d others in %s, %s", k, other.Name, where)
	id := fmt.Sprintf("record-%d", n)
	c.Row.ID, c.Call.ID = id, id
	// The group the call is about: that of its own record, or of the one it makes.
	group := c.Row
	switch {
	case o.Creates:
		group = h.M.Blank(id)
		h.M.Apply(o, o.Always, h.M.Blank(id), &group, c.Call)
	case where == nextGroup:
		v := h.M.Decide(o, c.Row, c.Call)
		if !oracle.Moves(v) {
			return // its own mark has made it another case
		}
		group = v.Row
	}
	base, ok := soundRow(h.M, other)
	if !ok {
		return
	}
	var rows []driver.Row
	for i := range k {
		r := base
		r.ID = fmt.Sprintf("other-%d-%d", n, i+1)
		r.Values = slices.Clone(base.Values)
		for _, name := range oracle.SortedKeys(grouped(h.M)) {
			f := h.M.FieldByName[name]
			before := r.Values[f.Index]
			r.Values[f.Index] = group.Values[f.Index]
			if text, ok := r.Values[f.Index].(string); ok && where == otherGroup && f.Kind == driver.KindString {
				r.Values[f.Index] = text + " elsewhere"
			}
			if !h.M.Sound(r) { // the state forbids it: a value of its own, in a group of its own
				if text, ok := before.(string); ok && f.Kind == driver.KindString {
					before = fmt.Sprintf("%s #%d-%d", text, n, i)
				}
				r.Values[f.Index] = before
			}
		}
		rows = append(rows, r)
	}
	if !o.Creates {
		rows = append(rows, c.Row)
	}
	trial := h.W.Clone()
	for i := range rows { // what is unique is unique among them, too
		rows[i].Rev = 1
		number(trial, &rows[i])
		if trial.UniqueBroken(oracle.Verdict{Row: rows[i]}) != nil || dedupeBroken(trial, rows[i]) {
			return
		}
		trial.Seed(rows[i])
	}
	seed(h, rows...)
	h.S.DurableCount++
	call := c.Call
	if o.By != "system" {
		call.RequestID = h.RequestID()
	} else {
		call.Reason = ""
	}
	if o.Creates {
		h.Create(what, o, call)
	} else if h.M.Exported(o) {
		h.Call(what, o, fsm.Ref{ID: id, Rev: 1}, call)
	}
	h.Same(what)
}

// number gives a record the next number of its group in every sequence, where that breaks no rule.
func number(w *world.World, r *driver.Row) {
	before := *r
	renumber(w.M, r, func(f *oracle.FieldInfo) int64 { return w.NextNumber(f, before) })
}

// numberOf gives a record this number in every sequence, where that breaks no rule.
func numberOf(m *world.Model, r *driver.Row, n int64) {
	renumber(m, r, func(*oracle.FieldInfo) int64 { return n })
}

// renumber gives a record other numbers, and takes along what its state says is equal to them.
// A sound record keeps its own when it would not be sound with others.
func renumber(m *world.Model, r *driver.Row, next func(f *oracle.FieldInfo) int64) {
	own, sound := r.Values, m.Sound(*r)
	r.Values = slices.Clone(own)
	moved := map[any]int64{}
	for _, f := range m.Sequences {
		n := next(f)
		moved[own[f.Index]], r.Values[f.Index] = n, n
	}
	if !sound || m.Sound(*r) {
		return
	}
	for _, f := range m.FieldByName {
		if n, ok := moved[own[f.Index]]; ok && f.Kind == driver.KindInt {
			r.Values[f.Index] = n
		}
	}
	if !m.Sound(*r) {
		r.Values = own
	}
}

// dedupeBroken reports whether a record has the dedupe fields of another one.
func dedupeBroken(w *world.World, r driver.Row) bool {
	return slices.ContainsFunc(w.M.Ops, func(o *oracle.Op) bool {
		return o.Dedupe != "" && len(w.Others(o.Dedupe, o.DedupeIn, r)) > 0
	})
}

// soundRow is a record in a state that breaks no rule: one that is found, or that of
// the table.
func soundRow(m *world.Model, st *oracle.StateInfo) (driver.Row, bool) {
	rows := rows(&m.Made, st.Name, func() []driver.Row {
		if r, ok := newSoundRow(m, st); ok {
			return []driver.Row{r}
		}
		return nil
	})
	if len(rows) == 0 {
		return driver.Row{}, false
	}
	return rows[0], true
}

func newSoundRow(m *world.Model, st *oracle.StateInfo) (driver.Row, bool) {
	if row, ok := m.RowIn(st, true); ok {
		return row, true
	}
	if w := oracle.WitnessOf(st.Witnesses, "sound"); w != nil && w.Never+w.Unknown == "" {
		row, err := m.WitnessRow(st, *w)
		return row, err == nil && m.Sound(row)
	}
	return driver.Row{}, false
}
