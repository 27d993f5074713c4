package devices

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/devices/atm"
	"github.com/fsmgen/fsmgen/examples/devices/lift"
	"github.com/fsmgen/fsmgen/examples/devices/light"
	"github.com/fsmgen/fsmgen/examples/devices/wizard"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// cabin notes what a lift does, and on which floor.
type cabin struct{ did []string }

func (c *cabin) note(l lift.Lift, e lift.Event, what string) {
	c.did = append(c.did, fmt.Sprintf("%d %s: %s", l.Floor, e.Name, what))
}
func (c *cabin) BrakeOff(l lift.Lift, e lift.Event)  { c.note(l, e, "brake off") }
func (c *cabin) MotorOff(l lift.Lift, e lift.Event)  { c.note(l, e, "motor off") }
func (c *cabin) MotorUp(l lift.Lift, e lift.Event)   { c.note(l, e, "motor up") }
func (c *cabin) MotorDown(l lift.Lift, e lift.Event) { c.note(l, e, "motor down") }
func (c *cabin) DoorOpen(l lift.Lift, e lift.Event)  { c.note(l, e, "door open") }
func (c *cabin) DoorClose(l lift.Lift, e lift.Event) { c.note(l, e, "door close") }
func (c *cabin) Alarm(l lift.Lift, e lift.Event)     { c.note(l, e, "alarm") }

// A lift is called to the third floor, and stopped on its way back. Passing a floor runs
// nothing: the step keeps its state.
func TestLift(t *testing.T) {
	t.Parallel()
	l, e, err := lift.New(lift.NewInput{Floor: 1}, noon)
	if err != nil {
		t.Fatal(err)
	}
	c := &cabin{}
	e.Perform(l, c)
	for _, step := range []struct {
		op   string
		call lift.Call
		want []string
	}{
		{lift.OpCall, lift.Call{Inputs: map[string]any{"to": int64(3)}}, nil},
		{lift.OpDepart, lift.Call{Now: noon}, []string{lift.EffectBrakeOff, lift.EffectMotorUp}},
		{lift.OpReach, lift.Call{Now: noon}, nil},
		{lift.OpReach, lift.Call{Now: noon}, []string{lift.EffectMotorOff, lift.EffectDoorOpen}},
		{lift.OpHold, lift.Call{Now: noon}, nil},
		{lift.OpCall, lift.Call{Inputs: map[string]any{"to": int64(1)}}, nil},
		{lift.OpDepart, lift.Call{Now: noon.Add(4 * time.Second)}, []string{lift.EffectDoorClose, lift.EffectBrakeOff, lift.EffectMotorDown}},
		{lift.OpHalt, lift.Call{}, []string{lift.EffectMotorOff, lift.EffectAlarm}},
		{lift.OpResume, lift.Call{Now: noon}, nil},
	} {
		if possible := l.Possible(); !slices.Contains(possible, step.op) {
			t.Errorf("%s is not possible in %s: %v", step.op, l.State, possible)
		}
		e, err := l.Do(step.op, step.call)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Effects(); !slices.Equal(got, step.want) {
			t.Errorf("%s asks for %v, want %v", step.op, got, step.want)
		}
		e.Perform(l, c)
	}
	want := `1 depart: brake off
1 depart: motor up
3 reach: motor off
3 reach: door open
3 depart: door close
3 depart: brake off
3 depart: motor down
3 halt: motor off
3 halt: alarm`
	if got := strings.Join(c.did, "\n"); got != want || l.State != lift.StateIdle {
		t.Errorf("the lift is %s, and did\n%s\nwant\n%s", l.State, got, want)
	}
}

