package fsm

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Page names a part of a list. The zero Page is the first one.
type Page struct {
	// Size is how many records the page has at most; 0 stands for 100.
	Size int
	// After is the cursor behind which the page begins; empty: at the beginning. Of the
	// page that a call returns as the next one it is empty where there is none.
	After string
}

// usualPage is the size of a page that names none.
const usualPage = 100

// Page returns the records of a page that a look-up finds, and the page behind it. A
// record that breaks a MUST rule is left out; the error then holds a refusal with
// ErrQuarantined for each, and the page stands all the same. In an atomic effect: as Group.
func (m *Machine[R]) Page(ctx context.Context, l *fsmimpl.Lookup, values []any, p Page) ([]R, Page, error) {
	if p.Size < 0 {
		r := m.refusal(ErrInvalidInput, nil, "", "")
		r.Name, r.Message = "size", fmt.Sprintf("a page cannot have %d records", p.Size)
		return nil, Page{}, r
	}
	if p.Size == 0 {
		p.Size = usualPage
	}
	q, err := m.lookup(l, values)
	if err != nil {
		return nil, Page{}, err
	}
	if err := m.unskewed(ctx, l.Name, q.Where); err != nil {
		return nil, Page{}, err
	}
	if p.After != "" {
		if q.After, q.Behind, err = m.place(l, p.After); err != nil {
			return nil, Page{}, err
		}
	}
	q.Limit = p.Size + 1 // one more says that there is another page
	rows, err := m.rows(ctx, q)
	if err != nil {
		return nil, Page{}, err
	}
	next := Page{Size: p.Size}
	if len(rows) > p.Size {
		rows = rows[:p.Size]
		if next.After, err = m.cursor(l, &rows[p.Size-1]); err != nil {
			return nil, Page{}, err
		}
	}
	records, err := m.loadAll(rows)
	return records, next, err
}

// Group returns all records that a look-up finds, as of one moment, or ErrNotFound. Where
// one of them breaks a MUST rule there is an error. In a transaction of yours, do not decide
// on a group what you write there: another transaction may change it meanwhile. In an
// atomic effect a group that the call has not locked is refused with ErrUnlocked.
func (m *Machine[R]) Group(ctx context.Context, l *fsmimpl.Lookup, values []any) ([]R, error) {
	q, err := m.lookup(l, values)
	if err != nil {
		return nil, err
	}
	if err := m.unskewed(ctx, l.Name, q.Where); err != nil {
		return nil, err
	}
	rows, err := m.rows(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, m.refusal(ErrNotFound, nil, "", "")
	}
	return m.loadAll(rows)
}

// loadAll returns the records that keep the rules, and what refuses the others.
func (m *Machine[R]) loadAll(rows []driver.Row) ([]R, error) {
	records := make([]R, 0, len(rows))
	var broken []error
	for i := range rows {
		if rec, err := m.load(nil, &rows[i]); err != nil {
			broken = append(broken, err)
		} else {
			records = append(records, rec)
		}
	}
	return records, errors.Join(broken...)
}

// Find returns the record that a look-up over unique fields finds, or ErrNotFound. One
// that breaks a MUST rule comes beside a refusal with ErrQuarantined.
func (m *Machine[R]) Find(ctx context.Context, l *fsmimpl.Lookup, values []any) (rec R, err error) {
	q, err := m.lookup(l, values)
	if err != nil {
		return rec, err
	}
	rows, err := m.rows(ctx, q)
	switch {
	case err != nil:
		return rec, err
	case len(rows) == 0:
		return rec, m.refusal(ErrNotFound, nil, "", "")
	}
	return m.load(nil, &rows[0])
}

