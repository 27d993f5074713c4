package export

import (
	"bytes"
	"encoding/json"

	"github.com/fsmgen/fsmgen/spec"
)

// JSONSchema returns the JSON Schema (draft 2020-12) of what a program of the machine
// writes: of a record as Go's json makes it, which is the root, of the inputs of each
// operation and of the events of its log, below $defs. It is of this version of the
// machine: members that it does not know are refused.
func JSONSchema(m *spec.Machine) ([]byte, error) {
	d := &schema{m: m, n: namesOf(m)}
	defs := object{{d.n.Record, d.record()}, {d.n.Fields, d.fields()}}
	for _, s := range m.States {
		defs.add(d.n.of[s], d.state(s))
	}
	for _, o := range m.Operations {
		if len(o.Inputs) > 0 {
			defs.add(d.n.input[o], d.inputs(o))
		}
	}
	if !m.Alone() {
		events := []any{}
		for _, o := range m.Operations {
			events = append(events, ref(d.n.event[o]))
		}
		defs.add(d.n.Event, object{{"oneOf", append(events, ref(d.n.OwnEvent))}})
		for _, o := range m.Operations {
			defs.add(d.n.event[o], d.event(o))
		}
		defs.add(d.n.OwnEvent, d.ownEvent())
		defs.add(d.n.EventFields, eventFields())
	}
	root := object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"$comment", header}, {"title", m.Entity}}
	root.text("description", m.Doc)
	root = append(root, member{"$ref", "#/$defs/" + d.n.Record}, member{"$defs", defs})
	return indented(root)
}

