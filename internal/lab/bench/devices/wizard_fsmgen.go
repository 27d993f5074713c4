package devices

import (
	"time"

	"github.com/fsmgen/fsmgen/examples/devices/wizard"
)

// wizardWork does what the effects of a form ask for.
type wizardWork struct {
	wizard.Form
	act func(string)
}

func (w *wizardWork) Thank(wizard.Form, wizard.Event) { w.act("thank") }

func generatedWizard(_ time.Time, act func(string)) Device {
	f, _, err := wizard.Open()
	if err != nil {
		panic(err)
	}
	return &wizardWork{f, act}
}

func (w *wizardWork) State() string { return w.Form.State.String() }

func (w *wizardWork) Do(op string, arg any, _ time.Time) error {
	var e wizard.Event
	var err error
	switch op {
	case "enter":
		e, err = w.enter(arg.(string))
	case "back":
		e, err = w.Back()
	case "edit":
		var page wizard.EditPage
		if err = page.UnmarshalText([]byte(arg.(string))); err == nil {
			e, err = w.Edit(wizard.EditInput{Page: page})
		}
	default:
		e, err = w.Submit()
	}
	if err == nil {
		e.Perform(w.Form, w)
	}
	return err
}

// enter fills the page that is open.
func (w *wizardWork) enter(text string) (wizard.Event, error) {
	switch w.Form.State {
	case wizard.StateAddress:
		return w.EnterAddress(wizard.EnterAddressInput{Street: text})
	case wizard.StatePayment:
		return w.EnterPayment(wizard.EnterPaymentInput{Card: text})
	default:
		return w.EnterPerson(wizard.EnterPersonInput{Name: text})
	}
}
