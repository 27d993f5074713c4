package sqlstore

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// PostgreSQL's indexes name columns that are worked out of a row and change seldom. The engine's
// statements write them; a trigger of the schema corrects what others leave wrong.

// works reports whether a column is one of those.
func (t *table) works(name string) bool {
	return slices.ContainsFunc(t.schema.Worked, func(c driver.WorkedColumn) bool { return c.Name == name })
}

// source is what a column is worked out of: the state or a column of the schema.
func source(c *driver.WorkedColumn) string {
	if c.Minute != "" {
		return quote(c.Minute)
	}
	return `"state"`
}

// worth returns what the column is, worked out of a text that its source stands for.
func (t *table) worth(c *driver.WorkedColumn, of string) string {
	if c.Minute != "" {
		return "date_trunc('minute', " + of + ")"
	}
	return of + strings.TrimPrefix(t.states(c.States), `"state"`)
}

// keep notes which of the columns the tables have, which may be of another version.
func (t *table) keep(have func(column string) bool) {
	t.worked, t.computed = nil, map[string]string{}
	for i := range t.schema.Worked {
		if c := &t.schema.Worked[i]; have(c.Name) {
			t.worked = append(t.worked, c)
			t.computed[t.worth(c, source(c))] = quote(c.Name)
		}
	}
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

// compute returns the statement that fills the columns of rows that are there.
func (t *table) compute(name string) string {
	var set, wrong []string
	for i := range t.schema.Worked {
		c := &t.schema.Worked[i]
		value := t.worth(c, source(c))
		set = append(set, quote(c.Name)+" = "+value)
		wrong = append(wrong, quote(c.Name)+" IS DISTINCT FROM ("+value+")")
	}
	return "UPDATE " + quote(name) + " SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(wrong, " OR ")
}
