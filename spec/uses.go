package spec

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Use is another machine in the same store: steps of this one make steps of its records.
type Use struct {
	Pos     Pos    // of the name
	Name    string // of the machine
	File    string // of its specification, relative to this one
	FilePos Pos
	Package string   // the Go import path of what is generated from it
	Machine *Machine // what File holds; nil before Link
}

// OtherStep is an effect that is a step of a record of another machine: the engine takes it
// in the transaction of the step that asks for it. Its key is the id of that record.
type OtherStep struct {
	Pos    Pos // of the key `of`
	Use    *Use
	Do     string // the operation, by its name in the other file
	DoPos  Pos
	Passes []Pass // in the order of the file
}

// Pass hands a field of the record after the step to an input of the other operation.
type Pass struct {
	Pos   Pos // of the input's name
	Input string
	Field FieldRef
}

// uses reads which other machines the file names.
func (p *parser) uses(o *object, m *astMachine) {
	entries, at := p.declarations(o, "uses")
	m.usesAt = at
	for _, e := range entries {
		u := &astUse{name: e.name}
		m.uses = append(m.uses, u)
		if p.empty(e, "machine") {
			continue
		}
		uo := p.object(e.value, "machine "+e.name.text, "file", "package")
		if uo == nil {
			continue
		}
		uo.anchor = e.name
		uo.require("file", "package")
		u.file, u.pkg = uo.word("file"), uo.word("package")
	}
}

// otherStep reads what an effect asks of another machine; nil where the program performs it.
func (p *parser) otherStep(o *object) *astOther {
	if !o.has("of") {
		for _, key := range []string{"do", "id", "input"} {
			if at, given := o.keys[key]; given {
				p.add(codeTogether, at, len(key), "name the machine under `of`, or remove the key", "%s: `%s` goes with `of` only", o.at(key), key)
				return nil
			}
		}
		return nil
	}
	x := &astOther{pos: o.keys["of"], of: o.word("of"), do: o.name("do"), id: o.word("id")}
	o.require("do", "id")
	for _, key := range []string{"key", "atomic", "then", "attempts", "failed"} {
		if at, given := o.keys[key]; given {
			p.add(codeTogether, at, len(key), "remove it: the other record moves in the same transaction, once",
				"%s does not go with `of`", o.at(key))
		}
	}
	if n := o.node("input"); n != nil {
		entries, _ := p.entries(n, o.at("input"))
		for _, e := range entries {
			if e.value.kind != scalarNode {
				p.wrongKind(e.value, "input "+e.name.text, "the name of a field", "write `"+e.name.text+": <field>`")
				continue
			}
			x.inputs = append(x.inputs, astPass{e.name, e.value.word()})
		}
	}
	return x
}

func (r *resolver) bindUses() {
	for _, a := range r.ast.uses {
		u := &Use{Pos: a.name.pos, Name: a.name.text, File: a.file.text, FilePos: a.file.pos, Package: a.pkg.text}
		r.m.Uses = append(r.m.Uses, u)
		r.uses.add(u.Name, u)
		if u.Name == r.m.Name {
			r.at(codeCircle, a.name, "name another machine; a second step of the same record is `then`", "%s uses itself", u.Name)
		}
		if a.pkg.given() && (strings.ContainsAny(u.Package, " \"`\\") || strings.HasPrefix(u.Package, ".") || strings.HasPrefix(u.Package, "/")) {
			r.at(codeValue, a.pkg, "write it as an import of Go does, e.g. `example.com/shop/"+u.Name+"`", "package: %q is not an import path", u.Package)
		}
	}
}

