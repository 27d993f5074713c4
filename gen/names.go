package gen

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// names holds every identifier of the generated package, computed once. An
// emitter never makes a name of its own, so two files cannot disagree.
type names struct {
	Package string // name of the package
	Record  string // type of the record: Job
	self    string // the record in its own methods: j

	states  map[*spec.State]string
	fields  map[*spec.Field]string
	ops     map[*spec.Operation]*opNames
	inputs  map[*spec.Input]string
	enums   []*enumNames // in the order of the specification: fields, then inputs
	byField map[*spec.Field]*enumNames
	byInput map[*spec.Input]*enumNames
	events  []eventNames
	errors  []*sentinel
	byError map[string]*sentinel

	ours func(scope, name string) string // see validate.Ours

	alone  bool            // the package is the pure layer alone
	used   map[string]bool // names of purekit that code was written with, where somebody asks
	unheld bool            // it has no handles
}

// opNames are the identifiers of one operation.
type opNames struct {
	Const  string // OpComplete
	Event  string // EventSucceeded
	Method string // Complete: of the record, of Machine; for a creation the function; DoString where Go knows the method
	Input  string // CompleteInput; empty when the operation has no inputs
	Peers  string // CompletePeers; empty when the operation needs to know nothing of other records
	N      string // ClaimNextN, of an operation with next
	Of     string // ClaimNextOf, of an operation with next
	Each   string // CancelEach, of an operation with each
	Call   string // completeCall: makes the engine's call
	Desc   string // opComplete: the descriptor
	Source string // StallSource, of a triggered operation with inputs
}

// eventNames are the identifiers of one event name. Two operations may share one.
type eventNames struct {
	Const  string // EventSucceeded
	Name   string
	Stored string
}

// enumNames are the identifiers of one enum type.
type enumNames struct {
	Type   string // CompensationEventDecision
	Doc    string // what the values belong to: "field priority", "input decision of compensation_event"
	Values []*spec.EnumValue
	Consts []string // CompensationEventDecisionDone, in the order of Values
}

// word returns the constant of a value.
func (e *enumNames) word(name string) string {
	for i, v := range e.Values {
		if v.Name == name {
			return e.Consts[i]
		}
	}
	return ""
}

// sentinel is one error variable. Guards, unique rules and branches that name
// the same error share it.
type sentinel struct {
	Name    string // not_owner
	Var     string // ErrNotOwner
	Message string
	Docs    []string // of the guards, in the order of the specification
	Users   []string // "guard owner_only", in the order of the specification
}

// newNames computes the identifiers of a machine that has passed the checks:
// FSM017 and FSM018 have refused names that clash.
func newNames(m *spec.Machine, opt Options) (*names, error) {
	n := &names{
		Package: opt.Package,
		Record:  m.Entity,
		self:    receiver(m.Entity),
		states:  make(map[*spec.State]string),
		fields:  make(map[*spec.Field]string),
		ops:     make(map[*spec.Operation]*opNames),
		inputs:  make(map[*spec.Input]string),
		byField: make(map[*spec.Field]*enumNames),
		byInput: make(map[*spec.Input]*enumNames),
		byError: make(map[string]*sentinel),
		ours:    validate.Ours(m),
		alone:   !opt.has(spec.LayerDurable),
		unheld:  !opt.has(spec.LayerHandles),
	}
	if !token.IsIdentifier(opt.Package) {
		return nil, fmt.Errorf("package name %q is no Go identifier; name another one", opt.Package)
	}
	for _, s := range m.States {
		n.states[s] = "State" + spec.GoName(s.Name)
	}
	for _, f := range slices.Concat(m.Fields, m.Builtin) {
		n.fields[f] = spec.GoName(f.Name)
	}
	for _, f := range m.Fields {
		if f.Type.Kind == spec.KindEnum {
			n.byField[f] = n.newEnum(spec.GoName(f.Name), "the field "+f.Name, f.Type.Values)
		}
	}
	for _, o := range m.Operations {
		n.ops[o] = newOpNames(o)
		n.addEvent(o)
		for _, in := range o.Inputs {
			n.inputs[in] = spec.GoName(in.Name)
			if in.Type.Kind == spec.KindEnum {
				n.byInput[in] = n.inputEnum(o, in)
			}
		}
		if needsPeers(m, o) {
			n.ops[o].Peers = spec.GoName(o.Name) + "Peers"
		}
	}
	n.collectErrors(m)
	return n, nil
}

