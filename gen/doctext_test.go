package gen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// What people call and what they give to it is documented: each exported function, method
// and type, and each input.
func TestDocumented(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../specs/lifecycle.yaml", "../specs/execution.yaml", "../examples/machines/stream.yaml", "../examples/machines/taskinstance.yaml"} {
		for _, f := range generate(t, parse(t, file), Options{}) {
			if !strings.HasSuffix(f.Name, ".go") || strings.HasSuffix(f.Name, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Data, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range undocumented(parsed) {
				t.Errorf("%s: %s has no documentation", f.Name, name)
			}
		}
	}
}

func undocumented(f *ast.File) (list []string) {
	note := func(id *ast.Ident, docs ...*ast.CommentGroup) {
		for _, d := range docs {
			if d != nil {
				return
			}
		}
		if id.IsExported() {
			list = append(list, id.Name)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			note(d.Name, d.Doc)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				typ, ok := s.(*ast.TypeSpec)
				if !ok {
					continue
				}
				note(typ.Name, d.Doc)
				if in, ok := typ.Type.(*ast.StructType); ok && strings.HasSuffix(typ.Name.Name, "Input") {
					for _, x := range in.Fields.List {
						note(x.Names[0], x.Doc, x.Comment)
					}
				}
			}
		}
	}
	return list
}
