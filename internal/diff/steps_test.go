package diff_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/spec"
)

func TestRulesOverAStep(t *testing.T) {
	t.Parallel()
	const machine = `fsm: 1
machine: lot
entity: Lot
otherwise: reject
fields:
  high: {type: int 0.., default: 0}
  leader: optional string
states:
  open: {}
  sold: {terminal: true}
operations:
  start: {creates: open}
  sell: {from: open, to: sold, set: {leader: actor}}
`
	parse := func(rules string) *spec.Machine {
		m, found := spec.Parse("lot.yaml", []byte(machine+rules))
		if m == nil {
			t.Fatal(found)
		}
		return m
	}
	one := "steps:\n  - {when: high >= old.high, reason: bids only rise}\n"
	for _, tt := range []struct {
		name, old, next string
		want            []string
	}{
		{"added", "", one, []string{"FSM706 the rule over a step `high >= old.high` is new"}},
		{"gone", one, "", []string{"FSM707 the rule over a step `high >= old.high` is gone"}},
		{"stronger", one, "steps: [{when: high > old.high, reason: bids only rise}]\n",
			[]string{"FSM706 the rule over a step `high > old.high` is new"}},
		{"turned", one, "steps: [{when: old.high <= high, reason: bids only rise}]\n",
			[]string{" the rules over a step are written in another way and ask the same"}},
		{"the other record", one, "steps: [{when: old.high >= high, reason: bids only rise}]\n",
			[]string{"FSM706 the rule over a step `old.high >= high` is new", "FSM707 the rule over a step `high >= old.high` is gone"}},
		{"its reason", one, "steps: [{when: high >= old.high, reason: no bid falls}]\n",
			[]string{" the reasons of the rules over a step changed"}},
	} {
		var got []string
		for _, c := range diff.Machines(parse(tt.old), parse(tt.next)).Changes {
			got = append(got, fmt.Sprint(c.Code, " ", c.Message))
		}
		slices.Sort(got)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
