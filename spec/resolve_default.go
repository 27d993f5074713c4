package spec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// bindDefault binds `default`, a constant of the field's type (FSM015, FSM021).
func (r *resolver) bindDefault(f *Field, n *node) {
	if n == nil || f.Type.Kind == 0 {
		return
	}
	if n.kind != scalarNode {
		hint := "write a constant of the field's type"
		if f.Type.Kind == KindJSON {
			hint = "write the JSON text in quotes, e.g. `'{}'`"
		}
		(&parser{reporter: r.reporter}).wrongKind(n, "default of field "+f.Name, "a constant", hint)
		return
	}
	if why := noDefault(f.Type); why != "" {
		r.at(codeTogether, n.word(), "remove `default`", "field %s: `default` does not go with %s", f.Name, why)
		return
	}
	v := Value{Pos: n.pos, Text: n.text}
	problem, hint := v.constant(f.Type, n)
	if problem != "" {
		d := r.at(codeValue, n.word(), hint, "default of field %s: %s", f.Name, problem)
		if f.Type.Kind == KindDuration {
			d.fix(n.word(), spanFix(n.text))
		}
		return
	}
	f.Default = &v
}

// noDefault says why a field of the type has no default; empty where it may have one.
func noDefault(t Type) string {
	switch {
	case t.Kind == KindCounter:
		return "a counter: it starts at 0"
	case t.Kind == KindSet:
		return "a set: it starts empty"
	case t.Kind == KindSequence:
		return "a sequence: the store gives its number"
	case t.Optional:
		return "`optional`: the field starts absent"
	}
	return ""
}

// constant reads a constant of a type.
func (v *Value) constant(t Type, n *node) (problem, hint string) {
	switch t.Kind {
	case KindInt:
		return v.number(t, n)
	case KindDuration:
		return v.span(t, n)
	case KindBool:
		if v.Kind, v.Bool = ValueBool, n.text == "true"; !n.plain || !v.Bool && n.text != "false" {
			return strconv.Quote(n.text) + " is not a boolean", "write true or false without quotes"
		}
		return "", ""
	case KindEnum:
		var words []string
		name, problem := unquote(n.text)
		if problem != "" {
			name = n.text
		}
		for _, w := range t.Values {
			if words = append(words, QuoteWord(w.Name)); w.Name == name {
				v.Kind, v.Word = ValueWord, w
				return "", ""
			}
		}
		return strconv.Quote(n.text) + " is none of its words", "write " + alternatives(words)
	}
	v.Kind, v.Const = ValueText, n.text
	switch t.Kind {
	case KindString:
		switch {
		case n.text == "":
			return "it is empty", "write a text, or make the field optional instead"
		case n.plain && (numberForm.MatchString(n.text) || yaml11[strings.ToLower(n.text)]):
			return n.text + " is not a text", "put it in quotes"
		case !t.FitsLength(n.text):
			return fmt.Sprintf("it has %d characters, and the field is %s", utf8.RuneCountInString(n.text), lengthText(t)),
				"write a text of another length, or change the bounds of the field"
		}
	case KindTime:
		at, err := time.Parse(time.RFC3339Nano, n.text)
		if err != nil || at.IsZero() || at.UTC().Year() < 1 || at.UTC().Year() > 9999 {
			return strconv.Quote(n.text) + " is not a time", "write e.g. 2026-01-31T12:00:00Z, of the years 1 to 9999"
		}
		v.Const = at.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
	case KindJSON:
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(n.text)); err != nil || depth(b.Bytes()) > maxDefaultDepth {
			return strconv.Quote(n.text) + " is not JSON", fmt.Sprintf("write JSON of at most %d levels in quotes, e.g. `'{}'`", maxDefaultDepth)
		}
		if v.Const = b.String(); escapesNUL(v.Const) {
			return strconv.Quote(n.text) + " holds a NUL character", `take \u0000 out: no text can hold it`
		}
		if v.Const == "null" {
			return "it is null", "write JSON that is not null, or make the field optional instead"
		}
	}
	v.Text = "'" + v.Const + "'"
	return "", ""
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

// maxDefaultDepth is how deep a JSON constant may be nested.
const maxDefaultDepth = 100

