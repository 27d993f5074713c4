package etcdstore

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

var (
	// errConflict: another writer came between the reads and the commit.
	errConflict = errors.New("another writer came first")
	errEnded    = errors.New("etcdstore: the transaction has ended")
)

// txn collects the writes of a transaction and what they were decided on; the
// commit is one transaction of etcd.
type txn struct {
	reader
	last  *driver.Write // for the error of a lost commit
	gone  []span        // what is deleted as a whole; over has each key of it
	left  []string      // what nothing refers to any more when it is committed
	ended bool

	locks  []string // what is this transaction's among those of the process
	holder *txn     // the one that has what this one wants
	done   chan struct{}
}

var _ driver.Tx = (*txn)(nil)

// Ended reports whether the transaction was committed or given up.
func (x *txn) Ended() bool { return x.ended }

// Part runs f and takes back what it wrote when it fails. What it decided on stays: the
// commit still asks for it.
func (x *txn) Part(f func() error) error {
	over, gone, left := maps.Clone(x.over), len(x.gone), len(x.left)
	err := f()
	if err != nil {
		x.over, x.gone, x.left = over, x.gone[:gone], x.left[:left]
	}
	return err
}

// claim takes a record or a request among the transactions of this process.
// Where another one has it, this one is given up and begins anew after it.
func (x *txn) claim(name string) error {
	if x.ended {
		return errEnded
	}
	if x.holder == nil {
		x.holder = x.t.shared.lock(name, x)
	}
	if x.holder != nil {
		return errConflict
	}
	return nil
}

// Row returns the row, or ErrNotFound.
func (x *txn) Row(id string) (driver.Row, error) {
	if err := x.claim(partRow + id); err != nil {
		return driver.Row{}, err
	}
	return x.reader.Row(id)
}

// Request returns the events that carry the request id.
func (x *txn) Request(id, requestID string) ([]driver.Event, error) {
	name := partRow + id
	if id == "" {
		name = partBatch + requestID
	}
	if err := x.claim(name); err != nil {
		return nil, err
	}
	return x.reader.Request(id, requestID)
}

// Write makes one write part of the transaction.
func (x *txn) Write(w *driver.Write) error {
	if err := x.claim(partRow + w.Prev.ID); err != nil {
		return err
	}
	if err := x.t.check(w); err != nil {
		return err
	}
	t, e, id := x.t, &w.Event, w.Prev.ID
	x.last = w
	row, gone := t.keys.row(id), t.keys.outbox(id, w.Prev.Rev, 0)
	names := []string{row}
	if e.RequestID != "" {
		names = append(names, t.requestKeys(e)...)
	}
	if w.Leave {
		names = append(names, gone)
	}
	if w.Row != nil {
		for _, p := range t.taken(w.Row) {
			names = append(names, p.key)
		}
	}
	if err := x.load(names...); err != nil {
		return err
	}
	x.track(row)
	if err := x.unknown(e); err != nil {
		return err
	}
	text, found, err := x.get(row)
	if err != nil {
		return err
	}
	var old *driver.Row
	var before uint32 // the chain of the event that led to old
	switch {
	case w.Prev.Rev == 0:
		if !found {
			if list, _, err := x.page(t.keys.events(id), 1, true); err != nil {
				return err
			} else if len(list) > 0 {
				found = true
			}
		}
		if found {
			return driver.ErrIDTaken
		}
	case !found:
		return driver.ErrMoved
	default:
		stored, chain, err := decodeRow(t.schema, id, text)
		if err != nil {
			return err
		}
		if !matches(w, &stored) {
			return driver.ErrMoved
		}
		old, before = &stored, chain
	}
	if w.Row == nil {
		if e.N, before, err = x.numbered(id, e.Rev, before); err != nil {
			return err
		}
		return t.change(x.over, x.rev, w, old, text, before, nil)
	}
	for _, p := range t.newly(old, w.Row) {
		x.track(p.key)
		if holder, taken, err := x.get(p.key); err != nil {
			return err
		} else if taken && string(holder) != id {
			return &driver.ConflictError{Rule: p.rule}
		}
	}
	var due *driver.Delivery
	if w.Leave {
		if due, err = x.waiting(gone); err != nil {
			return err
		}
	}
	return t.change(x.over, x.rev, w, old, text, before, due)
}

// numbered returns the number of the next record-only event of a revision, and
// the chain of the event before it; chain is that of the revision's transition.
func (x *txn) numbered(id string, rev int64, chain uint32) (n int64, before uint32, err error) {
	last, err := x.count(below(x.t.keys.event(id, rev, 0) + "."))
	if err != nil || last == 0 {
		return 1, chain, err
	}
	text, found, err := x.get(x.t.keys.event(id, rev, last))
	if err != nil {
		return 0, 0, err
	}
	if found { // else the log has a gap, and nobody knows
		e, err := decodeEvent(id, text)
		if err != nil {
			return 0, 0, err
		}
		chain = e.Chain
	}
	return last + 1, chain, nil
}

