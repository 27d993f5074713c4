package purekit

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// A package by hand, as the generator would write it: the player finds nothing wrong with
// it. That it finds faults is shown by those that are planted into generated packages.

type doorState uint8

var doorNames = [...]string{1: "open", 2: "locked", 3: "gone"}

func (s doorState) String() string               { return nameOf(doorNames[:], s, "doorState") }
func (s doorState) Valid() bool                  { return s > 0 && int(s) < len(doorNames) }
func (s doorState) Terminal() bool               { return s == 3 }
func (s doorState) Final() bool                  { return s == 2 }
func (s doorState) MarshalText() ([]byte, error) { return textOf(doorNames[:], s, "state") }
func (s *doorState) UnmarshalText(text []byte) error {
	if string(text) == "ajar" {
		text = []byte("open")
	}
	return parseWord(doorNames[:], text, s, "state")
}

type door struct {
	State doorState           `json:"state"`
	Owner Optional[string]    `json:"owner,omitzero"`
	Until Optional[time.Time] `json:"until,omitzero"`
}

type doorEvent struct {
	Name       string
	From, To   doorState
	RecordOnly bool
	Guard      string
}

func (e doorEvent) Effects() []string {
	if e.From == e.To || e.To != 2 {
		return nil
	}
	return []string{"bolt", "ring"}
}

func (d *door) refuse(op string, code Code) *Refusal {
	return &Refusal{Code: code, Machine: "door", Operation: op, State: stateIn(doorNames[:], d.State)}
}

func (d *door) can(op string) error {
	r := d.refuse(op, ErrWrongState)
	if r.Allowed = "open"; d.State == 3 {
		r.Code = ErrTerminal
	}
	if d.State == 1 || d.State == 2 {
		return nil
	}
	return r
}

// lock locks an open door, and is no mistake for a locked one.
func (d *door) lock(c testCall) (doorEvent, error) {
	owner, until := testInput[string](c, "owner"), testOptional[time.Time](c, "until")
	if c.Actor == "" {
		return doorEvent{}, d.refuse("lock", ErrActorMissing)
	}
	if err := checkActor(c.Actor); err != nil {
		r := d.refuse("lock", ErrInvalidInput)
		r.Name, r.Message = "actor", err.Error()
		return doorEvent{}, r
	}
	if err := d.can("lock"); err != nil {
		return doorEvent{}, err
	}
	if d.State == 2 {
		return doorEvent{Name: "lock", From: 2, To: 2, RecordOnly: true}, nil
	}
	if c.Peers["full"] > 0 {
		r := d.refuse("lock", ErrGuard)
		r.Guard, r.Cause = "full", errFull
		return doorEvent{}, r
	}
	*d = door{State: 2, Owner: Some(owner), Until: cutOptionalTime(until)}
	return doorEvent{Name: "lock", From: 1, To: 2}, nil
}

var errFull = newError("full", "full")

