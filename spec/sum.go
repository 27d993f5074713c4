package spec

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Part is a number, a time or a length that a sum adds, or takes off.
type Part struct {
	Minus bool
	Term  Term
}

// Signed is a number as the sum takes it.
func (p Part) Signed(n int64) int64 {
	if p.Minus {
		return -n
	}
	return n
}

// mostParts is how many numbers a sum has at most: with the limit of each one no sum leaves
// 64 bits.
const mostParts = 4

// SumLimit is how far from 0 a number may be that a sum reads, or that is set to one.
const SumLimit = 1 << 60

const sumHint = "write two to four parts with ` + ` or ` - ` between them: int fields, counters, `input.x` and numbers, " +
	"or times and lengths such as 5m; at least one of them is no constant"

// Names lists what a side of a fact names: the term itself, or the parts of a sum.
func (t Term) Names() []Term {
	switch t.Kind {
	case TermSum:
		var list []Term
		for _, p := range t.Parts {
			list = append(list, p.Term.Names()...)
		}
		return list
	case TermBackoff:
		b := t.Backoff
		return []Term{b.Base, b.Max, {Pos: b.ByPos, Kind: TermField, Text: b.By.Name, Field: b.By}}
	}
	return []Term{t}
}

// Names lists what the two sides of a fact name. Of `any` it lists nothing: see Leaves.
func (f *Fact) Names() []Term {
	if f.Op == AnyOf {
		return nil
	}
	return slices.Concat(f.Left.Names(), f.Right.Names())
}

// Reads reports whether a side of the fact is the field, or a sum with it.
func (f *Fact) Reads(field *Field) bool {
	return slices.ContainsFunc(f.Names(), func(t Term) bool { return t.Field == field && field != nil })
}

// Inputs lists the inputs that a value takes something from, each as often as it is named.
func (v Value) Inputs() []*Input {
	if v.Input != nil {
		return []*Input{v.Input}
	}
	var list []*Input
	for _, t := range v.names() {
		if t.Input != nil {
			list = append(list, t.Input)
		}
	}
	return list
}

// Fields lists the fields whose old values a value takes, but for that of `or same`.
func (v Value) Fields() []*Field {
	if v.Field != nil {
		return []*Field{v.Field}
	}
	var list []*Field
	for _, t := range v.names() {
		if t.Field != nil {
			list = append(list, t.Field)
		}
	}
	return list
}

// ReadsNow reports whether a value is the time of the call, or a sum with it.
func (v Value) ReadsNow() bool {
	return v.Kind == ValueNow || slices.ContainsFunc(v.names(), func(t Term) bool { return t.Kind == TermNow })
}

// names lists what a sum names.
func (v Value) names() []Term { return Term{Kind: TermSum, Parts: v.Parts}.Names() }

// SumText writes a sum.
func SumText(parts []Part, text func(Term) string) string {
	out := ""
	for i, p := range parts {
		switch {
		case i > 0 && p.Minus:
			out += " - "
		case i > 0:
			out += " + "
		}
		out += text(p.Term)
	}
	return out
}

// unspaced is a sum whose signs do not stand apart.
var unspaced = regexp.MustCompile(`^([a-z][a-z0-9_.]*)\s*[-+]\s*([a-z0-9][a-z0-9_.]*)$`)

// apart is the hint for a text that may have been meant as `a - b`; empty for another one.
func apart(text string) string {
	parts := unspaced.FindStringSubmatch(text)
	if parts == nil || strings.Contains(text, "+") || strings.Contains(text, " - ") {
		return ""
	}
	return "write a sum with a space on each side of the sign: `" + parts[1] + " - " + parts[2] + "`"
}

// isSum reports whether a value adds or takes off something.
func isSum(ts []lexeme) bool {
	sign, text := false, false
	for _, t := range ts {
		sign = sign || t.text == "+" || t.text == "-"
		text = text || t.text[0] == '\''
	}
	return (sign || len(ts) == 6 && isBackoff(ts)) && !text
}

