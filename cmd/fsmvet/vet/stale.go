package vet

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/tools/go/analysis"

	"github.com/fsmgen/fsmgen/spec"
)

// Stale finds a generated package whose specification has changed.
var Stale = &analysis.Analyzer{
	Name: "fsmstale",
	Doc: `report a generated package that is older than its specification

A package names the specification that it was made of by a hash over its meaning. When
the YAML file has another one, the program does not do what the file says:

	//go:generate go tool fsmgen gen job.yaml

Run go generate. Comments and docs are no part of the hash. The file is the one that the
generated test names, or that lies beside the package. A package without a store has no
hash; "fsmgen gen --check" compares all files of any package.`,
	URL:      page("fsmstale"),
	Requires: needs,
	Run:      runStale,
}

func runStale(pass *analysis.Pass) (any, error) {
	m := pass.ResultOf[machines].(*world).machines[pass.Pkg.Path()]
	if m == nil || m.Hash == "" {
		return nil, nil
	}
	for _, f := range pass.Files {
		file := pass.Fset.Position(f.Package).Filename
		if filepath.Base(file) != m.Name+"_fsm.go" {
			continue
		}
		from, found := specification(filepath.Dir(file), m.Name)
		if !found {
			return nil, nil
		}
		shown := filepath.ToSlash(from.name)
		switch {
		case from.machine == nil:
			report(pass, f.Name, "%s has an error, so the package is not what it says: %s", shown, from.problem)
		case from.machine.Hash != m.Hash:
			report(pass, f.Name, "the package is older than %s, which says something else; run go generate, or fsmgen gen", shown)
		}
	}
	return nil, nil
}

func report(pass *analysis.Pass, at *ast.Ident, format string, args ...any) {
	pass.ReportRangef(at, format, args...)
}

// source is the file that a package was made of.
type source struct {
	name    string // as it lies to the package
	machine *spec.Machine
	problem string // why there is no machine
}

// specification finds the file that a package in a folder was made of. It is told by the
// generated test; a package without its test lies beside the file, or below it.
func specification(dir, machine string) (source, bool) {
	names := []string{"../" + machine + ".yaml", machine + ".yaml", "../" + machine + ".yml", machine + ".yml"}
	if told := toldByTest(filepath.Join(dir, machine+"_fsm_test.go")); told != "" {
		names = []string{told}
	}
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		m, found := spec.Parse(name, data)
		switch {
		case m == nil:
			return source{name: name, problem: firstError(found)}, true
		case m.Name == machine:
			return source{name: name, machine: m}, true
		}
	}
	return source{}, false
}

// firstError returns what keeps a file from being a machine.
func firstError(found spec.Diagnostics) string {
	for _, d := range found {
		if d.Severity == spec.Error {
			return d.String()
		}
	}
	return ""
}

// toldByTest returns the field Spec of the generated test, or nothing.
func toldByTest(path string) (name string) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || !generated(f) {
		return ""
	}
	ast.Inspect(f, func(n ast.Node) bool {
		kv, ok := n.(*ast.KeyValueExpr)
		if !ok || nameOf(kv.Key) != "Spec" {
			return true
		}
		if lit, ok := kv.Value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			name, _ = strconv.Unquote(lit.Value)
		}
		return true
	})
	return name
}
