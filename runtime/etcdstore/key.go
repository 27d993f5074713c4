package etcdstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// keys makes the keys of one machine. Texts of callers are divided by NUL, which
// no id holds, so keys sort as the ids do and none is the beginning of another's.
type keys struct{ base string }

// The parts of a machine's keys.
const (
	partRow     = "r/" // id -> the record
	partEvent   = "e/" // id, revision, number -> the event
	partLog     = "l/" // a revision of etcd before the event's, id, revision, number
	partRequest = "q/" // id, request id -> where its event is
	partBatch   = "m/" // request id, number -> where its event is
	partState   = "i/" // state, id
	partIndex   = "x/" // index, columns, order, id -> state and id
	partGroup   = "g/" // index, columns: written when a group's members change
	partUnique  = "c/" // rule, columns -> the id that has the place
	partOutbox  = "o/" // id, revision, number -> the delivery
	partDue     = "d/" // effect, whether it was tried, due, id, revision, number
	partNumber  = "n/" // sequence, columns -> the last number
)

func (k keys) meta() string   { return k.base + "meta" }
func (k keys) layout() string { return k.base + "layout" }

// written is put by every transaction that writes, so that one compare holds
// the whole table still.
func (k keys) written() string { return k.base + "written" }

func (k keys) row(id string) string   { return k.base + partRow + id }
func (k keys) state(word string) span { return below(k.base + partState + word + "\x00") }
func (k keys) events(id string) span  { return below(k.base + partEvent + id + "\x00") }

func (k keys) event(id string, rev, n int64) string {
	return k.base + partEvent + id + "\x00" + place(rev, n)
}

// log is where an event stands in the log of all records. since is a revision of
// etcd, as read before the event was written.
func (k keys) log(since int64, id, at string) string {
	return k.base + partLog + sortable(since) + "\x00" + id + "\x00" + at
}

func (k keys) request(id, requestID string) string {
	return k.base + partRequest + id + "\x00" + requestID
}

func (k keys) batches(requestID string) span { return below(k.base + partBatch + requestID + "\x00") }

func (k keys) batch(requestID string, n int64) string {
	return k.base + partBatch + requestID + "\x00" + fmt.Sprintf("%09d", n)
}

func (k keys) outbox(id string, rev, n int64) string {
	return k.base + partOutbox + id + "\x00" + place(rev, n)
}

func (k keys) outboxes(id string) span { return below(k.base + partOutbox + id + "\x00") }

func (k keys) due(d *driver.Delivery) string {
	return k.dues(d.Effect, d.Attempts > 0) + sortable(d.Due.UnixMicro()) + "\x00" + d.ID + "\x00" + place(d.Rev, d.N)
}

// dues begins the keys of an effect's deliveries: of those that were tried, or not.
func (k keys) dues(effect string, tried bool) string {
	if tried {
		return k.base + partDue + effect + "\x001"
	}
	return k.base + partDue + effect + "\x000"
}

// place writes a revision, and the number of a record-only event, such that
// texts sort as they do.
func place(rev, n int64) string {
	if n == 0 {
		return fmt.Sprintf("%012d", rev)
	}
	return fmt.Sprintf("%012d.%09d", rev, n)
}

// sortable writes a number such that texts sort as numbers do.
func sortable(n int64) string { return fmt.Sprintf("%016x", uint64(n)^1<<63) }

// span is all keys from one on and before another.
type span struct{ from, to string }

// below is the span of all keys that begin so.
func below(prefix string) span { return span{prefix, after(prefix)} }

// after returns the first text after all that begin with prefix.
func after(prefix string) string {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1])
		}
	}
	return "\x00"
}

// next returns the first key after key.
func next(key string) string { return key + "\x00" }

// appendValue appends a value of a row such that texts sort as the values do,
// absent ones last, and none is the beginning of another.
func appendValue(b []byte, v any, descending bool) []byte {
	if v == nil {
		return append(b, 0xff)
	}
	b = append(b, 0x01)
	start := len(b)
	switch v := v.(type) {
	case string:
		for i := range len(v) {
			if v[i] <= 0x01 { // NUL ends the text
				b = append(b, 0x01)
			}
			b = append(b, v[i])
		}
		b = append(b, 0x00)
	case int64:
		b = append(b, sortable(v)...)
	case bool:
		b = append(b, strconv.FormatBool(v)[0]) // "f" before "t"
	case time.Time:
		b = append(b, sortable(v.UnixMicro())...)
	default:
		panic(fmt.Sprintf("etcdstore: a %T is no value of a row", v))
	}
	if descending {
		for i := start; i < len(b); i++ {
			b[i] = ^b[i]
		}
	}
	return b
}

// joined makes one text of values. Each begins with a mark of its presence.
func joined(values []any) string {
	var b []byte
	for _, v := range values {
		b = appendValue(b, v, false)
	}
	return string(b)
}

// cutNumber reads the number that a text begins with as appendValue wrote it.
func cutNumber(text string) (int64, error) {
	const digits = 16
	if len(text) < 1+digits {
		return 0, fmt.Errorf("etcdstore: %q begins with no number", text)
	}
	n, err := strconv.ParseUint(text[1:1+digits], 16, 64)
	return int64(n ^ 1<<63), err
}

// cutPlace reads what place wrote.
func cutPlace(text string) (rev, n int64, err error) {
	first, second, found := strings.Cut(text, ".")
	if rev, err = strconv.ParseInt(first, 10, 64); err != nil || !found {
		return rev, 0, err
	}
	n, err = strconv.ParseInt(second, 10, 64)
	return rev, n, err
}
