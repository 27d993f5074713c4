package spec

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

// bindInputs collects the inputs of an operation: the declared ones, then those
// that `set`, `add` and `remove` imply, in this order.
func (r *resolver) bindInputs(o *Operation, a *astOperation) {
	for _, in := range a.inputs {
		input := &Input{Pos: in.name.pos, Name: in.name.text, Doc: in.doc.text, Type: r.typeOf(in.typ), Declared: true}
		r.addInput(o, input)
		r.note(in.name, input)
	}
	all := []*astEffects{&a.effects}
	for _, b := range a.choose {
		all = append(all, &b.effects)
	}
	for i, e := range all {
		for _, s := range e.set {
			r.imply(o, s, false, i > 0)
		}
		for _, s := range slices.Concat(e.add, e.remove) {
			r.imply(o, s, true, i > 0)
		}
	}
}

// imply adds the input that `set: {f: input}`, `add: {f: input}` or `remove: {f: input}` needs, of the
// operation itself or of a branch.
func (r *resolver) imply(o *Operation, s astAssign, member, branch bool) {
	if s.value.named || !s.value.kind.ofInput() {
		return
	}
	f := r.fields.byName[s.field.text]
	if f == nil || f.Builtin || f.Type.Kind == 0 || f.Type.Kind == KindSequence {
		// Reported where the field is bound; what reads the input is no finding.
		if r.inputOf[o][s.field.text] == nil {
			r.addInput(o, &Input{Pos: s.value.text.pos, Name: s.field.text})
		}
		return
	}
	t := impliedType(f, member)
	t.Optional = s.value.kind != ValueInput
	in := r.inputOf[o][f.Name]
	if in == nil {
		r.addInput(o, &Input{Pos: s.value.text.pos, Name: f.Name, Type: t, Field: f})
		return
	}
	if in.Type.Kind == 0 {
		return
	}
	switch {
	case in.Type.Kind.family() != t.Kind.family():
		r.at(codeValue, s.value.text, "give one of them another name: `input: {name: <type>}` and `input.name`",
			"input %s of operation %s is %s and cannot be set into field %s, %s", in.Name, o.Name, article(in.Type.Kind.String()), f.Name, article(t.Kind.String())).
			related(in.Pos, "the input")
	case in.Type.Optional && !t.Optional:
		r.at(codeValue, s.value.text, orWays(f, s.value, len(o.Creates) > 0, branch),
			"input %s of operation %s is optional, and `input` needs one", in.Name, o.Name).
			related(in.Pos, "the input")
	case !in.Type.Optional && t.Optional:
		r.at(codeValue, s.value.text, "write `input`, or make the input optional everywhere", "input %s of operation %s is required, so %q does not fit", in.Name, o.Name, s.value.text.text).
			related(in.Pos, "the input")
	}
}

// impliedType is the type of the input that goes into a field.
func impliedType(f *Field, member bool) Type {
	t := f.Type
	t.Optional = false
	switch {
	case member:
		return Type{Kind: KindString}
	case t.Kind == KindCounter:
		least := int64(0)
		return Type{Kind: KindInt, Min: &least}
	}
	return t
}

