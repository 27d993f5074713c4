package sqlstore

import "github.com/fsmgen/fsmgen/runtime/driver"

// outboxColumns are the columns of the outbox.
var outboxColumns = []struct {
	name  string
	kind  driver.Kind
	value func(d *driver.Delivery) any
}{
	{"id", driver.KindString, func(d *driver.Delivery) any { return d.ID }},
	{"rev", driver.KindInt, func(d *driver.Delivery) any { return d.Rev }},
	{"n", driver.KindInt, func(d *driver.Delivery) any { return d.N }},
	{"effect", driver.KindString, func(d *driver.Delivery) any { return d.Effect }},
	{"key", driver.KindString, func(d *driver.Delivery) any { return d.Key }},
	{"attempts", driver.KindInt, func(d *driver.Delivery) any { return int64(d.Attempts) }},
	{"due", driver.KindTime, func(d *driver.Delivery) any { return d.Due }},
	{"last_error", driver.KindString, func(d *driver.Delivery) any { return d.LastError }},
}
