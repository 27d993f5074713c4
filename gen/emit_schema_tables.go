package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// fieldItems returns the columns of the record that the specification names, and those of its picks.
func (s *schemaText) fieldItems() (items []tableItem) {
	for _, f := range s.m.Fields {
		items = append(items, tableItem{comment: f.Doc, text: column(f) + " " + s.columnType(&f.Type) + s.columnDefault(f)})
	}
	for _, p := range parkings(s.m) {
		items = append(items, tableItem{comment: "null: " + p.op.Name + " looks at it; else not before that time, or not before others make room",
			text: quoteName(p.column()) + " " + s.d.integer})
	}
	return items
}

// moreItems returns what stands in the table of the records behind the engine's own columns.
func (s *schemaText) moreItems() (items []tableItem) {
	for _, c := range s.computed() {
		items = append(items, tableItem{c.comment, quoteName(c.Name) + " " + c.kind})
	}
	if !s.checks() {
		return items
	}
	checks := []sqlCheck{
		{rule: "id is not empty", sql: `"id" <> ''`},
		{rule: "state is known", sql: `"state" IN (` + stateWords(s.m.States) + ")"},
		{rule: "rev is at least 1", sql: `"rev" >= 1`},
	}
	for _, f := range s.m.Fields {
		checks = append(checks, s.fieldChecks(f)...)
	}
	rules := s.stateRules()
	if s.d.oneCheck {
		rules = together(rules)
	}
	for _, r := range rules {
		if !r.sets || s.d.setsInCheck {
			checks = append(checks, r.check())
		}
	}
	return append(items, s.checkItems(checks)...)
}

func (s *schemaText) stateList() string {
	var ends, others []string
	for _, st := range s.m.States {
		if st.Terminal {
			ends = append(ends, st.Name)
		} else {
			others = append(others, st.Name)
		}
	}
	text := "States: " + strings.Join(others, ", ")
	if len(ends) > 0 {
		text += "; terminal: " + strings.Join(ends, ", ")
	}
	return text + "."
}

// tableItem is a column or a constraint, with a comment above it.
type tableItem struct{ comment, text string }

// itemLines returns an item of the table of the records, which stands behind four blanks.
func (s *schemaText) itemLines(item tableItem, end string) []string {
	s.aboutItem(s.table(""), item)
	return append(wrapped(item.comment, 74), item.text+end)
}

func (s *schemaText) checkItems(checks []sqlCheck) []tableItem {
	s.names = map[string]bool{}
	var items []tableItem
	for _, c := range checks {
		name, comment := s.constraint(c)
		items = append(items, tableItem{comment, fmt.Sprintf("CONSTRAINT %s CHECK (%s)", name, c.sql)})
	}
	return items
}

func (s *schemaText) uniqueIndexes() {
	t := s.table("")
	if len(uniqueRules(s.m)) == 0 {
		s.comment("This machine has none.")
	}
	for _, u := range uniqueRules(s.m) {
		keys := columnList(u.fields)
		if len(u.fields) == 0 {
			keys = `("state" IS NOT NULL)`
		}
		s.line("CREATE UNIQUE INDEX IF NOT EXISTS %s ON %s (%s)%s;", s.object("unique", u.name), t, keys, s.partial(u.states, s.mayLack(u)...))
	}
}

func (s *schemaText) indexes() {
	t := s.table("")
	s.listing()
	for _, l := range lookups(s.m) {
		var keys []string
		for _, f := range l.fields {
			keys = append(keys, column(f))
		}
		if l.by != nil {
			keys = append(keys, s.d.later(column(l.order[0].Field), column(l.by)))
			if !s.d.computes {
				keys = append(keys, `"id"`)
			}
		} else if l.due && s.d.computes {
			keys = append(keys, quoteName(s.minuteColumn(l.order[0].Field)))
		} else {
			for _, o := range l.order {
				keys = append(keys, s.orderKeys(o, slices.Contains(l.present, o.Field))...)
			}
			if l.byID {
				keys = append(keys, `"id"`)
			}
		}
		if l.parking != nil {
			s.parkingIndexes(l.parking, &l, keys)
			continue
		}
		s.line("-- %s", l.why)
		where := s.partial(l.states, s.lacking(&l)...)
		s.line("CREATE INDEX IF NOT EXISTS %s ON %s (%s)%s;", s.object(l.name...), t, strings.Join(keys, ", "), where)
	}
}

// lacking returns the fields of a look-up that rows may lack: those need no place in its index.
func (s *schemaText) lacking(l *lookup) (list []*spec.Field) {
	for _, f := range l.fields {
		if l.asked && f.Type.Optional && s.d.sparse {
			list = append(list, f)
		}
	}
	return list
}

// orderKeys returns the index keys of one key of an order: absent values come
// last. A field that all records have which are asked for needs none of that.
func (s *schemaText) orderKeys(o spec.Order, present bool) []string {
	keys := []string{column(o.Field)}
	if o.Field.Type.Optional && !present {
		keys = s.d.nulls(keys[0])
	}
	if o.Descending {
		keys = slices.Clone(keys)
		last := len(keys) - 1
		if name, ok := strings.CutSuffix(keys[last], " NULLS LAST"); ok {
			keys[last] = name + " DESC NULLS LAST"
		} else {
			keys[last] += " DESC"
		}
	}
	return keys
}

// mayLack returns the fields of a rule that rows may lack: those rows need no
// place in its index, which each write of them would pay for. The numbers of a
// sequence are looked up for absent values as well.
func (s *schemaText) mayLack(u uniqueRule) []*spec.Field {
	var list []*spec.Field
	for _, f := range u.fields {
		if f.Type.Kind == spec.KindSequence || !s.d.sparse {
			return nil
		}
		if f.Type.Optional {
			list = append(list, f)
		}
	}
	return list
}

// partial returns the WHERE clause of an index over some of the states, and over
// rows that have fields.
func (s *schemaText) partial(states []*spec.State, present ...*spec.Field) string {
	var parts []string
	if len(states) > 0 && !s.allStates(states) {
		parts = append(parts, s.among(states))
	}
	for _, f := range present {
		parts = append(parts, column(f)+" IS NOT NULL")
	}
	if len(parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(parts, " AND ")
}
