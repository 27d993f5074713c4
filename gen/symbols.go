package gen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// Symbols returns what Go programs can name of a machine's package, with what
// the compiler knows of each: "Job.Start" is "func(string, time.Time) (Event,
// error)". Methods that an interface asks of programs begin with "asks".
func Symbols(m *spec.Machine) (map[string]string, error) {
	files, err := produce(m, Options{}, codeEmitters)
	if err != nil {
		return nil, err
	}
	s := symbols{own: map[string]map[string]string{}, embeds: map[string][]string{}, seals: map[string]string{}}
	fset := token.NewFileSet()
	for _, f := range files {
		file, err := parser.ParseFile(fset, f.Name, f.Data, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, withoutNames)
		for _, d := range file.Decls {
			s.declaration(d)
		}
	}
	all := map[string]string{"package": m.Name}
	for name, members := range s.own {
		if !ast.IsExported(name) {
			continue
		}
		all[name] = members[""]
		for member, text := range s.members(name) {
			if ast.IsExported(member) {
				all[name+"."+member] = text
			} else if s.seals[member] != "" {
				all[name+"."+s.seals[member]] = "implements it"
			}
		}
	}
	return all, nil
}

// symbols are the declarations of a package: the text of each under "", and
// its fields and methods under their names.
type symbols struct {
	own    map[string]map[string]string
	embeds map[string][]string
	seals  map[string]string // interfaces by their method that is not exported
}

func (s *symbols) put(name, member, text string) {
	if s.own[name] == nil {
		s.own[name] = map[string]string{}
	}
	s.own[name][member] = text
}

// members are the fields and methods of a type, those of what it embeds with them.
func (s *symbols) members(name string) map[string]string {
	all := map[string]string{}
	for _, e := range s.embeds[name] {
		maps.Copy(all, s.members(e))
	}
	maps.Copy(all, s.own[name])
	delete(all, "")
	return all
}

func (s *symbols) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		text := types.ExprString(d.Type)
		if d.Recv == nil {
			s.put(d.Name.Name, "", text+generic(d.Type.TypeParams))
			return
		}
		of := d.Recv.List[0].Type
		if p, ok := of.(*ast.StarExpr); ok {
			of, text = p.X, "*"+text
		}
		if generic, ok := of.(*ast.IndexExpr); ok {
			of = generic.X
		}
		s.put(types.ExprString(of), d.Name.Name, text)
	case *ast.GenDecl:
		kind := ""
		for _, sp := range d.Specs {
			switch sp := sp.(type) {
			case *ast.TypeSpec:
				s.typeOf(sp)
			case *ast.ValueSpec:
				kind = valueKind(d.Tok, sp, kind)
				for _, n := range sp.Names {
					s.put(n.Name, "", kind)
				}
			}
		}
	}
}

// valueKind is the type of a constant or a variable. One without a value has
// the type of the one before.
func valueKind(tok token.Token, sp *ast.ValueSpec, before string) string {
	switch {
	case sp.Type != nil:
		return tok.String() + " " + types.ExprString(sp.Type)
	case len(sp.Values) == 0:
		return before
	}
	switch v := sp.Values[0].(type) {
	case *ast.CallExpr:
		return tok.String() + " " + types.ExprString(v.Fun)
	case *ast.BasicLit:
		return tok.String() + " " + v.Kind.String()
	}
	return tok.String()
}

func (s *symbols) typeOf(t *ast.TypeSpec) {
	name := t.Name.Name
	switch x := t.Type.(type) {
	case *ast.StructType:
		kind := "struct"
		for _, f := range x.Fields.List {
			text := types.ExprString(f.Type)
			if strings.Contains(text, "fsm.Set") {
				kind = "struct that == does not compare"
			}
			if len(f.Names) == 0 {
				s.embed(name, text)
			}
			for _, n := range f.Names {
				s.put(name, n.Name, text)
			}
		}
		s.put(name, "", kind+generic(t.TypeParams))
	case *ast.InterfaceType:
		asks := "asks " // of programs, unless a method has a name that is not exported
		for _, f := range x.Methods.List {
			if len(f.Names) > 0 && !f.Names[0].IsExported() {
				asks, s.seals[f.Names[0].Name] = "", name
			}
		}
		s.put(name, "", asks+"interface"+generic(t.TypeParams))
		for _, f := range x.Methods.List {
			if len(f.Names) == 0 {
				s.embed(name, types.ExprString(f.Type))
			}
			for _, n := range f.Names {
				s.put(name, n.Name, asks+types.ExprString(f.Type))
			}
		}
	default:
		text := types.ExprString(t.Type)
		if t.Assign.IsValid() {
			text = "= " + text
		}
		s.put(name, "", fmt.Sprintf("type %s", text))
	}
}

// generic says how many type parameters a declaration has.
func generic(list *ast.FieldList) string {
	if list.NumFields() == 0 {
		return ""
	}
	return fmt.Sprintf(" with type parameters: %d", list.NumFields())
}

// embed notes that a type embeds another one of the package, or of another.
func (s *symbols) embed(name, text string) {
	s.embeds[name] = append(s.embeds[name], strings.TrimPrefix(text, "*"))
	if _, last, foreign := strings.Cut(text, "."); foreign {
		s.put(name, last, "embeds "+text)
	}
}

// withoutNames removes the names of parameters, which no caller sees.
func withoutNames(n ast.Node) bool {
	f, ok := n.(*ast.FuncType)
	if !ok {
		return true
	}
	for _, list := range []*ast.FieldList{f.Params, f.Results} {
		if list == nil {
			continue
		}
		var bare []*ast.Field
		for _, p := range list.List {
			for range max(len(p.Names), 1) {
				bare = append(bare, &ast.Field{Type: p.Type})
			}
		}
		list.List = bare
	}
	return true
}
