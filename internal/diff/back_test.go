package diff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/spec"
)

// The first key that takes from a counter or a set is told, so that no program of the version
// before works beside it; another one of the kind is a change of its operation only.
func TestFieldThatGoesBack(t *testing.T) {
	t.Parallel()
	machine := func(effects string) *spec.Machine {
		m, found := spec.Parse("ticket.yaml", []byte("fsm: 1\nmachine: ticket\nentity: Ticket\notherwise: reject\nfields: {n: counter, seen: set}\n"+
			"states: {open: {}, done: {terminal: true}}\noperations:\n  submit: {creates: open}\n  again: {from: open, to: same, "+effects+"}\n  end: {from: open, to: done}\n"))
		if m == nil || found.HasErrors() {
			t.Fatal(found)
		}
		return m
	}
	const (
		grow   = "increment: [n], add: {seen: actor}"
		number = "reset: [n], add: {seen: actor}"
		set    = "increment: [n], reset: [seen]"
		lose   = "increment: [n], remove: {seen: actor}"
		fewer  = "decrement: [n], add: {seen: actor}"
	)
	for _, c := range []struct {
		old, next string
		want      []string
	}{
		{grow, number, []string{"counter n can fall"}},
		{grow, set, []string{"set seen can lose members"}},
		{grow, "reset: [n, seen]", []string{"counter n can fall", "set seen can lose members"}},
		{number, "reset: [n, seen]", []string{"set seen can lose members"}},
		{number, grow, nil},
		{grow, fewer, []string{"counter n can fall"}},
		{number, fewer, nil},
		{grow, lose, []string{"set seen can lose members"}},
	} {
		r := diff.Machines(machine(c.old), machine(c.next))
		var got []string
		for _, change := range r.Changes {
			if change.Code == "FSM705" {
				got = append(got, change.Message)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s becomes %s: told %q, want %q", c.old, c.next, got, c.want)
		}
		if why := strings.Join(r.Beside(), "\n"); len(c.want) > 0 && !strings.Contains(why, c.want[0]) {
			t.Errorf("%s becomes %s: programs may work beside each other: %s", c.old, c.next, why)
		}
	}
}
