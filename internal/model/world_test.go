package model

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// The checker leaves out what makes no difference, remembers decisions, and
// looks for other records on its own. Here it walks beside the interpreter's
// world of records and logs: what it lets happen is accepted there and leads to
// the same records, what it does not is refused or changes nothing, and a
// request that comes again is known.
func TestWalksBesideTheInterpreter(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, name := range []string{"execution", "ingest", "jobstate", "lifecycle", "task"} {
		b, err := os.ReadFile("../../specs/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	for _, name := range []string{"ticket"} {
		b, err := os.ReadFile("../lab/fuzzmachines/testdata/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	files["ordered"], files["labelled"], files["reaching"] = ordered, labelled, reaching
	for name, src := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, found := spec.Parse(name, []byte(src))
			if m == nil || found.HasErrors() {
				t.Fatal(found)
			}
			taken, refused := 0, 0
			for seed := range uint64(40) {
				w := newWalk(t, m, seed)
				for range 40 {
					w.step()
				}
				taken, refused = taken+w.taken, refused+w.refused
			}
			if taken < 200 || refused < 100 {
				t.Errorf("%d calls taken and %d refused: the walks see too little", taken, refused)
			}
		})
	}
}

// reaching adds lengths to a time, and takes it from the clock.
const reaching = `
fsm: 1
machine: reaching
entity: Reaching
otherwise: reject
fields: {limit: {type: duration 1s..1h, default: 30s}, tries: {type: counter, changed_by: [pause]}, beat: optional time, idle: optional duration}
states: {idle: {absent: [beat]}, running: {present: [beat]}, late: {present: [beat, idle]}}
guards:
  in_time: {when: now < beat + limit, error: too_late}
  waited: {when: now >= beat + backoff 1s to 1h by tries, error: too_soon}
  behind: {when: now >= beat, error: clock}
operations:
  make: {creates: idle, set: {limit: input or default}}
  begin: {from: idle, to: running, set: {beat: now}}
  beat: {from: running, to: same, require: [in_time], set: {beat: now}}
  lapse: {by: system, from: running, to: late, require: [behind], set: {idle: now - beat}, trigger: [after beat + limit]}
  pause: {from: [running, late], to: idle, require: [waited], increment: [tries], clear: [beat, idle]}
`

// ordered compares times of a record with each other, and with inputs.
const ordered = `
fsm: 1
machine: booking
entity: Booking
requests: {request_id: required, expected_rev: optional}
otherwise: reject
fields:
  room: string
  opens: time
  closes: optional time
  seen: optional time
states:
  free: {}
  held: {present: [closes]}
  gone: {terminal: true}
guards:
  in_order: {when: opens < input.closes, error: out_of_order}
  later: {when: closes < input.closes, error: not_later}
  unseen: {when: seen < closes, error: seen_already}
  open: {when: opens <= now, error: closed}
operations:
  add: {creates: free, set: {room: input, opens: input}}
  hold: {from: free, to: held, require: [in_order], set: {closes: input}}
  extend: {from: held, to: same, require: [later], set: {closes: input}}
  look: {from: held, to: same, require: [open], set: {seen: now + 1h}}
  drop: {from: held, to: free, require: [unseen], set: {opens: now}, clear: [closes, seen]}
  end: {by: system, from: [free, held], to: gone}
`

// labelled has an index of `dedupe_by` that other operations meet, and a sequence
// whose records go to other groups.
const labelled = `
fsm: 1
machine: crate
entity: Crate
requests: {request_id: required, expected_rev: optional}
otherwise: reject
fields:
  yard: string
  label: optional string
  number: {type: sequence, per: yard}
states:
  free: {}
  full: {}
  gone: {terminal: true}
guards:
  other_yard: {when: yard != input.yard, error: there_already}
  labelled: {when: label is present, error: not_labelled}
unique:
  one_full: {fields: yard, in: [full], error: yard_taken}
operations:
  add: {creates: free, dedupe_by: label, set: {yard: input, label: input or absent}}
  copy: {creates: free, set: {yard: input, label: input or absent}}
  rename: {from: [free, full], to: same, set: {label: input or absent}}
  fill: {from: free, to: full, require: [labelled], next: {order: [number]}}
  move: {from: [free, full], to: same, require: [other_yard], set: {yard: input}}
  leave: {from: [free, full], to: gone}
`

type walk struct {
	t       *testing.T
	m       *spec.Machine
	c       *checker
	now     *state
	world   interp.World
	real    *teller
	sent    []interp.Call // accepted, with request id
	random  *rand.Rand
	number  int
	taken   int
	refused int
}

func newWalk(t *testing.T, m *spec.Machine, seed uint64) *walk {
	c := newChecker(m, Defaults(m, Options{Records: 3, Groups: 2}))
	return &walk{
		t: t, m: m, c: c, now: &state{effects: make([]uint32, len(c.effects))}, real: &teller{t: c.t},
		random: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // a walk that can be told again
	}
}

func (w *walk) id(i int) string { return fmt.Sprintf("r%d", i+1) }

