package spec

import (
	"slices"
	"strings"
)

func (r *resolver) bindLookups() {
	for _, a := range r.ast.lookups {
		l := &Lookup{
			Pos: a.name.pos, Name: a.name.text, Doc: a.doc.text,
			Fields: r.groupRefs(a.fields), In: r.stateRefs(a.in), Order: r.orders(a.order),
		}
		r.m.Lookups = append(r.m.Lookups, l)
		r.note(a.name, l)
		for _, o := range l.Order {
			if slices.ContainsFunc(l.Fields, func(f FieldRef) bool { return f.Field == o.Field }) {
				r.add(codeTogether, o.Pos, len(o.Field.Name), "remove it",
					"lookup %s: all records that it finds have the same %s", l.Name, o.Field.Name)
			}
		}
		if len(l.Order) > 0 && r.m.OneRecord(l) {
			var names []string
			for _, f := range l.Fields {
				names = append(names, f.Field.Name)
			}
			r.add(codeTogether, l.Order[0].Pos, len(l.Order[0].Field.Name), "remove it",
				"lookup %s finds one record at most, since %s is unique: there is no order",
				l.Name, strings.Join(names, ", "))
		}
	}
}

// OneRecord reports whether a look-up finds one record at most, since a rule says that
// no two in its states have the same values in its fields: a `unique`, a `dedupe_by` or
// a sequence.
func (m *Machine) OneRecord(l *Lookup) bool {
	var fields []*Field
	for _, r := range l.Fields {
		fields = append(fields, r.Field)
	}
	same := func(rule []*Field) bool {
		foreign := func(f *Field) bool { return !slices.Contains(fields, f) }
		return len(rule) == len(fields) && !slices.ContainsFunc(rule, foreign)
	}
	within := func(states []StateRef) bool {
		holds := func(s *State) bool {
			return slices.ContainsFunc(states, func(r StateRef) bool { return r.State == s })
		}
		if !slices.ContainsFunc(m.States, func(s *State) bool { return !holds(s) }) {
			return true
		}
		return len(l.In) == len(states) && !slices.ContainsFunc(l.In, func(r StateRef) bool { return !holds(r.State) })
	}
	bound := func(refs []FieldRef) (list []*Field) {
		for _, r := range refs {
			list = append(list, r.Field)
		}
		return list
	}
	return slices.ContainsFunc(m.Unique, func(u *Unique) bool { return same(bound(u.Fields)) && within(u.In) }) ||
		slices.ContainsFunc(m.Fields, func(f *Field) bool {
			return f.Type.Kind == KindSequence && same(append(slices.Clone(f.Per), f))
		}) ||
		slices.ContainsFunc(m.Operations, func(o *Operation) bool {
			return o.DedupeBy != nil && o.DedupeBy.Unique == nil && same(bound(o.DedupeBy.Fields))
		})
}
