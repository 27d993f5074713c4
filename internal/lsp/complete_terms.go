package lsp

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// types proposes the types of the language.
func (c *completer) types() {
	about := map[string]string{
		"string": "Text; `string 1..64` bounds its length.", "int": "A whole number; `int 0..9` bounds it.", "bool": "true or false.",
		"time": "An instant.", "duration": "A length of time; `duration 1s..1h` bounds it.", "json": "Any JSON value.",
		"counter": "A number from 0 that only `increment`, `decrement` and `reset` change.", "set": "A set of strings.",
		"sequence": "A number that the store counts up for each record.",
	}
	names := []string{"string", "int", "bool", "time", "duration", "json", "counter", "set", "sequence"}
	optional := strings.HasPrefix(strings.TrimSpace(c.before), "optional")
	if !optional && strings.TrimSpace(c.before) != "" {
		return
	}
	for i, n := range names {
		if !optional || i < 6 {
			c.add(n, itemKeyword, "", about[n], n)
		}
	}
	if !optional {
		c.add("optional", itemKeyword, "", "The field may be absent.", "optional ")
	}
}

func (c *completer) aggregate() {
	switch words := strings.Fields(c.before); {
	case len(words) == 0:
		c.words(itemKeyword, "max", "min", "count")
	case len(words) == 1 && words[0] != "count":
		c.fieldNames(nil)
		c.words(itemField, "created_at", "updated_at")
	}
}

func (c *completer) triggers() {
	words := strings.Fields(c.before)
	switch {
	case len(words) == 0:
		c.add("startup", itemKeyword, "", "Once, when the program begins.", "startup")
		c.add("after", itemKeyword, "", "`after <time field>` or `after <time field> + <length>`", "after ")
	case words[len(words)-1] == "after":
		c.fieldNames(suits["trigger"])
		c.words(itemField, "created_at", "updated_at")
	case words[len(words)-1] == "+":
		c.fieldNames(func(f *spec.Field) bool { return f.Type.Kind == spec.KindDuration })
		c.words(itemValue, "30s", "1m", "1h", "1d")
	case len(words) == 2:
		c.words(itemOperator, "+")
	}
}

func (c *completer) defaults(path []string) {
	if c.machine == nil || len(path) < 2 {
		return
	}
	if f := c.machine.Field(path[1]); f != nil {
		c.constants(f.Type)
	}
}

// constants proposes the words that a type has.
func (c *completer) constants(t spec.Type) {
	switch t.Kind {
	case spec.KindBool:
		c.words(itemValue, "true", "false")
	case spec.KindEnum:
		for _, v := range t.Values {
			c.words(itemEnumMember, spec.QuoteWord(v.Name))
		}
	case spec.KindDuration:
		c.words(itemValue, "30s", "5m", "1h", "1d")
	}
}

// operation is the operation that the place is in; nil where there is none.
func (c *completer) operation(path []string) *spec.Operation {
	if c.machine == nil || len(path) < 2 || path[0] != "operations" {
		return nil
	}
	return c.machine.Operation(path[1])
}

// inputs proposes the inputs of an operation, or in a guard, those of all.
func (c *completer) inputs(o *spec.Operation) {
	if c.machine == nil {
		return
	}
	all := []*spec.Operation{o}
	if o == nil {
		all = c.machine.Operations
	}
	for _, o := range all {
		for _, in := range o.Inputs {
			c.add("input."+in.Name, itemValue, in.Type.String(), in.Doc, "input."+in.Name)
		}
	}
}

