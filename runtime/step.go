package fsm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
	"github.com/fsmgen/fsmgen/runtime/internal/inside"
)

// step is one decided step of one record, before it is written.
type step[R any] struct {
	op     *fsmimpl.Operation[R]
	rec    R          // after it
	old    driver.Row // of a record that its caller holds
	row    driver.Row
	write  driver.Write
	branch int                      // that it took, see fsmimpl.Step
	atomic []*fsmimpl.EffectInfo[R] // the effects that run in the transaction
}

// origin is where a step came from.
type origin struct {
	event driver.Event // what it says of that
	try   bool         // records were passed over to come here: no group is waited for
	among bool         // other calls are in the transaction, of which nobody knows what they do

	problem string // why an effect gave up, which the step follows; else empty
}

func (q *request[R]) origin(requestID string, n int64) origin {
	return origin{event: driver.Event{
		At: q.at, Actor: q.Actor, Reason: q.Reason, RequestID: requestID, RequestN: n,
		Fingerprint: q.fingerprint, Labels: q.Labels, Inputs: q.inputs, Cause: q.cause,
	}, among: q.among}
}

// decide runs the pure method on a copy of rec and makes the write of what it
// decided. prev is nil for a creation.
func (m *Machine[R]) decide(op *fsmimpl.Operation[R], c *fsmimpl.Call[R], prev *driver.Row, rec R, id string, peers []int64, o origin) (*step[R], error) {
	s := &step[R]{op: op, rec: rec}
	if err := m.decideStep(s, c, prev, id, peers, o); err != nil {
		return nil, err
	}
	return s, nil
}

// decideStep is decide for a step that holds the copy already.
func (m *Machine[R]) decideStep(s *step[R], c *fsmimpl.Call[R], prev *driver.Row, id string, peers []int64, o origin) error {
	op, rec := s.op, s.rec
	decided, err := c.Decide(&s.rec, id, peers, o.event.At)
	if err != nil {
		return err
	}
	if prev != nil && prev.Rev == math.MaxInt64 && !decided.RecordOnly {
		refusal := m.refusal(ErrOverflow, op, id, prev.State)
		refusal.Name = "rev"
		return refusal
	}
	w := &s.write
	w.Prev = driver.Ref{ID: id}
	before := prev
	if prev != nil {
		w.Prev, w.PrevState = prev.Ref(), prev.State
	} else {
		blank := m.schema.Blank()
		before = &blank
	}
	w.Event = o.event
	e := &w.Event
	e.ID, e.Operation, e.Name, e.Version = id, op.Stored, op.Event, m.schema.Version
	e.From, e.To, e.Guard = decided.From, decided.To, decided.Guard
	if decided.RecordOnly {
		if prev == nil {
			return fmt.Errorf("%s: %s: a creation cannot be recorded only", m.schema.Machine, op.Name)
		}
		s.rec, s.row = rec, *prev
		e.Rev, e.From, e.To, e.Changes = prev.Rev, prev.State, prev.State, driver.RawJSON("{}")
		e.Sum = driver.Checksum(e)
		return nil
	}
	s.row = m.d.Encode(&s.rec)
	if s.row.ID != id || s.row.Rev != before.Rev+1 || s.row.State != decided.To || s.write.PrevState != decided.From {
		return fmt.Errorf("%s: %s decided on %s in state %q, but made %s in state %q out of %s in state %q: the pure method is wrong",
			m.schema.Machine, op.Name, w.Prev, decided.From, s.row.Ref(), s.row.State, w.Prev, w.PrevState)
	}
	if w.Changed, e.Changes, err = m.schema.Changes(before.Values, s.row.Values); err != nil {
		return fmt.Errorf("%s %q: %s: %w", m.schema.Machine, id, op.Name, err)
	}
	if err := m.fits(op, before, &s.row, w.Changed); err != nil {
		return err
	}
	e.Rev = s.row.Rev
	if e.Rev == 1 || e.Rev%driver.ImageEvery == 0 {
		if e.Image, err = m.schema.Image(&s.row); err != nil {
			return fmt.Errorf("%s %q: %s: %w", m.schema.Machine, id, op.Name, err)
		}
	}
	e.Sum = driver.Checksum(e)
	if prev == nil || prev.Chain != 0 {
		s.row.Chain = driver.Chained(before.Chain, e)
	}
	w.Row = &s.row
	w.Leave = m.leave && prev != nil
	s.branch = decided.Branch
	for _, effect := range op.Asked(s.branch, decided.From, decided.To) {
		if effect.Atomic {
			s.atomic = append(s.atomic, effect)
		} else {
			n := int64(len(w.Outbox))
			w.Outbox = append(w.Outbox, driver.Delivery{ID: id, Rev: e.Rev, N: n, Effect: effect.Name, Key: m.effectKey(s, effect), Due: m.now()})
		}
	}
	return nil
}

// effectKey returns the idempotency key of an effect of a step.
func (m *Machine[R]) effectKey(s *step[R], effect *fsmimpl.EffectInfo[R]) string {
	if effect.Key != nil {
		return effect.Key(&s.rec)
	}
	return m.schema.Machine + "/" + s.row.ID + "/" + strconv.FormatInt(s.row.Rev, 10) + "/" + effect.Name
}

// simple reports whether the step of op is one write that needs no other.
func simple[R any](op *fsmimpl.Operation[R], c *fsmimpl.Call[R]) bool {
	return c.Peers == nil && !op.MayAsk(true) && !op.Leads()
}

