package fsmtest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

var traceFile = flag.String("fsmtest.trace", "", "before the tests, write every case and what came of it to this `file`, one JSON object a line")

// traceLimit is how many cases of one cell a trace holds.
const traceLimit = 80

// TraceLine is one line of a trace: what was asked of the generated package,
// and what came of it. Nothing in it is what the tests expect, so that another
// reading of the specification can be compared with it.
type TraceLine struct {
	Kind      string // "case": one record and one call; "walk": a new empty store; "seed", "step", "sweep", "startup" and "deliver": in that store
	Engine    string // "pure", or the name of the store
	Operation string
	Row       *TraceRow // of a seed: the record; of a case that is no creation: the one before
	At        fsm.Ref   // of a step: the target; without an id the store picks
	Call      TraceCall
	Count     int // of sweep, startup and deliver: how many
	Outcome   TraceOutcome
}

// TraceRow is a record. Values are written by TraceValue.
type TraceRow struct {
	ID, State            string // the stored word
	Rev                  int64
	CreatedAt, UpdatedAt time.Time
	Values               []string
}

// TraceCall is a call.
type TraceCall struct {
	ID, RequestID, Actor, Reason string
	At                           time.Time
	Inputs                       map[string]string
	Peers                        map[string]int64
}

// TraceOutcome is what came of a call.
type TraceOutcome struct {
	Code       string // of a refusal; empty: the call was taken
	Guard      string // of a refusal, or of a call that was recorded only
	Name       string
	Sentinels  []string // the machine's own errors that the refusal is
	Row        *TraceRow
	RecordOnly bool
	Replayed   bool
	Existing   bool
	Current    fsm.Ref
	Events     []TraceEvent
}

// TraceEvent is an event; of a pure method only operation, states, revision and guard.
type TraceEvent struct {
	Operation, Name, From, To, Actor, RequestID, Cause, Guard string
	Rev, N                                                    int64
}

// TraceValue writes a value of a row so that it can be read back: "" is
// absent, else a letter for its type (s, n, b, t in microseconds), a colon and the value.
func TraceValue(v any) string {
	switch v := v.(type) {
	case string:
		return "s:" + v
	case int64:
		return fmt.Sprintf("n:%d", v)
	case bool:
		return fmt.Sprintf("b:%t", v)
	case time.Time:
		return fmt.Sprintf("t:%d", v.UnixMicro())
	}
	return ""
}

