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

const sums = `
fsm: 1
machine: pay
entity: Pay
otherwise: reject
fields:
  paid: int 0..
  back: {type: int, default: 0}
  tip: optional int
  n: counter
states:
  open: {}
guards:
  fits: {when: back + input.amount - 1 <= paid + n, error: no_fit}
  tipped: {when: back + tip >= paid, error: no_tip}
  untipped: {when: back + tip != paid, error: tip}
operations:
  make: {creates: open, set: {paid: input, back: input.by + input.by}, input: {by: int}}
  add: {from: open, to: same, require: [fits], input: {amount: int}, set: {back: back + input.amount}}
  tip: {from: open, to: same, require: [tipped]}
  untip: {from: open, to: same, require: [untipped]}
  take: {from: open, to: same, set: {paid: paid - tip}}
  move: {from: open, to: same, set: {back: paid + 1}}
  count: {from: open, to: same, increment: [n]}
`

// A sum reads the stored record and the call. One that lacks a part makes each comparison false,
// and no number of it leaves the limit.
func TestSums(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("pay.yaml", []byte(sums))
	if m == nil || len(found) > 0 {
		t.Fatal(found)
	}
	const most = spec.SumLimit
	type record = map[string]int64
	for _, tt := range []struct {
		op     string
		before record
		amount int64
		want   string // the field after the step, or the refusal
		value  int64
	}{
		{"make", record{"paid": 1}, 7, "back", 14},
		{"make", record{"paid": 1}, most / 2, "back", most},
		{"make", record{"paid": 1}, most/2 + 1, "overflow back", 0},
		{"make", record{"paid": 1}, -most, "overflow back", 0},
		{"make", record{"paid": 1}, most + 1, "invalid_input by", 0},
		{"make", record{"paid": most + 1}, 1, "invalid_input paid", 0},
		{"add", record{"paid": 5, "back": 2, "n": 1}, 5, "back", 7},
		{"add", record{"paid": 5, "back": 2}, 5, "guard fits", 0},
		{"add", record{"paid": 5, "back": 2}, -9, "back", -7},
		{"add", record{"paid": most, "back": most, "n": most}, 1, "overflow back", 0},
		{"add", record{"paid": most, "back": most}, most + 1, "invalid_input amount", 0},
		{"add", record{"paid": most, "back": -most, "n": most}, -1, "overflow back", 0},
		{"tip", record{"paid": 5}, 0, "guard tipped", 0},
		{"untip", record{"paid": 5}, 0, "guard untipped", 0},
		{"tip", record{"paid": 5, "tip": 5}, 0, "tip", 5},
		{"tip", record{"paid": 5, "tip": 4}, 0, "guard tipped", 0},
		{"take", record{"paid": 5, "tip": 4}, 0, "paid", 1},
		{"take", record{"paid": 5, "tip": 6}, 0, "invariant paid", 0}, // which the proof tells
		{"take", record{"paid": 5}, 0, "invariant paid is present", 0},
		{"move", record{"paid": most - 1}, 0, "back", most},
		{"move", record{"paid": most}, 0, "overflow back", 0},
		{"count", record{"n": most - 1}, 0, "n", most},
		{"count", record{"n": most}, 0, "overflow n", 0},
	} {
		op := m.Operation(tt.op)
		c := interp.Call{Op: op, At: t0, Inputs: in{}}
		r := interp.NewRecord(m, "a")
		for _, i := range op.Inputs {
			c.Inputs[i.Name] = interp.Int(tt.amount)
			if i.Name == "paid" {
				c.Inputs["paid"] = interp.Int(tt.before["paid"])
			}
		}
		if tt.op != "make" {
			r = r.In(m.State("open")).With(m, "paid", interp.Int(0)).With(m, "back", interp.Int(0))
			for name, n := range tt.before {
				r = r.With(m, name, interp.Int(n))
			}
		}
		d, refusal := interp.Decide(m, r, c, interp.Others{})
		switch f := m.Field(tt.want); {
		case refusal != nil:
			got := refusal.Code + " " + refusal.Name + refusal.Guard
			if got != tt.want {
				t.Errorf("%s of %v with %d: %q %v, want %q", tt.op, tt.before, tt.amount, got, refusal, tt.want)
			}
		case f == nil:
			t.Errorf("%s of %v with %d is done, want %q", tt.op, tt.before, tt.amount, tt.want)
		default:
			if v := d.Record.Value(m, f); v.Num != tt.value {
				t.Errorf("%s of %v with %d makes %s %v, want %d", tt.op, tt.before, tt.amount, tt.want, v, tt.value)
			}
		}
	}
}
