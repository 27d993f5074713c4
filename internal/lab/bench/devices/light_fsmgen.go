package devices

import (
	"time"

	"github.com/fsmgen/fsmgen/examples/devices/light"
)

// lightWork does what the effects of a light ask for.
type lightWork struct {
	light.Light
	act func(string)
}

func (w *lightWork) Green(light.Light, light.Event)       { w.act("green") }
func (w *lightWork) Amber(light.Light, light.Event)       { w.act("amber") }
func (w *lightWork) RedAndWalk(light.Light, light.Event)  { w.act("red and walk") }
func (w *lightWork) Red(light.Light, light.Event)         { w.act("red") }
func (w *lightWork) RedAndAmber(light.Light, light.Event) { w.act("red and amber") }
func (w *lightWork) Flash(light.Light, light.Event)       { w.act("flash") }

func generatedLight(now time.Time, act func(string)) Device {
	l, e, err := light.New(now)
	if err != nil {
		panic(err)
	}
	w := &lightWork{l, act}
	e.Perform(l, w)
	return w
}

func (w *lightWork) State() string { return w.Light.State.String() }

func (w *lightWork) Do(op string, _ any, now time.Time) error {
	var e light.Event
	var err error
	switch op {
	case "press":
		e, err = w.Press()
	case "tick":
		e, err = w.Tick(now)
	case "fault":
		e, err = w.Fault()
	default:
		e, err = w.Repair(now)
	}
	if err == nil {
		e.Perform(w.Light, w)
	}
	return err
}
