package fsmtest

import (
	"fmt"
	"slices"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// prompt tries what the schema of a store has to refuse by itself, and beside
// each attempt the nearest one that it has to take.
func (s *suite[R]) prompt(t *testing.T, st Store) {
	switch s.m.Enforce {
	case "none", "checks", "full":
	default:
		t.Fatalf("the table has the level of enforcement %q", s.m.Enforce)
	}
	t.Run("keys", func(t *testing.T) { s.atPrompt(t, st, nil, nil, (*prompt).attackKeys) })
	if st.Name == "sqlite" { // triggers and indexes keep them there, each by itself
		t.Run("indexes", func(t *testing.T) { s.atPrompt(t, st, nil, (*prompt).dropTriggers, (*prompt).attackKeys) })
	}
	if s.m.Enforce == "none" {
		return
	}
	t.Run("log", func(t *testing.T) { s.atPrompt(t, st, nil, nil, (*prompt).attackLog) })
	t.Run("remains", func(t *testing.T) { s.atPrompt(t, st, nil, nil, (*prompt).attackRemains) })
	t.Run("forgets", func(t *testing.T) { s.atPrompt(t, st, nil, nil, (*prompt).attackForgets) })
	t.Run("erased", func(t *testing.T) { s.atPrompt(t, st, nil, nil, (*prompt).attackErased) })
	t.Run("sides", func(t *testing.T) { s.atPrompt(t, st, nil, nil, (*prompt).attackSides) })
	if s.m.Enforce == "full" {
		t.Run("moves", func(t *testing.T) { s.attackMoves(t, st) })
		t.Run("purges", func(t *testing.T) {
			s.attackPurges(t, st)
			s.attackStubs(t, st)
		})
	}
	t.Run("records", func(t *testing.T) { s.atPrompt(t, st, nil, nil, (*prompt).attackRecords) })
}

// mustHold reports whether a record breaks no MUST.
func (m *model) mustHold(r driver.Row) bool {
	return !slices.ContainsFunc(m.broken(r), func(v fsm.Violation) bool { return v.Must })
}

// recordsIn returns made-up records in a state, those that hold and those that
// do not; at most limit.
func (m *model) recordsIn(st *state, limit int) []driver.Row {
	o := &m.nothing
	dims := m.recordDims(o)
	var rows []driver.Row
	for _, dims := range [][]dim{m.allowedIn(st, dims), dims} {
		n := 0
		for choice := range combine(dims, limit/2) {
			if n++; n > limit/2 {
				break
			}
			rows = append(rows, m.build(o, st, dims, choice).row)
		}
	}
	return rows
}

// soundIn returns made-up records in a state that break no MUST, the same each time.
func (m *model) soundIn(st *state, limit int) []driver.Row {
	return m.made.rows(fmt.Sprint(st.Name, " ", limit), func() []driver.Row { return m.newSoundIn(st, limit) })
}

func (m *model) newSoundIn(st *state, limit int) []driver.Row {
	rows := slices.DeleteFunc(m.recordsIn(st, 8*limit), func(r driver.Row) bool { return !m.mustHold(r) })
	if len(rows) == 0 {
		rows = m.soundNear(st)
	}
	return rows[:min(limit, len(rows))]
}

// soundNear looks for one record that breaks no MUST, and returns it and those
// that one other value makes of it.
func (m *model) soundNear(st *state) []driver.Row {
	r, ok := m.rowIn(st, false)
	if !ok {
		if r, ok = m.soundRow(st); !ok { // that of the table, where there is one
			return nil
		}
	}
	rows := []driver.Row{r}
	for _, name := range m.order {
		f := m.fields[name]
		for _, v := range m.valuesOf(f) {
			if near := altered(r, f, v); v != r.Values[f.index] && m.mustHold(near) {
				rows = append(rows, near)
			}
		}
	}
	return rows
}

// valuesOf returns values that a field may be given.
func (m *model) valuesOf(f *field) []any {
	for _, d := range m.recordDims(&m.nothing) {
		if d.name == dimField+f.Name {
			values := slices.Clone(d.values)
			for _, v := range d.values {
				if v != nil {
					values = append(values, another(f, v))
				}
			}
			return values
		}
	}
	return nil
}

// altered returns a copy of a record with one value changed.
func altered(r driver.Row, f *field, v any) driver.Row {
	r.Values = slices.Clone(r.Values)
	r.Values[f.index] = v
	return r
}

// named returns a copy of a record with another id.
func named(r driver.Row, id string) driver.Row {
	r.ID = id
	return r
}

// uniqueKey is a rule across records.
type uniqueKey struct {
	name   string
	fields []*field
	states []string // stored words; nil: all
}

// uniqueKeys lists the rules that a unique index keeps.
func (m *model) uniqueKeys() []uniqueKey {
	var keys []uniqueKey
	add := func(name string, fields, states []string) {
		k := uniqueKey{name: name}
		for _, f := range fields {
			k.fields = append(k.fields, m.fields[f])
		}
		if len(states) < len(m.stateOrder) {
			for _, st := range states {
				k.states = append(k.states, m.states[st].stored)
			}
		}
		keys = append(keys, k)
	}
	for _, u := range m.Uniques {
		add(u.Name, list(u.Fields), list(u.In))
	}
	for _, name := range m.order {
		if f := m.fields[name]; f.kind == driver.KindSequence {
			add("sequence_"+name, append(list(f.Per), name), nil)
		}
	}
	for _, o := range m.operations {
		if o.Dedupe != "" && !slices.ContainsFunc(m.Uniques, func(u Unique) bool { return u.Fields == o.Dedupe && u.In == o.DedupeIn }) {
			add("dedupe_"+o.Name, list(o.Dedupe), nil)
		}
	}
	return keys
}

// has reports whether the rule looks at a record.
func (k *uniqueKey) has(r driver.Row) bool {
	return (k.states == nil || slices.Contains(k.states, r.State)) &&
		!slices.ContainsFunc(k.fields, func(f *field) bool { return r.Values[f.index] == nil })
}

// clash reports whether two records break the rule.
func (k *uniqueKey) clash(a, b driver.Row) bool {
	return k.has(a) && k.has(b) &&
		!slices.ContainsFunc(k.fields, func(f *field) bool { return a.Values[f.index] != b.Values[f.index] })
}

// clashes lists the rules that two records break.
func (m *model) clashes(a, b driver.Row) []string {
	var names []string
	for _, k := range m.uniqueKeys() {
		if k.clash(a, b) {
			names = append(names, k.name)
		}
	}
	return names
}

// writes reports whether an operation can change a field in some way.
func (o *operation) writes(name string) bool {
	in := func(e effects) bool {
		assigns := func(a assign) bool { return a.field == name }
		return slices.ContainsFunc(e.set, assigns) || slices.ContainsFunc(e.add, assigns) ||
			slices.Contains(e.clear, name) || slices.Contains(e.increment, name)
	}
	return in(o.effects) || slices.ContainsFunc(o.branches, func(b *branch) bool { return in(b.effects) })
}

// way is one way of one operation from a state to a state; from is nil for a
// creation.
type way struct {
	o        *operation
	from, to *state
}

// allWays lists what the operations can do, branches included, each once.
func (m *model) allWays() []way {
	var all []way
	add := func(o *operation, from *state, to string) {
		if w := (way{o, from, m.states[to]}); w.to != nil && !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	for _, o := range m.operations {
		for _, from := range append([]*state{nil}, m.stateOrder...) {
			column := newColumn
			if from != nil {
				column = from.Name
			}
			switch c := o.cells[column]; c.kind {
			case cellMove:
				add(o, from, c.to)
			case cellChoose:
				for _, b := range o.branches {
					if b.From != "" && (from == nil || !slices.Contains(list(b.From), from.Name)) {
						continue
					}
					if b.To == "same" && from != nil {
						add(o, from, from.Name)
					} else {
						add(o, from, b.To)
					}
					if len(b.when) == 0 { // it takes every record that comes to it
						break
					}
				}
			}
		}
	}
	return all
}

func (w way) String() string {
	if w.from == nil {
		return fmt.Sprintf("%s to %s", w.o.Name, w.to.Name)
	}
	return fmt.Sprintf("%s from %s to %s", w.o.Name, w.from.Name, w.to.Name)
}