// takeStep decides one step within a transaction, writes it and runs its atomic effects.
func (m *Machine[R]) takeStep(ctx context.Context, tx driver.Tx, op *fsmimpl.Operation[R], c *fsmimpl.Call[R], prev *driver.Row, rec R, id string, o origin) (*step[R], error) {
	var peers []int64
	var locked []inside.Group
	var counts map[string]int64 // by guard, where the program gave limits
	if c.Peers != nil {
		peerRec := rec
		for _, pq := range c.Peers(&peerRec, id) {
			if pq.Hold && (prev == nil || !slices.Contains(pq.States, prev.State)) {
				continue // there is nothing to leave
			}
			if !pq.Sequence && !pq.Hold && op.MayAsk(true) { // others come into a group that is only held
				locked = append(locked, inside.Group{Columns: pq.Columns, Values: pq.Values})
			}
			ask := tx.Peers
			if pq.Sequence {
				ask = tx.NextNumber
			}
			pq.Try, pq.Locked = o.try, pq.Locked && !o.among
			n, err := ask(pq)
			if errors.Is(err, driver.ErrHeld) {
				return nil, &heldGroup{pq}
			}
			if err != nil {
				return nil, err
			}
			if pq.Hold {
				continue
			}
			peers = append(peers, m.counted(pq.Name, n))
			if m.options.limits[pq.Name] > 0 {
				if counts == nil {
					counts = map[string]int64{}
				}
				counts[pq.Name] = n
			}
		}
	}
	s, err := m.decide(op, c, prev, rec, id, peers, o)
	if err != nil {
		for guard, n := range counts {
			m.uncounted(err, guard, n)
		}
		return nil, err
	}
	if err := tx.Write(&s.write); err != nil {
		return nil, m.conflict(err, op, id, s.write.PrevState)
	}
	for _, effect := range s.atomic {
		inner := inside.Enter(call.Free(ctx), m.store, m.schema.Machine, locked) // what the effect calls has a time of its own
		if err := m.performAtomic(inner, tx, op, effect, s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// conflict makes a refusal of a broken unique rule, except where looking again
// gives a better answer: a creation then finds the existing record, or gets the
// next number. A record that comes from another group, or is imported, keeps its number.
func (m *Machine[R]) conflict(err error, op *fsmimpl.Operation[R], id, state string) error {
	var c *driver.ConflictError
	if !errors.As(err, &c) || op.Creates && op.Stored != driver.OpImport && (c.Rule == op.Dedupe || m.isSequence(c.Rule)) {
		return err
	}
	return m.notUnique(c, op, id, state)
}

func (m *Machine[R]) notUnique(c *driver.ConflictError, op *fsmimpl.Operation[R], id, state string) *Refusal {
	r := m.refusal(ErrNotUnique, op, id, state)
	r.Name = c.Rule
	if u := m.uniqueRule(c.Rule); u != nil {
		r.Cause, r.Message = u.Err, u.Message
	}
	return r
}

func (m *Machine[R]) isSequence(rule string) bool {
	for i := range m.schema.Columns {
		c := &m.schema.Columns[i]
		if c.Kind == driver.KindSequence && rule == "sequence_"+c.Name {
			return true
		}
	}
	return false
}

// follow takes the steps that `then` asks for, in the same transaction, and
// returns the last step and all events.
func (m *Machine[R]) follow(ctx context.Context, tx driver.Tx, s *step[R], at time.Time, by origin) (*step[R], []driver.Event, error) {
	events := []driver.Event{s.write.Event}
	for s.write.Row != nil && s.op.Follower(s.branch) != "" {
		o := origin{event: driver.Event{At: at}, try: by.try, among: by.among}
		next, err := m.thenStep(ctx, tx, s.op, m.byName[s.op.Follower(s.branch)], &s.row, s.rec, o)
		if err != nil {
			return nil, nil, err
		}
		events = append(events, next.write.Event)
		s = next
	}
	return s, events, nil
}

// thenStep takes the step of next that follows op. Of its origin the time is given, and
// the request id unless it is in op's own transaction.
func (m *Machine[R]) thenStep(ctx context.Context, tx driver.Tx, op, next *fsmimpl.Operation[R], prev *driver.Row, rec R, o origin) (*step[R], error) {
	c, err := problemCall(next, &rec, o.event.At, o.problem)
	if err != nil {
		return nil, fmt.Errorf("%s %q: source of %s: %w", m.schema.Machine, prev.ID, next.Name, err)
	}
	inputs, err := driver.InputObject(c.Inputs)
	if err != nil {
		return nil, m.badInput(err, next, prev.ID)
	}
	e := &o.event
	e.Actor, e.RequestN, e.Inputs, e.Cause = driver.SystemActor, -1, inputs, op.Stored
	if e.RequestID != "" {
		if e.Fingerprint, err = driver.Fingerprint(next.Stored, driver.SystemActor, "", c.Inputs); err != nil {
			return nil, err
		}
	}
	return m.takeStep(ctx, tx, next, &c, prev, rec, prev.ID, o)
}

// verdict is the error of an effect that returned err.
func verdict(tx driver.Tx, err error) error {
	switch {
	case err != nil:
		return err
	case tx.Ended():
		return errEnded
	}
	return nil
}

var errEnded = errors.New("the effect has ended the transaction, which is the engine's; it must neither commit it nor roll it back")
