package spec

import (
	"fmt"
	"slices"
)

// resolver binds the names of the syntax tree and builds the machine. It
// reports what cannot be bound; what is bound but makes no sense as a machine
// is for the rules to judge.
type resolver struct {
	*reporter
	ast *astMachine
	m   *Machine

	fields     table[*Field]
	states     table[*State]
	guards     table[*Guard]
	uniques    table[*Unique]
	operations table[*Operation]
	probes     table[*Probe]
	uses       table[*Use]

	groups     map[string]*Group
	guardFacts map[*Guard][]*astFact // the facts that can be bound to an operation
	groupOf    map[*Guard]*astPeers

	// Sets of names, so that no file makes the resolver slow.
	declared map[string]bool                      // fields, as written
	clashes  map[string]bool                      // words of an enum that are fields: told once, where they are declared
	inputs   map[string]bool                      // declared inputs of any operation
	words    map[string]bool                      // words of any enum
	inputOf  map[*Operation]map[string]*Input     // inputs of an operation
	wordOf   map[*EnumValue]map[string]*EnumValue // words of an enum, by its first one
}

// table holds the declarations of one kind by name.
type table[T any] struct {
	what   string // "state"
	names  []string
	byName map[string]T
	broken bool // some declarations could not be read: nothing is undeclared for sure
}

func newTable[T any](what string, s section) table[T] {
	return table[T]{what: what, byName: map[string]T{}, broken: s.broken}
}

func (t *table[T]) add(name string, v T) {
	if _, again := t.byName[name]; !again {
		t.names = append(t.names, name)
		t.byName[name] = v
	}
}

// lookup finds a name. An undeclared one is reported (FSM010) and taken for
// the name that is near to it, so that nothing follows from the slip.
func lookup[T any](r *resolver, t *table[T], w word) (T, bool) {
	if v, ok := t.byName[w.text]; ok || !w.given() || t.broken {
		if ok {
			r.note(w, v)
		}
		return v, ok
	}
	near := r.nearest(w.text, t.names)
	hint := didYouMean(near, "declared", t.names)
	if hint == "" {
		hint = fmt.Sprintf("declare the %s, or remove the name", t.what)
	}
	r.at(codeUndeclared, w, hint, "%s %q is not declared", t.what, w.text).fix(w, near)
	v, ok := t.byName[near]
	return v, ok
}

func resolve(rep *reporter, ast *astMachine, src []byte) *Machine {
	r := &resolver{
		reporter: rep, ast: ast,
		m: &Machine{
			derived: new(derived), Allow: ast.allow, Source: src,
			Pos: ast.machine.pos, Name: ast.machine.text, Entity: ast.entity.text, Version: ast.version, Doc: ast.doc.text,
			RequestsAt: ast.requestsAt,
			RequestID:  demand(ast.requestID), ExpectedRev: demand(ast.expectedRev), Otherwise: otherwise(ast.otherwise),
			Builtin: []*Field{
				{Name: "created_at", Type: Type{Kind: KindTime}, Builtin: true},
				{Name: "updated_at", Type: Type{Kind: KindTime}, Builtin: true},
			},
			ID:  &Field{Name: "id", Type: Type{Kind: KindString}, Builtin: true},
			Rev: &Field{Name: "rev", Type: Type{Kind: KindInt}, Builtin: true},
		},
		fields:     newTable[*Field]("field", ast.fieldsAt),
		states:     newTable[*State]("state", ast.statesAt),
		guards:     newTable[*Guard]("guard", ast.guardsAt),
		uniques:    newTable[*Unique]("unique", ast.uniqueAt),
		operations: newTable[*Operation]("operation", ast.operationsAt),
		probes:     newTable[*Probe]("probe", ast.probesAt),
		uses:       newTable[*Use]("machine under `uses`", ast.usesAt),
		groups:     map[string]*Group{},
		guardFacts: map[*Guard][]*astFact{},
		groupOf:    map[*Guard]*astPeers{},
		declared:   map[string]bool{}, clashes: map[string]bool{}, inputs: map[string]bool{}, words: map[string]bool{},
		inputOf: map[*Operation]map[string]*Input{},
		wordOf:  map[*EnumValue]map[string]*EnumValue{},
	}
	for _, w := range ast.layers.words {
		r.m.Layers = append(r.m.Layers, LayerRef{w.pos, Layer(w.text)})
	}
	r.collect()
	r.declare()
	r.bindGroups()
	r.bindFields()
	r.bindStates()
	r.bindGuards()
	r.bindUnique()
	r.bindUses()
	for i, o := range ast.operations {
		r.bindOperation(r.m.Operations[i], o)
	}
	r.bindPlaces()
	r.checkAsks()
	r.checkAtomic()
	r.checkUses()
	r.checkGroupValues()
	r.bindLookups() // what a `dedupe_by` names is known now
	r.applyDefaults()
	r.bindSteps()
	r.limitSums()
	r.bindForbidden()
	r.bindProjection()
	return r.m
}