// unknown returns ErrRequestTaken when the request of an event stands in the
// log. The record's scope needs no compare of its own: the row is put with
// whatever is logged.
func (x *txn) unknown(e *driver.Event) error {
	if e.RequestID == "" {
		return nil
	}
	for i, key := range x.t.requestKeys(e) {
		_, found, err := x.get(key)
		if err != nil {
			return err
		}
		if found {
			return driver.ErrRequestTaken
		}
		if _, looked := x.empty[x.t.keys.batches(e.RequestID)]; i > 0 && !looked {
			x.track(key)
		}
	}
	return nil
}

// waiting returns the delivery under a key, or nil.
func (r reader) waiting(key string) (*driver.Delivery, error) {
	if err := r.load(key); err != nil {
		return nil, err
	}
	r.track(key)
	text, found, err := r.get(key)
	if err != nil || !found {
		return nil, err
	}
	d, err := decodeDelivery(text)
	return &d, err
}

// Rows returns the rows that fit. With Lock they are this transaction's among
// those of the process, and it passes over those of others, unless too few are
// left: then it waits for one of them.
func (x *txn) Rows(q driver.Query) iter.Seq2[driver.Row, error] {
	if !q.Lock {
		return x.reader.Rows(q)
	}
	return func(yield func(driver.Row, error) bool) {
		n := 0
		var over *txn
		err := x.find(&q, func(row *driver.Row) (bool, error) {
			if holder := x.t.shared.lock(partRow+row.ID, x); holder != nil {
				over = holder
				return true, nil
			}
			n++
			if !yield(*row, nil) {
				over = nil
				return false, nil
			}
			if n == q.Limit {
				over = nil
			}
			return n != q.Limit, nil
		})
		if err == nil && over != nil {
			x.holder, err = over, errConflict
		}
		if err != nil {
			yield(driver.Row{}, err)
		}
	}
}

// Peers counts the other records of a group, and makes the commit depend on
// nobody joining or leaving it. Who leaves shows that by its write.
func (x *txn) Peers(q driver.PeerQuery) (n int64, err error) {
	if q.Hold {
		return 0, nil
	}
	fit := driver.Query{States: q.States}
	if len(q.Columns) != len(q.Values) {
		return 0, fmt.Errorf("etcdstore: group %s has %d columns and %d values", q.Name, len(q.Columns), len(q.Values))
	}
	for i, c := range q.Columns {
		if q.Values[i] == nil {
			return 0, nil
		}
		fit.Where = append(fit.Where, driver.Cond{Column: c, Op: driver.OpEq, Value: q.Values[i]})
	}
	for i := range x.t.schema.Indexes {
		if g := &x.t.schema.Indexes[i]; len(g.Order) == 0 && slices.Equal(g.Columns, q.Columns) && within(q.States, g.States) {
			return x.members(g, &q)
		}
	}
	err = x.find(&fit, func(row *driver.Row) (bool, error) {
		if row.ID != q.Except {
			n++
		}
		return true, nil
	})
	return n, err
}

// members counts the other records of a group by its index.
func (x *txn) members(g *driver.Index, q *driver.PeerQuery) (n int64, err error) {
	group := g.Name + "\x00" + joined(q.Values)
	key := x.t.keys.base + partGroup + group
	if err := x.load(key); err != nil {
		return 0, err
	}
	x.track(key)
	err = x.walk(below(x.t.keys.base+partIndex+group), false, func(e entry) (bool, error) {
		state, id := cutIndexed(e.value)
		if id != q.Except && (q.States == nil || slices.Contains(q.States, state)) {
			n++
		}
		return true, nil
	})
	return n, err
}

// NextNumber counts the sequence of a group up, behind the numbers that records
// brought with them. Records with an absent value are counted together.
func (x *txn) NextNumber(q driver.PeerQuery) (int64, error) {
	if x.ended {
		return 0, errEnded
	}
	key := x.t.keys.base + partNumber + q.Name + "\x00" + joined(q.Values)
	if err := x.load(key); err != nil {
		return 0, err
	}
	x.track(key)
	text, _, err := x.get(key)
	if err != nil {
		return 0, err
	}
	var last int64
	if len(text) > 0 {
		if _, err := fmt.Sscanf(string(text), "%d", &last); err != nil {
			return 0, fmt.Errorf("etcdstore: the number under %q: %w", key, err)
		}
	}
	if prefix, ok := x.t.numbers(&q); ok && last < math.MaxInt64 {
		// A number that comes at the same time is met at the place of the new record.
		held := span{string(appendValue([]byte(prefix), last+1, false)), after(prefix)}
		err := x.walk(held, true, func(e entry) (bool, error) {
			n, err := cutNumber(strings.TrimPrefix(e.key, prefix))
			last = max(last, n)
			return true, err
		})
		if err != nil {
			return 0, err
		}
	}
	if last == math.MaxInt64 {
		return 0, nil
	}
	x.over.put(key, fmt.Appendf(nil, "%d", last+1))
	x.over.put(x.t.keys.written(), nil)
	return last + 1, nil
}
