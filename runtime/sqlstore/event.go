package sqlstore

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// eventColumn is a column of the log. All statements and scans of events follow from
// eventColumns.
type eventColumn struct {
	name  string
	kind  driver.Kind
	value func(*driver.Event) any // where the value stands: see held; nil: it is absent
	into  func(*driver.Event) any // what scans it

	redacted bool // a redaction writes it
}

// eventColumns are the columns that a write hands in. The chain stands behind them: the
// statement computes it.
var eventColumns = []eventColumn{
	textColumn("id", func(e *driver.Event) *string { return &e.ID }),
	numberColumn("rev", func(e *driver.Event) *int64 { return &e.Rev }),
	numberColumn("n", func(e *driver.Event) *int64 { return &e.N }),
	textColumn("operation", func(e *driver.Event) *string { return &e.Operation }),
	textColumn("name", func(e *driver.Event) *string { return &e.Name }),
	wordColumn("from_state", func(e *driver.Event) *string { return &e.From }),
	textColumn("to_state", func(e *driver.Event) *string { return &e.To }),
	{name: "occurred_at", kind: driver.KindTime, value: func(e *driver.Event) any { return &e.At },
		into: func(e *driver.Event) any { return (*instant)(&e.At) }},
	textColumn("actor", func(e *driver.Event) *string { return &e.Actor }).edited(),
	textColumn("reason", func(e *driver.Event) *string { return &e.Reason }).edited(),
	wordColumn("request_id", func(e *driver.Event) *string { return &e.RequestID }),
	numberColumn("request_n", func(e *driver.Event) *int64 { return &e.RequestN }),
	textColumn("fingerprint", func(e *driver.Event) *string { return &e.Fingerprint }).edited(),
	eventColumn{name: "labels", kind: driver.KindJSON, value: labelsOf,
		into: func(e *driver.Event) any { return (*labels)(&e.Labels) }}.edited(),
	inputsColumn(),
	documentColumn("changes", func(e *driver.Event) *driver.JSON { return &e.Changes }),
	documentColumn("image", func(e *driver.Event) *driver.JSON { return &e.Image }),
	{name: "version", kind: driver.KindInt, value: func(e *driver.Event) any { return &e.Version },
		into: func(e *driver.Event) any { return &e.Version }},
	wordColumn("cause", func(e *driver.Event) *string { return &e.Cause }),
	wordColumn("guard", func(e *driver.Event) *string { return &e.Guard }),
	eventColumn{name: "checksum", kind: driver.KindInt, value: func(e *driver.Event) any { return &e.Sum },
		into: func(e *driver.Event) any { return &e.Sum }}.edited(),
}

// edited says that a redaction writes a column.
func (c eventColumn) edited() eventColumn { c.redacted = true; return c }

func textColumn(name string, of func(*driver.Event) *string) eventColumn {
	return eventColumn{name: name, kind: driver.KindString,
		value: func(e *driver.Event) any { return of(e) }, into: func(e *driver.Event) any { return of(e) }}
}

// wordColumn is a text that is absent where it is empty.
func wordColumn(name string, of func(*driver.Event) *string) eventColumn {
	return eventColumn{name: name, kind: driver.KindString,
		value: func(e *driver.Event) any { return unlessEmpty(of(e)) }, into: func(e *driver.Event) any { return (*word)(of(e)) }}
}

func numberColumn(name string, of func(*driver.Event) *int64) eventColumn {
	return eventColumn{name: name, kind: driver.KindInt,
		value: func(e *driver.Event) any { return of(e) }, into: func(e *driver.Event) any { return of(e) }}
}

// unlessEmpty returns where a text stands that is absent where it is empty.
func unlessEmpty(text *string) any {
	if *text == "" {
		return nil
	}
	return text
}

// documentColumn is a JSON text that is absent where there is none.
func documentColumn(name string, of func(*driver.Event) *driver.JSON) eventColumn {
	return eventColumn{name: name, kind: driver.KindJSON, redacted: true,
		value: func(e *driver.Event) any {
			if of(e).IsZero() {
				return nil
			}
			return of(e)
		},
		into: func(e *driver.Event) any { return (*document)(of(e)) }}
}

// held returns the value that stands at a place, as rows hold it. A place takes no memory
// of its own, and most values of an event are never asked for. Other values stay.
func held(v any) any {
	switch v := v.(type) {
	case *string:
		return *v
	case *int64:
		return *v
	case *int:
		return int64(*v)
	case *uint32:
		return int64(*v)
	case *time.Time:
		return *v
	case *driver.JSON:
		return v.String()
	case interface{ text() string }: // labels, inputs
		return v.text()
	}
	return v
}

