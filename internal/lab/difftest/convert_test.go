package difftest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/enginetest"
	"github.com/fsmgen/fsmgen/spec"
)

// value reads a value of a trace as the interpreter has it.
func value(t spec.Type, text string) (interp.Value, error) {
	if text == "" {
		return interp.Absent, nil
	}
	kind, rest := text[0], text[2:]
	switch kind {
	case 'n':
		n, err := strconv.ParseInt(rest, 10, 64)
		return interp.Int(n), err
	case 'b':
		return interp.Bool(rest == "true"), nil
	case 't':
		n, err := strconv.ParseInt(rest, 10, 64)
		return interp.Time(time.UnixMicro(n)), err
	case 's':
		switch t.Kind {
		case spec.KindString:
			return interp.String(rest), nil
		case spec.KindJSON:
			return interp.JSON(rest), nil
		case spec.KindSet:
			var members []string
			err := json.Unmarshal([]byte(rest), &members)
			return interp.Set(members...), err
		case spec.KindEnum:
			for _, w := range t.Values {
				if w.Stored() == rest {
					return interp.Word(w.Name), nil
				}
			}
			return interp.Word(rest), nil
		}
	}
	return interp.Absent, fmt.Errorf("%q is not a value of a trace", text)
}

// record reads a record of a trace.
func record(m *spec.Machine, row *enginetest.TraceRow) (interp.Record, error) {
	r := interp.NewRecord(m, row.ID)
	r.Rev, r.CreatedAt, r.UpdatedAt = row.Rev, row.CreatedAt, row.UpdatedAt
	for _, s := range m.States {
		if s.Stored() == row.State {
			r.State = s
		}
	}
	if len(row.Values) != len(m.Fields) {
		return r, fmt.Errorf("record %q has %d values, the machine %d fields", row.ID, len(row.Values), len(m.Fields))
	}
	for i, f := range m.Fields {
		v, err := value(f.Type, row.Values[i])
		if err != nil {
			return r, err
		}
		if v.Kind != interp.KindAbsent {
			r.Fields[i] = v
		}
	}
	return r, nil
}

// call reads a call of a trace.
func call(m *spec.Machine, l enginetest.TraceLine) (interp.Call, error) {
	op := m.Operation(l.Operation)
	if op == nil {
		return interp.Call{}, fmt.Errorf("the machine has no operation %q", l.Operation)
	}
	c := interp.Call{
		Op: op, ID: l.At.ID, ExpectedRev: l.At.Rev, RequestID: l.Call.RequestID, Actor: l.Call.Actor, Reason: l.Call.Reason,
		At: l.Call.At, Inputs: map[string]interp.Value{},
	}
	if len(op.Creates) > 0 {
		c.ID = l.Call.ID
	}
	for name, text := range l.Call.Inputs {
		in := op.Input(name)
		if in == nil {
			return c, fmt.Errorf("%s has no input %q", op.Name, name)
		}
		v, err := value(in.Type, text)
		if err != nil {
			return c, err
		}
		c.Inputs[name] = v
	}
	return c, nil
}

// outcome is what came of a call, in a form that two engines can be compared in.
type outcome struct {
	Code, Guard, Name, Sentinel    string
	Record                         string
	RecordOnly, Replayed, Existing bool
	Current                        string
	Events                         []string
}

func show(m *spec.Machine, r interp.Record) string {
	var b strings.Builder
	state := "(none)"
	if r.State != nil {
		state = r.State.Name
	}
	fmt.Fprintf(&b, "%s %s rev %d created %s updated %s", r.ID, state, r.Rev,
		r.CreatedAt.UTC().Format(time.RFC3339Nano), r.UpdatedAt.UTC().Format(time.RFC3339Nano))
	for i, f := range m.Fields {
		fmt.Fprintf(&b, " %s=%s", f.Name, r.Fields[i])
	}
	return b.String()
}

// traced is what an engine says in a trace.
func traced(m *spec.Machine, l enginetest.TraceLine) (outcome, error) {
	t := l.Outcome
	o := outcome{Code: t.Code, RecordOnly: t.RecordOnly, Replayed: t.Replayed, Existing: t.Existing}
	if t.Code != "" {
		o.Guard, o.Name, o.Sentinel = t.Guard, t.Name, strings.Join(t.Sentinels, ", ")
		return o, nil
	}
	r, err := record(m, t.Row)
	if err != nil {
		return o, err
	}
	o.Record = show(m, r)
	if l.Engine != "pure" {
		o.Current = t.Current.String()
	}
	for _, e := range t.Events {
		if strings.HasPrefix(e.RequestID, "sys:call:") {
			e.RequestID = "" // the engine's own, for a call without one
		}
		o.Events = append(o.Events, fmt.Sprintf("%d.%d %s (%s) %s -> %s by %q request %q cause %q guard %q",
			e.Rev, e.N, e.Operation, e.Name, e.From, e.To, e.Actor, e.RequestID, e.Cause, e.Guard))
	}
	return o, nil
}

// refused is a refusal of the interpreter.
func refused(r *interp.Refusal) outcome {
	return outcome{Code: r.Code, Guard: r.Guard, Name: r.Name, Sentinel: r.Sentinel}
}

func word(s *spec.State) string {
	if s == nil {
		return ""
	}
	return s.Stored()
}

// answered is what the interpreter says over a world.
func answered(m *spec.Machine, out interp.Outcome, refusal *interp.Refusal) outcome {
	if refusal != nil {
		return refused(refusal)
	}
	o := outcome{
		Record: show(m, out.Record), RecordOnly: out.RecordOnly, Replayed: out.Replayed, Existing: out.Existing,
		Current: fmt.Sprintf("%s@%d", out.Current.ID, out.Current.Rev),
	}
	for _, e := range out.Events {
		cause := ""
		if e.Cause != nil {
			cause = e.Cause.Stored()
		}
		o.Events = append(o.Events, fmt.Sprintf("%d.%d %s (%s) %s -> %s by %q request %q cause %q guard %q",
			e.Rev, e.N, e.Op.Stored(), e.Op.StoredEvent(), word(e.From), word(e.To), e.Actor, e.RequestID, cause, e.Guard))
	}
	return o
}

// decided is a decision of the interpreter, as a pure method says it: in the
// names of the specification.
func decided(m *spec.Machine, c interp.Call, d interp.Decision) outcome {
	name := func(s *spec.State) string {
		if s == nil {
			return ""
		}
		return s.Name
	}
	return outcome{
		Record: show(m, d.Record), RecordOnly: d.RecordOnly,
		Events: []string{fmt.Sprintf("%d.0 %s (%s) %s -> %s by %q request %q cause %q guard %q",
			d.Record.Rev, c.Op.Name, c.Op.Event, name(d.From), name(d.To), "", "", "", d.Guard)},
	}
}
