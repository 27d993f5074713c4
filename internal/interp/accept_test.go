package interp_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
)

const inputs = `
fsm: 1
machine: form
entity: Form
otherwise: reject
fields:
  text: string
  note: optional string
  number: int 1..5
  flag: bool
  due: time
  later: optional time
  body: json
  tags: set
  level: low|high
  start: {type: counter, changed_by: [fill, sign]}
  code: string 2..3
states:
  filled: {}
  signed: {terminal: true}
operations:
  fill:
    creates: filled
    set: {text: input, note: input or absent, number: input, flag: input, due: input, later: input or absent, body: input, tags: input, level: input, start: input, code: input}
  sign:
    by: operator
    from: filled
    to: signed
    increment: [start]
  own:
    from: filled
    to: same
    set: {text: actor}
  shift:
    from: filled
    to: same
    input: {by: int}
    set: {number: input.by}
  pass:
    from: filled
    to: same
`

// complete are inputs of fill without a fault.
func complete() in {
	return in{
		"text": interp.String("x"), "number": interp.Int(3), "flag": interp.Bool(true), "due": interp.Time(t0),
		"body": interp.JSON(`{"a": [1]}`), "tags": interp.Set("a"), "level": interp.Word("low"), "start": interp.Int(0),
		"code": interp.String("ab"),
	}
}

func TestAcceptInputs(t *testing.T) {
	t.Parallel()
	m := parse(t, inputs)
	tests := []struct {
		name  string
		input string
		value interp.Value
		ok    bool
	}{
		{"required string left out", "text", interp.Absent, false},
		{"required string empty", "text", interp.String(""), false},
		{"string that is not UTF-8", "text", interp.String("\xff"), false},
		{"string with NUL", "text", interp.String("a\x00"), false},
		{"long string", "text", interp.String(strings.Repeat("x", 300)), true},
		{"value of another type", "text", interp.Int(1), false},
		{"optional string left out", "note", interp.Absent, true},
		{"optional string present and empty", "note", interp.String(""), false},
		{"optional string that is not UTF-8", "note", interp.String("\xff"), false},
		{"int at its least", "number", interp.Int(1), true},
		{"int at its most", "number", interp.Int(5), true},
		{"int below its bounds", "number", interp.Int(0), false},
		{"int above its bounds", "number", interp.Int(6), false},
		{"int left out is 0, below its bounds", "number", interp.Absent, false},
		{"text of the least length, in characters", "code", interp.String("éé"), true},
		{"text of the greatest length, in characters", "code", interp.String("éüä"), true},
		{"text that is too short", "code", interp.String("é"), false},
		{"text that is too long", "code", interp.String("abcd"), false},
		{"bool left out is false", "flag", interp.Absent, true},
		{"required time left out", "due", interp.Absent, false},
		{"required time zero", "due", interp.Time(time.Time{}), false},
		{"time in year 9999", "due", interp.Time(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)), true},
		{"time in year 10000", "due", interp.Time(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)), false},
		{"time in year 0", "due", interp.Time(time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC)), false},
		{"optional time left out", "later", interp.Absent, true},
		{"required json left out", "body", interp.Absent, false},
		{"json that is none", "body", interp.JSON("{"), false},
		{"empty json", "body", interp.JSON(""), false},
		{"json null is no value", "body", interp.JSON("null"), false},
		{"set left out is empty", "tags", interp.Absent, true},
		{"set with a member that holds NUL", "tags", interp.Set("a\x00"), false},
		{"enum left out", "level", interp.Absent, false},
		{"enum with a word of its own", "level", interp.Word("high"), true},
		{"enum with another word", "level", interp.Word("middle"), false},
		{"enum with no word", "level", interp.Word(""), false},
		{"counter set to 0", "start", interp.Absent, true},
		{"counter set below 0", "start", interp.Int(-1), false},
		{"an input that the operation does not have", "colour", interp.String("red"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			values := complete()
			values[tt.input] = tt.value
			before := maps.Clone(values)
			c, refusal := interp.Accept(m, interp.Call{Op: m.Operation("fill"), At: t0, Inputs: values})
			switch {
			case tt.ok && refusal != nil:
				t.Fatalf("refused: %v", refusal)
			case tt.ok:
				if want := tt.value; want != interp.Absent && c.Inputs[tt.input] != want {
					t.Errorf("accepted as %v, want %v", c.Inputs[tt.input], want)
				}
			case refusal == nil:
				t.Fatal("accepted")
			case refusal.Code != interp.CodeInvalidInput || refusal.Name != tt.input:
				t.Errorf("refused with %v, want invalid_input (%s)", refusal, tt.input)
			}
			if !maps.Equal(before, values) {
				t.Error("the caller's inputs were changed")
			}
		})
	}
}

