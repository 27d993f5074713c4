package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

const (
	maxRuns = 24 // of one transaction's function
)

// table is the part of a Store for one machine.
type table struct {
	store       *Store
	schema      *driver.Schema
	keys        keys
	fingerprint string // of the layout that this specification expects
	shared      *shared
}

// shared is what all tables of one store over the same keys have in common: which
// transactions of this process want the same. The cluster would let one of them
// win and the others begin anew; here they wait before they begin.
type shared struct {
	chains chains
	mu     sync.Mutex
	locked map[string]*txn // a record or a request -> the transaction that has it
	queue  chan struct{}   // holds one token while a transaction that met another tries again
}

// lock gives a record or a request to a transaction, or returns whose it is.
func (s *shared) lock(name string, x *txn) (holder *txn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.locked[name]; other != nil && other != x {
		return other
	}
	s.locked[name] = x
	x.locks = append(x.locks, name)
	return nil
}

func (s *shared) release(x *txn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range x.locks {
		delete(s.locked, name)
	}
	close(x.done)
}

// asExpected holds while the keys are laid out for this specification.
func (t *table) asExpected() *pb.Compare { return holding(t.keys.layout(), []byte(t.fingerprint)) }

// Commit makes one write durable: in one round trip when the write carries the
// row that it was decided on, or creates one.
func (t *table) Commit(ctx context.Context, w *driver.Write) error {
	if err := t.check(w); err != nil {
		return err
	}
	if w.Row != nil && (w.Prev.Rev == 0 || w.Old != nil && w.Old.Rev == w.Prev.Rev && w.Old.State == w.PrevState) {
		leave, err := t.enter(ctx)
		if err != nil {
			return err
		}
		slow, err := t.once(ctx, w)
		leave()
		if !slow {
			return err
		}
	}
	return t.Update(ctx, func(tx driver.Tx) error { return tx.Write(w) })
}

// enter begins a call that writes.
func (t *table) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := driver.Inside(ctx, t.store); err != nil {
		return nil, fmt.Errorf("etcdstore: %w", err)
	}
	return t.store.enter()
}

// View runs f over one revision of the store. When that is compacted meanwhile,
// the rest of it cannot be read: the answer is ErrBusy, and another View reads a
// later one.
func (t *table) View(ctx context.Context, f func(driver.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	leave, err := t.store.enter()
	if err != nil {
		return err
	}
	defer leave()
	s := newSnapshot(ctx, t)
	err = f(reader{s})
	if s.compacted {
		return t.fault(&callError{busy, rpctypes.ErrCompacted}, nil)
	}
	return err
}

// Look is View: its first read makes the snapshot.
func (t *table) Look(ctx context.Context, f func(driver.Reader) error) error { return t.View(ctx, f) }

// Update runs f in one transaction. What f reads is compared when it commits:
// when another writer came between, f runs again over what is there now.
func (t *table) Update(ctx context.Context, f func(driver.Tx) error) error {
	leave, err := t.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	queued := false
	defer func() {
		if queued {
			<-t.shared.queue
		}
	}()
	for n := 0; n < maxRuns; {
		holder, err := t.run(ctx, f)
		switch {
		case !errors.Is(err, errConflict):
			return err
		case holder != nil: // it has let go of what it had: nobody waits for it
			select {
			case <-holder.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		if n++; n > 2 && !queued { // those that met go one by one
			select {
			case t.shared.queue <- struct{}{}:
				queued = true
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if !sleep(ctx, rand.N(time.Millisecond<<min(n, 6))) {
			return ctx.Err()
		}
	}
	return t.fault(&callError{busy, errConflict}, nil)
}

// run runs f once. With errConflict, holder is the transaction of this process
// that stood in the way, if one did.
func (t *table) run(ctx context.Context, f func(driver.Tx) error) (holder *txn, err error) {
	x := &txn{reader: reader{newSnapshot(ctx, t)}, done: make(chan struct{})}
	x.reads, x.empty = map[string]int64{}, map[span]struct{}{}
	defer func() {
		x.ended = true
		t.shared.release(x)
	}()
	err = f(x)
	if err == nil && x.holder == nil {
		err = x.commit()
	}
	if x.compacted || x.holder != nil {
		return x.holder, errConflict
	}
	return nil, err
}

// fault makes what the engine understands out of an error of the client. w is
// the write that was under way, nil for a read.
func (t *table) fault(err error, w *driver.Write) error {
	var call *callError
	if !errors.As(err, &call) {
		return err
	}
	refusal := &fsm.Refusal{Code: fsm.ErrBusy, Machine: t.schema.Machine, Cause: err}
	if w != nil {
		refusal.ID, refusal.Operation = w.Prev.ID, w.Event.Operation
	}
	switch call.kind {
	case ambiguous:
		return &fsm.AmbiguousError{Machine: t.schema.Machine, ID: refusal.ID, Operation: refusal.Operation,
			RequestID: requestOf(w), Err: err}
	case tooLarge:
		return t.tooLarge(err)
	case busy:
		return refusal
	case full:
		refusal.Code = fsm.ErrFull
	}
	refusal.Message = "etcd refuses: " + err.Error()
	return refusal
}

func requestOf(w *driver.Write) string {
	if w == nil {
		return ""
	}
	return w.Event.RequestID
}

func (t *table) tooLarge(err error) error {
	return &fsm.Refusal{Code: fsm.ErrTooLarge, Machine: t.schema.Machine, Cause: err,
		Message: fmt.Sprintf("etcd takes 1.5 MiB and some thousand keys in a transaction (--max-request-bytes, --max-txn-ops): %v; "+
			"make the batch or the payload smaller", err)}
}

func (t *table) mismatch(format string, args ...any) error {
	return &fsm.Refusal{Code: fsm.ErrSchemaMismatch, Machine: t.schema.Machine,
		Message: fmt.Sprintf(format, args...) + "; call Migrate"}
}

// sweep removes keys that nothing refers to any more. That it may fail does not
// matter: they are found again.
func (t *table) sweep(ctx context.Context, names []string) {
	if len(names) == 0 {
		return
	}
	request := &pb.TxnRequest{Compare: []*pb.Compare{t.asExpected()}}
	for _, key := range names[:min(len(names), maxReads)] {
		request.Success = append(request.Success, drop(key, ""))
	}
	_, _ = t.store.client.write(ctx, request)
}
