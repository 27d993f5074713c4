package spec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

// parcel uses what the tests of this file look at.
const parcel = `fsm: 1
machine: parcel
entity: Parcel
otherwise: reject
fields:
  owner: optional string
  due: optional time
  size: small|large
  tries: counter
states:
  waiting: {}
  moving: {present: [owner]}
  done: {terminal: true, otherwise: record_only}
guards:
  right_size: {when: [size == input.wanted, input.wanted != small], error: wrong_size}
  mine: {when: owner == actor, error: not_mine}
operations:
  make:
    creates: waiting
    set: {size: input, due: input or absent, tries: input}
  take:
    input: {wanted: small|large}
    from: waiting
    to: moving
    require: [right_size]
    set: {owner: actor, due: now + 2m}
    increment: [tries]
    event: taken
  touch:
    from: [waiting, moving]
    to: same
    set: {due: input or same}
    trigger: [after updated_at + 1d]
  finish:
    from: moving
    require: [mine]
    record_only_in: [done]
    choose:
      - {when: size == large, to: waiting, clear: [owner]}
      - {to: done}
`

func mustParse(t *testing.T, src string) *spec.Machine {
	t.Helper()
	m, ds := spec.Parse("parcel.yaml", []byte(src))
	if m == nil {
		t.Fatalf("findings:\n%v", ds)
	}
	return m
}

// TestResolved looks into a machine: what the goldens of the meaning do not
// show is bound to what it should, and stands where it should.
func TestResolved(t *testing.T) {
	t.Parallel()
	m := mustParse(t, parcel)
	if m.File != "parcel.yaml" || string(m.Source) != parcel || m.Pos != (spec.Pos{Line: 2, Col: 10}) || len(m.Hash) != 64 {
		t.Errorf("file %q, position %v, hash %q", m.File, m.Pos, m.Hash)
	}
	if m.RequestID != spec.Required || m.ExpectedRev != spec.Required || m.Version != 1 || m.Otherwise != spec.OtherwiseReject {
		t.Errorf("defaults: request_id %d, expected_rev %d, version %d, otherwise %d", m.RequestID, m.ExpectedRev, m.Version, m.Otherwise)
	}
	for i, s := range m.States {
		if s.Index != i || m.State(s.Name) != s {
			t.Errorf("state %s has index %d, want %d", s.Name, s.Index, i)
		}
	}
	size, take := m.Field("size"), m.Operation("take")

	guard := m.Guards[0]
	if in := guard.When[0].Right; in.Kind != spec.TermInput || in.Name != "wanted" || in.Input != nil {
		t.Errorf("the guard's own fact binds its input: %+v", in)
	}
	bound := take.Require[0]
	if bound.Guard != guard || bound.Pos != (spec.Pos{Line: 25, Col: 15}) {
		t.Errorf("require: guard %v at %v", bound.Guard.Name, bound.Pos)
	}
	if in := bound.When[0].Right; in.Input != take.Input("wanted") || in.Input == nil {
		t.Errorf("the operation's fact does not bind the input: %+v", in)
	}
	if w := bound.When[1].Right; w.Kind != spec.TermWord || w.Word != take.Input("wanted").Type.Values[0] {
		t.Errorf("the word is not bound to the values of the input: %+v", w)
	}
	if got, want := guard.When[1].Left.Pos, (spec.Pos{Line: 15, Col: 45}); got != want {
		t.Errorf("term at %v, want %v", got, want)
	}

	create := m.Operation("make")
	var inputs []string
	for _, in := range create.Inputs {
		inputs = append(inputs, in.Name)
		if in.Declared || in.Field != m.Field(in.Name) {
			t.Errorf("input %s: declared %t, field %v", in.Name, in.Declared, in.Field)
		}
	}
	if diff := cmp.Diff([]string{"size", "due", "tries"}, inputs); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	if in := create.Input("tries"); in.Type.Kind != spec.KindInt || in.Type.Min == nil || *in.Type.Min != 0 || in.Type.Optional {
		t.Errorf("input of a counter: %+v", in.Type)
	}
	if in := create.Input("due"); !in.Type.Optional || in.Type.Kind != spec.KindTime {
		t.Errorf("input or absent: %+v", in.Type)
	}
	if in := create.Input("size"); in.Type.Optional || in.Type.Values[0] != size.Type.Values[0] {
		t.Errorf("input of an enum: %+v", in.Type)
	}
	if v := take.Effects.Set[1].Value; v.Kind != spec.ValueNow || v.Plus != 2*time.Minute || v.Text != "now + 2m" {
		t.Errorf("now + 2m: %+v", v)
	}
	if take.Event != "taken" || create.Event != "make" || create.EventPos != create.Pos {
		t.Errorf("events %q, %q", take.Event, create.Event)
	}
	touch := m.Operation("touch")
	if !touch.Same || touch.To != nil || !touch.Input("due").Type.Optional {
		t.Errorf("touch: same %t, to %v", touch.Same, touch.To)
	}
	if tr := touch.Triggers[0]; tr.After == nil || !tr.After.Builtin || tr.Plus != 24*time.Hour {
		t.Errorf("trigger: %+v", tr)
	}

	classes := map[string]spec.Class{
		"waiting take": spec.Transition, "moving take": spec.Reject, "done take": spec.RecordOnly,
		"done finish": spec.RecordOnly, "moving finish": spec.Transition, "waiting make": spec.Reject,
	}
	for cell, want := range classes {
		state, op, _ := strings.Cut(cell, " ")
		if got := m.Class(m.State(state), m.Operation(op)); got != want {
			t.Errorf("%s: %v, want %v", cell, got, want)
		}
	}
	for _, o := range m.Operations {
		for i, got := range m.Row(o) {
			if want := m.Class(m.States[i], o); got != want {
				t.Errorf("row of %s: %v in %s, want %v", o.Name, got, m.States[i].Name, want)
			}
		}
	}
}

