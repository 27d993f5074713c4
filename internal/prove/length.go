package prove

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// span is from how many to how many characters a text has. It is known without a question:
// what no type bounds has any length, and the zero span says so.
type span struct{ least, most int64 }

// lengthOf is the length of a text of a type.
func lengthOf(t spec.Type) span {
	s := span{1, math.MaxInt64}
	if t.Min != nil {
		s.least = *t.Min
	}
	if t.Max != nil {
		s.most = *t.Max
	}
	return s
}

func (s span) ends() (least, most int64) { return s.least, cmp.Or(s.most, math.MaxInt64) }

// both is the length of a text that is as long as both say.
func (s span) both(o span) span {
	a, b := s.ends()
	c, d := o.ends()
	return span{max(a, c), min(b, d)}
}

// either is the length of a text that is as long as one of the two says.
func (s span) either(o span) span {
	a, b := s.ends()
	c, d := o.ends()
	return span{min(a, c), max(b, d)}
}

// next is the first text of the length after another one, of the characters from ! on.
func (s span) next(text string) string {
	least, most := s.ends()
	runes := []rune(text)
	if int64(len(runes)) < most {
		runes = append(runes, '!')
	} else {
		runes = runes[:most]
		runes[most-1]++
	}
	for int64(len(runes)) < least {
		runes = append(runes, '!')
	}
	return string(runes)
}

// within reports whether every text of one length has another one.
func (s span) within(o span) bool { return s.either(o) == o.either(o) }

// apart reports whether no text has both lengths.
func (s span) apart(o span) bool {
	b := s.both(o)
	return b.least > b.most
}

// fits says that a text has a length: it is absent, its type says so, or it is equal to one
// whose type does.
func (p *problem) fits(v value, in span) formula {
	if v.length.within(in) {
		return yes
	}
	ways := []formula{not(p.present(v))}
	equal := func(u value) {
		if u.kind == spec.KindString && !u.absent && u.num != v.num && u.length.within(in) {
			ways = append(ways, all(p.present(u), same(u, v)))
		}
	}
	for _, f := range p.m.Fields {
		if u, known := p.fields[f]; known {
			equal(u)
		}
	}
	for _, in := range p.op.Inputs {
		if u, known := p.inputs[in]; known {
			equal(u)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(p.texts)) {
		equal(p.text(spec.KindString, text))
	}
	if p.actor != nil {
		equal(*p.actor)
	}
	return anyOf(ways...)
}

// outside is a length of a text that has one span and not another one.
func (s span) outside(o span) span {
	least, most := s.ends()
	least = max(least, 1) // an empty text is an absent one
	if _, end := o.ends(); most > end {
		least = max(least, end+1)
	}
	return span{least, least}
}

// fitted is a text of the length: names of an example have no other meaning.
func (s span) fitted(text string) string {
	least, most := s.ends()
	if least > most {
		return text
	}
	return spec.Type{Kind: spec.KindString, Min: &least, Max: &most}.Fitted(text)
}

// typed is a type with this length in the place of its own.
func (s span) typed(t spec.Type) spec.Type {
	least, most := s.ends()
	t.Min, t.Max = nil, nil
	if most < math.MaxInt64 {
		t.Max = &most
	}
	if least > 1 || t.Max != nil {
		t.Min = &least
	}
	return t
}
