package etcdstore

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// reader reads one machine's keys in one snapshot.
type reader struct{ *snapshot }

var _ driver.Reader = reader{}

// Row returns the row, or ErrNotFound.
func (r reader) Row(id string) (driver.Row, error) {
	key := r.t.keys.row(id)
	if err := r.load(key); err != nil {
		return driver.Row{}, err
	}
	r.track(key)
	value, found, err := r.get(key)
	if err != nil {
		return driver.Row{}, err
	}
	if !found {
		return driver.Row{}, driver.ErrNotFound
	}
	return r.t.rowAsItIs(id, value), nil
}

// Rows returns the rows that fit, in the order of the query.
func (r reader) Rows(q driver.Query) iter.Seq2[driver.Row, error] {
	return func(yield func(driver.Row, error) bool) {
		n := 0
		err := r.find(&q, func(row *driver.Row) (bool, error) {
			n++
			return yield(*row, nil) && n != q.Limit, nil
		})
		if err != nil {
			yield(driver.Row{}, err)
		}
	}
}

// CountStates returns how many rows are in each state. The states have keys, so they are counted one by one.
func (r reader) CountStates(most int) (map[string]int64, error) {
	counts := map[string]int64{}
	for _, s := range r.t.schema.States {
		n, err := r.Count(driver.Query{States: []string{s.Stored}, Limit: most})
		if err != nil {
			return nil, err
		}
		counts[s.Stored] = n
	}
	return counts, nil
}

// Count returns how many rows fit.
func (r reader) Count(q driver.Query) (n int64, err error) {
	q.Order = nil
	most := int64(math.MaxInt64)
	if q.Limit > 0 {
		most = int64(q.Limit)
	}
	if q.IDs != nil || len(q.Where) > 0 || q.After != "" {
		err = r.find(&q, func(*driver.Row) (bool, error) { n++; return n < most, nil })
		return n, err
	}
	if err := r.trackAll(); err != nil {
		return 0, err
	}
	if q.States == nil {
		n, err = r.count(below(r.t.keys.row("")))
		return min(n, most), err
	}
	for _, state := range slices.Compact(slices.Sorted(slices.Values(q.States))) {
		some, err := r.count(r.t.keys.state(state))
		if err != nil {
			return 0, err
		}
		n += some
	}
	return min(n, most), nil
}

// Events returns the log of a record from revision from on.
func (r reader) Events(id string, from int64) iter.Seq2[driver.Event, error] {
	return func(yield func(driver.Event, error) bool) {
		if err := r.load(r.t.keys.row(id)); err != nil {
			yield(driver.Event{}, err)
			return
		}
		r.track(r.t.keys.row(id)) // whatever is logged for a record is put beside its row
		sp := r.t.keys.events(id)
		sp.from = r.t.keys.event(id, max(from, 0), 0)
		err := r.walk(sp, false, func(e entry) (bool, error) {
			event, err := r.t.event(id, e.key, e.value)
			return yield(event, err), nil
		})
		if err != nil {
			yield(driver.Event{}, err)
		}
	}
}

// Request returns the events that carry the request id.
func (r reader) Request(id, requestID string) ([]driver.Event, error) {
	if requestID == "" {
		return nil, nil
	}
	if id == "" {
		return r.machineRequest(requestID)
	}
	row, key := r.t.keys.row(id), r.t.keys.request(id, requestID)
	if err := r.load(row, key); err != nil {
		return nil, err
	}
	r.track(row)
	value, found, err := r.get(key)
	if err != nil || !found {
		return nil, err
	}
	rev, n, err := cutPlace(string(value))
	if err != nil {
		return nil, err
	}
	return r.eventsAt([]string{id}, []string{r.t.keys.event(id, rev, n)})
}

func (r reader) machineRequest(requestID string) ([]driver.Event, error) {
	sp := r.t.keys.batches(requestID)
	var ids, names []string
	err := r.walk(sp, false, func(e entry) (bool, error) {
		id, at, _ := strings.Cut(string(e.value), "\x00")
		rev, n, err := cutPlace(at)
		if err != nil {
			return false, err
		}
		ids, names = append(ids, id), append(names, r.t.keys.event(id, rev, n))
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		r.trackEmpty(sp)
		return nil, nil
	}
	return r.eventsAt(ids, names)
}

// event decodes an event; what is none comes with its place.
func (t *table) event(id, key string, value []byte) (driver.Event, error) {
	rev, n, err := cutPlace(strings.TrimPrefix(key, t.keys.events(id).from))
	if err != nil {
		return driver.Event{}, fmt.Errorf("etcdstore: the key %q is none of an event: %w", key, err)
	}
	e, err := decodeEvent(id, value)
	if err != nil {
		return driver.Event{ID: id, Rev: rev, N: n}, &driver.EventError{ID: id, Rev: rev, N: n, Key: key, Err: err}
	}
	return e, nil
}

// eventsAt reads events by their keys.
func (r reader) eventsAt(ids, names []string) ([]driver.Event, error) {
	if err := r.load(names...); err != nil {
		return nil, err
	}
	var list []driver.Event
	for i, name := range names {
		value, found, err := r.get(name)
		if err != nil {
			return nil, err
		}
		if !found {
			continue // the log was cut
		}
		e, err := r.t.event(ids[i], name, value)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// Outbox returns deliveries that are due, oldest first.
func (r reader) Outbox(due time.Time, limit int) ([]driver.Delivery, error) {
	var list []driver.Delivery
	err := r.dues(func(prefix, _ string) error {
		more, err := r.due(prefix, due, limit)
		list = append(list, more...)
		return err
	})
	slices.SortFunc(list, func(a, b driver.Delivery) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Rev, b.Rev), cmp.Compare(a.N, b.N))
	})
	if limit > 0 && len(list) > limit {
		list = list[:limit]
	}
	return list, err
}

