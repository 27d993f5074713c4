package interp_test

import (
	"math"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

const edges = `
fsm: 1
machine: edge
entity: Edge
otherwise: reject
fields:
  n: counter
  due: optional time
states:
  open: {}
  shut: {terminal: true}
operations:
  make: {creates: open, set: {n: input}}
  once: {from: open, to: same, increment: [n]}
  late:
    from: open
    choose:
      - {when: n >= 9223372036854775806, to: same, increment: [n]}
      - {to: shut}
  defer: {from: open, to: same, set: {due: now + 1d}}
  rest:
    from: open
    choose:
      - {when: n == 0, to: same, set: {due: now + 1s}}
      - {to: shut}
`

// A step after which a number would wrap, or a time would leave the years that a
// record holds, is refused with a code of its own; one step before it is taken.
func TestNothingWraps(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("edge.yaml", []byte(edges))
	if m == nil || len(found) > 0 {
		t.Fatal(found)
	}
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	const most = math.MaxInt64
	for _, tt := range []struct {
		op   string
		n    int64 // before; of a creation: the input
		at   time.Time
		over string
		want int64
	}{
		{"make", most, t0, "", most},
		{"once", most - 1, t0, "", most},
		{"once", most, t0, "n", 0},
		{"once", math.MinInt64, t0, "", math.MinInt64 + 1}, // a corrupt row is found when it is loaded
		{"late", most - 2, t0, "", most - 2},
		{"late", most - 1, t0, "", most},
		{"late", most, t0, "n", 0},
		{"defer", 0, last.Add(-24 * time.Hour), "", 0},
		{"defer", 0, last.Add(-24*time.Hour + time.Microsecond), "due", 0},
		{"rest", 0, last.Add(-time.Second), "", 0},
		{"rest", 0, last, "due", 0},
		{"rest", 1, last, "", 1},
	} {
		c := interp.Call{Op: m.Operation(tt.op), At: tt.at}
		r := interp.NewRecord(m, "a")
		if tt.op == "make" {
			c.Inputs = in{"n": interp.Int(tt.n)}
		} else {
			r = r.In(m.State("open")).With(m, "n", interp.Int(tt.n))
		}
		d, refusal := interp.Decide(m, r, c, interp.Others{})
		switch {
		case tt.over != "":
			if refusal == nil || refusal.Code != interp.CodeOverflow || refusal.Name != tt.over {
				t.Errorf("%s of %d at %s: %v, want overflow of %s", tt.op, tt.n, tt.at, refusal, tt.over)
			}
		case refusal != nil:
			t.Errorf("%s of %d at %s: %v", tt.op, tt.n, tt.at, refusal)
		case d.Record.Value(m, m.Field("n")).Num != tt.want:
			t.Errorf("%s of %d makes %v, want %d", tt.op, tt.n, d.Record.Fields, tt.want)
		}
	}
}
