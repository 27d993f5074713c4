package interp_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

const parcels = `
fsm: 1
machine: parcel
entity: Parcel
otherwise: reject
requests: {request_id: optional, expected_rev: optional}
fields:
  code: optional string
  shelf: optional string
  due: optional time
  why: optional string
states:
  stored: {}
  late: {}
  gone: {terminal: true}
unique:
  one_per_shelf: {fields: [code, shelf], in: [stored, late], error: shelf_taken}
guards:
  with_code: {when: code is present, error: no_code}
operations:
  store:
    creates: stored
    dedupe_by: one_per_shelf
    set: {code: input or absent, shelf: input or absent, due: input or absent}
    effect: {name: print_label, key: [code, shelf]}
  lapse:
    by: system
    from: stored
    to: late
    trigger: [after due]
    set: {why: input, due: input or absent}
  fetch: {from: [stored, late], to: gone, effect: {name: tell_owner, then: forget}}
  forget: {by: system, from: gone, to: same, require: [with_code], clear: [shelf]}
`

// parcelMachine has a step after a terminal state, which the checks refuse: the
// meaning of a step does not depend on them.
func parcelMachine(t testing.TB) *spec.Machine {
	t.Helper()
	m, found := spec.Parse("parcels.yaml", []byte(parcels))
	if found.HasErrors() {
		t.Fatal(found)
	}
	return m
}

func TestDedupeByAUniqueRule(t *testing.T) {
	t.Parallel()
	s := tell(t, parcelMachine(t))
	store := func(id, code, shelf string) interp.Call {
		return s.call("store", in{"code": interp.String(code), "shelf": interp.String(shelf)}, record(id))
	}
	s.does(store("a", "x", "1"))
	if out := s.does(store("b", "x", "1")); !out.Existing || out.Record.ID != "a" {
		t.Errorf("outcome %+v", out)
	}
	if out := s.does(store("b", "x", "2")); out.Existing {
		t.Errorf("another shelf: %+v", out)
	}
	s.does(s.call("fetch", nil, record("a")))
	if out := s.does(store("c", "x", "1")); out.Existing {
		t.Errorf("the rule does not cover gone records: %+v", out)
	}
}

func TestDeliveryWithoutAStepBehindIt(t *testing.T) {
	t.Parallel()
	s := tell(t, parcelMachine(t))
	s.does(s.call("store", in{"code": interp.String("x"), "shelf": interp.String("1")}))
	s.does(s.call("lapse", in{"why": interp.String("forgotten")}))
	if len(s.w.Outbox) != 1 {
		t.Fatalf("the label is to be printed although the record moved on: %v", s.w.Outbox)
	}
	label := s.w.Outbox[0]
	if label.Key != `"x"/"1"` || label.Rev != 1 {
		t.Errorf("delivery %+v", label)
	}
	out, w, refusal := interp.Deliver(s.m, s.w, label, at(9))
	if refusal != nil || len(w.Outbox) != 0 || len(out.Events) != 0 || out.Record.Rev != 2 {
		t.Errorf("delivered %+v, %v", out, refusal)
	}
	if len(s.w.Outbox) != 1 {
		t.Error("the old world was changed")
	}
}

// When the step behind an effect is refused the delivery stays: it will be
// tried again.
func TestDeliveryWhoseStepIsRefused(t *testing.T) {
	t.Parallel()
	s := tell(t, parcelMachine(t))
	s.does(s.call("store", nil))
	s.does(s.call("fetch", nil))
	waiting := s.w.Outbox[len(s.w.Outbox)-1]
	_, w, refusal := interp.Deliver(s.m, s.w, waiting, at(9))
	if refusal == nil || refusal.Code != interp.CodeGuard || refusal.Guard != "with_code" || len(w.Outbox) != len(s.w.Outbox) {
		t.Errorf("got %v, outbox %v", refusal, w.Outbox)
	}
}

// A source computes the inputs of a triggered operation; a second sweeper may
// compute others and is still the same request.
func TestInputsOfATriggeredOperationAreNoPartOfTheRequest(t *testing.T) {
	t.Parallel()
	s := tell(t, parcelMachine(t))
	s.does(s.call("store", in{"due": interp.Time(at(5))}))
	c := s.call("lapse", in{"why": interp.String("one")})
	s.does(c)
	c.Inputs = in{"why": interp.String("two")}
	if out := s.does(c); !out.Replayed || out.Record.Value(s.m, s.m.Field("why")) != interp.String("one") {
		t.Errorf("outcome %+v", out)
	}
}

// Every input that is no deadline tells one request from another, also whether
// it was sent at all.
func TestFingerprintCoversInputs(t *testing.T) {
	t.Parallel()
	s := tell(t, parcelMachine(t))
	base := in{"code": interp.String("x"), "shelf": interp.String("1"), "due": interp.Time(at(5))}
	c := s.call("store", base)
	s.does(c)
	tests := []struct {
		name string
		edit in
		same bool
	}{
		{"the same", nil, true},
		{"another deadline", in{"due": interp.Time(at(6))}, true},
		{"no deadline", in{"due": interp.Absent}, true},
		{"another code", in{"code": interp.String("y")}, false},
		{"no code", in{"code": interp.Absent}, false},
		{"an empty code", in{"code": interp.String("")}, false},
		{"one text cut otherwise", in{"code": interp.String("x1"), "shelf": interp.String("")}, false},
	}
	for _, tt := range tests {
		inputs := in{}
		for k, v := range base {
			inputs[k] = v
		}
		for k, v := range tt.edit {
			inputs[k] = v
		}
		again := c
		again.Inputs = inputs
		_, _, refusal := interp.Step(s.m, s.w, again)
		if got := refusal == nil; got != tt.same || !got && refusal.Code != interp.CodeRequestReused {
			t.Errorf("%s: %v", tt.name, refusal)
		}
	}
}

// TestTextThatNoStoreHolds tells a call with a lost text from a request that was used: it cannot
// be compared with what was recorded.
func TestTextThatNoStoreHolds(t *testing.T) {
	t.Parallel()
	s := tell(t, parcelMachine(t))
	s.does(s.call("store", in{"code": interp.String("x"), "shelf": interp.String("1")}))
	lapse := s.call("lapse", in{"why": interp.String("forgotten")})
	lapse.ExpectedRev = 1
	s.does(lapse)
	for why, want := range map[string]string{
		"another":  interp.CodeRequestReused,
		"":         interp.CodeRequestReused, // missing, which comes after the request
		"lost\x00": interp.CodeInvalidInput,
	} {
		lapse.Reason, lapse.Inputs = "asked for", in{"why": interp.String(why)}
		if _, _, refusal := interp.Step(s.m, s.w, lapse); refusal == nil || refusal.Code != want {
			t.Errorf("why %q: %v, want %s", why, refusal, want)
		}
	}
}
