package fsm

import (
	"errors"
	"fmt"
	"strings"
)

// Code names one cause of a refusal, and is the sentinel for it: errors.Is(err,
// ErrStale) holds for every refusal whose Code is ErrStale. The list is closed: no two
// causes share a code, and every store maps to it.
//
// The text of a Code, as it stands in logs and in answers to other programs, is
// string(code); Error is a sentence for people.
type Code string

// The codes, one per cause.
const (
	ErrNotFound       Code = "not_found"
	ErrExists         Code = "exists"
	ErrWrongState     Code = "wrong_state"
	ErrTerminal       Code = "terminal"
	ErrStale          Code = "stale"
	ErrNothingToDo    Code = "nothing_to_do"
	ErrInvalidInput   Code = "invalid_input"
	ErrActorMissing   Code = "actor_missing"
	ErrReasonMissing  Code = "reason_missing"
	ErrRequestMissing Code = "request_missing"
	ErrRequestReused  Code = "request_reused"
	ErrSystemActor    Code = "system_actor"
	ErrTimeGiven      Code = "time_given"
	ErrGuard          Code = "guard"
	ErrNotUnique      Code = "not_unique"
	ErrInvariant      Code = "invariant"
	ErrOverflow       Code = "overflow"
	ErrEffect         Code = "effect"
	ErrQuarantined    Code = "quarantined"
	ErrPurged         Code = "purged"
	ErrSchemaMismatch Code = "schema_mismatch"
	ErrTooLarge       Code = "too_large"
	ErrDenied         Code = "denied"
	ErrPoisoned       Code = "poisoned"
	ErrFull           Code = "full"
	ErrBusy           Code = "busy"
	ErrAmbiguous      Code = "ambiguous"
)

// cause is what is known of a code.
type cause struct {
	text  string
	retry Retry
	http  int // status
	grpc  int // status
}

// causes has a line for each code.
var causes = map[Code]cause{
	ErrNotFound:       {"no such record", NoRetry, 404, 5},
	ErrExists:         {"the record exists already", NoRetry, 409, 6},
	ErrWrongState:     {"not possible in this state", ReadAgain, 409, 9},
	ErrTerminal:       {"the record is in a terminal state", NoRetry, 409, 9},
	ErrStale:          {"the record has moved on", ReadAgain, 409, 10},
	ErrNothingToDo:    {"no record fits", ReadAgain, 404, 5},
	ErrInvalidInput:   {"the input is invalid", NoRetry, 400, 3},
	ErrActorMissing:   {"the call names no actor", NoRetry, 401, 16},
	ErrReasonMissing:  {"the call gives no reason", NoRetry, 400, 3},
	ErrRequestMissing: {"the call has no request id", NoRetry, 400, 3},
	ErrRequestReused:  {"the request id belongs to another request", NoRetry, 422, 3},
	ErrSystemActor:    {"the actor system is the engine's own; name who calls", NoRetry, 403, 7},
	ErrTimeGiven:      {"the call names a time, which decides only where the machine was opened with WithCallerTime", NoRetry, 400, 3},
	ErrGuard:          {"a guard refuses", ReadAgain, 409, 9},
	ErrNotUnique:      {"another record holds this place", ReadAgain, 409, 6},
	ErrInvariant:      {"the record would break an invariant", NoRetry, 422, 9},
	ErrOverflow:       {"a field cannot hold its new value", NoRetry, 422, 11},
	ErrEffect:         {"the effect failed", SameCall, 502, 14},
	ErrQuarantined:    {"the record is quarantined", NoRetry, 500, 15},
	ErrPurged:         {"the record was purged; its id and its requests are not used again", NoRetry, 410, 5},
	ErrSchemaMismatch: {"the store's schema is not this machine's", NoRetry, 500, 13},
	ErrTooLarge:       {"the call is too large", NoRetry, 413, 8},
	ErrDenied:         {"the database refuses the statement; nothing was applied", NoRetry, 500, 13},
	ErrPoisoned:       {"the store stopped writing because its database failed", NoRetry, 503, 14},
	ErrFull:           {"the database has no room left; nothing was applied", SameCall, 507, 8},
	ErrBusy:           {"the store is busy; nothing was applied", SameCall, 503, 14},
	ErrAmbiguous:      {"the call may or may not have been applied", SameCall, 503, 14},
}

// Error says what the cause is.
func (c Code) Error() string {
	if cause, known := causes[c]; known {
		return cause.text
	}
	return string(c)
}

// Retry says what a caller does now.
func (c Code) Retry() Retry { return causes[c].retry }

// Status returns the status by which a service answers, of HTTP and of gRPC; 500 and
// 13 (internal) for a code that there is not.
func (c Code) Status() (http, grpc int) {
	if cause, known := causes[c]; known {
		return cause.http, cause.grpc
	}
	return 500, 13
}

// Retry says what a caller does about a refusal now.
type Retry uint8

const (
	// NoRetry: the same call will be refused again.
	NoRetry Retry = iota
	// ReadAgain: read the record and decide again.
	ReadAgain
	// SameCall: make the same call with the same request id again.
	SameCall
)

