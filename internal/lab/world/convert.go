package world

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/spec"
)

// Row is a record as stores hold it.
func Row(m *spec.Machine, r interp.Record) driver.Row {
	row := driver.Row{ID: r.ID, Rev: r.Rev, CreatedAt: driver.Time(r.CreatedAt), UpdatedAt: driver.Time(r.UpdatedAt), Values: make([]any, len(m.Fields))}
	if r.State != nil {
		row.State = r.State.Stored()
	}
	for i, f := range m.Fields {
		row.Values[i] = Datum(f.Type, r.Fields[i])
	}
	return row
}

// Datum is a value as rows and calls hold it.
func Datum(t spec.Type, v interp.Value) any {
	switch v.Kind {
	case interp.KindAbsent:
		return nil
	case interp.KindInt, interp.KindDuration:
		return v.Num
	case interp.KindBool:
		return v.Num != 0
	case interp.KindTime:
		return driver.Time(v.AsTime())
	case interp.KindWord:
		for _, w := range t.Values {
			if w.Name == v.Text {
				return w.Stored()
			}
		}
		return fsmcases.NoWord
	}
	return v.Text
}

// Record reads a row. It is an error when no record of the machine is written so.
func Record(m *spec.Machine, row driver.Row) (interp.Record, error) {
	r := interp.NewRecord(m, row.ID)
	r.Rev, r.CreatedAt, r.UpdatedAt = row.Rev, row.CreatedAt, row.UpdatedAt
	for _, s := range m.States {
		if s.Stored() == row.State {
			r.State = s
		}
	}
	if r.State == nil || len(row.Values) != len(m.Fields) {
		return r, fmt.Errorf("a row in state %q with %d values is no record", row.State, len(row.Values))
	}
	for i, f := range m.Fields {
		v, err := value(f.Type, row.Values[i])
		if err != nil {
			return r, fmt.Errorf("field %s: %w", f.Name, err)
		}
		r.Fields[i] = v
	}
	return r, nil
}

func value(t spec.Type, v any) (interp.Value, error) {
	switch v := v.(type) {
	case nil:
		return interp.Absent, nil
	case int64:
		return number(t, v), nil
	case bool:
		return interp.Bool(v), nil
	case time.Time:
		return interp.Time(v), nil
	case string:
		if t.Kind == spec.KindJSON || t.Kind == spec.KindSet {
			return read(t, json.RawMessage(v))
		}
		return text(t, v), nil
	}
	return interp.Absent, fmt.Errorf("%T %v is no value of a row", v, v)
}

func number(t spec.Type, n int64) interp.Value {
	if t.Kind == spec.KindDuration {
		return interp.Span(n)
	}
	return interp.Int(n)
}

func text(t spec.Type, s string) interp.Value {
	if t.Kind != spec.KindEnum {
		return interp.String(s)
	}
	for _, w := range t.Values {
		if w.Stored() == s {
			return interp.Word(w.Name)
		}
	}
	return interp.Word(s)
}

// read reads a value in JSON, as an event holds it.
func read(t spec.Type, raw json.RawMessage) (interp.Value, error) {
	if len(raw) == 0 || string(raw) == "null" && t.Kind != spec.KindJSON {
		return interp.Absent, nil
	}
	switch t.Kind {
	case spec.KindInt, spec.KindCounter, spec.KindSequence, spec.KindDuration:
		var n int64
		err := json.Unmarshal(raw, &n)
		return number(t, n), err
	case spec.KindBool:
		return interp.Bool(string(raw) == "true"), nil
	case spec.KindTime:
		var at time.Time
		err := json.Unmarshal(raw, &at)
		return interp.Time(at), err
	case spec.KindJSON:
		return interp.JSON(string(raw)), nil
	case spec.KindSet:
		var members []string
		err := json.Unmarshal(raw, &members)
		return interp.Set(members...), err
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return text(t, s), err
}

// logged reads an input of an event.
func logged(t spec.Type, raw json.RawMessage) (interp.Value, error) {
	switch string(raw) {
	case "null":
		return interp.Absent, nil
	case `{"$json":null}`:
		raw = json.RawMessage("null")
	}
	return read(t, raw)
}

// Sent is a call as the adapters of a generated test take it.
func Sent(c interp.Call) fsmcases.Call {
	sent := fsmcases.Call{ID: c.ID, RequestID: c.RequestID, Actor: c.Actor, Reason: c.Reason, At: c.At, Labels: c.Labels, Inputs: map[string]any{}}
	for _, in := range c.Op.Inputs {
		if v := c.Inputs[in.Name]; v.Kind != interp.KindAbsent {
			sent.Inputs[in.Name] = Datum(in.Type, v)
		}
	}
	return sent
}

// Another is a value of a type that is not v.
func Another(t spec.Type, v interp.Value) interp.Value {
	switch t.Kind {
	case spec.KindInt, spec.KindCounter, spec.KindSequence, spec.KindDuration:
		if t.Max != nil && v.Num >= *t.Max {
			return number(t, v.Num-1)
		}
		return number(t, v.Num+1)
	case spec.KindBool:
		return interp.Bool(v.Num == 0)
	case spec.KindTime:
		if v.Kind == interp.KindAbsent {
			return interp.Time(Noon)
		}
		return interp.Time(v.AsTime().Add(time.Microsecond))
	case spec.KindSet:
		if v.Has("one more") {
			return v.Union(interp.Set("and another"))
		}
		return v.Union(interp.Set("one more"))
	case spec.KindJSON:
		if other := interp.JSON(`["another"]`); other != v {
			return other
		}
		return interp.JSON(`["one more"]`)
	case spec.KindEnum:
		for _, w := range t.Values {
			if w.Name != v.Text {
				return interp.Word(w.Name)
			}
		}
	}
	if other := interp.String(t.Fitted(v.Text + " and another")); other != v {
		return other
	}
	return interp.String(t.Fitted("one more"))
}
