package fsm

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/internal/rows"
)

// errOver takes back a pick whose deadline went by while it was made: it is decided
// again, as of now.
var errOver = errors.New("the deadline that the pick gives was over before its commit")

// over returns a refusal when a step of a pick gives its record a deadline that was
// to come when the call was made and is over now: who picked it would hold what a
// trigger may take back at once. A call that brings its own time says what it wants.
func (m *Machine[R]) over(q *request[R], s *step[R], now time.Time) error {
	if !q.At.IsZero() {
		return nil
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
			at, _ := rows.Key(m.schema, &s.row, t.After, t.By).(time.Time)
			if due := at.Add(t.Plus); due.After(q.begun) && !due.After(now) {
				r := m.refusal(ErrInvalidInput, q.op, "", "")
				r.Name = m.schema.Columns[c].Name
				r.Message = fmt.Sprintf("%s went by while the call was made, so that %s would take back at once what was picked; call again with a later one",
					due.Format(time.RFC3339Nano), op.Name)
				return r
			}
		}
	}
	return nil
}
