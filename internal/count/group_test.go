package count_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/count"
)

// A guard whose group or limit the call or a field tells may let a second record in.
// Every step takes a record to another group of updated_at, so a guard that asked for the group before tells nothing of it.
func TestGroupOfTheMoment(t *testing.T) {
	t.Parallel()
	m := parse(t, `
fsm: 1
machine: ticket
entity: Ticket
otherwise: reject
fields: {queue: string}
states: {open: {}, taken: {terminal: true}}
guards: {alone: {none: {same: [queue, updated_at], in: [taken]}, error: busy}}
unique: {one: {fields: [queue, updated_at], in: [taken], error: busy}}
operations:
  submit: {creates: open, set: {queue: input}}
  take: {from: open, to: taken, require: [alone]}
`)
	w := count.Explore(m, m.Unique[0].Fields, false)
	if _, broken := w.Broken[m.Unique[0]]; !broken {
		t.Error("two that are taken at one moment are not met")
	}
}

func TestGroupOfTheCall(t *testing.T) {
	t.Parallel()
	for asks, carried := range map[string]bool{
		"none: {same: queue": true, "none: {same: {queue: queue}": true, "none: {same: {queue: actor}": false,
		"fewer: {than: 1, same: queue": true, "fewer: {than: most, same: queue": false, "fewer: {than: input.most, same: queue": false,
	} {
		m := parse(t, strings.Replace(`
fsm: 1
machine: ticket
entity: Ticket
otherwise: reject
fields: {queue: string, most: int}
states: {open: {}, taken: {terminal: true}}
guards: {alone: {ASKS, in: [taken]}, error: busy}}
unique: {one: {fields: queue, in: [taken], error: busy}}
operations:
  submit: {creates: open, set: {queue: input, most: input}}
  take: {from: open, to: taken, require: [alone], input: {most: int}}
`, "ASKS", asks, 1))
		w := count.Explore(m, m.Unique[0].Fields, false)
		if _, broken := w.Broken[m.Unique[0]]; broken == carried {
			t.Errorf("%s: a second record comes in without the index: %t", asks, broken)
		}
	}
}
