package fsmtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// lookups compares the indexes that a store is told of with the queries that
// the machine makes often: what is due, what `next` picks, the groups of guards
// and the key of the projection.
func (s *suite[R]) lookups(t *testing.T) {
	var got []string
	for _, x := range s.d.Descriptor.Schema.Indexes {
		var order []string
		for _, o := range x.Order {
			order = append(order, map[bool]string{true: "-"}[o.Descending]+o.Column)
		}
		got = append(got, lookupText(x.Name, x.Columns, order, slices.Clone(x.States)))
	}
	if want := s.m.lookupTexts(); !slices.Equal(want, got) {
		t.Errorf("indexes:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func lookupText(name string, columns, order, states []string) string {
	slices.Sort(states)
	return fmt.Sprintf("%s: %s; by %s; in %s", name, strings.Join(columns, ", "), strings.Join(order, ", "), strings.Join(states, ", "))
}

func (m *model) lookupTexts() []string {
	var want []string
	for _, o := range m.operations {
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
			want = append(want, lookupText(name, nil, m.storedNames(field), m.storedStates(m.allowed(o))))
		}
		same := m.given(o)
		var order []string
		for _, key := range list(o.Order) {
			name, falls := strings.CutPrefix(key, "-")
			if slices.Contains(same, name) { // all that are asked for have one value
				continue
			}
			order = append(order, map[bool]string{true: "-"}[falls]+m.storedNames(name)[0])
		}
		if o.Picks && len(same)+len(order) > 0 { // else it picks by id alone
			want = append(want, lookupText("next."+o.Name, m.storedNames(same...), order, m.storedStates(m.allowed(o))))
		}
	}
	for _, g := range m.Guards {
		if g.Fewer > 0 && g.Same != "" && !m.uniqueWithin(list(g.Same), list(g.In)) {
			want = append(want, lookupText("peers."+g.Name, m.storedNames(list(g.Same)...), nil, m.storedStates(list(g.In))))
		}
	}
	if m.Projection != nil && !m.uniqueFrom(list(m.Projection.Key)) {
		want = append(want, lookupText("projection", m.storedNames(list(m.Projection.Key)...), nil, nil))
	}
	return want
}

// given lists the fields to which `where`, and the guards that refuse without
// them, give one value that the call knows: a mandatory input of the field's own
// words, the actor or a constant; or of which they say that a key of the order is
// absent. JSON is not compared by stores.
func (m *model) given(o *operation) []string {
	facts := slices.Clone(o.where)
	if o.OnRefusal == "" {
		for _, g := range o.require {
			facts = append(facts, g.when...)
		}
	}
	var same []string
	for _, f := range facts {
		name, value := f.left.field, f.right
		if name == "" {
			name, value = f.right.field, f.left
		}
		sorted := slices.Contains(list(o.Order), name) || slices.Contains(list(o.Order), "-"+name)
		if f.op == "is absent" && o.Picks && sorted && !slices.Contains(same, name) { // one place in the order
			same = append(same, name)
		}
		if !o.Picks || f.op != "==" || name == "" || value.field != "" || value.isNow() || slices.Contains(same, name) {
			continue
		}
		x := m.fields[name] // nil: one of the two times, which only an input is compared with
		if x != nil && x.kind == driver.KindJSON {
			continue
		}
		if in := o.input(value.input); in != nil {
			if in.optional || x != nil && !(slices.Equal(in.words, x.words) && slices.Equal(in.stored, x.typ.stored)) {
				continue
			}
		}
		same = append(same, name)
	}
	return same
}

// storedNames returns the columns of some fields.
func (m *model) storedNames(names ...string) []string {
	var columns []string
	for _, name := range names {
		if f := m.fields[name]; f != nil {
			name = f.Stored
		}
		columns = append(columns, name)
	}
	return columns
}

func (m *model) storedStates(names []string) []string {
	var words []string
	for _, name := range names {
		words = append(words, m.states[name].stored)
	}
	return words
}

// everywhere lists the fields of the unique rules that hold in all states.
func (m *model) everywhere() [][]string {
	var rules [][]string
	for _, u := range m.Uniques {
		if len(list(u.In)) == len(m.stateOrder) {
			rules = append(rules, list(u.Fields))
		}
	}
	for _, f := range m.fields {
		if f.kind == driver.KindSequence {
			rules = append(rules, append(list(f.Per), f.Name))
		}
	}
	for _, o := range m.operations {
		if o.Dedupe != "" && o.DedupeIn == "" {
			rules = append(rules, list(o.Dedupe))
		}
	}
	return rules
}

// uniqueWithin reports whether a unique rule has an index for a group already:
// the same fields, over the same states or over all.
func (m *model) uniqueWithin(fields, in []string) bool {
	slices.Sort(in)
	return slices.ContainsFunc(m.everywhere(), func(rule []string) bool { return slices.Equal(rule, fields) }) ||
		slices.ContainsFunc(m.Uniques, func(u Unique) bool {
			return slices.Equal(list(u.Fields), fields) && slices.Equal(slices.Sorted(slices.Values(list(u.In))), in)
		})
}

// uniqueFrom reports whether a unique rule over all states begins with the fields.
func (m *model) uniqueFrom(fields []string) bool {
	return slices.ContainsFunc(m.everywhere(), func(rule []string) bool {
		return len(rule) >= len(fields) && slices.Equal(rule[:len(fields)], fields)
	})
}
