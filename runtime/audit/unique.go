package audit

import (
	"context"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// auditUniques yields the groups of records that share a place, and returns the
// rules that some do.
func (m *machine[R]) auditUniques(ctx context.Context, yield func(inspect.Finding) bool) (shared []*driver.UniqueRule, err error) {
	broken := false
	err = inspect.Doubles(ctx, m.Engine, func(u *driver.UniqueRule, f inspect.Finding) bool {
		if !slices.Contains(shared, u) {
			shared = append(shared, u)
		}
		broken = !yield(f)
		return !broken
	})
	if broken {
		return nil, errBrokenOff
	}
	return shared, err
}
