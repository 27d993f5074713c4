package diff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/diff"
)

// TestSome: more states and fewer fields are easier to find somebody in.
func TestSome(t *testing.T) {
	t.Parallel()
	machine := func(guard string) string {
		return strings.Replace(`fsm: 1
machine: owner
entity: Owner
otherwise: reject
fields: {account: string, house: string}
states: {active: {}, resting: {}, left: {terminal: true}}
guards: {another: {GUARD, error: last_owner}}
operations:
  join: {creates: active, set: {account: input, house: input}}
  rest: {from: active, to: resting}
  leave: {from: active, to: left, require: [another]}
`, "GUARD", guard, 1)
	}
	const (
		some  = "some: {same: account, in: [active]}"
		wider = "some: {same: account, in: [active, resting]}"
		finer = "some: {same: [account, house], in: [active]}"
		of    = "guard another of leave "

		another = "FSM704 " + of + "asks something else"
		weaker  = "FSM705 " + of + "does not ask what it asked"
	)
	for _, c := range []struct {
		old, next string
		want      []string
	}{
		{some, "some: {same: {account: account}, in: [active]}", nil},
		{some, wider, []string{"FSM705 " + of + "counts records in resting too"}},
		{wider, some, []string{"FSM704 " + of + "does not count records in resting"}},
		{some, finer, []string{"FSM704 " + of + "looks only at records with the same house too"}},
		{finer, some, []string{"FSM705 " + of + "looks at records with another house too"}},
		{some, "none: {same: account, in: [active]}", []string{another, weaker}},
		{"fewer: {than: 1, same: account, in: [active]}", some, []string{another, weaker}},
		{some, "some: {same: {account: house}, in: [active]}", []string{
			"FSM704 " + of + "counts those whose account is house", "FSM705 " + of + "no longer counts those whose account is account",
		}},
	} {
		var got []string
		for _, x := range diff.Machines(parse("a.yaml", machine(c.old)), parse("b.yaml", machine(c.next))).Changes {
			if x.Code != "" {
				got = append(got, x.Code+" "+x.Message)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s becomes %s: %q, want %q", c.old, c.next, got, c.want)
		}
	}
}
