package model

import (
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// between has branches for instants between two lengths.
const between = `
fsm: 1
machine: job
entity: Job
otherwise: reject
fields: {patience: {type: duration 1s..3h, default: 2h}}
states: {open: {}, mid: {}, late: {}, closed: {terminal: true}}
operations:
  list: {creates: open}
  look:
    from: open
    choose:
      - {when: now >= created_at + patience, to: late}
      - {when: now >= created_at + 1h, to: closed}
      - {when: now >= created_at + 5m, to: mid}
      - {to: same}
  end: {by: system, from: [mid, late], to: closed, trigger: [after created_at + 1d]}
`

// extended compares times with each other, and adds a length to one of them.
const extended = `
fsm: 1
machine: auction
entity: Auction
otherwise: reject
fields: {closes: time, window: {type: duration 10s..1h, default: 5m}}
states: {open: {}, overtime: {}, closed: {terminal: true}}
guards: {running: {when: now < closes, error: auction_over}}
steps:
  - {when: closes >= old.closes, reason: closing only moves later}
operations:
  list: {creates: open, input: {lasts: duration 1h..30d}, set: {closes: now + input.lasts, window: input or default}}
  bid:
    from: [open, overtime]
    require: [running]
    choose:
      - {when: closes < now + window, to: overtime, set: {closes: now + window}}
      - {to: same}
  close: {by: system, from: [open, overtime], to: closed, trigger: [after closes]}
`

// An instant comes to each distance that lengths tell apart, in its order with others: each branch,
// guard and state is seen.
func TestDistances(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{"between": between, "extended": extended} {
		m, found := spec.Parse(name, []byte(src))
		if m == nil || found.HasErrors() {
			t.Fatal(found)
		}
		r := Check(m, Options{})
		if r.Violation != nil || len(r.Missing) > 0 || len(r.Limits) > 0 {
			t.Errorf("%s: violation %v, missing %q, limits %q", name, r.Violation, names(r.Missing), r.Limits)
		}
	}
}