// Refusal is a call that was refused: nothing was written. It is the one type
// behind all sentinels; take it out of an error with errors.As. It belongs to who
// gets it and shares nothing that can be changed.
//
// Operation, State and Allowed are names of the specification. Message is empty where
// the text follows from the other fields.
type Refusal struct {
	Code      Code
	Machine   string
	Operation string
	ID        string // of the record, when there is one
	State     string // in which the record was; empty when there is none
	Allowed   string // with ErrWrongState and ErrTerminal: the states that would have been right, with commas between
	Guard     string // with ErrGuard: the guard, or the branch's error
	Values    string // with ErrGuard: what the guard looked at: "owner ben, actor ann"
	Name      string // the constraint (ErrNotUnique), the invariant (ErrInvariant), the field (ErrOverflow) or the input (ErrInvalidInput)
	Message   string // more about the cause; may be empty
	Rev       int64  // with ErrStale: the current revision
	Expected  int64  // with ErrStale: the revision that the call expected
	Cause     error  // the machine's own sentinel (ErrNotOwner of the generated package), or the error behind
}

// ErrorName returns the specification's name of the error: that of the machine's own
// one ("not_owner"), else the code.
func (r *Refusal) ErrorName() string {
	if own, ok := r.Cause.(interface{ ErrorName() string }); ok {
		return own.ErrorName()
	}
	return string(r.Code)
}

// InState returns the machine, and the name of the state in which the record was. The
// generated StateOf has it as a State.
func (r *Refusal) InState() (machine, state string) { return r.Machine, r.State }

// Status returns the status by which a service answers, of HTTP and of gRPC.
func (r *Refusal) Status() (http, grpc int) { return r.Code.Status() }

// Error names machine, record, operation, state, the cause and what would have
// been allowed.
func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString(r.Machine)
	if r.ID != "" {
		fmt.Fprintf(&b, " %q", r.ID)
	}
	if r.Operation != "" {
		b.WriteString(": " + r.Operation)
	}
	if r.State != "" {
		b.WriteString(" in state " + r.State)
	}
	b.WriteString(": ")
	switch r.Code {
	case ErrWrongState, ErrTerminal:
		b.WriteString(r.Code.Error())
		if r.Allowed != "" {
			b.WriteString("; possible in " + r.Allowed)
		}
	case ErrStale:
		fmt.Fprintf(&b, "the record is at revision %d, the call expected %d", r.Rev, r.Expected)
	case ErrGuard:
		fmt.Fprintf(&b, "guard %s refuses", r.Guard)
		if r.Message == "" && r.Cause != nil {
			b.WriteString(": " + r.Cause.Error())
		}
	case ErrNotUnique, ErrInvariant, ErrOverflow, ErrInvalidInput:
		b.WriteString(r.Code.Error())
		if r.Name != "" {
			b.WriteString(": " + r.Name)
		}
	default:
		b.WriteString(r.Code.Error())
	}
	if r.Message != "" {
		b.WriteString(": " + r.Message)
	}
	if r.Cause != nil && r.Code != ErrGuard && r.Message == "" {
		b.WriteString(": " + r.Cause.Error())
	}
	if r.Values != "" {
		b.WriteString(" (" + r.Values + ")")
	}
	return b.String()
}

// Is reports whether target is the sentinel of r's code or the machine's own
// sentinel.
func (r *Refusal) Is(target error) bool {
	return target == error(r.Code) || r.Cause != nil && target == r.Cause
}

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

// Retry says what to do now.
func (r *Refusal) Retry() Retry { return r.Code.Retry() }

// AmbiguousError says that a commit may or may not have happened: the answer
// was lost. The same call with the same request id finds out.
type AmbiguousError struct {
	Machine, ID, Operation, RequestID string
	Err                               error
}

// Error names the call and the error behind.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s %q: %s: %v; ask again with request id %q: %v",
		e.Machine, e.ID, e.Operation, ErrAmbiguous, e.RequestID, e.Err)
}

// Is reports whether target is ErrAmbiguous.
func (e *AmbiguousError) Is(target error) bool { return target == ErrAmbiguous }

// Status returns the status by which a service answers, of HTTP and of gRPC.
func (e *AmbiguousError) Status() (http, grpc int) { return ErrAmbiguous.Status() }

// Unwrap returns the store's error.
func (e *AmbiguousError) Unwrap() error { return e.Err }

// Retry returns SameCall.
func (e *AmbiguousError) Retry() Retry { return SameCall }

// EffectError says that an effect failed: an atomic one took the whole
// transaction with it, another one will be delivered again.
type EffectError struct {
	Machine, ID, Effect, Key string
	Rev                      int64
	Err                      error
}

// Error names the effect and the error behind.
func (e *EffectError) Error() string {
	return fmt.Sprintf("%s %q at revision %d: effect %s (key %q): %v", e.Machine, e.ID, e.Rev, e.Effect, e.Key, e.Err)
}

// Is reports whether target is ErrEffect.
func (e *EffectError) Is(target error) bool { return target == ErrEffect }

// Status returns the status by which a service answers, of HTTP and of gRPC: that of the
// refusal, where another machine has refused its step.
func (e *EffectError) Status() (http, grpc int) {
	if refused := (*Refusal)(nil); errors.As(e.Err, &refused) {
		return refused.Code.Status()
	}
	return ErrEffect.Status()
}

// Unwrap returns the effect's own error.
func (e *EffectError) Unwrap() error { return e.Err }
