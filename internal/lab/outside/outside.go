// Package outside makes throw-away modules for tests, which use this one as a
// stranger's project does: by a replace directive, and with the checksums that are
// known here.
//
// A module of it needs what this module needs and nothing else. Go downloads what is
// not in its cache, so that a test passes on a machine where nothing was
// downloaded, and needs no network on one where all is there.
package outside

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const path = "github.com/fsmgen/fsmgen"

// Fast are the flags for modules named example.com/…, or outside/… below this one, that are
// compiled to be thrown away: nobody measures or debugs them.
var Fast = []string{
	"-gcflags=example.com/...=-N -l -dwarf=false", "-gcflags=" + path + "/outside/...=-N -l -dwarf=false", "-ldflags=-s -w",
}

// Root returns the folder of this module.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module "+path+"\n") {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("no folder above holds the go.mod of %s", path)
		}
		dir = filepath.Dir(dir)
	}
}

// Module is a module in a folder of its own, which is removed when the test ends.
type Module struct {
	Dir string
	Env []string // of commands, besides that of this process
	t   testing.TB
}

// New makes an empty module with this name. It requires all that this module
// requires, and this module, which it finds in the folder where it is.
func New(t testing.TB, name string) Module {
	t.Helper()
	m := Empty(t)
	mod := strings.Replace(m.read("go.mod"), "module "+path+"\n", "module "+name+"\n", 1)
	mod, _, _ = strings.Cut(mod, "\ntool ")
	mod += "\nrequire " + path + " v0.0.0\n\nreplace " + path + " => " + strconv.Quote(Root(t)) + "\n"
	m.Write("go.mod", []byte(mod))
	m.Write("go.sum", []byte(m.read("go.sum")))
	return m
}

// Empty is a folder that is no module yet.
func Empty(t testing.TB) Module {
	t.Helper()
	return Module{Dir: folder(t), t: t}
}

// folder has the same name in each run of a test, where it is free: Go keeps what it
// compiles by the folder, too, and need not compile it again. It is removed when the
// test ends; one of a run that was killed, hours later.
func folder(t testing.TB) string {
	t.Helper()
	sum := sha256.Sum256([]byte(Root(t) + "\n" + t.Name()))
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("fsmgen-outside-%d-%x", os.Getuid(), sum[:6]))
	if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 2*time.Hour {
		_ = os.RemoveAll(dir) // Mkdir tells
	}
	if os.Mkdir(dir, 0o700) != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// modules returns the folders of the modules that users may get: this one, commands and stores.
func (m Module) modules() []string {
	m.t.Helper()
	list := []string{""}
	for _, pattern := range []string{"cmd/*/go.mod", "runtime/*/go.mod"} {
		files, err := filepath.Glob(filepath.Join(Root(m.t), pattern))
		if err != nil {
			m.t.Fatal(err)
		}
		for _, file := range files {
			parent := filepath.Base(filepath.Dir(filepath.Dir(file)))
			list = append(list, "/"+parent+"/"+filepath.Base(filepath.Dir(file)))
		}
	}
	return list
}

// Sums tells Go the checksums that are known here.
func (m Module) Sums() {
	m.t.Helper()
	var sums string
	for _, module := range m.modules() {
		sums += m.read(filepath.FromSlash(module + "/go.sum"))
	}
	m.Write("go.sum", []byte(sums))
}

func (m Module) read(name string) string {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(Root(m.t), name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(data)
}

// Write writes a file and the folders above it.
func (m Module) Write(name string, data []byte) {
	m.t.Helper()
	name = filepath.Join(m.Dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// Command is a command in the folder of the module, whatever workspace is around it.
func (m Module) Command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(m.t.Context(), name, args...)
	cmd.Dir = m.Dir
	cmd.Env = append(append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off"), m.Env...)
	return cmd
}

// Run runs a command that has to succeed, and returns what it prints.
func (m Module) Run(name string, args ...string) string {
	m.t.Helper()
	out, err := m.Command(name, args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", strings.Join(append([]string{name}, args...), " "), err, out)
	}
	return string(out)
}

// Test runs `go test`, compiled as Fast as can be, and returns what it prints.
func (m Module) Test(args ...string) (string, error) {
	out, err := m.Command("go", append(append([]string{"test"}, Fast...), args...)...).CombinedOutput()
	return string(out), err
}

// Tidy runs `go mod tidy`. It wants the tests of what we depend on, which nobody
// else needs; where there is no network to get them from, it goes on without them.
func (m Module) Tidy() {
	m.t.Helper()
	if out, err := m.Command("go", "mod", "tidy").CombinedOutput(); err != nil {
		m.t.Logf("go mod tidy: %v; now go mod tidy -e\n%s", err, out)
		m.Run("go", "mod", "tidy", "-e")
	}
}
