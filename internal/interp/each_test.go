package interp_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
)

const lots = `fsm: 1
machine: lots
entity: Parcel
requests: {request_id: optional, expected_rev: none}
otherwise: reject
fields: {lot: string, frail: bool}
states: {open: {}, lifted: {}, closed: {terminal: true}}
guards:
  not_frail: {when: frail == false, error: frail}
  few: {fewer: {than: 2, same: lot, in: [lifted]}, error: full}
operations:
  make: {creates: open, set: {lot: input, frail: input}}
  lift: {from: open, to: lifted, require: [not_frail, few], input: {of: string}, each: {where: lot == input.of, most: 3}}
  tick: {by: system, from: lifted, to: closed}
  shut: {from: lifted, to: same, each: {most: 9}, then: tick}
`

// TestEach: all that fit take the step, by id, or none.
func TestEach(t *testing.T) {
	t.Parallel()
	m := parse(t, lots)
	made := func(list ...string) interp.World { // "p1a" is p1 of the lot a, "p1a!" is frail
		var w interp.World
		for _, x := range list {
			c := interp.Call{Op: m.Operation("make"), ID: x[:2], At: t0, Inputs: in{"lot": interp.String(x[2:3]), "frail": interp.Bool(len(x) > 3)}}
			_, next, refusal := interp.Step(m, w, c)
			if refusal != nil {
				t.Fatal(refusal)
			}
			w = next
		}
		return w
	}
	lift := func(lot string) interp.Call {
		return interp.Call{Op: m.Operation("lift"), RequestID: "r", At: t0, Inputs: in{"of": interp.String(lot)}}
	}
	for _, c := range []struct {
		name, want, id string
		w              interp.World
	}{
		{"two of three", "p1 p3", "", made("p3a", "p2b", "p1a")},
		{"none of the lot", interp.CodeNothingToDo, "", made("p3b")},
		{"no record at all", interp.CodeNothingToDo, "", interp.World{}},
		{"one more than most", interp.CodeTooLarge, "", made("p1a", "p2a", "p3a", "p4a")},
		{"the third finds two before it", interp.CodeGuard, "p3", made("p1a", "p2a", "p3a")},
		{"one that refuses", interp.CodeGuard, "p2", made("p1a", "p2a!")},
	} {
		list, next, refusal := interp.Pick(m, c.w, lift("a"), 1)
		if refusal != nil {
			if refusal.Code != c.want || refusal.ID != c.id || len(next.Log) != len(c.w.Log) {
				t.Errorf("%s: %v of %q, %d events more; want %s of %q", c.name, refusal, refusal.ID, len(next.Log)-len(c.w.Log), c.want, c.id)
			}
			continue
		}
		if ids(list) != c.want {
			t.Errorf("%s: it took %s, want %s", c.name, ids(list), c.want)
		}
		again, same, refusal := interp.Pick(m, next, lift("a"), 1)
		if refusal != nil || ids(again) != c.want || !again[0].Replayed || len(same.Log) != len(next.Log) {
			t.Errorf("%s again: %v, %v", c.name, ids(again), refusal)
		}
		if _, _, refusal := interp.Pick(m, next, lift("b"), 1); refusal == nil || refusal.Code != interp.CodeRequestReused {
			t.Errorf("%s, another lot under its request: %v", c.name, refusal)
		}
		shut, last, refusal := interp.Pick(m, next, interp.Call{Op: m.Operation("shut"), At: t0}, 1)
		if refusal != nil || len(shut) != 2 || len(shut[1].Events) != 2 || last.Records["p1"].State.Name != "closed" {
			t.Errorf("%s, what follows each: %v, %v", c.name, ids(shut), refusal)
		}
		if a, b := last.Log[len(last.Log)-1].Commit, next.Log[len(next.Log)-1].Commit; a != b+1 {
			t.Errorf("%s: the steps are in the transactions up to %d, want one after %d", c.name, a, b)
		}
	}
}
