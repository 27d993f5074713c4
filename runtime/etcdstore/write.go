package etcdstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// check refuses a write that makes no sense or cannot be stored.
func (t *table) check(w *driver.Write) error {
	invalid := func(format string, args ...any) error {
		return &fsm.Refusal{ID: w.Prev.ID, Code: fsm.ErrInvalidInput, Machine: t.schema.Machine, Message: fmt.Sprintf(format, args...)}
	}
	if w.Row == nil && w.Prev.Rev == 0 {
		return invalid("a creation without a row")
	}
	for _, id := range []string{w.Prev.ID, w.Event.RequestID} {
		if strings.ContainsRune(id, 0) {
			return invalid("the id %q holds a NUL character", id)
		}
	}
	if w.Event.Rev > 999_999_999_999 {
		return invalid("revision %d has more than twelve digits", w.Event.Rev)
	}
	for _, row := range []*driver.Row{w.Row, w.Old} {
		if row != nil && len(row.Values) != len(t.schema.Columns) {
			return invalid("the row has %d values, %s has %d columns", len(row.Values), t.schema.Machine, len(t.schema.Columns))
		}
	}
	return nil
}

// change adds to b what a write puts. since is the revision of etcd that it knows
// of, old the row as it is stored, nil for a creation, text its bytes, before the
// chain of the event before this one, and due the delivery that is left, where it
// is known.
func (t *table) change(b batch, since int64, w *driver.Write, old *driver.Row, text []byte, before uint32, due *driver.Delivery) error {
	e, id := &w.Event, w.Prev.ID
	invalid := func(err error) error {
		return &fsm.Refusal{ID: id, Code: fsm.ErrInvalidInput, Machine: t.schema.Machine, Operation: e.Operation, Cause: err}
	}
	chain := driver.Chained(before, e)
	if err := t.append(b, since, e, chain); err != nil {
		return invalid(err)
	}
	if w.Row == nil {
		// The row is put as it is: whoever has read it reads again.
		b.put(t.keys.row(id), text)
	} else {
		row, err := encodeRow(t.schema, w.Row, chain)
		if err != nil {
			return invalid(err)
		}
		t.shared.chains.note(id, w.Row.Rev, chain)
		b.put(t.keys.row(id), row)
		t.reindex(b, old, w.Row)
		t.retake(b, old, w.Row)
		if w.Leave {
			b.drop(t.keys.outbox(id, w.Prev.Rev, 0))
			if due != nil {
				b.drop(t.keys.due(due))
			}
		}
	}
	for i := range w.Outbox {
		d := &w.Outbox[i]
		delivery, err := encodeDelivery(d)
		if err != nil {
			return invalid(err)
		}
		b.put(t.keys.outbox(d.ID, d.Rev, d.N), delivery)
		b.put(t.keys.due(d), nil)
	}
	b.put(t.keys.written(), nil)
	return nil
}

// append adds to b what puts an event into the log, and where its request is.
func (t *table) append(b batch, since int64, e *driver.Event, chain uint32) error {
	text, err := encodeEvent(e, chain, since)
	if err != nil {
		return err
	}
	at := place(e.Rev, e.N)
	b.put(t.keys.event(e.ID, e.Rev, e.N), text)
	b.put(t.keys.log(since, e.ID, at), nil)
	if e.RequestID != "" {
		b.put(t.keys.request(e.ID, e.RequestID), []byte(at))
		if e.RequestN >= 0 {
			b.put(t.keys.batch(e.RequestID, e.RequestN), []byte(e.ID+"\x00"+at))
		}
	}
	return nil
}

