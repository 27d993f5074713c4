package gen

import (
	"fmt"
	"go/format"
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// testsPath is the import path of what generated tests call.
const testsPath = runtimePath + "/fsmcases"

// enginePath is the import path of the suites about the engine.
const enginePath = "github.com/fsmgen/fsmgen/internal/lab/enginetest"

// testFile writes the tests of one machine: calls with what must come of them, and
// adapters without a decision of their own. What the tests expect follows from the
// specification, never from the generated code.
func testFile(m *spec.Machine, n *names, opt Options) ([]byte, error) {
	body := &testEmitter{m: m, n: n, opt: opt}
	over := ": by the pure methods, and over each store"
	if n.alone {
		over = ""
	}
	body.line("// Test%s makes the calls of testCases%s.", spec.GoName(m.Name), over)
	body.line("func Test%s(t *testing.T) { testPackage.Run(t) }", spec.GoName(m.Name))
	body.line("")
	body.cases()
	body.reach()
	body.pure()
	if !n.alone {
		body.durable()
	}
	body.inputs()
	if n.alone {
		body.sent()
		body.performed()
	} else {
		body.effects()
	}
	return formatted(m, n, opt, body)
}

// formatted is a test file with its imports.
func formatted(m *spec.Machine, n *names, opt Options, body *testEmitter) ([]byte, error) {
	e := &testEmitter{m: m, n: n, opt: opt}
	e.line("// %s", header)
	e.line("")
	e.line("package %s", n.Package)
	e.line("")
	e.imports(body.String())
	e.WriteString(body.String())
	text, err := format.Source([]byte(e.String()))
	if err != nil {
		return nil, fmt.Errorf("format the tests: %w", err)
	}
	return text, nil
}

// testWriter writes Go text of a test file, which gofmt aligns
// at the end.
type testWriter struct{ strings.Builder }

func (w *testWriter) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// fill writes the elements of a literal on one line where they fit, else one a line.
func fill(list []string) string {
	if one := strings.Join(list, ", "); len(one) <= 80 {
		return one
	}
	return "\n" + strings.Join(list, ",\n") + ",\n"
}

// entry writes `Key: "value"` pairs, without the empty ones.
func entry(pairs ...string) string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, pairs[i]+": "+strconv.Quote(pairs[i+1]))
		}
	}
	return strings.Join(list, ", ")
}

type testEmitter struct {
	testWriter
	m   *spec.Machine
	n   *names
	opt Options
}

// imports writes the imports that the body uses.
func (e *testEmitter) imports(body string) {
	used := selected([]byte(body)) // a text or a comment may hold anything
	e.line("import (")
	for _, x := range []struct{ use, path string }{
		{"context", "context"}, {"sql", "database/sql"}, {"fmt", "fmt"}, {"iter", "iter"}, {"filepath", "path/filepath"}, {"testing", "testing"}, {"time", "time"},
	} {
		if used[x.use] {
			e.line("%q", x.path)
		}
	}
	e.line("")
	for _, line := range runtimeImports([]byte(body)) {
		e.line("%s", line)
	}
	if used["enginetest"] {
		e.line("%q", enginePath)
	}
	if used["fsmcases"] {
		e.line("%q", testsPath)
	}
	for _, pkg := range []string{"memstore", "postgres", "sqlite"} {
		if used[pkg] {
			e.line("%q", runtimePath+"/"+pkg)
		}
	}
	e.line(")")
	e.line("")
}

