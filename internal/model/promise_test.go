package model_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/count"
	"github.com/fsmgen/fsmgen/internal/model"
)

const head = `
fsm: 1
machine: desk
entity: Desk
requests: {request_id: required, expected_rev: optional}
otherwise: reject
`

// Each promise that can be broken is seen, at the nearest place and in the
// words of the file; mended, the machine is clean.
func TestPromises(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		src   string
		mend  [2]string
		what  string
		mark  string
		steps int
	}{
		{
			"an invariant that a step does not keep", `
fields: {owner: optional string, seats: counter}
states:
  open: {}
  full: {present: [owner], invariant: [seats >= 2]}
operations:
  add: {creates: open}
  sit: {from: open, to: same, increment: [seats]}
  close: {from: open, to: full, set: {owner: actor}}
  reopen: {from: full, to: open}
guards: {two: {when: seats >= 2, error: too_few}}
`, [2]string{"close: {from: open,", "close: {from: open, require: [two],"},
			"`seats >= 2` does not hold afterwards", "close", 2,
		},
		{
			"an invariant after a while only", `
fields: {seats: counter}
states:
  open: {invariant: [seats <= 2]}
  full: {terminal: true}
operations:
  add: {creates: open}
  sit: {from: open, to: same, increment: [seats]}
  close: {from: open, to: full}
guards: {room: {when: seats < 2, error: no_room}}
`, [2]string{"sit: {from: open,", "sit: {from: open, require: [room],"},
			"`seats <= 2` does not hold afterwards", "sit", 4,
		},
		{
			"an input that comes too late", `
fields: {opens: time, closes: optional time}
states:
  open: {}
  shut: {terminal: true, invariant: [opens < closes]}
guards: {after: {when: opens < input.closes, error: before}}
operations:
  add: {creates: open, set: {opens: input}}
  close: {from: open, to: shut, set: {closes: input}}
`, [2]string{"close: {from: open,", "close: {from: open, require: [after],"},
			"`opens < closes` does not hold afterwards", "close", 2,
		},
		{
			"branches that do not cover", `
states: {open: {}, shut: {terminal: true}}
operations:
  add: {creates: open}
  close:
    input: {how: calm|loud}
    from: open
    choose:
      - {when: input.how == calm, to: shut}
`, [2]string{"to: shut}", "to: shut}\n      - {to: same}"},
			"no branch fits the record", "close", 2,
		},
		{
			"a broken step of a chain", `
fields: {owner: optional string}
states: {open: {}, half: {}, shut: {terminal: true, present: [owner]}}
operations:
  add: {creates: open}
  close: {from: open, to: half, then: seal}
  seal: {by: system, from: half, to: shut}
`, [2]string{"to: half,", "to: half, set: {owner: actor},"},
			"seal: `owner is present` does not hold afterwards", "close", 2,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := parse(t, "desk.yaml", head+tt.src)
			r := model.Check(m, model.Options{})
			if v := r.Violation; v == nil || v.What != tt.what || v.Mark != tt.mark || len(v.Trace) != tt.steps || v.Pos != m.Operation(tt.mark).Pos {
				t.Errorf("want %q of %s in %d steps, got %s", tt.what, tt.mark, tt.steps, trace(t, m, r))
			}
			mended := strings.Replace(tt.src, tt.mend[0], tt.mend[1], 1)
			// What the mend needs of the present record may only come by another operation.
			if strings.Contains(tt.mend[1], "owner: actor") {
				mended = strings.Replace(mended, "half: {}", "half: {present: [owner]}", 1)
			}
			good := parse(t, "desk.yaml", head+mended)
			if r := model.Check(good, model.Options{}); r.Violation != nil {
				t.Errorf("mended: %s", trace(t, good, r))
			}
		})
	}
}

// The proof for any number of records and the search through a few say the same
// of the guards alone: where one finds a way past them, so does the other.
func TestAgreesWithCounting(t *testing.T) {
	t.Parallel()
	for _, guards := range []string{
		"job_not_committed, job_not_leased, attempts_left", "job_not_committed, attempts_left",
		"job_not_leased, attempts_left", "attempts_left", "job_not_committed, job_not_leased",
	} {
		m := shipped(t, "execution", require(guards)...)
		walk := count.Explore(m, m.Projection.Key, false)
		alone := shipped(t, "execution", append(require(guards), noUnique...)...)
		r := model.Check(alone, model.Options{Records: 4})
		broken := r.Violation != nil && strings.Contains(r.Violation.What, "applied 2 times")
		if broken != (len(walk.Broken) > 0) || (r.Violation != nil) != broken {
			t.Errorf("%s: counting finds %v, the search %s", guards, walk.Broken, trace(t, m, r))
		}
	}
}

// What lies beyond a bound is said.
func TestLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		o     model.Options
		limit string
	}{
		{"ingest", model.Options{Counter: 2}, "counters above 2"},
		{"execution", model.Options{MaxStates: 100}, "more than 100 states"},
		{"task", model.Options{}, ""},
	}
	for _, tt := range tests {
		m := shipped(t, tt.name)
		r := model.Check(m, tt.o)
		d, met := r.Limit(m)
		if met != (tt.limit != "") || met && (d.Code != "FSM802" || !strings.Contains(d.Message, tt.limit)) {
			t.Errorf("%s: %+v, want %q", tt.name, d, tt.limit)
		}
	}
}