// What a call by name cannot hand to the method is an invalid input, and leaves the lift as it is.
func TestLiftByName(t *testing.T) {
	t.Parallel()
	l, _, err := lift.New(lift.NewInput{Floor: 2}, noon)
	if err != nil {
		t.Fatal(err)
	}
	was := l
	in := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	for _, c := range []struct {
		op   string
		call lift.Call
		want string
	}{
		{"fly", lift.Call{}, "lift: fly in state idle: the input is invalid: operation: no operation on a record has that name"},
		{lift.OpNew, lift.Call{Now: noon}, "lift: new in state idle: the input is invalid: operation: no operation on a record has that name"},
		{lift.OpCall, lift.Call{}, "lift: call in state idle: the input is invalid: to: it is required and missing"},
		{lift.OpCall, lift.Call{Inputs: in("to", nil)}, "lift: call in state idle: the input is invalid: to: it is required and missing"},
		{lift.OpCall, lift.Call{Inputs: in("to", 3)}, "lift: call in state idle: the input is invalid: to: it is of type int, expected int64"},
		{lift.OpCall, lift.Call{Inputs: in("to", "3")}, "lift: call in state idle: the input is invalid: to: it is of type string, expected int64"},
		{lift.OpCall, lift.Call{Inputs: in("to", int64(5))}, "lift: call in state idle: the input is invalid: to: expected 1 to 4"},
		{lift.OpCall, lift.Call{Inputs: in("to", int64(3), "b", 1, "a", 1)},
			"lift: call in state idle: the input is invalid: a: the operation has no such input"},
		{lift.OpHalt, lift.Call{Inputs: in("why", 1)}, "lift: halt in state idle: the input is invalid: why: the operation has no such input"},
		{lift.OpDepart, lift.Call{}, "lift: depart in state idle: the input is invalid: now: it is required and zero"},
	} {
		e, err := l.Do(c.op, c.call)
		if !errors.Is(err, lift.ErrInvalidInput) || e != (lift.Event{}) || l != was || err.Error() != c.want {
			t.Errorf("%s is answered with %v, %v, want %s", c.op, e, err, c.want)
		}
	}
	if _, err := l.Do(lift.OpReach, lift.Call{Now: noon}); !errors.Is(err, lift.ErrWrongState) {
		t.Errorf("the method refuses with %v", err)
	}
}

