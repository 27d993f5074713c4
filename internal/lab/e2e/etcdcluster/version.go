//go:build unix

package etcdcluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Versions returns the versions that can be run besides the one of this module, by
// their names: each is the one thing that a module in ../etcds requires.
func Versions(tb testing.TB) []string {
	tb.Helper()
	found, err := filepath.Glob(filepath.Join("..", "etcds", "*", "go.mod"))
	if err != nil || len(found) == 0 {
		tb.Fatalf("there is no module in ../etcds: %v", err)
	}
	var list []string
	for _, path := range found {
		list = append(list, filepath.Base(filepath.Dir(path)))
	}
	return list
}

var (
	building sync.Mutex
	built    = map[string]string{}
)

// build makes the server of a version and returns its program, once per process.
func build(tb testing.TB, version string) string {
	tb.Helper()
	building.Lock()
	defer building.Unlock()
	if built[version] == "" {
		dir, err := os.MkdirTemp("", "etcd") // it outlives the test: others use it
		if err != nil {
			tb.Fatal(err)
		}
		program := filepath.Join(dir, "etcd-"+version)
		cmd := exec.Command("go", "build", "-o", program, "go.etcd.io/etcd/server/v3")
		cmd.Dir = filepath.Join("..", "etcds", version)
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("build etcd %s: %v\n%s", version, err, out)
		}
		built[version] = program
	}
	return built[version]
}

// Clean removes the servers that were built. Call it last in TestMain.
func Clean() {
	for _, program := range built {
		_ = os.RemoveAll(filepath.Dir(program))
	}
}
