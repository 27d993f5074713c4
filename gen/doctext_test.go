package gen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
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

const errand = `fsm: 1
machine: errand
entity: Errand
otherwise: reject
fields: {far: bool}
states: {asked: {}, going: {}, riding: {}, done: {terminal: true}}
operations:
  ask: {creates: asked, set: {far: input}, effect: {name: note}}
  start:
    from: asked
    choose:
      - {when: far == true, to: riding, effect: {name: move, then: ridden}}
      - {to: going}
  walk: {from: going, to: same, effect: {name: move, key: id, then: walked}}
  ridden: {by: system, from: riding, to: done}
  walked: {by: system, from: going, to: done}
`

// A method of Effects says which steps ask for the effect, in which branches, and what follows.
func TestEffectsSayWhoAsks(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("errand.yaml", []byte(errand))
	if m == nil {
		t.Fatal(found)
	}
	var text string
	for _, f := range generate(t, m, Options{}) {
		if f.Name == "errand_store.go" {
			text = strings.Join(strings.Fields(strings.ReplaceAll(string(f.Data), "// ", "")), " ")
		}
	}
	for _, want := range []string{
		"Note is the effect of Ask; key is made of machine, id, revision and name. It runs after the commit, at least once: " +
			"again after an error and after a crash, so it must recognise a key that it has seen. Note(ctx context.Context, e Errand, key string, event fsm.Event) error",
		"Move is the effect of Start where it leads to riding and of Walk; key is made of machine, id, revision and name; or of id.",
		"When it has returned without an error for Start where it leads to riding, Ridden follows. When it has returned without an error for Walk, Walked follows. Move(",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the package does not say %q", want)
		}
	}
}
