package sqlstore

import (
	"fmt"
	"math"
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

// rowOf scans one row of the machine's table, and what the query returns besides.
func (t *table) rowOf(rows Rows, more ...any) (driver.Row, error) {
	var row driver.Row
	values := make([]any, len(t.schema.Columns))
	targets := make([]any, 5, 6+len(values)+len(more))
	targets[0], targets[1], targets[2] = &row.ID, &row.State, &row.Rev
	targets[3], targets[4] = (*instant)(&row.CreatedAt), (*instant)(&row.UpdatedAt)
	for i := range values {
		targets = append(targets, &values[i])
	}
	var chain int64
	targets = append(targets, &chain)
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
	if chain > 0 && chain <= math.MaxUint32 { // else others wrote it: it is not known
		row.Chain = uint32(chain)
	}
	return row, nil
}

// columnType returns the server's type of a column.
func columnType(kind driver.Kind) string {
	switch kind {
	case driver.KindInt, driver.KindCounter, driver.KindSequence:
		return "bigint"
	case driver.KindBool:
		return "boolean"
	case driver.KindTime:
		return "timestamptz"
	case driver.KindJSON, driver.KindSet:
		return "json"
	}
	return "text"
}
