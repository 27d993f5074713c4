package etcd_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/e2e/etcdcluster"
	"github.com/fsmgen/fsmgen/internal/etcdcorpus"
)

// Each fault that a hand plants in a real server is found by exactly its check,
// and what the log tells is repaired.
func TestCorpus(t *testing.T) {
	t.Parallel()
	etcdcorpus.Run(t, etcdcluster.Start(t, 1).Endpoints()[0])
}
