package gen

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
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
		put(filepath.Join(m.Name, "do_test.go"), doTest(t, m))
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
		put(filepath.Join(filepath.Base(filepath.Dir(file)), m.Name, "do_test.go"), doTest(t, m))
	}
	cmd := exec.Command("go", slices.Concat([]string{"test", "-vet=all"}, outside.Fast, []string{"./..."})...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// doTest is a test beside a pure package: what a method answers to each of its cases, Do
// answers to the same call by name.
func doTest(t *testing.T, m *spec.Machine) []byte {
	t.Helper()
	opt, err := Options{Layers: pureLayer}.complete(m)
	if err != nil {
		t.Fatal(err)
	}
	n, err := newNames(m, opt)
	if err != nil {
		t.Fatal(err)
	}
	var e, body testWriter
	if !slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool { return !creates(o) }) {
		return []byte("package " + n.Package) // nothing can be called so
	}
	own, named := n.ours("package", "Call"), false
	for _, f := range generate(t, m, Options{Layers: pureLayer}) {
		named = named || f.Name == m.Name+"_fsm.go" && bytes.Contains(f.Data, []byte("\ntype "+own+" struct {"))
	}
	body.line("func TestDo(t *testing.T) {")
	body.line("for i := range testCases {")
	body.line("c := &testCases[i]")
	body.line("call := testCallOf(c)")
	body.line("if c.In == \"\" || call.At.IsZero() { continue }")
	body.line("was := testPackage.record(t, c.In, c.Given)")
	body.line("r := was")
	body.line("event, err := testPackage.Pure(&was, c.Do, call)")
	body.line("inputs := map[string]any{}")
	body.line("_ = inputs")
	body.line("switch c.Do {")
	for _, o := range m.Operations {
		body.line("case %q:", o.Name)
		for _, in := range o.Inputs {
			value := fmt.Sprintf("inputs[%q] = %s[%s](call, %[1]q)", in.Name, n.of("fsmcases.Input"), n.goType(in.Type, n.inputType(in)))
			if in.Type.Optional {
				value = fmt.Sprintf("if call.Inputs[%q] != nil { %s }", in.Name, value)
			}
			body.line("%s", value)
		}
	}
	body.line("}")
	by := "r." + n.ours("record", "Do") + "(c.op()"
	if named {
		body.line("var by %s", own)
		body.line("for name, v := range map[string]any{\"Actor\": call.Actor, \"Reason\": call.Reason, \"Now\": call.Now(), \"Inputs\": inputs, \"Peers\": call.Peers} {")
		body.line("if f := reflect.ValueOf(&by).Elem().FieldByName(name); f.IsValid() { f.Set(reflect.ValueOf(v)) }")
		body.line("}")
		by += ", by"
	}
	body.line("got, failed := %s)", by)
	body.line("if a, b := fmt.Sprint(event, err), fmt.Sprint(got, failed); a != b || !testPackage.Equal(r, was) {")
	body.line("t.Errorf(\"%%+v: the method answers %%s, and Do %%s\\n%%+v\\n%%+v\", *c, a, b, was, r)")
	body.line("}")
	body.line("}")
	body.line("}")
	body.line("func (c *testCase) op() string { if s := testPackage.Stored[c.Do]; s != \"\" { return s }; return c.Do }")
	e.line("package %s\n\nimport (\n\"fmt\"\n\"reflect\"\n\"testing\"\n\"time\"\n)\n\nvar _, _ = reflect.ValueOf, time.Now", n.Package)
	e.WriteString(body.String())
	text, err := format.Source([]byte(e.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, e.String())
	}
	return text
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
