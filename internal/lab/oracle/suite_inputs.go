package oracle

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
)

// Inputs makes calls that cannot be taken as they are: whatever the record, the
// refusal names the input and nothing changes.
func (s *Suite[R]) Inputs(t *testing.T) {
	p := &parts{t: t}
	defer p.done()
	for _, o := range s.M.Ops {
		p.run(o.Name, func(r *reporter) {
			refusals := 0
			for _, st := range s.M.From(o) {
				if st != nil && o.Cells[st.Name].Kind == CellRefused {
					if refusals++; refusals > wholeRefusals {
						continue
					}
				}
				for c := range s.M.Cases(o, st) {
					s.M.BadCalls(o, c, func(what string, call Call) {
						s.caseCount++
						s.report(r, what+": ", o, Case{c.Row, call}, s.M.Decide(o, c.Row, call))
					})
					break // the call is looked at before the record
				}
			}
		})
	}
}

// BadCalls hands out changes of a good call, most of which make it bad.
func (m *Model) BadCalls(o *Op, c Case, do func(what string, call Call)) {
	try := func(what string, change func(*Call)) {
		bad := c.Call
		bad.Inputs = maps.Clone(c.Call.Inputs)
		change(&bad)
		do(what, bad)
	}
	if o.By != "system" {
		try("without an actor", func(c *Call) { c.Actor = "" })
		try("without a reason", func(c *Call) { c.Reason = "" })
	}
	if o.By == "operator" || o.By != "system" && o.ReadsActor {
		try("with an actor that is not UTF-8", func(c *Call) { c.Actor = "ann\xff" })
		try("with an actor that is too long", func(c *Call) { c.Actor = strings.Repeat("a", driver.MaxID+1) })
	}
	if o.By == "operator" {
		try("with a reason that holds NUL", func(c *Call) { c.Reason = "a\x00b" })
	}
	if o.Creates {
		try("without an id", func(c *Call) { c.ID = "" })
		try("with an id that holds NUL", func(c *Call) { c.ID = "a\x00b" })
		try("with an id that is too long", func(c *Call) { c.ID = strings.Repeat("a", driver.MaxID+1) })
	}
	for _, in := range o.InputList {
		set := func(v any) func(*Call) { return func(c *Call) { c.Inputs[in.Name] = v } }
		switch in.Kind {
		case driver.KindString:
			try(in.Name+" is not UTF-8", set("\xff"))
			try(in.Name+" is empty", set(""))
			try(in.Name+" holds NUL", set("a\x00b"))
		case driver.KindEnum:
			try(in.Name+" is no word of its type", set(fsmcases.NoWord))
		case driver.KindSet:
			try(in.Name+" has a member that holds NUL", set(SetOf("a", "b\x00")))
		case driver.KindJSON:
			try(in.Name+" is not UTF-8", set("\"\xff\""))
			try(in.Name+" is sent without a text", set(""))
			try(in.Name+" is null", set("null"))
			try(in.Name+" holds NUL", set(`{"a":["b\u0000"]}`))
			try(in.Name+" has a name that holds NUL", set(`{"\u0000":1}`))
			try(in.Name+" holds a backslash before digits", set(`"\\u0000"`))
		case driver.KindTime:
			try(in.Name+" is after the year 9999", set(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)))
			try(in.Name+" is the last instant of the year 9999", set(time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)))
			try(in.Name+" is before the year 1", set(time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC)))
			try(in.Name+" is the first instant of the year 1 but one", set(time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC)))
		case driver.KindInt, driver.KindCounter:
			for _, n := range edges(in.Typ) {
				try(in.Name+" is out of bounds", set(n))
			}
			for _, f := range m.Order {
				for _, n := range edges(m.FieldByName[f].Typ) {
					try(in.Name+" is out of a field's bounds", set(n))
				}
			}
		}
		try(in.Name+" is not sent", func(c *Call) { delete(c.Inputs, in.Name) })
	}
}

// edges lists the numbers just outside and just inside the bounds of a type.
func edges(y Typ) []int64 {
	var list []int64
	if y.Min != nil {
		list = append(list, *y.Min-1, *y.Min)
	}
	if y.Max != nil {
		list = append(list, *y.Max, *y.Max+1)
	}
	return list
}
