package interp

import "github.com/fsmgen/fsmgen/spec"

// Effects returns the record with effects on it, for an accepted call: nothing
// is decided, and no rule is looked at. The groups that a creation belongs to
// are those of the record with the values being set.
func Effects(m *spec.Machine, e *spec.Effects, r Record, c Call) Record {
	return apply(m, e, r, r, c)
}
