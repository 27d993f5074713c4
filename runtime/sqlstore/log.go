package sqlstore

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// logOrder is how a dialect orders the log of all records.
type logOrder struct {
	// first is the cursor before everything.
	first []any
	// last is a cursor behind everything.
	last []any
	// parse returns a cursor's parameters.
	parse func(driver.Cursor) (args []any, ok bool)
	// cursor is the cursor behind an event at a place.
	cursor func(place string, e *driver.Event) driver.Cursor
	// blurred is Blurred of driver.Reader; nil: the order is that in which events were made.
	blurred func(a, b *driver.Entry) bool
}

// Blurred reports whether the log may give two events the wrong way round.
func (r *reader) Blurred(a, b *driver.Entry) bool {
	o := &r.t.order
	return o.blurred != nil && o.blurred(a, b)
}

// Log returns the events of all records behind the cursor.
func (r *reader) Log(after driver.Cursor, limit int) ([]driver.Entry, error) {
	o := &r.t.order
	list, args, err := r.entries(r.t.text("log"), o.first, after, limit, r.t.eventOf)
	if err != nil || len(list) > 0 {
		return list, err
	}
	return nil, r.logIsWhole(o, after, args)
}

// Newest returns the events of all records before the cursor, the last one first.
func (r *reader) Newest(before driver.Cursor, limit int) ([]driver.Entry, error) {
	list, _, err := r.entries(r.t.text("log_newest"), r.t.order.last, before, limit, r.t.eventOf)
	if unscanned(err) {
		list, _, err = r.entries(r.t.text("log_newest"), r.t.order.last, before, limit, r.t.eventOrPlace)
	}
	return list, err
}

// entries reads a part of the log on one side of a cursor, whose parameters it returns; those of an empty one are given.
func (r *reader) entries(
	text string, empty []any, at driver.Cursor, limit int, read readEvent,
) (list []driver.Entry, args []any, err error) {
	o := &r.t.order
	args = empty
	if at != "" {
		var ok bool
		if args, ok = o.parse(at); !ok {
			return nil, nil, r.noCursor(at)
		}
	}
	err = r.each(text, append(args[:len(args):len(args)], unlimited(limit)), func(rows Rows) error {
		var place string
		e, err := read(rows, &place)
		var unreadable *driver.EventError
		if errors.As(err, &unreadable) {
			err = nil
		}
		list = append(list, driver.Entry{Event: e, Cursor: o.cursor(place, &e), Unreadable: unreadable})
		return err
	})
	return list, args, err
}

// Lag returns what the log holds back, and who has the oldest transaction.
func (r *reader) Lag() (l driver.Lag, err error) {
	if !r.t.dialect.server() { // nothing is held back
		return l, nil
	}
	err = r.each(r.t.text("log_lag"), nil, func(rows Rows) error { return rows.Scan(&l.Since, &l.By) })
	return l, err
}

// logIsWhole looks, where nothing new is found, whether that can be: a log or a
// cursor that came from another server counts other transactions, so events
// would be passed over without a word.
func (r *reader) logIsWhole(o *logOrder, after driver.Cursor, args []any) error {
	var ahead, cursor bool
	err := r.each(r.t.text("log_is_ahead"), args[:1], func(rows Rows) error { return rows.Scan(&ahead, &cursor) })
	switch {
	case err != nil:
		return err
	case cursor && after != "":
		return r.noCursor(after)
	case ahead:
		return fmt.Errorf("sqlstore: %s: the log came from another server, and its transactions are ahead of this one's; "+
			"see \"Restoring a log\" in the documentation of runtime/postgres", r.t.schema.Machine)
	}
	return nil
}

func (r *reader) noCursor(after driver.Cursor) error {
	return fmt.Errorf("sqlstore: %s: %q: %w", r.t.schema.Machine, after, driver.ErrCursor)
}

// ordered: there is one writer, so the places are given in the order of the commits.
func (sqlite) ordered() logOrder {
	return logOrder{
		first: []any{int64(0)},
		last:  []any{int64(math.MaxInt64)},
		parse: func(c driver.Cursor) ([]any, bool) {
			seq, ok := natural(string(c))
			return []any{seq}, ok
		},
		cursor: func(place string, _ *driver.Event) driver.Cursor { return driver.Cursor(place) },
	}
}

// ordered: a transaction takes its number before it writes, and may commit long
// after others with higher ones. Below the oldest one that is open nothing can
// come any more. A record's events never go back: see log_position.
func (*postgres) ordered() logOrder {
	return logOrder{
		first: []any{"0", "", int64(0), int64(0)},
		last:  []any{strconv.FormatUint(math.MaxUint64, 10), "", int64(0), int64(0)},
		parse: func(c driver.Cursor) ([]any, bool) {
			parts := strings.SplitN(string(c), ".", 4)
			if len(parts) != 4 || driver.CheckID(parts[3]) != nil {
				return nil, false
			}
			args := []any{parts[0], parts[3]}
			for i, p := range parts[:3] {
				v, ok := natural(p)
				if !ok {
					return nil, false
				}
				if i > 0 {
					args = append(args, v)
				}
			}
			return args, true
		},
		cursor: func(place string, e *driver.Event) driver.Cursor {
			return driver.Cursor(fmt.Sprintf("%s.%d.%d.%s", place, e.Rev, e.N, e.ID))
		},
		blurred: func(a, b *driver.Entry) bool {
			first, _, _ := strings.Cut(string(a.Cursor), ".")
			second, _, _ := strings.Cut(string(b.Cursor), ".")
			return first == second || b.At.Before(a.At.Add(blur))
		},
	}
}

// blur is how much later an event of another transaction must have been made so
// that it surely came later: a transaction with a lower number may have waited
// for the group meanwhile, and clocks differ.
const blur = 10 * time.Second

// behind reports whether what was committed after the transaction began can be
// before what it writes. A statement that is a transaction of its own needs no
// such care: who made it knew the record as it was before the statement began, and an event
// alone waits for the batches that are on their way (see await_batches). One order is open: a
// transaction whose snapshot is older than an event alone, and which moves that record after
// others, does not see the event. It may be a strict one, or one of the caller's above read committed.
func (x *txn) behind() bool { return x.adopted || !x.mode.strict }

// natural reads a number from 0 on in its one form.
func natural(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

// Misindexed finds nothing: the database keeps its own indexes.
func (r *reader) Misindexed(string) ([]driver.Misindexed, string, error) { return nil, "", nil }
