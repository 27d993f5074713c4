package diff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/spec"
)

// Durations are compared as numbers are, and told as a specification writes them.
func TestSpans(t *testing.T) {
	t.Parallel()
	base := map[string]string{
		"type": "duration 1m..1h", "default": "5m", "set": "due + 1m", "when": "now < due + limit", "trigger": "after due + 5m", "in": "duration 1s..1m",
		"promise": "rest <= 1h", "extra": "optional time",
	}
	machine := func(swap ...string) *spec.Machine {
		at := func(key string) string {
			if len(swap) > 0 && swap[0] == key {
				return swap[1]
			}
			return base[key]
		}
		m, found := spec.Parse("desk.yaml", []byte("fsm: 1\nmachine: desk\nentity: Desk\notherwise: reject\n"+
			"fields: {limit: {type: "+at("type")+", default: "+at("default")+"}, rest: {type: duration, default: 0s}, due: time, n: counter, extra: "+at("extra")+"}\n"+
			"states: {open: {invariant: ["+at("promise")+"]}, shut: {final: true}}\n"+
			"guards: {fresh: {when: "+at("when")+", error: late}}\noperations:\n  submit: {creates: open, set: {due: input}}\n"+
			"  move: {from: open, to: same, input: {by: "+at("in")+"}, require: [fresh], increment: [n], set: {due: "+at("set")+"}}\n"+
			"  close: {by: system, from: open, to: shut, trigger: ["+at("trigger")+"]}\n"))
		if m == nil || found.HasErrors() {
			t.Fatal(swap, found)
		}
		return m
	}
	old := machine()
	for _, c := range []struct {
		key, text string
		want      []string
	}{
		{"type", "duration 60s..60m", nil},
		{"type", "duration 1m..30m", []string{"FSM706 field limit is duration 1m..30m, it was duration 1m..1h"}},
		{"type", "duration 2m..2h", []string{"FSM706 field limit is duration 2m..2h, it was duration 1m..1h"}},
		{"type", "duration 1m..2h", []string{"field limit is duration 1m..2h, it was duration 1m..1h"}},
		{"type", "duration 1m..", []string{"field limit is duration 1m.., it was duration 1m..1h"}},
		{"type", "duration", []string{"field limit is duration, it was duration 1m..1h"}},
		{"default", "300s", nil},
		{"default", "6m", []string{"FSM715 the default of field limit is 6m, it was 5m"}},
		{"in", "duration 1s..2m", []string{"input by of move is duration 1s..2m, it was duration 1s..1m"}},
		{"in", "duration 1s..30s", []string{"FSM703 input by of move is duration 1s..30s, it was duration 1s..1m"}},
		{"set", "due + 60s", nil},
		{"set", "due + 90s", []string{"FSM710 operation move changes: due = due + 90s; it changed: due = due + 1m"}},
		{"set", "now + backoff 1s to 1h by n",
			[]string{"FSM710 operation move changes: due = now + backoff 1s to 1h by n; it changed: due = due + 1m"}},
		{"trigger", "after due + 300s", nil},
		{"trigger", "after due + 90s", []string{"close is fired after due + 90s, it was fired after due + 5m"}},
		{"trigger", "after due", []string{"close is fired after due, it was fired after due + 5m"}},
		{"trigger", "after due + limit", []string{"FSM710 close is fired after due + limit, it was fired after due + 5m"}},
		{"promise", "rest <= 60m", nil},
		{"promise", "rest <= 2h", []string{"FSM707 state open no longer demands `rest <= 1h`"}},
		{"promise", "rest <= 30m", []string{"FSM706 state open demands `rest <= 30m`"}},
		{"extra", "optional duration", []string{"FSM702 field extra is optional duration, it was optional time"}},
		{"extra", "optional int", []string{"FSM702 field extra is optional int, it was optional time"}},
		{"when", "now < due + limit - 1m", []string{"FSM704 guard fresh of move asks for `now < due + limit - 1m`",
			"FSM705 guard fresh of move no longer asks for `now < due + limit`"}},
		{"when", "now - due <= 90s", []string{"FSM704 guard fresh of move asks for `now - due <= 90s`",
			"FSM705 guard fresh of move no longer asks for `now < due + limit`"}},
	} {
		var got []string
		for _, change := range diff.Machines(old, machine(c.key, c.text)).Changes {
			got = append(got, strings.TrimSpace(change.Code+" "+change.Message))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %s: told %q, want %q", c.key, c.text, got, c.want)
		}
	}
}
