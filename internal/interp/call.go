package interp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/spec"
)

// Call is one call of one operation.
type Call struct {
	Op          *spec.Operation
	ID          string // the record; empty when the operation is to pick one
	ExpectedRev int64  // 0: none
	RequestID   string // empty: none
	Fired       bool   // by a trigger, at a revision: the actor is the system, and the request id is made of operation and revision
	Actor       string
	Reason      string
	At          time.Time // never zero: who has a clock puts its reading here
	Labels      map[string]string
	Inputs      map[string]Value

	before *Record // of a rule over a step: what `old.` reads
}

const (
	// systemActor is who runs a system operation.
	systemActor = "system"
	// systemPrefix starts the request ids that the runtime makes itself.
	systemPrefix = "sys:"
	// maxID is the longest record id, request id or actor, in bytes.
	maxID = 255
)

// Accept looks at a call by itself and returns it as the later steps see it:
// the time cut to microseconds, every input of the operation there, system as
// the actor of a system operation. It asks for no id and no request id, since
// the pure layer has none.
func Accept(m *spec.Machine, c Call) (Call, *Refusal) {
	c, refusal := acceptCall(m, c)
	if refusal != nil {
		return c, refusal
	}
	return acceptInputs(m, c)
}

// acceptCall is Accept without the values of the inputs.
func acceptCall(m *spec.Machine, c Call) (Call, *Refusal) {
	c.At = cut(c.At)
	if !inYears(c.At) {
		return c, c.invalid("at", "it is outside the years 1 to 9999")
	}
	switch {
	case c.Op.By == spec.BySystem:
		c.Actor = systemActor
	case c.Actor == "" && (c.Op.By == spec.ByOperator || known(m, c.Op).actor):
		return c, c.refuse(CodeActorMissing, "")
	case c.Reason == "" && c.Op.By == spec.ByOperator:
		return c, c.refuse(CodeReasonMissing, "")
	}
	if problem := idProblem(c.Actor); problem != "" {
		return c, c.invalid("actor", problem)
	}
	if problem := textProblem(c.Reason); problem != "" {
		return c, c.invalid("reason", problem)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		if textProblem(key) != "" || textProblem(c.Labels[key]) != "" {
			return c, c.invalid("labels", "a label is not UTF-8 or holds NUL")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Inputs)) {
		if !known(m, c.Op).inputs[name] {
			return c, c.invalid(name, "the operation has no such input")
		}
	}
	return c, nil
}

// holdsLost reports whether an input is a text that no store holds. It cannot be compared
// with what was recorded, so it comes before the request.
func holdsLost(c Call) bool {
	return slices.ContainsFunc(c.Op.Inputs, func(in *spec.Input) bool {
		v := c.Inputs[in.Name]
		switch {
		case v.Kind != kindOf(in.Type.Kind):
			return false
		case v.Kind == KindJSON:
			return !json.Valid([]byte(v.Text)) || !utf8.ValidString(v.Text) || escapesNUL(v.Text)
		}
		return (v.Kind == KindString || v.Kind == KindWord) && textProblem(v.Text) != ""
	})
}

// acceptInputs fills in the inputs that a call leaves out, and refuses the first
// one that its operation cannot take. The filled call stands beside a refusal,
// too: whether its request is known comes first.
func acceptInputs(m *spec.Machine, c Call) (Call, *Refusal) {
	var refusal *Refusal
	inputs := make(map[string]Value, len(c.Op.Inputs))
	into := known(m, c.Op).into // the bounds of a field hold for every input set into it
	for _, in := range c.Op.Inputs {
		v, problem := acceptInput(in, into[in], c.Inputs[in.Name])
		if problem != "" && refusal == nil {
			refusal = c.invalid(in.Name, problem)
		}
		if v.Kind != KindAbsent {
			inputs[in.Name] = v
		}
	}
	c.Inputs = inputs
	return c, refusal
}

