package enginetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

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

// traceRow writes a record for a trace.
func traceRow(r driver.Row) *TraceRow {
	t := &TraceRow{ID: r.ID, State: r.State, Rev: r.Rev, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
	for _, v := range r.Values {
		t.Values = append(t.Values, TraceValue(v))
	}
	return t
}

// traceCall writes a call for a trace.
func traceCall(c oracle.Call) TraceCall {
	t := TraceCall{
		ID: c.ID, RequestID: c.RequestID, Actor: c.Actor, Reason: c.Reason, At: c.At,
		Inputs: map[string]string{}, Peers: c.Peers,
	}
	for name, v := range c.Inputs {
		t.Inputs[name] = TraceValue(v)
	}
	return t
}

// traceRefusal writes a refusal for a trace.
func traceRefusal[R any](s *world.Suite[R], err error) TraceOutcome {
	o := TraceOutcome{Code: "unknown: " + err.Error()}
	var r *fsm.Refusal
	var e *fsm.EffectError
	switch {
	case errors.As(err, &e):
		o.Code = string(fsm.ErrEffect)
	case errors.As(err, &r):
		o.Code, o.Guard, o.Name = string(r.Code), r.Guard, r.Name
	}
	for _, name := range oracle.SortedKeys(s.D.Errors) {
		if errors.Is(err, s.D.Errors[name]) {
			o.Sentinels = append(o.Sentinels, name)
		}
	}
	return o
}

// traceOutcome writes the answer to a call for a trace.
func traceOutcome[R any](s *world.Suite[R], got fsm.Outcome[R], err error) TraceOutcome {
	if err != nil {
		return traceRefusal(s, err)
	}
	o := TraceOutcome{
		Row: traceRow(s.D.Descriptor.Encode(&got.Record)), RecordOnly: got.RecordOnly, Replayed: got.Replayed,
		Existing: got.Existing, Current: got.Current,
	}
	for _, e := range got.Events {
		o.Events = append(o.Events, TraceEvent{e.Operation, e.Name, e.From, e.To, e.Actor, e.RequestID, e.Cause, e.Guard, e.Rev, e.N})
	}
	return o
}

// traceStep writes what a harness has done.
func traceStep[R any](s *world.Suite[R], x world.Step[R]) TraceLine {
	l := TraceLine{Kind: x.Kind, Operation: x.Operation, At: x.At, Count: x.Count}
	switch x.Kind {
	case "seed":
		l.Row = traceRow(x.Row)
		return l
	case "step":
		l.Outcome = traceOutcome(s, x.Outcome, x.Err)
	}
	l.Call = traceCall(x.Call)
	return l
}
