package gen

import (
	"fmt"

	"github.com/fsmgen/fsmgen/spec"
)

// broken is a rule of a state and the condition that a record breaks it.
type broken struct {
	rule string
	when cond
}

// lengthCheck is a call that looks at the length of a text.
func lengthCheck(n *names, text string, least, most *int64) string {
	bounds := []int64{1, 0}
	for i, bound := range []*int64{least, most} {
		if bound != nil {
			bounds[i] = *bound
		}
	}
	return fmt.Sprintf("%s(%s, %d, %d)", n.of("fsmimpl.CheckLength"), text, bounds[0], bounds[1])
}

// outside is the condition that an int field is outside its bounds, or the length of a
// text. A value that comes out of an input was checked with the input.
func (s scope) outside(f *spec.Field) cond {
	if s.changes != nil {
		if c := s.changes.of(f); c != nil && c.checked {
			return never
		}
	}
	o := s.field(f)
	if o.here == absent || f.Type.Min == nil && f.Type.Max == nil || f.Type.Kind == spec.KindCounter {
		return never
	}
	if f.Type.Kind == spec.KindString {
		check := lengthCheck(s.n, o.val, f.Type.Min, f.Type.Max)
		return and(there(o), atom(check+" != nil", check+" == nil"))
	}
	var parts []cond
	for _, bound := range []struct {
		op    spec.FactOp
		limit *int64
	}{{spec.Lt, f.Type.Min}, {spec.Gt, f.Type.Max}} {
		if bound.limit != nil {
			parts = append(parts, compare(bound.op, o, s.n.number(f.Type.Kind, *bound.limit)))
		}
	}
	return and(there(o), or(parts...))
}
