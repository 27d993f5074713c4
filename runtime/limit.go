package fsm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// mostCall is the greatest size that WithMaxCall can set.
const mostCall = 8 << 20

// WithMaxCall sets how large a call and a record may be, from MaxCall (the default)
// to 8 MiB. Only SQLite and PostgreSQL hold calls that are larger than MaxCall.
func WithMaxCall(bytes int) Option { return func(o *options) { o.most = bytes } }

// badInput makes a refusal of an input that cannot be written.
func (m *Machine[R]) badInput(err error, op *fsmimpl.Operation[R], id string) error {
	var bad *driver.MemberError
	if !errors.As(err, &bad) {
		return err
	}
	code := ErrInvalidInput
	if size := (*driver.SizeError)(nil); errors.As(err, &size) {
		code = ErrTooLarge
	}
	r := m.refusal(code, op, id, "")
	r.Name, r.Message = bad.Name, bad.Err.Error()
	return r
}

// fits refuses a step that would make a record larger than stores can hold, or put
// a text into an index that is longer than indexes take. A record that is too large
// already may stay so.
func (m *Machine[R]) fits(op *fsmimpl.Operation[R], prev, row *driver.Row, changed []int) error {
	upper := 0
	for _, v := range row.Values {
		if s, ok := v.(string); ok {
			upper += len(s)
		}
	}
	if upper *= 6; upper <= driver.MaxIndexed { // no text grows more by being written as JSON
		return nil
	}
	if err := m.fitsIndexes(op, row, changed); err != nil || upper+64*len(row.Values) <= m.options.most {
		return err
	}
	image, err := m.schema.Image(row)
	if err != nil || len(image.String()) <= m.options.most {
		return err
	}
	if before, err := m.schema.Image(prev); err == nil && len(before.String()) >= len(image.String()) {
		return nil
	}
	return m.oversize(op, row.ID, "", "the record would have %d bytes, at most %d are possible", len(image.String()), m.options.most)
}

// fitsIndexes is fits for the texts by which records are found.
func (m *Machine[R]) fitsIndexes(op *fsmimpl.Operation[R], row *driver.Row, changed []int) error {
	for _, columns := range m.indexed {
		size, touched := 0, false
		var names []string
		for _, i := range columns {
			s, _ := row.Values[i].(string)
			size += driver.TextSize(s)
			touched = touched || slices.Contains(changed, i)
		}
		if size <= driver.MaxIndexed || !touched {
			continue
		}
		for _, i := range columns {
			names = append(names, m.schema.Columns[i].Name)
		}
		return m.oversize(op, row.ID, strings.Join(names, ", "),
			"an index holds it: it has %d bytes, at most %d are possible", size, driver.MaxIndexed)
	}
	return nil
}

// indexedColumns lists the columns of each index that hold texts.
func indexedColumns(s *driver.Schema) [][]int {
	var lists [][]int
	add := func(names []string) {
		var list []int
		for _, name := range names {
			if i := s.Column(name); i >= 0 && s.Columns[i].Kind == driver.KindString {
				list = append(list, i)
			}
		}
		if list != nil {
			lists = append(lists, list)
		}
	}
	for i := range s.Uniques {
		add(s.Uniques[i].Columns)
	}
	for i := range s.Indexes {
		names := slices.Clone(s.Indexes[i].Columns)
		for _, o := range s.Indexes[i].Order {
			names = append(names, o.Column)
		}
		add(names)
	}
	return lists
}

func (m *Machine[R]) oversize(op *fsmimpl.Operation[R], id, name, format string, args ...any) error {
	r := m.refusal(ErrTooLarge, op, id, "")
	r.Name, r.Message = name, fmt.Sprintf(format, args...)
	return r
}
