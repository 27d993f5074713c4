package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// shown is a value as pages show it.
type shown struct {
	Name   string
	Text   string
	Absent bool
	Time   time.Time // a time's; zero for other values
}

const longest = 4096 // bytes of one value on a page

func (q *request) showing(name string) Showing {
	if q.o.Show == nil {
		return Whole
	}
	return q.o.Show(q.m.schema.Machine, name)
}

// value shows a value of a row.
func (q *request) value(name string, v any) shown {
	s := shown{Name: name}
	switch v := v.(type) {
	case nil:
		s.Absent = true
		return s
	case time.Time:
		s.Time, s.Text = v, stamp(v)
	case bool:
		s.Text = strconv.FormatBool(v)
	case int64:
		s.Text = strconv.FormatInt(v, 10)
	case string:
		s.Text = v
	default:
		s.Text = fmt.Sprint(v)
	}
	return q.hide(s)
}

// raw shows a value of an event, which may go into fields.
func (q *request) raw(name string, raw json.RawMessage, fields ...string) shown {
	s := shown{Name: name}
	var text string
	switch {
	case bytes.Equal(raw, []byte("null")):
		s.Absent = true
		return s
	case json.Unmarshal(raw, &text) == nil:
		s.Text = text
		if c := q.m.column(name); c != nil && c.Kind == driver.KindTime {
			s.Time, _ = time.Parse(time.RFC3339Nano, text)
		}
	default:
		s.Text = string(raw)
	}
	return q.hide(s, fields...)
}

// text shows what is said beside a call: actor, reason, labels, problem.
func (q *request) text(name, text string) shown {
	if text == "" {
		return shown{Name: name, Absent: true}
	}
	return q.hide(shown{Name: name, Text: text})
}

// hide leaves of a value what may be shown. The fields that it goes into, too, say how much that is.
func (q *request) hide(s shown, fields ...string) shown {
	how := q.showing(s.Name)
	for _, name := range fields {
		how = max(how, q.showing(name))
	}
	switch how {
	case Hidden:
		return shown{Name: s.Name, Text: "hidden"}
	case Short:
		if runes := []rune(s.Text); len(runes) > 4 {
			return shown{Name: s.Name, Text: string(runes[:4]) + "…"}
		}
		return shown{Name: s.Name, Text: "…"} // four characters may be all
	}
	if len(s.Text) > longest {
		end := longest
		for !utf8.RuneStart(s.Text[end]) {
			end--
		}
		s.Text = s.Text[:end] + "…"
	}
	return s
}

// changed shows the changed fields of an event, in the order of the machine.
func (q *request) changed(j driver.JSON) []shown {
	return q.members(j, func(stored string) (string, []string, int) {
		if i := q.m.schema.Column(stored); i >= 0 {
			return q.m.schema.Columns[i].Name, nil, i
		}
		return stored, nil, len(q.m.schema.Columns)
	})
}

// inputs shows the inputs of an event.
func (q *request) inputs(e *driver.Event) []shown {
	fed := map[string][]string{}
	for i := range q.m.steps {
		for _, f := range q.m.steps[i].feeds {
			if i2 := q.m.schema.Column(f.Column); i2 >= 0 && q.m.steps[i].stored == e.Operation {
				fed[f.Input] = append(fed[f.Input], q.m.schema.Columns[i2].Name)
			}
		}
	}
	return q.members(e.Inputs, func(name string) (string, []string, int) { return name, fed[name], 0 })
}

// members shows the members of an object of an event. known says how one is named, into which fields it goes, and
// where it stands.
func (q *request) members(j driver.JSON, known func(string) (name string, fields []string, place int)) (list []shown) {
	if j.IsZero() {
		return nil
	}
	members, err := j.Members()
	if err != nil {
		return []shown{{Name: "(unreadable)", Text: q.said(err.Error())}}
	}
	names := slices.SortedFunc(maps.Keys(members), func(a, b string) int {
		_, _, x := known(a)
		_, _, y := known(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	})
	for _, stored := range names {
		name, fields, _ := known(stored)
		list = append(list, q.raw(name, members[stored], fields...))
	}
	return list
}

// said is a text that may name values of any field: it is shown where all are.
func (q *request) said(text string) string {
	if text == "" {
		return ""
	}
	for _, c := range q.m.schema.Columns {
		if q.showing(c.Name) != Whole {
			return "(what it says is not shown: it may hold values that are not)"
		}
	}
	return text
}

// stamp writes a time, with its zone.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// length writes how long something took, in its two largest units.
func length(d time.Duration) string {
	day := 24 * time.Hour
	switch {
	case d < 0:
		return "−" + length(-d)
	case d >= day:
		return fmt.Sprintf("%d d %d h", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d >= 10*time.Second:
		return fmt.Sprintf("%d s", d/time.Second)
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d ms", d/time.Millisecond)
}
