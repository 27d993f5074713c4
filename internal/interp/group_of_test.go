package interp_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// A guard counts the records of the value that the call names, whatever the record stores.
func TestGroupOfTheCall(t *testing.T) {
	t.Parallel()
	for whose, refused := range map[string]map[string]bool{ // by who calls and for whom
		"borrower: actor":                 {"ann bob": true, "bob ann": false, "ann none": true},
		"borrower: input.reader":          {"ann bob": false, "bob ann": true, "ann none": false},
		"borrower: \"'ann'\"":             {"bob bob": true},
		"borrower: last":                  {"bob bob": true, "bob none": true},
		"borrower: actor, place: place":   {"ann bob": false},
		"borrower: actor, place: \"'b'\"": {"ann bob": true},
	} {
		m := parseAny(t, `
fsm: 1
machine: copy
entity: Copy
otherwise: reject
fields: {place: string, borrower: optional string, last: optional string}
states: {on_shelf: {absent: [borrower]}, on_loan: {present: [borrower]}, gone: {terminal: true}}
guards: {few: {fewer: {than: 2, same: {`+whose+`}, in: [on_loan]}, error: too_many}}
operations:
  acquire: {creates: on_shelf, set: {place: input, last: input or absent}}
  check_out: {from: on_shelf, to: on_loan, require: [few], input: {reader: optional string}, set: {borrower: actor, last: actor}}
  give_back: {from: on_loan, to: on_shelf, clear: [borrower]}
  withdraw: {from: on_shelf, to: gone}
`)
		w := interp.World{Records: map[string]interp.Record{}}
		for _, id := range []string{"x", "y"} {
			w.Records[id] = interp.NewRecord(m, id).In(m.State("on_loan")).
				With(m, "borrower", interp.String("ann")).With(m, "place", interp.String("b"))
		}
		self := interp.NewRecord(m, "self").In(m.State("on_shelf")).With(m, "last", interp.String("ann")).With(m, "place", interp.String("a"))
		self.Rev = 1
		w.Records["self"] = self
		for call, want := range refused {
			var actor, reader string
			for i, c := range call {
				if c == ' ' {
					actor, reader = call[:i], call[i+1:]
				}
			}
			c := interp.Call{Op: m.Operation("check_out"), ID: "self", ExpectedRev: 1, RequestID: "r", Actor: actor, At: t0, Inputs: in{}}
			if reader != "none" {
				c.Inputs["reader"] = interp.String(reader)
			}
			_, _, refusal := interp.Step(m, w, c)
			if got := refusal != nil && refusal.Guard == "few"; got != want || refusal != nil && !got {
				t.Errorf("same: {%s}, %s for %s: refused with %v, want %t", whose, actor, reader, refusal, want)
			}
		}
	}
}

// parseAny returns the machine of a specification that check may warn of.
func parseAny(t *testing.T, src string) *spec.Machine {
	t.Helper()
	m, found := spec.Parse("test.yaml", []byte(src))
	if m == nil {
		t.Fatal(found)
	}
	return m
}

// A limit is that of the record or the call: as it is stored, in a creation as it is being set. Where
// it is absent or below 1 the guard refuses.
func TestLimitOfTheCall(t *testing.T) {
	t.Parallel()
	m := parseAny(t, `
fsm: 1
machine: copy
entity: Copy
otherwise: reject
fields: {borrower: optional string, most: optional int, turns: {type: counter, changed_by: [turn]}}
states: {on_shelf: {absent: [borrower]}, on_loan: {present: [borrower]}}
guards:
  few: {fewer: {than: most, same: {borrower: actor}, in: [on_loan]}, error: too_many}
  few_asked: {fewer: {than: input.cap, same: {borrower: actor}, in: [on_loan]}, error: too_many}
  few_turns: {fewer: {than: turns, same: {borrower: actor}, in: [on_loan]}, error: too_many}
operations:
  acquire: {creates: on_shelf, require: [few], set: {most: input or absent}}
  acquire_two: {creates: on_shelf, require: [few], set: {most: 2}}
  check_out: {from: on_shelf, to: on_loan, require: [few], set: {borrower: actor}}
  send_out: {from: on_shelf, to: on_loan, require: [few_asked], input: {cap: optional int}, set: {borrower: actor}}
  turn: {from: on_shelf, to: same, require: [few_turns], increment: [turns]}
`)
	const absent = -9
	for _, c := range []struct {
		op                             string
		others, stored, turns, brought int64
		refused                        bool
	}{
		{"check_out", 1, 2, 0, absent, false},
		{"check_out", 2, 2, 0, absent, true},
		{"check_out", 0, 1, 0, absent, false},
		{"check_out", 0, 0, 0, absent, true},
		{"check_out", 0, -1, 0, absent, true},
		{"check_out", 0, absent, 0, absent, true},
		{"send_out", 2, 1, 0, 3, false},
		{"send_out", 3, 9, 0, 3, true},
		{"send_out", 0, 9, 0, absent, true},
		{"turn", 1, absent, 2, absent, false},
		{"turn", 0, 9, 0, absent, true},
		{"acquire", 1, absent, 0, 2, false},
		{"acquire", 2, absent, 0, 2, true},
		{"acquire", 0, absent, 0, absent, true},
		{"acquire_two", 1, absent, 0, absent, false},
		{"acquire_two", 2, absent, 0, absent, true},
	} {
		w := interp.World{Records: map[string]interp.Record{}}
		for _, id := range []string{"x", "y", "z"}[:c.others] {
			w.Records[id] = interp.NewRecord(m, id).In(m.State("on_loan")).With(m, "borrower", interp.String("ann"))
		}
		op := m.Operation(c.op)
		call := interp.Call{Op: op, ID: "self", RequestID: "r", Actor: "ann", At: t0, Inputs: in{}}
		if c.brought != absent {
			call.Inputs[op.Inputs[0].Name] = interp.Int(c.brought)
		}
		if len(op.Creates) == 0 {
			self := interp.NewRecord(m, "self").In(m.State("on_shelf")).With(m, "turns", interp.Int(c.turns))
			if c.stored != absent {
				self = self.With(m, "most", interp.Int(c.stored))
			}
			self.Rev, call.ExpectedRev = 1, 1
			w.Records["self"] = self
		}
		_, _, refusal := interp.Step(m, w, call)
		if got := refusal != nil && refusal.Code == interp.CodeGuard; got != c.refused || refusal != nil && !got {
			t.Errorf("%+v: refused with %v", c, refusal)
		}
	}
}
