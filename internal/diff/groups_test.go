package diff_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/spec"
)

// A program may ask in Go whether a state is in a group, so it hears of a state that came
// into the group or went. A new state is told by itself.
func TestGroupChanges(t *testing.T) {
	t.Parallel()
	machine := func(states, group string) string {
		return "fsm: 1\nmachine: ticket\nentity: Ticket\notherwise: reject\nstates: {open: {}, begun: {}, " + states + "done: {terminal: true}}\n" +
			"state_groups: {live: " + group + "}\noperations:\n  submit: {creates: open}\n  begin: {from: open, to: begun}\n  end: {from: [open, begun], to: done}\n"
	}
	const told = "FSM710 group live holds "
	for name, c := range map[string]struct{ old, next, want string }{
		"a state goes":                  {machine("", "[open, begun]"), machine("", "[open]"), told + "open, it held open, begun"},
		"a state comes":                 {machine("", "[open]"), machine("", "{except: [done]}"), told + "open, begun, it held open"},
		"the same in another form":      {machine("", "[begun, open]"), machine("", "{except: [done]}"), ""},
		"a new state is not left out":   {machine("", "{except: [done]}"), machine("idle: {final: true}, ", "{except: [done]}"), ""},
		"beside a new state, one is in": {machine("", "[open]"), machine("idle: {final: true}, ", "{except: [done]}"), told + "open, begun, idle, it held open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, _ := spec.Parse("old.yaml", []byte(c.old))
			next, found := spec.Parse("new.yaml", []byte(c.next))
			if old == nil || next == nil {
				t.Fatal(found)
			}
			got := ""
			for _, change := range diff.Machines(old, next).Changes {
				if strings.Contains(change.Message, "group") {
					got = change.Code + " " + change.Message
				}
			}
			if got != c.want {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}