func newOpNames(o *spec.Operation) *opNames {
	name := spec.GoName(o.Name)
	input := ""
	if len(o.Inputs) > 0 {
		input = name + "Input"
	}
	return &opNames{
		Input:  input,
		Const:  "Op" + name,
		Event:  "Event" + spec.GoName(o.Event),
		Method: spec.MethodName(o.Name),
		N:      name + "N",
		Of:     name + "Of",
		Each:   name + "Each",
		Call:   lowerFirst(name) + "Call",
		Desc:   "op" + name,
		Source: name + "Source",
	}
}

func (n *names) newEnum(typ, doc string, values []*spec.EnumValue) *enumNames {
	e := &enumNames{Type: typ, Doc: doc, Values: values}
	for _, v := range values {
		e.Consts = append(e.Consts, typ+spec.GoName(v.Name))
	}
	n.enums = append(n.enums, e)
	return e
}

// inputEnum returns the type of an enum input: the field's, when the operation
// puts the input into it or compares the two and the words are the same.
func (n *names) inputEnum(o *spec.Operation, in *spec.Input) *enumNames {
	if in.Field != nil && n.byField[in.Field] != nil {
		return n.byField[in.Field]
	}
	for _, f := range fieldsMeeting(o, in) {
		if e := n.byField[f]; e != nil && sameWords(e.Values, in.Type.Values) {
			return e
		}
	}
	return n.newEnum(spec.GoName(o.Name)+spec.GoName(in.Name), "the input "+in.Name+" of "+o.Name, in.Type.Values)
}

func (n *names) addEvent(o *spec.Operation) {
	c := n.ops[o].Event
	if !slices.ContainsFunc(n.events, func(e eventNames) bool { return e.Const == c }) {
		n.events = append(n.events, eventNames{Const: c, Name: o.Event, Stored: o.StoredEvent()})
	}
}

func (n *names) collectErrors(m *spec.Machine) {
	for _, g := range m.Guards {
		user := "the guard " + g.Name
		if g.Doc == "" {
			user += " (" + guardMeaning(g) + ")"
		}
		n.addError(g.Error, g.Message, user)
		if e := n.error(g.Error); e != nil && g.Doc != "" {
			e.Docs = append(e.Docs, g.Doc)
		}
	}
	for _, u := range m.Unique {
		if n.alone {
			break // it is left out
		}
		n.addError(u.Error, u.Message, "the unique rule "+u.Name)
	}
	for _, o := range m.Operations {
		for _, b := range o.Choose {
			n.addError(b.Reject, "", "a branch of "+o.Name)
		}
	}
}

func (n *names) addError(name, message, user string) {
	if name == "" {
		return
	}
	e := n.error(name)
	if e == nil {
		e = &sentinel{Name: name, Var: "Err" + spec.GoName(name)}
		n.errors = append(n.errors, e)
		n.byError[name] = e
	}
	if e.Message == "" {
		e.Message = message
	}
	if !slices.Contains(e.Users, user) {
		e.Users = append(e.Users, user)
	}
}

// error returns the sentinel of an error name, or nil.
func (n *names) error(name string) *sentinel {
	return n.byError[name]
}

// receives is the receiver of a method of the record, or of a pointer to it.
func (n *names) receives(pointer string) *jen.Statement {
	return raw("%s %s%s", n.self, pointer, n.Record)
}

// state returns StateQueued.
func (n *names) state(s *spec.State) string { return n.states[s] }

// field returns the Go name of a declared or built-in field.
func (n *names) field(f *spec.Field) string { return n.fields[f] }

// input returns the field of the input struct.
func (n *names) input(in *spec.Input) string { return n.inputs[in] }

