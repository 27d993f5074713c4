package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Package fsm is for people, who read all of its names.
func TestFsmIsSmall(t *testing.T) {
	t.Parallel()
	const most = 80
	files, err := filepath.Glob("../../../runtime/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	add := func(list ...*ast.Ident) {
		for _, name := range list {
			if name.IsExported() {
				names = append(names, name.Name)
			}
		}
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(s.Name)
					case *ast.ValueSpec:
						add(s.Names...)
					}
				}
			}
		}
	}
	if slices.Sort(names); len(names) > most || len(names) < most/2 {
		t.Errorf("package fsm exports %d names, at most %d are for people:\n%s", len(names), most, strings.Join(names, " "))
	}
}
