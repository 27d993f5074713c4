package spec

import (
	"fmt"
	"slices"
)

// scope says what the terms of a fact may name.
type scope struct {
	op        *Operation // whose inputs are bound; nil without one
	broken    bool       // some inputs of op could not be read
	free      bool       // the facts of a guard by itself: inputs are named, not bound
	invariant bool       // fields and constants only
	step      bool       // the same, and `old.`
	branch    bool       // of a branch
	require   word       // the entry of `require` that brings the fact into op
}

func (r *resolver) facts(list []*astFact, sc scope) []*Fact {
	var out []*Fact
	for _, a := range list {
		if f := r.fact(a, sc); f != nil {
			out = append(out, f)
		}
	}
	return out
}

// fact binds the terms of a fact and checks that they can be compared. It
// returns nil when a finding was reported, or when one was before.
func (r *resolver) fact(a *astFact, sc scope) *Fact {
	if a.op == AnyOf {
		return r.anyFact(a, sc)
	}
	f := &Fact{Pos: a.text.pos, Text: a.text.text, Op: a.op}
	unary := a.op == Present || a.op == Absent
	left, right := false, unary
	f.Left, left = r.term(a.left, sc)
	if !unary {
		f.Right, right = r.term(a.right, sc)
	}
	switch {
	case !left || !right:
		return nil
	case unary:
		return r.presence(f, a)
	case !r.bindWords(f, a, sc) || !r.bindText(&f.Left, a.left, f.Right) || !r.bindText(&f.Right, a.right, f.Left) || !r.comparable(f, a):
		return nil
	}
	return f
}

// term binds one side; an unbound name is left for bindWords, which knows the
// other side.
func (r *resolver) term(a astTerm, sc scope) (Term, bool) {
	t := Term{Pos: a.text.pos, Kind: a.kind, Text: a.text.text, Int: a.int, Bool: a.bool}
	if sc.invariant && (a.kind == TermActor || a.kind == TermNow || a.kind == TermInput) {
		r.at(codeTogether, a.text, "make it a guard: an invariant holds at any time, for every caller", "an invariant cannot use %s", a.text.text)
		return t, false
	}
	if sc.step && (a.kind == TermActor || a.kind == TermNow || a.kind == TermInput) {
		r.at(codeTogether, a.text, "make it a guard: a rule over a step holds at any time, for every caller",
			"a rule over a step cannot use %s", a.text.text)
		return t, false
	}
	switch a.kind {
	case TermOld:
		if !sc.step {
			r.noOld(a, sc)
			return t, false
		}
		fallthrough
	case 0:
		return r.nameTerm(t, a)
	case TermBackoff:
		bound := r.backoff(&t, a, sc)
		return t, bound
	case TermSum:
		var ok bool
		t.Parts, ok = r.sum(a.parts, a.text, sc)
		return t, ok
	case TermText:
		t.Const = a.name
	case TermInput:
		t.Name = a.name
		if sc.free {
			return t, true
		}
		bound := r.bindInput(&t, a, sc)
		return t, bound
	}
	return t, true
}

// nameTerm binds a name: a field, one of the record before the step, or else perhaps a word.
func (r *resolver) nameTerm(t Term, a astTerm) (Term, bool) {
	if a.name == "id" || a.name == "state" || a.name == "rev" {
		r.at(codeUndeclared, a.text, "facts read declared fields, created_at and updated_at; states are listed under `from`",
			"%q is kept by the engine and cannot stand in a fact", a.name)
		return t, false
	}
	if f := r.fields.byName[a.name]; f != nil {
		r.note(a.text, f)
		if t.Field = f; t.Kind == 0 {
			t.Kind = TermField
		}
		return t, f.Type.Kind != 0
	}
	if t.Kind == TermOld {
		r.undeclaredTerm(a)
		return t, false
	}
	t.Kind = TermWord
	return t, true
}