// step makes one random move in both, and tries a call that the checker does
// not let happen.
func (w *walk) step() {
	var moves []move
	var after []*state
	w.c.successors(w.now, func(v move, next *state) bool {
		if v.wrong != "" {
			w.t.Fatalf("%s: %s", v.op.Name, v.wrong)
		}
		moves, after = append(moves, v), append(after, next.clone())
		return true
	})
	w.tryOther(moves)
	if len(w.sent) > 0 && w.random.IntN(3) == 0 {
		w.again()
	}
	if len(moves) == 0 {
		return
	}
	n := w.random.IntN(len(moves))
	v, next := moves[n], after[n]
	i := v.slot
	var seen interp.Record
	if i < len(w.now.slots) {
		seen = w.c.t.locals[w.now.slots[i].local].record
	}
	switch v.kind {
	case movePass:
		after := w.c.t.locals[next.slots[i].local].record
		var s Step
		for k, f := range w.m.Fields {
			if seen.Fields[k] != after.Fields[k] {
				s.stood(w.c.t.pools, f, seen.Fields[k], after.Fields[k])
			}
		}
		w.real.pass(i, s)
	case movePerform: // the world outside
	case moveDeliver:
		d := w.world.Outbox[slices.IndexFunc(w.world.Outbox, func(d interp.Delivery) bool { return d.ID == w.id(i) })]
		_, world, refusal := interp.Deliver(w.m, w.world, d, w.real.clock(i))
		if refusal != nil {
			w.t.Fatalf("delivery for %s: %v", w.id(i), refusal)
		}
		w.world = world
	case moveCall:
		clock := slices.Clone(w.real.clocks)
		c := w.call(i, v, seen)
		out, world, refusal := interp.Step(w.m, w.world, c)
		if refusal != nil && strings.HasPrefix(refusal.Name, "sequence_") { // the checker does not tell numbers apart
			w.real.clocks = clock[:min(len(clock), len(w.now.slots))]
			w.refused++
			return
		}
		if refusal != nil || out.Existing || out.Replayed {
			w.t.Fatalf("%s of %s: %v, outcome %+v", v.op.Name, c.ID, refusal, out)
		}
		w.world = world
		w.taken++
		if c.RequestID != "" {
			w.sent = append(w.sent, c)
		}
	}
	w.now = next
	w.compare(v)
}

// call makes the call of a move.
func (w *walk) call(i int, v move, seen interp.Record) interp.Call {
	c := w.real.call(i, w.c.t.calls[v.call].call, seen)
	w.number++
	c.ID = w.id(i)
	if v.op.By == spec.BySystem {
		c.Actor = ""
	} else if w.m.RequestID != spec.None {
		c.RequestID = fmt.Sprintf("q%d", w.number)
	}
	if w.m.ExpectedRev != spec.None {
		c.ExpectedRev = w.world.Records[c.ID].Rev
	}
	return c
}

// compare holds every record of the world against its local.
func (w *walk) compare(v move) {
	for i, x := range w.now.slots {
		r := w.world.Records[w.id(i)]
		w.real.records[i] = r
		if got := w.real.like(i, r); got != x.local {
			w.t.Fatalf("after %v (kind %d) record %d is\n%+v\nin the world, and in the checker\n%+v", w.c.t.calls[v.call].op.Name, v.kind, i+1, w.c.t.locals[got].record, w.c.t.locals[x.local].record)
		}
	}
}

// tryOther sends a call that is not among the moves: the world does not move.
func (w *walk) tryOther(moves []move) {
	n := int32(w.random.IntN(len(w.c.t.calls))) //nolint:gosec // a handful
	op := w.c.t.calls[n].op
	i := len(w.now.slots)
	if len(op.Creates) == 0 {
		if i == 0 || interp.Internal(w.m, op) {
			return
		}
		i = w.random.IntN(i)
	} else if w.c.full(w.now) {
		return
	}
	same := func(v move) bool {
		return v.kind == moveCall && v.call == n && (v.slot == i || v.slot < len(w.now.slots) && i < len(w.now.slots) && w.now.slots[v.slot] == w.now.slots[i])
	}
	if slices.ContainsFunc(moves, same) {
		return
	}
	var seen interp.Record
	if i < len(w.now.slots) {
		seen = w.c.t.locals[w.now.slots[i].local].record
	}
	clock := slices.Clone(w.real.clocks)
	c := w.call(i, move{op: op, call: n, slot: i}, seen)
	out, world, refusal := interp.Step(w.m, w.world, c)
	if i == len(w.now.slots) || refusal != nil { // nothing was written at that instant
		w.real.clocks = clock
		w.real.records = w.real.records[:len(clock)]
	}
	switch {
	case refusal != nil || out.Existing:
		w.refused++
	case out.RecordOnly:
		w.refused++
		w.world = world
		w.real.clocks = clock
	default:
		r := world.Records[c.ID]
		if len(op.Creates) == 0 && w.real.like(i, r) == w.now.slots[i].local || w.bounded(r) {
			w.real.clocks = clock // it changes nothing that matters, or is beyond the bound
			return
		}
		w.t.Fatalf("%s of %s is no move of the checker, but leads to %+v\nfrom %+v", op.Name, c.ID, r, seen)
	}
}

// bounded reports whether a counter is beyond what is looked at.
func (w *walk) bounded(r interp.Record) bool { return w.c.t.aboveBound(r) }

// again sends a request that was accepted a second time.
func (w *walk) again() {
	c := w.sent[w.random.IntN(len(w.sent))]
	out, world, refusal := interp.Step(w.m, w.world, c)
	if refusal != nil || !out.Replayed || len(world.Log) != len(w.world.Log) {
		w.t.Fatalf("%s again: %v, outcome %+v", c.Op.Name, refusal, out)
	}
}