// acceptInput returns the value that an input has, which is set into some fields, and what is wrong with it.
func acceptInput(in *spec.Input, into []*spec.Field, v Value) (Value, string) {
	if v.Kind == KindAbsent {
		if in.Type.Optional {
			return Absent, ""
		}
		switch in.Type.Kind {
		case spec.KindInt, spec.KindCounter, spec.KindSequence:
			v = Int(0)
		case spec.KindDuration:
			v = Span(0)
		case spec.KindBool:
			v = Bool(false)
		case spec.KindSet:
			v = Set()
		default:
			return v, "it is required and was not sent"
		}
	}
	if want := kindOf(in.Type.Kind); v.Kind != want {
		return v, fmt.Sprintf("it is %s, which is not a value of its type", v)
	}
	switch v.Kind {
	case KindString:
		if v.Text == "" && in.Type.Optional {
			return v, "it is empty; leave it out instead"
		}
		if v.Text == "" {
			return v, "it is required and empty"
		}
		if problem := textProblem(v.Text); problem != "" {
			return v, problem
		}
		if problem := lengthProblem(in.Type, v.Text); problem != "" {
			return v, problem
		}
		for _, f := range into {
			if problem := lengthProblem(f.Type, v.Text); problem != "" {
				return v, problem
			}
		}
	case KindSet:
		for _, member := range v.Members() {
			if member == "" {
				return v, "a member is empty"
			}
			if problem := textProblem(member); problem != "" {
				return v, problem
			}
		}
	case KindTime:
		if v == Time(time.Time{}) && !in.Type.Optional {
			return v, "it is required and zero"
		}
		if !inYears(v.AsTime()) {
			return v, "it is outside the years 1 to 9999"
		}
	case KindJSON:
		if !json.Valid([]byte(v.Text)) || !utf8.ValidString(v.Text) {
			return v, "it is not JSON"
		}
		if v.Text == "null" && in.Type.Optional {
			return v, "it is null; leave it out instead"
		}
		if v.Text == "null" {
			return v, "it is required and null"
		}
		if escapesNUL(v.Text) {
			return v, "it holds NUL"
		}
	case KindWord:
		if !slices.ContainsFunc(in.Type.Values, func(w *spec.EnumValue) bool { return w.Name == v.Text }) {
			return v, fmt.Sprintf("%q is none of its words", v.Text)
		}
	case KindInt, KindDuration:
		if problem := boundProblem(in.Type, v.Num); problem != "" {
			return v, problem
		}
		for _, f := range into {
			if problem := boundProblem(f.Type, v.Num); problem != "" {
				return v, problem
			}
		}
	}
	return v, ""
}

// escapesNUL reports whether a string or a name in a JSON text holds NUL.
func escapesNUL(text string) bool {
	dec := json.NewDecoder(strings.NewReader(text))
	for dec.UseNumber(); ; { // a number may be greater than any float
		t, err := dec.Token()
		if s, ok := t.(string); ok && strings.Contains(s, "\x00") {
			return true
		}
		if err != nil {
			return false
		}
	}
}

// boundProblem says what is wrong with n as a value of the type, or "".
func boundProblem(t spec.Type, n int64) string {
	text := spec.SpanText
	if t.Kind != spec.KindDuration {
		text = func(n int64) string { return strconv.FormatInt(n, 10) }
	}
	switch {
	case t.Min != nil && n < *t.Min:
		return text(n) + " is less than " + text(*t.Min)
	case t.Max != nil && n > *t.Max:
		return text(n) + " is more than " + text(*t.Max)
	case t.Kind == spec.KindCounter && n < 0:
		return fmt.Sprintf("%d is less than 0", n)
	}
	return ""
}

// lengthProblem says what is wrong with the length of a text of the type, or "".
func lengthProblem(t spec.Type, text string) string {
	if !t.HasLength() {
		return ""
	}
	n := utf8.RuneCountInString(text)
	if problem := boundProblem(t, int64(n)); problem != "" {
		return "its length: " + problem
	}
	return ""
}

