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

// Paths lists the methods and addresses of a console.
func Paths() (list []string) {
	for _, r := range routes {
		list = append(list, r.method+" "+r.path)
	}
	return list
}
