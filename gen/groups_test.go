package gen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// The lock of a group is enough where all that is counted in the transaction is closed, and nothing else is entered.
func TestGroupsLocked(t *testing.T) {
	t.Parallel()
	const base = `fsm: 1
machine: job
entity: Job
otherwise: reject
fields: {queue: string, tenant: string}
states: {waiting: {}, running: {}, paused: {}, done: {final: true}}
guards:
  room: {fewer: {than: 3, same: tenant, in: [running]}, error: full}
  calm: {fewer: {than: 5, same: queue, in: [running]}, error: busy}
  still: {fewer: {than: 2, same: tenant, in: [paused]}, error: noisy}
  at_once: {fewer: {than: 2, same: updated_at, in: [running]}, error: busy}
  mine: {fewer: {than: 3, same: {tenant: actor}, in: [running]}, error: full}
  some_run: {some: {same: tenant, in: [running]}, error: nobody}
  some_here: {some: {same: tenant, in: [running, paused]}, error: nobody}
  some_of: {some: {same: {tenant: actor}, in: [running]}, error: nobody}
operations:
  submit: {creates: waiting, set: {queue: input, tenant: input}}
  finish: {from: running, to: done}
`
	const (
		room  = "claim: {from: waiting, to: running, require: [room]}"
		both  = "claim: {from: waiting, to: running, require: [room, calm]}"
		some  = "claim: {from: waiting, to: running, require: [some_run]}"
		twice = "claim: {from: waiting, to: running, require: [room, still]}"
	)
	for name, x := range map[string]struct {
		operations []string
		locked     string // the operations that count under locks
	}{
		"one rule":                  {[]string{room}, "claim"},
		"two rules of one":          {[]string{both}, "claim"},
		"a way in without a count":  {[]string{room, "rush: {from: waiting, to: running}"}, ""},
		"from another group":        {[]string{twice, "pause: {from: running, to: paused}"}, ""},
		"from one that is closed":   {[]string{twice, "pause: {from: running, to: paused, require: [still]}"}, "claim pause"},
		"two rules, a lock each":    {[]string{room, "take: {from: waiting, to: running, require: [calm]}"}, ""},
		"one counts, and leaves":    {[]string{both, "stop: {from: running, to: waiting, require: [calm]}"}, "claim stop"},
		"the group changes":         {[]string{"claim: {from: waiting, to: running, require: [room], set: {tenant: input}}"}, ""},
		"another changes the group": {[]string{room, "hand: {from: running, to: same, set: {tenant: input}}"}, ""},
		"a group of the moment":     {[]string{"claim: {from: waiting, to: running, require: [at_once]}"}, ""},
		"before it is in":           {[]string{room, "hand: {from: waiting, to: same, set: {tenant: input}}"}, "claim"},
		"the call tells the group":  {[]string{"claim: {from: waiting, to: running, require: [mine]}"}, ""},
		"one of two is open":        {[]string{room, "hold: {from: waiting, to: paused, require: [still]}", "pause: {from: done, to: paused}"}, "claim"},
		"into one that is open":     {[]string{room, "pause: {from: running, to: paused, require: [room]}", "hold: {from: waiting, to: same, require: [still]}"}, "claim"},
		"a step that follows":       {[]string{"look: {from: waiting, to: same, require: [room], then: claim}", "claim: {from: waiting, to: running}"}, ""},
		"who counts follows":        {[]string{"look: {from: waiting, to: same, then: claim}", room}, "claim"},
		"behind a way in":           {[]string{"hold: {from: done, to: paused, then: stop}", "stop: {from: paused, to: waiting, require: [room]}", "still_one: {from: waiting, to: same, require: [still]}", room}, "claim"},
		"an effect in it":           {[]string{"claim: {from: waiting, to: running, require: [room], effect: {name: tell, atomic: true}}"}, ""},
		"an effect behind it":       {[]string{"claim: {from: waiting, to: running, require: [room], effect: {name: tell, atomic: false}}"}, "claim"},
		"an effect of another":      {[]string{room, "end: {from: waiting, to: done, effect: {name: tell, atomic: true}}"}, "claim"},
		"some others":               {[]string{some, "rush: {from: waiting, to: running}"}, "claim"},
		"some that the call tells":  {[]string{"claim: {from: waiting, to: running, require: [some_of]}"}, "claim"},
		"some, and into an open":    {[]string{room, "rush: {from: waiting, to: running, require: [some_run]}"}, ""},
		"some, with an effect":      {[]string{strings.Replace(some, "}", ", effect: {name: tell, atomic: true}}", 1)}, ""},
		"a creation":                {[]string{"start: {creates: running, require: [room], set: {queue: input, tenant: input}}"}, "start"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, found := spec.Parse("job.yaml", []byte(base+"  "+strings.Join(x.operations, "\n  ")+"\n"))
			if m == nil || found.HasErrors() {
				t.Fatal(found)
			}
			var locked []string
			for _, o := range m.Operations {
				if len(peerGuards(o)) > 0 && countsLocked(m, o) {
					locked = append(locked, o.Name)
				}
			}
			if got := strings.Join(locked, " "); got != x.locked {
				t.Errorf("%q count under locks, want %q", got, x.locked)
			}
		})
	}
}

// TestHeldGroups: who may take a record away on which others rely has the lock of the group, by a question of its own where
// it does not count the group.
func TestHeldGroups(t *testing.T) {
	t.Parallel()
	const text = `fsm: 1
machine: job
entity: Job
otherwise: reject
fields: {queue: string, tenant: string}
states: {waiting: {}, running: {}, paused: {}, done: {final: true}}
guards:
  some_run: {some: {same: [queue, tenant], in: [running]}, error: nobody}
  some_here: {some: {same: [tenant, queue], in: [running, paused]}, error: nobody}
  some_of: {some: {same: {tenant: actor}, in: [paused]}, error: nobody}
  some_wait: {some: {same: queue, in: [waiting]}, error: nobody}
  few: {fewer: {than: 3, same: [tenant, queue], in: [waiting]}, error: full}
operations:
  submit: {creates: waiting, set: {queue: input, tenant: input}}
  start: {from: waiting, to: running, require: [some_run]}
  pause: {from: running, to: paused}
  stop: {from: [running, paused], to: done}
  go_on: {from: paused, to: running, require: [some_here, some_of]}
  back: {from: running, to: waiting, require: [few]}
  turn: {from: [running, waiting], choose: [{when: queue == tenant, to: done}, {to: same}]}
  hand: {from: paused, to: same, set: {tenant: input}}
  touch: {from: running, to: same}
`
	m, found := spec.Parse("job.yaml", []byte(text))
	if m == nil || found.HasErrors() {
		t.Fatal(found)
	}
	want := map[string]string{
		"pause": "some_run [running]",
		"stop":  "some_run [running paused], some_of [paused]",
		"go_on": "some_of [paused]", // it counts some_here, which has the fields of some_run
		"turn":  "some_run [running paused]",
		"hand":  "some_here [running paused], some_of [paused]",
	}
	for _, o := range m.Operations {
		var got []string
		for _, h := range heldGroups(m, o) {
			var in []string
			for _, st := range h.States {
				in = append(in, st.Name)
			}
			got = append(got, fmt.Sprint(h.Guard.Name, " ", in))
		}
		if text := strings.Join(got, ", "); text != want[o.Name] {
			t.Errorf("%s holds %q, want %q", o.Name, text, want[o.Name])
		}
	}
}
