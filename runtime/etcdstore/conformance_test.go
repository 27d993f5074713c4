package etcdstore_test

import (
	"database/sql"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/etcdstore"
)

// The suite over the fake holds the store's own part of the work; internal/lab/e2e
// runs it over real servers.
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(tb testing.TB) driver.Store { return open(tb, serve(tb, newData())) })
}

// A store that has no transaction to hand out must not look as if it had one.
func TestNoTransaction(t *testing.T) {
	t.Parallel()
	var store any = open(t, serve(t, newData()))
	if _, ok := store.(driver.Transactional[*sql.Tx]); ok {
		t.Error("the store says that it has transactions of SQL")
	}
	if _, ok := store.(interface{ Transaction(driver.Tx) any }); ok {
		t.Error("the store says that it has transactions")
	}
}

func open(tb testing.TB, members ...*fake) *etcdstore.Store {
	tb.Helper()
	store, err := etcdstore.Open(tb.Context(), config(members...), etcdstore.WithTryTimeout(20*time.Second))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close() })
	return store
}

// config is that of a client which says nothing to the terminal.
func config(members ...*fake) clientv3.Config {
	c := clientv3.Config{Logger: zap.NewNop()}
	for _, m := range members {
		c.Endpoints = append(c.Endpoints, m.URL)
	}
	return c
}
