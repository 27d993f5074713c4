package interp

import (
	"cmp"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// Decision is what an accepted call does to one record.
type Decision struct {
	From, To   *spec.State     // From is nil for a creation; equal for a record-only call and for `to: same`
	Record     Record          // after the call: the stored record itself when RecordOnly
	RecordOnly bool            // the call is recorded and changes nothing
	Guard      string          // the guard that failed, where `on_refusal: record_only` kept the call
	Branch     *spec.Branch    // the branch that was taken, or nil
	Changed    []*spec.Field   // the fields whose value differs, in the order of the file
	Asks       []*spec.Effect  // the work to be done outside the record, in order
	Then       *spec.Operation // what follows in the same transaction, or nil
}

// Others is what a decision must know of the other records.
type Others struct {
	Count map[string]int64 // by guard: how many other records of the group are in its states
	Next  map[string]int64 // by field: the next number of a sequence, for a creation; 0 when there is none
}

// Decide says what one operation does to one stored record, without a store:
// no replay, no revision, no `unique`. For a creation r is [NewRecord].
func Decide(m *spec.Machine, r Record, c Call, others Others) (Decision, *Refusal) {
	c, refusal := Accept(m, c)
	if refusal != nil {
		return Decision{}, refusal
	}
	return decide(m, r, c, others, nil)
}

// decide is Decide for a call that was accepted. The unique function, when
// there is one, looks at the record before its invariants do.
func decide(m *spec.Machine, r Record, c Call, others Others, unique func(Record) *Refusal) (Decision, *Refusal) {
	op := c.Op
	creation := len(op.Creates) > 0
	switch {
	case creation:
		r.CreatedAt = c.At
	case r.State == nil: // in no state of the machine: nothing is possible
		return Decision{}, wrongState(op, nil)
	case m.Class(r.State, op) == spec.RecordOnly:
		if g := stranger(m, r, c); g != nil {
			return Decision{}, guardRefusal(c, r, g)
		}
		return recordOnly(r, ""), nil
	case m.Class(r.State, op) != spec.Transition:
		return Decision{}, wrongState(op, r.State)
	}
	if req := failing(m, r, c, others); req != nil {
		if op.OnRefusalRecordOnly {
			return recordOnly(r, req.Guard.Name), nil
		}
		return Decision{}, guardRefusal(c, r, req.Guard)
	}

	after := r
	if creation {
		for _, f := range m.Fields {
			if f.Type.Kind == spec.KindSequence {
				if others.Next[f.Name] < 1 {
					return Decision{}, overflow(op, r, f)
				}
				after = after.with(m, f, Int(others.Next[f.Name]))
			}
		}
	}
	after, over := apply(m, &op.Effects, r, after, c)
	if over != nil {
		return Decision{}, overflow(op, r, over)
	}
	d := Decision{From: r.State}
	to, same := target(op)
	if len(op.Choose) > 0 {
		d.Branch = choose(m, op, r.State, after, c)
		switch b := d.Branch; {
		case b == nil:
			return Decision{}, &Refusal{Code: CodeInvariant, Operation: op.Name, State: name(r.State), Name: "choose", Message: "no branch fits the record"}
		case b.Reject != "":
			return Decision{}, &Refusal{Code: CodeGuard, Operation: op.Name, State: name(r.State), Guard: b.Reject, Sentinel: b.Reject}
		case b.RecordOnly:
			noted := recordOnly(r, "")
			noted.Branch = b
			return noted, nil
		default:
			for _, in := range b.Rejects() {
				if c.Inputs[in.Name].Kind == KindAbsent {
					return Decision{}, c.invalid(in.Name, "this branch needs it")
				}
			}
			if after, over = apply(m, &b.Effects, r, after, c); over != nil {
				return Decision{}, overflow(op, r, over)
			}
			to, same = b.To, b.Same
		}
	}
	if same {
		after.State = r.State
	} else {
		after.State = to.State
	}
	d.Asks = op.Asked(d.Branch, r.State, after.State)
	if then := op.Follower(d.Branch); then != nil {
		d.Then = then.Operation
	}
	after.Rev = r.Rev + 1
	after.UpdatedAt = later(r.UpdatedAt, c.At)
	d.To, d.Record = after.State, after
	for i, f := range m.Fields {
		if after.Fields[i] != r.Fields[i] {
			d.Changed = append(d.Changed, f)
		}
	}
	if unique != nil {
		if refusal := unique(after); refusal != nil {
			return Decision{}, refusal
		}
	}
	for _, v := range arrival(m, r, after, creation) {
		if v.Must {
			return Decision{}, &Refusal{Code: CodeInvariant, Operation: op.Name, State: name(r.State), Name: v.Rule, Message: v.Message}
		}
	}
	if rule, f := Broken(m, r, after); rule != nil && !creation {
		return Decision{}, &Refusal{Code: CodeInvariant, Operation: op.Name, State: name(r.State), Name: f.Text, Message: rule.Reason}
	}
	return d, nil
}

// failing returns the first requirement that the stored record does not meet.
func failing(m *spec.Machine, r Record, c Call, others Others) *spec.Requirement {
	for _, req := range c.Op.Require {
		if req.Guard.Peers != nil {
			own := r
			if req.Limit != nil && len(c.Op.Creates) > 0 {
				own = Effects(m, &c.Op.Effects, r, c)
			}
			if !req.Guard.Peers.Passes(others.Count[req.Guard.Name], Most(m, req, own, c)) {
				return req
			}
		}
		if !all(m, req.When, r, c) {
			return req
		}
	}
	return nil
}

// choose returns the first branch that fits the record after the effects of
// the operation, or nil.
func choose(m *spec.Machine, op *spec.Operation, from *spec.State, after Record, c Call) *spec.Branch {
	for _, b := range op.Branches(from) {
		if all(m, b.When, after, c) {
			return b
		}
	}
	return nil
}

// target returns where an operation without branches leads.
func target(op *spec.Operation) (to *spec.StateRef, same bool) {
	if len(op.Creates) > 0 {
		return &op.Creates[0], false
	}
	return op.To, op.Same
}

// stranger returns the guard that refuses a call which would be recorded only: one that
// compares a field with the actor, where the record names somebody else.
func stranger(m *spec.Machine, r Record, c Call) *spec.Guard {
	if c.Op.OnRefusalRecordOnly {
		return nil
	}
	for _, q := range c.Op.Require {
		for _, f := range q.Owners() {
			if v := r.Value(m, f); v.Kind != KindAbsent && v.Text != c.Actor {
				return q.Guard
			}
		}
	}
	return nil
}

func recordOnly(r Record, guard string) Decision {
	return Decision{From: r.State, To: r.State, Record: r, RecordOnly: true, Guard: guard}
}

// wrongState refuses a cell. That nothing will ever be possible again is a
// cause of its own: a terminal record.
func wrongState(op *spec.Operation, s *spec.State) *Refusal {
	r := &Refusal{Code: CodeWrongState, Operation: op.Name, State: name(s)}
	if s != nil && s.Terminal {
		r.Code = CodeTerminal
	}
	for _, from := range op.From {
		r.Allowed = append(r.Allowed, from.State.Name)
	}
	return r
}

// overflow refuses a step after which a field would have to hold more than it can.
func overflow(op *spec.Operation, r Record, f *spec.Field) *Refusal {
	return &Refusal{Code: CodeOverflow, Operation: op.Name, State: name(r.State), Name: f.Name}
}

func guardRefusal(c Call, r Record, g *spec.Guard) *Refusal {
	return &Refusal{
		Code: CodeGuard, Operation: c.Op.Name, State: name(r.State),
		Guard: g.Name, Sentinel: cmp.Or(g.Error, g.Name), Message: g.Message,
	}
}

func name(s *spec.State) string {
	if s == nil {
		return ""
	}
	return s.Name
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