// reach writes how the tests reach the package.
func (e *testEmitter) reach() {
	n := e.n
	e.line("// testPackage is the package as the tests reach it, and what must come of its calls.")
	e.line("var testPackage = %s[%s]{", n.of("fsmcases.Package"), n.Record)
	e.moves()
	if n.alone {
		e.line("Check: %s, Ends: %s(States()),", n.ours("package", "Check"), n.of("fsmcases.Ends"))
	} else {
		e.line("Descriptor: &descriptor, Check: %s, Fold: %s, Ends: fsmcases.Ends(States()),", n.ours("package", "Check"), n.ours("package", "Fold"))
	}
	e.line("Equal: %s.%s, Can: %s.%s, Possible: %s.%s, Pure: testPure,", n.Record, n.ours("record", "Equal"), n.Record,
		n.ours("record", "Can"),
		n.Record, n.ours("record", "Possible"))
	if n.alone && e.m.AllAsks() != nil {
		e.line("Perform: func(event any, r %s) (done []string) {", n.Record)
		e.line("event.(Event).Perform(r, (*testEffects)(&done))")
		e.line("return done")
		e.line("},")
	}
	e.named()
	if len(n.errors) > 0 {
		e.line("Errors: map[string]error{")
		for _, x := range n.errors {
			e.line("%q: %s,", x.Name, x.Var)
		}
		e.line("},")
	}
	e.vocabularies()
	if !n.alone {
		e.projection()
		e.line("Migrate: %s,", n.ours("package", "Migrate"))
		e.opens()
		e.stores()
	}
	e.line("}")
	e.line("")
}

func (e *testEmitter) vocabularies() {
	m, n := e.m, e.n
	var list []string
	vocabulary := func(name, values string, words, stored, gone []string) {
		w, s := strings.Join(words, ", "), strings.Join(stored, ", ")
		if s == w {
			s = ""
		}
		more := ""
		for _, word := range gone {
			more += fmt.Sprintf(", %q", word)
		}
		list = append(list, fmt.Sprintf("%s(%q, %s, %q, %q%s)", n.of("fsmcases.Words"), name, values, w, s, more))
	}
	var words, stored, gone []string
	for _, s := range m.States {
		words, stored = append(words, s.Name), append(stored, s.Stored())
	}
	for _, r := range m.Removed {
		gone = append(gone, r.Name+": "+r.To.State.Name)
	}
	vocabulary("State", "States()", words, stored, gone)
	for _, g := range m.Groups {
		var in []string
		for _, s := range g.States {
			in = append(in, s.Name)
		}
		method := groupMethod(g)
		list = append(list, fmt.Sprintf("%s(%q, State.%s, States(), %q)", n.of("fsmcases.InGroup"), method, method, strings.Join(in, ", ")))
	}
	var consts []string
	for _, x := range n.enums {
		words, stored = nil, nil
		for _, v := range x.Values {
			words, stored = append(words, spec.QuoteWord(v.Name)), append(stored, spec.QuoteWord(v.Stored()))
		}
		vocabulary(x.Type, "[]"+x.Type+"{"+strings.Join(x.Consts, ", ")+"}", words, stored, nil)
	}
	if p := m.Projection; p != nil && !n.alone {
		t := projectionType(p)
		consts = nil
		for _, c := range t.consts {
			consts = append(consts, c.name)
		}
		words = projectedStates(p)
		vocabulary(t.name, "[]"+t.name+"{"+strings.Join(consts, ", ")+"}", words, words, nil)
	}
	e.line("Words: []%s{%s},", n.of("fsmcases.Vocabulary"), fill(list))
}

// pure writes the calls of the pure methods.
func (e *testEmitter) pure() {
	e.line("// testPure calls the pure method of an operation.")
	p := newPure(e.m, e.n)
	e.line("func testPure(r *%s, operation string, c %s) (e any, err error) {", e.n.Record, e.n.of("fsmcases.Call"))
	e.line("switch operation {")
	for _, o := range e.m.Operations {
		c := e.n.op(o)
		now := "c.Now()"
		if e.n.alone && !p.asksNow(o) {
			now = ""
		}
		args := pureArgs(c, o, e.inputsOf(o), e.peersValue(o), "c.Actor", "c.Reason", now)
		e.line("case %q:", o.Name)
		switch {
		case creates(o) && p.keeps["ID"]:
			e.line("*r, e, err = %s(c.ID, %s)", c.Method, args)
		case creates(o):
			e.line("*r, e, err = %s(%s)", c.Method, args)
		default:
			e.line("return r.%s(%s)", c.Method, args)
		}
	}
	e.line("}")
	e.line("return e, err")
	e.line("}")
	e.line("")
}

