package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
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
			name, at := t.After, time.Time{}
			switch i := slices.IndexFunc(m.Schema.Columns, func(c driver.Column) bool { return c.Stored == t.After }); {
			case i >= 0:
				name = m.Schema.Columns[i].Name
				at, _ = row.Values[i].(time.Time)
			case t.After == "created_at":
				at = row.CreatedAt
			default:
				at = row.UpdatedAt
			}
			if at.After(limit) {
				found = append(found, inspect.Finding{ID: row.ID, Rev: row.Rev, Check: CheckFar,
					Message: fmt.Sprintf("%s is %s: until then nothing fires %s", name, at.Format(time.RFC3339), op.Name)})
			}
		}
	}
	return found
}
