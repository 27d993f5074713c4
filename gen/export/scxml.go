package export

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// SCXML returns m as a W3C state chart over the ECMAScript data model. Fields
// are data, conditions and assignments are expressions. An event carries in
// _event.data: actor, now (a number that grows), the inputs by name, and for
// guards that count other records peers.<guard> (a boolean). What follows by
// `then` in the same transaction is sent at once; behind an effect that is
// delivered, it is an event from outside.
func SCXML(m *spec.Machine) []byte {
	x := &scxml{m: m}
	x.line(`<?xml version="1.0" encoding="UTF-8"?>`)
	x.line("<!-- %s -->", header)
	x.line(`<scxml xmlns="http://www.w3.org/2005/07/scxml" version="1.0" datamodel="ecmascript" name=%s initial="_new">`, attr(m.Name))
	x.indent = "  "
	if len(m.Fields) > 0 {
		x.line("<datamodel>")
		for _, f := range m.Fields {
			x.line("  <data id=%s expr=%s/>", attr(f.Name), attr(zero(f)))
		}
		x.line("</datamodel>")
	}
	x.state(nil, "_new")
	for _, s := range m.States {
		x.state(s, s.Name)
	}
	x.indent = ""
	x.line("</scxml>")
	return x.buf.Bytes()
}

// zero is the value of a field that nobody has set.
func zero(f *spec.Field) string {
	switch f.Type.Kind {
	case spec.KindSet:
		return "[]"
	case spec.KindCounter, spec.KindSequence:
		return "0"
	}
	return "null"
}

type scxml struct {
	m      *spec.Machine
	buf    bytes.Buffer
	indent string
}

func (x *scxml) line(format string, args ...any) {
	x.buf.WriteString(x.indent)
	fmt.Fprintf(&x.buf, format, args...)
	x.buf.WriteByte('\n')
}

func (x *scxml) state(s *spec.State, id string) {
	if s != nil && s.Terminal {
		x.line("<final id=%s/>", attr(id))
		return
	}
	x.line("<state id=%s>", attr(id))
	outer := x.indent
	x.indent += "  "
	for _, o := range x.m.Operations {
		x.operation(s, o)
	}
	x.indent = outer
	x.line("</state>")
}

func (x *scxml) operation(s *spec.State, o *spec.Operation) {
	switch {
	case (s == nil) != (len(o.Creates) > 0):
		return
	case s != nil && x.m.Class(s, o) == spec.RecordOnly:
		x.recorded(o, "")
		return
	case s != nil && x.m.Class(s, o) != spec.Transition:
		return
	}
	for _, b := range branchesOf(o, s) {
		cond := x.cond(o, b)
		switch {
		case b.recordOnly:
			x.recorded(o, cond)
		case b.reject != "":
			x.open(o, "", cond)
			x.line(`  <log label="refused" expr=%s/>`, attr(quoted(b.reject)))
			x.line("</transition>")
		default:
			x.open(o, b.to.Name, cond)
			x.actions(o, b)
			x.line("</transition>")
		}
	}
	if o.OnRefusalRecordOnly && len(o.Require) > 0 {
		x.recorded(o, "")
	}
}

func (x *scxml) open(o *spec.Operation, target, cond string) {
	t := "<transition event=" + attr(o.Name)
	if target != "" {
		t += " target=" + attr(target)
	}
	if cond != "" {
		t += " cond=" + attr(cond)
	}
	x.line("%s>", t)
}

func (x *scxml) recorded(o *spec.Operation, cond string) {
	x.open(o, "", cond)
	x.line(`  <log label="recorded only" expr=%s/>`, attr(quoted(o.Name)))
	x.line("</transition>")
}

func (x *scxml) actions(o *spec.Operation, b branch) {
	changed := changes(b)
	for _, f := range x.m.Fields {
		if e, ok := changed[f]; ok {
			x.line("  <assign location=%s expr=%s/>", attr(f.Name), attr(e))
		}
	}
	if o.Effect != nil {
		x.line(`  <log label="effect" expr=%s/>`, attr(quoted(o.Effect.Name)))
	}
	if o.Then == nil || o.Effect != nil && !o.Effect.Atomic {
		return // behind an effect it follows the delivery, an event from outside
	}
	x.line(`  <send event=%s target="#_internal">`, attr(o.Then.Operation.Name))
	x.line(`    <param name="actor" expr="'system'"/>`)
	x.line(`    <param name="now" expr="_event.data.now"/>`)
	x.line("  </send>")
}

