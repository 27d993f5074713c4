package fsmimpl

import (
	"context"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// EffectFunc performs an effect. For an atomic effect tx is the transaction of
// the step, otherwise it is nil. r is the record as of the event's revision.
type EffectFunc[R any] func(ctx context.Context, tx driver.Tx, r R, key string, e driver.Event) error

// Other is an effect that is a step of a record of another machine; its key is that record's id.
type Other[R any] struct {
	Machine, Operation string
	Passes             []Argument                // the inputs that it hands over
	Inputs             func(r *R) map[string]any // their values as rows hold them, of the record after the step; nil without any
}

// EffectKey returns the text of an effect's idempotency key, of values as rows hold
// them: its parts with a slash between. A key of one text is that text as it is; in
// any other key texts are JSON strings, so that no two keys read the same. Numbers
// are decimal, times RFC 3339 in UTC, an absent part is a hyphen.
func EffectKey(parts ...any) string {
	if text, ok := parts[0].(string); ok && len(parts) == 1 {
		return text
	}
	var b []byte
	for i, p := range parts {
		if i > 0 {
			b = append(b, '/')
		}
		switch v := p.(type) {
		case nil:
			b = append(b, '-')
		case string:
			b = driver.AppendText(b, v)
		case time.Time:
			b = v.UTC().AppendFormat(b, time.RFC3339Nano)
		default:
			b = fmt.Append(b, v)
		}
	}
	return string(b)
}