// parseSide reads a term, or a sum of terms, from the front of ts and returns the rest; bad is
// what is no term.
func (p *parser) parseSide(w word, ts []lexeme) (side astTerm, rest []lexeme, bad *lexeme) {
	var parts []astPart
	for i := 0; ; i += 2 {
		if i >= len(ts) {
			return side, nil, &ts[len(ts)-1]
		}
		minus := i > 0 && ts[i-1].text == "-"
		if isBackoff(ts[i:]) {
			t, after, wrong := p.parseBackoff(w, ts[i:])
			if wrong != nil {
				return side, nil, wrong
			}
			parts, i = append(parts, astPart{minus, t}), len(ts)-len(after)-1
		} else {
			t, ok := p.parseTerm(w, ts[i])
			if !ok {
				return side, nil, &ts[i]
			}
			parts = append(parts, astPart{minus, t})
		}
		if i+1 < len(ts) && (ts[i+1].text == "+" || ts[i+1].text == "-") {
			continue
		}
		if rest = ts[i+1:]; i == 0 {
			return parts[0].term, rest, nil
		}
		end := ts[i].at + utf8.RuneCountInString(ts[i].text)
		words := make([]string, i+1)
		for k := range words {
			words[k] = ts[k].text
		}
		side = astTerm{text: w.part(ts[0].at, end-ts[0].at, strings.Join(words, " ")), kind: TermSum, parts: parts}
		return side, rest, nil
	}
}

// sum binds the parts of a sum: whole numbers, or times and lengths.
func (r *resolver) sum(parts []astPart, text word, sc scope) ([]Part, bool) {
	ok, named := true, false
	var list []Part
	for _, p := range parts {
		part, bound := r.term(p.term, sc)
		switch typ, known := part.typeOf(); {
		case !bound:
			ok = false
		case part.Kind == TermWord:
			r.undeclaredTerm(p.term)
			ok = false
		case known && typ.Kind == 0:
			ok = false
		case known && typ.Kind.family() != KindInt && typ.Kind != KindTime && typ.Kind != KindDuration:
			r.at(codeIncomparable, p.term.text, "name ints, counters, sequences and numbers, or times and durations",
				"a sum adds whole numbers, or times and lengths, and %s is %s", part.Text, article(typ.Kind.String()))
			ok = false
		case part.Kind == TermInt && (part.Int > SumLimit || part.Int < -SumLimit):
			r.at(codeIncomparable, p.term.text, "write a smaller number", "%s is beyond 2^60, the limit of the numbers that a sum adds", part.Text)
			ok = false
		}
		named = named || !part.IsConst()
		list = append(list, Part{p.minus, part})
	}
	switch {
	case !ok:
	case len(list) > mostParts:
		r.at(codeIncomparable, text, "keep a part of it in a field", "a sum has %d parts at most, and this one has %d", mostParts, len(list))
		ok = false
	case !named && made(list) != "":
		r.at(codeIncomparable, text, "write `"+made(list)+"`", "nothing in %s is a field or an input", text.text).fix(text, made(list))
		ok = false
	case !named && slices.ContainsFunc(list, func(p Part) bool { return p.Term.Kind == TermSpan }):
		r.at(codeIncomparable, text, "write one length", "nothing in %s is a field or an input", text.text)
		ok = false
	case !named:
		r.at(codeIncomparable, text, "write the number that it makes", "nothing in %s is a field or an input", text.text)
		ok = false
	default:
		ok = r.oneKind(list, parts, text)
	}
	return list, ok
}

// oneKind checks that a sum is one of whole numbers, an instant, or a length.
func (r *resolver) oneKind(list []Part, parts []astPart, text word) bool {
	times, known, number, other := 0, true, -1, -1
	for i, p := range list {
		typ, bound := p.Term.typeOf()
		switch {
		case !bound:
			known = false
		case typ.Kind.family() == KindInt && number < 0:
			number = i
		case typ.Kind.family() == KindInt:
		default:
			other = i
		}
		if typ.Kind == KindTime {
			times += int(p.Signed(1))
		}
	}
	switch {
	case number >= 0 && other >= 0:
		r.at(codeIncomparable, parts[number].term.text, list[number].Term.beLength(), "%s is a whole number, and %s is %s: they do not add",
			list[number].Term.Text, list[other].Term.Text, article(list[other].Term.kindText()))
	case number >= 0 || !known || times == 0 || times == 1:
		return true
	case times < 0:
		r.at(codeIncomparable, text, "put the later time first, as in `ended - started`", "%s takes a time off and starts from none", text.text)
	default:
		r.at(codeIncomparable, text, "keep one time and add lengths, or take one time off another", "%s adds one time to another", text.text)
	}
	return false
}

