package interp

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// Event is one line of the log.
type Event struct {
	ID          string
	Rev         int64 // the revision it made; a record-only event stands at the revision it found
	N           int64 // 0 for a transition; 1, 2, 3 ... for the record-only events of a revision
	Op          *spec.Operation
	From, To    *spec.State // From is nil for a creation
	At          time.Time
	Actor       string
	Reason      string
	RequestID   string // empty for a step of `then` and for a call without one
	Machine     bool   // the scope of RequestID is the machine, not the record
	Fingerprint string
	Labels      map[string]string
	Inputs      map[string]Value
	Changes     []Change        // the after-image of the fields that changed
	Asks        []*spec.Effect  // what the step asked for, in order
	Cause       *spec.Operation // whose `then` this is, or that of its effect, or nil
	Guard       string          // the guard that failed, where `on_refusal: record_only` kept the call
	Commit      int             // the transaction of the world that wrote it: 1, 2, 3 ...
}

// Change is the value of one field after an event.
type Change struct {
	Field *spec.Field
	Value Value // of a set that is not empty: the members that came
	Added bool  // it is such a set
	Gone  Value // the members that it lost, where it lost some
}

// On is the value after a change of one.
func (c Change) On(before Value) Value {
	if c.Added {
		return before.Without(c.Gone).Union(c.Value)
	}
	return c.Value
}

// Fold makes the record out of its log. It applies images and evaluates no
// rule. A log with a gap is an error.
func Fold(m *spec.Machine, events []Event) (Record, error) { return fold(m, Record{}, events) }

// fold is Fold for a log that begins behind a record.
func fold(m *spec.Machine, r Record, events []Event) (Record, error) {
	var n int64
	for i, e := range events {
		switch {
		case e.ID != events[0].ID:
			return Record{}, fmt.Errorf("event %d is of record %q, the log is of %q", i, e.ID, events[0].ID)
		case e.N > 0:
			if e.Rev != r.Rev || e.N != n+1 {
				return Record{}, fmt.Errorf("event %d is (%d, %d), expected (%d, %d)", i, e.Rev, e.N, r.Rev, n+1)
			}
			n = e.N
			continue
		case e.Rev != r.Rev+1:
			return Record{}, fmt.Errorf("event %d makes revision %d, expected %d", i, e.Rev, r.Rev+1)
		}
		if e.Rev == 1 {
			r = Older(m, NewRecord(m, e.ID))
			r.CreatedAt = e.At
		}
		for _, c := range e.Changes {
			r = r.with(m, c.Field, c.On(r.Value(m, c.Field)))
		}
		r.State, r.Rev, r.UpdatedAt, n = e.To, e.Rev, later(r.UpdatedAt, e.At), 0
	}
	if r.Rev == 0 {
		return Record{}, fmt.Errorf("the log is empty")
	}
	return r, nil
}

// changes is the after-image of a decision. Of a set they are the members that
// came and those that it lost, and the whole set where it is empty.
func changes(m *spec.Machine, old Record, d Decision) []Change {
	var list []Change
	for _, f := range d.Changed {
		c := Change{Field: f, Value: d.Record.Value(m, f)}
		if f.Type.Kind == spec.KindSet && c.Value.IsPresent() {
			before := old.Value(m, f)
			if gone := before.Without(c.Value); gone.IsPresent() {
				c.Gone = gone
			}
			c.Value, c.Added = c.Value.Without(before), true
		}
		list = append(list, c)
	}
	return list
}

// fingerprint tells one request from another: operation, actor, reason and
// inputs, but no input that is set into a field which some trigger waits for,
// since a retry computes its deadline anew.
func fingerprint(m *spec.Machine, c Call) string {
	parts := []string{c.Op.Stored(), c.Actor, c.Reason}
	for _, in := range c.Op.Inputs {
		if v := c.Inputs[in.Name]; v.Kind != KindAbsent && !loose(m, c.Op, in) {
			parts = append(parts, in.Name, fmt.Sprint(v.Kind, v.Num), v.Text)
		}
	}
	for i, p := range parts {
		parts[i] = fmt.Sprintf("%q", p)
	}
	return strings.Join(parts, " ")
}

// SameRequest reports whether two accepted calls ask for the same, so that one of them
// can be a retry of the other.
func SameRequest(m *spec.Machine, a, b Call) bool { return fingerprint(m, a) == fingerprint(m, b) }

// loose reports whether an input is left out of the fingerprint. All inputs of
// a triggered operation are: a source computes them, and a sweeper that comes
// twice may compute others.
func loose(m *spec.Machine, op *spec.Operation, in *spec.Input) bool {
	if len(op.Triggers) > 0 {
		return true
	}
	waited := spec.Derived(m, waitedKey{}, func(m *spec.Machine) map[*spec.Field]bool {
		waited := map[*spec.Field]bool{}
		for _, other := range m.Operations {
			for _, t := range other.Triggers {
				waited[t.After] = true
			}
		}
		return waited
	})
	return slices.ContainsFunc(known(m, op).into[in], func(f *spec.Field) bool { return waited[f] })
}

// waitedKey is the key of the fields for which some trigger waits.
type waitedKey struct{}

// Due reports whether a trigger of the operation asks for it now: the record is
// in a state that the operation leaves, and the deadline has come. An absent
// deadline is never due. A trigger is no guard: the operation itself does not
// look at it.
func Due(m *spec.Machine, op *spec.Operation, r Record, now time.Time) bool {
	if m.Class(r.State, op) != spec.Transition {
		return false
	}
	return slices.ContainsFunc(op.Triggers, func(t spec.Trigger) bool {
		if t.Startup {
			return false // recovery asks once, at start, whatever the time
		}
		at := Deadline(m, t, r)
		return at.Kind == KindTime && at.Num <= Time(now).Num
	})
}

// Deadline is when a trigger asks for its operation: an instant, or absent where it never does.
func Deadline(m *spec.Machine, t spec.Trigger, r Record) Value {
	if t.Startup {
		return Absent
	}
	at := r.Value(m, t.After)
	if at.Kind == KindAbsent {
		return Absent
	}
	if t.By == nil {
		return Time(at.AsTime().Add(t.Plus))
	}
	by := r.Value(m, t.By)
	if by.Kind == KindAbsent {
		return Absent
	}
	return Value{Kind: KindTime, Num: at.Num + by.Num}
}
