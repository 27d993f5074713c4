// Package fsm stands for the runtime.
package fsm

// Call says who makes a call.
type Call struct{ RequestID, Actor string }

// Event is what happened.
type Event struct{ Operation string }

// Target is a record as a caller has seen it.
type Target interface{ Ref() string }
