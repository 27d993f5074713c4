package migration_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/live"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/spec"
)

type record = interp.Record

// program is a machine that is opened without its generated package: the interpreter
// decides, and the engine does the rest.
type program struct {
	m            *spec.Machine
	core         *fsm.Machine[record]
	name         string
	n            int // calls
	create, pick *spec.Operation
}

func open(t testing.TB, store fsm.Store, m *spec.Machine, s *driver.Schema, name string) *program {
	t.Helper()
	core, err := fsm.NewMachine(t.Context(), store, describe(m, s), nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	p := &program{m: m, core: core, name: name}
	for _, o := range m.Operations {
		if o.Next != nil {
			p.pick = o
		} else if len(o.Creates) > 0 && p.create == nil {
			p.create = o
		}
	}
	return p
}

// describe describes a machine as its generated package does, with picks and triggers.
func describe(m *spec.Machine, s *driver.Schema) *fsmimpl.Descriptor[record] {
	d := live.Descriptor(m, s)
	p := &program{m: m}
	for i, o := range m.Operations {
		op := d.Operations[i]
		if o.Next != nil {
			op.Picks = true
			for _, by := range o.Next.Order {
				op.Order = append(op.Order, driver.Order{Column: by.Field.Stored(), Descending: by.Descending})
			}
		}
		for _, trigger := range o.Triggers {
			by := ""
			if trigger.By != nil {
				by = trigger.By.Stored()
			}
			op.Triggers = append(op.Triggers, fsmimpl.Trigger{After: trigger.After.Stored(), By: by, Plus: trigger.Plus})
		}
		if o.By == spec.BySystem {
			op.System = func(*record, time.Time) (fsmimpl.Call[record], error) {
				c := fsmimpl.Call[record]{}
				c.Decide = p.decide(o, c)
				return c, nil
			}
		}
	}
	return d
}

// request makes a random call of an operation.
func (p *program) request(r *rand.Rand, o *spec.Operation) fsmimpl.Call[record] {
	c := fsmimpl.Call[record]{Caller: fsmimpl.Caller{Actor: p.name, RequestID: fmt.Sprintf("%s.%d", p.name, r.Uint64())}}
	c.Operation = p.core.Descriptor().Operations[slices.Index(p.m.Operations, o)]
	for _, in := range o.Inputs {
		input := driver.Input{Name: in.Name, Kind: driver.KindString}
		switch {
		case in.Type.Kind == spec.KindTime:
			input.Kind = driver.KindTime
			if r.IntN(3) > 0 {
				input.Value = driver.Time(time.Now().Add(time.Duration(r.IntN(2000)-1000) * time.Second))
			}
		case r.IntN(3) > 0:
			input.Value = fmt.Sprint("k", r.IntN(6))
		}
		c.Inputs = append(c.Inputs, input)
	}
	c.Decide = p.decide(o, c)
	for _, req := range o.Require {
		if peers := req.Guard.Peers; peers != nil {
			c.Peers = func(_ *record, id string) []driver.PeerQuery {
				return []driver.PeerQuery{{Name: req.Guard.Name, Columns: []string{"k"}, Values: []any{c.Inputs[0].Value}, States: words(peers.In), Except: id}}
			}
		}
	}
	return c
}

// filled makes a creation that asks for the others of its group.
func (p *program) filled(r *rand.Rand, id string) fsmimpl.Call[record] {
	for _, o := range p.m.Operations {
		if len(o.Creates) > 0 && len(o.Require) > 0 {
			c := p.request(r, o)
			c.ID, c.Inputs[0].Value = id, nil // it is in no group
			c.Decide = p.decide(o, c)
			return c
		}
	}
	return p.request(r, p.create)
}

// decide is the pure method of an operation.
func (p *program) decide(o *spec.Operation, c fsmimpl.Call[record]) func(*record, string, []int64, time.Time) (fsmimpl.Step, error) {
	inputs := map[string]interp.Value{}
	for i, in := range o.Inputs {
		if v, err := live.ValueOf(in.Type, c.Inputs[i].Value); err == nil {
			inputs[in.Name] = v
		}
	}
	return func(r *record, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
		before := *r
		if len(o.Creates) > 0 {
			before = interp.NewRecord(p.m, id)
		}
		others := interp.Others{Count: map[string]int64{}}
		if len(peers) > 0 {
			others.Count[o.Require[0].Guard.Name] = peers[0]
		}
		ask := interp.Call{Op: o, ID: id, Actor: c.Actor, At: now, Inputs: inputs}
		d, refusal := interp.Decide(p.m, before, ask, others)
		if refusal != nil {
			return fsmimpl.Step{}, &fsm.Refusal{Code: fsm.Code(refusal.Code), Machine: p.m.Name, Operation: o.Name, ID: id, State: refusal.State, Guard: refusal.Guard}
		}
		*r = d.Record
		step := fsmimpl.Step{To: d.To.Stored(), RecordOnly: d.RecordOnly}
		if d.From != nil {
			step.From = d.From.Stored()
		}
		return step, nil
	}
}
