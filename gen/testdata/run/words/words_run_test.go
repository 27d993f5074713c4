package words

import (
	"encoding/json"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// TestForms leads a record through JSON and its words through SQL: the first
// names are what is written, whatever they are called now.
func TestForms(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	j, _, err := Create("t", CreateInput{Priority: PriorityHigh}, now)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"t","state":"new","rev":1,"created_at":"2026-03-01T12:00:00Z","updated_at":"2026-03-01T12:00:00Z","priority":"high"}`
	if string(text) != want {
		t.Errorf("JSON is %s, expected %s", text, want)
	}
	j.Verdict = fsm.Some(VerdictDuplicate)
	if text, err = json.Marshal(j); err != nil {
		t.Fatal(err)
	}
	var back Ticket
	if err := json.Unmarshal(text, &back); err != nil || !back.Equal(j) {
		t.Errorf("%s reads as %+v, expected %+v: %v", text, back, j, err)
	}
	if j.State.String() != "open" {
		t.Error("String does not give the name of the specification")
	}
	var v Verdict
	if err := v.UnmarshalText([]byte("rejected")); err != nil || v != VerdictRejected {
		t.Errorf("a word reads as %v: %v", v, err)
	}
	for _, bad := range []string{"open", ""} {
		var s State
		if err := s.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("the word %q reads as state %v", bad, s)
		}
	}
	if _, err := json.Marshal(Ticket{}); err == nil {
		t.Error("a record in no state has a JSON form")
	}
}

// TestRemoved reads words of states that are gone.
func TestRemoved(t *testing.T) {
	for word, want := range map[string]State{"waiting": StateOpen, "lost": StateClosed} {
		var s State
		if err := s.UnmarshalText([]byte(word)); err != nil || s != want {
			t.Errorf("%q reads as %v, expected %v: %v", word, s, want, err)
		}
	}
}
