// Package rows says which rows fit a query and in which order they come: the
// reading of fsm.Query for stores that hold rows in Go values.
package rows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Known returns an error unless the machine has every column of the query.
func Known(s *driver.Schema, q *driver.Query) error {
	for _, c := range q.Where {
		if err := known(s, c.Column, c.By); err != nil {
			return err
		}
	}
	for _, o := range q.Order {
		if err := known(s, o.Column, o.By); err != nil {
			return err
		}
	}
	if q.After != "" && len(q.Behind) != len(q.Order) {
		return fmt.Errorf("a query of %s by %d columns begins behind %d values", s.Machine, len(q.Order), len(q.Behind))
	}
	return nil
}

// known returns an error unless there is a column, and it is a time where a length is added to it.
func known(s *driver.Schema, column, by string) error {
	kind, err := KindOf(s, column)
	if err != nil || by == "" {
		return err
	}
	length, err := KindOf(s, by)
	if err == nil && (kind != driver.KindTime || length != driver.KindInt) {
		err = fmt.Errorf("%s: %q cannot be added to %q; name a time and a length", s.Machine, by, column)
	}
	return err
}

// KindOf returns the kind of a column.
func KindOf(s *driver.Schema, column string) (driver.Kind, error) {
	if column == "created_at" || column == "updated_at" {
		return driver.KindTime, nil
	}
	if i := s.Column(column); i >= 0 {
		return s.Columns[i].Kind, nil
	}
	return 0, fmt.Errorf("%s has no column %q", s.Machine, column)
}

// Fit reports whether a row is in the states of a query and meets its
// conditions. After, Behind, Order and Limit do not matter.
func Fit(s *driver.Schema, row *driver.Row, q *driver.Query) bool {
	if q.IDs != nil && !slices.Contains(q.IDs, row.ID) || q.States != nil && !slices.Contains(q.States, row.State) {
		return false
	}
	for _, c := range q.Where {
		value := s.Key(row, c.Column, c.By)
		if i := s.Column(c.Column); i >= 0 && s.Columns[i].Kind == driver.KindSet && emptySet(value) {
			value = nil
		}
		if !holds(value, c) {
			return false
		}
	}
	return true
}

func holds(value any, c driver.Cond) bool {
	switch c.Op {
	case driver.OpPresent:
		return value != nil
	case driver.OpAbsent:
		return value == nil
	}
	if value == nil || c.Value == nil {
		return false
	}
	n := Compare(value, c.Value)
	switch c.Op {
	case driver.OpEq:
		return n == 0
	case driver.OpNe:
		return n != 0
	case driver.OpLt:
		return n < 0
	case driver.OpLe:
		return n <= 0
	case driver.OpGt:
		return n > 0
	case driver.OpGe:
		return n >= 0
	}
	return false
}

// Sort orders rows that stand in the order of their ids by the keys of order.
// Absent values come last.
func Sort(s *driver.Schema, list []driver.Row, order []driver.Order) {
	slices.SortStableFunc(list, func(a, b driver.Row) int { // stable: ties stay in the order of the ids
		return inOrder(s, &a, order, func(i int) any { return s.Key(&b, order[i].Column, order[i].By) })
	})
}

// Behind reports whether a row stands behind the place where a query with an order begins.
func Behind(s *driver.Schema, row *driver.Row, q *driver.Query) bool {
	if q.After == "" || len(q.Order) == 0 {
		return true
	}
	c := inOrder(s, row, q.Order, func(i int) any { return q.Behind[i] })
	return c > 0 || c == 0 && row.ID > q.After
}

// inOrder compares a row with the values of another one, by the keys of order.
func inOrder(s *driver.Schema, row *driver.Row, order []driver.Order, other func(i int) any) int {
	for i, o := range order {
		x, y := s.Key(row, o.Column, o.By), other(i)
		switch {
		case x == nil && y == nil:
			continue
		case x == nil:
			return 1
		case y == nil:
			return -1
		}
		c := Compare(x, y)
		if o.Descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// Compare orders two present values of one column; false comes before true.
func Compare(a, b any) int {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b)
		}
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b)
		}
	case bool:
		if b, ok := b.(bool); ok {
			return cmp.Compare(bit(a), bit(b))
		}
	case time.Time:
		if b, ok := b.(time.Time); ok {
			return a.Compare(b)
		}
	}
	panic(fmt.Sprintf("a %T cannot be compared with a %T", a, b))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// emptySet reports whether a stored value is a set without members.
func emptySet(v any) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	var items []string
	return json.Unmarshal([]byte(s), &items) == nil && len(items) == 0
}

// Blank returns the value of a column that a row of an older specification
// does not have.
func Blank(c *driver.Column) any {
	if c.Default != nil {
		return c.Default
	}
	switch c.Kind {
	case driver.KindSet:
		return "[]"
	case driver.KindCounter:
		return int64(0)
	}
	return nil
}
