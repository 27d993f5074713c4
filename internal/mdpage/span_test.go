package mdpage_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/mdpage"
	"github.com/fsmgen/fsmgen/spec"
)

// A page says lengths as the file has them, and what events hold of them.
func TestLengths(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("lease.yaml", []byte(`fsm: 1
machine: lease
entity: Lease
otherwise: reject
fields:
  length: {type: duration 1m..1h, default: 90s}
  pause: optional duration
  until: optional time
  tries: {type: counter, changed_by: [fail]}
states:
  held: {}
  gone: {final: true}
guards:
  in_time: {when: now < created_at + length, error: too_late}
operations:
  take: {creates: held, set: {length: input}}
  fail: {from: held, to: same, input: {by: optional duration}, require: [in_time], increment: [tries], set: {pause: input.by or same, until: now + backoff 1s to 1h by tries}}
  end: {by: system, from: held, to: gone, trigger: [after created_at + length]}
`))
	if found.HasErrors() {
		t.Fatal(found)
	}
	page, err := mdpage.Markdown(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"duration 1m..1h", "`90s`", "after created_at + length", "now < created_at + length", "now + backoff 1s to 1h by tries",
		`"length": "microseconds"`, `"by": "microseconds|null"`, `"pause": "microseconds|null"`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
}
