package purekit

import (
	"fmt"
	"strings"
	"time"
)

// Code is the cause of a refusal; errors.Is finds it in the *Refusal that a call returns.
type Code string

// The codes, one for each cause.
const (
	ErrWrongState    Code = "wrong_state"
	ErrTerminal      Code = "terminal"
	ErrInvalidInput  Code = "invalid_input"
	ErrActorMissing  Code = "actor_missing"
	ErrReasonMissing Code = "reason_missing"
	ErrGuard         Code = "guard"
	ErrInvariant     Code = "invariant"
	ErrOverflow      Code = "overflow"
)

// Error says what the cause is.
func (c Code) Error() string {
	switch c {
	case ErrWrongState:
		return "not possible in this state"
	case ErrTerminal:
		return "the record is in a terminal state"
	case ErrInvalidInput:
		return "the input is invalid"
	case ErrActorMissing:
		return "the call names no actor"
	case ErrReasonMissing:
		return "the call gives no reason"
	case ErrGuard:
		return "a guard refuses"
	case ErrInvariant:
		return "the record would break an invariant"
	case ErrOverflow:
		return "a field cannot hold its new value"
	}
	return string(c)
}

// Refusal is a call that was refused: the record is as it was. Operation, State and
// Allowed are names of the specification.
type Refusal struct {
	Code      Code
	Machine   string
	Operation string
	State     string // in which the record was; empty for an operation that makes one
	Allowed   string // with ErrWrongState and ErrTerminal: the states that would have been right, with commas between
	Guard     string // with ErrGuard: the guard, or the branch's error
	Values    string // with ErrGuard: what the guard looked at: "owner ben, actor ann"
	Name      string // the input (ErrInvalidInput), the rule (ErrInvariant) or the field (ErrOverflow)
	Message   string // more about the cause; may be empty
	Cause     error  // with ErrGuard: the error of the guard or the branch
}

// Error tells all of it in one line.
func (r *Refusal) Error() string {
	text := r.Machine + ": " + r.Operation
	if r.State != "" {
		text += " in state " + r.State
	}
	switch {
	case r.Guard != "":
		text += ": guard " + r.Guard + " refuses"
	case r.Allowed != "":
		text += ": " + r.Code.Error() + "; possible in " + r.Allowed
	case r.Name != "":
		text += ": " + r.Code.Error() + ": " + r.Name
	default:
		text += ": " + r.Code.Error()
	}
	switch {
	case r.Message != "":
		text += ": " + r.Message
	case r.Cause != nil:
		text += ": " + r.Cause.Error()
	}
	if r.Values != "" {
		text += " (" + r.Values + ")"
	}
	return text
}

// ErrorName returns the name of the error in the specification: that of a guard's or
// a branch's own ("not_owner"), else the code.
func (r *Refusal) ErrorName() string {
	if own, ok := r.Cause.(interface{ ErrorName() string }); ok {
		return own.ErrorName()
	}
	return string(r.Code)
}

// Is reports whether target is the code.
func (r *Refusal) Is(target error) bool { return target == error(r.Code) }

// Unwrap returns the machine's own error.
func (r *Refusal) Unwrap() error { return r.Cause }

// namedError is an error of the machine's own, under the name that the specification gives it.
type namedError struct{ name, text string }

// newError returns such an error. Each is equal to itself alone.
func newError(name, text string) error { return &namedError{name, text} }

// Error returns the text.
func (e *namedError) Error() string { return e.text }

// ErrorName returns the name.
func (e *namedError) ErrorName() string { return e.name }

// valuesOf tells what a guard looked at, by name and value in turns: "owner ben, actor ann".
func valuesOf(pairs ...any) string {
	const most = 80 // characters of a value
	var list []string
	for i := 1; i < len(pairs); i += 2 {
		text := fmt.Sprint(pairs[i])
		if at, ok := pairs[i].(time.Time); ok {
			text = at.Format(time.RFC3339Nano)
		}
		if runes := []rune(text); len(runes) > most {
			text = string(runes[:most]) + "…"
		}
		list = append(list, fmt.Sprint(pairs[i-1], " ", text))
	}
	return strings.Join(list, ", ")
}

// Violation is a rule that a record breaks.
type Violation struct {
	Rule    string // as the specification writes it: "owner is present"
	Must    bool   // false: a SHOULD, which refuses nothing
	Message string // more about it; may be empty
}