// bindInput binds `input.x` to the inputs of the operation.
func (r *resolver) bindInput(t *Term, a astTerm, sc scope) bool {
	if in := r.inputOf[sc.op][a.name]; in != nil {
		t.Input = in
		r.note(a.text, in)
		return in.Type.Kind != 0
	}
	if sc.broken {
		return false
	}
	var names []string
	if r.roomFor(len(sc.op.Inputs)) {
		for _, in := range sc.op.Inputs {
			names = append(names, in.Name)
		}
	}
	near := r.nearest(a.name, names)
	hint := didYouMean(near, "inputs", names)
	if near == "" {
		hint = fmt.Sprintf("declare it: `input: {%s: <type>}`, or set a field from it: `set: {%s: input}`", a.name, a.name)
	}
	if sc.require.given() {
		r.at(codeUndeclared, sc.require, hint, "operation %s has no input %q, which guard %s reads", sc.op.Name, a.name, sc.require.text).
			related(a.text.pos, "read here")
	} else {
		d := r.at(codeUndeclared, a.text, hint, "input %q of operation %s is not declared", a.name, sc.op.Name)
		if near != "" {
			d.fix(a.text, "input."+near)
		}
	}
	return false
}

// presence checks `is present` and `is absent`.
func (r *resolver) presence(f *Fact, a *astFact) *Fact {
	switch f.Left.Kind {
	case TermWord:
		r.undeclaredTerm(a.left)
		return nil
	case TermField, TermOld, TermInput, TermActor:
		return f
	}
	if f.Left.Kind == TermSum {
		r.at(codeIncomparable, a.left.text, "ask for each part by itself", "a sum is compared, and neither present nor absent")
		return nil
	}
	r.at(codeIncomparable, a.left.text, "name a field or an input", "%s is always present", f.Left.Text)
	return nil
}

// undeclaredTerm reports a name that is no field and no word of an enum.
func (r *resolver) undeclaredTerm(a astTerm) {
	if r.fields.broken {
		return
	}
	near := r.nearest(a.name, r.fields.names)
	if a.kind == TermOld && near != "" {
		near = oldMark + near
	}
	hint := didYouMean(near, "declared", r.fields.names)
	if near == "" && a.kind != TermOld && r.inputs[a.name] {
		hint = fmt.Sprintf("write input.%s for the input", a.name)
	}
	d := r.at(codeUndeclared, a.text, hint, "field %q is not declared", a.name)
	if near == "" && a.kind != TermOld && r.inputs[a.name] {
		near = "input." + a.name
	}
	d.fix(a.text, near)
}

// bindWords binds the names that are no fields: a word of the enum on the other
// side.
func (r *resolver) bindWords(f *Fact, a *astFact, sc scope) bool {
	l, rt := f.Left.Kind == TermWord, f.Right.Kind == TermWord
	switch {
	case l && rt:
		r.undeclaredTerm(a.left)
		if !r.words[a.right.name] {
			r.undeclaredTerm(a.right)
		}
		return false
	case l:
		return r.enumWord(&f.Left, a.left, f.Right, sc)
	case rt:
		return r.enumWord(&f.Right, a.right, f.Left, sc)
	}
	return true
}

func (r *resolver) enumWord(t *Term, a astTerm, other Term, sc scope) bool {
	typ, known := other.typeOf()
	switch {
	case !known:
		return sc.free // each operation that requires the guard binds the word
	case typ.Kind != KindEnum:
		r.undeclaredTerm(a)
		return false
	}
	return r.bindWord(&t.Word, a.text, a.name, typ, other.Text)
}

// bindWord finds a word among the values of an enum.
func (r *resolver) bindWord(to **EnumValue, w word, name string, typ Type, of string) bool {
	if v := r.enum(typ)[name]; v != nil {
		*to = v
		r.note(w, v)
		return true
	}
	var names []string
	if r.roomFor(len(typ.Values)) {
		for _, v := range typ.Values {
			names = append(names, v.Name)
		}
	}
	near := r.nearest(name, names)
	d := r.at(codeUndeclared, w, didYouMean(near, "values", names), "%q is not a value of %s", name, of)
	if w.text == name {
		d.fix(w, near)
	}
	return false
}

// bindText takes a text in quotes for a word, where an enum stands on the other side.
func (r *resolver) bindText(t *Term, a astTerm, other Term) bool {
	if typ, known := other.typeOf(); t.Kind == TermText && known && typ.Kind == KindEnum {
		t.Kind, t.Const = TermWord, ""
		return r.bindWord(&t.Word, a.text, a.name, typ, other.Text)
	}
	return true
}

