package diff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/diff"
)

// TestEach: what a call on each takes is what its callers rely on.
func TestEach(t *testing.T) {
	t.Parallel()
	machine := func(each string) string {
		return strings.Replace(`fsm: 1
machine: door
entity: Door
otherwise: reject
fields: {house: string}
states: {open: {}, shut: {}}
operations:
  build: {creates: open, set: {house: input}}
  open: {from: shut, to: open}
  shut: {from: open, to: shut, input: {of: string}EACH}
`, "EACH", each, 1)
	}
	const (
		none  = ""
		all   = ", each: {most: 5}"
		more  = ", each: {most: 6}"
		house = ", each: {where: house == input.of, most: 5}"
	)
	for _, c := range []struct {
		old, next string
		want      []string
	}{
		{none, all, nil},
		{all, all, nil},
		{all, none, []string{"FSM703 shut no longer takes each record"}},
		{all, more, []string{"FSM705 shut takes 6 records at most, it was 5"}},
		{more, all, []string{"FSM704 shut takes 5 records at most, it was 6"}},
		{all, house, []string{"FSM704 shut takes each record only where `house == input.of`"}},
		{house, all, []string{"FSM705 shut takes each record also where `house == input.of` does not hold"}},
	} {
		var got []string
		for _, x := range diff.Machines(parse("a.yaml", machine(c.old)), parse("b.yaml", machine(c.next))).Changes {
			if x.Code != "" {
				got = append(got, x.Code+" "+x.Message)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q becomes %q: %q, want %q", c.old, c.next, got, c.want)
		}
	}
}
