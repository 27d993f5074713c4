package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/cfg"
	"golang.org/x/tools/go/types/typeutil"
)

// Request finds a request id that each try makes again.
var Request = &analysis.Analyzer{
	Name: "fsmrequest",
	Doc: `report a retry that gives each try a request id of its own

A call whose answer was lost may have been applied. Made again with the same request
id, it returns the first outcome. With a new id it is a second request:

	for {
		_, err := jobs.Submit(ctx, "", in, fsm.Call{RequestID: uuid.NewString()}) // wrong
		if err == nil {
			return nil
		}
	}

Make the id before the loop. A loop is a retry when the same call is made again after
an error, and no other call after a success. What is built for retries, such as
retry.Do(func() error {...}), is looked at as well.`,
	URL:      page("fsmrequest"),
	Requires: append([]*analysis.Analyzer{ctrlflow.Analyzer}, needs...),
	Run: func(pass *analysis.Pass) (any, error) {
		w := worldOf(pass)
		if w == nil {
			return nil, nil
		}
		w.each(pass, func(f *ast.File, body *ast.BlockStmt, g *cfg.CFG) {
			r := &retries{world: w, pass: pass, info: pass.TypesInfo, file: f}
			r.function(body, g)
		})
		return nil, nil
	},
}

// retries looks at one function.
type retries struct {
	*world
	pass *analysis.Pass
	info *types.Info
	file *ast.File
}

// function looks at each block for calls within a loop.
func (r *retries) function(body *ast.BlockStmt, g *cfg.CFG) {
	for _, b := range g.Blocks {
		for i, n := range b.Nodes {
			inspectHere(n, func(x ast.Node) {
				st := r.step(r.info, x)
				if st == nil || st.kind == onRecord || st.kind == onHandle && st.call(r.info) == nil {
					return
				}
				if loop := innermost(body, st.Pos()); loop != nil && r.repeats(b, i, st, loop) {
					r.judge(st, loop)
				}
			})
		}
	}
	inspectHere(body, func(n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || !retryHelper(r.info, call) {
			return
		}
		for _, arg := range call.Args {
			if lit, ok := ast.Unparen(arg).(*ast.FuncLit); ok {
				inspectHere(lit.Body, func(n ast.Node) {
					if st := r.step(r.info, n); st != nil && st.kind != onRecord && (st.kind != onHandle || st.call(r.info) != nil) {
						r.judge(st, lit)
					}
				})
			}
		}
	})
}

// retryHelper reports whether a function is one that calls another one until it succeeds.
func retryHelper(info *types.Info, call *ast.CallExpr) bool {
	obj := typeutil.Callee(info, call)
	if obj == nil {
		return false
	}
	name := strings.ToLower(obj.Name())
	if obj.Pkg() != nil {
		name += " " + strings.ToLower(obj.Pkg().Name())
	}
	return strings.Contains(name, "retry") || strings.Contains(name, "backoff")
}

// innermost returns the smallest loop of a function around a place, or nil.
func innermost(body *ast.BlockStmt, at token.Pos) (loop ast.Stmt) {
	inspectHere(body, func(n ast.Node) {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if n.Pos() <= at && at < n.End() {
				loop = n.(ast.Stmt)
			}
		}
	})
	return loop
}

// repeats reports whether the loop makes a call again when it failed, and never when it succeeded.
func (r *retries) repeats(b *cfg.Block, i int, st *step, loop ast.Stmt) bool {
	err, dropped, ok := result(r.info, b.Nodes[i], st.CallExpr)
	if !ok || dropped || err == nil {
		return false
	}
	again := map[know]bool{}
	type place struct {
		block *cfg.Block
		is    know
	}
	seen := map[place]bool{}
	var walk func(b *cfg.Block, from int, is know)
	walk = func(b *cfg.Block, from int, is know) {
		for _, n := range b.Nodes[from:] {
			for _, obj := range assigned(r.info, n) {
				if obj == err && is == unknown {
					is = isNil // nothing was asked: take it for a success
				}
			}
		}
		for s, next := range b.Succs {
			then := is
			for _, t := range edge(r.info, b, s) {
				if t.obj == err && is != isNil {
					then = t.is
				}
			}
			p := place{next, then}
			switch {
			case then == refused || seen[p]:
				continue
			case next.Stmt == loop && (next.Kind == cfg.KindForBody || next.Kind == cfg.KindRangeBody):
				again[then] = true
				continue
			}
			seen[p] = true
			walk(next, 0, then)
		}
	}
	walk(b, i+1, unknown)
	return again[notNil] && !again[isNil] && !again[unknown]
}

