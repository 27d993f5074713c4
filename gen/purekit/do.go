package purekit

import (
	"fmt"
	"slices"
	"time"
)

// callInputs reads what a call by name brings, and notes the first thing that is wrong with it.
type callInputs struct {
	inputs        map[string]any
	known         []string // the inputs of the operation
	name, problem string
}

// wrong notes what is wrong with something that a call brings or does not bring.
func (c *callInputs) wrong(name, problem string) {
	if c.problem == "" {
		c.name, c.problem = name, problem
	}
}

// complete reports whether nothing is wrong, and nothing is there that the operation does not know.
func (c *callInputs) complete() bool {
	unknown, found := "", false
	for name := range c.inputs {
		if !slices.Contains(c.known, name) && (!found || name < unknown) {
			unknown, found = name, true
		}
	}
	if found {
		c.wrong(unknown, "the operation has no such input")
	}
	return c.problem == ""
}

// needTime notes a time that is missing.
func needTime(c *callInputs, now time.Time) {
	if now.IsZero() {
		c.wrong("now", "it is required and zero")
	}
}

// countOf returns how many others a guard counts.
func countOf(c *callInputs, peers map[string]int64, guard string) int64 {
	n, sent := peers[guard]
	if !sent {
		c.wrong(guard, "the call does not say how many others there are")
	}
	return n
}

// inputOf returns an input that has to be there.
func inputOf[T any](c *callInputs, name string) (v T) {
	c.known = append(c.known, name)
	sent := c.inputs[name]
	if sent == nil {
		c.wrong(name, "it is required and missing")
		return v
	}
	return typedInput[T](c, name, sent)
}

// optionalInputOf returns an input that may be missing.
func optionalInputOf[T any](c *callInputs, name string) (o Optional[T]) {
	c.known = append(c.known, name)
	if sent := c.inputs[name]; sent != nil {
		o = Some(typedInput[T](c, name, sent))
	}
	return o
}

// typedInput returns an input with its type. The text of a word will do for the word.
func typedInput[T any](c *callInputs, name string, sent any) T {
	v, ok := sent.(T)
	word, isWord := any(&v).(interface {
		Valid() bool
		UnmarshalText(text []byte) error
	})
	if text, isText := sent.(string); !ok && isWord && isText {
		if err := word.UnmarshalText([]byte(text)); err != nil {
			c.wrong(name, err.Error())
		}
		return v
	}
	if !ok {
		c.wrong(name, fmt.Sprintf("it is of type %T, expected %T", sent, v))
	}
	return v
}
