package purekit

import (
	"testing"
	"time"
)

// colour is a type of words, as a package has them.
type colour uint8

func (c colour) Valid() bool { return c > 0 && c < 3 }

func (c *colour) UnmarshalText(text []byte) error {
	return parseWord([]string{"", "red", "blue"}, text, c, "value")
}

func TestCallInputs(t *testing.T) {
	t.Parallel()
	read := map[string]any{"": 1, "n": int64(3), "text": "a", "blue": "blue", "red": colour(1), "none": nil}
	c := callInputs{inputs: read}
	if n, text := inputOf[int64](&c, "n"), optionalInputOf[string](&c, "text"); n != 3 || text != Some("a") {
		t.Errorf("%d, %v", n, text)
	}
	if blue, red := inputOf[colour](&c, "blue"), inputOf[colour](&c, "red"); blue != 2 || red != 1 {
		t.Errorf("%d, %d", blue, red)
	}
	if none, missing := optionalInputOf[string](&c, "none"), optionalInputOf[int64](&c, "missing"); none.Present() || missing.Present() {
		t.Errorf("%v, %v", none, missing)
	}
	needTime(&c, time.Unix(0, 0))
	if n := countOf(&c, map[string]int64{"alone": 0}, "alone"); n != 0 || c.problem != "" {
		t.Errorf("%d, %s", n, c.problem)
	}
	if c.complete() || c.name != "" || c.problem == "" {
		t.Errorf("an input without a name is known: %+v", c)
	}
	delete(read, "")
	if c = (callInputs{inputs: read, known: c.known}); !c.complete() {
		t.Errorf("%+v", c)
	}
	for want, wrong := range map[string]func(*callInputs){
		"n: it is of type int64, expected string":              func(c *callInputs) { inputOf[string](c, "n") },
		"text: it is of type string, expected int64":           func(c *callInputs) { optionalInputOf[int64](c, "text") },
		"text: it is of type string, expected time.Time":       func(c *callInputs) { inputOf[time.Time](c, "text") },
		"n: it is of type int64, expected purekit.colour":      func(c *callInputs) { inputOf[colour](c, "n") },
		`text: "a" is no value`:                                func(c *callInputs) { inputOf[colour](c, "text") },
		"none: it is required and missing":                     func(c *callInputs) { inputOf[string](c, "none") },
		"now: it is required and zero":                         func(c *callInputs) { needTime(c, time.Time{}) },
		"few: the call does not say how many others there are": func(c *callInputs) { countOf(c, nil, "few") },
		"first: is wrong": func(c *callInputs) {
			c.wrong("first",
				"is wrong")
			c.wrong("second", "is wrong")
		},
		"blue: the operation has no such input": func(c *callInputs) { c.known = []string{"n", "none", "red", "text"} },
	} {
		c := callInputs{inputs: read, known: []string{"n", "none", "red", "text", "blue"}}
		if wrong(&c); c.complete() || c.name+": "+c.problem != want {
			t.Errorf("%s: %s, want %s", c.name, c.problem, want)
		}
	}
}