// judge reports a call in a retry whose request id is another one each time.
func (r *retries) judge(st *step, loop ast.Node) {
	if st.machine.NoRequest || r.picks(st) || r.differs(st, loop) {
		return
	}
	c := st.call(r.info)
	if c == nil {
		if st.kind == onHolder {
			r.report(r.pass, st.Fun, nil, "each try of %s is a new request, for the holder makes a request id for each call; "+
				"give all tries one: make it before the first, and add fsm.Call{RequestID: id}", st.name)
		}
		return
	}
	id := r.requestID(c, loop)
	if id == nil {
		return
	}
	why, at := r.fresh(id, loop, 3)
	if why == "" {
		return
	}
	r.report(r.pass, at, r.hoist(at, loop, why),
		"each try of %s is a new request, for its request id is made %s; make it once, before the first try", st.name, why)
}

// picks reports whether the machine chooses the record: then a loop waits for work, and each
// turn is a request of its own.
func (r *retries) picks(st *step) bool {
	fun, ok := st.Fun.(*ast.SelectorExpr)
	if !ok || r.info.TypeOf(fun.X) == nil {
		return false
	}
	many, _, _ := types.LookupFieldOrMethod(r.info.TypeOf(fun.X), true, r.pass.Pkg, st.name+"N")
	return many != nil
}

// differs reports whether a call says something else at each turn, its fsm.Call aside.
func (r *retries) differs(st *step, loop ast.Node) bool {
	found := false
	look := func(e ast.Node) {
		inspectHere(e, func(n ast.Node) {
			id, ok := n.(*ast.Ident)
			if ok && r.changes(r.info.Uses[id], loop) && !isContext(r.info.TypeOf(id)) {
				found = true
			}
		})
	}
	c := st.call(r.info)
	for _, arg := range st.Args {
		if ast.Unparen(arg) != c {
			look(arg)
		}
	}
	look(st.Fun)
	if lit, ok := c.(*ast.CompositeLit); ok {
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok && nameOf(kv.Key) != "RequestID" {
				look(kv.Value)
			}
		}
	}
	return found
}

func isContext(t types.Type) bool { return t != nil && t.String() == "context.Context" }

// changes reports whether a variable has another value at each turn of a loop.
func (r *retries) changes(obj types.Object, loop ast.Node) bool {
	v, ok := obj.(*types.Var)
	if !ok || v.IsField() {
		return false
	}
	if loop.Pos() <= v.Pos() && v.Pos() < loop.End() {
		return true
	}
	for _, a := range assigned(r.info, loop) {
		if a == obj {
			return true
		}
	}
	return false
}

// requestID finds the expression of a request id that is made within a loop, or nil.
func (r *retries) requestID(c ast.Expr, loop ast.Node) (id ast.Expr) {
	switch c := c.(type) {
	case *ast.CompositeLit:
		for _, e := range c.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok && nameOf(kv.Key) == "RequestID" {
				return kv.Value
			}
		}
	case *ast.Ident:
		obj := r.info.Uses[c]
		inspectHere(bodyOf(loop), func(n ast.Node) {
			a, ok := n.(*ast.AssignStmt)
			if !ok || len(a.Lhs) != len(a.Rhs) {
				return
			}
			for i, lhs := range a.Lhs {
				if sel, ok := lhs.(*ast.SelectorExpr); ok && sel.Sel.Name == "RequestID" && objectOf(r.info, sel.X) == obj {
					id = a.Rhs[i]
				} else if lit, ok := a.Rhs[i].(*ast.CompositeLit); ok && objectOf(r.info, lhs) == obj {
					id = r.requestID(lit, loop)
				}
			}
		})
	}
	return id
}

// bodyOf returns what a loop, or a function that is called again, does at each turn.
func bodyOf(loop ast.Node) *ast.BlockStmt {
	switch l := loop.(type) {
	case *ast.ForStmt:
		return l.Body
	case *ast.RangeStmt:
		return l.Body
	case *ast.FuncLit:
		return l.Body
	}
	return nil
}

