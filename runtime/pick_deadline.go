package fsm

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// errOver takes back a pick whose deadline went by while it was made: it is decided
// again, as of now.
var errOver = errors.New("the deadline that the pick gives was over before its commit")

// over returns a refusal when a step of a pick gives its record a deadline that was
// to come when the call was made and is over now: who picked it would hold what a
// trigger may take back at once. A call that brings its own time says what it wants.
func (m *Machine[R]) over(q *request[R], s *step[R], now time.Time) (err error) {
	m.deadlines(q, s, func(due time.Time, column int, op string) {
		if err == nil && !due.After(now) {
			r := m.refusal(ErrInvalidInput, q.op, "", "")
			r.Name = m.schema.Columns[column].Name
			r.Message = fmt.Sprintf("%s went by while the call was made, so that %s would take back at once what was picked; "+
				"call again with a later one", due.Format(time.RFC3339Nano), op)
			err = r
		}
	})
	return err
}

// lasts returns how long it is until over refuses the step; 0: it never does.
func (m *Machine[R]) lasts(q *request[R], s *step[R], now time.Time) (least time.Duration) {
	m.deadlines(q, s, func(due time.Time, _ int, _ string) {
		if left := due.Sub(now); least == 0 || left < least {
			least = left
		}
	})
	return least
}

// deadlines gives f each deadline of the record after a step that was to come when the call was made, with its column and the
// operation of its trigger.
func (m *Machine[R]) deadlines(q *request[R], s *step[R], f func(due time.Time, column int, op string)) {
	if !q.At.IsZero() {
		return
	}
	for _, op := range m.d.Operations {
		for _, t := range op.Triggers {
			c := m.schema.Column(t.After)
			if c < 0 || !slices.Contains(s.write.Changed, c) {
				c = m.schema.Column(t.By)
			}
			if t.Startup || c < 0 || !slices.Contains(op.From, s.row.State) || !slices.Contains(s.write.Changed, c) {
				continue
			}
			at, _ := m.schema.Key(&s.row, t.After, t.By).(time.Time)
			if due := at.Add(t.Plus); due.After(q.begun) {
				f(due, c, op.Name)
			}
		}
	}
}