// named writes how the tests call an operation by its name.
func (e *testEmitter) named() {
	p := newPure(e.m, e.n)
	ops := p.callable()
	if ops == nil {
		return
	}
	var members, timed []string
	for _, x := range p.callMembers(ops) {
		members = append(members, x.name+": "+x.sent)
	}
	for _, o := range ops {
		if p.asksNow(o) {
			timed = append(timed, o.Name)
		}
	}
	call := ""
	if members != nil {
		call = fmt.Sprintf(", %s{%s}", e.n.ours("package", "Call"), strings.Join(members, ", "))
	}
	if timed != nil {
		e.line("Timed: %q,", strings.Join(timed, ", "))
	}
	e.line("Do: func(r *%s, operation string, c %s, inputs map[string]any) (any, error) {", e.n.Record, e.n.of("fsmcases.Call"))
	e.line("return r.%s(operation%s)", e.n.ours("record", "Do"), call)
	e.line("},")
	if slices.ContainsFunc(ops, func(o *spec.Operation) bool { return len(o.Inputs) > 0 }) {
		e.line("Sent: testInputs,")
	}
}

// sent writes what a call by name brings.
func (e *testEmitter) sent() {
	ops := slices.DeleteFunc(newPure(e.m, e.n).callable(), func(o *spec.Operation) bool { return len(o.Inputs) == 0 })
	if len(ops) == 0 {
		return
	}
	e.line("// testInputs has the inputs of a call by their names.")
	e.line("func testInputs(operation string, c %s) map[string]any {", e.n.of("fsmcases.Call"))
	e.line("inputs := map[string]any{}")
	e.line("switch operation {")
	for _, o := range ops {
		e.line("case %q:", o.Name)
		for _, in := range o.Inputs {
			e.line("%s[%s](c, inputs, %q, %t)", e.n.of("fsmcases.Send"), e.n.goType(in.Type, e.n.inputType(in)), in.Name, in.Type.Optional)
		}
	}
	e.line("}")
	e.line("return inputs")
	e.line("}")
	e.line("")
}

// performed writes a type that notes which effects a pure package performs.
func (e *testEmitter) performed() {
	all := e.m.AllAsks()
	if all == nil {
		return
	}
	e.line("// testEffects notes what is performed.")
	e.line("type testEffects []string")
	e.line("")
	for _, x := range all {
		e.line("func (done *testEffects) %s(%s, Event) { *done = append(*done, %q) }", spec.MethodName(x.Name), e.n.Record, x.Name)
	}
}

func (e *testEmitter) peersValue(o *spec.Operation) string {
	var parts []string
	for _, g := range peerGuards(o) {
		parts = append(parts, fmt.Sprintf("%s: c.Peers[%q]", e.n.peer(g), g.Name))
	}
	for _, f := range sequences(e.m, o) {
		parts = append(parts, fmt.Sprintf("%s: c.Peers[%q]", e.n.sequence(e.m, f), f.Name))
	}
	return e.n.op(o).Peers + "{" + strings.Join(parts, ", ") + "}"
}

// keyValue writes a part of a projection's key as rows have it; empty for what
// rows hold in another form.
func (e *testEmitter) keyValue(f *spec.Field) string {
	value := "p." + e.n.field(f)
	switch f.Type.Kind {
	case spec.KindEnum, spec.KindJSON, spec.KindSet:
		return ""
	}
	if f.Type.Optional {
		return "fsmcases.OrNil(" + value + ")"
	}
	return value
}

