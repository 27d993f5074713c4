package mutants

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// finder collects the mutants of one file.
type finder struct {
	fset   *token.FileSet
	info   *types.Info
	pkg    *types.Package
	source string
	file   string
	fn     string
	list   []*Mutant
	Options
}

// Options say which kinds are made.
type Options struct {
	Texts bool // texts are changed, too
	// Engine: of hand-written code only its checks, the steps that it takes and
	// the conditions of SQL texts. That errors of a store are handed on is left
	// out: the tests that make stores fail look at it.
	Engine bool
}

// engineKinds are the kinds of mutants of hand-written code.
var engineKinds = []string{"drop if", "drop and", "drop or", "drop case", "bound", "drop", "drop condition", "other order"}

// find returns every mutant of a file, in the order of the source. wanted says
// which functions and variables are looked at.
func (f *finder) find(file *ast.File, wanted func(name string) bool) []*Mutant {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if f.fn = funcName(d); d.Body != nil && wanted(f.fn) {
				ast.Inspect(d.Body, f.visit)
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, s := range d.Specs {
				v := s.(*ast.ValueSpec)
				if f.fn = v.Names[0].Name; !wanted(f.fn) {
					continue
				}
				for _, value := range v.Values {
					ast.Inspect(value, f.visit)
				}
			}
		}
	}
	f.list = slices.DeleteFunc(f.list, func(m *Mutant) bool { return m.Kind == "" })
	slices.SortStableFunc(f.list, func(a, b *Mutant) int { return cmp.Compare(a.edit.start, b.edit.start) })
	Count(f.list)
	return f.list
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
			continue
		case *ast.IndexExpr:
			t = x.X
			continue
		case *ast.Ident:
			return x.Name + "." + d.Name.Name
		}
		return d.Name.Name
	}
}

func (f *finder) text(n ast.Node) string {
	start, end := offsets(f.fset, n)
	return f.source[start:end]
}

func (f *finder) add(n ast.Node, kind, to string, wrap func(number int, inner string) string) {
	start, end := offsets(f.fset, n)
	if f.Engine && (!slices.Contains(engineKinds, kind) || handsOn(f.source[start:end])) {
		kind = "" // dropped at the end: callers change what they have added
	}
	f.list = append(f.list, &Mutant{
		File: f.file, Line: f.fset.Position(n.Pos()).Line, Func: f.fn, Kind: kind,
		Text: OneLine(f.source[start:end]), To: OneLine(to), edit: edit{start, end, wrap},
	})
}

// visit is called for every node, outer ones first.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.cases(n)
		f.statements(n.Body)
	case *ast.IfStmt:
		f.condition(n.Cond, "drop if")
	case *ast.ReturnStmt:
		for _, r := range n.Results {
			if f.isBool(r) {
				f.negate(r)
			}
		}
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.CallExpr:
		return f.call(n)
	case *ast.BasicLit:
		f.literal(n)
	case *ast.SelectorExpr:
		if f.constant(n, n.Sel) {
			return false
		}
	case *ast.Ident:
		f.constant(n, n)
	case *ast.CompositeLit:
		f.composite(n)
	case *ast.KeyValueExpr:
		if !f.hint(n.Value) && !told(n.Key) {
			ast.Inspect(n.Value, f.visit)
		}
		return false
	}
	return true
}

// hint reports whether a value only helps stores to be quick: a write that does not fit what it says has a statement that fits
// all, and a trigger corrects what such a column holds. That it is right is tested where the schema is made.
func (f *finder) hint(e ast.Expr) bool {
	text := f.text(e)
	return strings.HasPrefix(text, "[]driver.OperationInfo{") || strings.HasPrefix(text, "[]driver.WorkedColumn{")
}

// told reports whether a member is there for people and for calls by name. The generated tests make no call by name: the
// engine's suites do, and compare each with the method's.
func told(key ast.Expr) bool {
	name, ok := key.(*ast.Ident)
	return ok && slices.Contains([]string{"Doc", "Rules", "Takes", "Make", "Needs"}, name.Name)
}