func demand(w word) Demand {
	switch w.text {
	case "optional":
		return Optional
	case "none":
		return None
	}
	return Required
}

func otherwise(w word) Otherwise {
	switch w.text {
	case "reject":
		return OtherwiseReject
	case "record_only":
		return OtherwiseRecordOnly
	}
	return OtherwiseUnset
}

// collect fills the sets of names.
func (r *resolver) collect() {
	types := func(t astType) {
		for _, w := range t.words {
			r.words[w.text] = true
		}
	}
	for _, f := range r.ast.fields {
		r.declared[f.name.text] = true
		types(f.typ)
	}
	for _, o := range r.ast.operations {
		for _, in := range o.inputs {
			r.inputs[in.name.text] = true
			types(in.typ)
		}
	}
}

// enum returns the words of an enum by name.
func (r *resolver) enum(t Type) map[string]*EnumValue {
	if len(t.Values) == 0 {
		return nil
	}
	words := r.wordOf[t.Values[0]]
	if words == nil {
		words = make(map[string]*EnumValue, len(t.Values))
		for _, v := range t.Values {
			words[v.Name] = v
		}
		r.wordOf[t.Values[0]] = words
	}
	return words
}

// addInput gives an operation an input.
func (r *resolver) addInput(o *Operation, in *Input) {
	if r.inputOf[o] == nil {
		r.inputOf[o] = map[string]*Input{}
	}
	r.inputOf[o][in.Name] = in
	o.Inputs = append(o.Inputs, in)
}

// stateNames returns the names of states as a set.
func stateNames(l list) map[string]bool {
	names := make(map[string]bool, len(l.words))
	for _, w := range l.words {
		names[w.text] = true
	}
	return names
}

// builtinNames are the data of every record that nobody declares.
var builtinNames = []string{"id", "state", "rev", "created_at", "updated_at"}

// declare makes every declaration known by name before any is bound.
func (r *resolver) declare() {
	for _, f := range r.m.Builtin {
		r.fields.add(f.Name, f)
	}
	for _, a := range r.ast.fields {
		f := &Field{Pos: a.name.pos, TypePos: a.typ.text.pos, Name: a.name.text, Was: a.was.name.text, Doc: a.doc.text}
		f.Type = r.typeOf(a.typ)
		r.m.Fields = append(r.m.Fields, f)
		r.note(a.name, f)
		if reservedWord[f.Name] {
			r.at(codeValue, a.name, "choose another name", "field %q cannot have this name: facts and values read it as something else", f.Name)
		}
		if slices.Contains(builtinNames, f.Name) {
			r.at(codeTogether, a.name, "remove the declaration, or choose another name", "field %s is built in and never declared", f.Name)
		}
		r.fields.add(f.Name, f)
		r.renameWords(f, a)
		r.bindDefault(f, a.def)
	}
	for i, a := range r.ast.states {
		s := &State{
			Pos: a.name.pos, Index: i, Name: a.name.text, Was: a.was.text, Doc: a.doc.text,
			Terminal: a.terminal, Final: a.final, Otherwise: otherwise(a.otherwise), Kind: StateKind(a.kind.text),
		}
		r.m.States = append(r.m.States, s)
		r.note(a.name, s)
		r.states.add(s.Name, s)
		if s.Name == "same" {
			r.at(codeValue, a.name, "choose another name", "state %q cannot have this name: `to: same` means the state that the record is in", s.Name)
		}
		if s.Terminal && s.Final {
			r.add(codeTogether, a.finalPos, len("final"), "keep `terminal` when nothing may leave the state, `final` when it can be reopened",
				"state %s: `terminal` and `final` do not go together", s.Name)
		}
	}
	for _, a := range r.ast.probes {
		b := &Probe{Pos: a.name.pos, Name: a.name.text, Doc: a.doc.text, Message: a.message.text}
		r.m.Probes = append(r.m.Probes, b)
		r.note(a.name, b)
		r.probes.add(b.Name, b)
	}
	for _, a := range r.ast.guards {
		g := &Guard{Pos: a.name.pos, Name: a.name.text, Doc: a.doc.text, Error: a.err.text, ErrorPos: a.err.pos, Message: a.message.text}
		r.m.Guards = append(r.m.Guards, g)
		r.note(a.name, g)
		r.guards.add(g.Name, g)
	}
	for _, a := range r.ast.unique {
		u := &Unique{Pos: a.name.pos, Name: a.name.text, Error: a.err.text, ErrorPos: a.err.pos, Message: a.message.text}
		r.m.Unique = append(r.m.Unique, u)
		r.note(a.name, u)
		r.uniques.add(u.Name, u)
	}
	for i, a := range r.ast.operations {
		o := &Operation{Pos: a.name.pos, Index: i, Name: a.name.text, Was: a.was.name.text, Doc: a.doc.text, By: actor(a.by)}
		r.m.Operations = append(r.m.Operations, o)
		r.note(a.name, o)
		r.operations.add(o.Name, o)
	}
}

