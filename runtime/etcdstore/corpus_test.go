package etcdstore_test

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fsmgen/fsmgen/runtime/etcdstore/etcdcorpus"
)

// Each planted fault is found by exactly its check; internal/lab/e2e plants them in
// a real server.
func TestCorpus(t *testing.T) {
	t.Parallel()
	c, err := clientv3.New(config(serve(t, newData())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	etcdcorpus.Run(t, c)
}
