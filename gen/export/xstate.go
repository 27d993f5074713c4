package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// object is a JSON object that keeps its order.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, part := range []any{m.key, m.value} {
			if j > 0 {
				b.WriteByte(':')
			}
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(part); err != nil {
				return nil, err
			}
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (o *object) add(key string, value any) { *o = append(*o, member{key, value}) }

// text adds a text, when there is one.
func (o *object) text(key, value string) {
	if value = strings.Join(strings.Fields(value), " "); value != "" {
		o.add(key, value)
	}
}

// newState is the state before a record exists: creations have guards and
// effects, too.
const newState = "(new)"

// XState returns m as the configuration of an XState machine, version 5:
// createMachine(JSON.parse(text)). Events are operations, guards have the names
// of the machine's; where several must hold, the guard is called "all" and its
// parameters list them. What an operation does to the record are the actions
// set, clear, increment, add, reset, decrement, remove, effect and then; record_only and refuse stay where
// they are.
func XState(m *spec.Machine) ([]byte, error) {
	states := object{{newState, stateNode(m, nil)}}
	for _, s := range m.States {
		states.add(s.Name, stateNode(m, s))
	}
	root := object{
		{"id", m.Name},
		{"initial", newState},
		{"meta", object{{"generated", header}, {"entity", m.Entity}, {"version", m.Version}}},
	}
	root.text("description", m.Doc)
	root.add("states", states)
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

func stateNode(m *spec.Machine, s *spec.State) object {
	var n object
	if s != nil {
		n.text("description", s.Doc)
		if s.Terminal {
			n.add("type", "final") // nothing leaves it, and XState allows no events there
			var recorded []string
			for _, o := range m.Operations {
				if len(o.Creates) == 0 && m.Class(s, o) == spec.RecordOnly {
					recorded = append(recorded, o.Name)
				}
			}
			if recorded != nil {
				n.add("meta", object{{"recordOnly", recorded}})
			}
			return n
		}
	}
	var on object
	for _, o := range m.Operations {
		if ts := transitions(m, s, o); len(ts) > 0 {
			on.add(o.Name, ts)
		}
	}
	if on != nil {
		n.add("on", on)
	}
	if n == nil {
		return object{}
	}
	return n
}

// transitions lists what o does in s; nil when it is refused.
func transitions(m *spec.Machine, s *spec.State, o *spec.Operation) []object {
	switch {
	case (s == nil) != (len(o.Creates) > 0):
		return nil
	case s != nil && m.Class(s, o) == spec.RecordOnly:
		return []object{{{"actions", []any{object{{"type", "record_only"}}}}}}
	case s != nil && m.Class(s, o) != spec.Transition:
		return nil
	}
	var ts []object
	for _, b := range branchesOf(o, s) {
		var t object
		if b.to != nil {
			t.add("target", b.to.Name)
		}
		if g := guardOf(o, b); g != nil {
			t.add("guard", g)
		}
		if as := actions(o, s, b); len(as) > 0 {
			t.add("actions", as)
		}
		t.text("description", describe(o))
		ts = append(ts, t)
	}
	if o.OnRefusalRecordOnly && len(o.Require) > 0 {
		ts = append(ts, object{{"actions", []any{object{{"type", "record_only"}}}}})
	}
	return ts
}

func guardOf(o *spec.Operation, b branch) any {
	all := guardNames(o)
	for _, f := range b.when {
		all = append(all, f.Text)
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return object{{"type", all[0]}}
	}
	return object{{"type", "all"}, {"params", object{{"of", all}}}}
}

func actions(o *spec.Operation, s *spec.State, b branch) []object {
	if b.recordOnly {
		return []object{{{"type", "record_only"}}}
	}
	if b.reject != "" {
		return []object{{{"type", "refuse"}, {"params", object{{"error", b.reject}}}}}
	}
	var as []object
	action := func(kind string, params ...member) {
		as = append(as, object{{"type", kind}, {"params", object(params)}})
	}
	values := func(kind string, list []spec.Assign) {
		for _, a := range list {
			action(kind, member{"field", a.Field.Name}, member{"value", a.Value.Text})
		}
	}
	fields := func(kind string, list []spec.FieldRef) {
		for _, f := range list {
			action(kind, member{"field", f.Field.Name})
		}
	}
	for _, e := range b.effects {
		values("set", e.Set)
		fields("clear", e.Clear)
		fields("increment", e.Increment)
		values("add", e.Add)
		values("remove", e.Remove)
		fields("decrement", e.Decrement)
		fields("reset", e.Reset)
	}

	for _, e := range o.Asked(b.of, s, cmp.Or(b.to, s)) {
		params := []member{{"name", e.Name}, {"atomic", e.Atomic}}
		if e.Then != nil {
			params = append(params, member{"then", e.Then.Operation.Name})
		}
		if e.Attempts > 0 {
			params = append(params, member{"attempts", e.Attempts})
		}
		if e.Failed != nil {
			params = append(params, member{"failed", e.Failed.Operation.Name})
		}
		action("effect", params...)
	}
	if then := o.Follower(b.of); then != nil {
		action("then", member{"operation", then.Operation.Name})
	}
	return as
}

// describe says what a description can tell of o and nothing else does.
func describe(o *spec.Operation) string {
	text := o.Doc
	for _, t := range o.Triggers {
		text += " (" + t.Text + ")"
	}
	if o.By != spec.ByCaller {
		text += " (by: " + by(o) + ")"
	}
	return text
}
