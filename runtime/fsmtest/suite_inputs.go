package fsmtest

import (
	"maps"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// inputs makes calls that cannot be taken as they are: whatever the record, the
// refusal names the input and nothing changes.
func (s *suite[R]) inputs(t *testing.T) {
	for _, o := range s.m.operations {
		t.Run(o.Name, func(t *testing.T) {
			states := s.m.stateOrder
			if o.creates {
				states = []*state{nil}
			}
			for _, st := range states {
				for c := range s.m.cases(o, st) {
					s.badCalls(o, c, func(what string, call Call) { s.badCall(t, what, o, theCase{c.row, call}) })
					break // the call is looked at before the record
				}
			}
		})
	}
}

func (s *suite[R]) badCall(t *testing.T, what string, o *operation, bad theCase) {
	t.Helper()
	v := s.m.decide(o, bad.row, bad.call)
	s.caseCount++
	if problem := s.onCase(o, bad, v); problem != "" {
		t.Errorf("%s: %s\n\trecord: %s\n\tcall:   %s\n\twant:   %s", what, problem, s.m.showRow(bad.row), bad.call, s.m.showVerdict(v))
	}
}

// storedInputs makes the same calls through the durable layer, where the engine
// looks at them before the record is read: the refusal is as good as that of
// the pure method, and nothing is written.
func (s *suite[R]) storedInputs(t *testing.T, st Store) {
	for _, o := range s.m.operations {
		t.Run(o.Name, func(t *testing.T) {
			h := s.newHarness(t, st)
			if !h.exported(o) {
				t.Skip("not exported: reached by `then` only")
			}
			c, ok := s.m.goodAlone(o)
			if !ok {
				t.Skip("no record alone lets it pass")
			}
			s.durableCount++
			if !o.creates {
				h.seed(c.row)
			}
			logged := len(h.w.log)
			s.badCalls(o, c, func(what string, call Call) {
				accepted := len(h.w.log) > logged // the last one
				switch {
				case o.creates && call.ID == "": // the engine makes one
					return
				case o.creates && accepted: // a record that is there is spoken of before the inputs
					h = s.newHarness(t, st)
				case o.By == "system" && accepted: // its request id is known when the last call was recorded only
					h = s.newHarness(t, st)
					h.seed(c.row)
				}
				if o.By != "system" {
					call.RequestID = h.requestID()
				}
				if o.creates {
					h.create(what, o, call)
				} else {
					h.call(what, o, fsm.Ref{ID: c.row.ID, Rev: h.w.rows[c.row.ID].Rev}, call)
				}
				h.same(what)
			})
		})
	}
}

// badCalls hands out changes of a good call, most of which make it bad.
func (s *suite[R]) badCalls(o *operation, c theCase, do func(what string, call Call)) {
	try := func(what string, change func(*Call)) {
		bad := c.call
		bad.Inputs = maps.Clone(c.call.Inputs)
		change(&bad)
		do(what, bad)
	}
	if o.By != "system" {
		try("without an actor", func(c *Call) { c.Actor = "" })
		try("without a reason", func(c *Call) { c.Reason = "" })
	}
	if o.By == "operator" || o.By != "system" && o.readsActor {
		try("with an actor that is not UTF-8", func(c *Call) { c.Actor = "ann\xff" })
		try("with an actor that is too long", func(c *Call) { c.Actor = strings.Repeat("a", driver.MaxID+1) })
	}
	if o.By == "operator" {
		try("with a reason that holds NUL", func(c *Call) { c.Reason = "a\x00b" })
	}
	if o.creates {
		try("without an id", func(c *Call) { c.ID = "" })
		try("with an id that holds NUL", func(c *Call) { c.ID = "a\x00b" })
		try("with an id that is too long", func(c *Call) { c.ID = strings.Repeat("a", driver.MaxID+1) })
	}
	for _, in := range o.inputs {
		set := func(v any) func(*Call) { return func(c *Call) { c.Inputs[in.Name] = v } }
		switch in.kind {
		case driver.KindString:
			try(in.Name+" is not UTF-8", set("\xff"))
			try(in.Name+" holds NUL", set("a\x00b"))
		case driver.KindSet:
			try(in.Name+" has a member that holds NUL", set(setOf("a", "b\x00")))
		case driver.KindJSON:
			try(in.Name+" is not UTF-8", set("\"\xff\""))
			try(in.Name+" is sent without a text", set(""))
		case driver.KindTime:
			try(in.Name+" is after the year 9999", set(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)))
			try(in.Name+" is the last instant of the year 9999", set(time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)))
			try(in.Name+" is before the year 1", set(time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC)))
			try(in.Name+" is the first instant of the year 1 but one", set(time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC)))
		case driver.KindInt, driver.KindCounter:
			for _, n := range edges(in.typ) {
				try(in.Name+" is out of bounds", set(n))
			}
			for _, f := range s.m.order {
				for _, n := range edges(s.m.fields[f].typ) {
					try(in.Name+" is out of a field's bounds", set(n))
				}
			}
		}
		try(in.Name+" is not sent", func(c *Call) { delete(c.Inputs, in.Name) })
	}
}

// edges lists the numbers just outside and just inside the bounds of a type.
func edges(y typ) []int64 {
	var list []int64
	if y.min != nil {
		list = append(list, *y.min-1, *y.min)
	}
	if y.max != nil {
		list = append(list, *y.max, *y.max+1)
	}
	return list
}
