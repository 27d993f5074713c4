package console

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// filter is what a list shows. It is the query of the list's address, and nothing else is.
type filter struct {
	States []string // names
	Find   string   // an id, the beginning of one, or the value of a unique field
	Actor  string   // of the last step
	Label  string   // name=value, of the last step
	Since  string   // the last step was made at that time or later
	Until  string   // or before that time
	Fields []fieldFilter
	ByID   bool   // by id; else the record that moved last comes first
	After  string // where the page begins

	since, until time.Time
	stored       []string // words of States
	conds        []driver.Cond
}

// fieldFilter is a comparison of a field, as the address has it.
type fieldFilter struct{ Name, Op, Value string }

var ops = map[string]driver.Op{
	"eq": driver.OpEq, "ne": driver.OpNe, "lt": driver.OpLt, "le": driver.OpLe, "gt": driver.OpGt, "ge": driver.OpGe,
	"present": driver.OpPresent, "absent": driver.OpAbsent,
}

// opWords are the comparisons as pages show them, in order.
var opWords = []struct{ Op, Text string }{
	{"eq", "="}, {"ne", "≠"}, {"lt", "<"}, {"le", "≤"}, {"gt", ">"}, {"ge", "≥"}, {"present", "is present"}, {"absent", "is absent"},
}

