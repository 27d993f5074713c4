package fsm

import "context"

// AuditProjectionIn is the audit of the projection with room for some groups only.
func (m *Machine[R]) AuditProjectionIn(ctx context.Context, room int, yield func(Finding) bool) error {
	return m.auditProjectionIn(ctx, room, yield)
}
