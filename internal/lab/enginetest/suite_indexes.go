package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/spec"
)

// indexes compares the indexes that a store is told of with the queries that
// the machine makes often: what is due, what `next` picks, the groups of guards,
// the key of the projection and `lookup`.
func indexes[R any](s *world.Suite[R], t *testing.T) {
	var got []string
	for _, x := range s.D.Descriptor.Schema.Indexes {
		var order []string
		for _, o := range x.Order {
			key := map[bool]string{true: "-"}[o.Descending] + o.Column
			if o.By != "" {
				key += " + " + o.By
			}
			order = append(order, key)
		}
		got = append(got, indexText(x.Name, x.Columns, order, slices.Clone(x.States)))
	}
	if want := indexTexts(s.M); !slices.Equal(want, got) {
		t.Errorf("indexes:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func indexText(name string, columns, order, states []string) string {
	slices.Sort(states)
	return fmt.Sprintf("%s: %s; by %s; in %s", name, strings.Join(columns, ", "), strings.Join(order, ", "), strings.Join(states, ", "))
}

func indexTexts(m *spec.Machine) []string {
	var want []string
	for _, o := range m.Operations {
		var timed [][2]*spec.Field
		for _, t := range o.Triggers {
			if t.Startup || slices.Contains(timed, [2]*spec.Field{t.After, t.By}) {
				continue
			}
			name, key := "due."+o.Name, t.After.Stored()
			if timed = append(timed, [2]*spec.Field{t.After, t.By}); len(timed) > 1 {
				name += "." + t.After.Name
			}
			if t.By != nil {
				key += " + " + t.By.Stored()
			}
			if len(timed) > 1 && t.By != nil {
				name += "." + t.By.Name
			}
			want = append(want, indexText(name, nil, []string{key}, words(world.Starts(m, o))))
		}
		if o.Each != nil && len(given(o)) > 0 {
			want = append(want, indexText("each."+o.Name, columns(given(o)), nil, words(world.Starts(m, o))))
		}
		if o.Next == nil {
			continue
		}
		same := given(o)
		order := slices.DeleteFunc(slices.Clone(o.Next.Order), func(x spec.Order) bool { return slices.Contains(same, x.Field) }) // all have one value
		if len(same)+len(order) > 0 {                                                                                             // else it picks by id alone
			want = append(want, indexText("next."+o.Name, columns(same), ordered(order), words(world.Starts(m, o))))
		}
	}
	for _, g := range m.Guards {
		if p := g.Peers; p != nil && len(p.Same) > 0 && !uniqueWithin(m, fields(p.Same), states(p.In)) {
			want = append(want, indexText("peers."+g.Name, columns(fields(p.Same)), nil, words(states(p.In))))
		}
	}
	if m.Projection != nil && !uniqueFrom(m, fields(m.Projection.Key)) {
		want = append(want, indexText("projection", columns(fields(m.Projection.Key)), nil, nil))
	}
	for _, l := range m.Lookups {
		if m.OneRecord(l) { // the index of the unique rule serves
			continue
		}
		in := words(states(l.In))
		if len(in) == len(m.States) {
			in = nil
		}
		want = append(want, indexText("lookup."+l.Name, columns(fields(l.Fields)), ordered(l.Order), in))
	}
	return want
}

// fields, states, columns and words list what is named, and how it is stored.
func fields(refs []spec.FieldRef) (list []*spec.Field) {
	for _, r := range refs {
		list = append(list, r.Field)
	}
	return list
}

func states(refs []spec.StateRef) (list []*spec.State) {
	for _, r := range refs {
		list = append(list, r.State)
	}
	return list
}

func columns(fields []*spec.Field) (list []string) {
	for _, f := range fields {
		list = append(list, f.Stored())
	}
	return list
}

func words(states []*spec.State) (list []string) {
	for _, st := range states {
		list = append(list, st.Stored())
	}
	return list
}

func ordered(order []spec.Order) (list []string) {
	for _, x := range order {
		list = append(list, map[bool]string{true: "-"}[x.Descending]+x.Field.Stored())
	}
	return list
}

// given lists the fields to which `where`, and the guards that refuse without
// them, give one value that the call knows: a mandatory input of the field's own
// words, the actor or a constant; or of which they say that a key of the order is
// absent. JSON is not compared by stores.
func given(o *spec.Operation) []*spec.Field {
	facts := slices.Clone(o.Chosen())
	if o.Next != nil && !o.OnRefusalRecordOnly {
		for _, q := range o.Require {
			facts = append(facts, q.When...)
		}
	}
	var same []*spec.Field
	for _, f := range facts {
		x, value := f.Left, f.Right
		if x.Kind != spec.TermField {
			x, value = f.Right, f.Left
		}
		sorted := o.Next != nil && slices.ContainsFunc(o.Next.Order, func(by spec.Order) bool { return by.Field == x.Field })
		switch {
		case x.Kind != spec.TermField || slices.Contains(same, x.Field):
			continue
		case f.Op == spec.Absent && sorted: // one place in the order
		case f.Op != spec.Eq || value.Kind == spec.TermField || value.Kind == spec.TermSum ||
			value.Kind == spec.TermNow || x.Field.Type.Kind == spec.KindJSON:
			continue
		case value.Kind == spec.TermInput && (value.Input.Type.Optional || !slices.EqualFunc(value.Input.Type.Values, x.Field.Type.Values, sameWord)):
			continue
		}
		same = append(same, x.Field)
	}
	return same
}

func sameWord(a, b *spec.EnumValue) bool { return a.Name == b.Name && a.Stored() == b.Stored() }

// everywhere lists the fields of the unique rules that hold in all states.
func everywhere(m *spec.Machine) [][]*spec.Field {
	var rules [][]*spec.Field
	for _, k := range uniqueKeys(m) {
		if k.states == nil {
			rules = append(rules, k.fields)
		}
	}
	return rules
}

// uniqueWithin reports whether a unique rule has an index for a group already:
// the same fields, over the same states or over all.
func uniqueWithin(m *spec.Machine, fields []*spec.Field, in []*spec.State) bool {
	return slices.ContainsFunc(uniqueKeys(m), func(k uniqueKey) bool {
		return slices.Equal(k.fields, fields) && (k.states == nil || len(k.states) == len(in) && !slices.ContainsFunc(in, func(st *spec.State) bool { return !slices.Contains(k.states, st) }))
	})
}

// uniqueFrom reports whether a unique rule over all states begins with the fields.
func uniqueFrom(m *spec.Machine, fields []*spec.Field) bool {
	return slices.ContainsFunc(everywhere(m), func(rule []*spec.Field) bool {
		return len(rule) >= len(fields) && slices.Equal(rule[:len(fields)], fields)
	})
}
