package gen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// aloneTests writes the tests of a package without a store, which import the standard
// library alone.
type aloneTests struct {
	testWriter
	*purePackage
}

func aloneTestFile(m *spec.Machine, n *names, _ Options) ([]byte, error) {
	e := &aloneTests{purePackage: newAlone(m, n)}
	e.line("// %s\n\npackage %s\n", header, n.Package)
	var cases, checks strings.Builder
	fixed := len(m.Fields) == 0 && !e.created && !e.updated
	for _, o := range m.Operations {
		if fixed && len(o.Inputs) == 0 && !needsActor(o) && !readsNow(m, o) {
			continue // the matrix says it all
		}
		for _, x := range newSearch(m, false).calls(o) {
			e.testCase(&cases, x)
		}
	}
	if len(m.Fields) > 0 {
		for _, x := range newSearch(m, false).checks() {
			fmt.Fprintf(&checks, "{%s, %q},\n", e.record(x.record), violations(x.broken))
		}
	}
	e.matrix()
	if cases.Len() > 0 {
		e.line("// testCases are calls at the edge of each rule, with what comes of them. A refused call")
		e.line("// changes nothing, so it has no after.")
		e.line("var testCases = []struct {\nbefore %s\ncall func(x *%[1]s) (Event, error)\nafter %[1]s\nwant string\n}{", n.Record)
		e.WriteString(cases.String())
		e.line("}\n")
	}
	if checks.Len() > 0 {
		e.line("// testChecks are %ss at the edge of each rule, with what they break.", n.Record)
		e.line("var testChecks = []struct {\nrecord %s\nbroken string\n}{", n.Record)
		e.WriteString(checks.String())
		e.line("}\n")
	}
	e.functions(cases.Len() > 0, checks.Len() > 0)
	return aloneImports(strings.ReplaceAll(e.String(), "\n\n}", "\n}"), "cmp", "encoding", "encoding/json", "errors", "fmt", "slices", "strings", "testing", "time")
}

// matrix writes where each operation leads from each state, and a call of each.
func (e *aloneTests) matrix() {
	e.line("// testMoves says where each operation leads from each state; new is what is there before")
	e.line("// one is made. From a state that is not listed it is refused. Where more than the state")
	e.line("// decides there is a question mark, and testCases say what happens.")
	e.line("var testMoves = map[string]string{")
	for _, o := range e.m.Operations {
		e.line("%q: %q,", o.Name, strings.Join(e.cells(o), ", "))
	}
	e.line("}\n")
	e.line("// testCalls call each operation with inputs that it takes.")
	e.line("var testCalls = map[string]func(x *%s) (Event, error){", e.n.Record)
	for _, o := range e.m.Operations {
		e.line("%q: %s,", o.Name, e.call(newSearch(e.m, false).firstCalls(o)[0].call))
	}
	e.line("}\n")
}

func (e *aloneTests) cells(o *spec.Operation) []string {
	fixed := len(e.m.Fields) == 0 && !needsActor(o) && !readsNow(e.m, o) && len(o.Inputs) == 0
	call := interp.Call{Op: o, Actor: someone, At: noon}
	lead := func(s *spec.State) string {
		if !fixed {
			return "?"
		}
		d, refusal := interp.Decide(e.m, interp.NewRecord(e.m, "").In(s), call, interp.Others{})
		switch {
		case refusal != nil:
			return "refused as " + refusal.Guard
		case d.RecordOnly:
			return "(recorded)"
		}
		return d.To.Name
	}
	if creates(o) {
		return []string{"(new) -> " + lead(nil)}
	}
	var list []string
	for i, class := range e.m.Row(o) {
		switch s := e.m.States[i]; class {
		case spec.Transition:
			list = append(list, s.Name+" -> "+lead(s))
		case spec.RecordOnly:
			to := "(recorded)"
			if len(strangerGuards(o, []*spec.State{s})) > 0 {
				to = "?"
			}
			list = append(list, s.Name+" -> "+to)
		}
	}
	return list
}

// call writes the function that makes a call.
func (e *aloneTests) call(c interp.Call) string {
	o, names := c.Op, e.n.op(c.Op)
	var args []string
	if names.Input != "" {
		var inputs []string
		for _, in := range o.Inputs {
			if v, there := c.Inputs[in.Name]; there {
				var enum *enumNames
				if in.Type.Kind == spec.KindEnum {
					enum = e.n.inputType(in)
				}
				inputs = append(inputs, e.n.input(in)+": "+e.value(v, in.Type, enum))
			}
		}
		args = append(args, names.Input+"{"+strings.Join(inputs, ", ")+"}")
	}
	if needsActor(o) {
		args = append(args, strconv.Quote(c.Actor))
	}
	if readsNow(e.m, o) {
		args = append(args, instant(c.At))
	}
	if creates(o) {
		return fmt.Sprintf("func(x *%s) (e Event, err error) {\n*x, e, err = %s(%s)\nreturn e, err\n}", e.n.Record, names.Method, strings.Join(args, ", "))
	}
	return fmt.Sprintf("func(x *%s) (Event, error) { return x.%s(%s) }", e.n.Record, names.Method, strings.Join(args, ", "))
}

