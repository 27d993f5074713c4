package archtest

import (
	"flag"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/packages"
)

var update = flag.Bool("update", false, "write the goldens again")

// runtimeTypes loads the type-checked packages of the run side, once for all tests.
var runtimeTypes = sync.OnceValues(func() ([]*packages.Package, error) {
	mode := packages.NeedName | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax |
		packages.NeedFiles | packages.NeedImports | packages.NeedExportFile
	return packages.Load(&packages.Config{Mode: mode, Dir: "../../.."}, "./runtime/...")
})

func loadRuntime(t *testing.T) []*packages.Package {
	t.Helper()
	list, err := runtimeTypes()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 10 {
		t.Fatalf("%d packages below runtime", len(list))
	}
	for _, p := range list {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
	}
	return list
}

// TestFsmNames holds the exported names of package fsm to a list and to a limit. Methods
// and fields stand with their types and do not count as names.
func TestFsmNames(t *testing.T) {
	t.Parallel()
	const most = 90
	var lines []string
	for _, p := range loadRuntime(t) {
		if p.PkgPath != module+"/runtime" {
			continue
		}
		for _, name := range p.Types.Scope().Names() {
			if obj := p.Types.Scope().Lookup(name); obj.Exported() {
				lines = append(lines, kindOf(obj)+" "+name+methodsOf(obj))
			}
		}
	}
	if slices.Sort(lines); len(lines) > most || len(lines) < most/2 {
		t.Errorf("package fsm exports %d names, at most %d are for people", len(lines), most)
	}
	const golden = "testdata/fsm.txt"
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("exported names of package fsm (-want +got; -update writes them):\n%s", d)
	}
}

func kindOf(obj types.Object) string {
	switch obj := obj.(type) {
	case *types.Const:
		return "const"
	case *types.Var:
		return "var"
	case *types.Func:
		return "func"
	case *types.TypeName:
		if obj.IsAlias() {
			return "alias"
		}
	}
	return "type"
}

// methodsOf lists the exported methods of a type, with those of its pointer.
func methodsOf(obj types.Object) string {
	name, isType := obj.(*types.TypeName)
	if !isType || name.IsAlias() || types.IsInterface(name.Type()) {
		return ""
	}
	var names []string
	for set := types.NewMethodSet(types.NewPointer(name.Type())); len(names) < set.Len(); {
		names = append(names, set.At(len(names)).Obj().Name())
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !ast.IsExported(n) })
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, " ")
}

// TestOptionalCapabilities finds each type assertion and type switch on a part of a store.
// A store has three optional capabilities, Bulk with its transaction, ParkingTx, and Neighbor; nothing
// else is found by assertion.
func TestOptionalCapabilities(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{"driver.Bulk": true, "driver.ManyTx": true, "driver.ParkingTx": true, "driver.Neighbor": true}
	found := map[string]bool{}
	for _, p := range loadRuntime(t) {
		if below(p.PkgPath, module+"/internal/lab/enginetest") {
			continue // a test, which looks inside of our own stores
		}
		for _, f := range p.Syntax {
			asserted(f, p.TypesInfo, func(of, to types.Type, at ast.Node) {
				if !partOfStore(of) || !types.IsInterface(to) {
					return // of a store's own types it may ask which one it has
				}
				name := types.TypeString(to, func(p *types.Package) string { return p.Name() })
				if found[name] = true; !allowed[name] {
					t.Errorf("%s: asks a %s whether it is a %s", p.Fset.Position(at.Pos()), of, name)
				}
			})
		}
	}
	if !maps.Equal(found, allowed) {
		t.Errorf("optional capabilities %v, want %v", found, allowed)
	}
}

// asserted calls f with the two types of each assertion in a file.
func asserted(file *ast.File, info *types.Info, f func(of, to types.Type, at ast.Node)) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeAssertExpr:
			if n.Type != nil {
				f(info.TypeOf(n.X), info.TypeOf(n.Type), n)
			}
		case *ast.TypeSwitchStmt:
			var x ast.Expr
			ast.Inspect(n.Assign, func(n ast.Node) bool {
				if a, ok := n.(*ast.TypeAssertExpr); ok {
					x = a.X
				}
				return x == nil
			})
			for _, c := range n.Body.List {
				for _, to := range c.(*ast.CaseClause).List {
					f(info.TypeOf(x), info.TypeOf(to), to)
				}
			}
		}
		return true
	})
}

// partOfStore reports whether a type is an interface of package driver, which a store
// implements.
func partOfStore(t types.Type) bool {
	if named, ok := types.Unalias(t).(*types.Named); ok && named.Obj().Pkg() != nil {
		if named.Obj().Pkg().Path() == module+"/runtime/driver" && types.IsInterface(t) {
			return true
		}
	}
	return false
}