// eventOf scans one event, and what the query returns besides.
func (t *table) eventOf(rows Rows, more ...any) (driver.Event, error) {
	var e driver.Event
	targets := make([]any, 0, len(eventColumns)+1+len(more))
	for i := range eventColumns {
		targets = append(targets, eventColumns[i].into(&e))
	}
	if err := rows.Scan(append(append(targets, &e.Chain), more...)...); err != nil {
		return e, &scanError{fmt.Errorf("sqlstore: read an event of %s: %w", t.schema.Table, err)}
	}
	e.Inputs = t.inputsOf(&e)
	return e, nil
}

// readEvent scans one event: eventOf or eventOrPlace.
type readEvent func(rows Rows, more ...any) (driver.Event, error)

// scanError says that a row is there, and is no event.
type scanError struct{ error }

// Unwrap returns what is wrong with it.
func (e *scanError) Unwrap() error { return e.error }

// unscanned reports whether a query failed because a row is no event.
func unscanned(err error) bool {
	var scan *scanError
	return errors.As(err, &scan)
}

// eventOrPlace is eventOf for a log of which some row is no event: of that it returns the place, and an *EventError.
func (t *table) eventOrPlace(rows Rows, more ...any) (driver.Event, error) {
	var e driver.Event
	var wrong error
	targets := make([]any, 0, len(eventColumns)+1+len(more))
	for i := range eventColumns {
		into := eventColumns[i].into(&e)
		if i >= 3 { // the first three are its place
			into = &careful{eventColumns[i].name, into, &wrong}
		}
		targets = append(targets, into)
	}
	targets = append(append(targets, &careful{"chain", &e.Chain, &wrong}), more...)
	if err := rows.Scan(targets...); err != nil {
		return e, fmt.Errorf("sqlstore: read the place of an event of %s: %w", t.schema.Table, err)
	}
	if wrong != nil {
		at := driver.Event{ID: e.ID, Rev: e.Rev, N: e.N}
		return at, &driver.EventError{ID: e.ID, Rev: e.Rev, N: e.N, Key: t.schema.Table + "_events", Err: wrong}
	}
	e.Inputs = t.inputsOf(&e)
	return e, nil
}

// careful scans a column into a place, and keeps what is wrong with it instead of ending the scan.
type careful struct {
	column string
	into   any
	wrong  *error
}

// Scan reads a column.
func (c *careful) Scan(raw any) error {
	var err error
	switch into := c.into.(type) {
	case sql.Scanner:
		err = into.Scan(raw)
	case *string:
		err = asText(raw, into)
	default:
		n, ok := raw.(int64)
		switch into := into.(type) {
		case *int64:
			*into = n
		case *int:
			*into = int(n)
		case *uint32:
			*into, ok = uint32(n), ok && n >= 0 && n <= math.MaxUint32
		}
		if !ok {
			err = fmt.Errorf("holds %v (%T)", raw, raw)
		}
	}
	if err != nil && *c.wrong == nil {
		*c.wrong = fmt.Errorf("column %q: %w", c.column, err)
	}
	return nil
}

// inputsOf returns the inputs of an event as readers see them.
func (t *table) inputsOf(e *driver.Event) driver.JSON {
	if column := e.Inputs.String(); column != "" && column[0] == '[' {
		return driver.RawJSON(fullInputs(column, e.Changes.String()))
	}
	return e.Inputs
}

// word scans a text that may be absent.
type word string

// Scan reads a column.
func (w *word) Scan(raw any) error {
	if raw == nil {
		*w = ""
		return nil
	}
	return asText(raw, (*string)(w))
}

func asText(raw any, text *string) error {
	switch v := raw.(type) {
	case string:
		*text = v
	case []byte:
		*text = string(v)
	default:
		return fmt.Errorf("cannot read a text from %T", raw)
	}
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
	if raw == nil {
		*l = nil
		return nil
	}
	var text string
	if err := asText(raw, &text); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), (*map[string]string)(l))
}

func (l labels) text() string {
	b, _ := json.Marshal(l) // texts have always a form
	return string(b)
}

func labelsOf(e *driver.Event) any {
	if e.Labels == nil {
		return nil
	}
	return labels(e.Labels)
}
