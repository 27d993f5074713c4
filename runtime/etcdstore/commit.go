package etcdstore

import (
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Claim gives deliveries of an effect to its caller, fresh ones first. It looks for them without holding
// everything still; each one that it takes is compared at the commit.
func (x *txn) Claim(effect string, now, until time.Time, limit int) ([]driver.Delivery, error) {
	look := *x.snapshot
	look.reads, look.empty = nil, nil
	var list []driver.Delivery
	for _, tried := range []bool{false, true} {
		if limit > 0 && len(list) == limit {
			break
		}
		more, err := reader{&look}.due(x.t.keys.dues(effect, tried), now, max(0, limit-len(list)))
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	x.rev = look.rev // the keys that it read are known, so that nothing else asks for the revision
	var claimed []driver.Delivery
	for _, d := range list {
		_, err := x.deliver(d.ID, d.Rev, d.N, d.Attempts, func(d *driver.Delivery) bool {
			d.Claim(until)
			claimed = append(claimed, *d)
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return claimed, nil
}

// Settle removes a delivery.
func (x *txn) Settle(id string, rev, n int64, attempt int) (bool, error) {
	return x.deliver(id, rev, n, attempt, func(*driver.Delivery) bool { return false })
}

// Postpone notes a failed attempt.
func (x *txn) Postpone(id string, rev, n int64, attempt int, due time.Time, lastError string) (bool, error) {
	return x.deliver(id, rev, n, attempt, func(d *driver.Delivery) bool {
		d.Due, d.LastError = due, lastError
		return true
	})
}

// deliver changes a delivery at an attempt, or removes it when f says so.
func (x *txn) deliver(id string, rev, n int64, attempt int, f func(*driver.Delivery) (keep bool)) (bool, error) {
	if x.ended {
		return false, errEnded
	}
	key := x.t.keys.outbox(id, rev, n)
	d, err := x.waiting(key)
	if err != nil || d == nil || d.Attempts != attempt {
		return false, err
	}
	x.over.drop(x.t.keys.due(d))
	x.over.drop(key)
	if f(d) {
		text, err := encodeDelivery(d)
		if err != nil {
			return false, err
		}
		x.over.put(key, text)
		x.over.put(x.t.keys.due(d), nil)
	}
	x.over.put(x.t.keys.written(), nil)
	return true, nil
}

// commit writes everything, if what was read is still so.
func (x *txn) commit() error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	if len(x.over) == 0 {
		return nil // it has read one snapshot
	}
	t := x.t
	request := &pb.TxnRequest{Compare: []*pb.Compare{t.asExpected()}}
	if len(x.reads)+len(x.empty) >= maxReads { // one compare holds everything still
		if err := x.load(t.keys.written()); err != nil {
			return err
		}
		x.track(t.keys.written())
	}
	if mod, ok := x.reads[t.keys.written()]; ok {
		request.Compare = append(request.Compare, unchanged(t.keys.written(), mod))
	} else {
		for key, mod := range x.reads {
			request.Compare = append(request.Compare, unchanged(key, mod))
		}
		for sp := range x.empty {
			request.Compare = append(request.Compare, absent(sp.from, sp.to))
		}
		request.Compare = append(request.Compare, t.fresh(x.rev))
	}
	var err error
	if request.Success, err = t.nest(x.over.ops(x.gone...), len(request.Compare), 1); err != nil {
		return err
	}
	request.Failure = []*pb.RequestOp{read(one(t.keys.layout()))}
	answer, err := t.store.client.write(x.ctx, request)
	if err != nil {
		return t.fault(err, x.last)
	}
	if answer.Succeeded {
		for some := range slices.Chunk(x.left, maxReads) {
			t.sweep(x.ctx, some)
		}
		return nil
	}
	if got := ranges(answer, 1)[0].Kvs; len(got) == 0 || string(got[0].Value) != t.fingerprint {
		return t.mismatch("the keys below %q are not laid out for this specification", t.keys.base)
	}
	return errConflict
}
