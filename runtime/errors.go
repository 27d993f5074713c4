package fsm

import (
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
	ErrBusy           Code = "busy"
	ErrAmbiguous      Code = "ambiguous"
)

// cause is what is known of a code.
type cause struct {
	text   string
	retry  Retry
	status int // of HTTP
}

// causes has a line for each code.
var causes = map[Code]cause{
	ErrNotFound:       {"no such record", GiveUp, 404},
	ErrExists:         {"the record exists already", GiveUp, 409},
	ErrWrongState:     {"not possible in this state", ReadAgain, 409},
	ErrTerminal:       {"the record is in a terminal state", GiveUp, 409},
	ErrStale:          {"the record has moved on", ReadAgain, 409},
	ErrNothingToDo:    {"no record fits", ReadAgain, 404},
	ErrInvalidInput:   {"the input cannot be taken", GiveUp, 400},
	ErrActorMissing:   {"the call names no actor", GiveUp, 401},
	ErrReasonMissing:  {"the call gives no reason", GiveUp, 400},
	ErrRequestMissing: {"the call has no request id", GiveUp, 400},
	ErrRequestReused:  {"the request id belongs to another request", GiveUp, 422},
	ErrSystemActor:    {"the actor system is the engine's own; name who calls", GiveUp, 403},
	ErrTimeGiven:      {"the call names a time, which decides only where the machine was opened with WithCallerTime", GiveUp, 400},
	ErrGuard:          {"a guard refuses", ReadAgain, 409},
	ErrNotUnique:      {"another record holds this place", ReadAgain, 409},
	ErrInvariant:      {"the record would break an invariant", GiveUp, 422},
	ErrOverflow:       {"a field cannot hold its new value", GiveUp, 422},
	ErrEffect:         {"the effect failed", SameCall, 502},
	ErrQuarantined:    {"the record is quarantined", GiveUp, 500},
	ErrPurged:         {"the record was purged; its id and its requests are not used again", GiveUp, 410},
	ErrSchemaMismatch: {"the store's schema is not this machine's", GiveUp, 500},
	ErrTooLarge:       {"the call is too large", GiveUp, 413},
	ErrDenied:         {"the database refuses the statement; nothing was applied", GiveUp, 500},
	ErrPoisoned:       {"the store takes no more writes, since its database failed", GiveUp, 503},
	ErrBusy:           {"the store is busy; nothing was applied", SameCall, 503},
	ErrAmbiguous:      {"it is not known whether the call was applied", SameCall, 503},
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

// HTTPStatus returns the status by which a service answers; 500 for a code that there
// is not.
func (c Code) HTTPStatus() int {
	if cause, known := causes[c]; known {
		return cause.status
	}
	return 500
}

// Retry says what a caller does about a refusal now.
type Retry uint8

const (
	// GiveUp: the same call will be refused again.
	GiveUp Retry = iota
	// ReadAgain: read the record and decide anew.
	ReadAgain
	// SameCall: make the same call with the same request id again.
	SameCall
)

// Refusal is a call that was refused: nothing was written. It is the one type
// behind all sentinels; take it out of an error with errors.As.
//
// It is small because a refusal is an everyday answer where callers race: what
// does not depend on the record stands in its Ground, which is never nil and
// whose fields are read as the Refusal's own, and which makes it.
type Refusal struct {
	*Ground
	ID    string  // of the record, when there is one
	state *string // the record's state; nil when there is none
}

// Ground is why a call is refused. Generated code has one for each guard and for
// the states of each operation, and all refusals that they make share it: it is
// read and never changed.
//
// Operation, State and Allowed are the names of the specification. A pure method
// leaves Message empty where the text follows from the other fields.
type Ground struct {
	Code      Code
	Machine   string
	Operation string
	Allowed   []string // with ErrWrongState and ErrTerminal: the states that would have been right
	Guard     string   // with ErrGuard: the guard, or the branch's error
	Name      string   // the constraint (ErrNotUnique), the invariant (ErrInvariant), the field (ErrOverflow) or the input (ErrInvalidInput)
	Message   string   // more about the cause; may be empty
	Rev       int64    // with ErrStale: the current revision
	Expected  int64    // with ErrStale: the revision that the call expected
	Cause     error    // the machine's own sentinel (ErrNotOwner of the generated package), or the error behind
}

// Refuse makes a refusal on a ground that many share. The state points to its
// name, which is not changed any more, or is nil when there is none.
func (g *Ground) Refuse(id string, state *string) *Refusal {
	return &Refusal{Ground: g, ID: id, state: state}
}

// RefuseOnce makes a refusal on a copy of the ground, which the caller may still
// fill in. The id and the state are those of the record, empty when there is none.
func (g *Ground) RefuseOnce(id, state string) *Refusal {
	r := &struct { // one allocation for all of it
		refusal Refusal
		ground  Ground
		state   string
	}{refusal: Refusal{ID: id}, ground: *g, state: state}
	r.refusal.Ground, r.refusal.state = &r.ground, &r.state
	return &r.refusal
}

// State returns the record's state, empty for a creation.
func (r *Refusal) State() string {
	if r.state == nil {
		return ""
	}
	return *r.state
}

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
	if state := r.State(); state != "" {
		b.WriteString(" in state " + state)
	}
	b.WriteString(": ")
	switch r.Code {
	case ErrWrongState, ErrTerminal:
		b.WriteString(r.Code.Error())
		if len(r.Allowed) > 0 {
			b.WriteString("; possible in " + strings.Join(r.Allowed, ", "))
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

// Unwrap returns the effect's own error.
func (e *EffectError) Unwrap() error { return e.Err }