// kindText names the kind of a term.
func (t Term) kindText() string {
	typ, _ := t.typeOf()
	return typ.Kind.String()
}

// limitSums keeps the numbers that sums read, and fields that are set to one, within the limit:
// their types have it for a bound where the file has none or a wider one.
func (r *resolver) limitSums() {
	for _, facts := range r.m.allFacts() {
		for _, f := range Leaves(facts) {
			for _, t := range []Term{f.Left, f.Right} {
				limitParts(t.Parts)
			}
		}
	}
	var constants []Assign
	for _, e := range r.m.allEffects() {
		for _, a := range e.Set {
			switch a.Value.Kind {
			case ValueSum:
				limitParts(a.Value.Parts)
				a.Field.Type.limit()
			case ValueInt:
				constants = append(constants, a)
			}
		}
	}
	for _, a := range constants {
		if v := a.Value; a.Field.Type.Beyond(v.Int) {
			r.at(codeValue, word{pos: v.Pos, text: v.Text, size: utf8.RuneCountInString(v.Text)}, "write a smaller number",
				"%d is beyond 2^60, the limit of field %s, which a sum reads or writes", v.Int, a.Field.Name)
		}
	}
}

func limitParts(parts []Part) {
	for _, p := range parts {
		switch t := p.Term; {
		case t.Field != nil && !t.Field.Builtin:
			t.Field.Type.limit()
		case t.Input != nil:
			t.Input.Type.limit()
		}
	}
}

// limit narrows the bounds of an int or a counter to those of sums.
func (t *Type) limit() {
	low, high := int64(-SumLimit), int64(SumLimit)
	if t.Kind == KindInt && (t.Min == nil || *t.Min < low) {
		t.Min = &low
	}
	if (t.Kind == KindInt || t.Kind == KindCounter) && (t.Max == nil || *t.Max > high) {
		t.Max = &high
	}
}

// Beyond reports whether a number is beyond the limit of sums, and the type has that limit.
// A duration is never negative, and never above [MaxSpan].
func (t Type) Beyond(n int64) bool {
	if t.Kind == KindDuration {
		return n < 0 || n > MaxSpan
	}
	return t.Max != nil && *t.Max == SumLimit && n > SumLimit || t.Min != nil && *t.Min == -SumLimit && n < -SumLimit
}

// Summed reports whether the type has the limit of sums.
func (t Type) Summed() bool {
	return t.Kind != KindDuration && (t.Beyond(SumLimit+1) || t.Beyond(-SumLimit-1))
}

// Asked is the type without the limit of sums: its bounds are those of the file. Of a duration
// that has none, it keeps that it is not negative.
func (t Type) Asked() Type {
	if t.Kind == KindDuration && *t.Max == MaxSpan {
		t.Max = nil
	}
	if t.Min != nil && *t.Min == -SumLimit {
		t.Min = nil
	}
	if t.Max != nil && *t.Max == SumLimit {
		t.Max = nil
	}
	return t
}

// allFacts lists all facts of the machine, list by list.
func (m *Machine) allFacts() [][]*Fact {
	list := [][]*Fact{m.Invariant, m.Kept()}
	for _, s := range m.States {
		list = append(list, s.Invariant)
	}
	for _, g := range m.Guards {
		list = append(list, g.When)
	}
	for _, o := range m.Operations {
		for _, q := range o.Require {
			list = append(list, q.When)
		}
		for _, b := range o.Choose {
			list = append(list, b.When)
		}
		if chosen := o.Chosen(); chosen != nil {
			list = append(list, chosen)
		}
	}
	return list
}

// allEffects lists the effects of operations and of their branches.
func (m *Machine) allEffects() []*Effects {
	var list []*Effects
	for _, o := range m.Operations {
		list = append(list, &o.Effects)
		for _, b := range o.Choose {
			list = append(list, &b.Effects)
		}
	}
	return list
}
