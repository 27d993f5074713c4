package fsm

import (
	"errors"
	"fmt"
	"strings"
)

// Code names one cause of a refusal. The list is closed: no two causes share a
// code, and every store maps to it.
type Code string

// The codes, one per cause.
const (
	CodeNotFound       Code = "not_found"
	CodeExists         Code = "exists"
	CodeWrongState     Code = "wrong_state"
	CodeTerminal       Code = "terminal"
	CodeStale          Code = "stale"
	CodeNothingToDo    Code = "nothing_to_do"
	CodeInvalidInput   Code = "invalid_input"
	CodeActorMissing   Code = "actor_missing"
	CodeReasonMissing  Code = "reason_missing"
	CodeRequestMissing Code = "request_missing"
	CodeRequestReused  Code = "request_reused"
	CodeSystemActor    Code = "system_actor"
	CodeTimeGiven      Code = "time_given"
	CodeGuard          Code = "guard"
	CodeNotUnique      Code = "not_unique"
	CodeInvariant      Code = "invariant"
	CodeOverflow       Code = "overflow"
	CodeEffect         Code = "effect"
	CodeQuarantined    Code = "quarantined"
	CodePurged         Code = "purged"
	CodeSchemaMismatch Code = "schema_mismatch"
	CodeTooLarge       Code = "too_large"
	CodeDenied         Code = "denied"
	CodePoisoned       Code = "poisoned"
	CodeBusy           Code = "busy"
	CodeAmbiguous      Code = "ambiguous"
)

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

// The sentinels, one per code: errors.Is(err, ErrStale) holds for every
// refusal with CodeStale.
var (
	ErrNotFound       = errors.New("no such record")
	ErrExists         = errors.New("the record exists already")
	ErrWrongState     = errors.New("not possible in this state")
	ErrTerminal       = errors.New("the record is in a terminal state")
	ErrStale          = errors.New("the record has moved on")
	ErrNothingToDo    = errors.New("no record fits")
	ErrInvalidInput   = errors.New("the input cannot be taken")
	ErrActorMissing   = errors.New("the call names no actor")
	ErrReasonMissing  = errors.New("the call gives no reason")
	ErrRequestMissing = errors.New("the call has no request id")
	ErrRequestReused  = errors.New("the request id belongs to another request")
	ErrSystemActor    = errors.New("the actor system is the engine's own; name who calls")
	ErrTimeGiven      = errors.New("the call names a time, which decides only where the machine was opened with WithCallerTime")
	ErrGuard          = errors.New("a guard refuses")
	ErrNotUnique      = errors.New("another record holds this place")
	ErrInvariant      = errors.New("the record would break an invariant")
	ErrOverflow       = errors.New("a field cannot hold its new value")
	ErrEffect         = errors.New("the effect failed")
	ErrQuarantined    = errors.New("the record is quarantined")
	ErrPurged         = errors.New("the record was purged; its id and its requests are not used again")
	ErrSchemaMismatch = errors.New("the store's schema is not this machine's")
	ErrTooLarge       = errors.New("the call is too large")
	ErrDenied         = errors.New("the database refuses the statement; nothing was applied")
	ErrPoisoned       = errors.New("the store takes no more writes, since its database failed")
	ErrBusy           = errors.New("the store is busy; nothing was applied")
	ErrAmbiguous      = errors.New("it is not known whether the call was applied")
)

// Refusal is a call that was refused: nothing was written. It is the one type
// behind all sentinels; take it out of an error with errors.As.
//
// It is small because a refusal is an everyday answer where callers race: what
// does not depend on the record stands in its Ground, which is never nil and
// whose fields are read as the Refusal's own. Refuse and RefuseOn make one.
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
	Allowed   []string // with CodeWrongState and CodeTerminal: the states that would have been right
	Guard     string   // with CodeGuard: the guard, or the branch's error
	Name      string   // the constraint (CodeNotUnique), the invariant (CodeInvariant), the field (CodeOverflow) or the input (CodeInvalidInput)
	Message   string   // more about the cause; may be empty
	Rev       int64    // with CodeStale: the current revision
	Expected  int64    // with CodeStale: the revision that the call expected
	Cause     error    // the machine's own sentinel (ErrNotOwner of the generated package), or the error behind
}

