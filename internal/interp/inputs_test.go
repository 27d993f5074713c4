package interp_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
)

const optionalInputs = `fsm: 1
machine: order
entity: Order
requests: {request_id: none, expected_rev: none}
otherwise: reject
fields:
  size: {type: int 1.., default: 4}
  note: optional string
  names: set
states: {open: {}, shut: {terminal: true}}
operations:
  make: {creates: open, set: {size: input or default}}
  pick:
    from: open
    next: {order: [size]}
    input: {who: optional string}
    set: {size: input or same}
    choose:
      - {when: size > 10, reject: too_large}
      - {when: size < 3, to: same}
      - {to: shut, set: {note: input.who or reject}, add: {names: input.who}}
`

// An input that is left out is the default, or what the record has, or no call of its branch.
func TestInputsLeftOut(t *testing.T) {
	t.Parallel()
	m := parse(t, optionalInputs)
	world := func(sizes ...int64) interp.World {
		var w interp.World
		for i, n := range sizes {
			c := interp.Call{Op: m.Operation("make"), ID: string(rune('a' + i)), Actor: "w1", At: t0, Inputs: in{}}
			if n != 0 {
				c.Inputs["size"] = interp.Int(n)
			}
			_, next, refusal := interp.Step(m, w, c)
			if refusal != nil {
				t.Fatal(refusal)
			}
			w = next
		}
		return w
	}
	size := m.Field("size")
	if w := world(0, 7); w.Records["a"].Value(m, size) != interp.Int(4) || w.Records["b"].Value(m, size) != interp.Int(7) {
		t.Errorf("made %v and %v", w.Records["a"], w.Records["b"])
	}
	for _, tt := range []struct {
		name  string
		world interp.World
		call  interp.Call
		takes string
		code  string
	}{
		{"the branch needs it", world(5), interp.Call{ID: "a"}, "", interp.CodeInvalidInput},
		{"the branch gets it", world(5), interp.Call{ID: "a", Inputs: in{"who": interp.String("x")}}, "a", ""},
		{"another branch does not ask for it", world(2), interp.Call{ID: "a"}, "a", ""},
		{"a branch that rejects comes first", world(11), interp.Call{ID: "a"}, "", interp.CodeGuard},
		{"no pick goes past it", world(5, 20), interp.Call{}, "", interp.CodeInvalidInput},
		{"a pick stops before it", world(2, 5), interp.Call{}, "a", ""},
		{"a pick passes over what a branch rejects", world(20, 30), interp.Call{Inputs: in{"who": interp.String("x")}}, "",
			interp.CodeNothingToDo},
	} {
		c := tt.call
		c.Op, c.Actor, c.At = m.Operation("pick"), "w1", t0
		out, next, refusal := interp.Step(m, tt.world, c)
		code := ""
		if refusal != nil {
			code = refusal.Code
		}
		if code != tt.code || out.Record.ID != tt.takes {
			t.Errorf("%s: took %q with %v, want %q and %q", tt.name, out.Record.ID, refusal, tt.takes, tt.code)
		}
		if code == interp.CodeInvalidInput && (refusal.Name != "who" || len(next.Log) != len(tt.world.Log)) {
			t.Errorf("%s: %v, and %d events are written", tt.name, refusal, len(next.Log)-len(tt.world.Log))
		}
	}
}
