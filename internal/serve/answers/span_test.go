package answers

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const leases = `fsm: 1
machine: lease
entity: Lease
otherwise: reject
requests: {request_id: none, expected_rev: none}
fields:
  length: {type: duration 1s..1h, default: 1m}
  pause: optional duration
  started: time
  until: time
states:
  held: {}
  gone: {final: true}
guards:
  in_time: {when: now < started + length, error: too_late}
operations:
  take: {creates: held, input: {length: optional duration 1s..1h}, set: {length: input or default, started: now, until: now + 2h}}
  beat: {from: held, to: same, input: {by: duration 500ms..1m}, require: [in_time], set: {until: until + input.by, pause: length + input.by}}
  end: {by: system, from: held, to: gone, trigger: [after started + length]}
`

// A length is typed and shown as a specification writes it, and a deadline is a time and a length.
func TestPlayLengths(t *testing.T) {
	t.Parallel()
	h := page(t, write(t, leases))
	play := func(now string, inputs ...string) playView {
		steps := []string{step("take", "a", 0, "00:00", `"inputs": {`+inputs[0]+`}`)}
		for i, text := range inputs[1:] {
			steps = append(steps, step("beat", "a", i+1, "00:10", `"inputs": {`+text+`}`))
		}
		return get[playView](t, h, "0/play", session(now, steps...))
	}
	v := play("2026-01-01T09:01:29Z", `"length": "90s"`, `"by": "1500ms"`)
	if diff := cmp.Diff([]string{"accepted", "accepted"}, outcomes(v)); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	want := []changeView{
		{"pause", valueView{Absent: true}, valueView{Kind: "duration", Text: "91500ms"}},
		{"until", valueView{Kind: "time", Text: "2026-01-01T11:00:00Z"}, valueView{Kind: "time", Text: "2026-01-01T11:00:01.5Z"}},
	}
	if diff := cmp.Diff(want, v.Steps[1].Changes); diff != "" {
		t.Errorf("changes, -want +got:\n%s", diff)
	}
	if d := v.Deadlines; len(d) != 1 || d[0] != (deadlineView{"a", "end", "started + length", "2026-01-01T09:01:30Z", false}) {
		t.Errorf("deadlines: %+v", d)
	}
	// At the very instant the guard fails and the trigger is due.
	if d := play("2026-01-01T09:01:30Z", `"length": "90s"`).Deadlines; len(d) != 1 || !d[0].Due {
		t.Errorf("at the deadline: %+v", d)
	}
	if d := play("2026-01-01T09:00:01Z", "").Deadlines; len(d) != 1 || d[0].At != "2026-01-01T09:01:00Z" {
		t.Errorf("with the default: %+v", d)
	}
	v = play("", `"length": "10s"`, `"by": "1s"`)
	if no := v.Steps[1].Refusal; no == nil || no.Code != "guard" ||
		!cmp.Equal(no.Causes, []causeView{{
			Fact: "now < started + length", Left: "now is 2026-01-01T09:00:10Z", Right: "started + length is 2026-01-01T09:00:10Z", Place: no.Causes[0].Place,
		}}) {
		t.Errorf("too late: %+v", no)
	}
	if no := play("", `"length": "2h"`).Steps[0].Refusal; no == nil || no.Code != "invalid_input" {
		t.Errorf("beyond the bounds: %+v", no)
	}
}

// What is no length is refused with the way to write it.
func TestTypedLengths(t *testing.T) {
	t.Parallel()
	h := page(t, write(t, leases))
	for text, says := range map[string]string{
		`"30"`:      "name the unit",
		`"1h30m"`:   "write `90m`",
		`30`:        "expected a string",
		`"soon"`:    "write a length such as",
		`"900000h"`: "longer than 36500d",
		`"-5s"`:     "is not a duration",
	} {
		r := ask(t, h, "0/play", session("", step("take", "a", 0, "00:00", `"inputs": {"length": `+text+`}`)))
		if !strings.Contains(r.Body, says) {
			t.Errorf("%s: %s, want %q", text, r.Body, says)
		}
	}
	m := get[File](t, h, "0/machine", "").Machine
	for _, o := range m.Operations {
		for _, in := range o.Inputs {
			if want := map[string]string{"length": "30s", "by": "30s"}[in.Name]; in.Kind != "duration" || in.Value != want || in.Min+in.Max != "" {
				t.Errorf("%s has %+v", o.Name, in)
			}
		}
	}
}
