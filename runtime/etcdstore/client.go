package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// rounds is how often a call goes through all endpoints before it gives up.
const rounds = 3

// client makes the calls of a store. The client of etcd chooses the endpoint, connects
// and logs in. It repeats no transaction that may be applied, and neither does this.
type client struct {
	kv       pb.KVClient
	members  int           // endpoints of the client
	try      time.Duration // the limit of one try
	readOnly bool
	revision atomic.Int64 // the newest one that an answer told
}

func newClient(c *clientv3.Client, try time.Duration, readOnly bool) *client {
	return &client{kv: clientv3.RetryKVClient(c), members: max(len(c.Endpoints()), 1), try: try, readOnly: readOnly}
}

// read makes a call that changes nothing. It is repeated while another try may do better.
func (c *client) read(ctx context.Context, txn *pb.TxnRequest) (*pb.TxnResponse, error) {
	return c.call(ctx, txn, false)
}

// write makes a call that may be applied once: after it was sent it is repeated only
// when the server says that it was not applied.
func (c *client) write(ctx context.Context, txn *pb.TxnRequest) (*pb.TxnResponse, error) {
	if c.readOnly {
		return nil, &callError{denied, errReadOnly}
	}
	return c.call(ctx, txn, true)
}

func (c *client) call(ctx context.Context, txn *pb.TxnRequest, writes bool) (*pb.TxnResponse, error) {
	var last error
	for n := range rounds * c.members {
		if round := n / c.members; n%c.members == 0 && !sleep(ctx, time.Duration(round)*50*time.Millisecond) {
			return nil, ctx.Err()
		}
		answer, sent, err := c.once(ctx, txn)
		if err == nil {
			c.told(answer.Header.Revision)
			return answer, nil
		}
		kind := kindOf(err)
		switch {
		case kind == ambiguous && sent && writes:
			return nil, &callError{ambiguous, fmt.Errorf("the answer was lost: %w", err)}
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case kind == ambiguous && !sent:
			return nil, &callError{busy, fmt.Errorf("no endpoint of %d could be used: %w", c.members, err)}
		case kind != busy && kind != ambiguous:
			return nil, &callError{kind, err}
		}
		last = err
	}
	return nil, &callError{busy, fmt.Errorf("no endpoint of %d could be used: %w", c.members, last)}
}

// errLate is the cause of a try that took too long.
var errLate = errors.New("no answer came in time")

// once makes one try. Sent says that the server may have got the request.
//
// The context of the try ends with ctx and has no deadline that is sent to the server:
// the client of etcd repeats what a server gives up at a deadline, a write too.
func (c *client) once(ctx context.Context, txn *pb.TxnRequest) (answer *pb.TxnResponse, sent bool, err error) {
	try, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(ctx.Err()) })()
	defer time.AfterFunc(c.try, func() { cancel(fmt.Errorf("%w: it was waited for %v", errLate, c.try)) }).Stop()
	var from peer.Peer
	answer, err = c.kv.Txn(try, txn, grpc.Peer(&from), grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(math.MaxInt32))
	sent = from.Addr != nil
	if err == nil || try.Err() == nil {
		return answer, sent, err
	}
	if sent {
		return nil, true, context.Cause(try)
	}
	return nil, false, fmt.Errorf("%w: %s", context.Cause(try), status.Convert(err).Message()) // which names what stood in the way
}

// told notes a revision of the store.
func (c *client) told(revision int64) {
	for {
		known := c.revision.Load()
		if revision <= known || c.revision.CompareAndSwap(known, revision) {
			return
		}
	}
}

// sleep waits, and reports whether it did so to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