func traceRow(r driver.Row) *TraceRow {
	t := &TraceRow{ID: r.ID, State: r.State, Rev: r.Rev, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
	for _, v := range r.Values {
		t.Values = append(t.Values, TraceValue(v))
	}
	return t
}

func traceCall(c Call) TraceCall {
	t := TraceCall{
		ID: c.ID, RequestID: c.RequestID, Actor: c.Actor, Reason: c.Reason, At: c.At,
		Inputs: map[string]string{}, Peers: c.Peers,
	}
	for name, v := range c.Inputs {
		t.Inputs[name] = TraceValue(v)
	}
	return t
}

func (s *suite[R]) traceRefusal(err error) TraceOutcome {
	o := TraceOutcome{Code: "unknown: " + err.Error()}
	var r *fsm.Refusal
	var e *fsm.EffectError
	switch {
	case errors.As(err, &e):
		o.Code = string(fsm.ErrEffect)
	case errors.As(err, &r):
		o.Code, o.Guard, o.Name = string(r.Code), r.Guard, r.Name
	}
	for _, name := range sortedKeys(s.d.Errors) {
		if errors.Is(err, s.d.Errors[name]) {
			o.Sentinels = append(o.Sentinels, name)
		}
	}
	return o
}

func (s *suite[R]) traceOutcome(got fsm.Outcome[R], err error) TraceOutcome {
	if err != nil {
		return s.traceRefusal(err)
	}
	o := TraceOutcome{
		Row: traceRow(s.d.Descriptor.Encode(&got.Record)), RecordOnly: got.RecordOnly, Replayed: got.Replayed,
		Existing: got.Existing, Current: got.Current,
	}
	for _, e := range got.Events {
		o.Events = append(o.Events, TraceEvent{e.Operation, e.Name, e.From, e.To, e.Actor, e.RequestID, e.Cause, e.Guard, e.Rev, e.N})
	}
	return o
}

// traced writes a line when a trace is asked for.
func (h *harness[R]) traced(l TraceLine, c Call, got fsm.Outcome[R], err error) {
	if h.note == nil {
		return
	}
	l.Call = traceCall(c)
	if l.Kind == "step" {
		l.Outcome = h.s.traceOutcome(got, err)
	}
	h.note(l)
}

// trace writes every case over the pure layer and over every store, then the
// walks, and the calls that meet other records.
func (s *suite[R]) trace(t *testing.T) {
	f, err := os.Create(*traceFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	enc := json.NewEncoder(f)
	engine := ""
	s.note = func(l TraceLine) {
		l.Engine = engine
		if err := enc.Encode(l); err != nil {
			t.Error(err)
		}
	}
	engine = "pure"
	for _, o := range s.m.operations {
		for _, from := range s.from(o) {
			var late *theCase
			for c := range s.m.casesUpTo(o, from, traceLimit) {
				s.tracePure(o, c)
				if late == nil {
					late = s.m.late(o, c)
				}
			}
			if late != nil {
				s.tracePure(o, *late)
			}
		}
	}
	for _, st := range append([]Store{Memory}, s.d.Stores...) {
		engine = st.Name
		for _, o := range s.m.operations {
			s.traceDurable(t, st, o)
		}
		for walk := range walkCount {
			s.walk(t, st, walkSource(walk))
		}
		s.next(t, st)
		s.others(t, st)
	}
}

// from lists the states that an operation meets a record in; nil for a creation.
func (s *suite[R]) from(o *operation) []*state {
	if o.creates {
		return []*state{nil}
	}
	return s.m.stateOrder
}

func (s *suite[R]) tracePure(o *operation, c theCase) {
	l := TraceLine{Kind: "case", Operation: o.Name, Call: traceCall(c.call)}
	var r R
	if !o.creates {
		l.Row = traceRow(c.row)
		var err error
		if r, err = s.d.Descriptor.Decode(c.row); err != nil {
			l.Outcome.Code = "decode: " + err.Error()
			s.note(l)
			return
		}
	}
	ev, err := s.d.Pure[o.Name].Do(&r, c.call)
	if err != nil {
		l.Outcome = s.traceRefusal(err)
	} else {
		l.Outcome = TraceOutcome{Row: traceRow(s.d.Descriptor.Encode(&r)), RecordOnly: ev.RecordOnly, Guard: ev.Guard}
		l.Outcome.Events = []TraceEvent{{Operation: ev.Operation, Name: ev.Name, From: ev.From, To: ev.To, Rev: ev.Rev, Guard: ev.Guard}}
	}
	s.note(l)
}

// traceDurable runs the cases of one operation over one store, each on a record
// of its own that has no others in its groups.
func (s *suite[R]) traceDurable(t *testing.T, st Store, o *operation) {
	h := s.newHarness(t, st)
	if !h.exported(o) {
		return
	}
	n := 0
	for _, from := range s.from(o) {
		var batch []theCase
		for c := range s.m.casesUpTo(o, from, traceLimit) {
			if from != nil && !s.m.sound(c.row) || slices.ContainsFunc(o.require, func(g *guard) bool { return g.Fewer > 0 && c.call.Peers[g.Name] != 0 }) {
				continue
			}
			n++
			c = c.clone()
			c.row.ID = fmt.Sprintf("record-%d", n)
			c.row.Rev = 1
			c.call.ID = c.row.ID
			c.call.Peers = maps.Clone(c.call.Peers)
			for name := range c.call.Peers {
				if s.m.fields[name] != nil {
					c.call.Peers[name] = 1
				}
			}
			if o.By == "system" {
				c.call.Reason = ""
			} else if s.m.RequestID != "none" {
				c.call.RequestID = h.requestID()
			}
			if s.m.apart(o, &c, n) || n == 1 {
				batch = append(batch, c)
			}
		}
		if from != nil {
			var rows []driver.Row
			for _, c := range batch {
				rows = append(rows, c.row)
			}
			h.seed(rows...)
		}
		for _, c := range batch {
			l := TraceLine{Kind: "case", Operation: o.Name, Call: traceCall(c.call)}
			var at fsm.Target
			if from != nil {
				l.Row, at = traceRow(c.row), fsm.Ref{ID: c.row.ID, Rev: 1}
			}
			got, err := h.d.Operations[o.Name].Do(h.ctx, at, c.call)
			l.Outcome = s.traceOutcome(got, err)
			s.note(l)
		}
	}
}