// What a request struct holds without being told stands for what is left out.
func TestAcceptFillsInWhatTheStructWouldHold(t *testing.T) {
	t.Parallel()
	m := parse(t, inputs)
	values := complete()
	delete(values, "flag")
	delete(values, "tags")
	delete(values, "start")
	c, refusal := interp.Accept(m, interp.Call{Op: m.Operation("fill"), At: t0, Inputs: values})
	if refusal != nil {
		t.Fatal(refusal)
	}
	for name, want := range (in{"flag": interp.Bool(false), "tags": interp.Set(), "start": interp.Int(0)}) {
		if c.Inputs[name] != want {
			t.Errorf("%s is %v, want %v", name, c.Inputs[name], want)
		}
	}
	if _, there := c.Inputs["note"]; there {
		t.Error("an optional input that was not sent is there")
	}
}

func TestAcceptCall(t *testing.T) {
	t.Parallel()
	m := parse(t, inputs)
	tests := []struct {
		name string
		op   string
		call interp.Call
		code string // empty: accepted
		what string
	}{
		{"nobody, and nobody is asked for", "pass", interp.Call{}, "", ""},
		{"nobody where the actor is written", "own", interp.Call{}, interp.CodeActorMissing, ""},
		{"somebody where the actor is written", "own", interp.Call{Actor: "w1"}, "", ""},
		{"operator without a name", "sign", interp.Call{Reason: "late"}, interp.CodeActorMissing, ""},
		{"operator without a reason", "sign", interp.Call{Actor: "op"}, interp.CodeReasonMissing, ""},
		{"operator without either: the actor first", "sign", interp.Call{}, interp.CodeActorMissing, ""},
		{"operator with both", "sign", interp.Call{Actor: "op", Reason: "late"}, "", ""},
		{"actor of 255 bytes", "pass", interp.Call{Actor: strings.Repeat("x", 255)}, "", ""},
		{"actor of 256 bytes", "pass", interp.Call{Actor: strings.Repeat("x", 256)}, interp.CodeInvalidInput, "actor"},
		{"actor that is not UTF-8", "pass", interp.Call{Actor: "\xff"}, interp.CodeInvalidInput, "actor"},
		{"reason with NUL", "pass", interp.Call{Reason: "\x00"}, interp.CodeInvalidInput, "reason"},
		{"label that is not UTF-8", "pass", interp.Call{Labels: map[string]string{"a": "\xff"}}, interp.CodeInvalidInput, "labels"},
		{"time after year 9999", "pass", interp.Call{At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, interp.CodeInvalidInput, "at"},
		{"input within the bounds of the field it is set into", "shift", interp.Call{Inputs: in{"by": interp.Int(5)}}, "", ""},
		{"input above the bounds of the field it is set into", "shift", interp.Call{Inputs: in{"by": interp.Int(6)}}, interp.CodeInvalidInput, "by"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.call
			c.Op = m.Operation(tt.op)
			if c.At.IsZero() {
				c.At = t0
			}
			_, refusal := interp.Accept(m, c)
			switch {
			case refusal == nil && tt.code != "":
				t.Errorf("accepted, want %s", tt.code)
			case refusal != nil && (refusal.Code != tt.code || refusal.Name != tt.what):
				t.Errorf("refused with %v, want %q (%s)", refusal, tt.code, tt.what)
			}
		})
	}
}

func TestAcceptCutsTimes(t *testing.T) {
	t.Parallel()
	m := parse(t, inputs)
	odd := t0.Add(1234567 * time.Nanosecond).In(time.FixedZone("somewhere", 3600))
	c, refusal := interp.Accept(m, interp.Call{Op: m.Operation("pass"), At: odd})
	if want := t0.Add(1234 * time.Microsecond); refusal != nil || c.At != want {
		t.Errorf("at is %v, want %v (%v)", c.At, want, refusal)
	}
}
