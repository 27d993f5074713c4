package gen

import (
	"bytes"
	"errors"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/spec"
)

var pureLayer = []spec.Layer{spec.LayerPure}

// aloneSpecs are the specifications of packages without a store.
func aloneSpecs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/alone/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d specifications: %v", len(files), err)
	}
	return append(files, "../examples/protocol/tcp.yaml")
}

// What is generated from one of them is reviewed and committed.
func TestAloneGolden(t *testing.T) {
	t.Parallel()
	for _, f := range generate(t, parse(t, "testdata/alone/ticket.yaml"), Options{}) {
		if !strings.HasSuffix(f.Name, ".go") {
			continue // diagrams have goldens of their own
		}
		path := filepath.Join("testdata", "alone", "ticket", f.Name+".golden")
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Data, 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(f.Data)); diff != "" {
			t.Errorf("%s differs (-want +got), run with -update when it is right:\n%s", path, diff)
		}
	}
}

// ourMachines are the specifications that we ship.
func ourMachines(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"../specs/*.yaml", "../examples/*/[a-z]*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, files...)
	}
	return list
}

// The packages are vetted and tested in a module that knows nothing of fsmgen, so they
// import the standard library alone.
func TestAlonePackagesRun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles packages")
	}
	dir := t.TempDir()
	put := func(name string, data []byte) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put("go.mod", []byte("module example.com/alone\n\ngo 1.25\n"))
	wide, found := spec.Parse("wide.yaml", []byte(ring(256))) // more than a byte holds
	if found.HasErrors() {
		t.Fatal(found)
	}
	wide.Name = "wide"
	list := []*spec.Machine{wide, knownMachine(t, "known", "pure")}
	put("known/record_test.go", []byte(knownTest))
	for _, file := range aloneSpecs(t) {
		list = append(list, parse(t, file))
	}
	for _, m := range list {
		for _, f := range generate(t, m, Options{Layers: pureLayer}) {
			put(filepath.Join(m.Name, f.Name), f.Data)
		}
	}
	ours := ourMachines(t)
	if len(ours) < 18 {
		t.Errorf("there are %d machines", len(ours))
	}
	for _, file := range ours {
		m := parse(t, file)
		for _, f := range generate(t, m, Options{Layers: pureLayer}) { // two machines have the same name
			put(filepath.Join(filepath.Base(filepath.Dir(file)), m.Name, f.Name), f.Data)
		}
	}
	cmd := exec.Command("go", slices.Concat([]string{"test", "-vet=all"}, outside.Fast, []string{"./..."})...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// A protocol of eleven states without data is a few hundred lines, and each state more
// costs as much as the one before it.
func TestAloneSizes(t *testing.T) {
	t.Parallel()
	lines := func(files []File) (code, tests int) {
		for _, f := range files {
			if strings.Contains(f.Name, "_kit") {
				continue // the same for all machines
			}
			switch n := bytes.Count(f.Data, []byte("\n")); {
			case strings.HasSuffix(f.Name, "_test.go"):
				tests += n
			case strings.HasSuffix(f.Name, ".go"):
				code += n
			}
		}
		return code, tests
	}
	m := parse(t, "../examples/protocol/tcp.yaml")
	if code, tests := lines(generate(t, m, Options{})); len(m.States) != 11 || code > 450 || tests > 200 {
		t.Errorf("%d states are %d lines and %d lines of tests, at most 450 and 200 are wanted", len(m.States), code, tests)
	}
	var code, tests [3]int
	for i := range code {
		m, found := spec.Parse("ring.yaml", []byte(ring(100*(i+1))))
		if found.HasErrors() {
			t.Fatal(found)
		}
		code[i], tests[i] = lines(generate(t, m, Options{Layers: pureLayer}))
	}
	if code[2]-code[1] != code[1]-code[0] || tests[2]-tests[1] != tests[1]-tests[0] {
		t.Errorf("100, 200 and 300 states are %v lines and %v lines of tests", code, tests)
	}
}

// A flag overrules the file, what a file needs a store for is told all at once, and
// handles go away without the rest.
func TestLayers(t *testing.T) {
	t.Parallel()
	queue := parse(t, "../specs/lifecycle.yaml")
	_, err := Generate(parse(t, "../internal/validate/testdata/FSM028/bad_all.yaml"), Options{})
	var found spec.Diagnostics
	if !errors.As(err, &found) || len(found) < 5 || slices.ContainsFunc(found, func(d spec.Diagnostic) bool {
		return d.Severity == spec.Error && (d.Code != "FSM028" || d.Hint == "") || d.Pos.IsZero()
	}) {
		t.Errorf("a pure package that would need a store is refused with %v", err)
	}
	names := func(m *spec.Machine, layers ...spec.Layer) (names []string) {
		for _, f := range generate(t, m, Options{Layers: layers}) {
			names = append(names, strings.TrimPrefix(f.Name, m.Name))
			if strings.HasSuffix(f.Name, ".go") && slices.Equal(layers, pureLayer) {
				file, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Data, parser.ImportsOnly)
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range file.Imports {
					if path, _ := strconv.Unquote(i.Path.Value); strings.Contains(path, ".") {
						t.Errorf("%s imports %s", f.Name, path)
					}
				}
			}
		}
		return names
	}
	all := names(queue)
	for _, layers := range [][]spec.Layer{{spec.LayerDurable, spec.LayerHandles}, {spec.LayerPure, spec.LayerDurable, spec.LayerHandles}} {
		if diff := cmp.Diff(all, names(queue, layers...)); diff != "" {
			t.Errorf("%v (-all +got):\n%s", layers, diff)
		}
	}
	without := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == "_held.go" })
	if diff := cmp.Diff(without, names(queue, spec.LayerDurable)); diff != "" || len(without) == len(all) {
		t.Errorf("durable (-want +got):\n%s", diff)
	}
	ticket := parse(t, "testdata/alone/ticket.yaml")
	pure := []string{"_fsm.go", "_kit.go", "_fsm_test.go", "_kit_test.go", ".mmd"}
	if diff := cmp.Diff(pure, names(ticket)); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(pure, names(ticket, spec.LayerPure)); diff != "" {
		t.Errorf("the file and a flag (-want +got):\n%s", diff)
	}
	if got := names(ticket, spec.LayerDurable); !slices.Contains(got, "_store.go") {
		t.Errorf("a flag over the file gives %v", got)
	}
	for _, layers := range [][]spec.Layer{{"store"}, {spec.LayerHandles}, {spec.LayerPure, spec.LayerHandles}} {
		if _, err := Generate(ticket, Options{Layers: layers}); err == nil || errors.As(err, &found) {
			t.Errorf("%v: %v", layers, err)
		}
	}
}