// knownOf is what the calls of an operation ask for again and again.
type knownOf struct {
	inputs map[string]bool
	into   map[*spec.Input][]*spec.Field // the fields that each input is set into
	actor  bool                          // what it does depends on who calls
}

// knownKey is the key of what is known of the operations of a machine.
type knownKey struct{}

// known works that out once for each operation of the machine. An operation of another one, as
// tests change copies of a machine, is looked at each time.
func known(m *spec.Machine, op *spec.Operation) *knownOf {
	list := spec.Derived(m, knownKey{}, func(m *spec.Machine) map[*spec.Operation]*knownOf {
		list := make(map[*spec.Operation]*knownOf, len(m.Operations))
		for _, o := range m.Operations {
			list[o] = learn(o)
		}
		return list
	})
	if k := list[op]; k != nil {
		return k
	}
	return learn(op)
}

func learn(op *spec.Operation) *knownOf {
	k := &knownOf{inputs: map[string]bool{}, into: map[*spec.Input][]*spec.Field{}, actor: usesActor(op)}
	for _, in := range op.Inputs {
		k.inputs[in.Name] = true
	}
	for _, e := range allEffects(op) {
		for _, a := range e.Set {
			if in := a.Value.Input; in != nil {
				k.into[in] = append(k.into[in], a.Field)
			}
		}
	}
	return k
}

// allEffects lists the effects of an operation and of its branches.
func allEffects(op *spec.Operation) []*spec.Effects {
	effects := []*spec.Effects{&op.Effects}
	for _, b := range op.Choose {
		effects = append(effects, &b.Effects)
	}
	return effects
}

// allFacts lists the facts an operation looks at, those of an `any` one by one.
func allFacts(op *spec.Operation) []*spec.Fact {
	var facts []*spec.Fact
	for _, r := range op.Require {
		facts = append(facts, r.Reads()...)
	}
	for _, b := range op.Choose {
		facts = append(facts, b.When...)
	}
	return spec.Leaves(append(facts, op.Chosen()...))
}

// usesActor reports whether what the operation does depends on who calls.
func usesActor(op *spec.Operation) bool {
	for _, f := range allFacts(op) {
		if f.Left.Kind == spec.TermActor || f.Right.Kind == spec.TermActor {
			return true
		}
	}
	for _, e := range allEffects(op) {
		for _, a := range e.Assigned() {
			if a.Value.Kind == spec.ValueActor {
				return true
			}
		}
	}
	return false
}

// idProblem says what is wrong with a record id, a request id or an actor, or "".
func idProblem(id string) string {
	if len(id) > maxID {
		return fmt.Sprintf("it has %d bytes, more than %d", len(id), maxID)
	}
	return textProblem(id)
}

// textProblem says what is wrong with a text, or "".
func textProblem(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "it is not UTF-8"
	case strings.ContainsRune(s, 0):
		return "it holds NUL"
	}
	return ""
}

func inYears(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

// kindOf returns the kind of the values of a type.
func kindOf(k spec.Kind) ValueKind {
	switch k {
	case spec.KindString:
		return KindString
	case spec.KindInt, spec.KindCounter, spec.KindSequence:
		return KindInt
	case spec.KindBool:
		return KindBool
	case spec.KindTime:
		return KindTime
	case spec.KindJSON:
		return KindJSON
	case spec.KindSet:
		return KindSet
	case spec.KindEnum:
		return KindWord
	case spec.KindDuration:
		return KindDuration
	}
	return KindAbsent
}

func (c Call) invalid(name, problem string) *Refusal {
	return &Refusal{Code: CodeInvalidInput, Operation: c.Op.Name, Name: name, Message: problem}
}

func (c Call) refuse(code, state string) *Refusal {
	return &Refusal{Code: code, Operation: c.Op.Name, State: state}
}
