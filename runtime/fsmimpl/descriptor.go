package fsmimpl

import (
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Descriptor describes a generated record type to the engine. The generated
// package holds one; it is never changed.
type Descriptor[R any] struct {
	Schema     *driver.Schema
	Encode     func(*R) driver.Row
	Decode     func(driver.Row) (R, error)   // unknown words and wrong types are errors; invariants are not looked at
	Check      func(*R) []Violation          // MUST and SHOULD
	Moved      func(before, after *R) string // the first rule over a step that is broken; nil when there are none
	Operations []*Operation[R]               // in the order of the specification
	Projection *Projection                   // nil when there is none
	Limits     map[string]int64              // by guard with `fewer`: its number
}

// Operation is the static part of one operation.
type Operation[R any] struct {
	Name      string
	Stored    string
	Event     string // stored word
	By        Actor
	Creates   bool
	From      []string // stored words of the states with a transition
	Moves     []Move   // every move that it can make; an audit judges the log by them
	Feeds     []Feed   // which inputs flow into which fields; Redact erases them with the field
	Recorded  []string // stored words of the states in which a call may be recorded only
	NeedActor bool     // the operation reads `actor`, or is run by an operator
	Triggers  []Trigger
	Asks      []*EffectInfo[R] // the effects of each step, in order
	Then      string           // specification name of the operation that follows in the transaction; empty when none
	Branches  []Branch[R]      // by the number in Step, from 1
	Places    []*Place[R]      // what its steps may enter or leave, with effects
	Dedupe    string           // name of the unique rule that finds an existing record; empty when none
	Order     []driver.Order   // of `next`; nil when there is none
	Picks     bool             // has `next`
	Each      int64            // with `each`: how many records one call may take; else 0
	// Parking says what a pick may park for; nil when its index passes over all that it
	// cannot take. Own decides what a record says of that itself; nil: nothing.
	Parking *driver.Parking
	Own     func(r *R) bool
	// System makes the call that the engine itself issues: for triggers and
	// `then`. Nil for operations that have neither and are not `by: system`.
	System func(r *R, now time.Time) (Call[R], error)
	// GaveUp makes the call that follows an effect that gave up, with its last error. Nil
	// for operations that do not take it: System makes theirs.
	GaveUp func(problem string) Call[R]

	Doc   string     // what it does, for people: the specification's words
	Rules []Rule     // its guards, for people
	Takes []Argument // its inputs, in order
	// Make makes the call out of its inputs, as a row of Takes. The Reading keeps what is
	// wrong. Nil where the system alone runs the operation, and where Needs says what for a
	// call needs the program of the machine.
	Make  func(in *Reading, id string, c Caller) Call[R]
	Needs string
}

// Move is one way of an operation, in stored words. From is empty for a creation.
type Move struct{ From, To string }

// Feed says that a field may hold what an input brings: Input by name, Column stored.
type Feed struct{ Input, Column string }

// Trigger says when an operation runs without a caller.
type Trigger struct {
	Startup bool
	After   string        // stored field name, "created_at" or "updated_at"; empty with Startup
	By      string        // stored name of the length that is added to the field's value; empty: none
	Plus    time.Duration // added to the field's value; without By
}

// Caller is who makes a call, and why: fsm.Call.
type Caller struct {
	// RequestID makes a retry safe. Callers may not begin it with "sys:". A
	// system operation, and a trigger, leave it empty and get "sys:<stored operation>:<rev>";
	// a call without one gets "sys:call:<uuid>", by which the engine finds out
	// what became of a commit whose answer was lost.
	RequestID string
	Actor     string
	Reason    string
	At        time.Time // zero: the clock's time when the call is decided; another one needs WithCallerTime
	Labels    map[string]string
}

// Call is one request: what a generated durable method hands to the engine.
type Call[R any] struct {
	Operation *Operation[R]
	Caller
	ID     string // of a creation; empty: the engine makes one
	Inputs []driver.Input
	// Decide runs the pure method on r. For a creation r is zero and is filled.
	// peers holds the answers to Peers, in its order.
	Decide func(r *R, id string, peers []int64, now time.Time) (Step, error)
	// Peers lists what Decide must know of other records; nil when nothing.
	// Queries with Sequence set ask for the next number.
	Peers func(r *R, id string) []driver.PeerQuery
	// Dedupe holds the values of the dedupe rule's columns; nil when the
	// operation has none. With an absent value among them no record is found.
	Dedupe []any
	// Where narrows what `next` may pick, or `each` take; Fits decides in full.
	Where []driver.Cond
	Fits  func(r *R, now time.Time) bool
}