// statements: each one that writes or calls is left out, each step is taken twice.
func (f *finder) statements(list []ast.Stmt) {
	drop := func(number int, inner string) string {
		return fmt.Sprintf("if !fsmMutant(%d) { %s }", number, inner)
	}
	twice := func(s ast.Stmt) {
		again := f.text(s)
		f.add(s, "twice", "", func(number int, inner string) string {
			return fmt.Sprintf("%s; if fsmMutant(%d) { %s }", inner, number, again)
		})
	}
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
			f.add(s, "drop", "", drop)
			if s.Tok == token.ADD_ASSIGN || s.Tok == token.SUB_ASSIGN {
				twice(s)
			}
		case *ast.IncDecStmt:
			f.add(s, "drop", "", drop)
			twice(s)
		case *ast.ExprStmt:
			f.add(s, "drop", "", drop)
		case *ast.BranchStmt:
			if s.Tok == token.CONTINUE || s.Tok == token.BREAK {
				f.add(s, "drop", "", drop)
			}
		}
	}
}

// cases: each value of a case is left out; a case with a condition never holds.
func (f *finder) cases(c *ast.CaseClause) {
	for _, e := range c.List {
		switch tv := f.info.Types[e]; {
		case tv.IsType(), tv.IsNil():
		case f.isBool(e):
			f.condition(e, "drop case")
		case tv.Value != nil:
			other := `"no such"`
			if tv.Value.Kind() != constant.String {
				other = "97"
			}
			t := f.typeName(tv.Type)
			f.add(e, "drop case", "", func(number int, inner string) string {
				return fmt.Sprintf("fsmMutated[%s](%d, %s, %s)", t, number, other, inner)
			})
		}
	}
}

// condition: it never holds, or it holds when it did not.
func (f *finder) condition(e ast.Expr, kind string) {
	f.add(e, kind, "", func(number int, inner string) string {
		return fmt.Sprintf("(!fsmMutant(%d) && (%s))", number, inner)
	})
	f.negate(e)
}

func (f *finder) negate(e ast.Expr) {
	f.add(e, "negate", "", func(number int, inner string) string {
		return fmt.Sprintf("(fsmMutant(%d) != bool(%s))", number, inner)
	})
}

func (f *finder) isBool(e ast.Expr) bool {
	t := f.info.TypeOf(e)
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

var boundary = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

// binary: a part of a conjunction is left out, a bound is moved by one, a sum is
// left.
func (f *finder) binary(e *ast.BinaryExpr) {
	x, y := f.text(e.X), f.text(e.Y)
	switch e.Op {
	case token.LAND:
		for _, part := range []ast.Expr{e.X, e.Y} {
			f.add(part, "drop and", "", func(number int, inner string) string {
				return fmt.Sprintf("(fsmMutant(%d) || (%s))", number, inner)
			})
		}
	case token.LOR:
		for _, part := range []ast.Expr{e.X, e.Y} {
			f.add(part, "drop or", "", func(number int, inner string) string {
				return fmt.Sprintf("(!fsmMutant(%d) && (%s))", number, inner)
			})
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		to := fmt.Sprintf("%s %s %s", x, boundary[e.Op], y)
		f.add(e, "bound", to, func(number int, inner string) string {
			return fmt.Sprintf("((!fsmMutant(%d) && (%s)) || (fsmMutant(%d) && (%s)))", number, inner, number, to)
		})
	case token.ADD, token.SUB:
		if f.info.Types[e].Value != nil {
			return
		}
		if b, ok := f.info.TypeOf(e).Underlying().(*types.Basic); !ok || b.Info()&types.IsNumeric == 0 && !f.Texts {
			return
		}
		f.replace(e, "drop operand", x)
	}
}

// replace makes another expression of the same type of one that is free of
// side effects: both are evaluated.
func (f *finder) replace(e ast.Expr, kind, to string) {
	t := f.typeName(f.info.TypeOf(e))
	f.add(e, kind, to, func(number int, inner string) string {
		return fmt.Sprintf("fsmMutated[%s](%d, %s, %s)", t, number, to, inner)
	})
}

// call: bounds of times are moved, conversions that keep the type are left out.
// It returns whether the parts of the call are to be looked at.
func (f *finder) call(c *ast.CallExpr) bool {
	if sel, ok := c.Fun.(*ast.SelectorExpr); ok && len(c.Args) == 1 {
		to := ""
		switch x, y := f.text(sel.X), f.text(c.Args[0]); sel.Sel.Name {
		case "Before":
			to = fmt.Sprintf("!%s.After(%s)", x, y)
		case "After":
			to = fmt.Sprintf("!%s.Before(%s)", x, y)
		}
		if to != "" && f.isTime(sel.X) {
			f.add(c, "bound", to, func(number int, inner string) string {
				return fmt.Sprintf("((!fsmMutant(%d) && (%s)) || (fsmMutant(%d) && (%s)))", number, inner, number, to)
			})
		}
	}
	if tv := f.info.Types[c.Fun]; !tv.IsType() && len(c.Args) == 1 {
		if t := f.info.TypeOf(c); t != nil && types.Identical(t, f.info.TypeOf(c.Args[0])) && pureExpr(c.Args[0]) {
			f.replace(c, "unwrap", f.text(c.Args[0]))
		}
	}
	f.targets(c)
	if f.builtin(c, "panic") || f.name(c.Fun) == "Errorf" || f.name(c.Fun) == "Sprintf" || f.name(c.Fun) == "New" {
		for _, a := range c.Args {
			if _, ok := a.(*ast.BasicLit); !ok {
				ast.Inspect(a, f.visit)
			}
		}
		return false
	}
	return true
}

// targets: the state that a step leads to becomes each of the others, not only
// the next.
func (f *finder) targets(c *ast.CallExpr) {
	if f.name(c.Fun) != "move" {
		return
	}
	for _, a := range c.Args {
		if id, ok := a.(*ast.Ident); ok && strings.HasPrefix(id.Name, "State") {
			for i, other := range f.siblings(f.info.ObjectOf(id)) {
				if i > 0 {
					f.replace(a, "target", other)
				}
			}
		}
	}
}

func (f *finder) name(fun ast.Expr) string {
	switch x := fun.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

func (f *finder) builtin(c *ast.CallExpr, name string) bool {
	id, ok := c.Fun.(*ast.Ident)
	return ok && id.Name == name
}

func (f *finder) isTime(e ast.Expr) bool {
	t := f.info.TypeOf(e)
	return t != nil && t.String() == "time.Time"
}

// pureExpr reports whether an expression may be evaluated once more.
func pureExpr(e ast.Expr) bool {
	pure := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.UnaryExpr:
			pure = pure && n.Op != token.ARROW
		case *ast.CallExpr, *ast.FuncLit, *ast.IndexExpr, *ast.TypeAssertExpr, *ast.StarExpr:
			pure = false
		}
		return pure
	})
	return pure
}