// instant writes a time as it stands to that of most calls.
func instant(t time.Time) string {
	if t.IsZero() {
		return "time.Time{}"
	}
	return fmt.Sprintf("testTime(%d)", t.Sub(noon).Microseconds())
}

func (e *aloneTests) value(v interp.Value, t spec.Type, enum *enumNames) string {
	var text string
	switch v.Kind {
	case interp.KindJSON:
		if text = e.n.ours("package", "MustJSON") + "(" + strconv.Quote(v.Text) + ")"; v.Text == "null" {
			text = e.n.ours("package", "JSON") + "{}"
		}
	case interp.KindSet:
		return e.n.ours("package", "NewSet") + "(" + strings.Join(quoted(v.Members()), ", ") + ")"
	case interp.KindAbsent:
		return e.n.ours("package", "Optional") + "[" + strings.Replace(goType(t, enum), "fsm.JSON", e.n.ours("package", "JSON"), 1) + "]{}"
	case interp.KindString:
		text = strconv.Quote(v.Text)
	case interp.KindBool:
		text = strconv.FormatBool(v.Num != 0)
	case interp.KindTime:
		if text = instant(v.AsTime()); v == interp.Time(time.Time{}) {
			text = "time.Time{}"
		}
	case interp.KindWord:
		if text = enum.word(v.Text); text == "" {
			text = enum.Type + "(0)"
		}
	default:
		if text = strconv.FormatInt(v.Num, 10); t.Optional {
			text = "int64(" + text + ")"
		}
	}
	if t.Optional {
		return e.n.ours("package", "Some") + "(" + text + ")"
	}
	return text
}

// record writes a record.
func (e *aloneTests) record(r interp.Record) string {
	var list []string
	add := func(name, value string) { list = append(list, name+": "+value) }
	if r.State != nil {
		add("State", e.n.state(r.State))
	}
	if e.created && !r.CreatedAt.IsZero() {
		add("CreatedAt", instant(r.CreatedAt))
	}
	if e.updated && !r.UpdatedAt.IsZero() {
		add("UpdatedAt", instant(r.UpdatedAt))
	}
	for i, f := range e.m.Fields {
		v := r.Fields[i]
		if v.Kind != interp.KindAbsent && v != interp.Int(0) && v != interp.Bool(false) && v != interp.Set() || f.Type.Optional && v.Kind != interp.KindAbsent {
			add(e.n.field(f), e.value(v, f.Type, e.n.fieldEnum(f)))
		}
	}
	return e.n.Record + "{" + strings.Join(list, ", ") + "}"
}

func (e *aloneTests) testCase(b *strings.Builder, x tried) {
	put := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	open := "{"
	if !creates(x.call.Op) {
		put("{before: %s,", e.record(x.before))
		open = ""
	}
	put("%scall: %s,", open, e.call(x.call))
	if x.refusal == nil && !x.done.RecordOnly {
		put("after: %s,", e.record(x.done.Record))
	}
	put("want: %q},", e.outcome(x))
}

// outcome writes what becomes of a call as the tests tell it.
func (e *aloneTests) outcome(x tried) string {
	o := x.call.Op
	if r := x.refusal; r != nil {
		return e.refused(o, r, x.before.State)
	}
	from := "(new)"
	if x.done.From != nil {
		from = x.done.From.Name
	}
	text := o.Event + ": " + from + " -> "
	switch {
	case !x.done.RecordOnly:
		return text + x.done.To.Name
	case x.done.Guard != "":
		return text + "(recorded) for " + x.done.Guard
	}
	return text + "(recorded)"
}

