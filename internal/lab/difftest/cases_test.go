package difftest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/spec"
)

// casesOf is what a generated test asks of its package.
type casesOf struct {
	Cases  []fsmcases.Case
	Checks []fsmcases.Check
}

// generatedCases reads the cases of a generated test, without compiling it.
func generatedCases(t *testing.T, m *spec.Machine) casesOf {
	t.Helper()
	files, err := gen.Generate(m, gen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var list casesOf
	for _, f := range files {
		if !strings.HasSuffix(f.Name, "_fsm_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Data, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			to := map[string]any{"testCases": &list.Cases, "testChecks": &list.Checks}
			if ok && to[v.Names[0].Name] != nil {
				if err := literal(v.Values[0], reflect.ValueOf(to[v.Names[0].Name]).Elem()); err != nil {
					t.Fatal(err)
				}
			}
			return !ok
		})
	}
	if len(list.Cases) == 0 || len(list.Checks) == 0 {
		t.Fatalf("%s: %d cases, %d checks", m.Name, len(list.Cases), len(list.Checks))
	}
	return list
}

// literal writes what a literal of Go stands for into a value.
func literal(e ast.Expr, to reflect.Value) error {
	switch e := e.(type) {
	case *ast.Ident:
		to.SetBool(e.Name == "true")
		return nil
	case *ast.SelectorExpr:
		to.SetString(map[string]string{"BySweep": fsmcases.BySweep, "ByStartup": fsmcases.ByStartup}[e.Sel.Name])
		return nil
	case *ast.BasicLit:
		if to.Kind() == reflect.String {
			text, err := strconv.Unquote(e.Value)
			to.SetString(text)
			return err
		}
		n, err := strconv.ParseInt(e.Value, 10, 64)
		to.SetInt(n)
		return err
	case *ast.CompositeLit:
		switch to.Kind() {
		case reflect.Slice:
			to.Set(reflect.MakeSlice(to.Type(), len(e.Elts), len(e.Elts)))
		case reflect.Map:
			to.Set(reflect.MakeMap(to.Type()))
		}
		for i, x := range e.Elts {
			pair, named := x.(*ast.KeyValueExpr)
			switch {
			case !named:
				if err := literal(x, to.Index(i)); err != nil {
					return err
				}
			case to.Kind() == reflect.Map:
				key, v := reflect.New(to.Type().Key()).Elem(), reflect.New(to.Type().Elem()).Elem()
				if err := literal(pair.Key, key); err != nil {
					return err
				}
				if err := literal(pair.Value, v); err != nil {
					return err
				}
				to.SetMapIndex(key, v)
			default:
				if err := literal(pair.Value, to.FieldByName(pair.Key.(*ast.Ident).Name)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return fmt.Errorf("%T is read into no %s", e, to.Type())
}