// literal: a number becomes its neighbours, a text another one.
func (f *finder) literal(l *ast.BasicLit) {
	switch l.Kind {
	case token.INT:
		n, err := strconv.ParseInt(l.Value, 0, 64)
		if err != nil {
			return
		}
		for _, other := range []int64{n + 1, n - 1} {
			f.replace(l, "number", strconv.FormatInt(other, 10))
		}
	case token.STRING:
		f.sql(l)
		if text, err := strconv.Unquote(l.Value); err == nil && f.Texts {
			f.replace(l, "text", strconv.Quote(text+"~"))
		}
	}
}

var (
	sqlCondition = regexp.MustCompile(`(?:WHERE|AND) ((?:"[a-z_]+"|\("rev", "n"\)) (?:=|<>|<=|>=|<|>) (?:\?|%s|0|\(\?, \?\)))`)
	sqlOrder     = regexp.MustCompile(`ORDER BY "[a-z_]+"`)
)

// sql: a condition always holds, an order is turned around. The parameters stay.
func (f *finder) sql(l *ast.BasicLit) {
	text := l.Value
	if !f.Engine || text[0] != '`' {
		return
	}
	change := func(kind, what, to string) {
		f.add(l, kind, "", func(number int, inner string) string {
			return fmt.Sprintf("fsmMutated[string](%d, %s, %s)", number, to, inner)
		})
		f.list[len(f.list)-1].Text = what
	}
	for _, c := range sqlCondition.FindAllStringSubmatchIndex(text, -1) {
		what := text[c[2]:c[3]]
		change("drop condition", what+" in "+OneLine(text), text[:c[2]]+"("+what+" OR 1 = 1)"+text[c[3]:])
	}
	for _, c := range sqlOrder.FindAllStringIndex(text, -1) {
		change("other order", text[c[0]:c[1]]+" in "+OneLine(text), text[:c[1]]+" DESC"+text[c[1]:])
	}
}

// handsOn reports whether a condition only hands an error on.
func handsOn(condition string) bool { return condition == "err != nil" || condition == "err == nil" }

// constant: a name of a closed set becomes the next of its kind. It reports
// whether the node was one.
func (f *finder) constant(n ast.Expr, id *ast.Ident) bool {
	list := f.siblings(f.info.Uses[id])
	if len(list) == 0 {
		return false
	}
	f.replace(n, "swap", list[0])
	return true
}

