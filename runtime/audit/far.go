package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
	"github.com/fsmgen/fsmgen/runtime/internal/rows"
)

// farAhead is how far off a deadline may be before an audit warns.
const farAhead = 5 * 366 * 24 * time.Hour

// far lists the deadlines that were set with a wrong clock, for all that is known: they
// keep the sweeper away from the record.
func (m *machine[R]) far(row *driver.Row) []inspect.Finding {
	var found []inspect.Finding
	limit := m.Now().Add(farAhead)
	for _, op := range m.Descriptor.Operations {
		for _, t := range op.Triggers {
			if t.Startup || !slices.Contains(op.From, row.State) {
				continue
			}
			at, _ := rows.Key(m.Schema, row, t.After, t.By).(time.Time)
			if at.After(limit) {
				name := m.name(t.After)
				if t.By != "" {
					name += " + " + m.name(t.By)
				}
				found = append(found, inspect.Finding{ID: row.ID, Rev: row.Rev, Check: CheckFar,
					Message: fmt.Sprintf("%s is %s: until then nothing fires %s", name, at.Format(time.RFC3339), op.Name)})
			}
		}
	}
	return found
}

// name returns the specification's name of a stored field.
func (m *machine[R]) name(stored string) string {
	if i := m.Schema.Column(stored); i >= 0 {
		return m.Schema.Columns[i].Name
	}
	return stored
}
