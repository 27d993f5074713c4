package fuzzmachines_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/enginetest"
	"github.com/fsmgen/fsmgen/internal/lab/fuzzmachines"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// TestTablesAreMet reads the tables of random machines without compiling them: the
// cases that a generated test makes up and those of its table meet every way to decide
// a call and every rule, or the table says why not. It takes a hundredth of the time
// that the generated tests take, so it looks at many more machines.
func TestTablesAreMet(t *testing.T) {
	t.Parallel()
	wanted, unknown, lines := 12, 0, 0
	if campaign.On() {
		wanted = *number
	}
	type drawn struct {
		seed uint64
		text string
		data []byte
	}
	next := make(chan drawn)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for d := range next {
				said, err := met(d.data)
				mu.Lock()
				unknown += strings.Count(string(d.data), "Unknown: ")
				lines += strings.Count(string(d.data), "{Way: ")
				if err != nil || len(said) > 0 {
					t.Errorf("seed %d: %v %s", d.seed, err, strings.Join(said, "\n\t"))
				}
				mu.Unlock()
			}
		})
	}
	found := 0
	for s := *seed; found < wanted; s++ {
		text := fuzzmachines.Random(rand.New(rand.NewPCG(s, 3)))
		m, wrong := validate.Source("random.yaml", []byte(text))
		if m == nil || wrong.HasErrors() {
			continue
		}
		files, err := gen.Generate(m, gen.Options{EngineTests: true})
		var more spec.Diagnostics
		if errors.As(err, &more) {
			continue // TestRandomMachines tells
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name, "_engine_test.go") {
				found++
				next <- drawn{s, text, f.Data}
			}
		}
	}
	close(next)
	wg.Wait()
	t.Logf("%d tables from seed %d on, with %d witnesses, %d of them unknown", found, *seed, lines, unknown)
}

// met reads the table of a generated test, and tells what its cases miss.
func met(source []byte) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "table_test.go", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	vars := map[string]ast.Expr{}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && len(v.Values) == 1 {
					vars[v.Names[0].Name] = v.Values[0]
				}
			}
		}
	}
	var table enginetest.Table
	if err := literal(vars["engineTable"], vars, reflect.ValueOf(&table).Elem()); err != nil {
		return nil, err
	}
	return enginetest.Missed(table)
}

// literal writes what a literal of Go stands for into a value.
func literal(e ast.Expr, vars map[string]ast.Expr, to reflect.Value) error {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		if to.Kind() == reflect.Pointer {
			to.Set(reflect.New(to.Type().Elem()))
			return literal(e.X, vars, to.Elem())
		}
	case *ast.Ident:
		if v := vars[e.Name]; v != nil {
			return literal(v, vars, to)
		}
		if to.Kind() == reflect.Bool {
			to.SetBool(e.Name == "true")
			return nil
		}
	case *ast.BasicLit:
		switch to.Kind() {
		case reflect.String:
			text, err := strconv.Unquote(e.Value)
			to.SetString(text)
			return err
		case reflect.Int, reflect.Int64:
			n, err := strconv.ParseInt(e.Value, 10, 64)
			to.SetInt(n)
			return err
		}
	case *ast.BinaryExpr: // of texts
		var left, right string
		err := literal(e.X, vars, reflect.ValueOf(&left).Elem())
		err = errors.Join(err, literal(e.Y, vars, reflect.ValueOf(&right).Elem()))
		to.SetString(left + right)
		return err
	case *ast.CompositeLit:
		if to.Kind() == reflect.Slice {
			to.Set(reflect.MakeSlice(to.Type(), len(e.Elts), len(e.Elts)))
		}
		for i, x := range e.Elts {
			var at reflect.Value
			if pair, ok := x.(*ast.KeyValueExpr); ok {
				at, x = to.FieldByName(pair.Key.(*ast.Ident).Name), pair.Value
			} else {
				at = to.Index(i)
			}
			if err := literal(x, vars, at); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%T is read into no %s", e, to.Type())
}
