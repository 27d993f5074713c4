package pure

import (
	"github.com/anggasct/fluo"
)

// fluoDefinition configures machines of anggasct/fluo; act may be nil.
func fluoDefinition(act func(op string, data any) error) fluo.MachineDefinition {
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
	return b.Build()
}

// fluoMachine makes a machine that is at its beginning.
func fluoMachine(d fluo.MachineDefinition) fluo.Machine {
	m := d.CreateInstance()
	if err := m.Start(); err != nil {
		panic(err) // the definition above is wrong
	}
	return m
}

// fluoRules is a machine of anggasct/fluo. It keeps the state itself, so it is
// set back for each life.
func fluoRules() Subject {
	start := func(j *job) func(op string, o *order) error {
		m := fluoMachine(fluoDefinition(func(op string, data any) error { return fluoAct(j, op, data.(*order)) }))
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

func fluoAct(j *job, op string, o *order) error {
	if err := j.may(op, o); err != nil {
		return err
	}
	j.do(op, o)
	return nil
}

// fluoEachRules makes a machine for each record out of one definition, which its
// README asks for; the record travels with the order.
func fluoEachRules() Subject {
	type call struct {
		j *job
		o *order
	}
	d := fluoDefinition(func(op string, data any) error { c := data.(call); return fluoAct(c.j, op, c.o) })
	return eachPeer("anggasct/fluo", func(j *job) func(op string, o *order) error {
		m := fluoMachine(d)
		return func(op string, o *order) error {
			r := m.SendEvent(op, call{j, o})
			j.state = r.CurrentState
			return r.Error
		}
	})
}

// fluoEachBare makes a machine with the states alone for each record.
func fluoEachBare() Subject {
	d := fluoDefinition(nil)
	return eachBarePeer("anggasct/fluo", func() (func(op string) error, func() string) {
		m := fluoMachine(d)
		return func(op string) error { return m.SendEvent(op, nil).Error }, m.CurrentState
	})
}

// fluoBare is a machine with the states alone.
func fluoBare() Subject {
	m := fluoMachine(fluoDefinition(nil))
	set := func(s string) {
		if err := m.SetState(s); err != nil {
			panic(err) // the states of this package are the machine's
		}
	}
	return barePeer("anggasct/fluo", set, m.CurrentState, func(op string) error { return m.SendEvent(op, nil).Error })
}
