package gen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"testing"
)

// The test in a user's repository can be read: lines for memory alone.
func TestTestSizes(t *testing.T) {
	t.Parallel()
	for file, most := range map[string]int{
		"../specs/lifecycle.yaml": 250, "../specs/task.yaml": 150, "../examples/machines/paymentintent.yaml": 550, "../examples/machines/taskinstance.yaml": 850,
	} {
		for _, f := range generate(t, parse(t, file), Options{}) {
			if lines := strings.Count(string(f.Data), "\n"); strings.HasSuffix(f.Name, "_test.go") && lines > most {
				t.Errorf("%s has %d lines, at most %d are wanted", f.Name, lines, most)
			}
		}
	}
}

// What is generated stays as small as a careful engineer would write it: lines of Go
// without comments and blanks, and exported identifiers without the constants of
// states, operations and events. What a handle of any state has counts once, in the
// interface of all handles.
func TestSizes(t *testing.T) {
	t.Parallel()
	for file, most := range map[string]struct{ lines, names int }{
		"../specs/lifecycle.yaml":                 {990, 85},
		"../examples/machines/taskinstance.yaml":  {1960, 200},
		"../examples/machines/paymentintent.yaml": {1540, 200},
	} {
		var lines, names int
		for _, f := range generate(t, parse(t, file), Options{}) {
			if strings.HasSuffix(f.Name, ".go") && !strings.HasSuffix(f.Name, "_test.go") {
				lines += codeLines(f.Data)
				names += exportedNames(t, f.Data)
			}
		}
		t.Logf("%s: %d lines, %d exported names", file, lines, names)
		if lines > most.lines || names > most.names {
			t.Errorf("%s: %d lines and %d exported names, at most %d and %d are wanted", file, lines, names, most.lines, most.names)
		}
	}
}

var noCode = regexp.MustCompile(`^\s*(//.*)?$`)

func codeLines(src []byte) (n int) {
	for line := range strings.Lines(string(src)) {
		if !noCode.MatchString(strings.TrimRight(line, "\n")) {
			n++
		}
	}
	return n
}

func exportedNames(t *testing.T, src []byte) (n int) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	count := func(id *ast.Ident) {
		if id.IsExported() {
			n++
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || types.ExprString(d.Recv.List[0].Type) != "handle" {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					if d.Tok == token.VAR {
						for _, id := range s.Names {
							count(id)
						}
					}
				}
			}
		}
	}
	return n
}
