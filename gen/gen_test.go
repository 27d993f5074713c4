package gen

import (
	"bytes"
	"errors"
	"flag"
	"go/format"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

var update = flag.Bool("update", false, "write the goldens instead of comparing with them")

// machine is one specification that the tests generate from.
type machine struct {
	path   string
	golden bool // its Go files stand in a folder beside it
	*spec.Machine
}

// machines returns the scenarios, which use every key between them, and the
// five machines of the sources.
func machines(t *testing.T) []machine {
	t.Helper()
	scenarios, err := filepath.Glob("testdata/scenarios/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := filepath.Glob("../specs/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(scenarios) < 7 || len(shipped) != 6 {
		t.Fatalf("found %d scenarios and %d shipped specifications", len(scenarios), len(shipped))
	}
	var list []machine
	for _, path := range append(scenarios, shipped...) {
		list = append(list, machine{path, strings.HasPrefix(path, "testdata"), parse(t, path)})
	}
	return list
}

func parse(t *testing.T, path string) *spec.Machine {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, found := spec.Parse(filepath.Base(path), src)
	if found.HasErrors() {
		t.Fatal(found)
	}
	return m
}

func generate(t *testing.T, m *spec.Machine, opt Options) []File {
	t.Helper()
	files, err := Generate(m, opt)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestGoldens compares what is generated from the scenarios with what is
// reviewed and committed.
func TestGoldens(t *testing.T) {
	t.Parallel()
	for _, m := range machines(t) {
		if !m.golden {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			for _, f := range generate(t, m.Machine, Options{}) {
				if !strings.HasSuffix(f.Name, "_fsm.go") && !strings.HasSuffix(f.Name, "_store.go") && !strings.HasSuffix(f.Name, "_held.go") {
					continue // SQL, tests and diagrams have goldens of their own
				}
				path := filepath.Join(strings.TrimSuffix(m.path, ".yaml"), f.Name)
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
		})
	}
}

// withoutHandles are machines whose calls name no revision, or in which nobody
// but the system and operators does anything with what is made.
var withoutHandles = []string{"facts", "job", "jobstate", "picks", "task"}

// TestOutput looks at what every generated file promises.
func TestOutput(t *testing.T) {
	t.Parallel()
	headers := map[string]*regexp.Regexp{
		".go":  regexp.MustCompile(`\A// Code generated .* DO NOT EDIT\.\n\n`),
		".sql": regexp.MustCompile(`\A-- Code generated .* DO NOT EDIT\.\n`),
		".svg": regexp.MustCompile(`(?m)^<!-- Code generated .* DO NOT EDIT\. -->$`),
		".mmd": regexp.MustCompile(`(?m)^%% Code generated .* DO NOT EDIT\.$`),
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range machines(t) {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			files := generate(t, m.Machine, Options{})
			var names []string
			for _, f := range files {
				names = append(names, strings.TrimPrefix(f.Name, m.Name))
				if !headers[filepath.Ext(f.Name)].Match(f.Data) {
					t.Errorf("%s does not say that it is generated", f.Name)
				}
				if bytes.Contains(f.Data, []byte(here)) || bytes.Contains(f.Data, []byte(m.File)) {
					t.Errorf("%s names a path", f.Name)
				}
				if filepath.Ext(f.Name) == ".go" {
					clean, err := format.Source(f.Data)
					if err != nil {
						t.Errorf("%s: %v", f.Name, err)
					} else if diff := cmp.Diff(string(clean), string(f.Data)); diff != "" {
						t.Errorf("%s is not gofmt-clean (-gofmt +got):\n%s", f.Name, diff)
					}
				}
			}
			want := []string{"_fsm.go", "_store.go", "_held.go", "_fsm_test.go", ".sqlite.sql", ".postgres.sql", ".svg", ".mmd"}
			if slices.Contains(withoutHandles, m.Name) {
				want = slices.Delete(want, 2, 3)
			}
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if again := generate(t, m.Machine, Options{}); !reflect.DeepEqual(files, again) {
				t.Errorf("a second run gives other bytes (-first +second):\n%s", cmp.Diff(files, again))
			}
			if again := generate(t, parse(t, m.path), Options{}); !reflect.DeepEqual(files, again) {
				t.Errorf("a second parse gives other bytes (-first +second):\n%s", cmp.Diff(files, again))
			}
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	m := parse(t, "../specs/task.yaml")
	for _, c := range []struct {
		name string
		opt  Options
		want string
	}{
		{"level", Options{Enforce: "some"}, `unknown enforcement level "some"`},
		{"store", Options{TestStore: "etcd"}, `unknown test store "etcd"`},
		{"stores", Options{TestStore: "sqlite,oracle"}, `unknown test store "oracle"`},
		{"package", Options{Package: "not-one"}, `package name "not-one" is no Go identifier`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files, err := Generate(m, c.opt)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Generate returned %v, expected an error with %q", err, c.want)
			}
			if files != nil {
				t.Errorf("Generate returned %d files beside the error", len(files))
			}
		})
	}
	if _, err := Generate(nil, Options{}); err == nil {
		t.Error("Generate took no machine at all")
	}
	t.Run("renamed", func(t *testing.T) {
		t.Parallel()
		for _, f := range generate(t, m, Options{Package: "other", Enforce: "none"}) {
			if strings.HasSuffix(f.Name, "_fsm.go") && !bytes.Contains(f.Data, []byte("\npackage other\n")) {
				t.Errorf("%s is not of package other", f.Name)
			}
			if strings.HasSuffix(f.Name, "_store.go") && !bytes.Contains(f.Data, []byte("//go:embed task.sqlite.sql\n")) {
				t.Errorf("%s does not embed the file that is generated with it", f.Name)
			}
		}
	})
}

// TestRefused generates nothing from a machine that breaks a rule.
func TestRefused(t *testing.T) {
	t.Parallel()
	src := strings.Replace(string(parse(t, "../specs/task.yaml").Source), "from: running", "from: completed", 1)
	m, found := spec.Parse("task.yaml", []byte(src))
	if found.HasErrors() {
		t.Fatal(found)
	}
	files, err := Generate(m, Options{})
	var ds spec.Diagnostics
	if !errors.As(err, &ds) || !ds.HasErrors() {
		t.Fatalf("Generate returned %v, expected findings", err)
	}
	if files != nil {
		t.Errorf("Generate returned %d files beside the findings", len(files))
	}
}
