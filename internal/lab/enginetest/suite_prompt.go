package enginetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// promptOf tries what the schema of a store has to refuse by itself, and beside
// each attempt the nearest one that it has to take.
func promptOf[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	switch s.M.Enforce {
	case "none", "checks", "full":
	default:
		t.Fatalf("the table has the level of enforcement %q", s.M.Enforce)
	}
	t.Run("keys", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackKeys) })
	if st.Name == "sqlite" { // triggers and indexes keep them there, each by itself
		t.Run("indexes", func(t *testing.T) { atPrompt(s, t, st, nil, (*prompt).dropTriggers, (*prompt).attackKeys) })
	}
	if s.M.Enforce == "none" {
		return
	}
	t.Run("log", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackLog) })
	t.Run("remains", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackRemains) })
	t.Run("forgets", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackForgets) })
	t.Run("erased", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackErased) })
	t.Run("sides", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackSides) })
	if s.M.Enforce == "full" {
		t.Run("moves", func(t *testing.T) { attackMoves(s, t, st) })
		t.Run("purges", func(t *testing.T) {
			attackPurges(s, t, st)
			attackStubs(s, t, st)
		})
	}
	t.Run("records", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackRecords) })
}

// recordsIn returns made-up records in a state, those that hold and those that
// do not; at most limit.
func recordsIn(m *world.Model, st *oracle.StateInfo, limit int) []driver.Row {
	o := &m.Nothing
	dims := m.RecordDims(o)
	var rows []driver.Row
	for _, dims := range [][]oracle.Dim{m.AllowedIn(st, dims), dims} {
		n := 0
		for choice := range oracle.Combine(dims, limit/2) {
			if n++; n > limit/2 {
				break
			}
			rows = append(rows, m.Build(o, st, dims, choice).Row)
		}
	}
	return rows
}

// soundIn returns made-up records in a state that break no MUST, the same each time.
func soundIn(m *world.Model, st *oracle.StateInfo, limit int) []driver.Row {
	return rows(&m.Made, fmt.Sprint(st.Name, " ", limit), func() []driver.Row { return newSoundIn(m, st, limit) })
}

func newSoundIn(m *world.Model, st *oracle.StateInfo, limit int) []driver.Row {
	rows := slices.DeleteFunc(recordsIn(m, st, 8*limit), func(r driver.Row) bool { return !m.MustHold(r) })
	if len(rows) == 0 {
		rows = soundNear(m, st)
	}
	return rows[:min(limit, len(rows))]
}

// soundNear looks for one record that breaks no MUST, and returns it and those
// that one other value makes of it.
func soundNear(m *world.Model, st *oracle.StateInfo) []driver.Row {
	r, ok := m.RowIn(st, false)
	if !ok {
		if r, ok = soundRow(m, st); !ok { // that of the table, where there is one
			return nil
		}
	}
	rows := []driver.Row{r}
	for _, name := range m.Order {
		f := m.FieldByName[name]
		for _, v := range valuesOf(m, f) {
			if near := altered(r, f, v); v != r.Values[f.Index] && m.MustHold(near) {
				rows = append(rows, near)
			}
		}
	}
	return rows
}

// valuesOf returns values that a field may be given.
func valuesOf(m *world.Model, f *oracle.FieldInfo) []any {
	for _, d := range m.RecordDims(&m.Nothing) {
		if d.Name == oracle.DimField+f.Name {
			values := slices.Clone(d.Values)
			for _, v := range d.Values {
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
func altered(r driver.Row, f *oracle.FieldInfo, v any) driver.Row {
	r.Values = slices.Clone(r.Values)
	r.Values[f.Index] = v
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
	fields []*oracle.FieldInfo
	states []string // stored words; nil: all
}

// uniqueKeys lists the rules that a unique index keeps.
func uniqueKeys(m *world.Model) []uniqueKey {
	var keys []uniqueKey
	add := func(name string, fields, states []string) {
		k := uniqueKey{name: name}
		for _, f := range fields {
			k.fields = append(k.fields, m.FieldByName[f])
		}
		if len(states) < len(m.StateOrder) {
			for _, st := range states {
				k.states = append(k.states, m.StateByName[st].StoredName)
			}
		}
		keys = append(keys, k)
	}
	for _, u := range m.Uniques {
		add(u.Name, oracle.List(u.Fields), oracle.List(u.In))
	}
	for _, name := range m.Order {
		if f := m.FieldByName[name]; f.Kind == driver.KindSequence {
			add("sequence_"+name, append(oracle.List(f.Per), name), nil)
		}
	}
	for _, o := range m.Ops {
		if o.Dedupe != "" && !slices.ContainsFunc(m.Uniques, func(u oracle.Unique) bool { return u.Fields == o.Dedupe && u.In == o.DedupeIn }) {
			add("dedupe_"+o.Name, oracle.List(o.Dedupe), nil)
		}
	}
	return keys
}

// has reports whether the rule looks at a record.
func (k *uniqueKey) has(r driver.Row) bool {
	return (k.states == nil || slices.Contains(k.states, r.State)) &&
		!slices.ContainsFunc(k.fields, func(f *oracle.FieldInfo) bool { return r.Values[f.Index] == nil })
}

// clash reports whether two records break the rule.
func (k *uniqueKey) clash(a, b driver.Row) bool {
	return k.has(a) && k.has(b) &&
		!slices.ContainsFunc(k.fields, func(f *oracle.FieldInfo) bool { return a.Values[f.Index] != b.Values[f.Index] })
}

// clashes lists the rules that two records break.
func clashes(m *world.Model, a, b driver.Row) []string {
	var names []string
	for _, k := range uniqueKeys(m) {
		if k.clash(a, b) {
			names = append(names, k.name)
		}
	}
	return names
}

// writes reports whether an operation can change a field in some way.
func writes(o *oracle.Op, name string) bool {
	in := func(e oracle.EffectSet) bool {
		assigns := func(a oracle.Assign) bool { return a.Field == name }
		return slices.ContainsFunc(e.Set, assigns) || slices.ContainsFunc(e.Add, assigns) ||
			slices.Contains(e.Clear, name) || slices.Contains(e.Increment, name)
	}
	return in(o.Always) || slices.ContainsFunc(o.Branches, func(b *oracle.BranchInfo) bool { return in(b.Does) })
}
