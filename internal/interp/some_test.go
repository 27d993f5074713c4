package interp_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
)

// TestSome: one other record of the group in the states is enough, and a record in no group has none.
func TestSome(t *testing.T) {
	t.Parallel()
	s := tell(t, parse(t, `
fsm: 1
machine: owner
entity: Owner
otherwise: reject
fields: {account: optional string}
states: {active: {}, resting: {}, left: {terminal: true}}
state_groups: {here: [active, resting]}
guards:
  another: {some: {same: account, in: [here]}, error: last_owner}
  sponsor: {some: {same: {account: input.of}, in: [active]}, error: no_sponsor}
operations:
  found: {creates: active, set: {account: input or absent}}
  join: {creates: active, require: [another], set: {account: input or absent}}
  rest: {from: active, to: resting, require: [sponsor], input: {of: optional string}}
  leave: {from: here, to: left, require: [another]}
`))
	x, y := interp.String("x"), interp.String("y")
	found := func(id string, account interp.Value) { s.does(s.call("found", in{"account": account}, record(id))) }
	guard := func(op, id, want string, given in) {
		t.Helper()
		if refusal := s.refuses(s.call(op, given, record(id)), interp.CodeGuard); refusal.Guard != want {
			t.Errorf("%s of %s is refused by %s, want %s", op, id, refusal.Guard, want)
		}
	}
	found("a", x)
	guard("leave", "a", "another", nil) // the record itself does not count
	found("b", y)
	guard("leave", "a", "another", nil)
	guard("join", "c", "another", in{"account": interp.Absent}) // what is set tells the group
	guard("join", "c", "another", in{"account": interp.String("z")})
	s.does(s.call("join", in{"account": x}, record("c")))
	guard("rest", "a", "sponsor", in{"of": interp.Absent})
	guard("rest", "b", "sponsor", in{"of": y})
	s.does(s.call("rest", in{"of": x}, record("b"))) // whose account is another one
	s.does(s.call("rest", in{"of": x}, record("c")))
	guard("rest", "a", "sponsor", in{"of": x})
	s.does(s.call("leave", nil, record("a"))) // c rests
	guard("leave", "c", "another", nil)
	found("d", interp.Absent)
	found("e", interp.Absent)
	guard("leave", "d", "another", nil) // in no group
}
