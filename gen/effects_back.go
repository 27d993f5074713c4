package gen

import "github.com/fsmgen/fsmgen/spec"

// reset gives a counter 0 again, or empties a set.
func (s scope) reset(f *spec.Field) *change {
	code := s.n.zero(f.Type.Kind)
	x := &change{field: f, operand: plain(f.Type.Kind, nil, code), assign: code}
	if isNumber(f.Type.Kind) {
		x.num = new(int64)
	}
	return x
}

// decrement takes one off what the field has: the proof says that there is one.
func (s scope) decrement(f *spec.Field) *change {
	return &change{field: f, lowered: true, operand: plain(spec.KindInt, nil, s.stored(f).val+" - 1")}
}

// remove takes a member out of a set, or all of an input that is a set.
func (s scope) remove(a spec.Assign, looked bool) *change {
	gone := s.value(a.Value, a.Field)
	if gone.kind != spec.KindSet {
		gone.val = s.n.of("fsm.NewSet") + "(" + gone.val + ")"
	}
	return s.become(a.Field, s.field(a.Field).val+".Without("+gone.val+")", looked)
}
