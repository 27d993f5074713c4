package mutants

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/tools/go/packages"
)

// Subject is a package whose files are mutated.
type Subject struct {
	dir   string // below the module, as go list writes it: ./examples/...
	pkg   *packages.Package
	Files []*File
}

// File is one file of it.
type File struct {
	Path    string // absolute
	Source  string
	Mutants []*Mutant
}

// Load reads a package of the module in a folder and type-checks it.
func Load(root, dir string, env ...string) (*Subject, error) {
	list, err := packages.Load(&packages.Config{
		Dir:  root,
		Env:  append(os.Environ(), env...),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports,
	}, dir)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 || len(list[0].Errors) > 0 {
		return nil, fmt.Errorf("load %s: %d packages, errors %v", dir, len(list), list[0].Errors)
	}
	return &Subject{dir: dir, pkg: list[0]}, nil
}

// Mutate finds the mutants of one file and keeps those that compile. Their
// numbers continue after first.
func (s *Subject) Mutate(base string, first int, opt Options, wanted func(string) bool) error {
	i := slices.IndexFunc(s.pkg.GoFiles, func(p string) bool { return filepath.Base(p) == base })
	if i < 0 {
		return fmt.Errorf("%s has no file %s", s.dir, base)
	}
	path := s.pkg.GoFiles[i]
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f := &finder{
		fset: s.pkg.Fset, info: s.pkg.TypesInfo, pkg: s.pkg.Types,
		source: string(source), file: base, Options: opt,
	}
	found := f.find(s.pkg.Syntax[i], wanted)
	for j, m := range found {
		m.Number = first + j
	}
	file := &File{Path: path, Source: string(source)}
	file.Mutants, err = s.compiling(i, file, found)
	s.Files = append(s.Files, file)
	return err
}

// Has reports whether the package has a file of this name.
func (s *Subject) Has(base string) bool {
	return slices.ContainsFunc(s.pkg.GoFiles, func(p string) bool { return filepath.Base(p) == base })
}

// Mutated is the text of the file with all its mutants behind the switch.
func (f *File) Mutated() string { return apply(f.Source, f.Mutants) }

// Only keeps these mutants of the file.
func (f *File) Only(keep func(*Mutant) bool) {
	f.Mutants = slices.DeleteFunc(f.Mutants, func(m *Mutant) bool { return !keep(m) })
}

// compiling returns the mutants of a file that compile, halving the list until
// the others stand alone.
func (s *Subject) compiling(i int, file *File, list []*Mutant) ([]*Mutant, error) {
	if len(list) == 0 {
		return nil, nil
	}
	err := s.check(i, apply(file.Source, list))
	if err == nil {
		return list, nil
	}
	if len(list) == 1 {
		return nil, nil
	}
	half := len(list) / 2
	a, errA := s.compiling(i, file, list[:half])
	b, errB := s.compiling(i, file, list[half:])
	return append(a, b...), errors.Join(errA, errB)
}

// check type-checks the package with one file replaced.
func (s *Subject) check(i int, source string) error {
	fset := s.pkg.Fset
	file, err := parser.ParseFile(fset, "mutated.go", source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	support, err := parser.ParseFile(fset, SupportFile, s.Support(), parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	files := []*ast.File{file, support}
	for j, other := range s.pkg.Syntax {
		if j != i {
			files = append(files, other)
		}
	}
	config := types.Config{Importer: importer(s.pkg.Imports)}
	_, err = config.Check(s.pkg.PkgPath, fset, files, nil)
	return err
}

// importer hands out the packages that are loaded already.
type importer map[string]*packages.Package

func (m importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := m[path]; p != nil && p.Types != nil {
		return p.Types, nil
	}
	// The support file may import what the package itself does not.
	return standard().Import(path)
}

var standard = sync.OnceValue(func() types.Importer { return importerOf("os", "strconv", "strings", "encoding/json") })

// importerOf loads a few packages of the standard library.
func importerOf(paths ...string) types.Importer {
	list, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports}, paths...)
	if err != nil {
		panic(err)
	}
	m := standardImporter{}
	for _, p := range list {
		m[p.PkgPath] = p.Types
	}
	return m
}

type standardImporter map[string]*types.Package

func (m standardImporter) Import(path string) (*types.Package, error) {
	if p := m[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %q is not loaded", path)
}

// SupportFile is the file that the switch is written to.
const SupportFile = "fsm_mutant_switch.go"

// Support is the switch that all mutants of a package hang on.
func (s *Subject) Support() string {
	return "package " + s.pkg.Name + `

import (
	"os"
	"strconv"
	"strings"
)

var fsmMutantNumber = func() int { n, _ := strconv.Atoi(os.Getenv("FSMGEN_MUTANT")); return n }()

func fsmMutant(n int) bool { return n == fsmMutantNumber }

func fsmMutated[T any](n int, mutated, original T) T {
	if n == fsmMutantNumber {
		return mutated
	}
	return original
}

// fsmMutantSQL changes a schema: the file holds what is replaced, a line of
// dashes, and what it becomes.
func fsmMutantSQL(sql string) string {
	path := os.Getenv("FSMGEN_MUTANT_SQL")
	if path == "" {
		return sql
	}
	b, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	from, to, ok := strings.Cut(string(b), "\n-----\n")
	if !ok {
		panic(path + ": no line of dashes")
	}
	return strings.Replace(sql, from, to, 1)
}
`
}
