package console

import "context"

// ForgetRuns removes the runs now that are not to be kept.
func (h *Handler) ForgetRuns(ctx context.Context) error { return h.forgetRuns(ctx) }

// Paths lists the methods and addresses of a console.
func Paths() (list []string) {
	for _, r := range routes {
		list = append(list, r.method+" "+r.path)
	}
	return list
}
