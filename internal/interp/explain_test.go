package interp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// What is said of a fact is what decides it.
func TestCauses(t *testing.T) {
	t.Parallel()
	m := shipped(t, "lifecycle")
	start := m.Operation("start")
	r := interp.NewRecord(m, "a").In(m.State("claimed")).With(m, "owner", interp.String("w1"))
	facts := start.Require[0].When
	for _, actor := range []string{"w1", "w2"} {
		c := interp.Call{Op: start, Actor: actor, At: at(1)}
		got := interp.Causes(m, facts, r, c)
		want := []interp.Cause{{Fact: facts[0], Holds: actor == "w1", Left: interp.String("w1"), Right: interp.String(actor)}}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *spec.Fact) bool { return a == b })); diff != "" {
			t.Errorf("%s, -want +got:\n%s", actor, diff)
		}
		if got[0].Holds != interp.Holds(m, facts[0], r, c) {
			t.Errorf("%s: a cause says something else than the fact", actor)
		}
	}
}

// A group is the other records with the same fields that are in the states.
func TestGroup(t *testing.T) {
	t.Parallel()
	m := shipped(t, "execution")
	var guard *spec.Guard
	for _, g := range m.Guards {
		if g.Peers != nil && len(g.Peers.Same) == 1 {
			guard = g
		}
	}
	field := guard.Peers.Same[0].Field
	in := guard.Peers.In[0].State
	record := func(id, key string, s *spec.State) interp.Record {
		return interp.NewRecord(m, id).In(s).With(m, field.Name, interp.String(key))
	}
	w := interp.World{Records: map[string]interp.Record{}}
	for _, r := range []interp.Record{record("b", "k", in), record("a", "k", in), record("c", "other", in), record("self", "k", in)} {
		w.Records[r.ID] = r
	}
	var ids []string
	for _, r := range w.Group(m, guard.Peers.Same, guard.Peers.In, w.Records["self"]) {
		ids = append(ids, r.ID)
	}
	if diff := cmp.Diff([]string{"a", "b"}, ids); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := len(w.Group(m, guard.Peers.Same, nil, interp.NewRecord(m, "new"))); n != 0 {
		t.Errorf("a record without a key has %d others", n)
	}
}
