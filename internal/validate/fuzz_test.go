package validate_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// slowestCheck is the longest that a check may take. A machine of the size that
// people write takes a few milliseconds; the rest is for the fuzzer's company.
const slowestCheck = 10 * time.Second

// mark is the announcement of a finding in the goldens of package spec.
var mark = regexp.MustCompile(`«FSM[0-9]{3}»`)

// FuzzCheck holds the whole check to its contract on any text: no panic, an end
// within bounded time, findings that stand in the file. What passes is
// generated and type-checked.
func FuzzCheck(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add([]byte(text))
	}
	imports := generatedImports(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		start := time.Now()
		m, found := validate.Source("a.yaml", src)
		if took := time.Since(start); took > slowestCheck {
			t.Errorf("the check took %v, want at most %v", took, slowestCheck)
		}
		lines := strings.Count(string(src), "\n") + 1
		for _, d := range found {
			if d.Pos.Line < 1 || d.Pos.Line > lines || d.Pos.Col < 1 || d.Message == "" {
				t.Errorf("finding without a place in the file: %+v", d)
			}
			if !strings.HasSuffix(spec.Render(d, spec.Lines(src)), "\n") {
				t.Errorf("finding is not rendered: %+v", d)
			}
		}
		if m == nil || found.HasErrors() || len(m.Uses) > 0 { // another file would be needed
			return
		}
		files, err := gen.Generate(m, gen.Options{})
		if _, ok := err.(spec.Diagnostics); ok {
			return // the generator has findings of its own
		}
		if err != nil {
			t.Fatalf("generate: %v", err)
		}
		if err := typeCheck(m.Name, files, imports); err != nil {
			t.Errorf("the generated code does not compile: %v", err)
		}
	})
}

// typeCheck type-checks a generated package with its tests.
func typeCheck(name string, files []gen.File, imports types.Importer) error {
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, f := range files {
		if strings.HasSuffix(f.Name, ".go") {
			file, err := parser.ParseFile(fset, f.Name, f.Data, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			parsed = append(parsed, file)
		}
	}
	_, err := (&types.Config{Importer: imports}).Check(name, fset, parsed, nil)
	return err
}

// seeds are the specifications of the repository, sound and not.
func seeds(f *testing.F) []string {
	f.Helper()
	var texts []string
	for _, pattern := range []string{"../../specs/*.yaml", "testdata/*/*.yaml", "../../gen/testdata/scenarios/*.yaml", "../../spec/testdata/*/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: no files (%v)", pattern, err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			if filepath.Ext(file) == ".yaml" {
				texts = append(texts, string(src))
				continue
			}
			for _, a := range txtar.Parse(src).Files {
				if filepath.Ext(a.Name) == ".yaml" {
					texts = append(texts, mark.ReplaceAllString(string(a.Data), ""))
				}
			}
		}
	}
	return texts
}
