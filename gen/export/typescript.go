package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// TypeScript returns the types of what a program of the machine writes: of a record as Go's
// json makes it, one for each state, of the inputs of each operation, and of the events of
// the log.
func TypeScript(m *spec.Machine) ([]byte, error) {
	t := &types{m: m, n: namesOf(m)}
	t.line("// %s", header)
	t.line("")
	t.common()
	t.record()
	for _, o := range m.Operations {
		t.inputs(o)
	}
	if !m.Alone() {
		t.events()
	}
	return t.b.Bytes(), nil
}

// types writes types of TypeScript.
type types struct {
	m *spec.Machine
	n *typeNames
	b bytes.Buffer
}

func (t *types) line(format string, args ...any) { fmt.Fprintf(&t.b, format+"\n", args...) }

// doc writes a comment, where there is a text.
func (t *types) doc(indent, text string) {
	if text = folded(text); text != "" {
		t.line("%s/** %s */", indent, text)
	}
}

// quote writes a text as JavaScript has it.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string has JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// anyOf is a union of texts; of none it is never.
func anyOf(words []string) string {
	if len(words) == 0 {
		return "never"
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " | ")
}

// common writes the types that stand for kinds of values: those that the machine has.
func (t *types) common() {
	kinds := map[spec.Kind]bool{}
	for _, f := range t.m.Fields {
		kinds[f.Type.Kind] = true
	}
	for _, o := range t.m.Operations {
		for _, in := range o.Inputs {
			kinds[in.Type.Kind] = true
		}
	}
	if kinds[spec.KindTime] || len(builtins(t.m)) > 1 {
		t.doc("", `An instant, written as RFC 3339 has it: "2026-01-02T03:04:05.000001Z".`)
		t.line("export type Time = string;\n")
	}
	if kinds[spec.KindDuration] {
		t.doc("", "A length of time in whole microseconds.")
		t.line("export type Duration = number;\n")
	}
	if kinds[spec.KindJSON] {
		t.doc("", "A value of JSON other than null, which stands within one only.")
		t.line("export type Json = string | number | boolean | (Json | null)[] | { [name: string]: Json | null };\n")
	}
}

// typeOf is the type of a value, under its present words.
func (t *types) typeOf(x spec.Type, f *spec.Field) string {
	switch x.Kind {
	case spec.KindString:
		return "string"
	case spec.KindBool:
		return "boolean"
	case spec.KindTime:
		return "Time"
	case spec.KindJSON:
		return "Json"
	case spec.KindSet:
		return "readonly string[]"
	case spec.KindDuration:
		return "Duration"
	case spec.KindEnum:
		if name := t.n.of[f]; name != "" {
			return name
		}
		return words(x, false)
	}
	return "number"
}

// words is the union of the words of an enum.
func words(x spec.Type, stored bool) string {
	var list []string
	for _, w := range x.Values {
		if stored {
			list = append(list, w.Stored())
		} else {
			list = append(list, w.Name)
		}
	}
	return anyOf(list)
}

// record writes the types of a record: what it has in any state, and one type for each.
func (t *types) record() {
	m, n := t.m, t.n
	t.line("export type %s = %s;\n", n.State, anyOf(stateNames(m)))
	for _, f := range m.Fields {
		if f.Type.Kind == spec.KindEnum {
			t.line("export type %s = %s;\n", n.of[f], words(f.Type, false))
		}
	}
	t.doc("", "What a "+m.Entity+" has in any state.")
	t.line("export interface %s {", n.Fields)
	for _, name := range builtins(m) {
		typ := map[string]string{"id": "string", "state": n.State, "rev": "number"}[name]
		if typ == "" {
			typ = "Time"
		}
		t.line("  %s: %s;", name, typ)
	}
	for _, f := range m.Fields {
		t.doc("  ", f.Doc)
		t.line("  %s%s: %s;", f.Name, optional(f.Type), t.typeOf(f.Type, f))
	}
	t.line("}\n")
	var all []string
	for _, s := range m.States {
		all = append(all, n.of[s])
		t.state(s)
	}
	t.doc("", m.Doc)
	t.line("export type %s = %s;\n", n.Record, strings.Join(all, " | "))
}

func optional(x spec.Type) string {
	if x.Optional {
		return "?"
	}
	return ""
}