// TestHash changes the file where the meaning stays and where it does not.
func TestHash(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		old, new string
		same     bool
	}{
		{"comment", "entity: Parcel", "entity: Parcel # one", true},
		{"doc", "  waiting: {}", "  waiting: {doc: it waits}", true},
		{"message", "error: not_mine", "error: not_mine, message: it is not yours", true},
		{"order of states", "  waiting: {}\n  moving: {present: [owner]}\n", "  moving: {present: [owner]}\n  waiting: {}\n", true},
		{"order of a list", "[waiting, moving]", "[moving, waiting]", true},
		{"blanks of a fact", "owner == actor", "owner==actor", true},
		{"duration in another unit", "now + 2m", "now + 120s", true},
		{"scalar and list", "from: moving", "from: [moving]", true},
		{"default written out", "otherwise: reject\nfields", "otherwise: reject\nversion: 1\nfields", true},
		{"order of branches", "      - {when: size == large, to: waiting, clear: [owner]}\n      - {to: done}\n", "      - {to: done}\n      - {when: size == large, to: waiting, clear: [owner]}\n", false},
		{"version", "otherwise: reject\nfields", "otherwise: reject\nversion: 2\nfields", false},
		{"comparison", "owner == actor", "owner != actor", false},
		{"duration", "now + 2m", "now + 3m", false},
		{"target", "to: moving\n    require", "to: same\n    require", false},
		{"former name", "  waiting: {}", "  waiting: {was: parked}", false},
		{"type", "due: optional time", "due: optional time\n  extra: bool", false},
		{"error", "not_mine", "not_yours", false},
		{"event", "event: taken", "event: took", false},
		{"cell", "    record_only_in: [done]\n", "", false},
		{"required request", "otherwise: reject\nfields", "otherwise: reject\nrequests: {request_id: none}\nfields", false},
	}
	want := mustParse(t, parcel).Hash
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := strings.Replace(parcel, tt.old, tt.new, 1)
			if src == parcel {
				t.Fatalf("%q is not in the file", tt.old)
			}
			if got := mustParse(t, src).Hash; (got == want) != tt.same {
				t.Errorf("same hash: %t, want %t", got == want, tt.same)
			}
		})
	}
}

// TestCodes holds the list of codes to what the goldens of the broken
// specifications show.
func TestCodes(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, text := range archiveTexts(t) {
		_, ds := spec.Parse("a.yaml", []byte(text))
		for _, d := range ds {
			seen[d.Code] = true
		}
	}
	_, ds := spec.Parse("a.yaml", []byte("\x00"))
	seen[ds[0].Code] = true
	last := ""
	for _, c := range spec.Codes {
		if c.ID <= last || c.Title == "" {
			t.Errorf("code %s after %s, title %q", c.ID, last, c.Title)
		}
		if !seen[c.ID] {
			t.Errorf("no broken specification shows %s, %s", c.ID, c.Title)
		}
		delete(seen, c.ID)
		last = c.ID
	}
	if len(seen) > 0 {
		t.Errorf("codes that are not listed: %v", seen)
	}
}