// refused writes the text of a refusal.
func (e *aloneTests) refused(o *spec.Operation, r *interp.Refusal, in *spec.State) string {
	text := e.m.Name + ": " + o.Name
	if in != nil {
		text += " in state " + in.Name
	}
	about := func(cause, name, message string) string {
		if name != "" {
			name = " (" + name + ")"
		}
		if message != "" {
			message = ": " + message
		}
		return text + ": " + cause + name + message
	}
	cause := func(name string) string {
		i := slices.IndexFunc(aloneCauses, func(c struct{ name, text string }) bool { return c.name == name })
		return aloneCauses[i].text
	}
	switch r.Code {
	case interp.CodeGuard:
		x, message := e.n.error(r.Sentinel), ""
		if i := slices.IndexFunc(e.m.Guards, func(g *spec.Guard) bool { return g.Name == r.Guard }); i >= 0 && r.Guard != r.Sentinel {
			message = e.n.ownMessage(e.m.Guards[i])
		}
		return about(x.text(), r.Guard, message)
	case interp.CodeInvalidInput:
		return about(cause("ErrInvalidInput"), r.Name, e.problem(o, r.Name))
	}
	return about(cause("Err"+spec.GoName(r.Code)), r.Name, "")
}

// problem says what inputs an operation takes.
func (e *aloneTests) problem(o *spec.Operation, name string) string {
	in := o.Input(name)
	switch in.Type.Kind {
	case spec.KindString:
		return "it is empty"
	case spec.KindTime:
		return "it is zero"
	case spec.KindJSON:
		return map[bool]string{true: "it is null", false: "it is missing"}[in.Type.Optional]
	case spec.KindSet:
		return "a member is empty"
	case spec.KindEnum:
		return "expected " + list(words(in.Type.Values), "or")
	}
	lo, hi := inputBounds(o, in)
	_, problem := outsideBounds("", lo, hi)
	return problem
}

// violations writes the rules that a record breaks.
func violations(list []interp.Violation) string {
	var rules []string
	for _, v := range list {
		rule := v.Rule
		if !v.Must {
			rule = "should: " + rule
		}
		rules = append(rules, rule)
	}
	slices.Sort(rules)
	return strings.Join(rules, "; ")
}