func (e *testEmitter) projection() {
	p := e.m.Projection
	if p == nil {
		return
	}
	e.line("Project: func(records []%s) fsmcases.Projected {", e.n.Record)
	e.line("p := %s(records)", e.n.ours("package", "Project"))
	var fields []string
	for _, f := range p.Fields {
		value := "p." + spec.GoName(f.Name)
		if f.Agg != "count" {
			value = "fsmcases.OrNil(" + value + ")"
		}
		fields = append(fields, strconv.Quote(f.Name)+": "+value)
	}
	var key []string
	for _, k := range p.Key {
		if value := e.keyValue(k.Field); value != "" {
			key = append(key, fmt.Sprintf("%q: %s", k.Field.Name, value))
		}
	}
	e.line("return fsmcases.Projected{State: p.State.String(), Key: map[string]any{%s}, Fields: map[string]any{%s}}", strings.Join(key, ", "), strings.Join(fields, ", "))
	e.line("},")
	if len(p.Transitions) > 0 {
		t := projectionType(p)
		var consts []string
		for _, c := range t.consts {
			consts = append(consts, c.name)
		}
		all := "[]" + t.name + "{" + strings.Join(consts, ", ") + "}"
		e.line("Leads: func(from, to string) bool {")
		e.line("all := %s", all)
		e.line("return fsmcases.Named(all, from).Leads(fsmcases.Named(all, to))")
		e.line("},")
	}
}

func (e *testEmitter) inputFunc(o *spec.Operation) string {
	return "test" + e.n.op(o).Input
}

// inputsOf takes the inputs of an operation out of the call c.
func (e *testEmitter) inputsOf(o *spec.Operation) string {
	if len(o.Inputs) == 1 {
		return e.n.op(o).Input + "{" + e.n.input(o.Inputs[0]) + ": " + e.inputValue(o.Inputs[0]) + "}"
	}
	return e.inputFunc(o) + "(c)"
}

// inputs writes one function for each operation with several inputs, which takes them
// out of an abstract call.
func (e *testEmitter) inputs() {
	for _, o := range e.m.Operations {
		typ := e.n.op(o).Input
		if typ == "" || len(o.Inputs) == 1 {
			continue
		}
		var list []string
		for _, in := range o.Inputs {
			list = append(list, e.n.input(in)+": "+e.inputValue(in))
		}
		e.line("func %s(c %s) %s {", e.inputFunc(o), e.n.of("fsmcases.Call"), typ)
		e.line("return %s{%s}", typ, fill(list))
		e.line("}")
		e.line("")
	}
}

// given are the arguments of a durable form behind its target or id.
func (e *testEmitter) given(o *spec.Operation) string {
	call := "c.Given()"
	if o.By == spec.BySystem {
		call = "c.GivenBySystem()"
	}
	return callArgs(o, e.n.op(o), "c.ID", e.inputsOf(o), call)
}

// inputValue takes an input out of an abstract call.
func (e *testEmitter) inputValue(in *spec.Input) string {
	return e.callValue(in.Name, in.Type, e.n.inputType(in))
}

// callValue takes a value of a type out of an abstract call.
func (e *testEmitter) callValue(name string, t spec.Type, enum *enumNames) string {
	if e.n.alone {
		of := "fsmcases.Input"
		if isOptional(t) {
			of = "fsmcases.Opt"
		}
		return fmt.Sprintf("%s[%s](c, %q)", e.n.of(of), e.n.goType(t, enum), name)
	}
	method := map[spec.Kind]string{
		spec.KindString: "Text", spec.KindInt: "Int", spec.KindCounter: "Int", spec.KindSequence: "Int", spec.KindBool: "Bool",
		spec.KindTime: "Time", spec.KindDuration: "Duration", spec.KindJSON: "JSON", spec.KindSet: "Set",
	}[t.Kind]
	if t.Kind == spec.KindEnum {
		word := "fsmcases.Word[" + enum.Type + "]"
		if isOptional(t) {
			return fmt.Sprintf("fsmcases.Opt(c, %q, %s)", name, word)
		}
		return fmt.Sprintf("%s(c, %q)", word, name)
	}
	if isOptional(t) {
		return fmt.Sprintf("fsmcases.Opt(c, %q, fsmcases.Call.%s)", name, method)
	}
	return fmt.Sprintf("c.%s(%q)", method, name)
}
