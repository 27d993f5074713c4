package gen

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// PostgreSQL writes a row in its page, and no index, when no column changes that an index
// names. So indexes name none that most moves change: where they are about some of the
// states, or about a deadline that heartbeats move, they name a column that is worked out of
// them and changes seldom.

// among returns the condition that a row is in some of the states, as indexes have it.
func (s *schemaText) among(states []*spec.State) string {
	if s.d.computes {
		return quoteName(s.inColumn(states))
	}
	return inStates(`"state"`, states)
}

// inColumn and minuteColumn name the columns; no field can have such a name.
func (s *schemaText) inColumn(states []*spec.State) string {
	words := storedStates(inOrder(states))
	if slices.Equal(words, storedStates(s.open())) {
		return "_open"
	}
	name := "_in_" + strings.Join(words, "_or_")
	if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "_or_") }) { // else two sets may have one name
		name += strings.Repeat("_", s.d.maxName)
	}
	return cutName(name, s.d.maxName)
}

func (s *schemaText) minuteColumn(f *spec.Field) string {
	return cutName("_minute_"+f.Stored(), s.d.maxName)
}

// computedColumn is one of those columns.
type computedColumn struct {
	WorkedFact
	kind, comment string
}

// value is what it is of the row whose columns begin with row.
func (c *computedColumn) value(row string) string {
	if c.Minute != nil {
		return "date_trunc('minute', " + row + column(c.Minute) + ")"
	}
	return inStates(row+`"state"`, c.States)
}

// computed returns those columns.
func (s *schemaText) computed() []computedColumn {
	if !s.d.computes {
		return nil
	}
	var list []computedColumn
	add := func(c computedColumn) {
		if slices.ContainsFunc(list, func(o computedColumn) bool { return o.comment == c.comment }) {
			c.comment = ""
		}
		if !slices.ContainsFunc(list, func(o computedColumn) bool { return o.Name == c.Name }) {
			list = append(list, c)
		}
	}
	among := func(states []*spec.State) {
		if len(states) > 0 && !s.allStates(states) {
			add(computedColumn{WorkedFact{Name: s.inColumn(states), States: inOrder(states)}, s.d.boolean + " NOT NULL DEFAULT false",
				"for indexes: whether it is in these states; a trigger keeps it right"})
		}
	}
	among(s.open())
	for _, u := range uniqueRules(s.m) {
		among(u.states)
	}
	for _, o := range s.m.Operations {
		if o.Next != nil || o.Each != nil {
			among(refStates(o.From))
		}
	}
	for _, l := range lookups(s.m) {
		among(l.states)
		if l.due && l.by == nil {
			f := l.order[0].Field
			add(computedColumn{WorkedFact{Name: s.minuteColumn(f), Minute: f}, s.d.time,
				"for indexes: the minute of " + f.Name + ", which a heartbeat seldom changes"})
		}
	}
	return list
}

// open returns the states that are not terminal.
func (s *schemaText) open() []*spec.State {
	return slices.DeleteFunc(slices.Clone(s.m.States), func(st *spec.State) bool { return st.Terminal })
}

// listing writes the index by which records are listed by their state. PostgreSQL has one of
// those that are not at their end: each move would write one of the states.
func (s *schemaText) listing() {
	t := s.table("")
	if !s.d.computes {
		s.line("CREATE INDEX IF NOT EXISTS %s ON %s (\"state\", \"id\");", s.object("state"), t)
		return
	}
	if open := s.open(); len(open) > 0 && !s.allStates(open) {
		s.line("-- the records that are not at their end")
		s.line("CREATE INDEX IF NOT EXISTS %s ON %s (\"id\")%s;", s.object("open"), t, s.partial(open))
	}
	for _, o := range s.m.Operations {
		ordered := func(l lookup) bool { return l.name[0] == "next" && l.name[1] == o.Name }
		if from := refStates(o.From); o.Next != nil && !s.allStates(from) && !slices.ContainsFunc(lookups(s.m), ordered) {
			s.line("-- %s picks by id", o.Name)
			s.line("CREATE INDEX IF NOT EXISTS %s ON %s (\"id\")%s;", s.object("next", o.Name), t, s.partial(from))
		}
		if from := refStates(o.From); o.Each != nil && len(givenBy(o)) == 0 && !s.allStates(from) {
			s.line("-- the records that one call of %s takes", o.Name)
			s.line("CREATE INDEX IF NOT EXISTS %s ON %s (\"id\")%s;", s.object("each", o.Name), t, s.partial(from))
		}
	}
}

func inOrder(states []*spec.State) []*spec.State {
	sorted := slices.Clone(states)
	slices.SortFunc(sorted, func(a, b *spec.State) int { return a.Index - b.Index })
	return slices.Compact(sorted)
}
