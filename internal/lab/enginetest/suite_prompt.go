package enginetest

import (
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/spec"
)

// promptOf tries what the schema of a store has to refuse by itself, and beside
// each attempt the nearest one that it has to take.
func promptOf[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	enforce := s.D.Descriptor.Schema.Enforce
	t.Run("keys", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackKeys) })
	if st.Name == "sqlite" { // triggers and indexes keep them there, each by itself
		t.Run("indexes", func(t *testing.T) { atPrompt(s, t, st, nil, (*prompt).dropTriggers, (*prompt).attackKeys) })
	}
	if enforce == "none" {
		return
	}
	t.Run("log", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackLog) })
	t.Run("remains", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackRemains) })
	t.Run("forgets", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackForgets) })
	t.Run("erased", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackErased) })
	t.Run("sides", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackSides) })
	if enforce == "full" {
		t.Run("moves", func(t *testing.T) { attackMoves(s, t, st) })
		t.Run("purges", func(t *testing.T) {
			attackPurges(s, t, st)
			attackStubs(s, t, st)
		})
	}
	t.Run("records", func(t *testing.T) { atPrompt(s, t, st, nil, nil, (*prompt).attackRecords) })
}

// with returns a copy of a record with one value changed.
func with(m *spec.Machine, r interp.Record, f *spec.Field, v interp.Value) interp.Record {
	return r.With(m, f.Name, v)
}

// named returns a copy of a record with another id.
func named(r interp.Record, id string) interp.Record {
	r.ID = id
	return r
}

// uniqueKey is a rule across records.
type uniqueKey struct {
	name   string
	fields []*spec.Field
	states []*spec.State // nil: all
}

// uniqueKeys lists the rules that a unique index keeps.
func uniqueKeys(m *spec.Machine) []uniqueKey {
	var keys []uniqueKey
	for _, u := range m.Unique {
		k := uniqueKey{u.Name, fields(u.Fields), states(u.In)}
		if len(k.states) == len(m.States) {
			k.states = nil
		}
		keys = append(keys, k)
	}
	for _, f := range m.Fields {
		if f.Type.Kind == spec.KindSequence {
			keys = append(keys, uniqueKey{"sequence_" + f.Name, append(slices.Clone(f.Per), f), nil})
		}
	}
	for _, o := range m.Operations {
		if o.DedupeBy != nil && o.DedupeBy.Unique == nil {
			keys = append(keys, uniqueKey{"dedupe_" + o.Name, fields(o.DedupeBy.Fields), nil})
		}
	}
	return keys
}

// has reports whether the rule looks at a record.
func (k *uniqueKey) has(m *spec.Machine, r interp.Record) bool {
	return (k.states == nil || slices.Contains(k.states, r.State)) &&
		!slices.ContainsFunc(k.fields, func(f *spec.Field) bool { return r.Value(m, f).Kind == interp.KindAbsent })
}

// clash reports whether two records break the rule.
func (k *uniqueKey) clash(m *spec.Machine, a, b interp.Record) bool {
	return k.has(m, a) && k.has(m, b) &&
		!slices.ContainsFunc(k.fields, func(f *spec.Field) bool { return a.Value(m, f) != b.Value(m, f) })
}

// clashes lists the rules that two records break.
func clashes(m *spec.Machine, a, b interp.Record) []string {
	var names []string
	for _, k := range uniqueKeys(m) {
		if k.clash(m, a, b) {
			names = append(names, k.name)
		}
	}
	return names
}

// writes reports whether an operation can change a field in some way.
func writes(o *spec.Operation, f *spec.Field) bool {
	return o.Effects.Changes(f) || slices.ContainsFunc(o.Choose, func(b *spec.Branch) bool { return b.Effects.Changes(f) })
}