// effects binds what an operation or a branch changes. Of a branch, above is what
// the operation itself changes: both happen, so one field has one change, or the
// branch replaces its value.
func (r *resolver) effects(o *Operation, a *astOperation, e *astEffects, above Effects) Effects {
	r.rejects(e, e == &a.effects, a.has("creates"))
	var out Effects
	changed, before := map[*Field]string{}, above.keys()
	once := func(w word, f *Field, key string) bool {
		if f == nil {
			return false
		}
		if f.Builtin {
			r.at(codeValue, w, "remove it", "field %s is kept by the engine: no operation changes it", f.Name)
			return false
		}
		if before, again := changed[f]; again && !(before == "add" && key == "remove") { // it loses first and gains then
			r.at(codeTogether, w, "keep one of them", "operation %s changes field %s under `%s` and under `%s`", o.Name, f.Name, before, key)
			return false
		}
		if first := before[f]; first != "" && !(replaces(first) && replaces(key)) {
			r.at(codeTogether, w, "remove it here: the operation changes the field for each of its branches",
				"operation %s changes field %s under `%s`, and this branch under `%s`: both would change it", o.Name, f.Name, first, key)
			return false
		}
		changed[f] = key
		return true
	}
	for _, s := range e.set {
		if f := r.field(s.field); once(s.field, f, "set") {
			if v, ok := r.assign(o, a, f, s, e != &a.effects); ok {
				out.Set = append(out.Set, Assign{Pos: s.field.pos, Field: f, Value: v})
			}
		}
	}
	for _, w := range e.clear.words {
		f := r.field(w)
		if !once(w, f, "clear") {
			continue
		}
		if f.Type.Kind != 0 && !f.Type.Optional {
			r.at(codeValue, w, "make the field optional, or set it to another value", "field %s is not optional, so it cannot be cleared", f.Name)
		}
		out.Clear = append(out.Clear, FieldRef{w.pos, f})
	}
	for _, w := range e.increment.words {
		if f := r.field(w); once(w, f, "increment") {
			out.Increment = append(out.Increment, FieldRef{w.pos, f})
		}
	}
	for _, s := range e.add {
		if f := r.field(s.field); once(s.field, f, "add") {
			if v, ok := r.addition(o, a, f, s); ok {
				out.Add = append(out.Add, Assign{Pos: s.field.pos, Field: f, Value: v})
			}
		}
	}
	for _, w := range e.reset.words {
		if f := r.field(w); once(w, f, "reset") && r.back(o, f, w, "reset", KindCounter, KindSet) {
			out.Reset = append(out.Reset, FieldRef{w.pos, f})
		}
	}
	for _, s := range e.remove {
		if f := r.field(s.field); once(s.field, f, "remove") && r.back(o, f, s.field, "remove", KindSet) {
			if v, ok := r.removal(o, a, f, s); ok {
				out.Remove = append(out.Remove, Assign{Pos: s.field.pos, Field: f, Value: v})
			}
		}
	}
	for _, w := range e.decrement.words {
		if f := r.field(w); once(w, f, "decrement") && r.back(o, f, w, "decrement", KindCounter) {
			out.Decrement = append(out.Decrement, FieldRef{w.pos, f})
		}
	}
	return out
}

// assign binds the value that a field is set to and checks its type (FSM015).
func (r *resolver) assign(o *Operation, a *astOperation, f *Field, s astAssign, branch bool) (Value, bool) {
	fail := func(hint, format string, args ...any) (Value, bool) {
		r.at(codeValue, s.value.text, hint, "%s", fmt.Sprintf(format, args...))
		return Value{}, false
	}
	switch {
	case f.Type.Kind == 0:
		return Value{}, false
	case f.Type.Kind == KindSequence:
		r.at(codeValue, s.field, "remove it", "field %s is a sequence: the store gives its number", f.Name)
		return Value{}, false
	case f.Type.Kind == KindSet && !a.has("creates"):
		r.at(codeValue, s.field, "use `add`; only a creation sets a set", "field %s is a set, which only grows: an operation adds to it", f.Name)
		return Value{}, false
	}
	v := s.value
	switch v.kind {
	case ValueInputOrAbsent:
		if !f.Type.Optional {
			return fail("write `input`, or make the field optional", "field %s cannot become absent", f.Name)
		}
	case ValueInputOrSame:
		if a.has("creates") {
			return fail(orWays(f, v, true, branch, v.input()), "field %s has no value before the creation that could stay", f.Name)
		}
	case ValueInputOrDefault:
		if f.Default == nil {
			return fail(orWays(f, v, a.has("creates"), branch, v.input())+", or give the field a `default`", "field %s has no default", f.Name)
		}
	}
	return r.value(o, a, f, f.Type, v)
}

