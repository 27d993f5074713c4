package etcdstore_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/etcdcorpus"
)

// Each planted fault is found by exactly its check; internal/lab/e2e plants them in
// a real server.
func TestCorpus(t *testing.T) {
	t.Parallel()
	etcdcorpus.Run(t, serve(t, newData()).URL)
}