// value proposes what a field may be set to.
func (c *completer) value(path []string) {
	words := strings.Fields(c.before)
	o := c.operation(path)
	creation := o != nil && len(o.Creates) > 0
	if len(words) > 0 {
		c.moreOfValue(words, path)
		return
	}
	var t spec.Type
	if c.machine != nil {
		if f := c.machine.Field(path[len(path)-1]); f != nil {
			t = f.Type
		}
	}
	if path[0] == "operations" {
		c.add("input", itemKeyword, t.String(), "What the call brings under the name of the field.", "input")
		if t.Optional {
			c.add("input or absent", itemKeyword, "", "A call without it makes the field absent.", "input or absent")
		}
	}
	switch t.Kind {
	case spec.KindTime:
		c.words(itemKeyword, "now", "now + ")
	case spec.KindString, spec.KindSet:
		c.add("actor", itemKeyword, "", "Who calls.", "actor")
	}
	c.constants(t)
	c.inputs(o)
	if !creation {
		c.fieldNames(func(f *spec.Field) bool { return t.Kind == 0 || f.Type.Kind == t.Kind && f.Name != path[len(path)-1] })
	}
}

// moreOfValue proposes how a value goes on.
func (c *completer) moreOfValue(words, path []string) {
	switch last := words[len(words)-1]; {
	case last == "or":
		c.add("absent", itemKeyword, "", "A call without the input makes the field absent.", "absent")
		c.add("same", itemKeyword, "", "A call without the input keeps the old value.", "same")
		c.add("default", itemKeyword, "", "A call without the input gives the field its default.", "default")
		c.add("reject", itemKeyword, "", "On a branch: a call without the input is refused.", "reject")
	case last == "+" || last == "-":
		c.words(itemValue, "30s", "5m", "1h")
		c.fieldNames(func(f *spec.Field) bool {
			return f.Type.Kind != spec.KindString && f.Type.Kind != spec.KindSet && f.Type.Kind != spec.KindJSON
		})
		c.inputs(c.operation(path))
	case len(words) == 1 && (last == "input" || strings.HasPrefix(last, "input.")):
		c.words(itemKeyword, "or")
	case last == "now":
		c.words(itemOperator, "+")
	}
}

// relations are the signs between two terms.
var relations = []string{"==", "!=", "<", "<=", ">", ">=", "in", "covers", "+", "-"}

// facts proposes how a fact goes on.
func (c *completer) facts(path []string) {
	words := strings.Fields(c.before)
	last := ""
	if len(words) > 0 {
		last = words[len(words)-1]
	}
	switch {
	case last == "is":
		c.words(itemKeyword, "present", "absent")
	case last == "not":
		c.words(itemKeyword, "in")
	case last == "" || slices.Contains(relations, last):
		if len(words) > 1 && (last == "==" || last == "!=") {
			c.constants(c.typeOf(words[len(words)-2], path))
		}
		c.terms(path)
	case slices.Contains([]string{"present", "absent"}, last):
	default:
		c.words(itemOperator, "is present", "is absent", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "covers")
	}
}

// terms proposes what a fact may compare.
func (c *completer) terms(path []string) {
	c.fieldNames(nil)
	for _, f := range []string{"created_at", "updated_at"} {
		c.add(f, itemField, "time", "", f)
	}
	switch path[0] {
	case "steps":
		for _, f := range c.fields(nil) {
			c.add("old."+f.Name, itemField, f.Type.String(), "The field before the step.", "old."+f.Name)
		}
	case "guards", "operations":
		c.add("actor", itemKeyword, "", "Who calls.", "actor")
		c.add("now", itemKeyword, "", "The time of the call.", "now")
		c.inputs(c.operation(path))
	}
}

// typeOf is the type of a term as it is written.
func (c *completer) typeOf(term string, path []string) spec.Type {
	if c.machine == nil {
		return spec.Type{}
	}
	if name, ok := strings.CutPrefix(term, "input."); ok {
		for _, o := range c.machine.Operations {
			if in := o.Input(name); in != nil && (path[0] != "operations" || o.Name == path[1]) {
				return in.Type
			}
		}
	}
	if f := c.machine.Field(strings.TrimPrefix(term, "old.")); f != nil {
		return f.Type
	}
	return spec.Type{}
}