func actor(w word) Actor {
	switch w.text {
	case "system":
		return BySystem
	case "operator":
		return ByOperator
	}
	return ByCaller
}

// typeOf makes the type of a field or an input. A word of an enum may not be a
// field's name: a fact could not tell them apart.
func (r *resolver) typeOf(a astType) Type {
	t := Type{Kind: a.kind, Optional: a.optional, Min: a.min, Max: a.max}
	for _, w := range a.words {
		v := &EnumValue{Pos: w.pos, Name: w.text}
		t.Values = append(t.Values, v)
		r.note(w, v)
		if !w.quoted && (slices.Contains(builtinNames, w.text) || r.declared[w.text]) {
			r.clashes[w.text] = true
			r.at(codeValue, w, "choose another word or another name for the field, or put the word in quotes wherever it stands", "%q cannot be a word of an enum: it is the name of a field", w.text)
		}
	}
	if a.kind == KindEnum && len(t.Values) < 2 {
		t.Kind = 0
	}
	return t
}

// renameWords gives the words of an enum their former names.
func (r *resolver) renameWords(f *Field, a *astField) {
	if len(a.was.values) > 0 && f.Type.Kind != KindEnum && f.Type.Kind != 0 {
		r.at(codeTogether, a.was.values[0].name, "remove `values`", "field %s: `values` goes with an enum only", f.Name)
		return
	}
	words := table[*EnumValue]{what: "enum value", byName: map[string]*EnumValue{}, broken: f.Type.Kind == 0}
	for _, v := range f.Type.Values {
		words.add(v.Name, v)
	}
	for _, rename := range a.was.values {
		if v, ok := lookup(r, &words, rename.name); ok {
			v.Was = rename.was.text
		}
	}
}

// field finds a field that may be declared or built in.
func (r *resolver) field(w word) *Field {
	if w.text == "id" || w.text == "state" || w.text == "rev" {
		r.at(codeUndeclared, w, "name a declared field, created_at or updated_at", "%q is kept by the engine and cannot be named here", w.text)
		return nil
	}
	f, _ := lookup(r, &r.fields, w)
	return f
}

func (r *resolver) fieldRefs(l list) []FieldRef {
	var out []FieldRef
	for _, w := range l.words {
		if f := r.field(w); f != nil {
			out = append(out, FieldRef{w.pos, f})
		}
	}
	return out
}

// groupRefs binds the fields of a group, which need values that can be equal.
func (r *resolver) groupRefs(l list) []FieldRef {
	return r.singleRefs(l, "cannot name a group of records")
}

// singleRefs binds fields that hold one value with one text.
func (r *resolver) singleRefs(l list, cannot string) []FieldRef {
	for _, w := range l.words {
		if f := r.fields.byName[w.text]; f != nil && (f.Type.Kind == KindSet || f.Type.Kind == KindJSON) {
			r.at(codeValue, w, "name a string, int, bool, time, duration or enum field",
				"field %s is %s, which %s", f.Name, article(f.Type.Kind.String()), cannot)
		}
	}
	return r.fieldRefs(l)
}

// effectKey binds the parts of an effect's key: fields, and what tells one record,
// or one step of it, from others.
func (r *resolver) effectKey(l list) []FieldRef {
	var key []FieldRef
	for _, w := range l.words {
		switch w.text {
		case "id":
			key = append(key, FieldRef{w.pos, r.m.ID})
		case "rev":
			key = append(key, FieldRef{w.pos, r.m.Rev})
		default:
			key = append(key, r.singleRefs(list{words: []word{w}}, "is no part of an effect's key")...)
		}
	}
	return key
}