// changes returns what the fields become, as expressions over the old ones.
func changes(b branch) map[*spec.Field]string {
	out := make(map[*spec.Field]string)
	for _, e := range b.effects {
		for _, a := range e.Set {
			out[a.Field] = value(a.Value, a.Field)
		}
		for _, f := range e.Clear {
			out[f.Field] = zero(f.Field)
		}
		for _, f := range e.Increment {
			out[f.Field] = on(out, f.Field) + " + 1"
		}
		for _, a := range e.Add {
			out[a.Field] = fmt.Sprintf("(function (s, v) { return s.indexOf(v) < 0 ? s.concat([v]) : s; })(%s, %s)", on(out, a.Field), value(a.Value, a.Field))
		}
	}
	return out
}

// on is what a further change of a field builds on: those of a branch come on
// top of those of the operation.
func on(changed map[*spec.Field]string, f *spec.Field) string {
	if e, ok := changed[f]; ok {
		return e
	}
	return f.Name
}

func value(v spec.Value, f *spec.Field) string {
	switch v.Kind {
	case spec.ValueInput, spec.ValueInputOrAbsent:
		return "_event.data." + v.Input.Name
	case spec.ValueInputOrSame:
		in := "_event.data." + v.Input.Name
		return in + " == null ? " + f.Name + " : " + in
	case spec.ValueField:
		return v.Field.Name
	case spec.ValueActor:
		return "_event.data.actor"
	case spec.ValueNow:
		if v.Plus > 0 {
			return fmt.Sprintf("_event.data.now + %d", v.Plus.Milliseconds())
		}
		return "_event.data.now"
	case spec.ValueInt:
		return fmt.Sprint(v.Int)
	case spec.ValueBool:
		return fmt.Sprint(v.Bool)
	case spec.ValueText:
		return quoted(v.Const)
	}
	return quoted(v.Word.Name)
}

// cond is the condition of a branch: the guards on the old record, what
// `choose` asks on the new one, which in SCXML is not written yet.
func (x *scxml) cond(o *spec.Operation, b branch) string {
	var all []string
	for _, r := range o.Require {
		if r.Guard.Peers != nil {
			all = append(all, "_event.data.peers."+r.Guard.Name)
			continue
		}
		for _, f := range r.When {
			all = append(all, fact(f, nil))
		}
	}
	changed := changes(branch{effects: []*spec.Effects{&o.Effects}})
	for _, f := range b.when {
		all = append(all, fact(f, changed))
	}
	return strings.Join(all, " && ")
}

// fact is a fact as an expression. A comparison with something absent is false.
func fact(f *spec.Fact, changed map[*spec.Field]string) string {
	l := term(f.Left, changed)
	isSet := f.Left.Field != nil && f.Left.Field.Type.Kind == spec.KindSet || f.Left.Input != nil && f.Left.Input.Type.Kind == spec.KindSet
	switch f.Op {
	case spec.Present:
		if isSet {
			return l + ".length > 0"
		}
		return l + " != null"
	case spec.Absent:
		if isSet {
			return l + ".length == 0"
		}
		return l + " == null"
	}
	r := term(f.Right, changed)
	switch f.Op {
	case spec.In:
		return r + ".indexOf(" + l + ") >= 0"
	case spec.NotIn:
		return l + " != null && " + r + ".indexOf(" + l + ") < 0"
	case spec.Covers:
		return r + ".every(function (v) { return " + l + ".indexOf(v) >= 0; })"
	}
	var parts []string
	for _, t := range []struct {
		term spec.Term
		code string
	}{{f.Left, l}, {f.Right, r}} {
		if t.term.Kind == spec.TermField || t.term.Kind == spec.TermInput {
			parts = append(parts, t.code+" != null")
		}
	}
	ops := map[spec.FactOp]string{spec.Eq: "==", spec.Ne: "!=", spec.Lt: "<", spec.Le: "<=", spec.Gt: ">", spec.Ge: ">="}
	return strings.Join(append(parts, l+" "+ops[f.Op]+" "+r), " && ")
}

func term(t spec.Term, changed map[*spec.Field]string) string {
	switch t.Kind {
	case spec.TermField:
		if e, ok := changed[t.Field]; ok {
			return "(" + e + ")"
		}
		return t.Field.Name
	case spec.TermInput:
		return "_event.data." + t.Name
	case spec.TermActor:
		return "_event.data.actor"
	case spec.TermNow:
		return "_event.data.now"
	case spec.TermInt:
		return fmt.Sprint(t.Int)
	case spec.TermBool:
		return fmt.Sprint(t.Bool)
	}
	return quoted(t.Word.Name)
}

// quoted is a word as a string; words and names have no quotes in them.
func quoted(s string) string { return "'" + s + "'" }

// attr is s as an attribute of XML, quotes included.
func attr(s string) string {
	return `"` + strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s) + `"`
}
