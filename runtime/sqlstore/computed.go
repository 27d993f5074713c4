package sqlstore

import (
	"regexp"
	"slices"
	"strings"
)

// PostgreSQL's indexes name columns that are worked out of a row and change seldom. The engine's
// statements write them; a trigger of the schema corrects what others leave wrong.

// worked is a column that is worked out of the state, or of another column: value has a ? in
// its place.
type worked struct {
	name, value string
	column      int // -1: the state
}

// worksOf returns how the columns that indexes name are worked out.
func (t *table) worksOf() (list []worked) {
	for value, name := range t.computed {
		if rest, ok := strings.CutPrefix(value, `"state"`); ok {
			list = append(list, worked{name, "(?" + rest + ")", -1})
			continue
		}
		for i := range t.schema.Columns {
			if c := quote(t.schema.Columns[i].Stored); strings.HasSuffix(value, ", "+c+")") {
				list = append(list, worked{name, strings.TrimSuffix(value, c+")") + "?)", i})
			}
		}
	}
	slices.SortFunc(list, func(a, b worked) int { return strings.Compare(a.name, b.name) })
	return list
}

// computedLine is a line of the trigger that keeps the columns right which indexes name.
var computedLine = regexp.MustCompile(`(?m)^    NEW\."(_open|_in_[^"]+|_minute_[^"]+)" := (.*);$`)

// computedColumns returns the columns of the generated schema that are worked out of a row,
// by what they are; those that the database has, which may be of another version.
func computedColumns(schema string, have []string) map[string]string {
	list := map[string]string{}
	for _, m := range computedLine.FindAllStringSubmatch(schema, -1) {
		if slices.Contains(have, m[1]) {
			list[strings.ReplaceAll(m[2], "NEW.", "")] = quote(m[1])
		}
	}
	return list
}

// columnsOf returns the names of the columns that a generated schema works out.
func columnsOf(schema string) (names []string) {
	for _, m := range computedLine.FindAllStringSubmatch(schema, -1) {
		names = append(names, m[1])
	}
	return names
}

// among is the condition that a row, whose columns begin with prefix, is in some states, in
// the words by which an index is found. What is open says a later version, too, which may
// have more states, while programs of this one still run.
func (t *table) among(prefix string, words []string) string {
	states := t.states(words)
	c := t.computed[states]
	if strings.HasPrefix(states, `"state"`) {
		states = prefix + states
	}
	switch c {
	case "":
		return states
	case `"_open"`:
		return prefix + c + " AND " + states
	}
	return prefix + c
}

// open is the condition that a row is in no terminal state, where an index has those rows and
// all the states are of them; else it is empty.
func (t *table) open(words []string) string {
	var open []string
	for _, st := range t.schema.States {
		if !st.Terminal {
			open = append(open, st.Stored)
		} else if slices.Contains(words, st.Stored) {
			return ""
		}
	}
	if len(words) == 0 {
		return ""
	}
	return t.computed[t.states(open)]
}

// minute returns the column that has the minute of a column; empty where there is none.
func (t *table) minute(column string) string {
	return t.computed["date_trunc('minute', "+quote(column)+")"]
}

// computedName reports whether a column is one of those that only indexes name.
func computedName(column string) bool {
	return column == "_open" || strings.HasPrefix(column, "_in_") || strings.HasPrefix(column, "_minute_")
}

// compute returns the statement that fills those columns of rows that are there.
func compute(table, schema string) string {
	var set, wrong []string
	for _, m := range computedLine.FindAllStringSubmatch(schema, -1) {
		value := strings.ReplaceAll(m[2], "NEW.", "")
		set = append(set, quote(m[1])+" = "+value)
		wrong = append(wrong, quote(m[1])+" IS DISTINCT FROM ("+value+")")
	}
	return "UPDATE " + quote(table) + " SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(wrong, " OR ")
}
