package vet

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Word finds states and operations that are compared as texts.
var Word = &analysis.Analyzer{
	Name: "fsmword",
	Doc: `report a state or an operation that is compared as a text or a number

A text is not checked: a name that is misspelt, or that the next version renames, is
just never equal.

	if job.State.String() == "queued" {}        // wrong
	if job.State == 1 {}                        // wrong
	if job.State == lifecycle.StateQueued {}    // right
	if event.Operation == "claim_next" {}       // wrong
	if event.Operation == lifecycle.OpClaimNext {} // right

Tests are passed over: they may say what the words are.`,
	URL:      page("fsmword"),
	Requires: needs,
	Run:      runWord,
}

func runWord(pass *analysis.Pass) (any, error) {
	w := worldOf(pass)
	if w == nil {
		return nil, nil
	}
	for _, f := range w.files {
		if isTest(pass, f) {
			continue
		}
		l := &words{world: w, pass: pass, info: pass.TypesInfo, file: f}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					l.compared(n)
				}
			case *ast.SwitchStmt:
				l.switched(n)
			case *ast.CallExpr:
				l.converted(n)
			}
			return true
		})
	}
	return nil, nil
}

// words looks at one file.
type words struct {
	*world
	pass *analysis.Pass
	info *types.Info
	file *ast.File
}

// compared judges a comparison.
func (l *words) compared(n *ast.BinaryExpr) {
	x, y := n.X, n.Y
	if l.info.Types[x].Value != nil {
		x, y = y, x
	}
	if l.number(n, x, y) {
		return
	}
	text, ok := literal(l.info, y)
	if !ok {
		return
	}
	if v, m, typ := l.spelled(x); m != nil {
		word, known := m.word(typ, text)
		if !known {
			l.report(l.pass, n, nil, "%s.%s has no word %q, so the two are never equal; compare with its constants", m.packageName(), typ, text)
			return
		}
		var fix []analysis.SuggestedFix
		q, ok := l.name(n.Pos(), m, word.Go)
		if ok {
			fix = replace("Compare with "+q, n, types.ExprString(v)+" "+n.Op.String()+" "+q)
		}
		l.report(l.pass, n, fix, "%s.%s is compared as a text; compare it with %s", m.packageName(), typ, m.packageName()+"."+word.Go)
		return
	}
	if m, name, call := l.field(x, text); m != nil {
		l.told(n, x, l.fieldFix(y, m, name, call), m, name+call)
	}
}

// number judges a comparison with a number.
func (l *words) number(n *ast.BinaryExpr, x, y ast.Expr) bool {
	m, typ := l.wordType(l.info.TypeOf(x))
	if m == nil {
		return false
	}
	if lit, ok := ast.Unparen(y).(*ast.BasicLit); ok && lit.Kind == token.INT && lit.Value != "0" {
		l.byNumber(n, lit, m, typ)
	}
	return true
}

// byNumber reports a number that stands for a word.
func (l *words) byNumber(n, lit ast.Expr, m *machineInfo, typ string) {
	var fix []analysis.SuggestedFix
	instead := "its constants"
	if v := l.info.Types[lit].Value; v != nil {
		for i, word := range m.words(typ) {
			if fmt.Sprint(i+1) != number(constant.ToInt(v)) {
				continue
			}
			instead = m.packageName() + "." + word.Go
			if q, ok := l.name(n.Pos(), m, word.Go); ok {
				fix = replace("Use "+q, lit, q)
			}
		}
	}
	l.report(l.pass, n, fix, "%s.%s is written as a number, which is another one when the specification changes; use %s",
		m.packageName(), typ, instead)
}

// converted judges a conversion of a number.
func (l *words) converted(c *ast.CallExpr) {
	if len(c.Args) != 1 || !l.info.Types[c.Fun].IsType() {
		return
	}
	m, typ := l.wordType(l.info.TypeOf(c.Fun))
	if m == nil {
		return
	}
	if lit, ok := ast.Unparen(c.Args[0]).(*ast.BasicLit); ok && lit.Kind == token.INT && lit.Value != "0" {
		var fix []analysis.SuggestedFix
		for i, word := range m.words(typ) {
			if fmt.Sprint(i+1) == lit.Value {
				if q, ok := l.name(c.Pos(), m, word.Go); ok {
					fix = replace("Use "+q, c, q)
				}
			}
		}
		l.report(l.pass, c, fix, "%s.%s is made of a number, which is another one when the specification changes; use its constants",
			m.packageName(), typ)
	}
}

// switched judges a switch over a text.
func (l *words) switched(n *ast.SwitchStmt) {
	if n.Tag == nil {
		return
	}
	if v, m, typ := l.spelled(n.Tag); m != nil {
		l.wordSwitch(n, v, m, typ)
		return
	}
	for c := range caseExprs(n.Body) {
		text, ok := literal(l.info, c)
		if !ok {
			continue
		}
		if m, name, call := l.field(n.Tag, text); m != nil {
			l.told(c, n.Tag, l.fieldFix(c, m, name, call), m, name+call)
		}
	}
}