func (t *types) state(s *spec.State) {
	t.doc("", s.Doc)
	t.line("export interface %s extends %s {", t.n.of[s], t.n.Fields)
	t.line("  state: %s;", quote(s.Name))
	for _, f := range t.m.Fields {
		present, absent := promised(s, f)
		switch set := f.Type.Kind == spec.KindSet; {
		case present && set:
			t.line("  %s: readonly [string, ...string[]];", f.Name)
		case absent && set:
			t.line("  %s: readonly [];", f.Name)
		case present && f.Type.Optional:
			t.line("  %s: %s;", f.Name, t.typeOf(f.Type, f))
		case absent && f.Type.Optional:
			t.line("  %s?: never;", f.Name)
		}
	}
	t.line("}\n")
}

// inputs writes the type of what a call of an operation brings.
func (t *types) inputs(o *spec.Operation) {
	if len(o.Inputs) == 0 {
		return
	}
	t.doc("", "What "+o.Name+" is called with. "+o.Doc)
	t.line("export interface %s {", t.n.input[o])
	for _, in := range o.Inputs {
		doc := in.Doc
		if doc == "" && in.Field != nil {
			doc = in.Field.Doc
		}
		t.doc("  ", doc)
		t.line("  %s%s: %s;", in.Name, optional(in.Type), t.typeOf(in.Type, in.Field))
	}
	t.line("}\n")
}

// events writes the types of the events in the log.
func (t *types) events() {
	t.doc("", "What an event of the log has, whatever made it.")
	t.line("export interface %s {", t.n.EventFields)
	t.line("  id: string;\n  rev: number;")
	t.doc("  ", "0: a transition; above: a call that was recorded and changed nothing.")
	t.line("  n: number;\n  operation: string;\n  name: string;\n  from?: string;\n  to: string;\n  at: Time;\n  actor?: string;")
	t.line("  reason?: string;\n  request_id?: string;\n  request_n?: number;\n  fingerprint?: string;\n  labels?: { [name: string]: string };")
	t.line("  inputs?: object;\n  changes?: object;\n  image?: object;")
	t.doc("  ", "The version of the machine that wrote it.")
	t.line("  version: number;\n  cause?: string;\n  guard?: string;\n  sum?: number;\n  chain?: number;")
	t.doc("  ", "Where a reader of the whole log goes on.")
	t.line("  cursor?: string;\n}\n")
	var all []string
	for _, o := range t.m.Operations {
		all = append(all, t.n.event[o])
		t.event(o)
	}
	t.doc("", "An event that no operation makes, such as an import or a repair.")
	t.line("export interface %s extends %s {\n  operation: %s;\n}\n", t.n.OwnEvent, t.n.EventFields, anyOf(ownOperations))
	t.doc("", "An event of the log of a "+t.m.Entity+": names and words in it are those that are stored.")
	t.line("export type %s = %s;", t.n.Event, strings.Join(append(all, t.n.OwnEvent), " | "))
}

func (t *types) event(o *spec.Operation) {
	from, to := moves(t.m, o)
	t.doc("", o.Doc)
	t.line("export interface %s extends %s {", t.n.event[o], t.n.EventFields)
	t.line("  operation: %s;\n  name: %s;", quote(o.Stored()), quote(o.StoredEvent()))
	if len(o.Creates) > 0 {
		t.line("  from?: never;")
	} else {
		t.line("  from: %s;", anyOf(storedStates(from)))
	}
	t.line("  to: %s;", anyOf(storedStates(to)))
	if len(o.Inputs) == 0 {
		t.line("  inputs?: Record<string, never>;")
	} else {
		t.line("  inputs: {")
		for _, in := range o.Inputs {
			t.line("    %s: %s;", in.Name, t.logged(in.Type))
		}
		t.line("  };")
	}
	if fields := changing(t.m, o); fields == nil {
		t.line("  changes?: Record<string, never>;")
	} else {
		t.line("  changes?: {")
		for _, f := range fields {
			t.line("    %s?: %s;", f.Stored(), t.logged(f.Type))
		}
		t.line("  };")
	}
	t.line("}\n")
}

// logged is the type of a value in the log, where what is absent is null.
func (t *types) logged(x spec.Type) string {
	typ := t.typeOf(x, nil)
	switch x.Kind {
	case spec.KindEnum:
		typ = words(x, true)
	case spec.KindSet:
		return typ + " | { came: " + typ + "; gone: " + typ + " } | null"
	}
	if x.Optional {
		typ += " | null"
	}
	return typ
}