// filter reads the query of an address.
func (q *request) filter() (*filter, error) {
	v := q.r.URL.Query()
	f := &filter{
		States: v["state"], Find: strings.TrimSpace(v.Get("find")), Actor: v.Get("actor"), Label: v.Get("label"),
		Since: v.Get("since"), Until: v.Get("until"), ByID: v.Get("order") == "id", After: v.Get("after"),
	}
	f.States = slices.DeleteFunc(f.States, func(s string) bool { return s == "" })
	for _, name := range f.States {
		word, ok := q.m.state(name)
		if !ok {
			return nil, badRequest(fmt.Sprintf("%s has no state %q.", q.m.schema.Machine, name))
		}
		f.stored = append(f.stored, word)
	}
	var err error
	if f.since, err = readTime("since", f.Since); err != nil {
		return nil, err
	}
	if f.until, err = readTime("until", f.Until); err != nil {
		return nil, err
	}
	if f.Label != "" && !strings.Contains(f.Label, "=") {
		return nil, badRequest(fmt.Sprintf("The label %q is not written as name=value.", f.Label))
	}
	if (f.Actor != "" && q.showing(ActorOf) != Whole) || (f.Label != "" && q.showing(LabelsOf) != Whole) {
		return nil, badRequest("Actors or labels are not shown here, so they cannot be searched for.")
	}
	if (f.ByID || f.Find != "") && !f.plain() {
		return nil, badRequest("Actors and labels stand in the log, which has no order by id. " +
			"Leave out the order and the text to find, or the actor and the label.")
	}
	for _, text := range v["where"] {
		name, rest, _ := strings.Cut(text, ":")
		op, value, _ := strings.Cut(rest, ":")
		if err := q.where(f, fieldFilter{name, op, value}); err != nil {
			return nil, err
		}
	}
	if name := v.Get("field"); name != "" { // of the form, which adds one
		if err := q.where(f, fieldFilter{name, v.Get("op"), v.Get("value")}); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// where adds a comparison of a field.
func (q *request) where(f *filter, w fieldFilter) error {
	c, op := q.m.column(w.Name), ops[w.Op]
	switch {
	case c == nil:
		return badRequest(fmt.Sprintf("%s has no field %q.", q.m.schema.Machine, w.Name))
	case op == 0:
		return badRequest(fmt.Sprintf("%q is no comparison; write eq, ne, lt, le, gt, ge, present or absent.", w.Op))
	case q.showing(w.Name) != Whole:
		return badRequest(fmt.Sprintf("The field %s is not shown here, so it cannot be searched for.", w.Name))
	}
	cond := driver.Cond{Column: c.Stored, Op: op}
	if op == driver.OpPresent || op == driver.OpAbsent {
		w.Value = ""
	} else {
		value, err := parseValue(c, w.Value)
		if err != nil {
			return err
		}
		cond.Value = value
	}
	f.Fields, f.conds = append(f.Fields, w), append(f.conds, cond)
	return nil
}

// parseValue reads a value of a column as people write it.
func parseValue(c *driver.Column, text string) (any, error) {
	switch c.Kind {
	case driver.KindInt, driver.KindCounter, driver.KindSequence:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
		return nil, badRequest(fmt.Sprintf("%s is a whole number; %q is none.", c.Name, text))
	case driver.KindBool:
		if b, err := strconv.ParseBool(text); err == nil {
			return b, nil
		}
		return nil, badRequest(fmt.Sprintf("%s is true or false; %q is neither.", c.Name, text))
	case driver.KindTime:
		return timeOf(c.Name, text)
	case driver.KindJSON, driver.KindSet:
		return nil, badRequest(fmt.Sprintf("%s holds more than one value; ask whether it is present or absent.", c.Name))
	}
	return text, nil
}

func readTime(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	return timeOf(name, text)
}

var timeForms = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04", time.DateOnly,
}

// timeOf reads a time, in UTC where it names no zone.
func timeOf(name, text string) (time.Time, error) {
	for _, form := range timeForms {
		if t, err := time.Parse(form, text); err == nil {
			return driver.Time(t), nil
		}
	}
	return time.Time{}, badRequest(fmt.Sprintf("%s is a time; %q is none: write it as 2006-01-02T15:04:05Z.", name, text))
}

// Query returns the address of the list, from a place on.
func (f *filter) Query(after string) template.URL {
	v := url.Values{}
	for _, s := range f.States {
		v.Add("state", s)
	}
	for name, text := range map[string]string{
		"find": f.Find, "actor": f.Actor, "label": f.Label, "since": f.Since, "until": f.Until, "after": after,
	} {
		if text != "" {
			v.Set(name, text)
		}
	}
	if f.ByID {
		v.Set("order", "id")
	}
	for _, w := range f.Fields {
		v.Add("where", w.String())
	}
	return template.URL("records?" + v.Encode()) //nolint:gosec // its parts are escaped
}

// String is the comparison as the address has it.
func (w fieldFilter) String() string { return w.Name + ":" + w.Op + ":" + w.Value }

// Text is the comparison for people.
func (w fieldFilter) Text() string {
	for _, o := range opWords {
		if o.Op == w.Op {
			return strings.TrimSpace(w.Name + " " + o.Text + " " + w.Value)
		}
	}
	return w.String()
}

// Without returns the address of the list without one comparison.
func (f *filter) Without(w fieldFilter) template.URL {
	g := *f
	g.Fields = slices.DeleteFunc(slices.Clone(f.Fields), func(o fieldFilter) bool { return o == w })
	return g.Query("")
}

// Has reports whether the list shows a state; of none all.
func (f *filter) Has(state string) bool { return slices.Contains(f.States, state) }

// plain reports whether rows alone answer the filter: no event is asked for.
func (f *filter) plain() bool { return f.Actor == "" && f.Label == "" }

// times returns the conditions on the time of the last step.
func (f *filter) times() (conds []driver.Cond) {
	if !f.since.IsZero() {
		conds = append(conds, driver.Cond{Column: "updated_at", Op: driver.OpGe, Value: f.since})
	}
	if !f.until.IsZero() {
		conds = append(conds, driver.Cond{Column: "updated_at", Op: driver.OpLt, Value: f.until})
	}
	return conds
}

// bounded writes a count that was bounded.
func bounded(n int64) string {
	if n > countMost {
		return group(countMost) + "+"
	}
	return group(n)
}

// group writes a number with a thin space before each three digits.
func group(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && n > 0 && n < math.MaxInt64; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}