// otherStep binds what an effect asks of another machine.
func (r *resolver) otherStep(e *Effect, a *astEffect) {
	if a.other == nil {
		return
	}
	x := &OtherStep{Pos: a.other.pos, Do: a.other.do.text, DoPos: a.other.do.pos}
	e.Other, e.Atomic = x, true
	if e.Name == "" {
		e.Name, e.NamePos = a.other.of.text+"_"+x.Do, x.DoPos
	}
	x.Use, _ = lookup(r, &r.uses, a.other.of)
	e.Key = r.effectKey(list{words: []word{a.other.id}})
	for _, f := range e.Key {
		if f.Field.Type.Kind != KindString {
			r.at(codeValue, a.other.id, "name a string field that holds the id, or `id` for the same id",
				"field %s is %s, and ids are strings", f.Field.Name, article(f.Field.Type.Kind.String()))
		}
	}
	for _, in := range a.other.inputs {
		for _, f := range r.effectKey(list{words: []word{in.field}}) {
			x.Passes = append(x.Passes, Pass{in.input.pos, in.input.text, f})
		}
	}
}

// checkUses reports effects of other machines that cannot be: of one name and of different
// steps, and those whose record or input may be absent; and machines that nothing uses.
func (r *resolver) checkUses() {
	used := map[*Use]bool{}
	first := map[string]*Effect{}
	for _, e := range r.m.AllEffects() {
		if e.Other != nil {
			used[e.Other.Use] = true
		}
		f := first[e.Name]
		if f == nil {
			first[e.Name] = e
		} else if (f.Other == nil) != (e.Other == nil) || e.Other != nil && !f.sameStep(e) {
			r.add(codeTogether, e.NamePos, len(e.Name), "give one of them a `name` of its own", "effect %s is something else in another place", e.Name).
				related(f.NamePos, "the other place")
		}
	}
	for _, u := range r.m.Uses {
		if !used[u] {
			r.add(codeTogether, u.Pos, len(u.Name), "remove it, or write `effect: {of: "+u.Name+", do: ..., id: ...}` where a record of it moves",
				"no effect is of machine %s", u.Name)
		}
	}
	told := map[*Effect]bool{}
	for _, o := range r.m.Operations {
		for _, v := range o.Moves() {
			for _, e := range v.Asked() {
				if e.Other != nil && !told[e] {
					told[e] = r.mayLack(o, v.To, e)
				}
			}
		}
	}
}

// sameStep reports whether two effects of other machines are the same step.
func (e *Effect) sameStep(f *Effect) bool {
	a, b := e.Other, f.Other
	return a.Use == b.Use && a.Do == b.Do && slices.EqualFunc(e.Key, f.Key, sameField) &&
		slices.EqualFunc(a.Passes, b.Passes, func(p, q Pass) bool { return p.Input == q.Input && sameField(p.Field, q.Field) })
}

func sameField(a, b FieldRef) bool { return a.Field == b.Field }

// mayLack reports an id that may be absent when the step of the other record is taken.
func (r *resolver) mayLack(o *Operation, to *State, e *Effect) bool {
	for _, f := range e.Key {
		if r.lacks(to, f.Field) {
			r.add(codeTogether, f.Pos, len(f.Field.Name), fmt.Sprintf("write `present: [%s]` in state %s, or take `optional` away", f.Field.Name, to.Name),
				"operation %s: %s may be absent in state %s, so nobody knows which %s moves", o.Name, f.Field.Name, to.Name, e.Other.Use.name()).
				related(f.Field.Pos, "the field")
			return true
		}
	}
	return false
}

func (u *Use) name() string {
	if u == nil {
		return "record"
	}
	return u.Name
}

// lacks reports whether a field may be absent in a state.
func (r *resolver) lacks(in *State, f *Field) bool {
	return f.Type.Optional && !slices.ContainsFunc(in.Present, func(p FieldRef) bool { return p.Field == f })
}

// Performed lists the effects that the program performs, each name once, in the order of the file.
func (m *Machine) Performed() (list []*Effect) {
	for _, e := range m.AllAsks() {
		if e.Other == nil {
			list = append(list, e)
		}
	}
	return list
}

