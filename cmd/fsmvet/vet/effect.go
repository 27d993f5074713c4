package vet

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// Effect finds handlers of atomic effects that leave the transaction.
var Effect = &analysis.Analyzer{
	Name: "fsmeffect",
	Doc: `report an atomic effect that calls another service

The handler of an atomic effect runs within the transaction of the step. What it does
outside is done even when the transaction is taken back, and it is done again when the
step is tried again. The row is locked meanwhile:

	func (e effects) ApplyResult(ctx context.Context, tx *sql.Tx, x execution.Execution, key string, _ fsm.Event) error {
		_, err := http.Post(url, "application/json", body) // wrong
		return err
	}

Write through tx alone, or let the effect run after the commit: leave "atomic: true" out.
Calls of net, net/http, net/smtp, net/rpc, os/exec and gRPC are found, also within
functions that the handler calls, and those of a *sql.DB beside the transaction.`,
	URL:       page("fsmeffect"),
	Requires:  needs,
	FactTypes: []analysis.Fact{new(leaves)},
	Run:       runEffect,
}

// leaves is the fact that a function calls another service.
type leaves struct{ Via string }

// AFact marks leaves as a fact.
func (*leaves) AFact() {}

// String says how.
func (l *leaves) String() string { return "leaves via " + l.Via }

func runEffect(pass *analysis.Pass) (any, error) {
	if standard(pass.Pkg.Path()) {
		return nil, nil
	}
	w := pass.ResultOf[machines].(*world)
	e := &effects{world: w, pass: pass, info: pass.TypesInfo, bodies: map[*types.Func]*ast.FuncDecl{}, via: map[*types.Func]string{}}
	for _, f := range pass.Files {
		for _, decl := range f.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Body != nil {
				if fn, ok := e.info.Defs[d.Name].(*types.Func); ok {
					e.order = append(e.order, fn)
					e.bodies[fn] = d
				}
			}
		}
	}
	for changed := true; changed; { // functions call each other
		changed = false
		for _, fn := range e.order {
			if e.via[fn] != "" {
				continue
			}
			if call := e.first(e.bodies[fn].Body); call != nil {
				e.via[fn] = e.leaves(call)
				changed = true
			}
		}
	}
	for _, fn := range e.order {
		if via := e.via[fn]; via != "" {
			pass.ExportObjectFact(fn, &leaves{via})
		}
	}
	e.handlers()
	return nil, nil
}

// effects looks at one package.
type effects struct {
	*world
	pass   *analysis.Pass
	info   *types.Info
	order  []*types.Func // of the file
	bodies map[*types.Func]*ast.FuncDecl
	via    map[*types.Func]string // how a function leaves the process
}

// handlers reports the handlers of atomic effects that leave the transaction.
func (e *effects) handlers() {
	for _, f := range e.files {
		for _, decl := range f.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok || d.Body == nil || d.Recv == nil || !e.atomic(d) {
				continue
			}
			ast.Inspect(d.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if via := e.leaves(call); via != "" {
					e.report(e.pass, call, nil, "the atomic effect %s calls %s within the transaction of the step: "+
						"that is not taken back with it, and may be done again; let the effect run after the commit", d.Name.Name, via)
				} else if e.otherConnection(call) {
					e.report(e.pass, call, nil, "the atomic effect %s uses a connection beside the transaction of the step; use its parameter",
						d.Name.Name)
				}
				return true
			})
		}
	}
}

// first returns a call of a body that leaves the process, or nil.
func (e *effects) first(body *ast.BlockStmt) (found *ast.CallExpr) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && found == nil && e.leaves(call) != "" {
			found = call
		}
		return found == nil
	})
	return found
}

// services are the functions and methods of the standard library that call others.
var services = map[string][]string{
	"net/http": {"Do", "Get", "Head", "Post", "PostForm", "RoundTrip"},
	"net": {"Dial", "DialContext", "DialTimeout", "DialTCP", "DialUDP", "DialUnix", "DialIP",
		"LookupHost", "LookupIP", "LookupIPAddr", "LookupAddr", "LookupCNAME", "LookupMX", "LookupSRV", "LookupTXT"},
	"net/rpc":    {"Dial", "DialHTTP", "DialHTTPPath", "Call"},
	"net/smtp":   {"Dial", "SendMail", "Mail", "Rcpt", "Data"},
	"crypto/tls": {"Dial", "DialContext", "DialWithDialer"},
	"os/exec":    {"Run", "Start", "Output", "CombinedOutput"},

	"google.golang.org/grpc": {"Invoke", "NewStream", "Dial", "DialContext"},
}

