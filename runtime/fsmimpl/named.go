package fsmimpl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Rule is a guard as people read it.
type Rule struct {
	Name string   // in the specification
	Text string   // what must hold: "owner == actor"
	From []string // stored words of the states in which it is asked; nil: in all of the operation's
}

// Argument is an input of an operation.
type Argument struct {
	driver.Column        // without a default
	Doc           string // the specification's words
	Length        bool   // a length of time: a number of microseconds
}

// InputError says what is wrong with an input of a call by name.
type InputError struct{ Input, Problem string }

// Error returns the problem, with the input.
func (e *InputError) Error() string { return "input " + e.Input + ": " + e.Problem }

// Named makes a call of an operation by its name in the specification, out of values as rows
// hold them, by the names of inputs. What is missing counts as absent. It returns an
// *InputError for an input that the operation does not take, one that is missing and not
// optional, and one of another type.
func (d *Descriptor[R]) Named(operation, id string, values map[string]any, c Caller) (Call[R], error) {
	i := slices.IndexFunc(d.Operations, func(op *Operation[R]) bool { return op.Name == operation })
	if i < 0 {
		return Call[R]{}, fmt.Errorf("%s has no operation %q", d.Schema.Machine, operation)
	}
	op := d.Operations[i]
	switch {
	case op.By == BySystem:
		return Call[R]{}, fmt.Errorf("only the machine itself runs %s of %s", operation, d.Schema.Machine)
	case op.Make == nil:
		return Call[R]{}, fmt.Errorf("%s of %s needs the program of the machine: %s", operation, d.Schema.Machine, op.Needs)
	}
	return op.Called(id, values, c)
}

// Called makes a call of an operation that has Make out of values as rows hold them, as Named does.
func (op *Operation[R]) Called(id string, values map[string]any, c Caller) (Call[R], error) {
	in, err := readInputs(op.Takes, values)
	if err != nil {
		return Call[R]{}, err
	}
	call := op.Make(in, id, c)
	call.Operation = op
	if len(in.errs) > 0 {
		return Call[R]{}, in.errs[0]
	}
	return call, nil
}

// readInputs begins to read values, in the order of the inputs.
func readInputs(takes []Argument, values map[string]any) (*Reading, error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(takes, func(a Argument) bool { return a.Name == name }) {
			return nil, &InputError{name, "the operation has no such input"}
		}
	}
	in := &Reading{takes: takes, row: driver.Row{Values: make([]any, len(takes))}}
	for i, a := range takes {
		v := values[a.Name]
		switch {
		case v == nil && !a.Optional:
			return nil, &InputError{a.Name, "it is required and missing"}
		case v == nil && a.Kind == driver.KindSet:
			v = "[]" // which is how a row holds a set that is absent
		}
		if word, is := v.(string); is && a.Words != nil && !slices.Contains(a.Words, word) {
			return nil, &InputError{a.Name, fmt.Sprintf("it is %q, expected %s", word, expected(a.Words))}
		}
		in.row.Values[i] = v
	}
	return in, nil
}

// wrongInput notes what is wrong with the input that was read last.
func (r *Reading) wrongInput(problem string) {
	text, found := strings.CutPrefix(problem, ": ")
	if !found {
		text = "it" + problem
	}
	r.errs = append(r.errs, &InputError{r.takes[r.next-1].Name, text})
}