// wordSwitch reports a switch over the text of a value. The fix replaces tag and cases at once.
func (l *words) wordSwitch(n *ast.SwitchStmt, v ast.Expr, m *machineInfo, typ string) {
	fix := analysis.SuggestedFix{Message: "Switch over the constants", TextEdits: []analysis.TextEdit{
		{Pos: n.Tag.Pos(), End: n.Tag.End(), NewText: []byte(types.ExprString(v))},
	}}
	all, some := true, false
	for c := range caseExprs(n.Body) {
		text, ok := literal(l.info, c)
		if !ok {
			all = false
			continue
		}
		some = true
		word, known := m.word(typ, text)
		q, ok := l.name(c.Pos(), m, word.Go)
		if !known {
			l.report(l.pass, c, nil, "%s.%s has no word %q, so this case is never taken; switch over its constants", m.packageName(), typ, text)
		}
		all = all && known && ok
		fix.TextEdits = append(fix.TextEdits, analysis.TextEdit{Pos: c.Pos(), End: c.End(), NewText: []byte(q)})
	}
	if !some {
		return
	}
	var fixes []analysis.SuggestedFix
	if all {
		fixes = []analysis.SuggestedFix{fix}
	}
	l.report(l.pass, n.Tag, fixes, "%s.%s is compared as a text; switch over its constants", m.packageName(), typ)
}

// literal returns a text that is written where it stands.
func literal(info *types.Info, e ast.Expr) (string, bool) {
	if lit, ok := ast.Unparen(e).(*ast.BasicLit); ok && lit.Kind == token.STRING {
		return textOf(info, lit)
	}
	return "", false
}

// spelled returns the value whose text an expression is: of x.String(), string(x) and fmt.Sprint(x).
func (l *words) spelled(e ast.Expr) (v ast.Expr, m *machineInfo, typ string) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return nil, nil, ""
	}
	sel, isSel := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	switch {
	case len(call.Args) == 0 && isSel && sel.Sel.Name == "String":
		v = sel.X
	case len(call.Args) == 1 && (isFunc(l.info, call, "fmt", "Sprint") || l.info.Types[call.Fun].IsType() && isText(l.info.TypeOf(call.Fun))):
		v = call.Args[0]
	default:
		return nil, nil, ""
	}
	m, typ = l.wordType(l.info.TypeOf(v))
	return v, m, typ
}

func isText(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.String
}

// field returns the constant that a text stands for in a field of an event or a refusal
// which holds words: only where exactly one machine in reach has the word.
func (l *words) field(x ast.Expr, text string) (m *machineInfo, name, call string) {
	sel, ok := ast.Unparen(x).(*ast.SelectorExpr)
	if !ok {
		return nil, "", ""
	}
	t := l.info.TypeOf(sel.X)
	if t == nil {
		return nil, "", ""
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if !named(t, "Event") && !named(t, "Refusal") && !named(t, "Outcome") {
		return nil, "", ""
	}
	for _, candidate := range l.sorted() {
		found, ending := l.wordOf(candidate, sel.Sel.Name, text)
		if found == "" {
			continue
		}
		if m != nil {
			return nil, "", ""
		}
		m, name, call = candidate, found, ending
	}
	return m, name, call
}

// wordOf finds a text among the words of one machine that a field may hold.
func (l *words) wordOf(m *machineInfo, field, text string) (name, call string) {
	prefix := map[string]string{"Operation": "Op", "Name": "Event"}[field]
	switch field {
	case "From", "To", "State", "CurrentState":
		if word, ok := m.word("State", text); ok {
			return word.Go, ".String()"
		}
		return "", ""
	case "Operation", "Name":
		scope := l.packageOf(m)
		if scope == nil {
			return "", ""
		}
		for _, n := range scope.Names() {
			c, ok := scope.Lookup(n).(*types.Const)
			if ok && strings.HasPrefix(n, prefix) && c.Val().Kind() == constant.String && constant.StringVal(c.Val()) == text {
				return n, ""
			}
		}
	}
	return "", ""
}

// packageOf returns the names of a machine's package where the code imports it.
func (l *words) packageOf(m *machineInfo) *types.Scope {
	if m.Path == l.pass.Pkg.Path() {
		return l.pass.Pkg.Scope()
	}
	for _, p := range l.pass.Pkg.Imports() {
		if p.Path() == m.Path {
			return p.Scope()
		}
	}
	return nil
}

// told reports a field that is compared with a text.
func (l *words) told(at analysis.Range, field ast.Expr, fix []analysis.SuggestedFix, m *machineInfo, name string) {
	l.report(l.pass, at, fix, "%s is compared with a text; compare it with %s.%s", types.ExprString(field), m.packageName(), name)
}

func (l *words) fieldFix(y ast.Expr, m *machineInfo, name, call string) []analysis.SuggestedFix {
	if q, ok := l.name(y.Pos(), m, name); ok {
		return replace("Use "+q+call, y, q+call)
	}
	return nil
}

// name writes a name of a machine's package where it is used.
func (l *words) name(at token.Pos, m *machineInfo, name string) (string, bool) {
	return qualified(l.pass, l.file, at, m.Path, name)
}