// addition binds the member that a set gets.
func (r *resolver) addition(o *Operation, a *astOperation, f *Field, s astAssign) (Value, bool) {
	if f.Type.Kind == 0 {
		return Value{}, false
	}
	if f.Type.Kind != KindSet {
		r.at(codeValue, s.field, "use `set`, or make the field a set", "field %s is %s: `add` needs a set", f.Name, article(f.Type.Kind.String()))
		return Value{}, false
	}
	switch s.value.kind {
	case ValueInputOrAbsent, ValueInputOrSame, ValueInputOrDefault:
		r.at(codeValue, s.value.text, "write `"+s.value.input()+"`, on a branch also `"+s.value.input()+" or reject`",
			"a member of set %s must be there", f.Name)
		return Value{}, false
	}
	return r.value(o, a, f, Type{Kind: KindString}, s.value)
}

// value binds a value that must fit type t of field f.
func (r *resolver) value(o *Operation, a *astOperation, f *Field, t Type, v astValue) (Value, bool) {
	out := Value{Pos: v.text.pos, Kind: v.kind, Plus: v.plus, Int: v.int, Bool: v.bool, Text: v.text.text}
	fits := func(got Kind, what string) bool {
		if got.family() == t.Kind.family() {
			return true
		}
		r.at(codeValue, v.text, cmp.Or(r.fitting(o, t, got, v), expected(t, o)),
			"%s is %s and does not fit field %s, %s", what, article(got.String()), f.Name, article(f.Type.Kind.String()))
		return false
	}
	switch v.kind {
	case 0:
		if v.name == "" {
			return out, false
		}
		return r.named(o, f, t, v, out, fits)
	case ValueInput, ValueInputOrAbsent, ValueInputOrSame, ValueInputOrDefault, ValueInputOrReject:
		return r.inputValue(o, a, f, t, v, out, fits)
	case ValueActor:
		return out, fits(KindString, "actor")
	case ValueNow:
		return out, fits(KindTime, v.text.text)
	case ValueBool:
		return out, fits(KindBool, v.text.text)
	case ValueText:
		if t.Kind == KindEnum {
			out.Kind = ValueWord
			return out, r.bindWord(&out.Word, v.text, v.name, t, "field "+f.Name)
		}
		if out.Const = v.name; !fits(KindString, v.text.text) {
			return out, false
		}
		if !t.FitsLength(v.name) {
			r.at(codeValue, v.text, "write a text of another length, or change the bounds of field "+f.Name,
				"%s has %d characters, and field %s is %s", v.text.text, utf8.RuneCountInString(v.name), f.Name, lengthText(t))
			return out, false
		}
	case ValueSum:
		parts, ok := r.sum(v.parts, v.text, scope{op: o, broken: a.inputsBroken})
		if out.Parts = parts; !ok || !fits(cmp.Or(SumKind(parts), KindInt), v.text.text) {
			return out, false
		}
		if read := out.Fields(); len(read) > 0 && len(o.Creates) > 0 {
			r.noRecord(o, v, f, read[0])
			return out, false
		}
		return out, true
	case ValueSpan:
		if !fits(KindDuration, v.text.text) {
			return out, false
		}
		if v.int < *t.Min || v.int > *t.Max {
			r.at(codeValue, v.text, "write a length within the bounds", "%s is outside the bounds of field %s", v.text.text, f.Name)
			return out, false
		}
	case ValueInt:
		if !fits(KindInt, v.text.text) {
			return out, false
		}
		low := t.Min
		if t.Kind == KindCounter {
			low = new(int64)
		}
		if low != nil && v.int < *low || t.Max != nil && v.int > *t.Max {
			r.at(codeValue, v.text, "write a number within the bounds", "%d is outside the bounds of field %s", v.int, f.Name)
			return out, false
		}
	}
	return out, true
}

// expected says what can be written for a value of type t.
func expected(t Type, o *Operation) string {
	switch t.Kind {
	case KindString:
		if o.By == BySystem {
			return "write input, a string field or a text such as \"'new'\""
		}
		return "write input, actor, a string field or a text such as \"'new'\""
	case KindTime:
		return "write input, now, now + 1m, a time field or a sum"
	case KindDuration:
		return "write input, a length such as 5m, a duration field or a sum"
	case KindInt, KindCounter:
		return "write input, a number, an int field or a sum"
	case KindBool:
		return "write input, true, false or a bool field"
	case KindEnum:
		return "write input, or a word or field of the enum"
	}
	return "write input"
}