// indented is a document as JSON that people read.
func indented(root object) ([]byte, error) {
	data, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

type schema struct {
	m *spec.Machine
	n *typeNames
}

func ref(name string) object { return object{{"$ref", "#/$defs/" + name}} }

// closed is an object with these members alone.
func closed(properties object, required []string) object {
	o := object{{"type", "object"}}
	if len(properties) > 0 {
		o.add("properties", properties)
	}
	if len(required) > 0 {
		o.add("required", required)
	}
	o.add("additionalProperties", false)
	return o
}

func (d *schema) record() object {
	var list []object
	for _, s := range d.m.States {
		list = append(list, ref(d.n.of[s]))
	}
	return object{{"oneOf", list}}
}

// fields are the members that a record has in any state.
func (d *schema) fields() object {
	var properties object
	var required []string
	for _, name := range builtins(d.m) {
		required = append(required, name)
		switch name {
		case "id":
			properties.add(name, object{{"type", "string"}, {"minLength", 1}})
		case "state":
			properties.add(name, object{{"enum", stateNames(d.m)}})
		case "rev":
			properties.add(name, object{{"type", "integer"}, {"minimum", 1}})
		default:
			properties.add(name, valueSchema(spec.Type{Kind: spec.KindTime}, false))
		}
	}
	for _, f := range d.m.Fields {
		properties.add(f.Name, described(valueSchema(f.Type, false), f.Doc))
		if !f.Type.Optional {
			required = append(required, f.Name)
		}
	}
	return closed(properties, required)
}

func stateNames(m *spec.Machine) []string {
	list := make([]string, len(m.States))
	for i, s := range m.States {
		list[i] = s.Name
	}
	return list
}

func described(o object, doc string) object {
	o.text("description", doc)
	return o
}

// state is a record in a state: fields that it promises are there, or are not.
func (d *schema) state(s *spec.State) object {
	o := described(nil, s.Doc)
	o.add("$ref", "#/$defs/"+d.n.Fields)
	properties := object{{"state", object{{"const", s.Name}}}}
	var required []string
	for _, f := range d.m.Fields {
		present, absent := promised(s, f)
		switch set := f.Type.Kind == spec.KindSet; {
		case present && set:
			properties.add(f.Name, object{{"minItems", 1}})
		case absent && set:
			properties.add(f.Name, object{{"maxItems", 0}})
		case present && f.Type.Optional:
			required = append(required, f.Name)
		case absent && f.Type.Optional:
			properties.add(f.Name, false)
		}
	}
	o.add("properties", properties)
	if required != nil {
		o.add("required", required)
	}
	return o
}

// valueSchema is the schema of a value. In the log words are those that are stored.
func valueSchema(t spec.Type, stored bool) object {
	numbers := func(low, high string) object {
		kind := "integer"
		if t.Kind == spec.KindString {
			kind = "string"
		}
		o := object{{"type", kind}}
		if n, ok := least(t); ok {
			o.add(low, n)
		}
		if t.Max != nil {
			o.add(high, *t.Max)
		}
		return o
	}
	switch t.Kind {
	case spec.KindString:
		return numbers("minLength", "maxLength")
	case spec.KindBool:
		return object{{"type", "boolean"}}
	case spec.KindTime:
		return object{{"type", "string"}, {"format", "date-time"}}
	case spec.KindJSON:
		if stored {
			return object{} // a null within it is written as {"$json":null}
		}
		return object{{"not", object{{"type", "null"}}}}
	case spec.KindSet:
		return object{{"type", "array"}, {"items", object{{"type", "string"}, {"minLength", 1}}}, {"uniqueItems", true}}
	case spec.KindEnum:
		var words []string
		for _, w := range t.Values {
			if stored {
				words = append(words, w.Stored())
			} else {
				words = append(words, w.Name)
			}
		}
		return object{{"enum", words}}
	}
	o := numbers("minimum", "maximum")
	if t.Kind == spec.KindDuration {
		o.add("$comment", "microseconds")
	}
	return o
}

// inputs are what a call of an operation brings.
func (d *schema) inputs(o *spec.Operation) object {
	var properties object
	var required []string
	for _, in := range o.Inputs {
		properties.add(in.Name, described(valueSchema(inputType(o, in), false), in.Doc))
		if !in.Type.Optional {
			required = append(required, in.Name)
		}
	}
	return closed(properties, required)
}

func orNull(o object) object {
	if len(o) == 0 {
		return o // anything, null too
	}
	return object{{"anyOf", []object{o, {{"type", "null"}}}}}
}

// eventFields are the members that an event may have, whatever made it.
func eventFields() object {
	text, number := object{{"type", "string"}}, object{{"type", "integer"}, {"minimum", 0}}
	anything := object{{"type", "object"}}
	properties := object{
		{"id", object{{"type", "string"}, {"minLength", 1}}}, {"rev", object{{"type", "integer"}, {"minimum", 1}}}, {"n", number},
		{"operation", text}, {"name", text}, {"from", text}, {"to", text}, {"at", valueSchema(spec.Type{Kind: spec.KindTime}, false)},
		{"actor", text}, {"reason", text}, {"request_id", text}, {"request_n", number}, {"fingerprint", text},
		{"labels", object{{"type", "object"}, {"additionalProperties", text}}},
		{"inputs", anything}, {"changes", anything}, {"image", anything},
		{"version", number}, {"cause", text}, {"guard", text}, {"sum", number}, {"chain", number}, {"cursor", text},
	}
	return closed(properties, []string{"id", "rev", "n", "operation", "name", "to", "at", "version"})
}

// event is an event of an operation in the log.
func (d *schema) event(o *spec.Operation) object {
	e := described(nil, o.Doc)
	e.add("$ref", "#/$defs/"+d.n.EventFields)
	from, to := moves(d.m, o)
	properties := object{{"operation", object{{"const", o.Stored()}}}, {"name", object{{"const", o.StoredEvent()}}}}
	required := []string(nil)
	if len(o.Creates) > 0 {
		properties.add("from", false)
	} else {
		properties.add("from", object{{"enum", storedStates(from)}})
		required = append(required, "from")
	}
	properties.add("to", object{{"enum", storedStates(to)}})
	var inputs object
	var all []string
	if len(o.Inputs) == 0 {
		properties.add("inputs", closed(inputs, nil))
	} else {
		for _, in := range o.Inputs {
			value := valueSchema(inputType(o, in), true)
			if in.Type.Optional {
				value = orNull(value)
			}
			inputs.add(in.Name, value)
			all = append(all, in.Name)
		}
		properties.add("inputs", closed(inputs, all))
		required = append(required, "inputs")
	}
	if fields := changing(d.m, o); fields == nil {
		properties.add("changes", closed(nil, nil))
	} else {
		var changes object
		for _, f := range fields {
			changes.add(f.Stored(), changeSchema(f))
		}
		properties.add("changes", closed(changes, nil))
	}
	e.add("properties", properties)
	if required != nil {
		e.add("required", required)
	}
	return e
}

// changeSchema is the schema of what a field became: of a set the members that came, and went.
func changeSchema(f *spec.Field) object {
	value := valueSchema(f.Type, true)
	switch {
	case f.Type.Kind == spec.KindSet:
		both := closed(object{{"came", value}, {"gone", value}}, []string{"came", "gone"})
		return object{{"anyOf", []object{value, both, {{"type", "null"}}}}}
	case f.Type.Optional:
		return orNull(value)
	}
	return value
}

func storedStates(states []*spec.State) []string {
	list := make([]string, len(states))
	for i, s := range states {
		list[i] = s.Stored()
	}
	return list
}

// ownEvent is an event that no operation makes.
func (d *schema) ownEvent() object {
	return object{
		{"description", "An event that no operation makes, such as an import or a repair."},
		{"$ref", "#/$defs/" + d.n.EventFields},
		{"properties", object{{"operation", object{{"enum", ownOperations}}}}},
	}
}
