package oracle

import (
	"fmt"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Call is one abstract call of an operation. Inputs holds values as fsm.Row
// does; an input that is not in it is not sent.
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
func (c Call) Text(name string) string { s, _ := c.Inputs[name].(string); return s }

// Int returns an int input.
func (c Call) Int(name string) int64 { n, _ := c.Inputs[name].(int64); return n }

// Bool returns a bool input.
func (c Call) Bool(name string) bool { b, _ := c.Inputs[name].(bool); return b }

// Time returns a time input, as a caller's clock gives it.
func (c Call) Time(name string) time.Time { t, _ := c.Inputs[name].(time.Time); return AsSent(t) }

// JSON returns a json input.
func (c Call) JSON(name string) fsm.JSON {
	s, ok := c.Inputs[name].(string)
	if !ok || s == "" { // sent, but no text
		return fsm.JSON{}
	}
	return fsm.MustJSON(s)
}

// Set returns a set input.
func (c Call) Set(name string) fsm.Set { return fsm.NewSet(Members(c.Inputs[name])...) }

// String names what the call carries.
func (c Call) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "actor %q at %s", c.Actor, c.At.Format(time.RFC3339Nano))
	for _, name := range SortedKeys(c.Inputs) {
		fmt.Fprintf(&b, ", %s %s", name, Show(c.Inputs[name]))
	}
	for _, name := range SortedKeys(c.Peers) {
		fmt.Fprintf(&b, ", others for %s %d", name, c.Peers[name])
	}
	return b.String()
}
