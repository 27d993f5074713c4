package fsmtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Call is one call of an operation as a test has it. Inputs holds values as fsm.Row does,
// or as a case writes them; an input that is not in it is not sent.
type Call struct {
	ID        string // of the record that a creation makes
	RequestID string
	Actor     string
	Reason    string
	At        time.Time
	Labels    map[string]string
	Inputs    map[string]any
	Peers     map[string]int64 // by guard: how many others there are; by sequence field: the next number
}

// zone and dust make instants look as callers have them: in some zone, and
// finer than what records keep.
var zone = time.FixedZone("elsewhere", -5*3600)

const dust = 321 * time.Nanosecond

// AsSent is an instant as a caller has it: in some zone, and finer than what records keep.
func AsSent(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(dust).In(zone)
}

// NoWord is an input of an enum that none of its words has.
const NoWord = "no word"

// Now returns the instant of the call, as a caller's clock gives it.
func (c Call) Now() time.Time { return AsSent(c.At) }

// Given is who makes the call, and why, as the package is told.
func (c Call) Given() fsm.Call {
	return fsm.Call{RequestID: c.RequestID, Actor: c.Actor, Reason: c.Reason, At: c.Now(), Labels: c.Labels}
}

// GivenBySystem is Given for an operation of the system.
func (c Call) GivenBySystem() fsm.Call {
	return fsm.Call{Reason: c.Reason, At: c.Now(), Labels: c.Labels}
}

// Text returns a string input.
func (c Call) Text(name string) string { s, _ := textOf(c.Inputs[name]); return s }

// Int returns an int input.
func (c Call) Int(name string) int64 {
	if r, ok := c.Inputs[name].(raw); ok {
		var n int64
		r.into(&n)
		return n
	}
	n, _ := c.Inputs[name].(int64)
	return n
}

// Bool returns a bool input.
func (c Call) Bool(name string) bool {
	if r, ok := c.Inputs[name].(raw); ok {
		return r == "true"
	}
	b, _ := c.Inputs[name].(bool)
	return b
}

// Time returns a time input, as a caller's clock gives it.
func (c Call) Time(name string) time.Time {
	if r, ok := c.Inputs[name].(raw); ok {
		return AsSent(r.time())
	}
	t, _ := c.Inputs[name].(time.Time)
	return AsSent(t)
}

// JSON returns a json input.
func (c Call) JSON(name string) fsm.JSON {
	var s string
	if r, ok := c.Inputs[name].(raw); ok {
		s = string(r)
	} else {
		s, _ = c.Inputs[name].(string)
	}
	if s == "" { // sent, but no text
		return fsm.JSON{}
	}
	return fsm.MustJSON(s)
}

// Set returns a set input.
func (c Call) Set(name string) fsm.Set {
	var members []string
	switch s := c.Inputs[name].(type) {
	case raw:
		s.into(&members)
	case string:
		raw(s).into(&members)
	}
	return fsm.NewSet(members...)
}

// textOf returns a text; false where there is none.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case raw:
		var s string
		v.into(&s)
		return strings.TrimPrefix(s, "@"), true // "@@" is an @
	case string:
		return v, true
	}
	return "", false
}

// raw is a value of a case: JSON, with times as they stand to the time of cases.
type raw string

// into reads a value that the generator wrote.
func (r raw) into(v any) {
	if err := json.Unmarshal([]byte(r), v); err != nil {
		panic(fmt.Sprintf("fsmtest: %s in a case: %v", r, err))
	}
}

// time reads "@now", "@now+1h" and "@now-1µs"; "@zero" is the zero time.
func (r raw) time() time.Time {
	var s string
	r.into(&s)
	if s == "@zero" {
		return time.Time{}
	}
	from, ok := strings.CutPrefix(s, "@now")
	if !ok {
		at, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(s, "@"))
		if err != nil {
			panic(fmt.Sprintf("fsmtest: the time %s in a case: %v", r, err))
		}
		return at
	}
	if from == "" {
		return casesNow
	}
	d, err := time.ParseDuration(from)
	if err != nil {
		panic(fmt.Sprintf("fsmtest: the time %s in a case: %v", r, err))
	}
	return casesNow.Add(d)
}

// String names what the call carries.
func (c Call) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "actor %q at %s", c.Actor, c.At.Format(time.RFC3339Nano))
	for _, name := range sortedKeys(c.Inputs) {
		fmt.Fprintf(&b, ", %s %v", name, show(c.Inputs[name]))
	}
	for _, name := range sortedKeys(c.Peers) {
		fmt.Fprintf(&b, ", others for %s %d", name, c.Peers[name])
	}
	return b.String()
}