// Lists of effects and of operations are tables.
func TestNothingIsAllocated(t *testing.T) {
	l, _, err := lift.New(lift.NewInput{Floor: 1}, noon)
	if err != nil {
		t.Fatal(err)
	}
	e, err := l.Halt()
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := atm.Insert(atm.InsertInput{Card: "c", Pin: "1234", Balance: 100}, noon)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := s.EnterPin(atm.EnterPinInput{Code: "1"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if allocated := testing.AllocsPerRun(100, func() { n += len(e.Effects()) + len(wrong.Effects()) + len(l.Possible()) }); allocated != 0 || n == 0 {
		t.Errorf("%v allocations for %d names", allocated, n)
	}
	// Who appends to a list does not write into the table.
	if got := append(e.Effects(), "more"); len(got) != 2 || len(e.Effects()) != 1 {
		t.Errorf("%v, %v", got, e.Effects())
	}
}

// teller notes what a cash machine does.
type teller struct{ did []string }

func (c *teller) CountNotes(s atm.Session, _ atm.Event) {
	c.did = append(c.did, fmt.Sprint("count ", s.Amount))
}
func (c *teller) EjectCard(atm.Session, atm.Event)   { c.did = append(c.did, "eject card") }
func (c *teller) KeepCard(atm.Session, atm.Event)    { c.did = append(c.did, "keep card") }
func (c *teller) SayWrongPin(atm.Session, atm.Event) { c.did = append(c.did, "wrong") }
func (c *teller) CallService(atm.Session, atm.Event) { c.did = append(c.did, "call service") }

// One branch of enter_pin has an effect of its own, the others have those of what they enter.
func TestSession(t *testing.T) {
	t.Parallel()
	c := &teller{}
	s, _, err := atm.Insert(atm.InsertInput{Card: "c", Pin: "1234", Balance: 100}, noon)
	if err != nil {
		t.Fatal(err)
	}
	thief := s
	do := func(s *atm.Session) func(e atm.Event, err error) {
		return func(e atm.Event, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			e.Perform(*s, c)
		}
	}
	do(&s)(s.EnterPin(atm.EnterPinInput{Code: "1"}, noon))
	do(&s)(s.EnterPin(atm.EnterPinInput{Code: "1234"}, noon))
	if _, err := s.Withdraw(atm.WithdrawInput{Amount: 101}); !errors.Is(err, atm.ErrTooLittle) {
		t.Errorf("more than there is: %v", err)
	}
	do(&s)(s.Withdraw(atm.WithdrawInput{Amount: 30}))
	do(&s)(s.Jammed(noon))
	do(&s)(s.Withdraw(atm.WithdrawInput{Amount: 20}))
	do(&s)(s.Dispensed(atm.DispensedInput{Balance: s.Balance - 20}, noon))
	do(&s)(s.TimeOut(noon.Add(time.Minute)))
	for range 3 {
		do(&thief)(thief.EnterPin(atm.EnterPinInput{Code: "1"}, noon))
	}
	want := "wrong, count 30, call service, count 20, eject card, wrong, wrong, keep card"
	if got := strings.Join(c.did, ", "); got != want || s.Balance != 80 || thief.State != atm.StateKept {
		t.Errorf("%s, with %d left, want %s", got, s.Balance, want)
	}
	if len(s.Possible()) != 0 {
		t.Errorf("after its end the session can %v", s.Possible())
	}
}

// A light shows what its states say, once for each that it enters.
func TestLight(t *testing.T) {
	t.Parallel()
	l, e, err := light.New(noon)
	if err != nil {
		t.Fatal(err)
	}
	shown := e.Effects()
	if _, err := l.Do(light.OpPress, light.Call{}); err != nil {
		t.Fatal(err)
	}
	for s := range 40 {
		e, err := l.Tick(noon.Add(time.Duration(s) * time.Second))
		if err == nil {
			shown = slices.Concat(shown, e.Effects())
		} else if !errors.Is(err, light.ErrTooEarly) || e.Effects() != nil {
			t.Fatal(e, err)
		}
		if l.State == light.StateWalk {
			e, err := l.Press() // recorded, and nothing is asked for
			if err != nil || !e.RecordOnly || e.Effects() != nil {
				t.Fatal(e, err)
			}
		}
	}
	want := []string{light.EffectGreen, light.EffectAmber, light.EffectRedAndWalk, light.EffectRed, light.EffectRedAndAmber, light.EffectGreen}
	if !slices.Equal(shown, want) {
		t.Errorf("the light shows %v, want %v", shown, want)
	}
	if got, want := l.Possible(), []string{light.OpPress, light.OpTick, light.OpPlan, light.OpFault}; !slices.Equal(got, want) {
		t.Errorf("%v are possible, want %v", got, want)
	}
}

// At night people have longer, from the next time that they walk on. Nobody plans less than they need.
func TestLightByTheHour(t *testing.T) {
	t.Parallel()
	l, _, err := light.New(noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, short := range []time.Duration{5*time.Second - 1, 30*time.Second + time.Microsecond} {
		before := l
		if _, err := l.Plan(light.PlanInput{GoFor: time.Minute, WalkFor: short}); !errors.Is(err, light.ErrInvalidInput) || l != before {
			t.Errorf("people walk for %v: %v", short, err)
		}
	}
	if _, err := l.Plan(light.PlanInput{GoFor: 5 * time.Second, WalkFor: 20 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Press(); err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Duration{10 * time.Second, 13 * time.Second} {
		if _, err := l.Tick(noon.Add(at)); err != nil {
			t.Fatal(err)
		}
	}
	if until := noon.Add(33 * time.Second); l.State != light.StateWalk || !l.Until.Equal(until) {
		t.Errorf("the light is %s until %v, want walk until %v", l.State, l.Until, until)
	}
}

// A form is filled from texts: those of words stand for the words.
func TestForm(t *testing.T) {
	t.Parallel()
	f, _, err := wizard.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		op     string
		inputs map[string]any
		want   string
	}{
		{wizard.OpEnterPerson, map[string]any{"name": "ann"}, "address"},
		{wizard.OpEnterAddress, map[string]any{"street": "street"}, "payment"},
		{wizard.OpEnterPayment, map[string]any{"card": "1"}, "review"},
		{wizard.OpEdit, map[string]any{"page": "person"}, "person"},
		{wizard.OpEnterPerson, map[string]any{"name": "ben"}, "review"},
		{wizard.OpEdit, map[string]any{"page": wizard.EditPagePayment}, "payment"},
		{wizard.OpEnterPayment, map[string]any{"card": "2"}, "review"},
		{wizard.OpEdit, map[string]any{"page": "front"}, `the input is invalid: page: "front" is no value`},
		{wizard.OpSubmit, nil, "sent"},
	} {
		_, err := f.Do(step.op, wizard.Call{Inputs: step.inputs})
		if got := f.State.String(); err == nil && got != step.want || err != nil && !strings.HasSuffix(err.Error(), step.want) {
			t.Errorf("%s leads to %s, %v, want %s", step.op, got, err, step.want)
		}
	}
	if f.Name.Or("") != "ben" || f.Card.Or("") != "2" {
		t.Errorf("the form is %+v", f)
	}
}
