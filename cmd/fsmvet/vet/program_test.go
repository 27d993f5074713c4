package vet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/spec"
)

// load reads packages with all that they import.
func load(t *testing.T, dir string, patterns ...string) []*packages.Package {
	t.Helper()
	list, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule, Dir: dir, Tests: true}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	if packages.PrintErrors(list) > 0 || len(list) == 0 {
		t.Fatal("the packages have errors")
	}
	return list
}

// findings runs analyzers, and returns what they find: once each, though a package and its
// variant with tests share files.
func findings(t *testing.T, list []*packages.Package, analyzers ...*analysis.Analyzer) []string {
	t.Helper()
	graph, err := checker.Analyze(analyzers, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, a := range graph.Roots {
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		for _, d := range a.Diagnostics {
			p := a.Package.Fset.Position(d.Pos)
			all = append(all, fmt.Sprintf("%s:%d: %s: %s", filepath.Base(p.Filename), p.Line, a.Analyzer.Name, d.Message))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// planted returns the mistakes of the program in testdata/planted: "main.go:67: fsmrequest".
func planted(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/planted/main.go")
	if err != nil {
		t.Fatal(err)
	}
	mark := regexp.MustCompile(`// mistake \d+: (\w+)$`)
	for i, line := range strings.Split(string(text), "\n") {
		if m := mark.FindStringSubmatch(line); m != nil {
			list = append(list, fmt.Sprintf("main.go:%d: %s", i+1, m[1]))
		}
	}
	if len(list) != 10 {
		t.Fatalf("%d mistakes are planted, not 10", len(list))
	}
	slices.Sort(list)
	return list
}

// Ten mistakes are planted in a program, and all are found, and nothing else.
func TestPlanted(t *testing.T) {
	t.Parallel()
	var found []string
	for _, f := range findings(t, load(t, root(t), "./cmd/fsmvet/vet/testdata/planted"), Analyzers...) {
		found = append(found, strings.Join(strings.SplitN(f, ": ", 3)[:2], ": "))
	}
	if want := planted(t); !slices.Equal(found, want) {
		t.Errorf("found:\n%s\nwant:\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
}

// TestGoVet runs the command by go vet: it tells the same of the program, and nothing of the examples,
// whose programs do all that users do.
func TestGoVet(t *testing.T) {
	t.Parallel()
	tool := filepath.Join(t.TempDir(), "fsmvet.exe")
	run := func(args ...string) (string, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = root(t)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("build", "-o", tool, "./cmd/fsmvet"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := run("vet", "-vettool="+tool, "./cmd/fsmvet/vet/testdata/planted")
	if err == nil {
		t.Errorf("go vet passes:\n%s", out)
	}
	for _, mistake := range planted(t) {
		place, _, _ := strings.Cut(mistake, ": ")
		if !strings.Contains(out, place+":") {
			t.Errorf("go vet does not tell %s:\n%s", mistake, out)
		}
	}
	if n := strings.Count(out, "main.go:"); n != 10 {
		t.Errorf("go vet tells %d mistakes:\n%s", n, out)
	}
	if out, err := run("vet", "-vettool="+tool, "./examples/..."); err != nil {
		t.Errorf("go vet of the examples: %v\n%s", err, out)
	}
}

// A package is stale when its specification means something else.
func TestStale(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../specs/task.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := outside.New(t, "example.com/stale")
	machine, found := spec.Parse("task.yaml", source)
	if machine == nil {
		t.Fatal(found)
	}
	files, err := gen.Generate(machine, gen.Options{Spec: "../machines/task.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		m.Write("task/"+f.Name, f.Data)
	}
	m.Write("machines/task.yaml", source)
	m.Write("task.yaml", []byte("fsm: 1\n")) // beside the package, but the test names another one
	list := load(t, m.Dir, "./...")
	text := string(source)
	for _, c := range []struct{ name, yaml, want string }{
		{"as it was", text, ""},
		{"a comment", text + "# more\n", ""},
		{"another meaning", strings.Replace(text, "fsm: 1\n", "fsm: 1\nversion: 7\n", 1),
			"the package is older than ../machines/task.yaml, which says something else; run go generate, or fsmgen gen"},
		{"an error", text + "nonsense: 1\n", "../machines/task.yaml has an error, so the package is not what it says: ../machines/task.yaml:"},
	} {
		m.Write("machines/task.yaml", []byte(c.yaml))
		got := findings(t, list, Stale)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
	}
	if err := os.Remove(filepath.Join(m.Dir, "machines", "task.yaml")); err != nil {
		t.Fatal(err)
	}
	if got := findings(t, list, Stale); len(got) > 0 {
		t.Errorf("without the file: %q", got)
	}
}