// functions writes the tests themselves.
func (e *aloneTests) functions(cases, checks bool) {
	record, causes := e.n.Record, map[bool]string{}
	causes[false] = e.n.ours("package", "ErrWrongState")
	if causes[true] = causes[false]; ends(e.m) {
		causes[true] = e.n.ours("package", "ErrTerminal")
	}
	told := `
func testTold(e Event, err error) string {
	if err != nil {
		return err.Error()
	}
	from, to := "(new)", e.To.String()
	if e.From != 0 {
		from = e.From.String()
	}
RECORDED	return e.Name + ": " + from + " -> " + to
}
`
	recorded := ""
	if recordsOnly(e.m) {
		recorded = "if e.RecordOnly && e.To == e.From {\nto = \"(recorded)\"\n}\n"
	}
	if notesGuards(e.m) {
		recorded = "if e.RecordOnly && e.To == e.From {\nto = \"(recorded)\"\n}\nif e.Guard != \"\" {\nto += \" for \" + e.Guard\n}\n"
	}
	told = strings.Replace(told, "RECORDED", recorded, 1)
	e.line("// testTold tells what came of a call in one line.%s", told)
	e.line("// Test%s calls every operation in every state, and in none.", spec.GoName(e.m.Name)+"Moves")
	e.line("func Test%sMoves(t *testing.T) {", spec.GoName(e.m.Name))
	event := "op"
	if pairs := e.eventPairs(); pairs != "" {
		e.line("events := map[string]string{\n%s}", pairs)
		event = "cmp.Or(events[op], op)"
	}
	e.line(`for op, call := range testCalls {
		leads := map[string]string{}
		for _, cell := range strings.Split(testMoves[op], ", ") {
			from, to, _ := strings.Cut(cell, " -> ")
			leads[from] = to
		}
		if to, made := leads["(new)"]; made {
			var x %[1]s
			if got := testTold(call(&x)); to != "?" && (got != %[3]s+": (new) -> "+to || x.State.String() != to) {
				t.Errorf("%%s: %%s, then %%+v; want %%s", op, got, x, to)
			}
			continue
		}
		for _, s := range append(States(), 0, State(len(States())+1)) {
			x := %[1]s{State: s}
			before := x
			e, err := call(&x)
			told, to, can := testTold(e, err), leads[s.String()], before.%[2]s(op)
			if (can == nil) != (to != "") {
				t.Errorf("%%s in %%s: Can says %%v", op, s, can)
			}`, record, e.n.ours("record", "Can"), event)
	state, want := "", causes[false]
	text := func(name string) string {
		i := slices.IndexFunc(aloneCauses, func(c struct{ name, text string }) bool { return c.name == name })
		return strconv.Quote(": " + aloneCauses[i].text)
	}
	if ends(e.m) {
		state = "cause, text := " + causes[false] + ", " + text("ErrWrongState") + "\nif s.Terminal() {\ncause, text = " + causes[true] + ", " + text("ErrTerminal") + "\n}\n"
		want = "cause"
	} else {
		state = "text := " + text("ErrWrongState") + "\n"
	}
	e.line(`			switch {
			case to == "":
				%sif s != 0 {
					text = " in state " + s.String() + text
				}
				text = %q + op + text
				if !errors.Is(err, %[3]s) || !errors.Is(can, %[3]s) || told != text || can.Error() != told || x != before {
					t.Errorf("%%s in %%s: %%s, then %%+v; want %%s", op, s, told, x, text)
				}
			case to == "?":
				if errors.Is(err, %[4]s) {
					t.Errorf("%%s in %%s: %%s", op, s, told)
				}`, state, e.m.Name+": ", want, causes[false])
	if slices.ContainsFunc(e.m.Operations, func(o *spec.Operation) bool {
		return slices.ContainsFunc(e.cells(o), func(c string) bool { return strings.Contains(c, "-> refused as ") })
	}) {
		e.line(`			case strings.HasPrefix(to, "refused as "):
				if name := strings.TrimPrefix(to, "refused as "); err == nil || !strings.HasSuffix(told, " ("+name+")") || x != before {
					t.Errorf("%%s in %%s: %%s, then %%+v; want %%s", op, s, told, x, to)
				}`)
	}
	e.line(`			default:
				want := to
				if to == "(recorded)" {
					want = s.String()
				}
				before.State = x.State
				if told != %s+": "+s.String()+" -> "+to || x.State.String() != want || x != before {
					t.Errorf("%%s in %%s: %%s, then %%+v; want %%s", op, s, told, x, to)
				}
			}
		}
	}
}
`, event)
	e.texts()
	if cases {
		e.line("// Test%sCases makes the calls of testCases.", spec.GoName(e.m.Name))
		e.line(`func Test%sCases(t *testing.T) {
	for i, c := range testCases {
		x := c.before
		got := testTold(c.call(&x))
		after := c.after
		if after == (%[2]s{}) {
			after = c.before
		}
		if got != c.want || x != after {
			t.Errorf("case %%d: %%+v\n%%s, then %%+v\nwant %%s, then %%+v", i, c.before, got, x, c.want, after)
		}
	}
}
`, spec.GoName(e.m.Name), record)
	}
	if checks {
		e.line("// Test%sChecks looks at the records of testChecks.", spec.GoName(e.m.Name))
		e.line(`func Test%sChecks(t *testing.T) {
	for i, c := range append(testChecks, testChecks[0]) {
		if i == len(testChecks) {
			c.record.State, c.broken = 0, "state"
		}
		var broken []string
		for _, v := range %s(c.record) {
			if !v.Must {
				v.Rule = "should: " + v.Rule
			}
			broken = append(broken, v.Rule)
		}
		slices.Sort(broken)
		if got := strings.Join(broken, "; "); got != c.broken {
			t.Errorf("%%+v breaks %%s, want %%s", c.record, got, c.broken)
		}
		if c.broken != "" {
			continue
		}
		var read %s
		text, err := json.Marshal(c.record)
		if err == nil {
			err = json.Unmarshal(text, &read)
		}
		if err != nil || read != c.record {
			t.Errorf("%%s reads as %%+v, want %%+v: %%v", text, read, c.record, err)
		}
	}
}
`, spec.GoName(e.m.Name), e.n.ours("package", "Check"), record)
	}
	if e.optional() {
		e.line("// Test%sOptional looks at values that may be absent.", spec.GoName(e.m.Name))
		e.line(strings.NewReplacer("Optional[", e.n.ours("package", "Optional")+"[", "Some(", e.n.ours("package", "Some")+"(").Replace(`func Test%sOptional(t *testing.T) {
	for want, text := range map[Optional[int]]string{{}: "null", Some(7): "7"} {
		got := Some(8)
		b, err := json.Marshal(want)
		if failed := json.Unmarshal([]byte(text), &got); err != nil || failed != nil || string(b) != text || got != want {
			t.Errorf("%%+v is %%s (%%v) and %%s is %%+v (%%v)", want, b, err, text, got, failed)
		}
		v, ok := want.Get()
		if there := text == "7"; ok != there || want.Present() != there || want.IsZero() == there || v != want.Or(0) || (want.Or(9) == 7) != there || (v == 7) != there {
			t.Errorf("%%+v has %%d, %%t", want, v, ok)
		}
	}
}
`), spec.GoName(e.m.Name))
	}
	e.ownTypes()
	if uses(e.String(), "testTime(") || strings.Contains(e.String(), "testTime(") {
		e.line(`func testTime(micros int64) time.Time {
	return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(micros) * time.Microsecond)
}
`)
	}
}
