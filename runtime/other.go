package fsm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// Used hands the machine to one that uses it, when that one is opened: its steps make steps of this
// machine's records, in one transaction. Both are over one store. The generated Open does it.
func (m *Machine[R]) Used() Option {
	return func(o *options) {
		if o.used == nil {
			o.used = map[string]other{}
		}
		o.used[m.schema.Machine] = m
	}
}

// other is a machine whose records the steps of another one move.
type other interface {
	in() driver.Store
	height() int
	// offers returns what of a step the machine does not offer, or nil.
	offers(operation string, passes []fsmimpl.Argument) error
	// take takes a step of a record in a transaction of another machine of the store. Cause is
	// the effect that asks for it: machine, id, revision and name.
	take(ctx context.Context, tx driver.Tx, operation, id string, inputs map[string]any, cause string) error
	besides() bool
	ringAll()
}

func (m *Machine[R]) in() driver.Store { return m.store }

// height is the longest chain of machines below this one.
func (m *Machine[R]) height() int {
	height := 0
	for _, u := range m.options.used {
		height = max(height, u.height()+1)
	}
	return height
}

// besides reports whether the store lets machines share a transaction.
func (m *Machine[R]) besides() bool {
	_, ok := m.table.(driver.Neighbor)
	return ok
}

func (m *Machine[R]) offers(operation string, passes []fsmimpl.Argument) error {
	op := m.byName[operation]
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%s of machine %s "+format+"; generate both packages from the same files", append([]any{operation, m.schema.Machine}, args...)...)
	}
	switch {
	case op == nil:
		return wrong("is not there")
	case op.By != fsmimpl.BySystem:
		return wrong("is not the system's")
	case op.System == nil && op.Make == nil:
		return wrong("cannot be called from outside")
	}
	for _, p := range passes {
		i := slices.IndexFunc(op.Takes, func(a fsmimpl.Argument) bool { return a.Name == p.Name })
		if i < 0 {
			return wrong("takes no input %s", p.Name)
		}
		if takes := op.Takes[i]; takes.Kind != p.Kind || takes.Length != p.Length {
			return wrong("takes an input %s of another type", p.Name)
		}
	}
	for _, a := range op.Takes {
		if !a.Optional && !slices.ContainsFunc(passes, func(p fsmimpl.Argument) bool { return p.Name == a.Name }) {
			return wrong("needs the input %s", a.Name)
		}
	}
	return nil
}

// others makes the functions of the effects that are steps of other machines.
func (m *Machine[R]) others() error {
	made := map[string]fsmimpl.EffectFunc[R]{}
	for _, op := range m.d.Operations {
		for e := range op.Effects() {
			x := e.Other
			if x == nil || made[e.Name] != nil || m.effects[e.Name] != nil {
				continue
			}
			used := m.options.used[x.Machine]
			if used == nil {
				return fmt.Errorf("operation %s moves records of machine %s, which was not handed in", op.Name, x.Machine)
			}
			if used.in() != m.store || !reflect.TypeOf(m.store).Comparable() {
				return fmt.Errorf("machine %s is over another store; open both over one", x.Machine)
			}
			if !used.besides() {
				return fmt.Errorf("operation %s moves records of machine %s, and a %T has no transaction of several machines", op.Name, x.Machine, m.store)
			}
			if err := used.offers(x.Operation, x.Passes); err != nil {
				return fmt.Errorf("operation %s: %w", op.Name, err)
			}
			name := e.Name
			made[name] = func(ctx context.Context, tx driver.Tx, r R, id string, e driver.Event) error {
				var inputs map[string]any
				if x.Inputs != nil {
					inputs = x.Inputs(&r)
				}
				cause := m.causeOf(e.ID, e.Rev, name)
				return used.take(ctx, tx, x.Operation, id, inputs, cause)
			}
		}
	}
	if len(made) == 0 {
		return nil
	}
	for name, f := range m.effects {
		made[name] = f
	}
	m.effects = made
	return nil
}

// causeOf names an effect of a step: machine, id, revision and effect. Where that is too long for the id of a request,
// a hash stands for the id.
func (m *Machine[R]) causeOf(id string, rev int64, effect string) string {
	text := func(id string) string {
		return m.schema.Machine + "/" + id + "/" + strconv.FormatInt(rev, 10) + "/" + effect
	}
	if cause := text(id); len(driver.Reserved+cause) <= driver.MaxID {
		return cause
	}
	sum := sha256.Sum256([]byte(id))
	return text(hex.EncodeToString(sum[:16]))
}

