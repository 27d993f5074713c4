package fsmimpl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Column returns an optional value as rows hold it: nil when it is absent.
func Column[T any](o driver.Optional[T]) any {
	if v, ok := o.Get(); ok {
		return v
	}
	return nil
}

// ColumnOf is Column for a value that rows hold in another form.
func ColumnOf[T, V any](o driver.Optional[T], form func(T) V) any {
	if v, ok := o.Get(); ok {
		return form(v)
	}
	return nil
}

// Reading reads the columns of a row in their order, or the inputs of a call. It keeps what goes wrong.
type Reading struct {
	schema *driver.Schema
	takes  []Argument // of inputs, which have no schema
	row    driver.Row
	next   int
	errs   []error
}

// Read begins to read a row.
func Read(s *driver.Schema, r driver.Row) *Reading {
	rd := &Reading{schema: s, row: r}
	if len(r.Values) != len(s.Columns) {
		rd.errs = append(rd.errs, fmt.Errorf("the row has %d columns, expected %d", len(r.Values), len(s.Columns)))
	}
	return rd
}

// Err returns what went wrong, with machine and record.
func (r *Reading) Err() error {
	if r.errs == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", r.schema.Machine, r.row.ID, errors.Join(r.errs...))
}

// State reads the state.
func (r *Reading) State(to interface{ UnmarshalText([]byte) error }) {
	if err := to.UnmarshalText([]byte(r.row.State)); err != nil {
		r.errs = append(r.errs, err)
	}
}

// value returns the next column; nil after the last one.
func (r *Reading) value() any {
	r.next++
	if r.next > len(r.row.Values) {
		return nil
	}
	return r.row.Values[r.next-1]
}

// wrong notes what is wrong with the column that was read last.
func (r *Reading) wrong(format string, args ...any) {
	switch {
	case r.next > len(r.row.Values):
	case r.schema == nil:
		r.wrongInput(fmt.Sprintf(strings.Replace(format, "%w", "%v", 1), args...))
	case r.next <= len(r.schema.Columns):
		r.errs = append(r.errs, fmt.Errorf("column "+r.schema.Columns[r.next-1].Stored+format, args...))
	}
}

// Plain reads a column that must be there.
func Plain[T any](r *Reading, to *T) {
	v := r.value()
	if typed, ok := v.(T); ok {
		*to = typed
		return
	}
	r.wrong(" holds %T, expected %T", v, *to)
}

// PlainOptional reads a column that may be absent.
func PlainOptional[T any](r *Reading, to *driver.Optional[T]) {
	v := r.value()
	typed, ok := v.(T)
	switch {
	case ok:
		*to = driver.Some(typed)
	case v != nil:
		r.wrong(" holds %T, expected %T", v, typed)
	}
}

// scanned is a type that reads a text column.
type scanned[T any] interface {
	*T
	Scan(src any) error
}

// Scan reads a text column that must be there.
func Scan[T any, P scanned[T]](r *Reading, to *T) { r.text(P(to).Scan, true) }

// ScanOptional reads a text column that may be absent.
func ScanOptional[T any, P scanned[T]](r *Reading, to *driver.Optional[T]) {
	var v T
	if r.text(P(&v).Scan, false) {
		*to = driver.Some(v)
	}
}

// Word reads the column of an enum that must be there.
func Word[T any, P textual[T]](r *Reading, to *T) {
	r.text(func(src any) error { return P(to).UnmarshalText([]byte(src.(string))) }, true)
}

// WordOptional reads the column of an enum that may be absent.
func WordOptional[T any, P textual[T]](r *Reading, to *driver.Optional[T]) {
	var v T
	if r.text(func(src any) error { return P(&v).UnmarshalText([]byte(src.(string))) }, false) {
		*to = driver.Some(v)
	}
}

// text hands the text of the next column to read, and reports whether it was taken.
func (r *Reading) text(read func(any) error, must bool) bool {
	v := r.value()
	text, ok := v.(string)
	if !ok {
		if must || v != nil {
			r.wrong(" holds %T, expected a string", v)
		}
		return false
	}
	if err := read(text); err != nil {
		r.wrong(": %w", err)
		return false
	}
	return true
}

// Value hands the next column, as rows hold it, to a function that takes it.
func Value(r *Reading, take func(any) error) {
	if err := take(r.value()); err != nil {
		r.wrong(": %w", err)
	}
}
