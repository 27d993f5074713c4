package interp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
)

// picking is a machine in which everything that can keep `next` from a record does.
const picking = `fsm: 1
machine: picking
entity: Parcel
requests: {request_id: optional, expected_rev: none}
otherwise: reject
fields:
  room: optional string
  kind: fine|rejected|recorded|barred|broken
  number: {type: sequence, per: [room]}
states: {open: {}, begun: {}, closed: {terminal: true}}
guards:
  not_barred: {when: kind != barred, error: barred}
  room_free: {none: {same: room, in: [closed]}, error: full}
  not_broken: {when: kind != broken, error: broken}
unique: {one_closed: {fields: [room], in: [closed], error: taken}}
operations:
  make: {creates: open, input: {kind: fine|rejected|recorded|barred|broken}, set: {room: input or absent, kind: input}}
  take:
    from: open
    next: {order: [number]}
    require: [not_barred, room_free]
    on_refusal: record_only
    choose:
      - {when: kind == rejected, reject: not_this}
      - {when: kind == recorded, record_only: true}
      - {to: begun}
    then: run
  run: {by: system, from: begun, to: closed, require: [not_broken]}
  again: {from: open, to: same, next: {order: [number]}}
`

// picks makes records of these kinds and rooms, "barred x", and picks up to n of them.
func picks(t *testing.T, op string, n int, records ...string) (string, interp.World) {
	t.Helper()
	m := parse(t, picking)
	var w interp.World
	for i, text := range records {
		kind, room, _ := strings.Cut(text, " ")
		c := interp.Call{Op: m.Operation("make"), ID: fmt.Sprintf("r%d", i+1), At: t0, Inputs: in{"kind": interp.Word(kind)}}
		if room != "" {
			c.Inputs["room"] = interp.String(room)
		}
		_, next, refusal := interp.Step(m, w, c)
		if refusal != nil {
			t.Fatal(refusal)
		}
		w = next
	}
	call := interp.Call{Op: m.Operation(op), RequestID: "the request", At: t0}
	list, next, refusal := interp.Pick(m, w, call, n)
	if refusal != nil {
		return refusal.Code, w
	}
	told := ids(list)
	again, same, refusal := interp.Pick(m, next, call, n)
	if refusal != nil || ids(again) != told || len(same.Log) != len(next.Log) || !again[0].Replayed {
		t.Errorf("the request again: %v, %v; want what it picked: %s", ids(again), refusal, told)
	}
	return told, next
}

func ids(list []interp.Outcome) string {
	var ids []string
	for _, out := range list {
		ids = append(ids, out.Record.ID)
	}
	return strings.Join(ids, " ")
}

// A record whose step is refused is passed over, whatever refuses it; so is one that would
// only be recorded by a guard, but not one that a branch records. None is picked twice.
func TestPickPassesOver(t *testing.T) {
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
		{"nothing", []string{"rejected a", "broken a", "barred"}, 2, interp.CodeNothingToDo},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, w := picks(t, "take", tt.n, tt.records...)
			if got != tt.want {
				t.Errorf("picked %s, want %s", got, tt.want)
			}
			if last := w.Log[len(w.Log)-1].Commit; got != interp.CodeNothingToDo && last != len(tt.records)+1 {
				t.Errorf("the last of %d transactions is number %d", len(tt.records)+1, last)
			}
		})
	}
	if got, _ := picks(t, "again", 3, "fine a", "fine b"); got != "r1 r2" {
		t.Errorf("picked %s, want each record once", got)
	}
}

// What stands before the log counts: for replays, and for the numbers that were given.
func TestLogThatBeginsLate(t *testing.T) {
	t.Parallel()
	m := parse(t, picking)
	old := interp.NewRecord(m, "old").In(m.State("open")).With(m, "kind", interp.Word("fine")).With(m, "room", interp.String("a")).With(m, "number", interp.Int(7))
	old.Rev, old.CreatedAt, old.UpdatedAt = 1, at(-60), at(-30)
	w := interp.World{}.With(old)
	call := interp.Call{Op: m.Operation("again"), ID: "old", RequestID: "r", At: t0}
	first, w, refusal := interp.Step(m, w, call)
	if refusal != nil {
		t.Fatal(refusal)
	}
	replayed, w, refusal := interp.Step(m, w, call)
	if refusal != nil || !replayed.Replayed || !replayed.Record.Equal(first.Record) {
		t.Errorf("the request again: %+v, %v; want %+v", replayed, refusal, first)
	}
	if was, err := w.At(m, "old", 1); err != nil || !was.Equal(old) {
		t.Errorf("at revision 1 it is %+v (%v), want %+v", was, err, old)
	}
	if len(w.With(old.In(m.State("closed"))).Log) != 1 || w.Records["old"].State.Name != "open" {
		t.Error("a world changed the one that it came from")
	}
	made := interp.Call{Op: m.Operation("make"), ID: "new", At: t0, Inputs: in{"kind": interp.Word("fine"), "room": interp.String("a")}}
	out, _, refusal := interp.Step(m, w, made)
	if refusal != nil || out.Record.Value(m, m.Field("number")) != interp.Int(8) {
		t.Errorf("the next number: %+v, %v; want 8", out.Record, refusal)
	}
}
