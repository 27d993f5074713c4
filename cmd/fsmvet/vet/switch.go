package vet

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Switch finds a switch that forgets a state.
var Switch = &analysis.Analyzer{
	Name: "fsmswitch",
	Doc: `report a switch that forgets a state

A switch over a machine's State, over another type of words of its package, or over
the type of a handle, has to name each one, or have a default. A state that the next
version of the specification adds is then told where it is not thought of:

	switch job.State {
	case lifecycle.StateQueued:
	case lifecycle.StateClaimed, lifecycle.StateRunning:
	} // wrong: forgets StateSucceeded, StateFailed and StateStalled

With -default-signifies-exhaustive=false a default is not enough.`,
	URL:      page("fsmswitch"),
	Requires: needs,
	Run:      runSwitch,
}

// defaultIsEnough is the flag of Switch, named as the linter exhaustive names it.
var defaultIsEnough bool

func init() {
	Switch.Flags.BoolVar(&defaultIsEnough, "default-signifies-exhaustive", true, "a switch with a default forgets nothing")
}

func runSwitch(pass *analysis.Pass) (any, error) {
	w := worldOf(pass)
	if w == nil {
		return nil, nil
	}
	for _, f := range w.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SwitchStmt:
				w.wordSwitch(pass, f, n)
			case *ast.TypeSwitchStmt:
				w.handleSwitch(pass, f, n)
			}
			return true
		})
	}
	return nil, nil
}

// wordSwitch judges a switch over values.
func (w *world) wordSwitch(pass *analysis.Pass, f *ast.File, s *ast.SwitchStmt) {
	if s.Tag == nil {
		return
	}
	t := pass.TypesInfo.TypeOf(s.Tag)
	m, typ := w.wordType(t)
	if m == nil {
		return
	}
	seen := map[string]bool{}
	for e := range caseExprs(s.Body) {
		v := pass.TypesInfo.Types[e].Value
		if v == nil {
			return // a variable may be any of them
		}
		seen[v.ExactString()] = true
	}
	pkg := types.Unalias(t).(*types.Named).Obj().Pkg()
	var missing []string
	for _, word := range m.words(typ) {
		if c, ok := pkg.Scope().Lookup(word.Go).(*types.Const); ok && c.Val().Kind() == constant.Int && !seen[c.Val().ExactString()] {
			missing = append(missing, word.Go)
		}
	}
	w.forgets(pass, f, s, s.Body, pkg, typ, missing)
}

// handleSwitch judges a switch over types.
func (w *world) handleSwitch(pass *analysis.Pass, f *ast.File, s *ast.TypeSwitchStmt) {
	var x ast.Expr
	switch a := s.Assign.(type) {
	case *ast.ExprStmt:
		x = a.X
	case *ast.AssignStmt:
		x = a.Rhs[0]
	}
	t := pass.TypesInfo.TypeOf(ast.Unparen(x).(*ast.TypeAssertExpr).X)
	all := w.handles(t)
	if all == nil {
		return
	}
	var missing []string
	for _, h := range all {
		found := false
		for e := range caseExprs(s.Body) {
			c := pass.TypesInfo.TypeOf(e)
			i, isInterface := c.Underlying().(*types.Interface)
			found = found || types.Identical(c, h.Type()) || isInterface && types.Implements(h.Type(), i)
		}
		if !found {
			missing = append(missing, h.Name())
		}
	}
	named := types.Unalias(t).(*types.Named).Obj()
	w.forgets(pass, f, s, s.Body, named.Pkg(), named.Name(), missing)
}

// caseExprs yields the expressions of all cases.
func caseExprs(body *ast.BlockStmt) func(func(ast.Expr) bool) {
	return func(yield func(ast.Expr) bool) {
		for _, c := range body.List {
			for _, e := range c.(*ast.CaseClause).List {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// forgets reports what is missing.
func (w *world) forgets(
	pass *analysis.Pass, f *ast.File, s ast.Stmt, body *ast.BlockStmt, pkg *types.Package, typ string, missing []string,
) {
	if len(missing) == 0 {
		return
	}
	for _, c := range body.List {
		if c.(*ast.CaseClause).List == nil && defaultIsEnough {
			return
		}
	}
	hint := "add them, or a default"
	if len(missing) == 1 {
		hint = "add it, or a default"
	}
	if !defaultIsEnough {
		hint = strings.TrimSuffix(hint, ", or a default")
	}
	where := span{s.Pos(), body.Lbrace}
	w.report(pass, where, addCases(pass, f, body, pkg, missing),
		"the switch over %s.%s forgets %s; %s", pkg.Name(), typ, english(missing), hint)
}

// span is a piece of a file.
type span struct{ from, to token.Pos }

func (s span) Pos() token.Pos { return s.from }
func (s span) End() token.Pos { return s.to }

// addCases makes the fix: a case for each, at the end, which does what is done now: nothing.
func addCases(pass *analysis.Pass, f *ast.File, body *ast.BlockStmt, pkg *types.Package, missing []string) []analysis.SuggestedFix {
	for _, c := range body.List {
		if c.(*ast.CaseClause).List == nil {
			return nil // there the cases would take what the default does
		}
	}
	indent := bytes.Repeat([]byte("\t"), max(0, pass.Fset.Position(body.Rbrace).Column-1))
	var names []string
	for _, name := range missing {
		text, ok := qualified(pass, f, body.Lbrace, pkg.Path(), name)
		if !ok {
			return nil
		}
		names = append(names, text)
	}
	text := fmt.Sprintf("case %s:\n%s\t// say what is done here\n%s", strings.Join(names, ", "), indent, indent)
	at := span{body.Rbrace, body.Rbrace}
	if pass.Fset.Position(body.Lbrace).Line == pass.Fset.Position(body.Rbrace).Line {
		return nil
	}
	return replace("Add the missing cases", at, text)
}
