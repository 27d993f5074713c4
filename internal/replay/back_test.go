package replay_test

import (
	"slices"
	"strings"
	"testing"
)

const cellar = `fsm: 1
machine: cellar
entity: Cellar
otherwise: reject
requests: {request_id: optional, expected_rev: none}
fields: {n: counter, seen: set}
states: {open: {}, shut: {terminal: true}}
operations:
  make: {creates: open}
  go: {from: open, to: same, increment: [n], add: {seen: input.who}, input: {who: string}}
  rest: {from: open, to: same, reset: [n, seen]}
  part: {from: open, to: same, remove: {seen: input.who}, add: {seen: input.by}, input: {who: string, by: string}}
  end: {from: open, to: shut}
`

// A line that says that a set is empty, and one that leaves it as it was.
func TestEmptiedSet(t *testing.T) {
	t.Parallel()
	m := parse(t, "cellar.yaml", cellar)
	const rest = `{"id":"a","rev":3,"operation":"rest","from":"open","to":"open","at":"2026-01-01T00:02:00Z","inputs":{},"changes":{"n":0,"seen":null}}`
	lines := []string{
		`{"id":"a","rev":1,"operation":"make","to":"open","at":"2026-01-01T00:00:00Z","inputs":{},"changes":{}}`,
		`{"id":"a","rev":2,"operation":"go","from":"open","to":"open","at":"2026-01-01T00:01:00Z","inputs":{"who":"x"},"changes":{"n":1,"seen":["x"]}}`,
		rest,
		`{"id":"a","rev":4,"operation":"go","from":"open","to":"open","at":"2026-01-01T00:03:00Z","inputs":{"who":"x"},"changes":{"n":1,"seen":["x"]}}`,
	}
	if got := check(t, m, lines...); got != nil {
		t.Errorf("found %q", got)
	}
	part := strings.NewReplacer(`"rev":3,"operation":"rest"`, `"rev":5,"operation":"part"`, `"inputs":{},`, `"inputs":{"who":"x","by":"y"},`).Replace(rest)
	part = strings.Replace(part, `"n":0,"seen":null`, `"seen":{"came":["y"],"gone":["x"]}`, 1)
	if got := check(t, m, append(lines, part)...); got != nil {
		t.Errorf("found %q", got)
	}
	part = strings.Replace(part, `["x"]}`, `[]}`, 1)
	if got := check(t, m, append(lines, part)...); !slices.Equal(got, []string{`5 a decision: the event leaves seen ["x","y"], the machine ["y"]`}) {
		t.Errorf("found %q", got)
	}
	lines[2] = strings.Replace(rest, `,"seen":null`, "", 1)
	if got := check(t, m, lines[:3]...); !slices.Equal(got, []string{"3 a decision: the event leaves seen [\"x\"], the machine []"}) {
		t.Errorf("found %q", got)
	}
}

// What somebody did by hand is recorded, and no operation is asked for it.
func TestGivenUpByHand(t *testing.T) {
	t.Parallel()
	m := parse(t, "cellar.yaml", cellar)
	made := `{"id":"a","rev":1,"operation":"make","to":"open","at":"2026-01-01T00:00:00Z","inputs":{},"changes":{}}`
	note := `{"id":"a","rev":1,"n":1,"operation":"__giveup","from":"open","to":"open","at":"2026-01-01T00:01:00Z","actor":"ann",` +
		`"reason":"it is late","inputs":{"effect":"post","attempts":2},"changes":{}}`
	if got := check(t, m, made, note); got != nil {
		t.Errorf("found %q", got)
	}
	if got := check(t, m, made, strings.ReplaceAll(note, "open", "shut")); len(got) != 1 || !strings.Contains(got[0], "recorded in state") {
		t.Errorf("of another state: %q", got)
	}
}
