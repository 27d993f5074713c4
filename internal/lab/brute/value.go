package brute

import (
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/spec"
)

// value is what a field, an input or a term holds. A text is its place in the table of texts, a
// set is a mask of them, a word is its place in its enum, and times and lengths are microseconds.
type value struct {
	there bool
	n     int64
}

func of(n int64) value { return value{true, n} }

// limit is what no number of a sum is beyond.
const limit = 1 << 60

// world says what texts there are, in their order, and what time it is.
type world struct {
	m     *spec.Machine
	texts []string
	now   int64
}

func (w *world) text(s string) value {
	i, ok := slices.BinarySearch(w.texts, s)
	if !ok {
		panic("brute: the text " + s + " is not in the table")
	}
	return of(int64(i))
}

// call is one call of one operation on one record.
type call struct {
	old    []value // the record before
	now    []value // the record that facts read
	inputs []value
	actor  value
	op     *spec.Operation
}

func (w *world) field(r []value, f *spec.Field) value { return r[slices.Index(w.m.Fields, f)] }

// blank is a record that nothing has set.
func (w *world) blank() []value {
	r := make([]value, len(w.m.Fields))
	for i, f := range w.m.Fields {
		r[i] = w.empty(f)
	}
	return r
}

func (w *world) empty(f *spec.Field) value {
	return value{there: f.Type.Kind == spec.KindCounter || f.Type.Kind == spec.KindSet}
}

func (w *world) term(t spec.Term, c *call) value {
	switch t.Kind {
	case spec.TermField:
		return w.field(c.now, t.Field)
	case spec.TermOld:
		return w.field(c.old, t.Field)
	case spec.TermInput:
		return c.inputs[slices.Index(c.op.Inputs, t.Input)]
	case spec.TermActor:
		return c.actor
	case spec.TermNow:
		return of(w.now)
	case spec.TermInt, spec.TermSpan:
		return of(t.Int)
	case spec.TermBool:
		if t.Bool {
			return of(1)
		}
		return of(0)
	case spec.TermWord:
		return word(t.Word)
	case spec.TermText:
		return w.text(t.Const)
	case spec.TermSum:
		return w.sum(t.Parts, c)
	}
	base, longest, n := w.term(t.Backoff.Base, c), w.term(t.Backoff.Max, c), w.field(c.now, t.Backoff.By)
	if !base.there || !longest.there {
		return value{}
	}
	grown := float64(base.n) * math.Pow(2, float64(n.n))
	return of(int64(min(grown, float64(longest.n))))
}

// word is a word of an enum: words of one name are one, whichever enum has them.
func word(w *spec.EnumValue) value {
	n := int64(0)
	for _, c := range []byte(w.Name) {
		n = n*131 + int64(c)
	}
	return of(n)
}

func (w *world) sum(parts []spec.Part, c *call) value {
	total := int64(0)
	for _, p := range parts {
		v := w.term(p.Term, c)
		if !v.there {
			return value{}
		}
		if p.Minus {
			total -= v.n
		} else {
			total += v.n
		}
	}
	return of(total)
}

func isSet(t spec.Term) bool { return t.Field != nil && t.Field.Type.Kind == spec.KindSet }

func (w *world) holds(f *spec.Fact, c *call) bool {
	if f.Op == spec.AnyOf {
		for _, list := range f.Any {
			if w.all(list, c) {
				return true
			}
		}
		return false
	}
	a := w.term(f.Left, c)
	here := a.there && (!isSet(f.Left) || a.n != 0)
	if f.Op == spec.Present || f.Op == spec.Absent {
		return here == (f.Op == spec.Present)
	}
	b := w.term(f.Right, c)
	if !a.there || !b.there {
		return false
	}
	switch f.Op {
	case spec.Eq:
		return a.n == b.n
	case spec.Ne:
		return a.n != b.n
	case spec.Lt:
		return a.n < b.n
	case spec.Le:
		return a.n <= b.n
	case spec.Gt:
		return a.n > b.n
	case spec.Ge:
		return a.n >= b.n
	case spec.In:
		return b.n&(1<<a.n) != 0
	case spec.NotIn:
		return b.n&(1<<a.n) == 0
	}
	return a.n&b.n == b.n // covers
}

func (w *world) all(facts []*spec.Fact, c *call) bool {
	for _, f := range facts {
		if !w.holds(f, c) {
			return false
		}
	}
	return true
}

// fits reports whether a value is one of a type.
func (w *world) fits(t spec.Type, v value) bool {
	n := v.n
	switch {
	case !v.there:
		return t.Optional
	case t.Kind == spec.KindString:
		n = int64(utf8.RuneCountInString(w.texts[v.n]))
	case t.Kind == spec.KindCounter:
		return n >= 0
	case t.Kind != spec.KindInt && t.Kind != spec.KindDuration:
		return true
	}
	return (t.Min == nil || n >= *t.Min) && (t.Max == nil || n <= *t.Max)
}

// noon is the time of each call.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
