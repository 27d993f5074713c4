package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Refusal finds an error of a machine that is dropped, or recognised by its text.
var Refusal = &analysis.Analyzer{
	Name: "fsmrefusal",
	Doc: `report a refusal that is dropped, or told apart by its text

The error of an operation is how a machine says no. A call whose error nobody looks at
may have changed nothing:

	jobs.Start(ctx, job, call)         // wrong
	_, _ = jobs.Start(ctx, job, call)  // wrong

The text of a refusal is for people and may change. A refusal is wrapped, so == does not
find it either:

	if err.Error() == "not owner" {}           // wrong
	if err == lifecycle.ErrNotOwner {}         // wrong: never true
	if errors.Is(err, lifecycle.ErrNotOwner) {} // right

Tests may look at texts.`,
	URL:      page("fsmrefusal"),
	Requires: needs,
	Run:      runRefusal,
}

func runRefusal(pass *analysis.Pass) (any, error) {
	w := worldOf(pass)
	if w == nil {
		return nil, nil
	}
	for _, f := range w.files {
		for _, decl := range f.Decls {
			r := &refusals{world: w, pass: pass, info: pass.TypesInfo, file: f, test: isTest(pass, f), from: map[types.Object]*machineInfo{}}
			r.sources(decl)
			ast.Inspect(decl, r.node)
		}
	}
	return nil, nil
}

// refusals looks at one declaration.
type refusals struct {
	*world
	pass *analysis.Pass
	info *types.Info
	file *ast.File
	test bool
	from map[types.Object]*machineInfo // the errors that calls of a generated package return
}

// sources finds the variables that hold errors of machines.
func (r *refusals) sources(decl ast.Decl) {
	ast.Inspect(decl, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Rhs) != 1 {
			return true
		}
		call, ok := ast.Unparen(a.Rhs[0]).(*ast.CallExpr)
		if !ok {
			return true
		}
		if m := r.callee(call); m != nil {
			if obj := objectOf(r.info, a.Lhs[len(a.Lhs)-1]); obj != nil && types.Identical(obj.Type(), errorType) {
				r.from[obj] = m
			}
		}
		return true
	})
}

// callee returns the machine whose package has the function that is called, or nil.
func (r *refusals) callee(call *ast.CallExpr) *machineInfo {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	fn, ok := r.info.Uses[sel.Sel].(*types.Func)
	if !ok || !lastIsError(fn.Signature()) {
		return nil
	}
	return r.of(fn.Pkg())
}

// node looks at one node.
func (r *refusals) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ExprStmt:
		r.dropped(n.X)
	case *ast.GoStmt:
		r.dropped(n.Call)
	case *ast.DeferStmt:
		r.dropped(n.Call)
	case *ast.AssignStmt:
		if len(n.Rhs) == 1 && nameOf(n.Lhs[len(n.Lhs)-1]) == "_" {
			r.dropped(n.Rhs[0])
		}
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			r.compared(n, n.X, n.Y)
		}
	case *ast.SwitchStmt:
		r.switched(n)
	case *ast.CallExpr:
		r.searched(n)
	case *ast.TypeAssertExpr:
		r.asserted(n)
	}
	return true
}

// dropped reports a step whose error goes nowhere.
func (r *refusals) dropped(e ast.Expr) {
	st := r.step(r.info, ast.Unparen(e))
	if st == nil {
		return
	}
	r.report(r.pass, st, nil, "the error of %s is dropped: the call may have been refused and have changed nothing", st.name)
}

// compared reports a comparison of a text, and of an error itself.
func (r *refusals) compared(n *ast.BinaryExpr, x, y ast.Expr) {
	if r.text(y) != nil {
		x, y = y, x
	}
	if e := r.text(x); e != nil {
		r.byText(n, e, y, n.Op == token.NEQ)
		return
	}
	if r.sentinel(x) != "" {
		x, y = y, x
	}
	name := r.sentinel(y)
	if name == "" || !types.Identical(r.info.TypeOf(x), errorType) {
		return
	}
	r.report(r.pass, n, r.fix(n, x, y, n.Op == token.NEQ), "a refusal wraps %s, so == does not find it; use errors.Is", name)
}

// switched reports a switch over a text, and over an error itself.
func (r *refusals) switched(n *ast.SwitchStmt) {
	if n.Tag == nil {
		return
	}
	if e := r.text(n.Tag); e != nil {
		for c := range caseExprs(n.Body) {
			if r.ofMachine(e, c) {
				r.toldText(n.Tag, e, c, nil)
				return
			}
		}
	}
	if !types.Identical(r.info.TypeOf(n.Tag), errorType) {
		return
	}
	for c := range caseExprs(n.Body) {
		if name := r.sentinel(c); name != "" {
			r.report(r.pass, c, nil, "a refusal wraps %s, so a switch over the error does not find it; use errors.Is", name)
		}
	}
}

