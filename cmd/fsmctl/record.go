package main

import (
	"encoding/json"
	"time"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// recordReport is a record in JSON, in the words of the specification.
type recordReport struct {
	ID        string         `json:"id"`
	State     string         `json:"state"`
	Rev       int64          `json:"rev"`
	CreatedAt string         `json:"created_at,omitempty"`
	UpdatedAt string         `json:"updated_at,omitempty"`
	Fields    map[string]any `json:"fields,omitempty"`
}

func reportOf(m *spec.Machine, row *driver.Row) recordReport {
	r := recordReport{
		ID: row.ID, State: stateName(m, row.State), Rev: row.Rev,
		CreatedAt: microTime(row.CreatedAt), UpdatedAt: microTime(row.UpdatedAt), Fields: map[string]any{},
	}
	for i, f := range m.Fields {
		if i < len(row.Values) {
			r.Fields[f.Name] = jsonOf(f, row.Values[i])
		}
	}
	return r
}

// jsonOf is a value of a row as JSON has it: a word by its name, a set as an array, a length in microseconds.
func jsonOf(f *spec.Field, v any) any {
	switch v := v.(type) {
	case time.Time:
		return microTime(v)
	case string:
		switch f.Type.Kind {
		case spec.KindJSON, spec.KindSet:
			if json.Valid([]byte(v)) {
				return json.RawMessage(v)
			}
		case spec.KindEnum:
			if read, err := live.ValueOf(f.Type, v); err == nil {
				return read.Text
			}
		}
	}
	return v
}

func microTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// stateName is a state by its name; one that the specification does not know stays as it is stored.
func stateName(m *spec.Machine, stored string) string {
	for _, s := range m.States {
		if s.Stored() == stored {
			return s.Name
		}
	}
	return stored
}

// said is a field with its value for people.
func said(f *spec.Field, v any) string {
	if v == nil {
		return f.Name + " absent"
	}
	return f.Name + " = " + valueText(f, v)
}

func valueText(f *spec.Field, v any) string {
	if f.Type.Kind == spec.KindDuration {
		if n, ok := v.(int64); ok {
			return spec.SpanText(n)
		}
	}
	if s, ok := v.(string); ok && f.Type.Kind == spec.KindEnum {
		return cut(cli.Plain(jsonOf(f, s).(string)))
	}
	return cut(cli.Plain(cli.OneLine(jsonOf(f, v))))
}

// fieldsText writes the first fields of a row that are there and short.
func fieldsText(m *spec.Machine, row *driver.Row, most int) (list []string) {
	for i, f := range m.Fields {
		if i < len(row.Values) && row.Values[i] != nil && f.Type.Kind != spec.KindJSON && f.Type.Kind != spec.KindSet && len(list) < most {
			list = append(list, said(f, row.Values[i]))
		}
	}
	return list
}
