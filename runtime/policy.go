package fsm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// WithLimit replaces the number of a guard that counts other records,
// `fewer: {than: n}`; a limit that a field or an input tells stays. The guard is named as in the specification. A rule of the projection
// that counts the same records up to the same number (`at_least: n`) takes the new one
// with it. It must be at least 1, and all programs of a machine give the same one: the
// view of the projection in SQL, and tools beside the program, know the number of the
// specification alone.
func WithLimit(guard string, than int64) Option {
	return func(o *options) { o.limits[guard] = than }
}

// WithEligible lets picks of an operation (`next`) take only the records for which may
// returns true, such as those that have waited for long enough: a policy that is not the
// machine's. It is asked at each pick for each record that stands in front, so it must be
// quick and read nothing else. Who names a record is not asked. R is the record of the
// package.
func WithEligible[R any](operation string, may func(r R, now time.Time) bool) Option {
	return func(o *options) { o.eligible[operation] = may }
}

// policies looks at the limits and at who is eligible, and takes them over.
func (m *Machine[R]) policies() error {
	for name, may := range m.options.eligible {
		if op := m.byName[name]; op == nil || !op.Picks {
			return fmt.Errorf("WithEligible names %q, which is no operation with `next`", name)
		}
		if f, ok := may.(func(R, time.Time) bool); !ok || f == nil {
			return fmt.Errorf("WithEligible of %q needs a func(%T, time.Time) bool, not %T", name, *new(R), may)
		}
	}
	for name, than := range m.options.limits {
		if m.d.Limits[name] == 0 {
			return fmt.Errorf("WithLimit names %q, which is no guard with `fewer` and a number", name)
		}
		if than < 1 {
			return fmt.Errorf("WithLimit of %q needs at least 1, not %d", name, than)
		}
	}
	if m.d.Projection == nil || len(m.options.limits) == 0 {
		return nil
	}
	d, p := *m.d, *m.d.Projection
	p.Rules = slices.Clone(p.Rules)
	for i, r := range p.Rules {
		p.Rules[i].AtLeast = cmp.Or(m.options.limits[r.Limit], r.AtLeast)
	}
	d.Projection = &p
	m.d = &d
	return nil
}

// eligible returns what decides whether a pick takes a record: fits, where the operation
// has it, and what the program says.
func (m *Machine[R]) eligible(op *fsmimpl.Operation[R], fits func(*R, time.Time) bool) func(*R, time.Time) bool {
	may, ok := m.options.eligible[op.Name].(func(R, time.Time) bool)
	if !ok {
		return fits
	}
	return func(r *R, now time.Time) bool { return (fits == nil || fits(r, now)) && may(*r, now) }
}

// counted returns how many others the guard is told of. It knows the number of the
// specification alone, so a count below the limit is one below that, too.
func (m *Machine[R]) counted(guard string, n int64) int64 {
	limit, file := m.options.limits[guard], m.d.Limits[guard]
	switch {
	case limit == 0:
	case n < limit:
		return min(n, file-1)
	default:
		return max(n, file)
	}
	return n
}

// uncounted gives a refusal the number that was counted.
func (m *Machine[R]) uncounted(err error, guard string, n int64) {
	var refused *Refusal
	if m.options.limits[guard] > 0 && errors.As(err, &refused) && refused.Guard == guard {
		refused.Values = fsmimpl.Values("others", n)
	}
}

// parking returns what a pick of the operation may park for, with the limits of the program.
func (m *Machine[R]) parking(op *fsmimpl.Operation[R]) *driver.Parking {
	if op.Parking == nil || len(m.options.limits) == 0 {
		return op.Parking
	}
	p := *op.Parking
	p.Rules = slices.Clone(p.Rules)
	for i, r := range p.Rules {
		guard := r.Note[strings.LastIndexByte(r.Note, ':')+1:]
		p.Rules[i].Than = cmp.Or(m.options.limits[guard], r.Than)
	}
	return &p
}

// ProjectedState returns the state that the projection gives a group of records, as it is
// named in the specification.
func (m *Machine[R]) ProjectedState(group []R) string {
	n := map[string]int64{}
	for i := range group {
		n[m.d.Encode(&group[i]).State]++
	}
	return m.d.Projection.State(n)
}
