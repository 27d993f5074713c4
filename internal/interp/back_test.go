package interp_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

const ways = `
fsm: 1
machine: way
entity: Way
otherwise: reject
fields:
  n: {type: counter, changed_by: [make, go, rest, part]}
  seen: {type: set, changed_by: [make, go, rest, part]}
  last: optional int
states:
  open: {}
  shut: {terminal: true}
operations:
  make: {creates: open, set: {n: input, seen: input}}
  go: {from: open, to: same, increment: [n], add: {seen: actor}}
  rest: {from: open, to: same, set: {last: n}, reset: [n, seen]}
  part:
    from: open
    choose:
      - {when: n >= 2, to: same, reset: [n]}
      - {to: same, reset: [seen]}
`

// A reset reads the record as it was, a branch resets what it names, and the log says of an
// emptied set that it is empty: the record folds from it.
func TestReset(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("way.yaml", []byte(ways))
	if m == nil || len(found) > 0 {
		t.Fatal(found)
	}
	s := tell(t, m)
	s.does(s.call("make", in{"n": interp.Int(3), "seen": interp.Set("a", "b")}))
	for _, tt := range []struct {
		op      string
		n       int64
		seen    interp.Value
		last    interp.Value
		changes int
	}{
		{"part", 0, interp.Set("a", "b"), interp.Absent, 1},
		{"part", 0, interp.Set(), interp.Absent, 1},
		{"part", 0, interp.Set(), interp.Absent, 0}, // it is empty already
		{"go", 1, interp.Set("w1"), interp.Absent, 2},
		{"rest", 0, interp.Set(), interp.Int(1), 3},
	} {
		out := s.does(s.call(tt.op, nil))
		r := out.Record
		if r.Value(m, m.Field("n")).Num != tt.n || r.Value(m, m.Field("seen")) != tt.seen || r.Value(m, m.Field("last")) != tt.last {
			t.Errorf("%s left %+v", tt.op, r)
		}
		changes := out.Events[0].Changes
		if len(changes) != tt.changes {
			t.Errorf("%s changes %+v, want %d", tt.op, changes, tt.changes)
		}
		for _, c := range changes {
			if c.Added != (c.Field == m.Field("seen") && c.Value.IsPresent()) {
				t.Errorf("%s: %+v", tt.op, c)
			}
		}
	}
}