// op returns the identifiers of an operation.
func (n *names) op(o *spec.Operation) *opNames { return n.ops[o] }

// fieldEnum returns the type of an enum field.
func (n *names) fieldEnum(f *spec.Field) *enumNames { return n.byField[f] }

// inputType returns the type of an enum input.
func (n *names) inputType(in *spec.Input) *enumNames { return n.byInput[in] }

// peer returns the field of a Peers struct that counts for a guard.
func (n *names) peer(g *spec.Guard) string { return spec.GoName(g.Name) }

// sequence returns the field of a Peers struct that holds the next number.
func (n *names) sequence(m *spec.Machine, f *spec.Field) string {
	name := spec.GoName(f.Name)
	for _, g := range m.Guards {
		if g.Peers != nil && spec.GoName(g.Name) == name {
			return name + "Number"
		}
	}
	return name
}

// local returns the name of a variable for a field's new value. It begins with
// "new", so it can shadow no import, keyword or predeclared name.
func (n *names) local(f *spec.Field) string { return "new" + n.fields[f] }

// goType returns the Go type of a value of that type, without Optional.
func (n *names) goType(t spec.Type, enum *enumNames) string {
	switch t.Kind {
	case spec.KindInt, spec.KindCounter, spec.KindSequence:
		return "int64"
	case spec.KindBool:
		return "bool"
	case spec.KindTime:
		return "time.Time"
	case spec.KindDuration:
		return "time.Duration"
	case spec.KindJSON:
		return n.of("fsm.JSON")
	case spec.KindSet:
		return n.of("fsm.Set")
	case spec.KindEnum:
		return enum.Type
	}
	return "string"
}

// fieldType returns the Go type of a field of the record.
func (n *names) fieldType(f *spec.Field) string {
	return n.optionalType(n.goType(f.Type, n.byField[f]), f.Type)
}

// inputGoType returns the Go type of a field of an input struct.
func (n *names) inputGoType(in *spec.Input) string {
	return n.optionalType(n.goType(in.Type, n.byInput[in]), in.Type)
}

// optionalType wraps a type that may be absent. A set is never wrapped: it is
// absent when it is empty.
func (n *names) optionalType(typ string, t spec.Type) string {
	if isOptional(t) {
		return n.of("fsm.Optional") + "[" + typ + "]"
	}
	return typ
}

// isOptional reports whether values of the type are wrapped in an Optional.
func isOptional(t spec.Type) bool { return t.Optional && t.Kind != spec.KindSet }

// fieldsMeeting lists the fields that an operation sets to an input or compares
// with it.
func fieldsMeeting(o *spec.Operation, in *spec.Input) []*spec.Field {
	var fields []*spec.Field
	for _, e := range allEffects(o) {
		for _, a := range e.Set {
			if slices.Contains(a.Value.Inputs(), in) {
				fields = append(fields, a.Field)
			}
		}
	}
	for _, f := range allFacts(o) {
		switch {
		case f.Left.Input == in && f.Right.Field != nil:
			fields = append(fields, f.Right.Field)
		case f.Right.Input == in && f.Left.Field != nil:
			fields = append(fields, f.Left.Field)
		}
	}
	return fields
}

// sameWords reports whether two enums have the same words in the same order.
func sameWords(a, b []*spec.EnumValue) bool {
	return slices.EqualFunc(a, b, func(x, y *spec.EnumValue) bool { return x.Name == y.Name && x.Stored() == y.Stored() })
}

// lowerFirst makes an exported name unexported: ClaimNext, claimNext; IDCheck, idCheck.
func lowerFirst(s string) string {
	i := 0
	for i < len(s) && s[i] >= 'A' && s[i] <= 'Z' {
		i++
	}
	switch {
	case i <= 1:
		i = min(1, len(s))
	case i < len(s):
		i--
	}
	return strings.ToLower(s[:i]) + s[i:]
}

// outcome is the type of what a call led to.
func (n *names) outcome() string { return n.ours("package", "Outcome") }
