package sqlstore

import (
	"iter"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// What a call brings often becomes what it changes: a heartbeat's lease is its input and the
// new value of a field. The log keeps such a value once. Instead of an object its column
// "inputs" then holds an array: the names of inputs whose values stand in "changes" under
// these names, and an object of the others. A reader of an event sees the whole object.

// briefInputs returns what the column holds of the inputs, which stand in the order of their names.
func briefInputs(inputs, changes string) string {
	var some, more [128]byte
	short, rest, before := append(some[:0], '['), append(more[:0], '{'), ""
	for member := range membersOf(inputs) {
		name, _, ok := strings.Cut(member, `":`)
		if !ok || member <= before || member[0] != '"' {
			return inputs
		}
		if before = member; has(changes, member) {
			short = append(append(short, name...), `",`...)
		} else {
			rest = append(append(rest, member...), ',')
		}
	}
	if len(rest) > 1 {
		rest[len(rest)-1] = '}'
		short = append(append(short, rest...), ',')
	}
	short[len(short)-1] = ']'
	if 1 < len(short) && len(short) < len(inputs) && short[1] == '"' {
		return string(short)
	}
	return inputs
}

// fullInputs returns the inputs of which the column holds an array. Where others have changed the
// event it is what the column holds: then the checksum is wrong.
func fullInputs(column, changes string) string {
	if !strings.HasPrefix(column, "[") {
		return column
	}
	var members []string
	for part := range membersOf(column) {
		if strings.HasPrefix(part, "{") {
			members = slices.AppendSeq(members, membersOf(part))
		} else if member := memberOf(changes, part+":"); member != "" {
			members = append(members, member)
		} else {
			return column
		}
	}
	if len(members) == 0 {
		return column
	}
	slices.Sort(members) // by their names, which are followed by a quote
	return "{" + strings.Join(members, ",") + "}"
}

func has(object, member string) bool { return memberOf(object, member) == member }

// memberOf returns the first member of an object that begins so; empty: there is none.
func memberOf(object, start string) string {
	for member := range membersOf(object) {
		if strings.HasPrefix(member, start) {
			return member
		}
	}
	return ""
}

// membersOf returns what stands between the commas of an object or array in compact JSON.
func membersOf(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		depth, begin, quoted := 0, 1, false
		for i := 1; i < len(text); i++ {
			switch c := text[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case quoted:
			case depth == 0 && (c == ',' || i == len(text)-1):
				if begin < i && !yield(text[begin:i]) {
					return
				}
				begin = i + 1
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				depth--
			}
		}
	}
}

// inputsColumn is the column of the inputs, each value once.
func inputsColumn() eventColumn {
	c := documentColumn("inputs", func(e *driver.Event) *driver.JSON { return &e.Inputs })
	c.value = func(e *driver.Event) any {
		if e.Inputs.IsZero() {
			return nil
		}
		return (*briefly)(e)
	}
	return c
}

// briefly is an event whose inputs are to be written.
type briefly driver.Event

func (b *briefly) text() string { return briefInputs(b.Inputs.String(), b.Changes.String()) }
