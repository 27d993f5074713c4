package etcd_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/fsmgen/fsmgen/internal/e2e/etcdcluster"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/etcdstore"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

// The store passes the conformance suite of all stores on a real server.
func TestConformance(t *testing.T) {
	t.Parallel()
	endpoints := etcdcluster.Start(t, 1).Endpoints()
	var stores atomic.Int64
	storetest.Run(t, func(tb testing.TB) fsm.Store {
		prefix := fmt.Sprintf("test%d/", stores.Add(1))
		store, err := etcdstore.Open(tb.Context(), endpoints, etcdstore.WithPrefix(prefix))
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { store.Close() })
		return store
	})
}