var testedDoor = testedPackage[door]{
	Machine: "door", States: "open, locked (final), gone (terminal)",
	Moves: map[string]string{"make": "(new) -> open", "lock": "open -> locked, locked -> (recorded)"},
	Cases: []testCase{
		{Do: "make", Want: "make: (new) -> open"},
		{In: "open", Do: "lock", With: `{"owner":"@@ben","until":"@now+1h"}`, Want: "lock: open -> locked",
			After: `{"owner":"@@ben","until":"@now+1h"}`, Asks: "bolt, ring"},
		{In: "open", Do: "lock", With: `{"owner":"ben"}`, By: "-", Want: "refused actor_missing"},
		{In: "open", Do: "lock", At: "@2025-01-01T00:00:00Z", Others: map[string]int64{"full": 1}, Want: "refused guard full (full)"},
		{In: "locked", Given: `{"until":"@zero"}`, Do: "lock", At: "@now-1µs", Want: "lock: locked -> (recorded)"},
		{In: "gone", Do: "lock", Want: "refused terminal (open)"},
	},
	Checks: []testCheck{
		{In: "locked", Given: `{"owner":"ben"}`},
		{In: "locked", But: `{"owner":null}`, Broken: "owner"},
	},
	Ends:   testEnds(allOf[doorState](doorNames[:])),
	Errors: map[string]error{"full": errFull},
	Words: []testVocabulary{
		testWords("doorState", allOf[doorState](doorNames[:]), "open, locked, gone", "", "ajar: open"),
		testInGroup("shut", func(s doorState) bool { return s.String() == "locked" }, allOf[doorState](doorNames[:]), "locked"),
	},
	Check: func(d door) []Violation {
		switch {
		case !d.State.Valid():
			return []Violation{{Rule: "state", Must: true}}
		case d.State == 2 && !d.Owner.Present():
			return []Violation{{Rule: "owner is present", Must: true}}
		}
		return nil
	},
	Equal: func(a, b door) bool {
		return a.State == b.State && a.Owner == b.Owner && a.Until.Present() == b.Until.Present() && a.Until.Or(time.Time{}).Equal(b.Until.Or(time.Time{}))
	},
	Can: func(d door, op string) error { return d.can(op) },
	Possible: func(d door) []string {
		if d.can("lock") != nil {
			return nil
		}
		return []string{"lock"}
	},
	Perform: func(e any, _ door) []string { return e.(doorEvent).Effects() },
	Pure: func(d *door, op string, c testCall) (any, error) {
		if op == "make" {
			*d = door{State: 1}
			return doorEvent{Name: "make", To: 1}, nil
		}
		if at := cutTime(c.Now()); !at.Equal(c.At) || c.Now().Equal(c.At) {
			panic("a caller's clock is finer than records")
		}
		return d.lock(c)
	},
	Timed: "lock",
	Do:    (*door).do,
	Sent: func(_ string, c testCall) map[string]any {
		inputs := map[string]any{}
		testSend[string](c, inputs, "owner", false)
		testSend[time.Time](c, inputs, "until", true)
		return inputs
	},
}

// do calls lock by its name.
func (d *door) do(operation string, c testCall, inputs map[string]any) (any, error) {
	sent := callInputs{inputs: inputs}
	in := map[string]json.RawMessage{"owner": testJSON(inputOf[string](&sent, "owner"))}
	if until, ok := optionalInputOf[time.Time](&sent, "until").Get(); ok {
		in["until"] = testJSON(until)
	}
	needTime(&sent, c.Now())
	if c.Peers != nil {
		countOf(&sent, c.Peers, "full")
	}
	if operation != "lock" {
		sent = callInputs{name: "operation", problem: "there is none"}
	}
	if c.Inputs = in; sent.complete() {
		return d.lock(c)
	}
	r := d.refuse(operation, ErrInvalidInput)
	r.Name, r.Message = sent.name, sent.problem
	return doorEvent{}, r
}

func TestPlayer(t *testing.T) { //nolint:paralleltest // it runs tests of its own
	testedDoor.Run(t)
}

func TestWords(t *testing.T) {
	t.Parallel()
	if state, ok := stateOf[doorState](doorNames[:], "door", (&door{State: 2}).can("x")); ok {
		t.Errorf("no refusal has the state %v", state)
	}
	if state, ok := stateOf[doorState](doorNames[:], "door", (&door{State: 3}).can("x")); !ok || state != 3 {
		t.Errorf("the state is %v, %t", state, ok)
	}
	if state, ok := stateOf[doorState](doorNames[:], "gate", (&door{State: 3}).can("x")); ok {
		t.Errorf("another machine's refusal has the state %v", state)
	}
	if name := stateIn(doorNames[:], doorState(9)); name != "State(9)" {
		t.Errorf("no state is called %s", name)
	}
	if got := testNames("a, 'b; or, c', 'it''s', d"); !slices.Equal(got, []string{"a", "b; or, c", "it's", "d"}) {
		t.Errorf("the names are %q", got)
	}
	if testedDoor.Spec = "cases_test.go"; testedDoor.see("x", "no such name") != "" {
		t.Error("a name that is not there has a line")
	}
}
