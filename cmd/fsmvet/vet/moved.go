package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/cfg"
)

// Moved finds a handle that is used after it was moved.
var Moved = &analysis.Analyzer{
	Name: "fsmmoved",
	Doc: `report a handle that is used for another step after it was moved

A step returns a new handle. The old one keeps the revision from before, so another
step of it is refused with fsm.ErrStale:

	running, err := claimed.Start(ctx)
	if err != nil {
		return err
	}
	_, err = claimed.Stall(ctx) // wrong: claimed was moved by Start; use running

The same holds for a record and an outcome that are given to two steps of a Machine.
The same step of the same handle is a retry, and right. It is told only where the
first step has succeeded on every way that leads to the second one.`,
	URL:      page("fsmmoved"),
	Requires: append([]*analysis.Analyzer{ctrlflow.Analyzer}, needs...),
	Run: func(pass *analysis.Pass) (any, error) {
		w := worldOf(pass)
		if w == nil {
			return nil, nil
		}
		w.each(pass, func(_ *ast.File, body *ast.BlockStmt, g *cfg.CFG) {
			s := &moves{world: w, pass: pass, info: pass.TypesInfo}
			s.shared(body)
			s.run(g)
		})
		return nil, nil
	},
}

// moved is what is known about a variable that a step was made of.
type moved struct {
	step *step
	to   *ast.Ident   // that got what the step returned; nil without one
	err  types.Object // the error that decides whether it succeeded; nil when it did
}

// moves looks at one function.
type moves struct {
	*world
	pass    *analysis.Pass
	info    *types.Info
	escaped map[types.Object]bool // variables whose values another function, or a pointer, may change
}

// facts are what holds at a point on every way to it.
type facts map[types.Object]moved

// shared finds the variables that are assigned in functions within, or whose address is taken.
func (s *moves) shared(body *ast.BlockStmt) {
	s.escaped = map[types.Object]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			for _, obj := range assigned(s.info, n.Body) {
				if obj.Pos() < n.Pos() || obj.Pos() > n.End() {
					s.escaped[obj] = true
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				if obj := objectOf(s.info, n.X); obj != nil {
					s.escaped[obj] = true
				}
			}
		}
		return true
	})
}

// run finds what holds at the beginning of each block, and then reports.
func (s *moves) run(g *cfg.CFG) {
	at := make([]facts, len(g.Blocks))
	at[0] = facts{}
	for work := []*cfg.Block{g.Blocks[0]}; len(work) > 0; {
		b := work[0]
		work = work[1:]
		out := maps.Clone(at[b.Index])
		for _, n := range b.Nodes {
			s.node(n, out, false)
		}
		for i, next := range b.Succs {
			after := s.along(b, i, out)
			if at[next.Index] == nil {
				at[next.Index] = after
				work = append(work, next)
			} else if meet(at[next.Index], after) {
				work = append(work, next)
			}
		}
	}
	for _, b := range g.Blocks {
		if at[b.Index] != nil {
			out := maps.Clone(at[b.Index])
			for _, n := range b.Nodes {
				s.node(n, out, true)
			}
		}
	}
}

// meet leaves in a what b holds, too, and reports whether that is less.
func meet(a, b facts) (less bool) {
	for obj, m := range a {
		if other, ok := b[obj]; !ok || other.step.CallExpr != m.step.CallExpr || other.err != m.err {
			delete(a, obj)
			less = true
		}
	}
	return less
}

// along adds what a condition tells to what holds before it.
func (s *moves) along(b *cfg.Block, succ int, before facts) facts {
	after := maps.Clone(before)
	for _, t := range edge(s.info, b, succ) {
		for obj, m := range after {
			switch {
			case m.err == nil || m.err != t.obj:
			case t.is == isNil:
				m.err = nil
				after[obj] = m
			default:
				delete(after, obj)
			}
		}
	}
	return after
}

// node applies a statement or an expression.
func (s *moves) node(n ast.Node, now facts, tell bool) {
	switch n.(type) {
	case *ast.DeferStmt, *ast.GoStmt:
		return // it runs at another time
	}
	var made *step
	inspectHere(n, func(n ast.Node) {
		st := s.step(s.info, n)
		if st == nil || st.obj == nil || s.escaped[st.obj] || !s.keepsRevision(st) {
			return
		}
		was, ok := now[st.obj]
		if tell && ok && was.err == nil && was.step.name != st.name {
			s.tell(st, was)
		}
		if st.moves {
			made = st
		}
	})
	for _, obj := range assigned(s.info, n) {
		delete(now, obj)
		for other, m := range now {
			if m.err == obj {
				delete(now, other)
			}
		}
	}
	if made == nil {
		return
	}
	err, dropped, ok := result(s.info, n, made.CallExpr)
	if !ok || err == nil && !dropped || made.obj == err {
		return
	}
	for _, obj := range assigned(s.info, n) {
		if obj == made.obj { // it gets what the step returns
			return
		}
	}
	now[made.obj] = moved{made, firstResult(n), err}
}

// firstResult returns the variable that gets what a step returns, or nil.
func firstResult(n ast.Node) *ast.Ident {
	if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) > 1 {
		if id, ok := a.Lhs[0].(*ast.Ident); ok && id.Name != "_" {
			return id
		}
	}
	return nil
}

// keepsRevision reports whether the target of a step holds a revision that goes old.
func (s *moves) keepsRevision(st *step) bool {
	if s.pass.Pkg.Scope().Lookup(st.obj.Name()) == st.obj {
		return false // everybody may change it
	}
	t := st.obj.Type()
	if st.kind == onHandle {
		return s.isHandle(t)
	}
	if st.machine.NoRev {
		return false
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return false
	}
	return s.isHandle(t) || named(t, "Outcome") || s.of(n.Obj().Pkg()) == st.machine && !types.IsInterface(t)
}

// tell reports a step of something that was moved before.
func (s *moves) tell(st *step, was moved) {
	name, line := st.target.Name, s.pass.Fset.Position(was.step.Pos()).Line
	if was.to == nil {
		s.report(s.pass, st.target, nil, "%s was moved by %s in line %d and has the revision from before, "+
			"so %s is refused as stale; use what %[2]s returns", name, was.step.name, line, st.name)
		return
	}
	var fix []analysis.SuggestedFix
	if s.fits(st, was.to) {
		fix = replace("Use "+was.to.Name, st.target, was.to.Name)
	}
	s.report(s.pass, st.target, fix, "%s was moved by %s in line %d and has the revision from before, "+
		"so %s is refused as stale; use %s", name, was.step.name, line, st.name, was.to.Name)
}

// fits reports whether a variable is in sight and can take the step.
func (s *moves) fits(st *step, to *ast.Ident) bool {
	obj := s.info.ObjectOf(to)
	inner := s.pass.Pkg.Scope().Innermost(st.Pos())
	if obj == nil || inner == nil {
		return false
	}
	if _, found := inner.LookupParent(to.Name, st.Pos()); found != obj {
		return false
	}
	if st.kind == onMachine {
		return true
	}
	m, _, _ := types.LookupFieldOrMethod(obj.Type(), true, s.pass.Pkg, st.name)
	_, ok := m.(*types.Func)
	return ok
}
