package archtest

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// plumbing are methods that the standard library calls, and nobody by hand.
var plumbing = []string{"MarshalJSON", "UnmarshalJSON", "Scan", "Value", "Error", "Unwrap"}

// TestAliasesShowMethods holds the comment of each alias of package fsm to the methods of its
// type: go doc shows none of them.
func TestAliasesShowMethods(t *testing.T) {
	t.Parallel()
	n := 0
	for _, p := range loadRuntime(t) {
		if p.PkgPath != module+"/runtime" {
			continue
		}
		for spec, doc := range typeSpecs(p.Syntax) {
			alias, ok := p.Types.Scope().Lookup(spec.Name.Name).(*types.TypeName)
			if !ok || !alias.IsAlias() || !alias.Exported() {
				continue
			}
			named, ok := types.Unalias(alias.Type()).(*types.Named)
			if !ok || types.IsInterface(named) {
				continue
			}
			for m := range named.Methods() {
				if n++; m.Exported() && !slices.Contains(plumbing, m.Name()) && !strings.Contains(doc, ") "+m.Name()+"(") {
					t.Errorf("the comment of fsm.%s does not show its method %s", alias.Name(), m.Name())
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("looked at %d methods", n)
	}
}

// typeSpecs returns the types that files declare, with their comments.
func typeSpecs(files []*ast.File) map[*ast.TypeSpec]string {
	list := map[*ast.TypeSpec]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					list[s] = g.Doc.Text() + s.Doc.Text()
				}
			}
		}
	}
	return list
}

var (
	qualified = regexp.MustCompile(`(?:^|[^\w/.-])([a-z][a-z0-9]*)\.([A-Z]\w*)`)
	member    = regexp.MustCompile(`(?:^|[^\w.])([A-Z]\w*)\.([A-Z]\w*)`)
	camel     = regexp.MustCompile(`^[a-zA-Z]*[a-z][A-Z]\w*`)
	lower     = regexp.MustCompile(`^[a-z]\w*`)
)

// TestCommentsNameWhatIsThere holds three kinds of names in comments to the code: `pkg.Name` of a
// package of ours, what stands behind the name of a type of ours and a dot, and the name that the
// comment of a declaration begins with. A sentence begins with a capital letter: what does not is the name.
func TestCommentsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	fset, files, names, members := token.NewFileSet(), []*ast.File{}, map[string]map[string]bool{}, members{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || path != root && strings.HasPrefix(d.Name(), ".")) {
			return cmp.Or(err, filepath.SkipDir)
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if names[f.Name.Name] == nil {
			names[f.Name.Name] = map[string]bool{}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				names[f.Name.Name][id.Name] = true
			}
			return true
		})
		files = append(files, f)
		members.add(f)
		return nil
	})
	if err != nil || len(files) < 500 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, f := range files {
		for _, group := range f.Comments {
			for _, m := range qualified.FindAllStringSubmatch(group.Text(), -1) {
				if there := names[m[1]]; there != nil && !there[m[2]] && !local[m[1]] {
					t.Errorf("%s: there is no %s.%s", fset.Position(group.Pos()), m[1], m[2])
				}
			}
			for _, m := range member.FindAllStringSubmatch(group.Text(), -1) {
				if there := members[m[1]]; there != nil && !there[m[2]] {
					t.Errorf("%s: no type %s has a %s", fset.Position(group.Pos()), m[1], m[2])
				}
			}
		}
		for name, doc := range documented(f) {
			if first := lower.FindString(doc.Text()); first != "" && first != name.Name {
				t.Errorf("%s: the comment of %s begins with %s", fset.Position(name.Pos()), name.Name, first)
			}
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				if first := camel.FindString(d.Doc.Text()); first != "" && first != d.Name.Name && (!ast.IsExported(first) || strings.EqualFold(first, d.Name.Name)) {
					t.Errorf("%s: the comment of %s begins with %s", fset.Position(d.Pos()), d.Name.Name, first)
				}
			}
		}
	}
}

// members are the fields and methods of types, by the name of the type in whatever package.
type members map[string]map[string]bool

// add adds those that a file declares.
func (m members) add(f *ast.File) {
	put := func(of, name string) {
		if m[of] == nil {
			m[of] = map[string]bool{}
		}
		m[of][name] = true
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil {
			ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
				if of, ok := n.(*ast.Ident); ok {
					put(of.Name, d.Name.Name)
				}
				return true
			})
		}
	}
	for s := range typeSpecs([]*ast.File{f}) {
		ast.Inspect(s.Type, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok {
				for _, name := range f.Names {
					put(s.Name.Name, name.Name)
				}
			}
			return true
		})
	}
}

// documented returns the comments of declarations that declare one name.
func documented(f *ast.File) map[*ast.Ident]*ast.CommentGroup {
	docs := map[*ast.Ident]*ast.CommentGroup{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			docs[d.Name] = d.Doc
		case *ast.GenDecl:
			if len(d.Specs) != 1 {
				continue
			}
			switch s := d.Specs[0].(type) {
			case *ast.TypeSpec:
				docs[s.Name] = cmp.Or(s.Doc, d.Doc)
			case *ast.ValueSpec:
				if len(s.Names) == 1 {
					docs[s.Names[0]] = cmp.Or(s.Doc, d.Doc)
				}
			}
		}
	}
	return docs
}

// local are packages of ours whose names are variables in examples, too.
var local = map[string]bool{"jobs": true}