// siblings returns the names of the same kind as obj, the next one first:
// constants of one declared type, or the sentinels of a package.
func (f *finder) siblings(obj types.Object) []string {
	if obj == nil || obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() {
		return nil
	}
	named, _ := obj.Type().(*types.Named)
	_, isConst := obj.(*types.Const)
	_, isVar := obj.(*types.Var)
	sentinel := isVar && strings.HasPrefix(obj.Name(), "Err")
	if !(isConst && named != nil && named.Obj().Pkg() == obj.Pkg()) && !sentinel {
		return nil
	}
	var all []types.Object
	for _, name := range obj.Pkg().Scope().Names() {
		o := obj.Pkg().Scope().Lookup(name)
		_, c := o.(*types.Const)
		if c == isConst && types.Identical(o.Type(), obj.Type()) && (obj.Pkg() == f.pkg || o.Exported()) &&
			(!sentinel || strings.HasPrefix(name, "Err")) {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b types.Object) int { return cmp.Compare(a.Pos(), b.Pos()) })
	at := slices.Index(all, obj)
	var names []string
	for i := 1; i < len(all); i++ {
		o := all[(at+i)%len(all)]
		if c, ok := o.(*types.Const); ok && constant.Compare(c.Val(), token.EQL, obj.(*types.Const).Val()) {
			continue
		}
		name := o.Name()
		if o.Pkg() != f.pkg {
			name = o.Pkg().Name() + "." + name
		}
		names = append(names, name)
	}
	return names
}

// composite: an entry of a list or a field is left out, neighbours change places.
func (f *finder) composite(c *ast.CompositeLit) {
	t := f.info.TypeOf(c)
	if t == nil {
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		f.elements(c, t, u)
	case *types.Struct:
		for i := range u.NumFields() {
			f.field(c, u.Field(i))
		}
	}
}

func (f *finder) field(c *ast.CompositeLit, field *types.Var) {
	for _, e := range c.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok || f.name(kv.Key) != field.Name() {
			continue
		}
		if l, ok := kv.Value.(*ast.BasicLit); ok && (l.Kind == token.INT || f.Texts) {
			return
		}
		ft := f.typeName(field.Type())
		if u, ok := f.info.TypeOf(c).(*types.Named); ok && u.TypeArgs().Len() > 0 {
			ft = f.typeName(f.info.TypeOf(kv.Value))
		}
		if ft == "untyped nil" || ft == "nil" {
			return
		}
		key := field.Name()
		f.add(kv.Value, "drop field", "", func(number int, inner string) string {
			return fmt.Sprintf("fsmMutated[%s](%d, *new(%s), %s)", ft, number, ft, inner)
		})
		f.list[len(f.list)-1].Text = OneLine(key + ": " + f.text(kv.Value))
	}
}

func (f *finder) elements(c *ast.CompositeLit, t types.Type, s *types.Slice) {
	if len(c.Elts) == 0 || f.name(c.Type) == "byte" {
		return
	}
	name := f.typeName(t)
	literal := func(parts []string) string { return name + "{" + strings.Join(parts, ", ") + "}" }
	parts := make([]string, len(c.Elts))
	for i, e := range c.Elts {
		if _, ok := e.(*ast.KeyValueExpr); ok {
			return
		}
		parts[i] = f.text(e)
		if l, ok := e.(*ast.CompositeLit); ok && l.Type == nil {
			if _, pointer := s.Elem().(*types.Pointer); pointer {
				return
			}
			parts[i] = f.typeName(s.Elem()) + parts[i]
		}
	}
	change := func(kind, what, to string) {
		f.add(c, kind, "", func(number int, inner string) string {
			if c.Type == nil && strings.HasPrefix(inner, "{") { // not a mutant of the same list
				inner = name + inner
			}
			return fmt.Sprintf("fsmMutated[%s](%d, %s, %s)", name, number, to, inner)
		})
		f.list[len(f.list)-1].Text = OneLine(what)
	}
	for i, p := range parts {
		change("drop element", p, literal(slices.Delete(slices.Clone(parts), i, i+1)))
	}
	if b, ok := s.Elem().Underlying().(*types.Basic); ok && b.Info()&types.IsNumeric == 0 {
		return // lists of words are sets
	}
	for i := range len(parts) - 1 {
		swapped := slices.Clone(parts)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		change("swap elements", parts[i]+", "+parts[i+1], literal(swapped))
	}
}

// typeName writes a type as the file would.
func (f *finder) typeName(t types.Type) string {
	return types.TypeString(types.Default(t), func(p *types.Package) string {
		if p == f.pkg {
			return ""
		}
		return p.Name()
	})
}
