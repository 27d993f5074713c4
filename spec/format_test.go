package spec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFormatShipped checks that the shipped specifications survive printing
// with all their comments.
func TestFormatShipped(t *testing.T) {
	t.Parallel()
	for _, file := range specFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out := checkFormat(t, src)
			if got, want := comments(out), comments(src); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("comments are lost or moved:\n%s", out)
			}
		})
	}
}

// comments returns the words of all comments, in order.
func comments(src []byte) []string {
	var out []string
	for line := range strings.Lines(string(src)) {
		if i := strings.Index(" "+line, " #"); i >= 0 {
			out = append(out, strings.Join(strings.Fields(line[i:]), " "))
		}
	}
	return out
}

// An empty line above brackets is not one between what they hold.
func TestFormatOpensBrackets(t *testing.T) {
	t.Parallel()
	const src = `fsm: 1
machine: door
entity: Door
otherwise: reject

# What a call carries.
requests: {request_id: none, expected_rev: none}

states: {shut: {}, wide: {}}

operations: {make: {creates: shut}}
`
	const want = `fsm: 1
machine: door
entity: Door
otherwise: reject

# What a call carries.
requests:
  request_id: none
  expected_rev: none

states:
  shut: {}
  wide: {}

operations:
  make: {creates: shut}
`
	if diff := cmp.Diff(want, string(checkFormat(t, []byte(src)))); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

// A length is written in the largest unit that it is a whole number of, wherever one may stand. Texts
// and comments stay.
func TestFormatLengths(t *testing.T) {
	t.Parallel()
	const src = `fsm: 1
machine: door
entity: Door
doc: closes after 60s
otherwise: reject
fields:
  pause: {type: duration 1000ms..24h, default: 120s}   # 60s is 60s
  rest: optional duration 0ms..48h
  label: {type: string, default: 60s}
  any: {type: duration, default: 60s}
  tries: {type: counter, changed_by: [shut]}
  until: {type: time, changed_by: [make, shut]}
invariant:
  - any: [pause == 60s, [pause == 120s, label == '60s']]
states:
  wide: {invariant: [pause >= 90m]}
operations:
  make: {creates: wide, input: {for: duration 60s..3600s}, set: {until: now+60m, label: "'60s'", any: 60s}}
  shut: {from: wide, to: same, increment: [tries], set: {until: now + backoff 1000ms to 25h by tries}, trigger: [after until+7200s]}
`
	const want = `fsm: 1
machine: door
entity: Door
doc: closes after 60s
otherwise: reject

fields:
  pause: {type: duration 1s..1d, default: 2m}  # 60s is 60s
  rest: optional duration 0s..2d
  label: {type: string, default: 60s}
  any: {type: duration, default: 1m}
  tries: {type: counter, changed_by: [shut]}
  until: {type: time, changed_by: [make, shut]}

invariant:
  - any:
      - pause == 1m
      - [pause == 2m, label == '60s']

states:
  wide: {invariant: [pause >= 90m]}

operations:
  make: {creates: wide, input: {for: duration 1m..1h}, set: {until: now + 1h, label: "'60s'", any: 1m}}
  shut:
    from: wide
    to: same
    increment: [tries]
    set: {until: now + backoff 1s to 25h by tries}
    trigger: [after until + 2h]
`
	if diff := cmp.Diff(want, string(checkFormat(t, []byte(src)))); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}