// searched reports a search in a text.
func (r *refusals) searched(n *ast.CallExpr) {
	texts := isFunc(r.info, n, "strings", "Contains", "HasPrefix", "HasSuffix", "EqualFold", "Index", "Count") ||
		isFunc(r.info, n, "regexp", "MatchString")
	if !texts || len(n.Args) == 0 {
		return
	}
	for i, arg := range n.Args {
		if e := r.text(arg); e != nil {
			r.byText(n, e, n.Args[(i+1)%len(n.Args)], false)
		}
	}
}

// asserted reports a type assertion of a refusal.
func (r *refusals) asserted(n *ast.TypeAssertExpr) {
	if n.Type == nil || !types.Identical(r.info.TypeOf(n.X), errorType) || !r.refusalType(r.info.TypeOf(n.Type)) {
		return
	}
	r.report(r.pass, n, nil, "an error may wrap %s, which a type assertion does not find; use errors.As", types.ExprString(n.Type))
}

// refusalType reports whether a type is one of the errors that machines return.
func (r *refusals) refusalType(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	for _, name := range []string{"Refusal", "AmbiguousError", "EffectError", "RecordedError"} {
		if named(p.Elem(), name) || typeName(p.Elem()) == name && r.of(types.Unalias(p.Elem()).(*types.Named).Obj().Pkg()) != nil {
			return true
		}
	}
	return false
}

// text returns the error whose text an expression is, or nil.
func (r *refusals) text(e ast.Expr) ast.Expr {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) != 0 {
		return nil
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Error" {
		return nil
	}
	if t := r.info.TypeOf(sel.X); t == nil || !types.Identical(t, errorType) && !r.refusalType(t) {
		return nil
	}
	return sel.X
}

// byText reports an error that is compared with a text.
func (r *refusals) byText(n ast.Expr, e, text ast.Expr, not bool) {
	if !r.ofMachine(e, text) {
		return
	}
	var fix []analysis.SuggestedFix
	if s, ok := textOf(r.info, text); ok {
		if path, name := r.sentinelFor(s); name != "" {
			if q, ok := qualified(r.pass, r.file, n.Pos(), path, name); ok {
				fix = r.fixTo(n, e, q, not)
			}
		}
	}
	r.toldText(n, e, text, fix)
}

// toldText reports it, with the name that the text stands for.
func (r *refusals) toldText(n, e, text ast.Expr, fix []analysis.SuggestedFix) {
	if r.test {
		return
	}
	instead := "errors.Is with the refusals of the generated package, or errors.As"
	if s, ok := textOf(r.info, text); ok {
		if path, name := r.sentinelFor(s); name != "" {
			instead = "errors.Is(" + types.ExprString(e) + ", " + r.machines[path].packageName() + "." + name + ")"
		}
	}
	r.report(r.pass, n, fix, "a refusal is told apart by its text, which is for people and may change; use %s", instead)
}

// packageName returns the last name of the import path.
func (m *machineInfo) packageName() string { return m.Path[strings.LastIndexByte(m.Path, '/')+1:] }

// ofMachine reports whether an error comes from a machine: by its type, by the call that
// returned it, or by the text that it is compared with.
func (r *refusals) ofMachine(e, text ast.Expr) bool {
	if r.refusalType(r.info.TypeOf(e)) || r.from[objectOf(r.info, e)] != nil {
		return true
	}
	s, ok := textOf(r.info, text)
	if !ok {
		return false
	}
	_, name := r.sentinelFor(s)
	return name != ""
}

// sentinelFor returns the refusal of a machine that has a text.
func (r *refusals) sentinelFor(text string) (path, name string) {
	for _, m := range r.sorted() {
		for _, e := range m.Errors {
			if e.Text == text {
				return m.Path, e.Go
			}
		}
	}
	return "", ""
}

// sentinel returns the name of a refusal that an expression is: of a machine or of the runtime.
func (r *refusals) sentinel(e ast.Expr) string {
	obj := objectOf(r.info, e)
	if obj == nil || obj.Pkg() == nil || !strings.HasPrefix(obj.Name(), "Err") || obj.Parent() != obj.Pkg().Scope() {
		return ""
	}
	_, isType := obj.(*types.TypeName)
	if isType || obj.Pkg().Path() != runtimePath && r.of(obj.Pkg()) == nil {
		return ""
	}
	return types.ExprString(e)
}

// fix makes errors.Is of a comparison.
func (r *refusals) fix(n, e, sentinel ast.Expr, not bool) []analysis.SuggestedFix {
	return r.fixTo(n, e, types.ExprString(sentinel), not)
}

func (r *refusals) fixTo(n, e ast.Expr, sentinel string, not bool) []analysis.SuggestedFix {
	is, ok := qualified(r.pass, r.file, n.Pos(), "errors", "Is")
	if !ok {
		return nil
	}
	text := is + "(" + types.ExprString(e) + ", " + sentinel + ")"
	if not {
		text = "!" + text
	}
	return replace("Use errors.Is", n, text)
}