// lookup returns the query of a look-up. No record holds a value that cannot be stored.
func (m *Machine[R]) lookup(l *fsmimpl.Lookup, values []any) (driver.Query, error) {
	q := driver.Query{States: l.States, Order: l.Order}
	for i, c := range l.Columns {
		if s, ok := values[i].(string); ok {
			if err := driver.CheckText(s); err != nil {
				r := m.refusal(ErrInvalidInput, nil, "", "")
				r.Name, r.Message = m.columnName(c), err.Error()
				return q, r
			}
		}
		q.Where = append(q.Where, driver.Cond{Column: c, Op: driver.OpEq, Value: values[i]})
	}
	return q, nil
}

// columnName returns the name of a column in the specification.
func (m *Machine[R]) columnName(stored string) string {
	if i := m.schema.Column(stored); i >= 0 {
		return m.schema.Columns[i].Name
	}
	return stored
}

// rows reads a list as of one moment.
func (m *Machine[R]) rows(ctx context.Context, q driver.Query) (rows []driver.Row, err error) {
	if len(q.Order) > 0 || q.Limit > 0 && q.Limit <= inspect.PageSize { // one question
		err = m.table.Look(ctx, func(r driver.Reader) (err error) {
			rows, err = inspect.Collect(r, q)
			return err
		})
		if err != nil || !slices.ContainsFunc(rows, func(row driver.Row) bool { return m.wasLoose(row.ID) }) {
			return rows, err
		}
	}
	err = m.table.View(ctx, func(r driver.Reader) (err error) {
		rows, err = inspect.Collect(r, q)
		for i := 0; i < len(rows) && err == nil; i++ {
			_, err = m.isLoose(r, rows[i].ID)
		}
		return err
	})
	return rows, err
}

// sorts is what a cursor says of the look-up that gave it.
func sorts(l *fsmimpl.Lookup) string {
	var keys []string
	for _, o := range l.Order {
		keys = append(keys, map[bool]string{true: "-"}[o.Descending]+o.Column)
	}
	return l.Name + " " + strings.Join(keys, " ")
}

// cursor writes the place behind a row: the look-up, the row's keys of the order, its id.
func (m *Machine[R]) cursor(l *fsmimpl.Lookup, row *driver.Row) (string, error) {
	b := driver.AppendText([]byte("["), sorts(l))
	for _, o := range l.Order {
		kind, value := m.ordered(o.Column, row)
		var err error
		if b, err = driver.AppendValue(append(b, ','), kind, value); err != nil {
			return "", err
		}
	}
	b = append(driver.AppendText(append(b, ','), row.ID), ']')
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// ordered returns the kind of a column that an order names, and a row's value of it.
func (m *Machine[R]) ordered(column string, row *driver.Row) (driver.Kind, any) {
	switch column {
	case "created_at":
		return driver.KindTime, row.CreatedAt
	case "updated_at":
		return driver.KindTime, row.UpdatedAt
	}
	i := m.schema.Column(column)
	return m.schema.Columns[i].Kind, row.Values[i]
}

// place reads what cursor wrote.
func (m *Machine[R]) place(l *fsmimpl.Lookup, cursor string) (id string, behind []any, err error) {
	wrong := fmt.Errorf("%s: %s: %q: %w", m.schema.Machine, l.Name, cursor, ErrCursor)
	var parts []json.RawMessage
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(text, &parts) != nil || len(parts) != len(l.Order)+2 {
		return "", nil, wrong
	}
	var from string
	if json.Unmarshal(parts[0], &from) != nil || from != sorts(l) ||
		json.Unmarshal(parts[len(parts)-1], &id) != nil || driver.CheckID(id) != nil {
		return "", nil, wrong
	}
	blank := m.schema.Blank()
	for i, o := range l.Order {
		kind, _ := m.ordered(o.Column, &blank)
		value, err := driver.DecodeValue(kind, parts[i+1])
		if s, ok := value.(string); err != nil || ok && driver.CheckText(s) != nil {
			return "", nil, wrong
		}
		behind = append(behind, value)
	}
	return id, slices.Clip(behind), nil
}
