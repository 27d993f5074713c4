package driver

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ImageEvery is the distance of the events that hold the whole record: the
// state as of any revision is folded from fewer events than this.
const ImageEvery = 64

// FoldRow makes the row of a record out of its log, which starts at revision 1 or at
// an event with an image. It applies what the events say and evaluates no rule, so
// that an old log folds under a new specification. Record-only events are passed
// over, and so are fields that the specification does not know, in events of
// another version.
func FoldRow(s *Schema, events []Event) (Row, error) {
	var row Row
	for i := range events {
		if err := row.Fold(s, &events[i]); err != nil {
			return Row{}, fmt.Errorf("fold %s %q at revision %d: %w", s.Machine, events[i].ID, events[i].Rev, err)
		}
	}
	if row.Rev == 0 {
		return Row{}, errors.New("fold: the log is empty")
	}
	return row, nil
}

// Blank returns the row that a creation starts from.
func (s *Schema) Blank() Row {
	row := Row{Values: make([]any, len(s.Columns))}
	for i := range s.Columns {
		switch s.Columns[i].Kind {
		case KindSet:
			row.Values[i] = emptySet
		case KindCounter:
			row.Values[i] = int64(0)
		}
	}
	return row
}

// olderRow returns the row of a log that knows none of the columns.
func olderRow(s *Schema) Row {
	row := s.Blank()
	for i := range s.Columns {
		if v := s.Columns[i].Default; v != nil {
			row.Values[i] = v
		}
	}
	return row
}

// Fold applies one event to the row, whose values it writes in place; a zero
// row is one before any event.
func (r *Row) Fold(s *Schema, e *Event) error {
	if e.RecordOnly() {
		return nil
	}
	switch {
	case r.Rev == 0 && e.Rev != 1 && e.Image.IsZero():
		return errors.New("the log starts without an image")
	case r.Rev == 0:
		*r = olderRow(s)
		r.ID, r.CreatedAt, r.UpdatedAt = e.ID, e.At, e.At
	case e.ID != r.ID:
		return fmt.Errorf("the event belongs to %q", e.ID)
	case e.Rev != r.Rev+1:
		return fmt.Errorf("the revision follows %d", r.Rev)
	}
	r.State, r.Rev = e.To, e.Rev
	if e.At.After(r.UpdatedAt) && e.Operation != OpRedact { // that is nothing the record went through
		r.UpdatedAt = e.At
	}
	if !e.Image.IsZero() {
		return r.FoldImage(s, e)
	}
	return applyChanges(s, r, e)
}

// foreign reports whether a field that the schema does not know may be one of the
// specification that the event was written under: of an older one, or of a later
// one that is open beside this one.
func foreign(s *Schema, e *Event) bool { return e.Version != s.Version }

// Partial reports whether the image of the event lacks fields that the schema has:
// a program of an older version wrote it, perhaps beside one of this version. One
// that is no image, or none that can be read, lacks them all.
func (e *Event) Partial(s *Schema) bool {
	if e.Version >= s.Version {
		return false
	}
	m, _ := e.Image.Members()
	for i := range s.Columns {
		if _, known := m[s.Columns[i].Stored]; !known {
			return true
		}
	}
	return false
}

// FoldImage puts the image of an event in the place of the row's values.
func (r *Row) FoldImage(s *Schema, e *Event) error {
	m, err := e.Image.Members()
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	values := olderRow(s).Values
	if e.Version < s.Version { // the program of an older version leaves as they are the fields that it does not know
		for i := range s.Columns {
			if _, known := m[s.Columns[i].Stored]; !known {
				values[i] = r.Values[i]
			}
		}
	}
	for _, name := range sortedKeys(m) {
		kind, i := KindTime, s.Column(name)
		switch {
		case i >= 0:
			kind = s.Columns[i].Kind
		case name != "created_at" && name != "updated_at":
			if foreign(s, e) {
				continue
			}
			return fmt.Errorf("image: no field is stored as %q", name)
		}
		v, err := DecodeValue(kind, m[name])
		if err != nil {
			return fmt.Errorf("image: %s: %w", name, err)
		}
		if i >= 0 {
			if v == nil && values[i] != nil {
				return fmt.Errorf("image: %s cannot be absent", name)
			}
			values[i] = v
			continue
		}
		t, ok := v.(time.Time)
		if !ok {
			return fmt.Errorf("image: %s is absent", name)
		}
		if name == "created_at" {
			r.CreatedAt = t
		} else {
			r.UpdatedAt = t
		}
	}
	r.Values = values
	return nil
}

func applyChanges(s *Schema, row *Row, e *Event) error {
	m, err := e.Changes.Members()
	if err != nil {
		return fmt.Errorf("changes: %w", err)
	}
	for _, name := range sortedKeys(m) {
		i := s.Column(name)
		if i < 0 {
			if foreign(s, e) {
				continue
			}
			return fmt.Errorf("changes: no field is stored as %q", name)
		}
		var v any
		if kind := s.Columns[i].Kind; kind == KindSet {
			v, err = changedSet(row.Values[i], m[name])
		} else if v, err = DecodeValue(kind, m[name]); v == nil && err == nil && kind == KindCounter {
			err = errors.New("it cannot be absent")
		}
		if err != nil {
			return fmt.Errorf("changes: %s: %w", name, err)
		}
		row.Values[i] = v
	}
	return nil
}

// Changes returns the indices of the columns that differ, and the after-image
// of them as it stands in an event.
func (s *Schema) Changes(old, next []any) ([]int, JSON, error) {
	if len(next) != len(s.Columns) || len(old) != len(s.Columns) {
		return nil, JSON{}, fmt.Errorf("the row has %d values, the schema %d columns", len(next), len(s.Columns))
	}
	var few [16]int // so that what is usual grows on the stack
	var some [16]Member
	changed, members := few[:0], some[:0]
	for i := range s.Columns {
		if Same(old[i], next[i]) {
			continue
		}
		c, v := &s.Columns[i], next[i]
		if c.Kind == KindSet {
			said, err := setChange(c.Stored, old[i], next[i])
			if err != nil {
				return nil, JSON{}, fmt.Errorf("%s: %w", c.Name, err)
			}
			changed, members = append(changed, i), append(members, said)
			continue
		}
		changed = append(changed, i)
		members = append(members, Member{c.Stored, c.Kind, v})
	}
	changes, err := Object(members)
	return slices.Clone(changed), changes, err
}

// Image returns the whole row as it stands in an event.
func (s *Schema) Image(row *Row) (JSON, error) {
	members := make([]Member, 0, len(s.Columns)+2)
	members = append(members,
		Member{"created_at", KindTime, row.CreatedAt},
		Member{"updated_at", KindTime, row.UpdatedAt})
	for i := range s.Columns {
		members = append(members, Member{s.Columns[i].Stored, s.Columns[i].Kind, row.Values[i]})
	}
	return Object(members)
}