// Delivery returns one delivery, or ErrNotFound.
func (r reader) Delivery(id string, rev, n int64) (driver.Delivery, error) {
	d, err := r.waiting(r.t.keys.outbox(id, rev, n))
	if err != nil || d == nil {
		return driver.Delivery{}, cmp.Or(err, driver.ErrNotFound)
	}
	return *d, nil
}

// Effects returns the names of the effects of which a delivery is due.
func (r reader) Effects(due time.Time) ([]string, error) {
	var names []string
	err := r.dues(func(prefix, effect string) error {
		list, err := r.due(prefix, due, 1)
		if len(list) > 0 && !slices.Contains(names, effect) {
			names = append(names, effect)
		}
		return err
	})
	return names, err
}

// dues calls f for the beginnings of the keys of effects, in their order. It goes from
// each one to the next, however many keys begin so.
func (r reader) dues(f func(prefix, effect string) error) error {
	if err := r.trackAll(); err != nil {
		return err
	}
	base := r.t.keys.base + partDue
	for sp := below(base); ; {
		prefix, effect := "", ""
		err := r.walk(sp, true, func(e entry) (bool, error) {
			effect, _, _ = strings.Cut(strings.TrimPrefix(e.key, base), "\x00")
			prefix = e.key[:len(base)+len(effect)+2]
			return false, nil
		})
		if err != nil || prefix == "" {
			return err
		}
		if err := f(prefix, effect); err != nil {
			return err
		}
		sp.from = after(prefix)
	}
}

// due returns what is due of one beginning, oldest first. What waits under an
// instant that is no longer that of its delivery is left over from a delivery
// that was dropped or postponed; it is swept away.
func (r reader) due(prefix string, due time.Time, limit int) ([]driver.Delivery, error) {
	if err := r.trackAll(); err != nil {
		return nil, err
	}
	sp := below(prefix)
	sp.to = after(prefix + sortable(due.UnixMicro()))
	var list []driver.Delivery
	var left, waiting []string
	look := func() error {
		names := make([]string, len(waiting))
		for i, key := range waiting {
			_, ref, _ := strings.Cut(strings.TrimPrefix(key, prefix), "\x00")
			names[i] = r.t.keys.base + partOutbox + ref
		}
		if err := r.load(names...); err != nil {
			return err
		}
		for i, name := range names {
			value, found, err := r.get(name)
			if err != nil {
				return err
			}
			var d driver.Delivery
			if found {
				if d, err = decodeDelivery(value); err != nil {
					return err
				}
			}
			if !found || r.t.keys.due(&d) != waiting[i] {
				left = append(left, waiting[i])
				continue
			}
			if limit <= 0 || len(list) < limit {
				list = append(list, d)
			}
		}
		waiting = waiting[:0]
		return nil
	}
	err := r.walk(sp, true, func(e entry) (bool, error) {
		waiting = append(waiting, e.key)
		if len(waiting) < pageSize && (limit <= 0 || len(list)+len(waiting) < limit) {
			return true, nil
		}
		if err := look(); err != nil {
			return false, err
		}
		return limit <= 0 || len(list) < limit, nil
	})
	if err == nil {
		err = look()
	}
	if err != nil {
		return nil, err
	}
	if r.reads == nil {
		r.t.sweep(r.ctx, left)
	}
	return list, nil
}

// Orphans returns ids that have events but no row, and no mark of a burial at
// the end of their log.
func (r reader) Orphans(afterID string, limit int) ([]string, error) {
	if err := r.trackAll(); err != nil {
		return nil, err
	}
	var found []string
	prefix := r.t.keys.base + partEvent
	last := afterID
	var pending []string
	look := func() error {
		var requests []*pb.RangeRequest
		for _, id := range pending {
			requests = append(requests, &pb.RangeRequest{Key: []byte(r.t.keys.row(id)), KeysOnly: true})
		}
		got, err := r.read(requests)
		if err != nil {
			return err
		}
		var rowless []string
		requests = nil
		for i, id := range pending {
			if _, ours := r.over[r.t.keys.row(id)]; len(got[i].Kvs) == 0 && !ours {
				rowless = append(rowless, id)
				newest := all(r.t.keys.events(id))
				newest.Limit, newest.SortOrder, newest.SortTarget = 1, pb.RangeRequest_DESCEND, pb.RangeRequest_KEY
				requests = append(requests, newest)
			}
		}
		pending = pending[:0]
		if got, err = r.read(requests); err != nil {
			return err
		}
		for i, id := range rowless {
			purged := false
			for _, kv := range got[i].Kvs {
				e, err := decodeEvent(id, kv.Value)
				purged = err == nil && isMark(&e)
			}
			if !purged && (limit <= 0 || len(found) < limit) {
				found = append(found, id)
			}
		}
		return nil
	}
	sp := below(prefix)
	if afterID != "" {
		sp.from = after(prefix + afterID + "\x00")
	}
	err := r.walk(sp, true, func(e entry) (bool, error) {
		id, _, _ := strings.Cut(strings.TrimPrefix(e.key, prefix), "\x00")
		if id == last {
			return true, nil
		}
		last = id
		if pending = append(pending, id); len(pending) < pageSize {
			return true, nil
		}
		err := look()
		return limit <= 0 || len(found) < limit, err
	})
	if err == nil {
		err = look()
	}
	return found, err
}
