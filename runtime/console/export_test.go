package console

import (
	"context"
	"time"
)

// ForgetRuns removes the runs now that are not to be kept.
func (h *Handler) ForgetRuns(ctx context.Context) error { return h.forgetRuns(ctx) }

// ForgetRun removes one run.
func (h *Handler) ForgetRun(ctx context.Context, id string, before time.Time) (bool, error) {
	return h.forgetRun(ctx, id, before, time.Hour)
}

// Counts has the records of each state counted, at an end of the log.
func (m *Machine) Counts(ctx context.Context, mark string) error {
	_, err := m.counts(ctx, mark)
	return err
}

// Paths lists the methods and addresses of a console.
func Paths() (list []string) {
	for _, r := range routes {
		list = append(list, r.method+" "+r.path)
	}
	return list
}