// inputValue binds `input` and `input.x`.
func (r *resolver) inputValue(o *Operation, a *astOperation, f *Field, t Type, v astValue, out Value, fits func(Kind, string) bool) (Value, bool) {
	name := f.Name
	if v.named {
		name = v.name
	}
	in := r.inputOf[o][name]
	if in == nil {
		if v.named && !a.inputsBroken {
			term := astTerm{text: v.text, name: name}
			return out, r.bindInput(&Term{}, term, scope{op: o})
		}
		return out, false
	}
	if in.Type.Kind == 0 {
		return out, false
	}
	out.Input = in
	r.note(v.text.part(0, len(v.input()), v.input()), in)
	if !v.named {
		return out, in.Type.Kind.family() == t.Kind.family() && (v.kind != ValueInput) == in.Type.Optional
	}
	if !fits(in.Type.Kind, "input "+name) || !r.sameWords(f, t, in.Type, v, "input "+name) {
		return out, false
	}
	if !in.Type.Optional && v.kind != ValueInput {
		d := r.at(codeValue, v.text, "write `"+v.input()+"`, or make the input optional",
			"input %s is required, so %q does not fit", name, v.text.text)
		d.related(in.Pos, "the input")
		d.fix(v.text, v.input())
		return out, false
	}
	return out, true
}

// named binds a field or a word of an enum.
func (r *resolver) named(o *Operation, f *Field, t Type, v astValue, out Value, fits func(Kind, string) bool) (Value, bool) {
	src := r.fields.byName[v.name]
	if src == nil {
		if t.Kind == KindEnum {
			out.Kind = ValueWord
			return out, r.bindWord(&out.Word, v.text, v.name, t, "field "+f.Name)
		}
		if r.fields.broken {
			return out, false
		}
		words := []string{"input", "now"}
		if o.By != BySystem {
			words = append(words, "actor")
		}
		near := r.nearest(v.name, append(r.fields.names[:len(r.fields.names):len(r.fields.names)], words...))
		hint := expected(t, o)
		fix := near
		switch {
		case near != "":
			hint = didYouMean(near, "", nil) + " " + hint
		case t.Kind == KindString:
			fix = `"` + quoteText(v.name) + `"`
			hint = "write the text in both kinds of quotes: " + fix
		}
		r.at(codeValue, v.text, hint, "%q is not a value that field %s can take", v.name, f.Name).fix(v.text, fix)
		return out, false
	}
	if t.Kind == KindEnum && r.clashes[v.name] && src.Type.Kind != KindEnum {
		return out, false // a word was meant
	}
	if src.Type.Kind == 0 || !fits(src.Type.Kind, "field "+src.Name) || !r.sameWords(f, t, src.Type, v, "field "+src.Name) {
		return out, false
	}
	if src.Type.Optional && !t.Optional {
		r.at(codeValue, v.text, "take the value from an input, or make field "+src.Name+" mandatory",
			"field %s may be absent, and field %s may not", src.Name, f.Name)
		return out, false
	}
	if len(o.Creates) > 0 {
		r.noRecord(o, v, f, src)
		return out, false
	}
	out.Kind, out.Field = ValueField, src
	r.note(v.text, src)
	return out, true
}

// noRecord refuses a value of a creation that reads a field.
func (r *resolver) noRecord(o *Operation, v astValue, f, src *Field) {
	hint := "write the value that " + src.Name + " gets, such as `input." + src.Name + "`"
	if src.Builtin {
		hint = "write `now`"
	}
	r.at(codeTogether, v.text, hint,
		"operation %s makes a record, so field %s has no value yet that field %s could take", o.Name, src.Name, f.Name)
}

// sameWords checks that every word of one enum is a word of the field's.
func (r *resolver) sameWords(f *Field, t, from Type, v astValue, what string) bool {
	if t.Kind != KindEnum || t.Values[0] == from.Values[0] {
		return true
	}
	for _, w := range from.Values {
		if r.enum(t)[w.Name] == nil {
			if r.clashes[w.Name] {
				return false // it is no word: told where it is declared
			}
			r.at(codeValue, v.text, "give both the same words", "%s can be %q, which is not a value of field %s", what, w.Name, f.Name)
			return false
		}
	}
	return true
}
