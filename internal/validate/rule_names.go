package validate

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// builtinColumns are the columns every table has.
var builtinColumns = []string{"id", "state", "rev", "created_at", "updated_at"}

// systemColumns are the columns PostgreSQL gives every table itself.
var systemColumns = []string{"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}

// generated is what the generator writes for every machine, by scope. What
// yields is called Engine and its name where the file has a use for the name:
// beside an operation list, List is EngineList. What does not is reserved.
var generated = []struct {
	scope, what string
	yields      bool
	names       []string
}{
	{"package", "generated name", false, []string{
		"State", "States", "Event", "Machine", "Probes", "Effects", "Sources", "Schema", "Descriptor", "Holder", "WorkerConfig", "NewWorker",
	}},
	{"package", "generated name", true, []string{
		"StateOf", "Outcome", "Open", "Migrate", "EndRollOut", "Check", "Fold", "Project", "Hold", // of a pure package:
		"Call", "Code", "Refusal", "Violation", "Optional", "Some", "JSON", "ParseJSON", "MustJSON", "Set", "NewSet",
		"ErrWrongState", "ErrTerminal", "ErrInvalidInput", "ErrActorMissing", "ErrReasonMissing", "ErrGuard", "ErrInvariant", "ErrOverflow",
	}},
	{"record", "built-in field", false, []string{"ID", "State", "Rev", "CreatedAt", "UpdatedAt"}},
	{"record", "generated method", true, []string{"Ref", "Equal", "Can", "Possible", "Do"}},
	{"machine", "generated method", true, []string{
		"Record", "List", "History", "Count", "Sweep", "Startup", "Deliver", "Probes", "Core", "Log", "Watch", "In", "Batch", "As", "Picture",
	}},
	{"handle", "generated method", true, []string{"Record", "Outcome", "Ref"}},
}

// Ours returns what a name that the generator writes for every machine is called
// in the package of this one.
func Ours(m *spec.Machine) func(scope, name string) string {
	return yielded(ofFile(m))
}

func yielded(list []identifier) func(scope, name string) string {
	type key struct{ scope, goName string }
	taken := make(map[key]bool, len(list))
	for _, id := range list {
		taken[key{id.scope, id.goName}] = true
	}
	return func(scope, name string) string {
		if taken[key{scope, name}] {
			return "Engine" + name
		}
		return name
	}
}

// identifier is one Go name that the generated package will hold.
type identifier struct {
	scope  string // the package, a struct, or the methods of a type
	goName string
	what   string // "operation", "field" ...; or what the generator makes of it
	name   string // as the file writes it; empty when the generator makes it for every machine
	pos    spec.Pos
}

// mark returns the text that stands at the identifier's place.
func (i identifier) mark() string {
	if i.what == projectedEntity {
		return "projection" // its name has no place of its own
	}
	return i.name
}

const projectedEntity = "projected entity"

// identifiers lists the Go names of a machine; those of the generator first.
func identifiers(m *spec.Machine) []identifier {
	file := ofFile(m)
	ours := yielded(file)
	var list []identifier
	for _, g := range generated {
		for _, n := range g.names {
			if g.yields {
				n = ours(g.scope, n)
			}
			list = append(list, identifier{scope: g.scope, goName: n, what: g.what})
		}
	}
	return append(list, file...)
}

// ofFile lists the Go names that come of the names of the file.
func ofFile(m *spec.Machine) []identifier {
	var list []identifier
	add := func(scope, goName, what, name string, pos spec.Pos) {
		list = append(list, identifier{scope, goName, what, name, pos})
	}
	add("package", m.Entity, "entity", m.Entity, entityPos(m))
	for _, f := range m.Fields {
		g := spec.GoName(f.Name)
		add("record", g, "field", f.Name, f.Pos)
		if f.Type.Kind == spec.KindEnum {
			add("package", g, "field", f.Name, f.Pos)
			for _, v := range f.Type.Values {
				add("package", g+spec.GoName(v.Name), "enum value", v.Name, v.Pos)
			}
		}
	}
	for _, s := range m.States {
		add("package", "State"+spec.GoName(s.Name), "state", s.Name, s.Pos)
		add("package", spec.GoName(s.Name)+m.Entity, "state", s.Name, s.Pos) // its handle: ClaimedJob
	}
	for _, pl := range m.Places() {
		add("package", "enter"+spec.GoName(pl.Name), "effects on entering", pl.Name, pl.Pos)
		add("package", "exit"+spec.GoName(pl.Name), "effects on leaving", pl.Name, pl.Pos)
	}
	for _, g := range m.Groups {
		add("state", "In"+spec.GoName(g.Name), "group", g.Name, g.Pos)
	}
	add("package", "Any"+m.Entity, "entity", m.Entity, entityPos(m))
	for _, op := range m.Operations {
		addOperation(add, op)
	}
	for _, e := range m.AllAsks() {
		add("effects", spec.MethodName(e.Name), "effect", e.Name, e.NamePos)
		add("package", "Effect"+spec.GoName(e.Name), "effect", e.Name, e.NamePos)
	}
	if pr := m.Projection; pr != nil {
		add("package", pr.Entity, projectedEntity, pr.Entity, pr.Pos)
		add("machine", pr.Entity, projectedEntity, pr.Entity, pr.Pos) // the method that derives it
		add("package", pr.Entity+"State", projectedEntity, pr.Entity, pr.Pos)
		for _, s := range projectedStates(pr) {
			add("package", pr.Entity+"State"+spec.GoName(s.Name), "projected state", s.Name, s.Pos)
		}
		add("projection", "State", "built-in field of the projection", "", spec.Pos{})
		for _, k := range pr.Key {
			add("projection", spec.GoName(k.Field.Name), "key", k.Field.Name, k.Pos)
		}
		for _, f := range pr.Fields {
			add("projection", spec.GoName(f.Name), "projected field", f.Name, f.Pos)
		}
	}
	for _, e := range sentinels(m) {
		add("package", "Err"+spec.GoName(e.name), "error", e.name, e.pos)
	}
	for _, l := range m.Lookups {
		add("machine", spec.MethodName(l.Name), "lookup", l.Name, l.Pos)
	}
	for _, probe := range m.Probes {
		add("probes", spec.MethodName(probe.Name), "probe", probe.Name, probe.Pos)
	}
	return list
}

// entityPos finds the name of the entity in the source: the machine has no
// place for it. A file that writes the key in another way gets the machine's.
func entityPos(m *spec.Machine) spec.Pos {
	const key = "entity:"
	for i, line := range strings.Split(string(m.Source), "\n") {
		if value, ok := strings.CutPrefix(line, key); ok {
			return spec.Pos{Line: i + 1, Col: 1 + len(key) + len(value) - len(strings.TrimLeft(value, " "))}
		}
	}
	return m.Pos
}

func addOperation(add func(scope, goName, what, name string, pos spec.Pos), op *spec.Operation) {
	g, method := spec.GoName(op.Name), spec.MethodName(op.Name)
	if len(op.Creates) > 0 {
		add("package", method, "operation", op.Name, op.Pos)
	} else {
		add("record", method, "operation", op.Name, op.Pos)
		add("handle", method, "operation", op.Name, op.Pos)
		add("package", "After"+method, "operation", op.Name, op.Pos)
	}
	for _, suffix := range []string{"Input", "Peers"} {
		add("package", g+suffix, "operation", op.Name, op.Pos)
	}
	for _, private := range []string{"Op" + g, g + "Call", g + "States"} { // opStart, startCall, startStates
		add("unexported", private, "operation", op.Name, op.Pos)
	}
	add("machine", method, "operation", op.Name, op.Pos)
	if op.Next != nil {
		add("machine", g+"N", "operation", op.Name, op.Pos)
		add("machine", g+"Of", "operation", op.Name, op.Pos)
	}
	if op.Each != nil {
		add("machine", g+"Each", "operation", op.Name, op.Pos)
	}
	add("package", "Op"+g, "operation", op.Name, op.Pos)
	pos := op.EventPos
	if pos.IsZero() {
		pos = op.Pos
	}
	add("package", "Event"+spec.GoName(op.Event), "event", op.Event, pos)

	scope := "inputs of " + op.Name
	for _, in := range op.Inputs {
		add(scope, spec.GoName(in.Name), "input", in.Name, in.Pos)
		if in.Type.Kind == spec.KindEnum && in.Field == nil {
			add("package", g+spec.GoName(in.Name), "input", in.Name, in.Pos)
			for _, v := range in.Type.Values {
				add("package", g+spec.GoName(in.Name)+spec.GoName(v.Name), "enum value", v.Name, v.Pos)
			}
		}
	}
}

// projectedStates lists the states of a derived machine, each once.
func projectedStates(pr *spec.Projection) []spec.ProjectedState {
	var list []spec.ProjectedState
	add := func(s spec.ProjectedState) {
		if !slices.ContainsFunc(list, func(o spec.ProjectedState) bool { return o.Name == s.Name }) {
			list = append(list, s)
		}
	}
	for _, r := range pr.Rules {
		add(r.State)
	}
	for _, s := range pr.Reserved {
		add(s)
	}
	return list
}

// sentinel is one error of the caller's own.
type sentinel struct {
	name string
	pos  spec.Pos
}

// sentinels lists the errors, each once: guards, `unique` and branches may
// share one.
func sentinels(m *spec.Machine) []sentinel {
	var list []sentinel
	add := func(name string, pos spec.Pos) {
		if name != "" && !slices.ContainsFunc(list, func(s sentinel) bool { return s.name == name }) {
			list = append(list, sentinel{name, pos})
		}
	}
	for _, g := range m.Guards {
		add(g.Error, g.ErrorPos)
	}
	for _, u := range m.Unique {
		add(u.Error, u.ErrorPos)
	}
	for _, op := range m.Operations {
		for _, b := range op.Choose {
			add(b.Reject, b.Pos)
		}
	}
	return list
}

// clash is a name of the file that becomes a Go name that is taken, with the first
// one that has it.
type clash struct{ taken, late identifier }

// clashes lists the clashes. One pair of names is listed once, however many Go names
// they share.
func clashes(m *spec.Machine) []clash {
	type key struct{ scope, goName string }
	type pair struct{ a, b string }
	all := identifiers(m)
	first := make(map[key]int, len(all))
	told := make(map[pair]bool)
	var list []clash
	for i, id := range all {
		k := key{id.scope, id.goName}
		at, ok := first[k]
		if !ok {
			first[k] = i
			continue
		}
		taken := all[at]
		p := pair{taken.what + " " + taken.name, id.what + " " + id.name}
		if id.name == "" || p.a == p.b && taken.pos == id.pos || told[p] {
			continue
		}
		told[p] = true
		list = append(list, clash{taken, id})
	}
	return list
}

func oneIdentifier(p *Pass) {
	for _, t := range enums(p.Machine) {
		seen := map[string]*spec.EnumValue{}
		for _, v := range t.Values {
			low := strings.ToLower(v.Name)
			if first := seen[low]; first != nil && spec.GoName(first.Name) != spec.GoName(v.Name) {
				p.report(finding{pos: v.Pos, mark: v.Name, related: also(first.Pos, "enum value %s is here", first.Name), hint: "rename one of the two"},
					"enum value %s and enum value %s differ in capitals alone", v.Name, first.Name)
			}
			seen[low] = v
		}
	}
	for _, c := range p.clashes() {
		taken, late := c.taken, c.late
		if taken.name == "" || taken.what == late.what && taken.name == late.name {
			continue
		}
		at := finding{pos: late.pos, mark: late.mark(), related: also(taken.pos, "%s %s is here", taken.what, taken.name), hint: "rename one of the two"}
		p.report(at, "%s %s and %s %s become one Go name, %s", late.what, late.name, taken.what, taken.name, late.goName)
	}
}

func reservedName(p *Pass) {
	m := p.Machine
	if why := reservedPackage(m.Name); why != "" {
		p.report(finding{pos: m.Pos, mark: m.Name, hint: "choose another name for the machine"}, "machine %s: the name %s", m.Name, why)
	}
	for _, c := range p.clashes() {
		if taken, late := c.taken, c.late; taken.name == "" {
			p.report(finding{pos: late.pos, mark: late.mark(), hint: fmt.Sprintf("rename the %s, such as to %s", late.what, free(m, late.name))},
				"%s %s takes the name of a %s, %s", late.what, late.name, taken.what, late.goName)
		}
	}
	for _, f := range m.Fields {
		if slices.Contains(systemColumns, f.Stored()) {
			p.report(finding{pos: f.Pos, mark: f.Name, hint: "rename the field, such as to " + free(m, f.Name)}, "field %s takes the name of a system column of PostgreSQL", f.Name)
		}
	}
}

// enums lists the enum types of fields and declared inputs.
func enums(m *spec.Machine) []spec.Type {
	var list []spec.Type
	for _, f := range m.Fields {
		list = append(list, f.Type)
	}
	for _, op := range m.Operations {
		for _, in := range op.Inputs {
			if in.Field == nil {
				list = append(list, in.Type)
			}
		}
	}
	return list
}

// predeclared are the names that Go declares itself.
var predeclared = strings.Fields(`any append bool byte cap clear close comparable complex complex128 complex64 copy delete
	error false float32 float64 imag int int16 int32 int64 int8 iota len make max min new nil panic print println real recover
	rune string true uint uint16 uint32 uint64 uint8 uintptr`)

// free is a name beside a reserved one: door_state, DoorState for an entity.
func free(m *spec.Machine, name string) string {
	if token.IsExported(name) {
		return spec.GoName(m.Name) + name
	}
	return m.Name + "_" + name
}

// reservedPackage says why a package, its folder or its tables cannot have the
// name, or "".
func reservedPackage(name string) string {
	switch {
	case token.IsKeyword(name):
		return "is a Go keyword"
	case slices.Contains(predeclared, name):
		return "is predeclared in Go"
	case slices.Contains([]string{"main", "documentation", "internal", "vendor", "testdata"}, name):
		return "has a meaning of its own for the go command"
	case strings.HasSuffix(name, "_test"):
		return "ends in _test, as packages of tests do"
	case name == "fsm":
		return "is that of the runtime package"
	case slices.Contains([]string{"fsm_meta", "fsm_made", "fsm_versions"}, name), strings.HasPrefix(name, "sqlite_"), strings.HasPrefix(name, "pg_"):
		return "is that of a table which the store, SQLite or PostgreSQL keeps for itself"
	}
	return ""
}

// Reserved is the table of the names that stay taken, as the reference of the language has it.
func Reserved() string {
	var b strings.Builder
	b.WriteString("| where | Go names that the generator keeps |\n|---|---|\n")
	for _, g := range generated {
		if !g.yields {
			fmt.Fprintf(&b, "| %s | `%s` |\n", g.scope, strings.Join(g.names, "` `"))
		}
	}
	b.WriteString("\n| where | Go names that give way |\n|---|---|\n")
	for _, g := range generated {
		if g.yields {
			fmt.Fprintf(&b, "| %s | `%s` |\n", g.scope, strings.Join(g.names, "` `"))
		}
	}
	fmt.Fprintf(&b, "\nColumns: `%s`, and PostgreSQL's own `%s`.\n", strings.Join(builtinColumns, "` `"), strings.Join(systemColumns, "` `"))
	return b.String()
}