// Link reads the machines that m uses, and those that they use, and reports what does not fit.
// Read gets the path of a file as m's own is given, with forward slashes. Machines that use each other in a
// circle are FSM026: no order of locks would be left.
func Link(m *Machine, read func(path string) ([]byte, error)) Diagnostics {
	l := &linker{reporter: &reporter{file: m.File}, read: read, known: map[string]*Machine{path.Clean(m.File): m}}
	l.link(m, []string{m.Name})
	l.finish()
	return l.found
}

type linker struct {
	*reporter
	read  func(path string) ([]byte, error)
	known map[string]*Machine // by path; nil while it is read
}

// link reads what m uses. The chain has the machines that lead to it. Of another
// file its first finding is told.
func (l *linker) link(m *Machine, chain []string) {
	for _, u := range m.Uses {
		at := beside(m.File, u.File)
		if slices.Contains(chain, u.Name) {
			l.add(codeCircle, u.Pos, len(u.Name), "let one of them go another way: by an effect that the program performs",
				"%s uses %s: they use each other in a circle", strings.Join(chain, " uses "), u.Name)
			continue
		}
		used := l.known[at]
		if used == nil {
			if used = l.open(u, at); used == nil {
				continue
			}
			l.known[at] = used
			inner := &linker{reporter: &reporter{file: at}, read: l.read, known: l.known}
			inner.link(used, append(slices.Clip(chain), used.Name))
			if len(inner.found) > 0 {
				l.add(inner.found[0].Code, u.FilePos, len(u.File), "correct that file first", "%s: %s", at, inner.found[0].Message)
			}
		}
		u.Machine = used
	}
	told := map[*OtherStep]bool{}
	for _, o := range m.Operations {
		for _, v := range o.Moves() {
			for _, e := range v.Asked() {
				if x := e.Other; x != nil && x.Use.Machine != nil && !told[x] {
					told[x] = true
					l.step(x, v.To)
				}
			}
		}
	}
}

// open reads a file that is used.
func (l *linker) open(u *Use, at string) *Machine {
	src, err := l.read(at)
	if err != nil {
		l.add(codeUnreadable, u.FilePos, len(u.File), "name the file of machine "+u.Name+", as seen from this file", "%s cannot be read: %v", u.File, err)
		return nil
	}
	used, found := Parse(at, src)
	switch {
	case used == nil:
		first := found[slices.IndexFunc(found, func(d Diagnostic) bool { return d.Severity == Error })]
		l.add(codeUnreadable, u.FilePos, len(u.File), "run `fsmgen check "+at+"` and correct it", "%s has errors; the first: %s", u.File, first.Message)
		return nil
	case used.Name != u.Name:
		l.add(codeValue, u.Pos, len(u.Name), "write `"+used.Name+"`", "%s holds machine %s, not %s", u.File, used.Name, u.Name)
		return nil
	case used.Alone():
		l.add(codeTogether, u.Pos, len(u.Name), "let it have the durable layer", "machine %s has the pure layer alone, and its records are in no store", u.Name)
		return nil
	}
	return used
}

