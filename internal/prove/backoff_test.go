package prove_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Of a back-off between fields the proof knows what the first tries make of it, and that it
// stays between the ends.
func TestBackoffBetweenFields(t *testing.T) {
	t.Parallel()
	const outside = "FSM302 go: one -> two can leave `w` outside its bounds"
	wait := func(bounds, guard, invariant string) string {
		return door + "fields: {n: {type: counter, changed_by: [go]}, base: duration 1s..2s, most: duration 1s..1m, w: optional duration " + bounds + "}\n" +
			"states:\n  one: {absent: [w]}\n  two: {terminal: true, present: [w], invariant: [" + invariant + "]}\n" +
			"guards:\n  asked: {when: [" + guard + "], error: not_now}\n" +
			"operations:\n  go: {from: one, to: two, require: [asked], increment: [n], set: {w: backoff base to most by n}}\n"
	}
	for _, tt := range []struct {
		name, bounds, guard, invariant string
		want                           []string
	}{
		{"between both ends", "1s..1m", "n < 50", "", nil},
		{"the longest is too long", "1s..50s", "n < 50", "", []string{outside}},
		{"the third is four times the first", "1s..1m", "n == 2", "w <= base + base + base + base", nil},
		{"and may be below", "1s..1m", "n == 2", "w >= base + base + base", []string{"FSM302 go: one -> two can leave `w >= base + base + base` false"}},
		{"from 1s it is 32s after five, and longer after six", "1s..40s", "n < 5", "", nil},
		{"from 2s it is 64s after five", "1s..40s", "n == 5", "", []string{outside}},
		{"after many it is the longest", "1s..1m", "n >= 6", "w == most", nil},
		{"and not earlier", "1s..1m", "n >= 5", "w == most", []string{"FSM302 go: one -> two can leave `w == most` false"}},
	} {
		if diff := cmp.Diff(tt.want, findings(t, wait(tt.bounds, tt.guard, tt.invariant))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
