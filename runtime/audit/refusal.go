package audit

import (
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// refusal returns a refusal. The state is a stored word, empty for none.
func refusal[R any](m *inspect.Engine[R], code fsm.Code, id, state string) *fsm.Refusal {
	return &fsm.Refusal{Code: code, Machine: m.Schema.Machine, ID: id, State: m.Schema.StateName(state)}
}

// ofRecord reports whether an error is about one record and leaves the others alone: it
// is quarantined, or the database keeps it.
func ofRecord(err error) bool {
	r, ok := err.(*fsm.Refusal) //nolint:errorlint // what a refusal wraps is not asked
	return ok && (r.Code == fsm.ErrQuarantined || r.Code == fsm.ErrInvariant || r.Code == fsm.ErrDenied)
}
