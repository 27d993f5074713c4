package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// TestCookbook generates the machines of docs/cookbook.md and runs their generated tests, the handlers of
// testdata/cookbook and their tests, all in one binary.
//
//	yaml NAME  a specification without findings; NAME is its package
//	go         stands word for word in testdata/cookbook
func TestCookbook(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	t.Parallel()
	module := outside.New(t, "example.com/cookbook")
	files, err := filepath.Glob("testdata/cookbook/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of handlers: %v", len(files), err)
	}
	var handlers strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		handlers.Write(data)
		module.Write(filepath.Base(file), data)
	}
	source := undented(handlers.String())
	var imports, calls strings.Builder
	p := &page{t: t, dir: t.TempDir()}
	p.blocks("cookbook.md", func(kind, arg, body string) *string {
		switch kind {
		case "yaml":
			p.write(arg+".yaml", body)
			entity := p.recipe(module, arg, body)
			fmt.Fprintf(&imports, "\t\"example.com/cookbook/%s\"\n", arg)
			fmt.Fprintf(&calls, "\tt.Run(%q, %s.Test%s)\n", arg, arg, entity)
		case "go":
			if !strings.Contains(source, undented(body)) {
				t.Errorf("testdata/cookbook, which a test compiles and runs, does not hold this block:\n%s", body)
			}
		default:
			return p.check(kind, arg, body)
		}
		return nil
	}, strings.Clone)
	module.Write("generated_test.go", fmt.Appendf(nil,
		"package cookbook\n\nimport (\n\t\"testing\"\n\n%s)\n\nfunc TestGenerated(t *testing.T) {\n%s}\n", &imports, &calls))
	if out, err := module.Test("-vet=off", "."); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Run("postgres", func(t *testing.T) {
		module.Env = append(module.Env, "COOKBOOK_POSTGRES="+pgtest.DSN(t))
		if out, err := module.Test("-vet=off", "-v", "-run=Postgres", "."); err != nil || !strings.Contains(out, "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// recipe writes the package of a machine and returns its entity. The generated test is no _test file, so that one
// binary holds all of them.
func (p *page) recipe(module outside.Module, name, text string) string {
	m, found := validate.Source(name+".yaml", []byte(text))
	if m != nil {
		found = append(found, spec.Link(m, func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(p.dir, file)) })...)
	}
	if len(found) > 0 {
		p.t.Fatalf("a machine has findings: %v\n%s", found, text)
	}
	files, err := gen.Generate(m, gen.Options{Package: name})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range files {
		module.Write(name+"/"+generatedTest.ReplaceAllString(f.Name, "_cases.go"), f.Data)
	}
	return m.Entity
}

var generatedTest = regexp.MustCompile(`_test\.go$`)
