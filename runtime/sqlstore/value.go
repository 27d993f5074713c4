package sqlstore

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// decode returns a column's value as fsm.Row holds it.
func decode(kind driver.Kind, raw any) (any, error) {
	if raw == nil {
		return nil, nil
	}
	switch kind {
	case driver.KindString, driver.KindEnum, driver.KindJSON, driver.KindSet:
		switch v := raw.(type) {
		case string:
			return v, nil
		case []byte:
			return string(v), nil
		}
	case driver.KindInt, driver.KindCounter, driver.KindSequence:
		if v, ok := raw.(int64); ok {
			return v, nil
		}
	case driver.KindBool:
		switch v := raw.(type) {
		case bool:
			return v, nil
		case int64:
			if v == 0 || v == 1 {
				return v == 1, nil
			}
		}
	case driver.KindTime:
		switch v := raw.(type) {
		case time.Time:
			return driver.Time(v), nil
		case int64:
			return time.UnixMicro(v).UTC(), nil
		}
	}
	return nil, fmt.Errorf("holds %v (%T), which its type does not allow", raw, raw)
}

// instant scans a time that is never absent.
type instant time.Time

// Scan reads a column.
func (i *instant) Scan(raw any) error {
	v, err := decode(driver.KindTime, raw)
	if err != nil {
		return err
	}
	t, ok := v.(time.Time)
	if !ok {
		return fmt.Errorf("holds no time")
	}
	*i = instant(t)
	return nil
}

// document scans a JSON text that may be absent: null is the zero JSON.
type document driver.JSON

// Scan reads a column.
func (d *document) Scan(raw any) error {
	if raw == nil {
		*d = document{}
		return nil
	}
	return (*driver.JSON)(d).Scan(raw)
}

// labels scans an event's labels.
type labels map[string]string

// Scan reads a column.
func (l *labels) Scan(raw any) error {
	var text []byte
	switch v := raw.(type) {
	case nil:
		*l = nil
		return nil
	case string:
		text = []byte(v)
	case []byte:
		text = v
	default:
		return fmt.Errorf("cannot read labels from %T", raw)
	}
	return json.Unmarshal(text, (*map[string]string)(l))
}

func labelText(l map[string]string) (any, error) {
	if l == nil {
		return nil, nil
	}
	b, err := json.Marshal(l)
	return string(b), err
}

// orNull writes an empty text as NULL.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func documentText(j driver.JSON) any { return orNull(j.String()) }

// rowOf scans one row of the machine's table, and what the query returns besides.
func (t *table) rowOf(rows Rows, more ...any) (driver.Row, error) {
	var row driver.Row
	values := make([]any, len(t.schema.Columns))
	targets := make([]any, 5, 5+len(values)+len(more))
	targets[0], targets[1], targets[2] = &row.ID, &row.State, &row.Rev
	targets[3], targets[4] = (*instant)(&row.CreatedAt), (*instant)(&row.UpdatedAt)
	for i := range values {
		targets = append(targets, &values[i])
	}
	if err := rows.Scan(append(targets, more...)...); err != nil {
		return row, fmt.Errorf("sqlstore: read a row of %s: %w", t.schema.Table, err)
	}
	for i := range values {
		v, err := decode(t.schema.Columns[i].Kind, values[i])
		if err != nil {
			return row, fmt.Errorf("sqlstore: %s %q: column %q %w", t.schema.Machine, row.ID, t.schema.Columns[i].Stored, err)
		}
		values[i] = v
	}
	row.Values = values
	return row, nil
}

// eventColumns are the columns of the log that a write hands in, in the order of
// eventArgs; eventOf reads them and the chain behind them.
var eventColumns = []string{"id", "rev", "n", "operation", "name", "from", "to", "at", "actor", "reason", "request_id",
	"request_n", "fingerprint", "labels", "inputs", "changes", "image", "version", "cause", "guard", "sum"}

// eventOf scans one event, and what the query returns besides.
func (t *table) eventOf(rows Rows, more ...any) (driver.Event, error) {
	var e driver.Event
	var from, request, cause, guard sql.NullString
	err := rows.Scan(append([]any{&e.ID, &e.Rev, &e.N, &e.Operation, &e.Name, &from, &e.To, (*instant)(&e.At), &e.Actor, &e.Reason, &request,
		&e.RequestN, &e.Fingerprint, (*labels)(&e.Labels), (*document)(&e.Inputs), (*document)(&e.Changes), (*document)(&e.Image),
		&e.Version, &cause, &guard, &e.Sum, &e.Chain}, more...)...)
	if err != nil {
		return e, fmt.Errorf("sqlstore: read an event of %s: %w", t.schema.Table, err)
	}
	e.From, e.RequestID, e.Cause, e.Guard = from.String, request.String, cause.String, guard.String
	return e, nil
}

func (t *table) eventArgs(e *driver.Event) ([]any, error) {
	labels, err := t.labelsOf(e)
	if err != nil {
		return nil, err
	}
	return []any{e.ID, e.Rev, e.N, e.Operation, e.Name, orNull(e.From), e.To, t.bind(e.At), e.Actor, e.Reason, orNull(e.RequestID),
		e.RequestN, e.Fingerprint, labels, documentText(e.Inputs), documentText(e.Changes), documentText(e.Image),
		e.Version, orNull(e.Cause), orNull(e.Guard), int64(e.Sum)}, nil
}

// labelsOf returns an event's labels as its column holds them.
func (t *table) labelsOf(e *driver.Event) (any, error) {
	labels, err := labelText(e.Labels)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: labels of %s %q: %w", t.schema.Machine, e.ID, err)
	}
	return labels, nil
}

// absentOf returns a bit for each of eventColumns that is absent.
func absentOf(e *driver.Event) (absent uint32) {
	for i, column := range eventColumns {
		lacks := false
		switch column {
		case "from":
			lacks = e.From == ""
		case "request_id":
			lacks = e.RequestID == ""
		case "labels":
			lacks = e.Labels == nil
		case "inputs":
			lacks = e.Inputs.IsZero()
		case "changes":
			lacks = e.Changes.IsZero()
		case "image":
			lacks = e.Image.IsZero()
		case "cause":
			lacks = e.Cause == ""
		case "guard":
			lacks = e.Guard == ""
		}
		if lacks {
			absent |= 1 << i
		}
	}
	return absent
}

// eventArg returns what one of eventColumns holds where it is not absent; labels
// are those of labelsOf.
func eventArg(column string, e *driver.Event, labels any) any {
	switch column {
	case "id":
		return e.ID
	case "rev":
		return e.Rev
	case "n":
		return e.N
	case "operation":
		return e.Operation
	case "name":
		return e.Name
	case "from":
		return e.From
	case "to":
		return e.To
	case "at":
		return e.At
	case "actor":
		return e.Actor
	case "reason":
		return e.Reason
	case "request_id":
		return e.RequestID
	case "request_n":
		return e.RequestN
	case "fingerprint":
		return e.Fingerprint
	case "labels":
		return labels
	case "inputs":
		return e.Inputs.String()
	case "changes":
		return e.Changes.String()
	case "image":
		return e.Image.String()
	case "version":
		return e.Version
	case "cause":
		return e.Cause
	case "guard":
		return e.Guard
	}
	return int64(e.Sum)
}
