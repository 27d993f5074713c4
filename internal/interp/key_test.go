package interp_test

import (
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
)

// The text of an effect's key, as SPEC.md tells it.
func TestEffectKey(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for key, want := range map[string]string{
		"id": "a", "rev": "4", "name": `x/"y`, "note": "n", "kind": "large", "tries": "2", "due": "2026-01-02T03:04:05Z", "loud": "true",
		"[id, tries]": `"a"/2`, "[name, note, kind]": `"x/\"y"/"n"/"large"`, "[id, rev]": `"a"/4`, "none": "-", "[none, id]": `-/"a"`,
	} {
		m := parse(t, `fsm: 1
machine: run
entity: Run
otherwise: reject
fields:
  name: string
  note: optional string
  none: optional string
  kind: {type: small|big, was: {values: {big: large}}}
  tries: {type: counter, changed_by: [go_on]}
  due: time
  loud: bool
states: {running: {}, done: {terminal: true}}
operations:
  start: {creates: running, set: {name: input, note: input or absent, none: input or absent, kind: input, due: input, loud: input}}
  go_on: {from: running, to: same, increment: [tries]}
  finish: {from: running, to: done, effect: {name: tell, key: `+key+`}}
`)
		r := interp.NewRecord(m, "a").With(m, "name", interp.String(`x/"y`)).With(m, "note", interp.String("n")).
			With(m, "kind", interp.Word("big")).With(m, "tries", interp.Int(2)).With(m, "due", interp.Time(due)).With(m, "loud", interp.Bool(true))
		r.Rev = 4
		if got := interp.EffectKey(m, m.Operation("finish").Asks[0], r); got != want {
			t.Errorf("key %s: got %s, want %s", key, got, want)
		}
	}
}