// typeOf returns the type of a term; it is not known for an input that is not
// bound.
func (t Term) typeOf() (Type, bool) {
	switch t.Kind {
	case TermField, TermOld:
		if t.Field == nil { // that was reported
			return Type{}, false
		}
		return t.Field.Type, true
	case TermInput:
		if t.Input == nil {
			return Type{}, false
		}
		return t.Input.Type, true
	case TermActor, TermText:
		return Type{Kind: KindString}, true
	case TermNow:
		return Type{Kind: KindTime}, true
	case TermInt:
		return Type{Kind: KindInt}, true
	case TermSpan, TermBackoff:
		return Type{Kind: KindDuration}, true
	case TermSum:
		k := SumKind(t.Parts)
		return Type{Kind: k}, k != 0
	case TermBool:
		return Type{Kind: KindBool}, true
	}
	return Type{Kind: KindEnum}, false
}

// family groups the kinds whose values can be compared.
func (k Kind) family() Kind {
	if k == KindCounter || k == KindSequence {
		return KindInt
	}
	return k
}

// clash reports whether a term may have been meant as a word of an enum, but is a
// field: that is told where the enum is declared.
func (r *resolver) clash(t *Term) bool { return t.Kind == TermField && r.clashes[t.Field.Name] }

// comparable checks that the relation makes sense for its terms (FSM020).
func (r *resolver) comparable(f *Fact, a *astFact) bool {
	fail := func(hint, format string, args ...any) bool {
		r.at(codeIncomparable, a.text, hint, "cannot compare in %q: %s", f.Text, fmt.Sprintf(format, args...))
		return false
	}
	if f.Left.IsConst() && f.Right.IsConst() {
		return fail("compare a field or an input", "both sides are constants")
	}
	lt, lok := f.Left.typeOf()
	rt, rok := f.Right.typeOf()
	if lt.Kind == KindEnum && r.clash(&f.Right) || rt.Kind == KindEnum && r.clash(&f.Left) {
		return false
	}
	if f.Left.Kind == TermWord || f.Right.Kind == TermWord {
		if f.Op != Eq && f.Op != Ne {
			return fail("use == or !=", "the words of an enum have no order")
		}
		return true
	}
	l, rk := lt.Kind, rt.Kind
	switch f.Op {
	case In, NotIn:
		if rok && rk != KindSet {
			return fail("name a field of type set", "%s is %s, and `in` needs a set", f.Right.Text, article(rk.String()))
		}
		if lok && l != KindString {
			return fail("a set holds strings", "%s is %s and no string", f.Left.Text, article(l.String()))
		}
		return true
	case Covers:
		for _, t := range []Term{f.Left, f.Right} {
			if typ, ok := t.typeOf(); ok && typ.Kind != KindSet {
				return fail("name two fields of type set", "%s is %s, and `covers` compares sets", t.Text, article(typ.Kind.String()))
			}
		}
		return true
	}
	if !lok || !rok {
		known, term := lt, f.Left
		if rok {
			known, term = rt, f.Right
		}
		if (lok || rok) && !r.orderable(known, f.Op) {
			return fail(orderHint(known.Kind), "%s is %s", term.Text, article(known.Kind.String()))
		}
		return true
	}
	switch {
	case l.family() != rk.family():
		return fail(compareHint(f.Left, f.Right), "%s is %s, %s is %s", f.Left.Text, article(l.String()), f.Right.Text, article(rk.String()))
	case !r.orderable(lt, f.Op):
		return fail(orderHint(l), "%s is %s", f.Left.Text, article(l.String()))
	case l == KindEnum && lt.Values[0] != rt.Values[0] && r.roomFor(len(lt.Values)) &&
		!slices.ContainsFunc(lt.Values, func(v *EnumValue) bool { return r.enum(rt)[v.Name] != nil }):
		return fail("compare with a word of the enum", "the two enums have no word in common")
	}
	return true
}

// orderable reports whether op is defined for the type: everything but a set
// can be equal, what has an order can be compared by it.
func (r *resolver) orderable(t Type, op FactOp) bool {
	switch t.Kind {
	case KindSet:
		return false
	case KindEnum, KindBool, KindJSON:
		return op == Eq || op == Ne
	}
	return true
}

func orderHint(k Kind) string {
	if k == KindSet {
		return "a set is compared by `in` and `covers`"
	}
	return "use == or !=: there is no order"
}
