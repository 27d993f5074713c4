package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const owners = `fsm: 1
machine: owner
entity: Owner
otherwise: reject
fields: {account: optional string, note: optional string}
states: {active: {}, suspended: {}, left: {terminal: true}}
guards: {another: {some: {same: account, in: [active]}, error: last_owner}}
operations:
  join: {creates: active, set: {account: input or absent}}
  leave: {from: active, to: left, require: [another]}
  suspend: {from: active, to: suspended, set: {note: input or absent}}
`

// TestSome: a step that asks for another record is judged by those of the log, unless some are no more, or not known.
func TestSome(t *testing.T) {
	t.Parallel()
	m := parse(t, "owner.yaml", owners)
	line := func(id string, rev int, operation, move, more string) string {
		return fmt.Sprintf(`{"id":%q,"rev":%d,"operation":%q,%s,"at":"2026-01-01T00:00:00Z"%s}`, id, rev, operation, move, more)
	}
	join := func(id, account string) string {
		return line(id, 1, "join", `"to":"active"`, fmt.Sprintf(`,"inputs":{"account":%q},"changes":{"account":%[1]q}`, account))
	}
	leave := func(id string) string {
		return line(id, 2, "leave", `"from":"active","to":"left"`, `,"inputs":{},"changes":{}`)
	}
	suspend := func(id, more string) string {
		return line(id, 2, "suspend", `"from":"active","to":"suspended"`, `,"inputs":{},"changes":{}`+more)
	}
	const alone = " decision: the machine refuses the call: the guard another does not hold"
	purge := line("z", 9, "__purge", `"from":"left","to":"left"`, `,"n":1`)
	homeless := strings.ReplaceAll(join("a", "x"), `"account":"x"`, "")
	for name, c := range map[string]struct {
		lines []string
		want  []string
	}{
		"beside another":       {[]string{join("a", "x"), join("b", "x"), leave("a")}, nil},
		"both":                 {[]string{join("a", "x"), join("b", "x"), leave("a"), leave("b")}, []string{"4 b" + alone}},
		"of another account":   {[]string{join("a", "x"), join("b", "y"), leave("a")}, []string{"3 a" + alone}},
		"of no account":        {[]string{homeless, join("b", "y"), leave("a")}, []string{"3 a" + alone}},
		"behind one suspended": {[]string{join("a", "x"), join("b", "x"), suspend("b", ""), leave("a")}, []string{"4 a" + alone}},
		"one was purged":       {[]string{join("a", "x"), leave("a"), purge}, nil},
		"one is not known":     {[]string{join("c", "y"), suspend("c", `,"fingerprint":"redacted"`), join("a", "x"), leave("a")}, nil},
	} {
		if got := check(t, m, c.lines...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
