package etcd_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/e2e/etcdcluster"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
	"github.com/fsmgen/fsmgen/internal/lab/faults/histories"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/etcdstore"
)

// Every answer that callers get, while a tenth of the commits is lost and leaders
// are killed, is one that a store without faults and with one caller at a time
// could have given.
func TestLinearizable(t *testing.T) {
	if testing.Short() {
		t.Skip("makes thousands of calls; run without -short")
	}
	t.Parallel()
	c := etcdcluster.Start(t, 3)
	every := 2 * time.Second
	if faults.Long() {
		every = 10 * time.Second
	}
	var stores, kills atomic.Int64
	s := histories.Subject{
		Name: "etcd, three nodes", How: "the leader is killed and started again now and then", Short: 1500, Long: 100_000,
		Open: func(t *testing.T) fsm.Store {
			store, err := etcdstore.Open(t.Context(), c.Config(), etcdstore.WithPrefix(fmt.Sprintf("linear%d/", stores.Add(1))))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			return store
		},
	}
	s.Check(t, func(ctx context.Context) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(every):
			}
			leader, _ := c.Leader()
			leader.Kill()
			kills.Add(1)
			time.Sleep(time.Second)
			leader.Start()
			leader.WaitReady(time.Minute)
		}
	})
	if kills.Load() == 0 {
		t.Error("no leader was killed: the test shows less than it says")
	}
	t.Logf("%d leaders were killed", kills.Load())
}
