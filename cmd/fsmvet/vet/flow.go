package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/cfg"
)

// each calls f for each function of the package, literal or named.
func (w *world) each(pass *analysis.Pass, f func(file *ast.File, body *ast.BlockStmt, g *cfg.CFG)) {
	cfgs := pass.ResultOf[ctrlflow.Analyzer].(*ctrlflow.CFGs)
	for _, file := range w.files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Body != nil {
					f(file, n.Body, cfgs.FuncDecl(n))
				}
			case *ast.FuncLit:
				f(file, n.Body, cfgs.FuncLit(n))
			}
			return true
		})
	}
}

// inspectHere walks through a node, but not into functions that stand in it.
func inspectHere(n ast.Node, f func(ast.Node)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok || n == nil {
			return false
		}
		f(n)
		return true
	})
}

// know is what a condition tells about an error.
type know uint8

const (
	unknown know = iota
	isNil        // the call has succeeded
	notNil       // it has failed
	refused      // it has failed, and another request id does no harm: nothing was written
)

// told is what one outcome of a condition tells about a variable.
type told struct {
	obj types.Object
	is  know
}

// tells returns what follows when a condition has a value.
func tells(info *types.Info, cond ast.Expr, value bool) []told {
	switch c := ast.Unparen(cond).(type) {
	case *ast.UnaryExpr:
		if c.Op == token.NOT {
			return tells(info, c.X, !value)
		}
	case *ast.BinaryExpr:
		switch {
		case c.Op == token.LAND && value, c.Op == token.LOR && !value:
			return append(tells(info, c.X, value), tells(info, c.Y, value)...)
		case c.Op == token.LOR && value:
			return both(tells(info, c.X, true), tells(info, c.Y, true))
		case c.Op == token.EQL || c.Op == token.NEQ:
			obj := comparedWithNil(info, c)
			if obj == nil {
				return nil
			}
			if (c.Op == token.EQL) == value {
				return []told{{obj, isNil}}
			}
			return []told{{obj, notNil}}
		}
	case *ast.CallExpr:
		return tellsCall(info, c, value)
	}
	return nil
}

// both returns what follows from either of two lists.
func both(a, b []told) (list []told) {
	for _, x := range a {
		for _, y := range b {
			if x.obj == y.obj && x.is != isNil && y.is != isNil {
				list = append(list, told{x.obj, min(x.is, y.is)})
			}
		}
	}
	return list
}

// tellsCall is tells for errors.Is and errors.As.
func tellsCall(info *types.Info, c *ast.CallExpr, value bool) []told {
	if !value || len(c.Args) != 2 || !isFunc(info, c, "errors", "Is", "As") {
		return nil
	}
	obj := objectOf(info, c.Args[0])
	if obj == nil {
		return nil
	}
	switch nameOf(c.Args[1]) {
	case "ErrAmbiguous", "ErrBusy", "ErrFull", "ErrEffect", "ErrPoisoned":
		return []told{{obj, notNil}}
	}
	if isFunc(info, c, "errors", "Is") && readsError(info, c.Args[1]) {
		return []told{{obj, refused}}
	}
	return []told{{obj, notNil}}
}

// readsError reports whether an expression is a variable or constant of a package whose name begins with Err.
func readsError(info *types.Info, e ast.Expr) bool {
	name := nameOf(e)
	obj := objectOf(info, e)
	return len(name) > 3 && name[:3] == "Err" && obj != nil && obj.Parent() == obj.Pkg().Scope()
}

// nameOf returns the last name of an identifier or a selector.
func nameOf(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// objectOf returns what a name stands for, or nil.
func objectOf(info *types.Info, e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return info.ObjectOf(e)
	case *ast.SelectorExpr:
		return info.Uses[e.Sel]
	}
	return nil
}

func comparedWithNil(info *types.Info, c *ast.BinaryExpr) types.Object {
	if info.Types[c.Y].IsNil() {
		return objectOf(info, c.X)
	}
	if info.Types[c.X].IsNil() {
		return objectOf(info, c.Y)
	}
	return nil
}

// edge returns what is known on the way from a block to one of its successors.
func edge(info *types.Info, b *cfg.Block, succ int) []told {
	if len(b.Succs) != 2 || len(b.Nodes) == 0 {
		return nil
	}
	cond, ok := b.Nodes[len(b.Nodes)-1].(ast.Expr)
	if !ok {
		return nil
	}
	if t := info.TypeOf(cond); t == nil || !types.Identical(t.Underlying(), types.Typ[types.Bool]) {
		if t == nil || !types.Identical(t.Underlying(), types.Typ[types.UntypedBool]) {
			return nil
		}
	}
	return tells(info, cond, succ == 0)
}

// assigned returns the variables that a node gives a value.
func assigned(info *types.Info, n ast.Node) (list []types.Object) {
	add := func(e ast.Expr) {
		if id, ok := ast.Unparen(e).(*ast.Ident); ok {
			if obj := info.ObjectOf(id); obj != nil {
				list = append(list, obj)
			}
		}
	}
	inspectHere(n, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				add(e)
			}
		case *ast.ValueSpec:
			for _, e := range n.Names {
				add(e)
			}
		case *ast.IncDecStmt:
			add(n.X)
		case *ast.RangeStmt:
			if n.Key != nil {
				add(n.Key)
			}
			if n.Value != nil {
				add(n.Value)
			}
		}
	})
	return list
}

// result returns the variable that gets the error of a call which is a statement of its
// own; dropped when no variable does, and not ok when the call is a part of something else.
func result(info *types.Info, n ast.Node, call *ast.CallExpr) (err types.Object, dropped, ok bool) {
	var last ast.Expr
	switch n := n.(type) {
	case *ast.ExprStmt:
		return nil, true, ast.Unparen(n.X) == call
	case *ast.AssignStmt:
		if len(n.Rhs) != 1 || ast.Unparen(n.Rhs[0]) != call {
			return nil, false, false
		}
		last = n.Lhs[len(n.Lhs)-1]
	case *ast.ValueSpec:
		if len(n.Values) != 1 || ast.Unparen(n.Values[0]) != call {
			return nil, false, false
		}
		last = n.Names[len(n.Names)-1]
	default:
		return nil, false, false
	}
	id, isIdent := ast.Unparen(last).(*ast.Ident)
	switch {
	case !isIdent:
		return nil, false, false
	case id.Name == "_":
		return nil, true, true
	}
	return info.ObjectOf(id), false, true
}
