package gen

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// The lock of a group is enough where nobody who counts brings a record into the group without it.
func TestGroupsLocked(t *testing.T) {
	t.Parallel()
	const base = `fsm: 1
machine: job
entity: Job
otherwise: reject
fields: {queue: string, tenant: string}
states: {waiting: {}, running: {}, done: {final: true}}
guards:
  room: {fewer: {than: 3, same: tenant, in: [running]}, error: full}
  calm: {fewer: {than: 5, same: queue, in: [running]}, error: busy}
  mine: {fewer: {than: 3, same: {tenant: actor}, in: [running]}, error: full}
operations:
  submit: {creates: waiting, set: {queue: input, tenant: input}}
  finish: {from: running, to: done}
`
	for name, x := range map[string]struct {
		operations string
		want       bool
	}{
		"nobody counts":            {"claim: {from: waiting, to: running}", false},
		"one rule":                 {"claim: {from: waiting, to: running, require: [room]}", true},
		"two rules of one":         {"claim: {from: waiting, to: running, require: [room, calm]}", true},
		"who does not count":       {"claim: {from: waiting, to: running, require: [room]}\n  rush: {from: waiting, to: running, set: {tenant: input}}", true},
		"two rules, a lock each":   {"claim: {from: waiting, to: running, require: [room]}\n  take: {from: waiting, to: running, require: [calm]}", false},
		"one counts the other's":   {"claim: {from: waiting, to: running, require: [room]}\n  stop: {from: running, to: waiting, require: [calm]}", false},
		"the group changes":        {"claim: {from: waiting, to: running, require: [room], set: {tenant: input}}", false},
		"to another group":         {"claim: {from: waiting, to: running, require: [room]}\n  hand: {from: running, to: same, require: [room], set: {tenant: input}}", false},
		"the call tells the group": {"claim: {from: waiting, to: running, require: [mine]}", false},
		"a step that follows":      {"look: {from: waiting, to: same, require: [room], then: claim}\n  claim: {from: waiting, to: running}", false},
		"who counts follows":       {"rush: {from: waiting, to: running, then: stop}\n  stop: {from: running, to: waiting, require: [room]}", false},
		"an effect in it":          {"claim: {from: waiting, to: running, require: [room], effect: {name: tell, atomic: true}}", false},
		"an effect behind it":      {"claim: {from: waiting, to: running, require: [room], effect: {name: tell, atomic: false}}", true},
		"an effect of another":     {"claim: {from: waiting, to: running, require: [room]}\n  rush: {from: waiting, to: running, effect: {name: tell, atomic: true}}", true},
		"a creation":               {"start: {creates: running, require: [room], set: {queue: input, tenant: input}}", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, found := spec.Parse("job.yaml", []byte(base+"  "+strings.TrimSpace(x.operations)+"\n"))
			if m == nil {
				t.Fatal(found)
			}
			if got := groupsLocked(m); got != x.want {
				t.Errorf("the locks of groups are enough: %t, want %t", got, x.want)
			}
		})
	}
}