// leaves returns what a call reaches outside of the process, or nothing.
func (e *effects) leaves(call *ast.CallExpr) string {
	fn, ok := typeutil.Callee(e.info, call).(*types.Func)
	if !ok || fn.Pkg() == nil {
		return ""
	}
	fn = fn.Origin()
	for _, name := range services[fn.Pkg().Path()] {
		if fn.Name() == name && !headerOf(fn) {
			return fn.Pkg().Name() + "." + name
		}
	}
	if sig := fn.Signature(); sig.Variadic() && sig.Recv() != nil { // a generated client
		t, ok := elem(sig, sig.Params().Len()-1).(*types.Named)
		if ok && t.Obj().Name() == "CallOption" && t.Obj().Pkg().Path() == "google.golang.org/grpc" {
			return "gRPC by " + fn.Name()
		}
	}
	if via := e.via[fn]; via != "" {
		return fn.Name() + ", which calls " + last(via)
	}
	var fact leaves
	if fn.Pkg() != e.pass.Pkg && !strings.HasPrefix(fn.Pkg().Path(), runtimePath) && e.pass.ImportObjectFact(fn, &fact) {
		return fn.Pkg().Name() + "." + fn.Name() + ", which calls " + last(fact.Via)
	}
	return ""
}

// last returns the end of a chain of calls.
func last(via string) string {
	_, end, found := strings.Cut(via, "which calls ")
	if found {
		return last(end)
	}
	return via
}

// headerOf reports whether a function named Get is one of http.Header and the like.
func headerOf(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	if recv == nil {
		return false
	}
	switch typeName(recv.Type()) {
	case "Header", "Request", "Response", "Cookie":
		return true
	}
	return false
}

// otherConnection reports whether a call is one of a *sql.DB or a pool: not of the transaction.
func (e *effects) otherConnection(call *ast.CallExpr) bool {
	fn, ok := typeutil.Callee(e.info, call).(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Signature().Recv() == nil {
		return false
	}
	path, typ := fn.Pkg().Path(), typeName(fn.Signature().Recv().Type())
	if path != "database/sql" || typ != "DB" {
		if !strings.HasSuffix(path, "/pgxpool") || typ != "Pool" {
			return false
		}
	}
	for _, verb := range []string{"Exec", "Query", "Begin", "Prepare", "SendBatch", "CopyFrom"} {
		if strings.HasPrefix(fn.Name(), verb) {
			return true
		}
	}
	return false
}

// atomic reports whether a method handles an effect that runs in the transaction: its
// name and its types are those of a method of Effects that takes one.
func (e *effects) atomic(d *ast.FuncDecl) bool {
	fn, ok := e.info.Defs[d.Name].(*types.Func)
	if !ok {
		return false
	}
	params := fn.Signature().Params()
	if params.Len() < 3 {
		return false
	}
	record, ok := types.Unalias(params.At(2).Type()).(*types.Named)
	if !ok || e.of(record.Obj().Pkg()) == nil {
		return false
	}
	obj, ok := record.Obj().Pkg().Scope().Lookup("Effects").(*types.TypeName)
	if !ok {
		return false
	}
	all, ok := obj.Type().Underlying().(*types.Interface)
	if !ok {
		return false
	}
	for m := range all.Methods() {
		if m.Name() == fn.Name() && m.Signature().Params().Len() == params.Len() {
			_, isTx := types.Unalias(m.Signature().Params().At(1).Type()).(*types.TypeParam)
			return isTx || named(m.Signature().Params().At(1).Type(), "Tx")
		}
	}
	return false
}

// standard reports whether a package is of the standard library.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	switch first {
	case "archive", "bufio", "bytes", "cmd", "cmp", "compress", "container", "context", "crypto", "database", "debug", "embed", "encoding",
		"errors", "expvar", "flag", "fmt", "go", "hash", "html", "image", "index", "internal", "io", "iter", "log", "maps", "math", "mime",
		"net", "os", "path", "plugin", "reflect", "regexp", "runtime", "slices", "sort", "strconv", "strings", "structs", "sync", "syscall",
		"testing", "text", "time", "unicode", "unique", "unsafe", "vendor", "weak":
		return true
	}
	return false
}
