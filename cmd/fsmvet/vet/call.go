package vet

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// kind says on what an operation is called.
type kind uint8

const (
	onMachine kind = iota + 1 // m.Start(ctx, at, call)
	onHolder                  // m.As("ann").Claim(ctx)
	onHandle                  // claimed.Start(ctx), of a variable
	onRecord                  // record.Start("ann", now), and functions that make a record
)

// step is a call of an operation of a machine.
type step struct {
	*ast.CallExpr
	machine *machineInfo
	kind    kind
	name    string       // of the method
	target  *ast.Ident   // the variable of the handle, the record or the outcome; nil for another expression
	moves   bool         // the handle is left behind: the call returns another one
	obj     types.Object // of target
}

// step returns the operation that an expression calls, or nil.
func (w *world) step(info *types.Info, n ast.Node) *step {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	fn, ok := typeutil.Callee(info, call).(*types.Func)
	if !ok || !fn.Exported() {
		return nil
	}
	m := w.of(fn.Pkg())
	if m == nil {
		return nil
	}
	s := &step{CallExpr: call, machine: m, name: fn.Name()}
	sig := fn.Signature()
	if !lastIsError(sig) || !s.classify(w, sig) {
		return nil
	}
	switch s.kind {
	case onHandle:
		s.moves = sig.Results().Len() > 1
		s.target = receiver(call)
	case onMachine:
		if sig.Params().Len() > 2 && named(sig.Params().At(1).Type(), "Target") && len(call.Args) > 1 {
			s.target, _ = ast.Unparen(call.Args[1]).(*ast.Ident)
			s.moves = true
		}
	}
	if s.target != nil {
		s.obj = info.Uses[s.target]
	}
	return s
}

// classify finds out what kind of operation a function is, by what it takes.
func (s *step) classify(w *world, sig *types.Signature) bool {
	n := sig.Params().Len()
	takesCall := n > 0 && named(elem(sig, n-1), "Call")
	recv := sig.Recv()
	switch {
	case recv == nil || !takesCall: // a step of the pure layer returns an Event
		for v := range sig.Results().Variables() {
			if t, ok := types.Unalias(v.Type()).(*types.Named); ok && t.Obj().Name() == "Event" && w.of(t.Obj().Pkg()) == s.machine {
				s.kind = onRecord
				return true
			}
		}
		return false
	case w.isHandle(recv.Type()):
		s.kind = onHandle
	case typeName(recv.Type()) == "Holder":
		s.kind = onHolder
	case typeName(recv.Type()) == "Machine":
		s.kind = onMachine
	default:
		return false
	}
	return true
}

// call returns the argument of a step that is an fsm.Call, or nil.
func (s *step) call(info *types.Info) ast.Expr {
	if len(s.Args) == 0 {
		return nil
	}
	last := s.Args[len(s.Args)-1]
	if named(info.TypeOf(last), "Call") {
		return ast.Unparen(last)
	}
	return nil
}

// elem returns the type of a parameter, of a variadic one that of its elements.
func elem(sig *types.Signature, i int) types.Type {
	t := sig.Params().At(i).Type()
	if list, ok := t.(*types.Slice); ok && sig.Variadic() && i == sig.Params().Len()-1 {
		return list.Elem()
	}
	return t
}

// named reports whether a type is one of the runtime's with a name.
func named(t types.Type, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil &&
		(n.Obj().Pkg().Path() == runtimePath || strings.HasPrefix(n.Obj().Pkg().Path(), runtimePath+"/"))
}

// typeName returns the name of a type, or of what a pointer points to.
func typeName(t types.Type) string {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

var errorType = types.Universe.Lookup("error").Type()

func lastIsError(sig *types.Signature) bool {
	n := sig.Results().Len()
	return n > 0 && types.Identical(sig.Results().At(n-1).Type(), errorType)
}

// receiver returns the variable on which a method is called, or nil.
func receiver(call *ast.CallExpr) *ast.Ident {
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		x, _ := ast.Unparen(sel.X).(*ast.Ident)
		return x
	}
	return nil
}

// isFunc reports whether a call is one of a package's functions, or a method of its types.
func isFunc(info *types.Info, call *ast.CallExpr, path string, names ...string) bool {
	fn, ok := typeutil.Callee(info, call).(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Pkg().Path() != path {
		return false
	}
	for _, name := range names {
		if fn.Name() == name {
			return true
		}
	}
	return false
}
