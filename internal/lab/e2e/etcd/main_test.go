package etcd_test

import (
	"os"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/e2e/etcdcluster"
)

func TestMain(m *testing.M) {
	etcdcluster.Main()
	code := m.Run()
	etcdcluster.Clean()
	os.Exit(code)
}
