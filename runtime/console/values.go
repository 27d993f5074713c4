package console

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	Cut    bool      // Text is not all of it
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

// raw shows a value of an event.
func (q *request) raw(name string, raw json.RawMessage) shown {
	s := shown{Name: name}
	var text string
	switch {
	case bytes.Equal(raw, []byte("null")):
		s.Absent = true
		return s
	case json.Unmarshal(raw, &text) == nil:
		s.Text = text
		if i := q.m.schema.Column(name); i >= 0 && q.m.schema.Columns[i].Kind == driver.KindTime {
			s.Time, _ = time.Parse(time.RFC3339Nano, text)
		}
	default:
		s.Text = string(raw)
	}
	return q.hide(s)
}

// text shows what is said beside a call: actor, reason, labels, problem.
func (q *request) text(name, text string) shown {
	if text == "" {
		return shown{Name: name, Absent: true}
	}
	return q.hide(shown{Name: name, Text: text})
}

// hide leaves of a value what may be shown.
func (q *request) hide(s shown) shown {
	switch q.showing(s.Name) {
	case Hidden:
		return shown{Name: s.Name, Text: "hidden", Cut: true}
	case Short:
		if runes := []rune(s.Text); len(runes) > 4 {
			return shown{Name: s.Name, Text: string(runes[:4]) + "…", Cut: true}
		}
		return shown{Name: s.Name, Text: "…", Cut: true} // four characters may be all
	}
	if len(s.Text) > longest {
		end := longest
		for !utf8.RuneStart(s.Text[end]) {
			end--
		}
		s.Text, s.Cut = s.Text[:end]+"…", true
	}
	return s
}

// members shows the members of an object of an event: those that are named first, in that order.
func (q *request) members(j driver.JSON, first []string) (list []shown) {
	if j.IsZero() {
		return nil
	}
	members, err := j.Members()
	if err != nil {
		return []shown{{Name: "(unreadable)", Text: err.Error()}}
	}
	var names []string
	for _, name := range first {
		if _, ok := members[name]; ok {
			names = append(names, name)
		}
	}
	var rest []string
	for name := range members {
		if !slices.Contains(names, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	for _, name := range append(names, rest...) {
		s := q.raw(name, members[name])
		if i := q.m.schema.Column(name); i >= 0 && len(first) > 0 {
			s.Name = q.m.schema.Columns[i].Name
		}
		list = append(list, s)
	}
	return list
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