func (r *resolver) stateRef(w word) *StateRef {
	if g := r.groups[w.text]; g != nil && r.states.byName[w.text] == nil {
		r.at(codeTogether, w, "name one of its states, or let `choose` decide", "%s is a group, and one state is asked for", w.text).related(g.Pos, "the group")
		return nil
	}
	if s, ok := lookup(r, &r.states, w); ok {
		return &StateRef{w.pos, s, w.group}
	}
	return nil
}

func (r *resolver) stateRefs(l list) []StateRef {
	var out []StateRef
	for _, w := range l.words {
		if s := r.stateRef(w); s != nil {
			out = append(out, *s)
		}
	}
	return out
}

func (r *resolver) bindFields() {
	for i, a := range r.ast.fields {
		f := r.m.Fields[i]
		for _, ref := range r.groupRefs(a.per) {
			if ref.Field == f {
				r.add(codeValue, ref.Pos, len(f.Name), "name the field that the numbers are counted for", "field %s cannot be counted per itself", f.Name)
				continue
			}
			f.Per = append(f.Per, ref.Field)
		}
		f.HasChangedBy = a.changedBy.given()
		for _, w := range a.changedBy.words {
			if o, ok := lookup(r, &r.operations, w); ok {
				f.ChangedBy = append(f.ChangedBy, &OperationRef{w.pos, o})
			}
		}
	}
}

func (r *resolver) bindStates() {
	r.m.Invariant = r.facts(r.ast.invariant, scope{invariant: true})
	for i, a := range r.ast.states {
		s := r.m.States[i]
		s.Present, s.Absent = r.fieldRefs(a.presence.present), r.fieldRefs(a.presence.absent)
		s.ShouldPresent, s.ShouldAbsent = r.fieldRefs(a.should.present), r.fieldRefs(a.should.absent)
		s.Invariant = r.facts(a.invariant, scope{invariant: true})
		for _, w := range a.probes.words {
			if b, ok := lookup(r, &r.probes, w); ok {
				s.Probes = append(s.Probes, b)
			}
		}
	}
	for _, a := range r.ast.removed {
		if s := r.states.byName[a.name.text]; s != nil {
			r.at(codeTogether, a.name, "rename the state; the name of a removed state may not come back", "state %s is removed and declared at line %d", a.name.text, s.Pos.Line).
				related(s.Pos, "declared here")
		}
		if to := r.stateRef(a.to); to != nil {
			r.m.Removed = append(r.m.Removed, &Removed{Pos: a.name.pos, Name: a.name.text, To: *to})
		}
	}
}

func (r *resolver) bindGuards() {
	for i, a := range r.ast.guards {
		g := r.m.Guards[i]
		for _, f := range a.when {
			if fact := r.fact(f, scope{free: true}); fact != nil {
				g.When = append(g.When, fact)
				r.guardFacts[g] = append(r.guardFacts[g], f)
			}
		}
		if a.peers != nil {
			g.Peers = &Peers{Pos: a.peers.pos, None: a.peers.none, Some: a.peers.some, Than: a.peers.than,
				Same: r.groupRefs(a.peers.same), In: r.stateRefs(a.peers.in)}
			g.Peers.Of = r.members(g.Peers, a.peers, scope{free: true})
			g.Peers.Limit = r.limit(g, a.peers, scope{free: true})
			r.groupOf[g] = a.peers
		}
	}
}

// members binds which value each field of a group has. For an operation bound are those
// that the guard could bind by itself.
func (r *resolver) members(p *Peers, a *astPeers, sc scope) []*Fact {
	var out []*Fact
	for _, ref := range p.Same {
		f := ref.Field
		of := func(x *astFact) bool { return x.left.name == f.Name }
		i := slices.IndexFunc(a.of, of)
		switch {
		case i < 0:
			own := Term{Pos: ref.Pos, Kind: TermField, Text: f.Name, Field: f}
			out = append(out, &Fact{Pos: ref.Pos, Text: f.Name + " == " + f.Name, Op: Eq, Left: own, Right: own})
		case f.Type.Kind == KindSet || f.Type.Kind == KindJSON:
		case sc.free && f.Type.Kind == KindString && r.unknownText(a.of[i].right):
		case sc.free || slices.ContainsFunc(p.Of, func(x *Fact) bool { return x.Left.Field == f }):
			if x := r.fact(a.of[i], sc); x != nil && r.fitsGroup(f, x.Right, a.of[i]) {
				out = append(out, x)
			}
		}
	}
	return out
}

