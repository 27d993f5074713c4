package sqlstore

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// What a call brings often becomes what it changes: a heartbeat's lease is its input and the
// new value of a field. The log keeps such a value once. Instead of an object its column
// "inputs" then holds an array: the names of inputs whose values stand in "changes" under
// these names, and an object of the others. A reader of an event sees the whole object.

// briefInputs returns what the column holds of the inputs.
func briefInputs(inputs, changes string) string {
	given, changed := members(inputs), members(changes)
	if len(given) == 0 || len(changed) == 0 || objectText(given) != inputs {
		return inputs
	}
	var list []string
	rest := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if value, ok := changed[name]; ok && string(value) == string(given[name]) {
			list = append(list, strconv.Quote(name))
		} else {
			rest[name] = given[name]
		}
	}
	if len(list) == 0 {
		return inputs
	}
	if len(rest) > 0 {
		list = append(list, objectText(rest))
	}
	if short := "[" + strings.Join(list, ",") + "]"; len(short) < len(inputs) {
		return short
	}
	return inputs
}

// fullInputs returns the inputs of which the column holds an array. Where others have changed the
// event it is what the column holds: then the checksum is wrong.
func fullInputs(column, changes string) string {
	var list []json.RawMessage
	if !strings.HasPrefix(column, "[") || json.Unmarshal([]byte(column), &list) != nil {
		return column
	}
	changed, given := members(changes), map[string]json.RawMessage{}
	for _, item := range list {
		var name string
		if item[0] == '{' {
			maps.Copy(given, members(string(item)))
		} else if err := json.Unmarshal(item, &name); err != nil || changed[name] == nil {
			return column
		} else {
			given[name] = changed[name]
		}
	}
	return objectText(given)
}

// members returns the values of an object by their names; nil: the text is none.
func members(text string) (values map[string]json.RawMessage) {
	if text == "" || json.Unmarshal([]byte(text), &values) != nil {
		return nil
	}
	return values
}

// objectText returns an object's text, in the order of its names.
func objectText(values map[string]json.RawMessage) string {
	b := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(values)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(strconv.AppendQuote(b, name), ':'), values[name]...)
	}
	return string(append(b, '}'))
}

// inputsColumn is the column of the inputs, each value once.
func inputsColumn() eventColumn {
	c := documentColumn("inputs", func(e *driver.Event) *driver.JSON { return &e.Inputs })
	c.value = func(e *driver.Event) any { return orNull(briefInputs(e.Inputs.String(), e.Changes.String())) }
	return c
}
