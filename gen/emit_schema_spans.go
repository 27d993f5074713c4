package gen

import (
	"fmt"

	"github.com/fsmgen/fsmgen/spec"
)

// sides returns the two sides of a comparison. Where one of them is a sum of times, both are
// numbers of microseconds.
func (s *schemaText) sides(f *spec.Fact, row string) (left, right string) {
	if f.Left.Kind == spec.TermSum || f.Right.Kind == spec.TermSum {
		return s.micros(&f.Left, row), s.micros(&f.Right, row)
	}
	return s.term(&f.Left, row), s.term(&f.Right, row)
}

// micros is a term, as a number of microseconds where it is a time.
func (s *schemaText) micros(t *spec.Term, row string) string {
	text := s.term(t, row)
	if t.Field != nil && t.Field.Type.Kind == spec.KindTime {
		return s.d.micros(text)
	}
	return text
}

// part is a term of a sum. A server adds two small constants in 32 bits.
func (s *schemaText) part(t *spec.Term, row string) string {
	const large = 1 << 29 // four of them do not fit
	text := s.micros(t, row)
	switch {
	case (t.Kind == spec.TermInt || t.Kind == spec.TermSpan) && (t.Int >= large || t.Int <= -large):
		return text + s.d.long
	case t.Kind == spec.TermBackoff:
		return "(" + text + ")"
	}
	return text
}

// backoff is the smaller one of two lengths, the first doubled as often as a counter says. No
// shift loses a bit: what is shifted is not longer than the second one then.
func (s *schemaText) backoff(b *spec.Backoff, row string) string {
	end := func(t *spec.Term) string {
		text := s.term(t, row)
		if t.Kind == spec.TermSpan {
			text += s.d.long
		}
		return text
	}
	base, longest := end(&b.Base), end(&b.Max)
	by := s.d.shift(row + column(b.By))
	return fmt.Sprintf("CASE WHEN %[1]s <= (%[2]s >> %[3]s) THEN %[1]s << %[3]s ELSE %[2]s END", base, longest, by)
}