// take implements other. The event is one of the system: that it is made in the transaction
// of another machine's step, its cause says.
func (m *Machine[R]) take(ctx context.Context, tx driver.Tx, operation, id string, inputs map[string]any, cause string) error {
	own, err := m.table.(driver.Neighbor).Beside(ctx, tx)
	if err != nil {
		return err
	}
	op := m.byName[operation]
	if err := driver.CheckID(id); err != nil {
		r := m.refusal(ErrInvalidInput, op, id, "")
		r.Name, r.Message = "id", err.Error()
		return r
	}
	q := &request[R]{op: op, begun: m.now(), among: true, own: true, cause: cause}
	if q.Call, err = m.calledBy(op, id, inputs); err != nil {
		return err
	}
	q.Actor, q.at = driver.SystemActor, m.now()
	if q.inputs, err = driver.InputObject(q.Inputs); err != nil {
		return m.badInput(err, op, id)
	}
	if q.fingerprint, err = driver.Fingerprint(op.Stored, q.Actor, "", q.Inputs); err != nil {
		return err
	}
	q.RequestID = driver.Reserved + cause
	if op.Creates {
		_, err := m.createIn(ctx, own, q, id, false)
		return err
	}
	row, err := own.Row(id)
	if errors.Is(err, driver.ErrNotFound) {
		return m.missing(own, op, id)
	}
	if err != nil {
		return err
	}
	if _, err := m.isLoose(own, id); err != nil {
		return err
	}
	rec, err := m.load(op, &row)
	if err != nil {
		return err
	}
	m.tick(q)
	out, err := m.advance(ctx, own, q, &row, rec, id, q.origin(q.RequestID, -1))
	if err == nil && out.Events[0].Guard != "" { // it is not taken, and who asks must not go on
		refused := m.refusal(ErrGuard, op, id, row.State)
		refused.Name = out.Events[0].Guard
		return refused
	}
	return err
}

// calledBy makes the call of a step that another machine's asks for.
func (m *Machine[R]) calledBy(op *fsmimpl.Operation[R], id string, inputs map[string]any) (fsmimpl.Call[R], error) {
	if op.Make == nil {
		var zero R
		return op.System(&zero, m.now())
	}
	c, err := op.Called(id, inputs, fsmimpl.Caller{})
	var wrong *fsmimpl.InputError
	if errors.As(err, &wrong) {
		r := m.refusal(ErrInvalidInput, op, id, "")
		r.Name, r.Message = wrong.Input, wrong.Problem
		return c, r
	}
	return c, err
}

// plan has the steps of other machines that a transaction is still to take: when its own are
// done, from the highest machine to the lowest, by machine and id. So all transactions lock
// their records in one order.
type plan struct{ steps []planned }

type planned struct {
	height      int
	machine, id string
	run         func(ctx context.Context) error
}

type planKey struct{}

// planning runs the own steps of a transaction, and then those of other machines that they
// ask for, unless that is part of a plan already.
func (m *Machine[R]) planning(ctx context.Context, own func(ctx context.Context) error) error {
	if len(m.options.used) == 0 {
		return own(ctx)
	}
	if p, _ := ctx.Value(planKey{}).(*plan); p != nil {
		return own(ctx)
	}
	p := &plan{}
	ctx = context.WithValue(ctx, planKey{}, p)
	if err := own(ctx); err != nil {
		return err
	}
	for len(p.steps) > 0 {
		i := 0
		for k := range p.steps {
			if compareSteps(&p.steps[k], &p.steps[i]) < 0 {
				i = k
			}
		}
		next := p.steps[i]
		p.steps = slices.Delete(p.steps, i, i+1)
		if err := next.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

func compareSteps(a, b *planned) int {
	return cmp.Or(cmp.Compare(b.height, a.height), cmp.Compare(a.machine, b.machine), cmp.Compare(a.id, b.id))
}

// performAtomic runs an atomic effect of a step, or plans it where it is a step of another machine.
func (m *Machine[R]) performAtomic(ctx context.Context, tx driver.Tx, op *fsmimpl.Operation[R], effect *fsmimpl.EffectInfo[R], s *step[R]) error {
	key := m.effectKey(s, effect)
	rec, event := s.rec, s.write.Event
	run := func(ctx context.Context) error {
		err := m.effect(ctx, tx, op, effect, rec, key, event)
		if err := verdict(tx, err); err != nil {
			return &EffectError{Machine: m.schema.Machine, ID: event.ID, Effect: effect.Name, Key: key, Rev: event.Rev, Err: err}
		}
		return nil
	}
	used := effect.Other
	p, _ := ctx.Value(planKey{}).(*plan)
	if used == nil && p != nil { // the calls of a handler are whole, and no part of this plan
		return run(context.WithValue(ctx, planKey{}, (*plan)(nil)))
	}
	if p == nil || m.options.used[used.Machine] == nil {
		return run(ctx)
	}
	p.steps = append(p.steps, planned{m.options.used[used.Machine].height(), used.Machine, key, func(ctx context.Context) error { return run(call.Free(ctx)) }})
	return nil
}

// ringOthers tells those who wait for records of the machines that this one uses, and that they use. It
// may be in vain.
func (m *Machine[R]) ringOthers() {
	for _, u := range m.options.used {
		u.ringAll()
	}
}

func (m *Machine[R]) ringAll() {
	m.ring(left{records: 1, effects: 1})
	m.ringOthers()
}
