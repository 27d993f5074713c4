package answers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// valueView is a value as the page shows it.
type valueView struct {
	Kind    string   `json:"kind"` // of the type: string, int, bool, time, duration, json, set, enum
	Text    string   `json:"text"`
	Absent  bool     `json:"absent,omitempty"`
	Members []string `json:"members,omitempty"` // of a set
}

// show returns a value as the page shows it.
func show(v interp.Value) valueView {
	view := valueView{Text: v.Text}
	switch v.Kind {
	case interp.KindAbsent:
		return valueView{Absent: true}
	case interp.KindString:
		view.Kind = "string"
	case interp.KindInt:
		view.Kind, view.Text = "int", strconv.FormatInt(v.Num, 10)
	case interp.KindBool:
		view.Kind, view.Text = "bool", strconv.FormatBool(v.Num != 0)
	case interp.KindTime:
		view.Kind, view.Text = "time", stamp(v.AsTime())
	case interp.KindDuration:
		view.Kind, view.Text = "duration", spec.SpanText(v.Num)
	case interp.KindJSON:
		view.Kind = "json"
	case interp.KindSet:
		view.Kind, view.Members = "set", v.Members()
		view.Text = strings.Join(view.Members, ", ")
	case interp.KindWord:
		view.Kind = "enum"
	}
	return view
}

// stamp writes an instant; "" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// parse reads the value of an input: text, a list of texts for a set; null is
// absent. Numbers and truth values may come as text, since a number of JSON in a
// browser is not exact.
func parse(in *spec.Input, raw json.RawMessage) (interp.Value, error) {
	if string(raw) == "null" {
		return interp.Absent, nil
	}
	if in.Type.Kind == spec.KindSet {
		var members []string
		if err := json.Unmarshal(raw, &members); err != nil {
			return interp.Absent, fmt.Errorf("input %s: expected a list of strings", in.Name)
		}
		return interp.Set(members...), nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		switch in.Type.Kind {
		case spec.KindInt, spec.KindCounter, spec.KindSequence, spec.KindBool:
			text = string(raw)
		default:
			return interp.Absent, fmt.Errorf("input %s: expected a string", in.Name)
		}
	}
	switch in.Type.Kind {
	case spec.KindInt, spec.KindCounter, spec.KindSequence:
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return interp.Absent, fmt.Errorf("input %s: %q is not a whole number", in.Name, text)
		}
		return interp.Int(n), nil
	case spec.KindBool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return interp.Absent, fmt.Errorf("input %s: %q is neither true nor false", in.Name, text)
		}
		return interp.Bool(b), nil
	case spec.KindTime:
		t, err := parseTime(text)
		if err != nil {
			return interp.Absent, fmt.Errorf("input %s: %w", in.Name, err)
		}
		return interp.Time(t), nil
	case spec.KindDuration:
		n, err := spec.ParseSpan(strings.TrimSpace(text))
		if err != nil {
			return interp.Absent, fmt.Errorf("input %s: %w", in.Name, err)
		}
		return interp.Span(n), nil
	case spec.KindJSON:
		return interp.JSON(text), nil
	case spec.KindEnum:
		return interp.Word(text), nil
	}
	return interp.String(text), nil
}

// parseTime reads an instant as the page writes it.
func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time; expected one like 2026-01-01T09:00:00Z", text)
	}
	return t.UTC(), nil
}