// once makes a write in one round trip, for a caller who holds the row: it is
// compared byte by byte, and the other branch of the transaction reads what
// explains why not. slow says that nothing was written and that only a
// transaction with reads of its own can tell.
func (t *table) once(ctx context.Context, w *driver.Write) (slow bool, err error) {
	id, e := w.Prev.ID, &w.Event
	row := t.keys.row(id)
	var held []byte
	var before uint32
	since := t.store.client.revision.Load()
	txn := &pb.TxnRequest{Compare: []*pb.Compare{t.asExpected(), t.fresh(since)}}
	asked := []string{t.keys.layout(), row}
	if w.Old == nil {
		txn.Compare = append(txn.Compare, absent(row, ""), absent(t.keys.events(id).from, t.keys.events(id).to))
	} else {
		known := false
		if before, known = t.shared.chains.of(id, w.Old.Rev); !known { // nobody has read it here: the slow way does
			return true, nil
		}
		if held, err = encodeRow(t.schema, w.Old, before); err != nil {
			return true, nil
		}
		txn.Compare = append(txn.Compare, holding(row, held))
	}
	requests := 0
	if e.RequestID != "" {
		for _, key := range t.requestKeys(e) {
			txn.Compare = append(txn.Compare, absent(key, ""))
			asked = append(asked, key)
			requests++
		}
	}
	places := t.newly(w.Old, w.Row)
	for _, p := range places {
		txn.Compare = append(txn.Compare, absent(p.key, ""))
		asked = append(asked, p.key)
	}
	b := batch{}
	if err := t.change(b, since, w, w.Old, held, before, nil); err != nil {
		return false, err
	}
	if txn.Success, err = t.nest(b.ops(), len(txn.Compare), len(asked)+1); err != nil {
		return false, err
	}
	for _, key := range asked {
		txn.Failure = append(txn.Failure, read(one(key)))
	}
	events := all(t.keys.events(id))
	events.Limit, events.KeysOnly = 1, true
	txn.Failure = append(txn.Failure, read(events))
	answer, err := t.store.client.write(ctx, txn)
	if err != nil {
		return false, t.fault(err, w)
	}
	if answer.Succeeded {
		return false, nil
	}
	return t.explain(w, places, requests, ranges(answer, len(txn.Failure)))
}

// requestKeys returns the keys that the request of an event takes.
func (t *table) requestKeys(e *driver.Event) []string {
	list := []string{t.keys.request(e.ID, e.RequestID)}
	if e.RequestN >= 0 {
		list = append(list, t.keys.batch(e.RequestID, e.RequestN))
	}
	return list
}

// explain says why a write was refused, out of what the same transaction read:
// layout, row, requests, places, events. The causes come in the order in which
// a caller must hear of them: a known request first, since its answer is the
// first outcome.
func (t *table) explain(w *driver.Write, places []taken, requests int, got []*pb.RangeResponse) (slow bool, err error) {
	has := func(i int) bool { return len(got[i].Kvs) > 0 }
	if !has(0) || string(got[0].Kvs[0].Value) != t.fingerprint {
		return false, t.mismatch("the keys below %q are not laid out for this specification", t.keys.base)
	}
	for i := range requests {
		if has(2 + i) {
			return false, driver.ErrRequestTaken
		}
	}
	if w.Old == nil {
		if has(1) || has(len(got)-1) {
			return false, driver.ErrIDTaken
		}
	} else {
		if !has(1) {
			return false, driver.ErrMoved
		}
		stored, _, err := decodeRow(t.schema, w.Prev.ID, got[1].Kvs[0].Value)
		if err != nil {
			return true, nil // what it says then is said there
		}
		if !matches(w, &stored) {
			return false, driver.ErrMoved
		}
	}
	for i, p := range places {
		if has(2+requests+i) && string(got[2+requests+i].Kvs[0].Value) != w.Prev.ID {
			return false, &driver.ConflictError{Rule: p.rule}
		}
	}
	return true, nil // the row is the same in other bytes, or the revision too old for the log
}

// matches reports whether a stored row is the one that a write was decided on.
func matches(w *driver.Write, stored *driver.Row) bool {
	return stored.Rev == w.Prev.Rev && stored.State == w.PrevState && (w.Row == nil || w.Old == nil || driver.SameRow(stored, w.Old))
}

// nest spreads operations over transactions within the transaction, since each
// level may have so many only. compares and reads are those of the outer one.
func (t *table) nest(ops []*pb.RequestOp, compares, reads int) ([]*pb.RequestOp, error) {
	top := max(compares, reads)
	if max(len(ops), top) <= maxOps {
		return ops, nil
	}
	inner := maxOps - max(top, maxOps/2)
	if inner < 1 || (len(ops)+inner-1)/inner > maxOps-inner {
		return nil, t.tooLarge(fmt.Errorf("%d keys would be written", len(ops)))
	}
	var outer []*pb.RequestOp
	for some := range slices.Chunk(ops, inner) {
		outer = append(outer, nested(some))
	}
	return outer, nil
}
