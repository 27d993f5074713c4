package etcd_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/e2e/etcdcluster"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/etcdstore"
)

// The store passes the conformance suite of all stores on a real server, and each
// fault that a hand plants there is found by exactly its check: on the version
// that this module requires, and on those of ../etcds: the oldest one, in the long
// form all.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, version := range versions(t, true) {
		t.Run(named(version), func(t *testing.T) {
			t.Parallel()
			c := etcdcluster.StartWith(t, etcdcluster.Options{Version: version})
			tells(t, c, version)
			t.Run("suite", func(t *testing.T) {
				var stores atomic.Int64
				storetest.Run(t, func(tb testing.TB) fsm.Store {
					store, err := etcdstore.Open(tb.Context(), c.Config(), etcdstore.WithPrefix(fmt.Sprintf("test%d/", stores.Add(1))))
					if err != nil {
						tb.Fatal(err)
					}
					tb.Cleanup(func() { store.Close() })
					return store
				})
			})
		})
	}
}

// versions returns those that a test is to run against; "" is that of this module.
// The short form adds the oldest one only, where asked to.
func versions(t *testing.T, oldest bool) []string {
	others := etcdcluster.Versions(t)
	if !faults.Long() {
		others = others[:1]
		if !oldest {
			others = nil
		}
	}
	return append([]string{""}, others...)
}

// named is a version as a test's name.
func named(version string) string {
	if version == "" {
		return "etcd of this module"
	}
	return "etcd " + version
}

// tells asks the server which version it is.
func tells(t *testing.T, c *etcdcluster.Cluster, want string) {
	t.Helper()
	var s struct {
		Version string `json:"version"`
	}
	if err := c.Members()[0].Call(10*time.Second, "/v3/maintenance/status", object{}, &s); err != nil {
		t.Fatal(err)
	}
	t.Logf("this is etcd %s", s.Version)
	if want != "" && s.Version != want {
		t.Errorf("this is etcd %s, want %s", s.Version, want)
	}
}
