package fsm

import "context"

// AuditProjectionIn is the audit of the projection with room for some groups only.
func (m *Machine[R]) AuditProjectionIn(ctx context.Context, room int, yield func(Finding) bool) error {
	return m.auditProjectionIn(ctx, room, yield)
}

// Aloft counts what is kept of picks that are on their way.
func (m *Machine[R]) Aloft() int {
	m.aloft.mu.Lock()
	defer m.aloft.mu.Unlock()
	return len(m.aloft.records) + len(m.aloft.requests) + len(m.aloft.looks)
}