// Refuse makes a refusal on a ground of its own, which the caller may still fill
// in. The id and the state are those of the record, empty when there is none.
func Refuse(id, state string, g Ground) *Refusal {
	r := &struct { // one allocation for all of it
		refusal Refusal
		ground  Ground
		state   string
	}{refusal: Refusal{ID: id}, ground: g, state: state}
	r.refusal.Ground, r.refusal.state = &r.ground, &r.state
	return &r.refusal
}

// RefuseOn makes a refusal on a ground that many share. The state points to its
// name, which is not changed any more, or is nil when there is none.
func RefuseOn(g *Ground, id string, state *string) *Refusal {
	return &Refusal{Ground: g, ID: id, state: state}
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
	case CodeWrongState, CodeTerminal:
		b.WriteString(sentinels[r.Code].Error())
		if len(r.Allowed) > 0 {
			b.WriteString("; possible in " + strings.Join(r.Allowed, ", "))
		}
	case CodeStale:
		fmt.Fprintf(&b, "the record is at revision %d, the call expected %d", r.Rev, r.Expected)
	case CodeGuard:
		fmt.Fprintf(&b, "guard %s refuses", r.Guard)
		if r.Message == "" && r.Cause != nil {
			b.WriteString(": " + r.Cause.Error())
		}
	case CodeNotUnique, CodeInvariant, CodeOverflow, CodeInvalidInput:
		b.WriteString(sentinels[r.Code].Error())
		if r.Name != "" {
			b.WriteString(": " + r.Name)
		}
	default:
		if s := sentinels[r.Code]; s != nil {
			b.WriteString(s.Error())
		} else {
			b.WriteString(string(r.Code))
		}
	}
	if r.Message != "" {
		b.WriteString(": " + r.Message)
	}
	if r.Cause != nil && r.Code != CodeGuard && r.Message == "" {
		b.WriteString(": " + r.Cause.Error())
	}
	return b.String()
}

// Is reports whether target is the sentinel of r's code or the machine's own
// sentinel.
func (r *Refusal) Is(target error) bool {
	return target == sentinels[r.Code] || r.Cause != nil && target == r.Cause
}

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

// Retry says what to do now.
func (r *Refusal) Retry() Retry {
	switch r.Code {
	case CodeBusy, CodeAmbiguous, CodeEffect:
		return SameCall
	case CodeStale, CodeWrongState, CodeNotUnique, CodeNothingToDo, CodeGuard:
		return ReadAgain
	}
	return GiveUp
}

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

var sentinels = map[Code]error{
	CodeNotFound:       ErrNotFound,
	CodeExists:         ErrExists,
	CodeWrongState:     ErrWrongState,
	CodeTerminal:       ErrTerminal,
	CodeStale:          ErrStale,
	CodeNothingToDo:    ErrNothingToDo,
	CodeInvalidInput:   ErrInvalidInput,
	CodeActorMissing:   ErrActorMissing,
	CodeReasonMissing:  ErrReasonMissing,
	CodeRequestMissing: ErrRequestMissing,
	CodeRequestReused:  ErrRequestReused,
	CodeSystemActor:    ErrSystemActor,
	CodeTimeGiven:      ErrTimeGiven,
	CodeGuard:          ErrGuard,
	CodeNotUnique:      ErrNotUnique,
	CodeInvariant:      ErrInvariant,
	CodeOverflow:       ErrOverflow,
	CodeEffect:         ErrEffect,
	CodeQuarantined:    ErrQuarantined,
	CodePurged:         ErrPurged,
	CodeSchemaMismatch: ErrSchemaMismatch,
	CodeTooLarge:       ErrTooLarge,
	CodeDenied:         ErrDenied,
	CodePoisoned:       ErrPoisoned,
	CodeBusy:           ErrBusy,
	CodeAmbiguous:      ErrAmbiguous,
}
