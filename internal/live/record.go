package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// coder turns rows into records of the interpreter and back.
type coder struct {
	m *spec.Machine
}

// Record returns the record of a row. Unknown words and wrong types are errors.
func Record(m *spec.Machine, row driver.Row) (interp.Record, error) {
	r := interp.NewRecord(m, row.ID)
	if len(row.Values) != len(m.Fields) {
		return r, fmt.Errorf("%s %q: the row has %d columns, expected %d", m.Name, row.ID, len(row.Values), len(m.Fields))
	}
	r.Rev, r.CreatedAt, r.UpdatedAt = row.Rev, row.CreatedAt, row.UpdatedAt
	var wrong []error
	for _, s := range m.States {
		if s.Stored() == row.State {
			r.State = s
		}
	}
	if r.State == nil {
		wrong = append(wrong, fmt.Errorf("no state is stored as %q", row.State))
	}
	for i, f := range m.Fields {
		v, err := ValueOf(f.Type, row.Values[i])
		if err != nil {
			wrong = append(wrong, fmt.Errorf("column %s: %w", f.Stored(), err))
			continue
		}
		r.Fields[i] = v
	}
	if len(wrong) > 0 {
		return r, fmt.Errorf("%s %q: %w", m.Name, row.ID, errors.Join(wrong...))
	}
	return r, nil
}

func (c coder) decode(row driver.Row) (interp.Record, error) { return Record(c.m, row) }

func (c coder) encode(r *interp.Record) driver.Row {
	row := driver.Row{ID: r.ID, Rev: r.Rev, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Values: make([]any, len(c.m.Fields))}
	if r.State != nil {
		row.State = r.State.Stored()
	}
	for i, f := range c.m.Fields {
		row.Values[i] = Column(f.Type, r.Fields[i])
	}
	return row
}

func (c coder) check(r *interp.Record) []fsm.Violation {
	var found []fsm.Violation
	for _, v := range interp.Check(c.m, *r) {
		found = append(found, fsm.Violation{Rule: v.Rule, Must: v.Must, Message: v.Message})
	}
	return found
}

// ValueOf returns a value of a row as the interpreter has it.
func ValueOf(t spec.Type, v any) (interp.Value, error) {
	switch v := v.(type) {
	case nil:
		if t.Optional {
			return interp.Absent, nil
		}
	case int64:
		switch t.Kind {
		case spec.KindInt, spec.KindCounter, spec.KindSequence:
			return interp.Int(v), nil
		case spec.KindDuration:
			return interp.Span(v), nil
		}
	case bool:
		if t.Kind == spec.KindBool {
			return interp.Bool(v), nil
		}
	case time.Time:
		if t.Kind == spec.KindTime {
			return interp.Time(v), nil
		}
	case string:
		switch t.Kind {
		case spec.KindString:
			return interp.String(v), nil
		case spec.KindEnum:
			for _, w := range t.Values {
				if w.Stored() == v {
					return interp.Word(w.Name), nil
				}
			}
			return interp.Absent, fmt.Errorf("no word is stored as %q", v)
		case spec.KindJSON:
			j, err := fsm.ParseJSON(v)
			return interp.JSON(j.String()), err
		case spec.KindSet:
			var set fsm.Set
			if err := set.UnmarshalJSON([]byte(v)); err != nil {
				return interp.Absent, err
			}
			return interp.Set(set.Items()...), nil
		}
	}
	return interp.Absent, fmt.Errorf("it holds %T, which is not a value of its type", v)
}

// Column returns a value as rows hold it.
func Column(t spec.Type, v interp.Value) any {
	switch v.Kind {
	case interp.KindString, interp.KindJSON:
		return v.Text
	case interp.KindInt, interp.KindDuration:
		return v.Num
	case interp.KindBool:
		return v.Num != 0
	case interp.KindTime:
		return v.AsTime()
	case interp.KindSet:
		text, _ := fsm.NewSet(v.Members()...).MarshalJSON() // strings always marshal
		return string(text)
	case interp.KindWord:
		for _, w := range t.Values {
			if w.Name == v.Text {
				return w.Stored()
			}
		}
		return v.Text
	}
	return nil
}

// ValueFromJSON returns a value as it stands in an event, which is not null.
func ValueFromJSON(t spec.Type, raw json.RawMessage) (interp.Value, error) {
	var wrong error
	switch t.Kind {
	case spec.KindString, spec.KindEnum, spec.KindTime:
		var s string
		if wrong = json.Unmarshal(raw, &s); wrong != nil {
			break
		}
		if t.Kind != spec.KindTime {
			return ValueOf(t, s)
		}
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return interp.Absent, fmt.Errorf("%q is not a time; expected one like 2006-01-02T15:04:05.000000Z", s)
		}
		return interp.Time(at), nil
	case spec.KindInt, spec.KindCounter, spec.KindSequence, spec.KindDuration:
		var n int64
		if wrong = json.Unmarshal(raw, &n); wrong == nil {
			return ValueOf(t, n)
		}
	case spec.KindBool:
		var b bool
		if wrong = json.Unmarshal(raw, &b); wrong == nil {
			return interp.Bool(b), nil
		}
	case spec.KindJSON:
		text := string(raw)
		if inner, ok := strings.CutPrefix(text, `{"$json":`); ok {
			text = strings.TrimSuffix(inner, "}")
		}
		return interp.JSON(text), nil
	case spec.KindSet:
		var set fsm.Set
		if wrong = set.UnmarshalJSON(raw); wrong == nil {
			return interp.Set(set.Items()...), nil
		}
	}
	return interp.Absent, fmt.Errorf("%.80s is not a value of its type", raw)
}
