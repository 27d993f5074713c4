package interp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/interp"
)

const desks = `
fsm: 1
machine: desk
entity: Desk
requests: {request_id: optional, expected_rev: optional}
otherwise: reject
fields:
  room: optional string
  label: optional string
  number: {type: sequence, per: room}
states:
  free: {}
  held: {}
  gone: {terminal: true}
unique:
  one_held: {fields: room, in: [held], error: room_taken}
operations:
  add: {creates: free, dedupe_by: label, set: {room: input or absent, label: input or absent}}
  copy: {creates: free, set: {room: input or absent, label: input or absent}}
  hold: {from: free, to: held, next: {order: [number]}}
  rename: {from: [free, held], to: same, set: {label: input or absent}}
  move: {from: [free, held], to: same, set: {room: input or absent}}
  leave: {from: [free, held], to: gone}
`

func texts(room, label string) in {
	values := in{}
	for name, text := range map[string]string{"room": room, "label": label} {
		if text != "" {
			values[name] = interp.String(text)
		}
	}
	return values
}

// The fields of `dedupe_by` are unique over all states, and every operation that
// sets them meets the index: the creation itself finds the record that is there.
func TestDedupeIsAnIndex(t *testing.T) {
	t.Parallel()
	s := tell(t, parse(t, desks))
	s.does(s.call("add", texts("", "blue"), record("a")))
	if out := s.does(s.call("add", texts("", "blue"), record("b"))); !out.Existing || out.Record.ID != "a" {
		t.Errorf("the creation made %+v, want the record that is there", out.Record)
	}
	met := func(refusal *interp.Refusal) {
		t.Helper()
		if refusal.Name != "dedupe_add" || refusal.Sentinel != "" {
			t.Errorf("refused with %+v, want the rule dedupe_add", refusal)
		}
	}
	met(s.refuses(s.call("copy", texts("", "blue"), record("c")), interp.CodeNotUnique))
	s.does(s.call("copy", texts("", "red"), record("c")))
	s.does(s.call("copy", texts("", ""), record("d"))) // absent values are no duplicates
	s.does(s.call("copy", texts("", ""), record("e")))
	met(s.refuses(s.call("rename", texts("", "blue"), record("c")), interp.CodeNotUnique))
	s.does(s.call("rename", texts("", "blue"), record("a"))) // a record does not collide with itself
	s.does(s.call("leave", nil, record("a")))
	met(s.refuses(s.call("rename", texts("", "blue"), record("c")), interp.CodeNotUnique)) // also in a terminal state
}

// No operation ends in a number that another record of the group has: one that
// comes from another group with it is refused.
func TestSequenceIsAnIndex(t *testing.T) {
	t.Parallel()
	s := tell(t, parse(t, desks))
	for _, id := range []string{"a", "b", "c"} {
		s.does(s.call("add", texts("x", ""), record(id)))
	}
	s.does(s.call("add", texts("y", ""), record("d")))
	s.does(s.call("add", texts("", ""), record("e")))
	refusal := s.refuses(s.call("move", texts("y", ""), record("a")), interp.CodeNotUnique)
	if refusal.Name != "sequence_number" {
		t.Errorf("refused with %+v, want the rule sequence_number", refusal)
	}
	s.refuses(s.call("move", texts("x", ""), record("e")), interp.CodeNotUnique)
	s.does(s.call("move", texts("", ""), record("a"))) // in no group, as e: absent values are no duplicates
	s.does(s.call("move", texts("y", ""), record("c")))

	// What comes next follows both the numbers that came from elsewhere and
	// those whose records went away.
	s.does(s.call("add", texts("y", ""), record("f")))
	s.does(s.call("add", texts("x", ""), record("g")))
	got := map[string]string{}
	for id, r := range s.w.Records {
		got[id] = r.Value(s.m, s.m.Field("room")).String() + " " + r.Value(s.m, s.m.Field("number")).String()
	}
	want := map[string]string{"a": "absent 1", "b": `"x" 2`, "c": `"y" 3`, "d": `"y" 1`, "e": "absent 1", "f": `"y" 4`, "g": `"x" 4`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}

// A record whose place is taken is passed over, and the next one is picked: one
// that is blocked does not keep the others back.
func TestPickPassesOverTakenPlaces(t *testing.T) {
	t.Parallel()
	s := tell(t, parse(t, desks))
	for _, d := range [][2]string{{"a", "x"}, {"b", "x"}, {"c", "x"}, {"d", "y"}} {
		s.does(s.call("add", texts(d[1], ""), record(d[0])))
	}
	s.does(s.call("move", texts("z", ""), record("c")))
	for _, want := range []string{"a", "d", "c"} { // by number; a and d have 1, b is blocked by a
		if out := s.does(s.call("hold", nil, pick)); out.Record.ID != want {
			t.Errorf("picked %s, want %s", out.Record.ID, want)
		}
	}
	s.refuses(s.call("hold", nil, record("b")), interp.CodeNotUnique)
	s.refuses(s.call("hold", nil, pick), interp.CodeNothingToDo)
	s.does(s.call("leave", nil, record("a")))
	if out := s.does(s.call("hold", nil, pick)); out.Record.ID != "b" {
		t.Errorf("picked %s, want b, whose place is free now", out.Record.ID)
	}
}

// So is one that a branch rejects, that a guard would only record, and one that a
// step of `then` refuses. A branch that records only is an outcome like any other.
func TestPickPassesOverRefusals(t *testing.T) {
	t.Parallel()
	m := parse(t, `
fsm: 1
machine: job
entity: Job
requests: {request_id: optional, expected_rev: optional}
otherwise: reject
fields:
  kind: fine|rejected|recorded|barred|broken
  rank: optional int
states:
  waiting: {}
  begun: {}
  taken: {terminal: true}
guards:
  not_barred: {when: kind != barred, error: barred}
  not_broken: {when: kind != broken, error: broken}
operations:
  put: {creates: waiting, set: {kind: input, rank: input or absent}}
  take:
    from: waiting
    require: [not_barred]
    on_refusal: record_only
    next: {order: [rank]}
    choose:
      - {when: kind == rejected, reject: not_this}
      - {when: kind == recorded, record_only: true}
      - {to: begun}
    then: run
  run: {by: system, from: begun, to: taken, require: [not_broken]}
`)
	s := tell(t, m)
	put := func(id, kind string, rank interp.Value) {
		s.does(s.call("put", in{"kind": interp.Word(kind), "rank": rank}, record(id)))
	}
	put("absent", "fine", interp.Absent)
	put("rejected", "rejected", interp.Int(1))
	put("barred", "barred", interp.Int(2))
	put("broken", "broken", interp.Int(3))
	put("second", "fine", interp.Int(5))
	put("first", "fine", interp.Int(4))
	for _, want := range []string{"first", "second", "absent"} { // absent values come last
		out := s.does(s.call("take", nil, pick))
		if out.Record.ID != want || out.Record.State.Name != "taken" || len(out.Events) != 2 {
			t.Errorf("picked %+v with %d events, want %s", out.Record, len(out.Events), want)
		}
	}
	s.refuses(s.call("take", nil, pick), interp.CodeNothingToDo)
	put("recorded", "recorded", interp.Int(9))
	if out := s.does(s.call("take", nil, pick)); out.Record.ID != "recorded" || !out.RecordOnly {
		t.Errorf("picked %+v, want the one that is recorded", out.Record)
	}
}