// depth returns how deep a JSON text is nested.
func depth(text []byte) int {
	deepest, open, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			open++
			deepest = max(deepest, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return deepest
}

// number reads a whole number within the bounds of a type.
func (v *Value) number(t Type, n *node) (problem, hint string) {
	var err error
	v.Kind = ValueInt
	v.Int, err = strconv.ParseInt(n.text, 10, 64)
	switch {
	case meantSpan(n.text) != "" && !numberForm.MatchString(n.text):
		return strconv.Quote(n.text) + " is not a whole number", "for a length write `duration` for the type, and the default as `" + meantSpan(n.text) + "`"
	case !n.plain || !numberForm.MatchString(n.text):
		return strconv.Quote(n.text) + " is not a whole number", "write a whole number in decimal digits, without quotes"
	case err != nil:
		return n.text + " is too large", "write a number of at most 64 bits"
	case t.Min != nil && v.Int < *t.Min || t.Max != nil && v.Int > *t.Max:
		return n.text + " is outside the bounds of the field", "write a number within the bounds, or widen them"
	}
	return "", ""
}

// span reads a length within the bounds of a type.
func (v *Value) span(t Type, n *node) (problem, hint string) {
	v.Kind = ValueSpan
	v.Int, problem = parseSpan(n.text)
	switch {
	case problem != "":
		return problem, cmp.Or(hintOfSpan(n.text), spanHint)
	case v.Int < *t.Min || v.Int > *t.Max:
		return n.text + " is outside the bounds of the field", "write a length within the bounds, or widen them"
	}
	return "", ""
}

// applyDefaults lets each creation set the fields that have a default and that it
// sets to nothing else: what follows from a default follows from this.
func (r *resolver) applyDefaults() {
	for _, f := range r.m.Fields {
		if f.Default == nil {
			continue
		}
		for _, o := range r.m.Operations {
			if len(o.Creates) > 0 && !assigns(&o.Effects, f) {
				o.Effects.Set = append(o.Effects.Set, Assign{Pos: f.Default.Pos, Field: f, Value: *f.Default, Default: true})
			}
		}
	}
	for _, x := range r.m.Invariant {
		if f, breaks := breaksDefaults(x); breaks {
			r.at(codeValue, word{pos: f.Default.Pos, size: len([]rune(f.Default.Text))}, "choose a default for which it holds",
				"default of field %s: the invariant `%s` does not hold for it", f.Name, x.Text).related(x.Pos, "the invariant")
		}
	}
}

func assigns(e *Effects, f *Field) bool {
	for _, a := range e.Set {
		if a.Field == f {
			return true
		}
	}
	return false
}

// breaksDefaults reports whether a fact compares defaults and constants alone and
// is false: rows that are there when the field is added would break it.
func breaksDefaults(x *Fact) (*Field, bool) {
	if x.Op == AnyOf {
		var field *Field
		for _, facts := range x.Any {
			broken := slices.ContainsFunc(facts, func(y *Fact) bool {
				f, broken := breaksDefaults(y)
				if broken && field == nil {
					field = f
				}
				return broken
			})
			if !broken {
				return nil, false
			}
		}
		return field, true
	}
	var f *Field
	for _, t := range x.Names() {
		if f == nil {
			f = t.Field
		}
	}
	left, known := x.Left.known()
	right, other := x.Right.known()
	if f == nil || !known || !other {
		return nil, false
	}
	order := compareConstants(left, right)
	switch x.Op {
	case Eq:
		return f, order != 0
	case Ne:
		return f, order == 0
	case Lt:
		return f, order >= 0
	case Le:
		return f, order > 0
	case Gt:
		return f, order <= 0
	case Ge:
		return f, order < 0
	}
	return nil, false
}

// known returns the constant that a term is where every default holds.
func (t *Term) known() (Value, bool) {
	switch t.Kind {
	case TermField:
		if t.Field.Default != nil {
			return *t.Field.Default, true
		}
	case TermInt:
		return Value{Kind: ValueInt, Int: t.Int}, true
	case TermSpan:
		return Value{Kind: ValueSpan, Int: t.Int}, true
	case TermBool:
		return Value{Kind: ValueBool, Bool: t.Bool}, true
	case TermWord:
		return Value{Kind: ValueWord, Word: t.Word}, true
	case TermText:
		return Value{Kind: ValueText, Const: t.Const}, true
	case TermSum:
		sum := Value{Kind: ValueInt}
		for _, p := range t.Parts {
			v, known := p.Term.known()
			if !known {
				return v, false
			}
			sum.Int += p.Signed(v.Int)
		}
		return sum, true
	}
	return Value{}, false
}

func compareConstants(a, b Value) int {
	text := func(v Value) string {
		switch v.Kind {
		case ValueBool:
			return strconv.FormatBool(v.Bool)
		case ValueWord:
			return v.Word.Name
		}
		return v.Const
	}
	at, err := time.Parse(time.RFC3339Nano, a.Const)
	to, wrong := time.Parse(time.RFC3339Nano, b.Const)
	if err == nil && wrong == nil {
		return at.Compare(to)
	}
	return cmp.Or(cmp.Compare(a.Int, b.Int), cmp.Compare(text(a), text(b)))
}

// SameDefault reports whether the defaults of two fields are one value; nil is none.
func (f *Field) SameDefault(o *Field) bool {
	if f.Default == nil || o.Default == nil {
		return f.Default == o.Default
	}
	a, b := *f.Default, *o.Default
	if a.Kind == ValueWord && b.Kind == ValueWord {
		return a.Word.Stored() == b.Word.Stored()
	}
	return a.Kind == b.Kind && a.Int == b.Int && a.Bool == b.Bool && a.Const == b.Const
}
