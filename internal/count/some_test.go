package count_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/count"
)

// A guard with `some` keeps a group from becoming empty where it looks at the whole group, and may go either way elsewhere.
func TestSome(t *testing.T) {
	t.Parallel()
	for asks, empties := range map[string]bool{
		"same: account, in: [active]":            false,
		"same: {account: account}, in: [active]": false,
		"same: account, in: [active, resting]":   true, // the other one may rest
		"same: owner, in: [active]":              true,
		"same: [account, owner], in: [active]":   false, // a part of the group, so it is there
		"same: {account: actor}, in: [active]":   true,
	} {
		m := parse(t, strings.Replace(`
fsm: 1
machine: owner
entity: Owner
otherwise: reject
fields: {account: string, owner: string}
states: {active: {}, resting: {}, left: {terminal: true}}
guards: {another: {some: {ASKS}, error: last_owner}}
operations:
  join: {creates: active, set: {account: input, owner: input}}
  fall_asleep: {creates: resting, set: {account: input, owner: input}}
  leave: {from: active, to: left, require: [another]}
projection:
  entity: Account
  key: account
  rules: [{state: owned, any: [active]}, {state: orphaned}]
`, "ASKS", asks, 1))
		_, moves := count.Explore(m, m.Projection.Key, true).Moves[count.Move{From: "owned", To: "orphaned"}]
		if moves != empties {
			t.Errorf("%s: an account loses its last owner: %t, want %t", asks, moves, empties)
		}
	}
}
