package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDownstream is a stranger's project: a module of its own that names fsmgen
// as a tool, generates its machine by `go generate` and another one from what
// `fsmgen init` writes, and passes vet and the generated tests. The generated package must depend on the standard library
// and our runtime alone.
func TestDownstream(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	p := project{t: t, dir: t.TempDir()}
	p.copy("testdata/downstream/parcel.yaml", "parcel.yaml")
	// The checksums are known, so that no look-up is needed for modules that
	// are in the cache.
	p.copy(filepath.Join(root, "go.sum"), "go.sum")
	p.copy("testdata/downstream/shop.go", "shop.go")

	p.run("go", "mod", "init", "example.com/shop")
	p.run("go", "mod", "edit",
		"-replace", "github.com/fsmgen/fsmgen="+root,
		"-require", "github.com/fsmgen/fsmgen@v0.0.0",
		"-tool", "github.com/fsmgen/fsmgen/cmd/fsmgen")
	p.tidy()
	p.run("go", "generate", "./...")
	p.run("go", "tool", "fsmgen", "init", "work_item")
	p.run("go", "tool", "fsmgen", "gen", "work_item.yaml")
	p.copy("testdata/downstream/shop_test.go", "shop_test.go")
	p.tidy() // shop_test.go uses a store
	p.run("go", "vet", "./...")
	tests := p.run("go", "test", "./...")
	for _, pkg := range []string{"example.com/shop", "example.com/shop/parcel", "example.com/shop/work_item"} {
		if !strings.Contains(tests, "ok  \t"+pkg+"\t") {
			t.Errorf("the tests of %s did not run:\n%s", pkg, tests)
		}
	}
	p.run("go", "tool", "fsmgen", "gen", "--check", "parcel.yaml")

	deps := strings.Fields(p.run("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./parcel"))
	ours := false
	for _, d := range deps {
		switch {
		case d == "example.com/shop/parcel":
		case d == "github.com/fsmgen/fsmgen/runtime", strings.HasPrefix(d, "github.com/fsmgen/fsmgen/runtime/"):
			ours = true
		default:
			t.Errorf("the generated package depends on %s; it may use the standard library and the runtime only", d)
		}
	}
	if !ours {
		t.Errorf("the generated package does not use the runtime; its dependencies are %q", deps)
	}
}

// project is a folder with a Go module.
type project struct {
	t   *testing.T
	dir string
}

func (p project) copy(from, name string) {
	p.t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, name), data, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// tidy runs `go mod tidy`. It looks at tests of dependencies that nobody else
// needs, so without a network it may miss modules; then it goes on without them.
func (p project) tidy() {
	p.t.Helper()
	out, err := p.command("go", "mod", "tidy").CombinedOutput()
	if err == nil {
		return
	}
	for _, offline := range []string{"module lookup disabled", "dial tcp", "no such host"} {
		if strings.Contains(string(out), offline) {
			p.t.Logf("no network: go mod tidy -e\n%s", out)
			p.run("go", "mod", "tidy", "-e")
			return
		}
	}
	p.t.Fatalf("go mod tidy: %v\n%s", err, out)
}

func (p project) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), name, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	return cmd
}

// run runs a command in the project and returns what it prints.
func (p project) run(name string, args ...string) string {
	p.t.Helper()
	out, err := p.command(name, args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", strings.Join(append([]string{name}, args...), " "), err, out)
	}
	return string(out)
}
