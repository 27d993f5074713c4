package console

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The bounds of what is suggested.
const (
	suggestMost = 100 // words and values of one input
	suggestLong = 80  // bytes of a value; longer ones are left out
)

// suggestion is a word that an input may take. Nothing is asked of the database for it.
type suggestion struct{ Value, Label string }

// suggestions are those of one input, each once.
type suggestions []suggestion

func (l *suggestions) add(value, label string) {
	if value == "" || len(value) > suggestLong || strings.ContainsAny(value, "\r\n") {
		return
	}
	i := slices.IndexFunc(*l, func(s suggestion) bool { return s.Value == value })
	switch {
	case i < 0 && len(*l) < suggestMost:
		*l = append(*l, suggestion{value, label})
	case i >= 0 && !slices.Contains(strings.Split((*l)[i].Label, ", "), label):
		(*l)[i].Label += ", " + label
	}
}

// fieldValues are the words of the fields that may be searched for, and the values of their texts in the records of a page.
func (q *request) fieldValues(rows []driver.Row) (l suggestions) {
	for i := range q.m.schema.Columns {
		c := &q.m.schema.Columns[i]
		if q.showing(c.Name) != Whole {
			continue
		}
		words := c.Words
		if c.Kind == driver.KindBool {
			words = []string{"false", "true"}
		}
		for _, word := range words {
			l.add(word, c.Name)
		}
		for j := range rows {
			if text, ok := rows[j].Values[i].(string); ok && c.Kind == driver.KindString {
				l.add(text, c.Name)
			}
		}
	}
	return l
}

// logEnd is what stands in the newest events of a log.
type logEnd struct{ actors, labels []string }

// see notes an event.
func (l *logEnd) see(e *driver.Event) {
	if e.Actor != "" && !slices.Contains(l.actors, e.Actor) {
		l.actors = append(l.actors, e.Actor)
	}
	for name := range e.Labels {
		if !slices.Contains(l.labels, name) {
			l.labels = append(l.labels, name)
		}
	}
}

// people are who made the newest steps, and who looks.
func (q *request) people() (l suggestions) {
	if q.showing(ActorOf) != Whole {
		return nil
	}
	l.add(q.v.Name, "you")
	for _, name := range q.end.actors {
		if name != q.v.Name {
			l.add(name, "")
		}
	}
	return l
}

// labelNames are the beginnings of labels: those of the console, and those of the newest events.
func (q *request) labelNames() (l suggestions) {
	if q.showing(LabelsOf) != Whole {
		return nil
	}
	if q.o.Runs != nil {
		l.add("run=", "")
	}
	for _, name := range slices.Sorted(slices.Values(q.end.labels)) {
		l.add(name+"=", "")
	}
	return l
}

// known are the values that a record has in the fields which an input goes into, or whose name it has.
func (q *request) known(s *step, in *input, row *driver.Row) (l suggestions) {
	if row == nil || q.showing(in.Name) != Whole {
		return nil
	}
	for i := range q.m.schema.Columns {
		c := &q.m.schema.Columns[i]
		feeds := c.Name == in.Name
		for _, f := range s.feeds {
			feeds = feeds || f.Input == in.Name && f.Column == c.Stored
		}
		if !feeds || i >= len(row.Values) {
			continue
		}
		if q.showing(c.Name) != Whole {
			return nil // of one that it goes into nothing may be shown
		}
		if text, ok := row.Values[i].(string); ok && c.Kind == driver.KindString {
			l.add(text, c.Name)
		}
	}
	return l
}
