package devices

import (
	"time"

	"github.com/fsmgen/fsmgen/examples/devices/lift"
)

// liftWork does what the effects of a lift ask for.
type liftWork struct {
	lift.Lift
	act func(string)
}

func (w *liftWork) BrakeOff(lift.Lift, lift.Event)  { w.act("brake off") }
func (w *liftWork) MotorOff(lift.Lift, lift.Event)  { w.act("motor off") }
func (w *liftWork) MotorUp(lift.Lift, lift.Event)   { w.act("motor up") }
func (w *liftWork) MotorDown(lift.Lift, lift.Event) { w.act("motor down") }
func (w *liftWork) DoorOpen(lift.Lift, lift.Event)  { w.act("door open") }
func (w *liftWork) DoorClose(lift.Lift, lift.Event) { w.act("door close") }
func (w *liftWork) Alarm(lift.Lift, lift.Event)     { w.act("alarm") }

func generatedLift(now time.Time, act func(string)) Device {
	l, _, err := lift.New(lift.NewInput{Floor: 1}, now)
	if err != nil {
		panic(err)
	}
	return &liftWork{l, act}
}

func (w *liftWork) State() string { return w.Lift.State.String() }

func (w *liftWork) Do(op string, arg any, now time.Time) error {
	var e lift.Event
	var err error
	switch op {
	case "call":
		e, err = w.Call(lift.CallInput{To: int64(arg.(int))})
	case "reach":
		e, err = w.Reach(now)
	case "depart":
		e, err = w.Depart(now)
	case "hold":
		e, err = w.Hold(now)
	case "halt":
		e, err = w.Halt()
	default:
		e, err = w.Resume(now)
	}
	if err == nil {
		e.Perform(w.Lift, w)
	}
	return err
}