// step holds a step of another machine to what that machine offers.
func (l *linker) step(x *OtherStep, to *State) {
	m := x.Use.Machine
	var names []string
	for _, o := range m.Operations {
		names = append(names, o.Name)
	}
	i := slices.Index(names, x.Do)
	if i < 0 {
		near := l.nearest(x.Do, names)
		l.at(codeUndeclared, word{pos: x.DoPos, text: x.Do, size: len(x.Do)}, cmp.Or(didYouMean(near, "declared", names), "name one of its operations"),
			"machine %s has no operation %q", m.Name, x.Do)
		return
	}
	o := m.Operations[i]
	switch {
	case o.By != BySystem:
		l.add(codeTogether, x.DoPos, len(x.Do), "write `by: system` there, or add an operation of the system",
			"%s of machine %s is not the system's: who would its caller be?", x.Do, m.Name)
	case o.OnRefusalRecordOnly:
		l.add(codeTogether, x.DoPos, len(x.Do), "take `on_refusal` away there, or name the states that may come late under `record_only_in`",
			"%s of machine %s records a refusal, and the step that asks for it would stand", x.Do, m.Name)
	case o.Next != nil:
		l.add(codeTogether, x.DoPos, len(x.Do), "name an operation without `next`", "%s of machine %s picks its record itself", x.Do, m.Name)
	case len(o.Triggers) > 0 && len(o.Inputs) > 0:
		l.add(codeTogether, x.DoPos, len(x.Do), "name an operation without `trigger`", "%s of machine %s gets its inputs from its own program", x.Do, m.Name)
	}
	for _, p := range x.Passes {
		in := o.Input(p.Input)
		if in == nil {
			l.add(codeUndeclared, p.Pos, len(p.Input), "remove it, or name an input of that operation", "%s of machine %s has no input %q", x.Do, m.Name, p.Input)
			continue
		}
		l.pass(x, in, p, to)
	}
	for _, in := range o.Inputs {
		if !in.Type.Optional && !slices.ContainsFunc(x.Passes, func(p Pass) bool { return p.Input == in.Name }) {
			l.add(codeMissing, x.DoPos, len(x.Do), "write `input: {"+in.Name+": <field>}`", "%s of machine %s needs input %s", x.Do, m.Name, in.Name)
		}
	}
}

// pass holds a field to the input that it is handed to.
func (l *linker) pass(x *OtherStep, in *Input, p Pass, to *State) {
	f := p.Field.Field
	kind := f.Type.Kind
	if kind == KindCounter || kind == KindSequence {
		kind = KindInt
	}
	least := f.Type.Min
	if f.Type.Kind == KindCounter || f.Type.Kind == KindSequence || kind == KindString && least == nil {
		n := int64(1)
		if f.Type.Kind == KindCounter {
			n = 0
		}
		least = &n
	}
	switch {
	case kind != in.Type.Kind || kind == KindEnum || kind == KindSet || kind == KindJSON:
		l.add(codeValue, p.Field.Pos, len(f.Name), "hand over a string, an int, a bool, a time or a duration of the same type",
			"field %s is %s, and input %s of %s is %s", f.Name, article(f.Type.Kind.String()), in.Name, x.Do, article(in.Type.Kind.String()))
	case below(least, in.Type.Min) || in.Type.Max != nil && (f.Type.Max == nil || *f.Type.Max > *in.Type.Max):
		l.add(codeValue, p.Field.Pos, len(f.Name), "give the field the bounds of the input, or widen the input",
			"field %s is `%s`, and input %s of %s takes `%s` only", f.Name, f.Type, in.Name, x.Do, in.Type)
	case f.Type.Optional && !in.Type.Optional && !slices.ContainsFunc(to.Present, func(r FieldRef) bool { return r.Field == f }):
		l.add(codeValue, p.Field.Pos, len(f.Name), fmt.Sprintf("write `present: [%s]` in state %s, or make the input optional", f.Name, to.Name),
			"field %s may be absent in state %s, and input %s of %s is needed", f.Name, to.Name, in.Name, x.Do)
	}
}

// below reports whether a lower bound allows what another one does not.
func below(have, want *int64) bool { return want != nil && (have == nil || *have < *want) }

// beside returns the path of a file that is named in another one.
func beside(file, name string) string {
	if i := strings.LastIndexByte(file, '/'); i >= 0 && !strings.HasPrefix(name, "/") {
		name = file[:i+1] + name
	}
	return path.Clean(name)
}

// Height is the length of the longest chain of machines below a linked one: who uses none is at 0.
// Records of several machines are locked from high to low.
func (m *Machine) Height() int {
	height := 0
	for _, u := range m.Uses {
		if u.Machine != nil {
			height = max(height, u.Machine.Height()+1)
		}
	}
	return height
}
