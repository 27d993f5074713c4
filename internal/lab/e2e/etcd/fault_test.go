package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/fsmgen/fsmgen/internal/lab/e2e/etcdcluster"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// faultKinds are what is done to a cluster of three under load.
var faultKinds = []struct {
	name        string
	short, long int
	how         string
	do          func(t *testing.T, c *etcdcluster.Cluster, l *load)
}{
	{"leader killed", 3, 20, "SIGKILL, started again after the next leader served", func(t *testing.T, c *etcdcluster.Cluster, l *load) {
		leader, _ := c.Leader()
		leader.Kill()
		l.await(100, time.Minute)
		leader.Start()
		leader.WaitReady(time.Minute)
	}},
	{"follower killed", 3, 10, "SIGKILL, started again after a second", func(t *testing.T, c *etcdcluster.Cluster, l *load) {
		_, followers := c.Leader()
		followers[0].Kill()
		l.await(100, time.Minute)
		time.Sleep(time.Second)
		followers[0].Start()
		followers[0].WaitReady(time.Minute)
	}},
	{"leader stopped", 3, 10, "SIGSTOP for at least 3 s, its connections open", func(t *testing.T, c *etcdcluster.Cluster, l *load) {
		leader, _ := c.Leader()
		leader.Stop()
		defer leader.WaitReady(time.Minute)
		defer leader.Continue()
		time.Sleep(3 * time.Second)
		l.await(100, time.Minute)
	}},
	{"quorum lost", 1, 5, "SIGKILL of two members, started again after 3 s", func(t *testing.T, c *etcdcluster.Cluster, l *load) {
		leader, followers := c.Leader()
		leader.Kill()
		followers[0].Kill()
		time.Sleep(time.Second)
		before := l.count.Load()
		time.Sleep(2 * time.Second)
		if n := l.count.Load() - before; n > 0 {
			t.Errorf("%d calls were acknowledged without a quorum", n)
		}
		leader.Start()
		followers[0].Start()
		leader.WaitReady(time.Minute)
		followers[0].WaitReady(time.Minute)
	}},
	{"compaction", 5, 20, "all revisions but the newest forgotten, while all records are read", func(t *testing.T, c *etcdcluster.Cluster, l *load) {
		done := make(chan error, 1)
		go func() {
			var err error
			for range 20 { // a reader whose revision is gone is told that it is to read again
				err = nil
				for _, err = range l.machines[0].List(context.Background(), driver.Query{Order: []driver.Order{{Column: "created_at"}}}) {
					if err != nil {
						break
					}
				}
				if !errors.Is(err, fsm.ErrBusy) {
					break
				}
			}
			done <- err
		}()
		for range 3 {
			if err := c.Compact(); err != nil {
				t.Errorf("compact: %v", err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		if err := <-done; err != nil {
			t.Errorf("read all records: %v", err)
		}
	}},
}

// Whatever happens to a minority of the members, nothing that was acknowledged
// is lost and nothing happens twice; without a quorum nothing is acknowledged.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("kills servers; run without -short")
	}
	if !faults.Long() { // the figures of the long form want the machine for themselves
		t.Parallel()
	}
	control := stripped(t)
	c := etcdcluster.Start(t, 3)
	for i, kind := range faultKinds {
		t.Run(kind.name, func(t *testing.T) {
			began, times := time.Now(), kind.short
			if faults.Long() {
				times = kind.long
			}
			l := startLoad(t, c, fmt.Sprintf("fault%d/", i))
			l.watch(c)
			defer l.watcher.end()
			l.await(200, time.Minute)
			var gaps []time.Duration
			for range times {
				l.reset()
				kind.do(t, c, l)
				l.await(100, time.Minute)
				gaps = append(gaps, l.longest())
			}
			l.finish()
			v := l.verify()
			if v.lost > 0 || len(v.wrong) > 0 {
				t.Errorf("%d of %d acknowledged calls are lost; %d wrong: %s", v.lost, v.acked, len(v.wrong), v.text())
			}
			slices.Sort(gaps)
			faults.Report(t, faults.Row{
				Test: "etcd: " + kind.name, Store: "etcd, three nodes", How: kind.how, Control: control,
				Took: time.Since(began), Longer: faults.Longer(kind.short, kind.long),
				Figures: fmt.Sprintf("%d times: %d acknowledged, lost %d, wrong %d; requests without an answer %d; callers told ambiguous %d, busy %d, then found it done %d; gap %.1f s in the middle, longest %.1f s",
					times, v.acked, v.lost, len(v.wrong), l.unanswered.Load(), l.ambiguous, l.busy, l.replayed, gaps[len(gaps)/2].Seconds(), gaps[len(gaps)-1].Seconds()),
			})
		})
	}
}

// stripped is the control: the same callers and the same verdict over a store
// whose transactions lose the compare of the record's revision on the way.
func stripped(t *testing.T) string {
	t.Helper()
	c := etcdcluster.Start(t, 1)
	l := startLoad(t, c, "control/", withoutRevision)
	l.await(1500, time.Minute)
	l.finish()
	v := l.verify()
	if v.lost == 0 || len(v.wrong) == 0 {
		t.Errorf("without the compare of the revision nothing is lost of %d: the test shows nothing", v.acked)
	}
	return fmt.Sprintf("without the compare of the revision: lost %d of %d, wrong %d", v.lost, v.acked, len(v.wrong))
}

// withoutRevision takes the compares of records out of transactions.
func withoutRevision(ctx context.Context, method string, request, answer any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if txn, ok := request.(*pb.TxnRequest); ok {
		request = &pb.TxnRequest{Success: txn.Success, Failure: txn.Failure,
			Compare: slices.DeleteFunc(slices.Clone(txn.Compare), func(c *pb.Compare) bool { return bytes.Contains(c.Key, []byte("/r/hot")) })}
	}
	return next(ctx, method, request, answer, conn, opts...)
}
