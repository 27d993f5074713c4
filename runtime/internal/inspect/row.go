package inspect

import (
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// OfRow judges a row by its words and its rules; its log is not read. What is said of a rule
// that must hold passes through said, which may add to it. decoded says that rec is the record.
func OfRow[R any](m *Engine[R], row *driver.Row, said func(string) string) (found []Finding, rec R, decoded bool) {
	err := Insane(m.Schema, row)
	if err == nil {
		rec, err = m.Descriptor.Decode(*row)
	}
	if err != nil {
		return []Finding{{ID: row.ID, Check: CheckDecode, Must: true, Message: said(err.Error())}}, rec, false
	}
	for _, v := range m.Descriptor.Check(&rec) {
		f := Finding{ID: row.ID, Check: CheckRule, Must: v.Must, Message: v.String()}
		if v.Must {
			f.Message = said(f.Message)
		}
		found = append(found, f)
	}
	return found, rec, true
}

// Insane returns what no record of any machine can be.
func Insane(s *driver.Schema, row *driver.Row) error {
	if len(row.Values) != len(s.Columns) {
		return fmt.Errorf("the row has %d values, the machine %d fields", len(row.Values), len(s.Columns))
	}
	if row.Rev < 1 {
		return fmt.Errorf("the revision is %d, records begin at 1", row.Rev)
	}
	if !s.Knows(row.State) {
		return fmt.Errorf("no state is stored as %q", row.State)
	}
	for i := range s.Columns {
		n, ok := row.Values[i].(int64)
		if ok && (s.Columns[i].Kind == driver.KindCounter && n < 0 || s.Columns[i].Kind == driver.KindSequence && n < 1) {
			return fmt.Errorf("%s is %d, which nothing counts to", s.Columns[i].Name, n)
		}
	}
	return nil
}

// IsUnreadable reports whether an event could not be read.
func IsUnreadable(err error) bool {
	var unreadable *driver.EventError
	return errors.As(err, &unreadable)
}
