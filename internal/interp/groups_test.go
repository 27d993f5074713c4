package interp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/interp"
)

// lease makes an attempt at a job.
func (s *story) lease(id, job string, edit ...func(*interp.Call)) interp.Call {
	s.Helper()
	return s.call("lease", in{"job_id": interp.String(job), "lease_expires_at": interp.Time(s.now.Add(30e9))}, append(edit, record(id))...)
}

func (s *story) expire(id string) {
	s.Helper()
	s.does(s.call("expire", nil, record(id), when(s.w.Records[id].Value(s.m, s.m.Field("lease_expires_at")).AsTime())))
}

func TestStepNoneAndSequence(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "execution"))
	numbers := func(want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for id, r := range s.w.Records {
			got[id] = r.Value(s.m, s.m.Field("attempt")).String()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
	}
	s.does(s.lease("a", "j"))
	if refusal := s.refuses(s.lease("b", "j"), interp.CodeGuard); refusal.Guard != "job_not_leased" || refusal.Sentinel != "job_already_leased" {
		t.Errorf("refused with %v", refusal)
	}
	s.does(s.lease("c", "k")) // another job
	s.expire("a")
	s.does(s.lease("b", "j"))
	numbers(map[string]string{"a": "1", "b": "2", "c": "1"})

	s.does(s.call("start", nil, record("b")))
	s.does(s.call("commit", nil, record("b")))
	if refusal := s.refuses(s.lease("d", "j"), interp.CodeGuard); refusal.Guard != "job_not_committed" {
		t.Errorf("refused with %v", refusal)
	}
}

func TestStepFewer(t *testing.T) {
	t.Parallel()
	s := tell(t, shipped(t, "execution"))
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		s.does(s.lease(id, "j"))
		s.expire(id)
	}
	if refusal := s.refuses(s.lease("f", "j"), interp.CodeGuard); refusal.Guard != "attempts_left" {
		t.Errorf("refused with %v", refusal)
	}
	got := interp.Project(s.m, records(s))
	if len(got) != 1 || got[0].State != "failed" || got[0].Fields["attempt"] != interp.Int(5) {
		t.Errorf("projection %+v", got)
	}
}

func records(s *story) []interp.Record {
	var list []interp.Record
	for _, r := range s.w.Records {
		list = append(list, r)
	}
	return list
}

const seats = `
fsm: 1
machine: seat
entity: Seat
otherwise: reject
fields:
  room: optional string
  row: optional int
  limit: int
states:
  free: {}
  held: {}
  gone: {terminal: true}
guards:
  one_free_row: {fewer: {than: 2, same: [room, row], in: [held]}, error: row_full}
unique:
  one_holder:
    fields: [room, row]
    in: [held]
    error: taken
    message: somebody sits there
operations:
  add: {creates: free, set: {room: input or absent, row: input or absent, limit: 1}}
  hold: {from: free, to: held}
  rehold: {from: held, to: same}
  queue: {from: free, to: held, require: [one_free_row]}
  move: {from: held, to: same, set: {row: input}}
  leave: {from: [free, held], to: gone}
`

func TestStepUnique(t *testing.T) {
	t.Parallel()
	s := tell(t, parse(t, seats))
	add := func(id string, room, row interp.Value) {
		s.does(s.call("add", in{"room": room, "row": row}, record(id)))
	}
	add("a", interp.String("x"), interp.Int(1))
	add("b", interp.String("x"), interp.Int(1))
	add("c", interp.String("x"), interp.Int(2))
	add("d", interp.Absent, interp.Int(1))
	add("e", interp.Absent, interp.Int(1))
	s.does(s.call("hold", nil, record("a")))

	refusal := s.refuses(s.call("hold", nil, record("b")), interp.CodeNotUnique)
	if refusal.Name != "one_holder" || refusal.Sentinel != "taken" || refusal.Message != "somebody sits there" || refusal.State != "free" {
		t.Errorf("refused with %+v", refusal)
	}
	s.does(s.call("rehold", nil, record("a"))) // a record does not collide with itself
	s.does(s.call("hold", nil, record("c")))   // another row
	s.does(s.call("hold", nil, record("d")))
	s.does(s.call("hold", nil, record("e"))) // an absent field never collides
	s.refuses(s.call("move", in{"row": interp.Int(1)}, record("c")), interp.CodeNotUnique)
	s.does(s.call("leave", nil, record("a")))
	s.does(s.call("hold", nil, record("b"))) // the place is free again
}

