package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// lookups compares the indexes that a store is told of with the queries that
// the machine makes often: what is due, what `next` picks, the groups of guards,
// the key of the projection and `lookup`.
func lookups[R any](s *world.Suite[R], t *testing.T) {
	var got []string
	for _, x := range s.D.Descriptor.Schema.Indexes {
		var order []string
		for _, o := range x.Order {
			order = append(order, map[bool]string{true: "-"}[o.Descending]+o.Column)
		}
		got = append(got, lookupText(x.Name, x.Columns, order, slices.Clone(x.States)))
	}
	if want := lookupTexts(s.M); !slices.Equal(want, got) {
		t.Errorf("indexes:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func lookupText(name string, columns, order, states []string) string {
	slices.Sort(states)
	return fmt.Sprintf("%s: %s; by %s; in %s", name, strings.Join(columns, ", "), strings.Join(order, ", "), strings.Join(states, ", "))
}

func lookupTexts(m *world.Model) []string {
	var want []string
	for _, o := range m.Ops {
		var timed []string
		for _, text := range o.Triggers {
			field, _, _ := strings.Cut(strings.TrimPrefix(text, "after "), " + ")
			if text == "startup" || slices.Contains(timed, field) {
				continue
			}
			name := "due." + o.Name
			if timed = append(timed, field); len(timed) > 1 {
				name += "." + field
			}
			want = append(want, lookupText(name, nil, m.StoredNames(field), storedStates(m, m.Allowed(o))))
		}
		same := given(m, o)
		var order []string
		for _, key := range oracle.List(o.Order) {
			name, falls := strings.CutPrefix(key, "-")
			if slices.Contains(same, name) { // all that are asked for have one value
				continue
			}
			order = append(order, map[bool]string{true: "-"}[falls]+m.StoredNames(name)[0])
		}
		if o.Picks && len(same)+len(order) > 0 { // else it picks by id alone
			want = append(want, lookupText("next."+o.Name, m.StoredNames(same...), order, storedStates(m, m.Allowed(o))))
		}
	}
	for _, g := range m.Guards {
		if g.Fewer > 0 && g.Same != "" && !uniqueWithin(m, oracle.List(g.Same), oracle.List(g.In)) {
			want = append(want, lookupText("peers."+g.Name, m.StoredNames(oracle.List(g.Same)...), nil, storedStates(m, oracle.List(g.In))))
		}
	}
	if m.Projection != nil && !uniqueFrom(m, oracle.List(m.Projection.Key)) {
		want = append(want, lookupText("projection", m.StoredNames(oracle.List(m.Projection.Key)...), nil, nil))
	}
	for _, l := range m.Lookups {
		if l.One { // the index of the unique rule serves
			continue
		}
		var order []string
		for _, key := range oracle.List(l.Order) {
			name, falls := strings.CutPrefix(key, "-")
			order = append(order, map[bool]string{true: "-"}[falls]+m.StoredNames(name)[0])
		}
		in := storedStates(m, oracle.List(l.In))
		if len(in) == len(m.StateOrder) {
			in = nil
		}
		want = append(want, lookupText("lookup."+l.Name, m.StoredNames(oracle.List(l.Fields)...), order, in))
	}
	return want
}

// given lists the fields to which `where`, and the guards that refuse without
// them, give one value that the call knows: a mandatory input of the field's own
// words, the actor or a constant; or of which they say that a key of the order is
// absent. JSON is not compared by stores.
func given(m *world.Model, o *oracle.Op) []string {
	facts := slices.Clone(o.WhereFacts)
	if o.OnRefusal == "" {
		for _, g := range o.Guards {
			facts = append(facts, g.Facts...)
		}
	}
	var same []string
	for _, f := range facts {
		name, value := f.Left.Field, f.Right
		if name == "" {
			name, value = f.Right.Field, f.Left
		}
		sorted := slices.Contains(oracle.List(o.Order), name) || slices.Contains(oracle.List(o.Order), "-"+name)
		if f.Op == "is absent" && o.Picks && sorted && !slices.Contains(same, name) { // one place in the order
			same = append(same, name)
		}
		if !o.Picks || f.Op != "==" || name == "" || value.Field != "" || value.IsNow() || slices.Contains(same, name) {
			continue
		}
		x := m.FieldByName[name] // nil: one of the two times, which only an input is compared with
		if x != nil && x.Kind == driver.KindJSON {
			continue
		}
		if in := o.InputNamed(value.Input); in != nil {
			if in.Optional || x != nil && !(slices.Equal(in.Names, x.Names) && slices.Equal(in.StoredWords, x.Typ.StoredWords)) {
				continue
			}
		}
		same = append(same, name)
	}
	return same
}

func storedStates(m *world.Model, names []string) []string {
	var words []string
	for _, name := range names {
		words = append(words, m.StateByName[name].StoredName)
	}
	return words
}

// everywhere lists the fields of the unique rules that hold in all states.
func everywhere(m *world.Model) [][]string {
	var rules [][]string
	for _, u := range m.Uniques {
		if len(oracle.List(u.In)) == len(m.StateOrder) {
			rules = append(rules, oracle.List(u.Fields))
		}
	}
	for _, f := range m.FieldByName {
		if f.Kind == driver.KindSequence {
			rules = append(rules, append(oracle.List(f.Per), f.Name))
		}
	}
	for _, o := range m.Ops {
		if o.Dedupe != "" && o.DedupeIn == "" {
			rules = append(rules, oracle.List(o.Dedupe))
		}
	}
	return rules
}

// uniqueWithin reports whether a unique rule has an index for a group already:
// the same fields, over the same states or over all.
func uniqueWithin(m *world.Model, fields, in []string) bool {
	slices.Sort(in)
	return slices.ContainsFunc(everywhere(m), func(rule []string) bool { return slices.Equal(rule, fields) }) ||
		slices.ContainsFunc(m.Uniques, func(u oracle.Unique) bool {
			return slices.Equal(oracle.List(u.Fields), fields) && slices.Equal(slices.Sorted(slices.Values(oracle.List(u.In))), in)
		})
}

// uniqueFrom reports whether a unique rule over all states begins with the fields.
func uniqueFrom(m *world.Model, fields []string) bool {
	return slices.ContainsFunc(everywhere(m), func(rule []string) bool {
		return len(rule) >= len(fields) && slices.Equal(rule[:len(fields)], fields)
	})
}
