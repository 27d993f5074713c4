package fsmcases

import (
	"fmt"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
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

// NoWord is an input of an enum that none of its words has: they hold no control character.
const NoWord = "no\tword"

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

// String names what the call carries.
func (c Call) String() string {
	text := fmt.Sprintf("actor %q at %s", c.Actor, c.At.Format(time.RFC3339Nano))
	for _, name := range sortedKeys(c.Inputs) {
		text += fmt.Sprintf(", %s %v", name, show(c.Inputs[name]))
	}
	for _, name := range sortedKeys(c.Peers) {
		text += fmt.Sprintf(", others for %s %d", name, c.Peers[name])
	}
	return text
}

// input is an input as a row holds it; zero where the call does not send it.
func input[T any](c Call, name string, kind driver.Kind) T {
	v := c.Inputs[name]
	if r, ok := v.(raw); ok {
		v = r.value(kind)
	}
	is, _ := v.(T)
	return is
}

// Text returns a string input.
func (c Call) Text(name string) string { return input[string](c, name, driver.KindString) }

// Int returns an int input.
func (c Call) Int(name string) int64 { return input[int64](c, name, driver.KindInt) }

// Bool returns a bool input.
func (c Call) Bool(name string) bool { return input[bool](c, name, driver.KindBool) }

// Time returns a time input, as a caller's clock gives it.
func (c Call) Time(name string) time.Time {
	return AsSent(input[time.Time](c, name, driver.KindTime))
}

// Duration returns a length, as a caller has it: finer than what records keep.
func (c Call) Duration(name string) time.Duration {
	return time.Duration(input[int64](c, name, driver.KindInt))*time.Microsecond + dust
}

// JSON returns a json input.
func (c Call) JSON(name string) fsm.JSON {
	if s := input[string](c, name, driver.KindJSON); s != "" {
		return fsm.MustJSON(s)
	}
	return fsm.JSON{} // sent, but no text
}

// Set returns a set input.
func (c Call) Set(name string) fsm.Set {
	var members []string
	if s := input[string](c, name, driver.KindJSON); s != "" {
		raw(s).into(&members)
	}
	return fsm.NewSet(members...)
}