// A guard over the same states decides before the index does.
func TestStepGuardBeforeUnique(t *testing.T) {
	t.Parallel()
	s := tell(t, parse(t, seats))
	for _, id := range []string{"a", "b", "c"} {
		s.does(s.call("add", in{"room": interp.String("x"), "row": interp.Int(1)}, record(id)))
	}
	s.does(s.call("queue", nil, record("a")))
	s.refuses(s.call("queue", nil, record("b")), interp.CodeNotUnique) // one other: below the limit of the guard
	for _, id := range []string{"b", "c"} {                            // a world that no index kept
		r := s.w.Records[id]
		r.State = s.m.State("held")
		s.w.Records[id] = r
	}
	b := s.w.Records["a"].In(s.m.State("free"))
	s.w.Records["a"] = b
	_, _, refusal := interp.Step(s.m, s.w, s.call("queue", nil, record("a")))
	if refusal == nil || refusal.Code != interp.CodeGuard || refusal.Guard != "one_free_row" {
		t.Errorf("got %v, want guard one_free_row", refusal)
	}
}

func TestProjectGroup(t *testing.T) {
	t.Parallel()
	m := shipped(t, "execution")
	attempt := func(state string, n int64) interp.Record {
		return interp.NewRecord(m, state).In(m.State(state)).With(m, "job_id", interp.String("j")).With(m, "attempt", interp.Int(n))
	}
	aborted := func(n int) []interp.Record {
		var list []interp.Record
		for i := range n {
			list = append(list, attempt("aborted", int64(i+1)))
		}
		return list
	}
	tests := []struct {
		name    string
		records []interp.Record
		state   string
		attempt interp.Value
	}{
		{"no attempt yet", nil, "pending", interp.Absent},
		{"all aborted, one left", aborted(4), "pending", interp.Int(4)},
		{"all aborted, none left", aborted(5), "failed", interp.Int(5)},
		{"one more aborted", aborted(6), "failed", interp.Int(6)},
		{"aborted and another live one", append(aborted(5), attempt("leased", 6)), "running", interp.Int(6)},
		{"committed", append(aborted(1), attempt("committed", 2)), "running", interp.Int(2)},
		{"done wins over what still runs", []interp.Record{attempt("done", 1), attempt("leased", 2)}, "succeeded", interp.Int(2)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := interp.ProjectGroup(m, tt.records)
			if got.State != tt.state || got.Fields["attempt"] != tt.attempt {
				t.Errorf("got %s with attempt %v, want %s with %v", got.State, got.Fields["attempt"], tt.state, tt.attempt)
			}
		})
	}
}

// `all` needs a record: a group without any is not all anything.
func TestProjectEmptyGroup(t *testing.T) {
	t.Parallel()
	m := shipped(t, "execution")
	rules := m.Projection.Rules
	rules[2].AtLeast = 0
	if got := interp.ProjectGroup(m, nil); got.State != "pending" {
		t.Errorf("an empty group is %s", got.State)
	}
}

func TestProjectGroupsByKey(t *testing.T) {
	t.Parallel()
	m := parse(t, `
fsm: 1
machine: leg
entity: Leg
otherwise: reject
fields:
  trip: optional string
  cost: optional int
states:
  planned: {}
  flown: {terminal: true}
operations:
  plan: {creates: planned, set: {trip: input or absent, cost: input or absent}}
  fly: {from: planned, to: flown}
projection:
  entity: Trip
  key: trip
  fields: {cheapest: min cost, dearest: max cost, legs: count}
  rules:
    - {state: open, none: [flown]}
    - {state: over, all: [flown], at_least: 2}
    - {state: short, all: [flown]}
    - {state: mixed}
`)
	leg := func(id, trip string, state string, cost interp.Value) interp.Record {
		r := interp.NewRecord(m, id).In(m.State(state)).With(m, "cost", cost)
		if trip != "" {
			r = r.With(m, "trip", interp.String(trip))
		}
		return r
	}
	got := interp.Project(m, []interp.Record{
		leg("1", "c", "flown", interp.Int(5)),
		leg("2", "b", "flown", interp.Int(7)),
		leg("3", "a", "planned", interp.Absent),
		leg("4", "b", "flown", interp.Int(3)),
		leg("5", "d", "planned", interp.Int(1)),
		leg("6", "d", "flown", interp.Absent),
		leg("7", "", "flown", interp.Int(1)), // no key: in no group
	})
	var lines []string
	for _, p := range got {
		lines = append(lines, p.Key[0].Text+" "+p.State+" "+p.Fields["cheapest"].String()+" "+p.Fields["dearest"].String()+" "+p.Fields["legs"].String())
	}
	want := []string{"a open absent absent 1", "b over 3 7 2", "c short 5 5 1", "d mixed 1 1 2"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}
