package devices

import (
	"time"

	"github.com/fsmgen/fsmgen/examples/devices/atm"
)

// atmWork does what the effects of a session ask for.
type atmWork struct {
	atm.Session
	act func(string)
}

func (w *atmWork) CountNotes(atm.Session, atm.Event)  { w.act("count notes") }
func (w *atmWork) EjectCard(atm.Session, atm.Event)   { w.act("eject card") }
func (w *atmWork) KeepCard(atm.Session, atm.Event)    { w.act("keep card") }
func (w *atmWork) SayWrongPin(atm.Session, atm.Event) { w.act("say wrong pin") }
func (w *atmWork) CallService(atm.Session, atm.Event) { w.act("call service") }

func generatedATM(now time.Time, act func(string)) Device {
	s, _, err := atm.Insert(atm.InsertInput{Card: "c", Pin: "1234", Balance: 100}, now)
	if err != nil {
		panic(err)
	}
	return &atmWork{s, act}
}

func (w *atmWork) State() string { return w.Session.State.String() }

func (w *atmWork) Do(op string, arg any, now time.Time) error {
	var e atm.Event
	var err error
	switch op {
	case "enter_pin":
		e, err = w.EnterPin(atm.EnterPinInput{Code: arg.(string)}, now)
	case "withdraw":
		e, err = w.Withdraw(atm.WithdrawInput{Amount: int64(arg.(int))})
	case "dispensed":
		e, err = w.Dispensed(atm.DispensedInput{Balance: int64(arg.(int))}, now)
	case "jammed":
		e, err = w.Jammed(now)
	case "eject":
		e, err = w.Eject()
	default:
		e, err = w.TimeOut(now)
	}
	if err == nil {
		e.Perform(w.Session, w)
	}
	return err
}