// fresh tells what makes an expression another one at each turn; empty for nothing.
func (r *retries) fresh(e ast.Expr, loop ast.Node, deep int) (why string, at ast.Expr) {
	ast.Inspect(e, func(n ast.Node) bool {
		if why != "" {
			return false
		}
		switch n := n.(type) {
		case *ast.CallExpr:
			if name := maker(r.info, n); name != "" {
				why, at = "by "+name, e
			}
		case *ast.Ident:
			why, at = r.freshName(n, e, loop, deep)
		}
		return why == ""
	})
	return why, at
}

// freshName is fresh for a variable.
func (r *retries) freshName(id *ast.Ident, e ast.Expr, loop ast.Node, deep int) (why string, at ast.Expr) {
	obj := r.info.Uses[id]
	if deep == 0 || !r.changes(obj, loop) {
		return "", nil
	}
	made := false
	inspectHere(bodyOf(loop), func(n ast.Node) {
		if a, ok := n.(*ast.AssignStmt); ok && why == "" {
			for i, lhs := range a.Lhs {
				if objectOf(r.info, lhs) == obj {
					made = true
					why, at = r.fresh(a.Rhs[min(i, len(a.Rhs)-1)], loop, deep-1)
				}
			}
		}
	})
	if !made && isNumber(obj.Type()) { // the number of the try
		return "of " + id.Name + ", which counts the tries", e
	}
	return why, at
}

func isNumber(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

// maker returns the name of a function that returns something else each time, or nothing.
func maker(info *types.Info, call *ast.CallExpr) string {
	fn, ok := typeutil.Callee(info, call).(*types.Func)
	if !ok || fn.Pkg() == nil {
		return ""
	}
	path := fn.Pkg().Path()
	name := fn.Pkg().Name() + "." + fn.Name()
	switch path {
	case "math/rand", "math/rand/v2", "crypto/rand":
		return name
	case "time":
		if fn.Name() == "Now" {
			return name
		}
		return ""
	case driverPath:
		if fn.Name() == "NewID" {
			return name
		}
		return ""
	}
	for _, kind := range []string{"uuid", "ulid", "ksuid", "xid", "nanoid", "shortid", "snowflake", "typeid", "cuid"} {
		if strings.Contains(strings.ToLower(path), kind) && (strings.HasPrefix(fn.Name(), "New") || strings.HasPrefix(fn.Name(), "Make") ||
			strings.HasPrefix(fn.Name(), "Must") || strings.HasPrefix(fn.Name(), "Generate")) {
			return name
		}
	}
	return ""
}

// hoist makes the fix: the id in a variable before the loop. It is made only for an
// expression that stands in the call and reads nothing of the loop.
func (r *retries) hoist(id ast.Expr, loop ast.Node, why string) []analysis.SuggestedFix {
	stmt, ok := loop.(ast.Stmt)
	if !ok || !strings.HasPrefix(why, "by ") {
		return nil
	}
	reads := false
	inspectHere(id, func(n ast.Node) {
		if x, ok := n.(*ast.Ident); ok && r.changes(r.info.Uses[x], loop) {
			reads = true
		}
	})
	const name = "requestID"
	inner := r.pass.Pkg.Scope().Innermost(id.Pos())
	if reads || inner == nil || labelled(r.file, stmt) {
		return nil
	}
	if _, taken := inner.LookupParent(name, token.NoPos); taken != nil {
		return nil
	}
	text, ok := r.source(id)
	if !ok {
		return nil
	}
	p := r.pass.Fset.Position(stmt.Pos())
	before := fmt.Sprintf("%s := %s\n%s", name, text, strings.Repeat("\t", p.Column-1))
	return []analysis.SuggestedFix{{Message: "Make the request id before the loop", TextEdits: []analysis.TextEdit{
		{Pos: stmt.Pos(), End: stmt.Pos(), NewText: []byte(before)},
		{Pos: id.Pos(), End: id.End(), NewText: []byte(name)},
	}}}
}

// labelled reports whether a statement has a label, behind which nothing can be put.
func labelled(f *ast.File, stmt ast.Stmt) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		l, ok := n.(*ast.LabeledStmt)
		found = found || ok && l.Stmt == stmt
		return !found
	})
	return found
}

// source returns an expression as the file has it.
func (r *retries) source(e ast.Expr) (string, bool) {
	data, err := r.pass.ReadFile(r.pass.Fset.Position(r.file.Package).Filename)
	from, to := r.pass.Fset.Position(e.Pos()).Offset, r.pass.Fset.Position(e.End()).Offset
	if err != nil || to > len(data) {
		return "", false
	}
	return string(data[from:to]), true
}
