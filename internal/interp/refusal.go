package interp

import (
	"fmt"
	"strings"
)

// The codes of the refusals that one call can meet: the runtime's words. No two
// causes share one.
const (
	CodeNotFound       = "not_found"
	CodeExists         = "exists"
	CodeWrongState     = "wrong_state"
	CodeTerminal       = "terminal"
	CodeStale          = "stale"
	CodeNothingToDo    = "nothing_to_do"
	CodeTooLarge       = "too_large"
	CodeInvalidInput   = "invalid_input"
	CodeActorMissing   = "actor_missing"
	CodeReasonMissing  = "reason_missing"
	CodeRequestMissing = "request_missing"
	CodeRequestReused  = "request_reused"
	CodeSystemActor    = "system_actor"
	CodeGuard          = "guard"
	CodeNotUnique      = "not_unique"
	CodeInvariant      = "invariant"
	CodeOverflow       = "overflow"
)

// Refusal says why a call was refused. A refused call changes nothing.
type Refusal struct {
	Code      string // one of the codes above
	Operation string
	ID        string   // of the record that refused a call on many; else empty: the call names it
	State     string   // of the stored record; empty for a creation
	Allowed   []string // with CodeWrongState and CodeTerminal: the states that would have been right
	Guard     string   // with CodeGuard: the guard, or the error of the branch that rejects
	Name      string   // the constraint (CodeNotUnique), the fact (CodeInvariant), the field (CodeOverflow) or the input (CodeInvalidInput)
	Sentinel  string   // the name under `error` or `reject`: not_owner is the caller's ErrNotOwner
	Message   string   // more about the cause; may be empty
	Rev       int64    // with CodeStale: the revision the record has
	Expected  int64    // with CodeStale: the revision the call expected
}

// Error returns the refusal as one line.
func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString(r.Operation + ": " + r.Code)
	if about := r.Guard + r.Name; about != "" {
		fmt.Fprintf(&b, " (%s)", about)
	}
	if r.State != "" {
		b.WriteString(" in state " + r.State)
	}
	if r.Code == CodeStale {
		fmt.Fprintf(&b, ": the record is at revision %d, the call expected %d", r.Rev, r.Expected)
	}
	if r.Message != "" {
		b.WriteString(": " + r.Message)
	}
	return b.String()
}
