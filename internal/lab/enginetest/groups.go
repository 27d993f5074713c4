package enginetest

import (
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/spec"
)

// exported reports whether somebody may call an operation of the durable layer.
func exported(m *spec.Machine, o *spec.Operation) bool {
	return !interp.Internal(m, o) || len(o.Triggers) > 0
}

// grouped reports whether records are grouped by a field, or unique.
func grouped(m *spec.Machine, f *spec.Field) bool {
	return slices.ContainsFunc(groups(m), func(group []*spec.Field) bool { return slices.Contains(group, f) })
}

// groups lists the fields by which records are grouped or unique, rule by rule.
func groups(m *spec.Machine) (rules [][]*spec.Field) {
	add := func(refs []spec.FieldRef) {
		var fields []*spec.Field
		for _, r := range refs {
			fields = append(fields, r.Field)
		}
		rules = append(rules, fields)
	}
	for _, u := range m.Unique {
		add(u.Fields)
	}
	for _, g := range m.Guards {
		if g.Peers != nil {
			add(g.Peers.Same)
		}
	}
	for _, o := range m.Operations {
		if o.DedupeBy != nil {
			add(o.DedupeBy.Fields)
		}
	}
	for _, f := range m.Fields {
		if f.Type.Kind == spec.KindSequence {
			rules = append(rules, f.Per)
		}
	}
	return rules
}

// ownText is a text of a length that the type takes, and another one for each text.
func ownText(t spec.Type, text string) string {
	if !t.FitsLength(text) {
		h := fnv.New64a()
		h.Write([]byte(text))
		text = t.Fitted(strconv.FormatUint(h.Sum64(), 36))
	}
	return text
}

// apart gives a record texts of its own in the fields by which records are grouped, as far as
// its rules let it.
func apart(m *spec.Machine, r interp.Record, own string) interp.Record {
	for i, f := range m.Fields {
		if v := r.Fields[i]; v.Kind == interp.KindString && grouped(m, f) {
			if next := r.With(m, f.Name, interp.String(ownText(f.Type, v.Text+own))); !world.MustHold(m, r) || world.MustHold(m, next) {
				r = next
			}
		}
	}
	return r
}

// apartCall does the same with the inputs that a call sets into such fields.
func apartCall(m *spec.Machine, c interp.Call, own string) interp.Call {
	for _, a := range c.Op.Effects.Set {
		if in := a.Value.Input; in != nil && grouped(m, a.Field) && c.Inputs[in.Name].Kind == interp.KindString {
			c.Inputs = maps.Clone(c.Inputs)
			c.Inputs[in.Name] = interp.String(ownText(a.Field.Type, c.Inputs[in.Name].Text+own))
		}
	}
	return c
}

// numbered gives a record this number in every sequence, and takes along what its state says is
// equal to it. A record that would break its rules then keeps its own.
func numbered(m *spec.Machine, r interp.Record, n int64) interp.Record {
	next, moved := r, map[interp.Value]bool{}
	for i, f := range m.Fields {
		if f.Type.Kind == spec.KindSequence {
			moved[r.Fields[i]] = true
			next = next.With(m, f.Name, interp.Int(n))
		}
	}
	if !world.MustHold(m, r) || world.MustHold(m, next) {
		return next
	}
	for i, f := range m.Fields {
		if f.Type.Kind == spec.KindInt && moved[r.Fields[i]] {
			next = next.With(m, f.Name, interp.Int(n))
		}
	}
	if !world.MustHold(m, next) {
		return r
	}
	return next
}

// creates reports whether an operation makes records.
func creates(o *spec.Operation) bool { return len(o.Creates) > 0 }

// sortedKeys are the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
