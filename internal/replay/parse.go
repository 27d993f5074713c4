package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/live"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// Members are the members of an event as JSON, in their order.
var Members = []string{
	"id", "rev", "n", "operation", "name", "from", "to", "at", "actor", "reason", "request_id", "request_n", "fingerprint",
	"labels", "inputs", "changes", "image", "version", "cause", "guard", "sum", "chain",
}

// Mandatory are those without which an event says nothing.
var Mandatory = []string{"id", "rev", "operation", "to", "at"}

// parsed is what a line says besides the event.
type parsed struct {
	members map[string]json.RawMessage
	changes map[string]json.RawMessage
	inputs  map[string]json.RawMessage
}

func (p parsed) has(member string) bool {
	raw, ok := p.members[member]
	return ok && string(raw) != "null"
}

// parse reads the event of a line.
func (c *checker) parse(text []byte) (p parsed, ok bool) {
	if !utf8.Valid(text) { // encoding/json would replace what is none, and make two ids one
		c.say(RuleJSON, "the line is not UTF-8; expected one event per line, as JSON in UTF-8")
		return p, false
	}
	if err := json.Unmarshal(text, &p.members); err != nil || p.members == nil {
		c.say(RuleJSON, "%s", jsonProblem(text, err))
		return p, false
	}
	_ = json.Unmarshal(p.members["id"], &c.event.ID) // so that the next findings name it
	for _, name := range slices.Sorted(maps.Keys(p.members)) {
		if !slices.Contains(Members, name) && name != "cursor" {
			c.say(RuleJSON, "unknown member %q; %s", name, spec.DidYouMean(spec.Nearest(name, Members), "expected", Members))
		}
	}
	for _, name := range Mandatory {
		if !p.has(name) {
			c.say(RuleJSON, "the member %q is missing", name)
		}
	}
	if c.found {
		return p, false
	}
	var e fsm.Event
	if err := json.Unmarshal(text, &e); err != nil {
		var typed *json.UnmarshalTypeError
		if errors.As(err, &typed) {
			err = fmt.Errorf("the member %q is a %s; expected a %s", typed.Field, typed.Value, kindOf(typed.Type.String()))
		}
		c.say(RuleJSON, "%v", err)
		return p, false
	}
	if fact, known := c.facts[e.Operation]; known && !p.has("name") {
		e.Name = fact.Operation.StoredEvent()
	}
	if !p.has("version") {
		e.Version = c.m.Version
	}
	c.event = e
	if err := driver.CheckID(e.ID); err != nil || e.ID == "" {
		c.say(RuleJSON, "the id %q is invalid: it is empty, not UTF-8, contains NUL or is longer than 255 bytes", e.ID)
		return p, false
	}
	if e.Rev < 1 || e.N < 0 {
		c.say(RuleJSON, "rev is %d and n is %d; revisions count from 1, and n from 0", e.Rev, e.N)
		return p, false
	}
	for _, x := range []struct {
		name string
		from fsm.JSON
		into *map[string]json.RawMessage
	}{{"changes", e.Changes, &p.changes}, {"inputs", e.Inputs, &p.inputs}, {"image", e.Image, new(map[string]json.RawMessage)}} {
		if x.from.IsZero() || x.from.String() == "null" {
			continue
		}
		if err := x.from.Decode(x.into); err != nil {
			c.say(RuleJSON, "the member %q is %.40s; expected an object", x.name, x.from)
		}
	}
	return p, !c.found
}

// jsonProblem says what is wrong with a line that is no JSON object.
func jsonProblem(text []byte, err error) string {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("the line is not JSON: %v at byte %d; expected one event per line, like {\"id\":…,\"rev\":1,…}", syntax, syntax.Offset)
	case bytes.HasPrefix(text, []byte("[")):
		return "the line is an array; expected one event per line, like {\"id\":…,\"rev\":1,…} (jq -c '.[]' takes an array apart)"
	}
	return "the line is not a JSON object; expected one event per line, like {\"id\":…,\"rev\":1,…}"
}

// kindOf is a Go type in the words of JSON.
func kindOf(t string) string {
	switch {
	case strings.HasPrefix(t, "int"), strings.HasPrefix(t, "uint"), t == "*int64":
		return "whole number"
	case strings.HasPrefix(t, "map"):
		return "object of strings"
	}
	return t
}

// value reads a value as it stands in an event.
func value(t spec.Type, raw json.RawMessage) (interp.Value, error) {
	if string(raw) == "null" {
		return interp.Absent, nil
	}
	return live.ValueFromJSON(t, raw)
}

// unescaped undoes what encoders do to text for the sake of HTML and JavaScript.
var unescaped = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u003C`, "<", `\u003E`, ">", `\u2028`, "\u2028", `\u2029`, "\u2029")

// checksum compares the event with its own checksum, where it has one.
func (c *checker) checksum(text []byte) {
	e := c.event
	if e.Sum == 0 || driver.Checksum(&e) == e.Sum {
		return
	}
	var again fsm.Event
	if json.Unmarshal([]byte(unescaped.Replace(string(text))), &again) == nil && driver.Checksum(&again) == e.Sum {
		return
	}
	hint := ""
	if unescaped.Replace(string(text)) != string(text) {
		hint = `; it covers the exact text; an encoder may have rewritten < as \u003c`
	}
	c.say(RuleSum, "the event's checksum is %d, but the event says %d%s", driver.Checksum(&e), e.Sum, hint)
	c.found = false // the event is judged as it is
}

// history compares the chain with what the events of the record make of it, where
// both have one.
func (c *checker) history(r *record) {
	e := &c.event
	before, follows := r.stepped, e.Rev == r.rev+1
	if e.RecordOnly() {
		before, follows = r.last, e.Rev == r.rev && e.N == r.n+1
	}
	if want := driver.Chained(before, e); e.Chain != 0 && follows && e.Chain != want && (before != 0 || r.rev == 0) {
		c.say(RuleHistory, "the chain of checksums is %d here, but the event says %d: an event was altered and "+
			"given a new checksum", want, e.Chain)
		c.found = false
	}
	r.last = e.Chain
	if !e.RecordOnly() {
		r.stepped = e.Chain
	}
}
