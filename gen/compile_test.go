package gen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/spec"
)

// loaded holds the type information of what generated packages may import.
type loaded map[string]*types.Package

func (l loaded) Import(path string) (*types.Package, error) {
	if p := l[path]; p != nil {
		return p, nil
	}
	return nil, &types.Error{Msg: "a generated package may not import " + path}
}

// imports loads the runtime and the part of the standard library that
// generated packages use, once.
func imports(t *testing.T) loaded {
	t.Helper()
	all, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedExportFile},
		runtimePath, runtimePath+"/audit", runtimePath+"/driver", runtimePath+"/fsmimpl", runtimePath+"/worker",
		"github.com/fsmgen/fsmgen/internal/lab/enginetest", runtimePath+"/fsmcases", runtimePath+"/memstore",
		"context", "database/sql", "database/sql/driver", "embed", "encoding/json", "errors", "fmt", "iter", "math", "slices", "strconv", "testing", "time")
	if err != nil {
		t.Fatal(err)
	}
	l := loaded{}
	for _, p := range all {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
		l[p.PkgPath] = p.Types
	}
	return l
}

// TestTypes type-checks every generated package, its test included, in the
// process of the test.
func TestTypes(t *testing.T) {
	t.Parallel()
	l := imports(t)
	wide, found := spec.Parse("wide.yaml", []byte(ring(256))) // more than a byte holds
	if found.HasErrors() {
		t.Fatal(found)
	}
	wide.Name = "wide"
	list := append(machines(t), machine{Machine: wide})
	for _, what := range []string{"effects", "lookups"} {
		list = append(list, machine{Machine: knownMachine(t, "known_"+what, what)})
	}
	for _, m := range list {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			fset := token.NewFileSet()
			var files []*ast.File
			for _, f := range generate(t, m.Machine, Options{EngineTests: true}) {
				if !strings.HasSuffix(f.Name, ".go") {
					continue
				}
				parsed, err := parser.ParseFile(fset, f.Name, f.Data, parser.ParseComments)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, parsed)
			}
			config := types.Config{Importer: l, Error: func(err error) { t.Error(err) }}
			info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
			pkg, err := config.Check(m.Name, fset, files, info)
			if err != nil {
				t.Fatal("the package does not compile")
			}
			for _, wrong := range strange(fset, files, pkg, info) {
				t.Error(wrong)
			}
		})
	}
}

// TestPackagesRun writes the packages of all scenarios into a module of their own,
// which knows fsmgen by a replace directive, and lets Go vet them and run their
// generated tests and the tests in testdata/run; outside of a campaign, only those
// packages that have some there. The six shipped machines are
// packages of the repository, which are vetted and tested as such; internal/lab/difftest
// holds them to be what is generated.
func TestPackagesRun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles a dozen packages")
	}
	module := outside.New(t, "github.com/fsmgen/fsmgen/outside/generated")
	for _, m := range machines(t) {
		if _, err := os.Stat(filepath.Join("testdata", "run", m.Name)); !m.golden || err != nil && !campaign.On() {
			continue
		}
		stores := ""
		if m.Name == "durations" { // databases add lengths to times
			stores = "sqlite,postgres"
		}
		for _, f := range generate(t, m.Machine, Options{Spec: "machine.yaml", EngineTests: true, TestStore: stores}) {
			module.Write(filepath.Join(m.Name, f.Name), f.Data)
		}
		module.Write(filepath.Join(m.Name, "machine.yaml"), m.Source)
	}
	extra, err := filepath.Glob("testdata/run/*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range extra {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		module.Write(filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)), data)
	}
	module.Env = append(module.Env, "FSMGEN_POSTGRES_URL="+pgtest.DSN(t))
	if out, err := module.Test("-vet=all", "./..."); err != nil {
		t.Errorf("go test: %v\n%s", err, out)
	}
}
