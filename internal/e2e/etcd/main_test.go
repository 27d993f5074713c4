package etcd_test

import (
	"flag"
	"os"
	"testing"

	"github.com/fsmgen/fsmgen/internal/e2e/etcdcluster"
)

// long runs every fault as often as `make faults` reports.
var long = flag.Bool("long", false, "run every fault as often as the figures of the README say")

func TestMain(m *testing.M) {
	etcdcluster.Main()
	flag.Parse()
	code := m.Run()
	etcdcluster.Clean()
	os.Exit(code)
}
