package purekit

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// byName makes a call by the name of its operation: the answer is that of the method, or tells
// what is missing.
func (p *testedPackage[R]) byName(t *testing.T, c *testCase, was, want R, answer string) {
	t.Helper()
	name := cmp.Or(p.Stored[c.Do], c.Do)
	try := func(problem, want string, after R, operation string, call testCall, inputs map[string]any) {
		t.Helper()
		r, of := was, *c
		if operation != name {
			of.Do = operation
		}
		event, err := p.Do(&r, operation, call, inputs)
		if got := p.told(event, err, &of); got != want || !p.Equal(r, after) {
			t.Errorf("%+v by its name%s:\n\t%s, then %+v\nwant\t%s, then %+v%s", *c, problem, got, r, want, after, p.see("operations", c.Do))
		}
	}
	call := testCallOf(c)
	sent := func() map[string]any {
		if p.Sent == nil {
			return nil
		}
		return p.Sent(c.Do, call)
	}
	if !call.At.IsZero() {
		try("", answer, want, name, call, sent())
	}
	try(" and another one", "refused invalid_input operation", was, "no such operation", call, nil)
	late := call
	late.At = time.Time{}
	if slices.Contains(strings.Split(p.Timed, ", "), c.Do) {
		try(" without a time", "refused invalid_input now", was, name, late, sent())
	}
	for guard := range call.Peers {
		few := call
		few.Peers = maps.Clone(call.Peers)
		delete(few.Peers, guard)
		try(" without the count of "+guard, "refused invalid_input "+guard, was, name, few, sent())
	}
	if p.Sent == nil {
		return
	}
	inputs := sent()
	inputs["no such input"] = 1
	if !call.At.IsZero() {
		try(" with one input more", "refused invalid_input no such input", was, name, call, inputs)
	}
	for input := range sent() {
		inputs = sent()
		inputs[input] = struct{}{}
		try(" with "+input+" of another type", "refused invalid_input "+input, was, name, call, inputs)
	}
}

// testSend puts an input beside others, a word as its text where it has one.
func testSend[T any](c testCall, inputs map[string]any, name string, optional bool) {
	if _, sent := c.Inputs[name]; optional && !sent {
		return
	}
	var v any = testInput[T](c, name)
	if word, isWord := v.(interface {
		Valid() bool
		MarshalText() ([]byte, error)
	}); isWord && word.Valid() {
		if text, err := word.MarshalText(); err == nil && len(text)%2 == 0 {
			v = string(text)
		}
	}
	inputs[name] = v
}

// testInput returns an input: the zero value where the call does not send it.
func testInput[T any](c testCall, name string) T {
	var v T
	if text, sent := c.Inputs[name]; sent && json.Unmarshal(text, &v) != nil {
		var none T
		return none // no word of an enum
	}
	if at, ok := any(&v).(*time.Time); ok {
		*at = testSent(*at)
	}
	if length, ok := any(&v).(*time.Duration); ok { // microseconds, and a part of one
		const dust = 321 * time.Nanosecond
		*length = *length*1000 + dust
	}
	return v
}
