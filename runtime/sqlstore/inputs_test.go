package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestBriefInputs(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{`{"lease":"2026-01-02T03:04:05.000000Z"}`, `{"lease":"2026-01-02T03:04:05.000000Z"}`, `["lease"]`},
		{`{"a":1,"b":{"x":[1,"}"]},"c":null}`, `{"z":0,"b":{"x":[1,"}"]},"a":1}`, `["a","b",{"c":null}]`},
		{`{"a":{"b":"1234567890"},"k":"a\",\"b"}`, `{"owner":"w","k":"a\",\"b"}`, `["k",{"a":{"b":"1234567890"}}]`},
		{`{"a":1}`, `{"a":2}`, `{"a":1}`},                         // another value
		{`{"a":1}`, `{"b":1}`, `{"a":1}`},                         // another name
		{`{"a":1}`, ``, `{"a":1}`},                                // no changes
		{`{}`, `{}`, `{}`},                                        // no inputs
		{``, `{"a":1}`, ``},                                       // none at all
		{`{"a":1,"b":2}`, `{"a":1}`, `{"a":1,"b":2}`},             // not shorter
		{`{"b":100,"a":2}`, `{"b":100,"a":2}`, `{"b":100,"a":2}`}, // in another order
		{`{ "a" : 100000, "b" : 2 }`, `{ "a" : 100000, "b" : 2 }`, `{ "a" : 100000, "b" : 2 }`}, // not compact
		{`{"a":100000} `, `{"a":100000}`, `{"a":100000} `},
	} {
		if got := briefInputs(c[0], c[1]); got != c[2] {
			t.Errorf("%s beside %s is %s, want %s", c[0], c[1], got, c[2])
		}
		if got := fullInputs(c[2], c[1]); got != c[0] {
			t.Errorf("%s beside %s was %s, want %s", c[2], c[1], got, c[0])
		}
	}
	for _, c := range [][2]string{{`["a"]`, `{"b":1}`}, {`["a"]`, ``}, {`[1]`, `{"a":1}`}, {`["a`, `{"a":1}`}, {`["a",`, `{}`}} { // edited by others
		if got := fullInputs(c[0], c[1]); got != c[0] {
			t.Errorf("%s beside %s was %s, want it as it is", c[0], c[1], got)
		}
	}
}

// Whatever inputs and changes share, what is read is what was written.
func TestBriefInputsAtRandom(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	values := []string{`null`, `"a long text, with {\"braces\"] and \\"`, `{"b":[1,{"c":"}"}]}`, `[[],{}]`, `12345678901234`, `{"$json":null}`, `""`}
	shared := 0
	for range 5000 {
		var inputs, changes []string
		for _, name := range []string{"a", "a_b", "ab", "b2", "c"} {
			value, other := values[r.IntN(len(values))], values[r.IntN(len(values))]
			if r.IntN(3) > 0 {
				inputs = append(inputs, fmt.Sprintf("%q:%s", name, value))
			}
			if r.IntN(2) > 0 {
				other = value
			}
			if r.IntN(3) > 0 {
				changes = append(changes, fmt.Sprintf("%q:%s", name, other))
			}
		}
		r.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		in, out := "{"+strings.Join(inputs, ",")+"}", "{"+strings.Join(changes, ",")+"}"
		brief := briefInputs(in, out)
		if brief != in {
			shared++
		}
		if got := fullInputs(brief, out); got != in {
			t.Fatalf("%s beside %s is %s, and was %s", in, out, brief, got)
		}
	}
	if shared < 1000 {
		t.Errorf("%d of 5000 share a value, want more", shared)
	}
}