// unknownText reports a bare name that is no field where a text or a caller may be meant.
func (r *resolver) unknownText(a astTerm) bool {
	switch {
	case a.kind != 0, r.fields.broken, r.fields.byName[a.name] != nil, a.name == "id", a.name == "state", a.name == "rev":
		return false
	case r.inputs[a.name], r.nearest(a.name, r.fields.names) != "":
		return false // undeclaredTerm knows better
	}
	r.at(codeUndeclared, a.text, fmt.Sprintf("write actor for who calls, \"'%s'\" for the text, or a field of the record", a.name),
		"field %q is not declared", a.name)
	return true
}

// limit binds the field or the input that tells how many others are too many.
func (r *resolver) limit(g *Guard, a *astPeers, sc scope) *Fact {
	if a.limit == nil {
		return nil
	}
	w := a.limit.left.text
	t, ok := r.term(a.limit.left, sc)
	if ok && t.Kind == TermWord {
		r.undeclaredTerm(a.limit.left)
		return nil
	}
	if typ, known := t.typeOf(); ok && known && typ.Kind != KindInt && typ.Kind != KindCounter {
		at, hint := w, "write a whole number, a field of type int or counter, or input.x"
		if sc.require.given() {
			at, hint = sc.require, fmt.Sprintf("declare %s of %s as an int", t.Text, sc.op.Name)
		}
		r.at(codeIncomparable, at, hint, "`than` of guard %s is a number of records, and %s is %s", g.Name, t.Text, article(typ.Kind.String()))
		ok = false
	}
	if !ok {
		return nil
	}
	return &Fact{Pos: a.limit.text.pos, Text: a.limit.text.text, Op: Ge, Left: t, Right: Term{Pos: w.pos, Kind: TermInt, Text: "1", Int: 1}}
}

// limitHolds lists what must hold of a limit before the step: that it is 1 at least. What a
// creation sets is not there before it, but the input that it is set to is. Where it sets
// nothing, the fact fails as the limit does.
func (q *Requirement) limitHolds(o *Operation) []*Fact {
	if q.Limit == nil {
		return nil
	}
	if f := q.Limit.Left.Field; f != nil && len(o.Creates) > 0 {
		for _, a := range o.Effects.Set {
			switch v := a.Value; {
			case a.Field != f:
			case v.Kind == ValueInput, v.Kind == ValueInputOrAbsent:
				own := *q.Limit
				own.Left = Term{Pos: own.Left.Pos, Kind: TermInput, Text: "input." + v.Input.Name, Name: v.Input.Name, Input: v.Input}
				own.Text = own.Left.Text + " >= 1"
				return []*Fact{&own}
			case v.Kind != ValueInt || v.Int >= 1:
				return nil
			}
		}
		if f.Default != nil && f.Default.Int >= 1 && !assigns(&o.Effects, f) {
			return nil // applyDefaults sets it
		}
	}
	return []*Fact{q.Limit}
}

// fitsGroup checks that a field can have the value of a group.
func (r *resolver) fitsGroup(f *Field, t Term, a *astFact) bool {
	v := astValue{text: a.right.text}
	switch typ, known := t.typeOf(); {
	case t.Kind == TermText && !f.Type.FitsLength(t.Const):
		r.at(codeValue, v.text, "write a text that the field can hold", "%s is not as long as field %s, %s", t.Text, f.Name, lengthText(f.Type))
		return false
	case t.Kind == TermInt && (f.Type.Min != nil && t.Int < *f.Type.Min || f.Type.Max != nil && t.Int > *f.Type.Max):
		r.at(codeValue, v.text, "write a number within the bounds", "%d is outside the bounds of field %s", t.Int, f.Name)
		return false
	case known && len(typ.Values) > 0:
		return r.sameWords(f, f.Type, typ, v, t.Text)
	}
	return true
}

func (r *resolver) bindUnique() {
	for i, a := range r.ast.unique {
		r.m.Unique[i].Fields, r.m.Unique[i].In = r.groupRefs(a.fields), r.stateRefs(a.in)
	}
}

func (r *resolver) bindForbidden() {
	for _, a := range r.ast.forbidden {
		from, to := r.stateRef(a.from), r.stateRef(a.to)
		if from != nil && to != nil {
			r.m.Forbidden = append(r.m.Forbidden, &Forbidden{Pos: a.pos, From: *from, To: *to, After: a.after, Reason: a.reason.text})
		}
	}
}
