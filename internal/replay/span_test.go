package replay_test

import (
	"strings"
	"testing"
)

const leases = `fsm: 1
machine: lease
entity: Lease
otherwise: reject
fields:
  length: {type: duration 1s..1h, default: 1m}
  tries: {type: counter, changed_by: [fail]}
  again: optional time
  pause: optional duration
states:
  held: {}
  gone: {final: true}
operations:
  take: {creates: held, set: {length: input}}
  fail: {from: held, to: same, increment: [tries], set: {again: now + backoff 10s to 1h by tries, pause: length - 500ms}}
  end: {by: system, from: held, to: gone, trigger: [after created_at + length]}
`

// A log holds a length as a whole number of microseconds, and what is computed from it again
// must come out.
func TestLengthsInLogs(t *testing.T) {
	t.Parallel()
	m := parse(t, "lease.yaml", leases)
	const (
		take = `{"id":"a","rev":1,"operation":"take","to":"held","at":"2026-01-01T09:00:00Z","actor":"u","request_id":"r1",` +
			`"inputs":{"length":90000000},"changes":{"length":90000000}}`
		fail = `{"id":"a","rev":2,"operation":"fail","from":"held","to":"held","at":"2026-01-01T09:00:01Z","actor":"u","request_id":"r2",` +
			`"changes":{"tries":1,"again":"2026-01-01T09:00:11Z","pause":89500000}}`
		more = `{"id":"a","rev":3,"operation":"fail","from":"held","to":"held","at":"2026-01-01T09:01:00Z","actor":"u","request_id":"r3",` +
			`"changes":{"tries":2,"again":"2026-01-01T09:01:20Z","pause":89500000}}`
		end = `{"id":"a","rev":4,"operation":"end","from":"held","to":"gone","at":"2026-01-01T09:01:30Z"}`
	)
	log := func(old, next string) []string {
		lines := []string{take, fail, more, end}
		for i, line := range lines {
			lines[i] = strings.ReplaceAll(line, old, next)
		}
		return check(t, m, lines...)
	}
	if found := log("none", ""); len(found) > 0 {
		t.Errorf("a good log: %q", found)
	}
	for _, c := range []struct{ old, next, says string }{
		{`"length":90000000`, `"length":90000000.5`, "90000000.5 is not a value of its type"},
		{`"length":90000000`, `"length":"90s"`, `"90s" is not a value of its type`},
		{`"length":90000000`, `"length":7200000000`, "length"},
		{`"changes":{"length":90000000}`, `"changes":{"length":91000000}`, "length"},
		{`09:00:11Z`, `09:00:12Z`, "again"},
		{`09:01:20Z`, `09:01:10Z`, "again"},
		{`"tries":2,"again":"2026-01-01T09:01:20Z","pause":89500000`, `"tries":2,"again":"2026-01-01T09:01:20Z","pause":89500001`, "pause"},
	} {
		found := strings.Join(log(c.old, c.next), "\n")
		if !strings.Contains(found, c.says) {
			t.Errorf("%s for %s: %q, want %q", c.next, c.old, found, c.says)
		}
	}
}
