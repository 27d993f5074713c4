package count_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/count"
)

// A guard whose group the call tells may let a second record in.
func TestGroupOfTheCall(t *testing.T) {
	t.Parallel()
	for same, carried := range map[string]bool{"queue": true, "{queue: queue}": true, "{queue: actor}": false} {
		m := parse(t, strings.Replace(`
fsm: 1
machine: ticket
entity: Ticket
otherwise: reject
fields: {queue: string}
states: {open: {}, taken: {terminal: true}}
guards: {alone: {none: {same: SAME, in: [taken]}, error: busy}}
unique: {one: {fields: queue, in: [taken], error: busy}}
operations:
  submit: {creates: open, set: {queue: input}}
  take: {from: open, to: taken, require: [alone]}
`, "SAME", same, 1))
		w := count.Explore(m, m.Unique[0].Fields, false)
		if _, broken := w.Broken[m.Unique[0]]; broken == carried {
			t.Errorf("same: %s: a second record comes in without the index: %t", same, broken)
		}
	}
}
