package gen

import (
	"bytes"
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// A package of the pure layer alone imports the standard library only, and has what
// its machine uses. Operations are emitted as in the package with a store; what they
// name of the runtime is declared in the package itself: fsm.Some is its own Some.

// purePackage is the pure layer of one machine in the making, without a store below it.
type purePackage struct {
	*pure
	rules   bool // some state has a MUST rule
	created bool // facts read when a record was made, or when it moved
	updated bool
}

func newAlone(m *spec.Machine, n *names) *purePackage {
	a := &purePackage{pure: &pure{m: m, n: n, used: make(map[string]bool)}, created: reads(m, m.Builtin[0]), updated: reads(m, m.Builtin[1])}
	a.pkg = a
	s := scope{n: n}
	a.rules = slices.ContainsFunc(m.States, func(st *spec.State) bool {
		return strings.Contains(s.stateRules(m, st), ", true)")
	})
	return a
}

// aloneSupport is where the declarations go that stand for those of the runtime.
const aloneSupport = "_aloneSupport_"

func aloneFile(m *spec.Machine, n *names, _ Options) ([]byte, error) {
	a := newAlone(m, n)
	f := newFile(n)
	first := fmt.Sprintf("Package %s is the machine of %s.", n.Package, n.Record)
	if m.Doc != "" {
		first = fmt.Sprintf("Package %s is the machine of %s: %s", n.Package, n.Record, lead(sentence(m.Doc)))
	}
	f.PackageComment(strings.TrimRight(doc(first, fmt.Sprintf(
		"Its operations are functions that make one and methods that move it. They do no input or output and know no clock, and the %s is untouched when they refuse.",
		n.Record)).GoString(), "\n") + added(m))
	a.enum(f, stateType(m, n))
	a.states(f)
	a.constants(f)
	for _, e := range n.enums {
		a.enum(f, valueType(e))
	}
	sentinels(f, n)
	f.Line().Add(raw(aloneSupport))
	a.record(f)
	a.event(f)
	for _, o := range m.Operations {
		input(f, n, o)
		if err := a.operation(f, o); err != nil {
			return nil, err
		}
	}
	a.can(f)
	if len(m.Fields) > 0 {
		a.check(f)
	}
	if a.rules || len(m.Fields) > 0 {
		ruleList(f, m, n)
	}
	a.steps(f)
	a.helpers(f)
	a.values(f)
	return a.render(f)
}

// added lists in comments what the package with a store has beside this one.
func added(m *spec.Machine) string {
	left := validate.LeftOut(m)
	if left == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n//\n// The specification has more than this package; with a store below it, it also has\n")
	for _, l := range left {
		lines := strings.Split(strings.TrimRight(doc(l.What).GoString(), "\n"), "\n")
		for i, line := range lines {
			text := strings.TrimPrefix(line, "// ")
			fmt.Fprintf(&b, "//%s%s\n", []string{"   - ", "     "}[min(i, 1)], text)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// render writes the file with the support that it uses, and its imports.
func (a *purePackage) render(f *jen.File) ([]byte, error) {
	f.NoFormat = true
	var b bytes.Buffer
	if err := f.Render(&b); err != nil {
		return nil, err
	}
	text, used := a.own(b.String())
	text = strings.Replace(text, aloneSupport, a.support(used), 1)
	return aloneImports(text, "bytes", "encoding/json", "errors", "fmt", "math", "slices", "strconv", "strings", "time")
}

// aloneImports formats a file with the imports that it uses of the given ones.
func aloneImports(text string, paths ...string) ([]byte, error) {
	head, body, _ := strings.Cut(text, "\npackage ")
	name, body, _ := strings.Cut(body, "\n")
	if rest, ok := strings.CutPrefix(strings.TrimLeft(body, "\n"), "import "); ok { // those of jennifer
		if strings.HasPrefix(rest, "(") {
			_, body, _ = strings.Cut(rest, ")\n")
		} else {
			_, body, _ = strings.Cut(rest, "\n")
		}
	}
	imports := ""
	for _, path := range paths {
		if uses(body, path[strings.LastIndex(path, "/")+1:]+".") {
			imports += fmt.Sprintf("%q\n", path)
		}
	}
	if imports != "" {
		imports = "import (\n" + imports + ")\n"
	}
	src, err := format.Source([]byte(head + "\npackage " + name + "\n\n" + imports + "\n" + body))
	if err != nil {
		return nil, fmt.Errorf("format: %w", err)
	}
	return src, nil
}

// own puts the package's own declarations in the place of those of the runtime, and
// gives receivers the name that fits their type. It returns what was put in.
func (a *purePackage) own(text string) (string, map[string]bool) {
	used := map[string]bool{}
	receiver := a.receiver()
	var b strings.Builder
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	done := 0
	var before [2]string // the two tokens before
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		at := file.Offset(pos)
		switch {
		case tok == token.IDENT && before == [2]string{"fsm", "."}:
			b.WriteString(strings.TrimSuffix(strings.TrimRight(text[done:at], " "), "fsm."))
			b.WriteString(a.n.ours("package", lit))
			used[lit] = true
			done = at + len(lit)
		case tok == token.IDENT && lit == "j" && before[1] != ".":
			b.WriteString(text[done:at] + receiver)
			done = at + len(lit)
		}
		if tok != token.IDENT {
			lit = tok.String()
		}
		before = [2]string{before[1], lit}
	}
	b.WriteString(text[done:])
	return b.String(), used
}

// receiver names the record in its methods: its first letter, or more of it where a
// parameter or a variable has that name.
func (a *purePackage) receiver() string {
	name := strings.ToLower(a.n.Record)
	for i := range name {
		short := name[:i+1]
		if !slices.Contains([]string{"e", "v", "in", "ok", "op", "to", "no", "r", "t", "i", "now", "actor", "next", "step", "rule", "must", "event", "first", "found", "possible", "text"}, short) && !token.IsKeyword(short) {
			return short
		}
	}
	return "j"
}

// enum adds a type with its constants and its texts.
func (a *purePackage) enum(f *jen.File, t *enumType) {
	f.Line().Add(doc(t.doc...)).Type().Id(t.name).Id(t.integer())
	f.Line().Add(doc(t.block)).Const().DefsFunc(func(g *jen.Group) {
		for i, c := range t.consts {
			text := jen.Null()
			if c.doc != "" {
				text = docIndented(1, c.name+": "+lead(c.doc))
			}
			g.Add(text).Add(enumConstant(t, i, c))
		}
	})
	f.Line()
	enumTable(f.Null(), t.table("Names"), t, func(c enumConst) string { return c.word })
	r, names := receiver(t.name), t.table("Names")
	put := func(format string, args ...any) { f.Line().Add(raw("\n"+format, args...)) }
	put(`// String returns the name in the specification.
func (%[1]s %[2]s) String() string {
	if !%[1]s.Valid() {
		return fmt.Sprintf("%[2]s(%%d)", uint16(%[1]s))
	}
	return %[3]s[%[1]s]
}`, r, t.name, names)
	put(`// Valid reports whether %[1]s is one of the %[4]ss of the specification.
func (%[1]s %[2]s) Valid() bool { return %[1]s > 0 && int(%[1]s) < len(%[3]s) }`, r, t.name, names, t.noun)
	put(`// MarshalText writes the name, so that JSON does not depend on the order of the %[4]ss.
func (%[1]s %[2]s) MarshalText() ([]byte, error) {
	if !%[1]s.Valid() {
		return nil, fmt.Errorf("%%v is no %[4]s", %[1]s)
	}
	return []byte(%[3]s[%[1]s]), nil
}`, r, t.name, names, t.noun)
	put(`// UnmarshalText reads what MarshalText writes. An unknown name is an error.
func (%[1]s *%[2]s) UnmarshalText(text []byte) error {
	at := slices.Index(%[3]s[1:], string(text))
	if at < 0 {
		return fmt.Errorf("%%q is no %[4]s", text)
	}
	*%[1]s = %[2]s(at + 1)
	return nil
}`, r, t.name, names, t.noun)
}

// states adds what only states have.
func (a *purePackage) states(f *jen.File) {
	f.Line().Add(raw(`
// States returns all states, in the order of the specification.
func States() []State {
	all := make([]State, len(stateNames)-1)
	for i := range all {
		all[i] = State(i + 1)
	}
	return all
}`))
	method := func(text, name string, is func(*spec.State) bool) {
		var terms []string
		for _, s := range a.m.States {
			if is(s) {
				terms = append(terms, "s == "+a.n.state(s))
			}
		}
		if terms != nil {
			f.Line().Line().Add(doc(text)).Add(raw("func (s State) %s() bool { return %s }", name, strings.Join(terms, " || ")))
		}
	}
	method("Terminal reports whether no operation leaves the state.", "Terminal", func(s *spec.State) bool { return s.Terminal })
	method("Final reports whether a record in the state is finished, though an operation may leave it.", "Final", func(s *spec.State) bool { return s.Final })
}

// constants adds the names of operations and events.
func (a *purePackage) constants(f *jen.File) {
	f.Line().Line().Add(doc("The operations, in the order of the specification.")).Const().DefsFunc(func(g *jen.Group) {
		for _, o := range a.m.Operations {
			g.Id(a.n.op(o).Const).Op("=").Lit(o.Name)
		}
	})
	f.Line().Line().Add(doc("The events, in the order of the operations that they tell of.")).Const().DefsFunc(func(g *jen.Group) {
		for _, e := range a.n.events {
			g.Id(e.Const).Op("=").Lit(e.Name)
		}
	})
}

// aloneCauses are the causes of refusals that every machine may have.
var aloneCauses = []struct{ name, text string }{
	{"ErrWrongState", "not possible in this state"},
	{"ErrTerminal", "nothing is possible any more"},
	{"ErrInvalidInput", "an input cannot be taken"},
	{"ErrActorMissing", "nobody is named who does it"},
	{"ErrInvariant", "a rule would be broken"},
	{"ErrOverflow", "a field cannot hold the value"},
}

// record adds the type of the record.
func (a *purePackage) record(f *jen.File) {
	n := a.n
	text := fmt.Sprintf("%s is what the machine moves. Change it by its methods only: they keep its rules.", n.Record)
	if !a.rules {
		text = fmt.Sprintf("%s is what the machine moves. Change it by its methods only.", n.Record)
	}
	f.Line().Add(doc(text)).Type().Id(n.Record).StructFunc(func(g *jen.Group) {
		g.Id("State").Id("State").Tag(tag("state", false))
		if a.created {
			g.Id("CreatedAt").Qual("time", "Time").Tag(tag("created_at", false))
		}
		if a.updated {
			g.Id("UpdatedAt").Qual("time", "Time").Tag(tag("updated_at", false)).Comment("of the last transition")
		}
		for _, x := range a.m.Fields {
			text := jen.Null()
			if x.Doc != "" {
				text = docIndented(1, fieldDoc(n, x))
			}
			g.Add(text).Id(n.field(x)).Add(raw(n.fieldType(x))).Tag(tag(x.Name, x.Type.Optional))
		}
	})
}

func (a *purePackage) event(f *jen.File) {
	f.Line().Line().Add(doc("Event says what an operation did.")).Type().Id("Event").StructFunc(func(g *jen.Group) {
		g.Id("Name").String().Comment("one of the Event constants")
		g.Id("From").Id("State").Comment("zero where one was made")
		g.Id("To").Id("State")
		if recordsOnly(a.m) {
			g.Id("RecordOnly").Bool().Comment("the call is no mistake, and changes nothing")
		}
		if notesGuards(a.m) {
			g.Id("Guard").String().Comment("with RecordOnly: the guard that failed, if it was one")
		}
	})
}

// recordsOnly reports whether some call is recorded and changes nothing.
func recordsOnly(m *spec.Machine) bool {
	return slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool {
		return !creates(o) && slices.Contains(m.Row(o), spec.RecordOnly) ||
			o.OnRefusalRecordOnly || slices.ContainsFunc(o.Choose, func(b *spec.Branch) bool { return b.RecordOnly })
	})
}

// notesGuards reports whether some failed guard is recorded.
func notesGuards(m *spec.Machine) bool {
	return slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool {
		return o.OnRefusalRecordOnly && !creates(o) && len(o.Require) > 0
	})
}

// ownMessages reports whether some guard says something else than its error.
func (n *names) ownMessages(m *spec.Machine) bool {
	return slices.ContainsFunc(m.Guards, func(g *spec.Guard) bool { return n.error(g.Error) != nil && n.ownMessage(g) != "" })
}

// readsNow reports whether what an operation does depends on the time, where no store
// keeps the times of records.
func readsNow(m *spec.Machine, o *spec.Operation) bool {
	for _, f := range allFacts(o) {
		if f.Left.Kind == spec.TermNow || f.Right.Kind == spec.TermNow {
			return true
		}
	}
	for _, e := range allEffects(o) {
		for _, x := range e.Set {
			if x.Value.Kind == spec.ValueNow {
				return true
			}
		}
	}
	return reads(m, m.Builtin[1]) && len(targets(o)) > 0 || creates(o) && reads(m, m.Builtin[0])
}

// can adds the question whether an operation is possible, and the states that answer it.
func (a *purePackage) can(f *jen.File) {
	name := a.n.ours("record", "Can")
	f.Line().Line().Add(doc("possible lists the states in which each operation does not refuse by itself.")).Var().Id("possible").Op("=").
		Map(jen.String()).Index().Id("State").ValuesFunc(func(g *jen.Group) {
		for _, o := range a.m.Operations {
			var in []string
			for i, class := range a.m.Row(o) {
				if class != spec.Reject && !creates(o) {
					in = append(in, a.n.state(a.m.States[i]))
				}
			}
			if in != nil {
				g.Line().Id(a.n.op(o).Const).Op(":").Add(raw("{%s}", strings.Join(in, ", ")))
			}
		}
		g.Line()
	})
	a.used["refuseState"] = true
	f.Line().Line().Add(doc(fmt.Sprintf("%s reports whether an operation is possible in the state of the %s: nil, or the refusal that its method returns. It does not look at guards and inputs; to try these, call the method on a copy.", name, a.n.Record))).
		Func().Params(raw("j %s", a.n.Record)).Id(name).Params(raw("operation string")).Error().Block(
		jen.If(raw("slices.Contains(possible[operation], j.State)")).Block(jen.Return(jen.Nil())),
		jen.Return(raw("j.refuseState(operation)")),
	)
}

// check adds the function that looks at a record, whoever made it.
func (a *purePackage) check(f *jen.File) {
	name := a.n.ours("package", "Check")
	f.Line().Line().Add(doc(fmt.Sprintf("%s lists the rules that %s breaks. Its methods refuse one that breaks a MUST rule.", name, withArticle(a.n.Record)))).
		Func().Id(name).Params(raw("j %s", a.n.Record)).Index().Add(raw("fsm.Violation")).BlockFunc(func(g *jen.Group) {
		g.If(raw("!j.State.Valid()")).Block(jen.Return(raw(`[]fsm.Violation{{Rule: "state", Must: true}}`)))
		g.Add(raw("var found []fsm.Violation"))
		for _, b := range (scope{n: a.n}).fieldRules(a.m) {
			g.Add(jen.If(raw(b.when.String())).Block(raw("found = append(found, fsm.Violation{Rule: %q, Must: true})", b.rule)))
		}
		g.Add(raw("j.rules").Call(jen.Func().Params(raw("rule string, must bool")).Bool().Block(
			raw("found = append(found, fsm.Violation{Rule: rule, Must: must})"),
			jen.Return(jen.True()),
		)))
		g.Return(raw("found"))
	})
}

// byState reports whether the state alone decides what an operation does, so that one
// switch says it all.
func (e *operationEmitter) byState() bool {
	o := e.o
	return e.n.alone && len(o.Choose) > 0 && !creates(o) && len(o.Require) == 0 && o.Effects.Empty() &&
		!slices.ContainsFunc(o.Choose, func(b *spec.Branch) bool { return len(b.When) > 0 })
}

func (e *operationEmitter) chooseByState() error {
	outer, base := e.code, e.s.changes
	rest := states(e.o.From)
	var cases []jen.Code
	for _, b := range e.o.Choose {
		var in []string
		rest = slices.DeleteFunc(rest, func(s *spec.State) bool {
			taken := b.From == nil || slices.Contains(states(b.From), s)
			if taken {
				in = append(in, e.n.state(s))
			}
			return taken
		})
		e.code, e.s.changes = nil, base.clone()
		if err := e.branch(b); err != nil {
			return err
		}
		cases = append(cases, jen.Case(raw(strings.Join(in, ", "))).Block(e.code...))
	}
	e.s.changes = base
	e.code = append(outer, jen.Switch(raw("j.State")).Block(cases...), e.fail("refuseState", ""))
	return nil
}

// finishAlone ends an operation with a step to the target.
func (e *operationEmitter) finishAlone(target string) {
	a := e.pkg
	args := []string{e.c.Event}
	if len(e.m.Fields) > 0 {
		copied := "next := *j"
		if creates(e.o) {
			copied = "next := j"
		}
		e.add(raw(copied))
		e.add(e.s.changes.writes(e.n)...)
		args = append(args, "&next")
	}
	if args = append(args, target); a.updated {
		args = append(args, "now")
	}
	if !a.rules {
		step := raw("j.step(%s)", strings.Join(args, ", "))
		if creates(e.o) {
			e.add(raw("e := ").Add(step), jen.Return(raw("j, e, nil")))
			return
		}
		e.add(jen.Return(step, jen.Nil()))
		return
	}
	step := raw("j.step(%s)", strings.Join(append([]string{e.c.Const}, args...), ", "))
	if !creates(e.o) {
		e.add(jen.Return(step))
		return
	}
	e.add(
		raw("e, err := ").Add(step),
		jen.If(raw("err != nil")).Block(jen.Return(raw("%s{}, Event{}, err", e.n.Record))),
		jen.Return(raw("j, e, nil")),
	)
}

// steps adds what ends an operation that is not refused.
func (a *purePackage) steps(f *jen.File) {
	var params, before []string
	text, results := "step moves the record, and tells of it.", "Event"
	if a.rules {
		text = "step takes a step that was decided on a copy, unless the copy breaks a rule: then somebody else made the record."
		params, results = append(params, "op"), "(Event, error)"
	}
	params = append(params, "event")
	typed := strings.Join(params, ", ") + " string"
	moved := "j.State = to"
	if len(a.m.Fields) > 0 {
		typed += ", next *" + a.n.Record
		moved = "*j = *next"
		before = append(before, "next.State = to")
	}
	typed += ", to State"
	if a.updated {
		typed += ", now time.Time"
		if len(a.m.Fields) > 0 {
			before = append(before, "if now.After(next.UpdatedAt) {\nnext.UpdatedAt = now\n}")
		} else {
			moved += "\nif now.After(j.UpdatedAt) {\nj.UpdatedAt = now\n}"
		}
	}
	end := "return e"
	if a.rules {
		before = append(before, "if rule := next.broken(); rule != \"\" {\nreturn Event{}, j.refuseRule(op, fsm.ErrInvariant, rule)\n}")
		a.used["refuseRule"] = true
		end += ", nil"
	}
	lines := append(before, "e := Event{Name: event, From: j.State, To: to}", moved, end)
	f.Line().Line().Add(doc(text)).Add(raw("func (j *%s) step(%s) %s {\n%s\n}", a.n.Record, typed, results, strings.Join(lines, "\n")))
	if !a.used["note"] {
		return
	}
	param, field := "name string", ""
	if notesGuards(a.m) {
		param, field = "name, guard string", ", Guard: guard"
	}
	f.Line().Line().Add(doc("note tells of a call that changes nothing.")).
		Add(raw("func (j *%s) note(%s) Event {\nreturn Event{Name: name, From: j.State, To: j.State, RecordOnly: true%s}\n}", a.n.Record, param, field))
}

// helpers adds the functions that make refusals.
func (a *purePackage) helpers(f *jen.File) {
	refusal := a.n.refusal()
	method := func(text, name, params, body string) {
		f.Line().Line().Add(doc(text)).Add(raw("func (j *%s) %s(%s) *%s {\n%s\n}", a.n.Record, name, params, refusal, body))
	}
	method("refuse refuses an operation.", "refuse", "op string, cause error",
		fmt.Sprintf("return &%s{Operation: op, State: j.State, Cause: cause}", refusal))
	over := ""
	if ends(a.m) {
		over = "if j.State.Terminal() {\nreturn j.refuse(op, fsm.ErrTerminal)\n}\n"
	}
	method("refuseState refuses an operation that is not possible in the state.", "refuseState", "op string", over+"return j.refuse(op, fsm.ErrWrongState)")
	if a.used["refuseGuard"] && a.n.ownMessages(a.m) {
		method("refuseGuard refuses by a guard or a branch.", "refuseGuard", "op, name, message string, cause error",
			"r := j.refuse(op, cause)\nr.Name, r.Message = name, message\nreturn r")
	} else if a.used["refuseGuard"] {
		method("refuseGuard refuses by a guard or a branch.", "refuseGuard", "op, name string, cause error",
			"r := j.refuse(op, cause)\nr.Name = name\nreturn r")
	}
	if a.used["refuseInput"] {
		method("refuseInput refuses an input that cannot be taken.", "refuseInput", "op, name, problem string",
			"r := j.refuse(op, fsm.ErrInvalidInput)\nr.Name, r.Message = name, problem\nreturn r")
	}
	if a.used["refuseRule"] {
		method("refuseRule refuses a step after which a rule would be broken, or a field could not hold its value.", "refuseRule", "op string, cause error, name string",
			"r := j.refuse(op, cause)\nr.Name = name\nreturn r")
	}
}
