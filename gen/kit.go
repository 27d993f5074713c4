package gen

import (
	"embed"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fsmgen/fsmgen/spec"
)

// A package of the pure layer alone does not import the runtime. What its code names of it
// stands in the package itself: copies of declarations of package purekit.

//go:embed purekit
var kitFiles embed.FS

// kitNames are the names in purekit of what generated code and tests name of ours. Those of
// package fsm are the same there.
var kitNames = map[string]string{
	"fsmimpl.Name": "nameOf", "fsmimpl.Text": "textOf", "fsmimpl.Parse": "parseWord", "fsmimpl.All": "allOf",
	"fsmimpl.StateOf": "stateOf", "fsmimpl.InState": "stateIn", "fsmimpl.NewError": "newError", "fsmimpl.Values": "valuesOf",
	"fsmimpl.CheckText": "checkText", "fsmimpl.CheckOptionalText": "checkOptionalText",
	"fsmimpl.CheckLength": "checkLength",
	"fsmimpl.CheckTime":   "checkTime", "fsmimpl.CheckOptionalTime": "checkOptionalTime",
	"fsmimpl.CheckJSON": "checkJSON", "fsmimpl.CheckOptionalJSON": "checkOptionalJSON",
	"fsmimpl.CutTime": "cutOptionalTime", "fsmimpl.InYears": "inYears",
	"fsmimpl.CutLength": "cutLength", "fsmimpl.CutDuration": "cutDuration", "fsmimpl.MaxDuration": "maxDuration", "fsmimpl.Backoff": "backoff",
	"fsmimpl.Micros": "microsOf", "fsmimpl.Length": "spanOf", "fsmimpl.OfMicros": "ofMicros",
	"driver.Time": "cutTime", "driver.CheckID": "checkActor", "driver.CheckText": "checkCharacters", "driver.CheckSet": "checkSet",
	"fsmcases.Package": "testedPackage", "fsmcases.Case": "testCase", "fsmcases.Check": "testCheck", "fsmcases.Call": "testCall",
	"fsmcases.Ends": "testEnds", "fsmcases.Words": "testWords", "fsmcases.InGroup": "testInGroup",
	"fsmcases.Vocabulary": "testVocabulary", "fsmcases.Input": "testInput", "fsmcases.Opt": "testOptional",
	"fsmcases.Send": "testSend",
}

// of is how the package writes the name of something of ours: as the runtime has it, or
// as the copy in the package itself is called.
func (n *names) of(name string) string {
	if !n.alone {
		return name
	}
	own := kitNames[name]
	if own == "" {
		own = strings.TrimPrefix(name, "fsm.")
	}
	if n.used != nil {
		n.used[own] = true
	}
	return n.ours("package", own)
}

// kitDecl is one declaration of purekit.
type kitDecl struct {
	names     []string // that it declares; of a method that of its type
	doc, code string
	uses      map[int]string // names of the kit, by where they stand in the code
	imports   []string
	test      bool // it is for the tests of a package
}

// kit has the declarations of purekit, in their order.
var kit = sync.OnceValue(func() (list []kitDecl) {
	dir, err := kitFiles.ReadDir("purekit")
	for _, f := range dir {
		if strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		src, failed := kitFiles.ReadFile("purekit/" + f.Name())
		file, wrong := parser.ParseFile(token.NewFileSet(), "", src, parser.ParseComments)
		if err != nil || failed != nil || wrong != nil {
			panic(fmt.Sprint(err, failed, wrong)) // they are a part of this program
		}
		list = append(list, kitDecls(string(src), file)...)
	}
	own := map[string]bool{}
	for _, d := range list {
		for _, name := range d.names {
			own[name] = true
		}
	}
	for _, d := range list {
		for at, name := range d.uses {
			if !own[name] {
				delete(d.uses, at)
			}
		}
	}
	return list
})

// kitDecls are the declarations of one file of purekit.
func kitDecls(src string, file *ast.File) (list []kitDecl) {
	imports := map[string]string{}
	for _, i := range file.Imports {
		text, _ := strconv.Unquote(i.Path.Value)
		imports[path.Base(text)] = text
	}
	for _, d := range file.Decls {
		x := kitDecl{uses: map[int]string{}, test: imports["testing"] != "", code: src[d.Pos()-1 : d.End()-1]}
		comment := (*ast.CommentGroup)(nil)
		switch d := d.(type) {
		case *ast.FuncDecl:
			comment = d.Doc
			if x.names = []string{d.Name.Name}; d.Recv != nil {
				x.names = nil
				ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && x.names == nil {
						x.names = []string{id.Name}
					}
					return true
				})
			}
		case *ast.GenDecl:
			if comment = d.Doc; d.Tok == token.IMPORT {
				continue
			}
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					x.names = append(x.names, s.Name.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						x.names = append(x.names, id.Name)
					}
				}
			}
		}
		if comment != nil {
			x.doc = src[comment.Pos()-1 : d.Pos()-1]
		}
		member := map[*ast.Ident]bool{} // names of fields and methods
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				member[n.Name] = n.Recv != nil
			case *ast.SelectorExpr:
				member[n.Sel] = true
			case *ast.Field:
				for _, id := range n.Names {
					member[id] = true
				}
			case *ast.KeyValueExpr:
				if id, ok := n.Key.(*ast.Ident); ok {
					member[id] = true
				}
			case *ast.Ident:
				if to := imports[n.Name]; to != "" {
					x.imports = append(x.imports, to)
				} else if !member[n] {
					x.uses[int(n.Pos()-d.Pos())] = n.Name
				}
			}
			return true
		})
		list = append(list, x)
	}
	return list
}

// kitFile is a file with what a package needs of purekit; nothing where it needs nothing.
func (n *names) kitFile(test bool) ([]byte, error) {
	needed := func(d kitDecl) bool {
		return slices.ContainsFunc(d.names, func(name string) bool { return n.used[name] })
	}
	for grown := true; grown; {
		grown = false
		for _, d := range kit() {
			if !needed(d) {
				continue
			}
			for _, name := range d.uses {
				grown = grown || !n.used[name]
				n.used[name] = true
			}
		}
	}
	var body strings.Builder
	var imports []string
	for _, d := range kit() {
		if d.test != test || !needed(d) {
			continue
		}
		for _, path := range d.imports {
			imports = append(imports, strconv.Quote(path))
		}
		doc, code, done := d.doc, "", 0
		for _, at := range slices.Sorted(maps.Keys(d.uses)) {
			name := d.uses[at]
			if own := n.ours("package", name); own != name {
				doc = regexp.MustCompile(`\b`+name+`\b`).ReplaceAllLiteralString(doc, own)
				code += d.code[done:at] + own
				done = at + len(name)
			}
		}
		body.WriteString(doc + code + d.code[done:] + "\n\n")
	}
	slices.Sort(imports)
	text := fmt.Sprintf("// %s\n\npackage %s\n\nimport (\n%s\n)\n\n%s", header, n.Package, strings.Join(slices.Compact(imports), "\n"), &body)
	src, err := format.Source([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("format: %w", err)
	}
	return src, nil
}

// kitOf makes the file with what the file of another emitter needs of purekit.
func kitOf(of func(*spec.Machine, *names, Options) ([]byte, error), test bool) func(*spec.Machine, *names, Options) ([]byte, error) {
	return func(m *spec.Machine, n *names, opt Options) ([]byte, error) {
		own := *n
		own.used = map[string]bool{}
		if _, err := of(m, &own, opt); err != nil {
			return nil, err
		}
		return own.kitFile(test)
	}
}
