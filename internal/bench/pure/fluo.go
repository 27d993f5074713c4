package pure

import (
	"github.com/anggasct/fluo"
)

// fluoMachine configures a machine of anggasct/fluo; act may be nil.
func fluoMachine(act func(op string, data any) error) fluo.Machine {
	b := fluo.NewMachine()
	states := map[string]fluo.StateBuilder{"queued": b.State("queued").Initial()}
	for _, name := range []string{"claimed", "running", "succeeded", "failed", "stalled"} {
		states[name] = b.State(name)
	}
	for _, w := range ways {
		op := w[1]
		t := states[w[0]].To(w[2]).On(op)
		if act != nil {
			t.Do(func(ctx fluo.Context) error { return act(op, ctx.GetEventData()) })
		}
	}
	m := b.Build().CreateInstance()
	if err := m.Start(); err != nil {
		panic(err) // the machine above is wrong
	}
	return m
}

// fluoRules is a machine of anggasct/fluo. It keeps the state itself, so it is
// set back for each life.
func fluoRules() Subject {
	start := func(j *job) func(op string, o *order) error {
		m := fluoMachine(func(op string, data any) error {
			o := data.(*order)
			if err := j.may(op, o); err != nil {
				return err
			}
			j.do(op, o)
			return nil
		})
		return func(op string, o *order) error {
			if m.CurrentState() != j.state {
				if err := m.SetState(j.state); err != nil {
					return err
				}
			}
			r := m.SendEvent(op, o)
			j.state = r.CurrentState
			return r.Error
		}
	}
	return peer("anggasct/fluo", start)
}

// fluoBare is a machine with the states alone.
func fluoBare() Subject {
	m := fluoMachine(nil)
	set := func(s string) {
		if err := m.SetState(s); err != nil {
			panic(err) // the states of this package are the machine's
		}
	}
	return barePeer("anggasct/fluo", set, m.CurrentState, func(op string) error { return m.SendEvent(op, nil).Error })
}
