// Package vet holds the analyzers of fsmvet. They look at Go code that uses packages
// which fsmgen has generated, for mistakes that the compiler cannot see.
//
// The command cmd/fsmvet runs them under go vet and alone. Other drivers of package
// golang.org/x/tools/go/analysis, such as golangci-lint, take them from [Analyzers].
// What each one finds stands in its Doc, and with examples in docs/fsmvet.md.
//
// They judge what people wrote: generated files are passed over, and so is a line with
// the comment //fsmvet:ignore and a reason, or a line below such a comment.
package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
)

// Analyzers are all analyzers, by name. None changes what another one finds.
var Analyzers = []*analysis.Analyzer{
	Effect, Moved, Refusal, Request, SQL, Stale, Switch, Word,
}

// page returns where an analyzer is described.
func page(name string) string {
	return "https://github.com/fsmgen/fsmgen/blob/main/docs/fsmvet.md#" + name
}

// ignore begins a comment that silences its line and the next one.
const ignore = "//fsmvet:ignore"

// world is what the analyzers share about one package: the result of machines.
type world struct {
	machines map[string]*machineInfo // the generated packages in reach, by import path
	files    []*ast.File             // those that people wrote
	quiet    map[string]map[int]bool // the lines of a file that say //fsmvet:ignore
}

// worldOf returns what is known about the package of a pass; nil when it uses no
// generated package, so there is nothing to look at.
func worldOf(pass *analysis.Pass) *world {
	w := pass.ResultOf[machines].(*world)
	if len(w.machines) == 0 {
		return nil
	}
	return w
}

// needs are what most analyzers stand on.
var needs = []*analysis.Analyzer{machines, inspect.Analyzer}

// report reports a finding, unless the line is silenced.
func (w *world) report(pass *analysis.Pass, at analysis.Range, fixes []analysis.SuggestedFix, format string, args ...any) {
	p := pass.Fset.Position(at.Pos())
	if lines := w.quiet[p.Filename]; lines[p.Line] || lines[p.Line-1] {
		return
	}
	pass.Report(analysis.Diagnostic{Pos: at.Pos(), End: at.End(), Message: fmt.Sprintf(format, args...), SuggestedFixes: fixes})
}

// quietLines returns the lines of a file with a comment that silences, which has to give a reason.
func quietLines(fset *token.FileSet, f *ast.File) map[int]bool {
	lines := map[int]bool{}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if reason, ok := strings.CutPrefix(c.Text, ignore+" "); ok && strings.TrimSpace(reason) != "" {
				lines[fset.Position(c.Pos()).Line] = true
			}
		}
	}
	return lines
}

// of returns the machine of a package, or nil.
func (w *world) of(pkg *types.Package) *machineInfo {
	if pkg == nil {
		return nil
	}
	return w.machines[pkg.Path()]
}

// sorted returns the machines in the order of their import paths.
func (w *world) sorted() []*machineInfo {
	var list []*machineInfo
	for _, m := range w.machines {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *machineInfo) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// isTest reports whether a file holds tests.
func isTest(pass *analysis.Pass, f *ast.File) bool {
	return strings.HasSuffix(pass.Fset.Position(f.Package).Filename, "_test.go")
}

// replace makes a fix of one edit.
func replace(message string, at analysis.Range, text string) []analysis.SuggestedFix {
	return []analysis.SuggestedFix{{Message: message, TextEdits: []analysis.TextEdit{{Pos: at.Pos(), End: at.End(), NewText: []byte(text)}}}}
}

// qualified returns how a file writes an exported name of a package; not ok when the file
// does not import it, or hides the import where the name would stand.
func qualified(pass *analysis.Pass, f *ast.File, at token.Pos, path, name string) (text string, ok bool) {
	if path == pass.Pkg.Path() {
		return name, true
	}
	scope := pass.TypesInfo.Scopes[f]
	if scope == nil {
		return "", false
	}
	for _, local := range scope.Names() {
		imported, is := scope.Lookup(local).(*types.PkgName)
		if !is || imported.Imported().Path() != path {
			continue
		}
		if inner := pass.Pkg.Scope().Innermost(at); inner != nil {
			if _, found := inner.LookupParent(local, at); found != imported {
				continue
			}
		}
		return local + "." + name, true
	}
	return "", false
}

// English returns "a", "a and b" or "a, b and c".
func english(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
