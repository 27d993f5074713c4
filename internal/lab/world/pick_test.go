package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// picking is a machine in which everything that can keep `next` from a record does.
var picking = oracle.Table{
	Machine: "picking", RequestID: "optional", ExpectedRev: "none",
	Matrix: `
        | (new)   | open    | begun   | closed
make    | -> open | .       | .       | .
take    | .       | choose  | refused | refused
run     | .       | refused | -> closed | refused
move    | .       | -> open | refused | refused
`,
	Fields: []oracle.Field{
		{Name: "room", Type: "optional string"},
		{Name: "kind", Type: "fine|rejected|recorded|barred|broken"},
		{Name: "number", Type: "sequence", Per: "room"},
	},
	States: []oracle.State{{Name: "open"}, {Name: "begun"}, {Name: "closed", Terminal: true}},
	Guards: []oracle.Guard{
		{Name: "not_barred", When: []string{"kind != barred"}, Error: "barred"},
		{Name: "room_free", Fewer: 1, Same: "room", In: "closed", Error: "full"},
		{Name: "not_broken", When: []string{"kind != broken"}, Error: "broken"},
	},
	Uniques: []oracle.Unique{{Name: "one_closed", Fields: "room", In: "closed", Error: "taken"}},
	Operations: []oracle.Operation{
		{Name: "make", Inputs: []oracle.Input{{Name: "room", Type: "optional string"}, {Name: "kind", Type: "fine|rejected|recorded|barred|broken"}}, Set: []string{"room: input or absent", "kind: input"}},
		{
			Name: "take", Require: "not_barred, room_free", OnRefusal: "record only", Picks: true, Order: "number", Effect: "carry", Atomic: true,
			Choose: []oracle.Branch{{When: []string{"kind == rejected"}, Reject: "not_this"}, {When: []string{"kind == recorded"}, RecordOnly: true}, {To: "begun"}},
			Then:   "run",
		},
		{Name: "run", By: "system", Require: "not_broken"},
		{Name: "move", Inputs: []oracle.Input{{Name: "room", Type: "optional string"}}, Set: []string{"room: input or absent"}},
	},
}

// pickWorld makes records of these kinds and rooms: "barred x", in their order.
func pickWorld(t *testing.T, records ...string) *World {
	t.Helper()
	m, err := Compile(picking)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(m)
	for i, text := range records {
		kind, room, _ := strings.Cut(text, " ")
		c := m.BaseCall(m.OpNamed("make"))
		c.ID, c.Inputs = fmt.Sprintf("r%d", i+1), map[string]any{"kind": kind}
		if room != "" {
			c.Inputs["room"] = room
		}
		if e := w.Create(m.OpNamed("make"), c); e.Code != "" {
			t.Fatalf("make %s: %s", text, e.Code)
		}
	}
	return w
}

func (w *World) picked(n int) string {
	o := w.M.OpNamed("take")
	var ids []string
	for _, e := range w.Pick(o, n, w.M.BaseCall(o)) {
		ids = append(ids, oracle.Or(string(e.Code), e.row.ID))
	}
	return strings.Join(ids, " ")
}

// A record whose step is refused is passed over, whatever refuses it; so is one
// that would only be recorded by a guard, but not one that a branch records.
func TestWorldPickPassesOver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		records []string
		n       int
		want    string
	}{
		{"the first", []string{"fine a", "fine b"}, 1, "r1"},
		{"a branch rejects", []string{"rejected a", "fine b"}, 1, "r2"},
		{"a guard records", []string{"barred a", "fine b"}, 1, "r2"},
		{"a branch records", []string{"recorded a", "fine b"}, 1, "r1"},
		{"a step of then is refused", []string{"broken a", "fine b"}, 1, "r2"},
		{"a guard, by what was picked before", []string{"fine a", "fine a", "fine b"}, 3, "r1 r3"},
		{"fewer than asked for", []string{"fine a", "rejected a", "fine b", "broken"}, 9, "r1 r3"},
		{"nothing", []string{"rejected a", "broken a", "barred"}, 2, "nothing_to_do"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := pickWorld(t, tt.records...)
			if got := w.picked(tt.n); got != tt.want {
				t.Errorf("picked %s, want %s", got, tt.want)
			}
		})
	}
}

// A place that is taken blocks its own record only. The guard over the same
// states would say so first, so it is left out.
func TestWorldPickPassesOverTakenPlaces(t *testing.T) {
	t.Parallel()
	w := pickWorld(t, "fine a", "fine a", "fine b")
	o := w.M.OpNamed("take")
	o.Guards = slices.DeleteFunc(o.Guards, func(g *oracle.GuardInfo) bool { return g.Name == "room_free" })
	for _, want := range []string{"r1", "r3", "nothing_to_do"} {
		if got := w.picked(1); got != want {
			t.Errorf("picked %s, want %s", got, want)
		}
	}
}

// An effect that fails is no refusal: it ends the pick and takes all of it back.
func TestWorldPickEndsWithTheEffect(t *testing.T) {
	t.Parallel()
	w := pickWorld(t, "fine a", "fine b")
	before := w.Clone()
	w.Fail["carry"] = true
	if got := w.picked(2); got != string(fsm.ErrEffect) || len(w.Log) != len(before.Log) || len(w.performed) > 0 {
		t.Errorf("picked %s, %d new events", got, len(w.Log)-len(before.Log))
	}
}

// The number of a sequence is unique in its group, whatever brings it there, and
// the next one follows all that the group has seen.
func TestSequenceIsAnIndex(t *testing.T) {
	t.Parallel()
	w := pickWorld(t, "fine a", "fine a", "fine a", "fine b", "fine")
	move := func(id, room string) Expected {
		o := w.M.OpNamed("move")
		c := w.M.BaseCall(o)
		if c.Inputs = map[string]any{}; room != "" {
			c.Inputs["room"] = room
		}
		return w.Call(o, id, 0, c)
	}
	for _, id := range []string{"r1", "r5"} {
		room := map[string]string{"r1": "b", "r5": "a"}[id]
		if e := move(id, room); e.Code != fsm.ErrNotUnique || e.Names[0] != "sequence_number" {
			t.Errorf("%s to %s: %q %q, want not_unique sequence_number", id, room, e.Code, e.Names)
		}
	}
	for _, step := range [][2]string{{"r1", ""}, {"r3", "b"}} {
		if e := move(step[0], step[1]); e.Code != "" {
			t.Errorf("%s to %q: %s", step[0], step[1], e.Code)
		}
	}
	o := w.M.OpNamed("make")
	for i, room := range []string{"a", "b"} {
		c := w.M.BaseCall(o)
		c.ID, c.Inputs = fmt.Sprintf("new-%d", i), map[string]any{"kind": "fine", "room": room}
		w.Create(o, c)
	}
	got := map[string]int64{}
	for id, r := range maps.All(w.Rows) {
		got[id] = r.Values[2].(int64)
	}
	want := map[string]int64{"r1": 1, "r2": 2, "r3": 3, "r4": 1, "r5": 1, "new-0": 4, "new-1": 4}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
}
