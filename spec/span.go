package spec

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxSpan is the longest duration, in microseconds: 36500d, which are 100 years.
const MaxSpan = int64(876000 * time.Hour / time.Microsecond)

// Backoff is a length that doubles with a counter: the smaller one of Max and Base × 2^n,
// where n is what the counter was before the step.
type Backoff struct {
	Base, Max Term
	By        *Field
	ByPos     Pos
}

// Length is the smaller one of longest and base × 2^n.
func (b *Backoff) Length(base, longest, n int64) int64 {
	for ; n > 0 && base > 0 && base < longest; n-- {
		base *= 2 // below 2^53: longest is MaxSpan at most
	}
	return min(base, longest)
}

var units = []struct {
	name string
	size time.Duration
}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

// SpanText writes a number of microseconds as a specification does: `90s`, `1h`, `1500ms`.
func SpanText(micros int64) string {
	d := time.Duration(micros) * time.Microsecond
	if d == 0 {
		return "0s"
	}
	for _, u := range units {
		if d%u.size == 0 {
			return strconv.FormatInt(int64(d/u.size), 10) + u.name
		}
	}
	return d.String()
}

var (
	spanInText   = regexp.MustCompile(`'(?:[^']|'')*'|[0-9A-Za-z_]+`)
	durationType = regexp.MustCompile(`^\s*(optional\s+)?duration\b`)
)

// largestUnits writes each length in a fact, a value, a trigger or a type in the largest unit that
// it is a whole number of: `60s` as `1m`. Texts in quotes stay.
func largestUnits(text string) string {
	return spanInText.ReplaceAllStringFunc(text, func(word string) string {
		if !spanForm.MatchString(word) {
			return word
		}
		if n, problem := parseSpan(word); problem == "" {
			return SpanText(n)
		}
		return word
	})
}

// parseSpan reads `0s`, `500ms`, `90s`, `10m`, `2h` or `7d` as microseconds; problem says what is wrong.
func parseSpan(text string) (micros int64, problem string) {
	if n, _ := strings.CutSuffix(text, "ms"); strings.Trim(n, "0") == "" || strings.Trim(text[:max(len(text)-1, 0)], "0") == "" {
		if spanForm.MatchString(text) {
			return 0, ""
		}
	}
	d, problem := parseDuration(text)
	return int64(d / time.Microsecond), problem
}

// ParseSpan reads a length as a specification has it, such as `0s`, `500ms` or `90s`, as microseconds.
func ParseSpan(text string) (micros int64, err error) {
	micros, problem := parseSpan(text)
	if problem != "" {
		return 0, fmt.Errorf("%s: %s", problem, cmp.Or(hintOfSpan(text), spanHint))
	}
	return micros, nil
}

// parseDuration reads `500ms`, `90s`, `10m`, `2h`, `7d`; problem says what is wrong.
func parseDuration(text string) (d time.Duration, problem string) {
	digits := strings.TrimRight(text, "mshd")
	if spanForm.MatchString(text) && strings.Trim(digits, "0") == "" {
		return 0, fmt.Sprintf("%q adds nothing", text)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	for _, u := range units {
		if u.name != text[len(digits):] || err != nil || digits[0] < '1' || digits[0] > '9' {
			continue
		}
		if n > MaxSpan*int64(time.Microsecond)/int64(u.size) {
			return 0, fmt.Sprintf("%q is longer than 36500d, which are 100 years", text)
		}
		return time.Duration(n) * u.size, ""
	}
	return 0, fmt.Sprintf("%q is not a duration: a duration is a whole number and one of ms, s, m, h, d", text)
}

// parseSpans reads the bounds of a duration: `1s..1h` or `1s..`.
func (p *parser) parseSpans(t *astType, w word, text string) {
	low, high, ok := strings.Cut(text, "..")
	lo, problem := parseSpan(low)
	hi, other := MaxSpan, ""
	if high != "" {
		hi, other = parseSpan(high)
	}
	bounds := func(text string) string {
		if t.optional {
			return "optional duration " + text
		}
		return "duration " + text
	}
	switch {
	case !ok && problem == "":
		fix := bounds(low + "..")
		p.at(codeUnknownType, w, "write `"+fix+"` or `"+bounds("0s.."+low)+"`", "cannot read the bounds of %q", fold(w.text))
	case !ok:
		hint, _ := spansHint(text, bounds)
		p.at(codeUnknownType, w, hint, "cannot read the bounds of %q", fold(w.text))
	case low == "" && high != "" && other == "":
		fix := bounds("0s.." + high)
		p.at(codeUnknownType, w, "write `"+fix+"`", "cannot read the bounds of %q", fold(w.text)).fix(w, fix)
	case problem != "" || other != "":
		if problem == "" || low == "" {
			problem = cmp.Or(other, "nothing stands around the `..`")
		}
		hint, fix := spansHint(text, bounds)
		p.at(codeUnknownType, w, hint, "cannot read the bounds of %q: %s", fold(w.text), problem).fix(w, fix)
	case hi < lo:
		fix := bounds(high + ".." + low)
		p.at(codeTogether, w, "write `"+fix+"`", "the bounds are reversed: %s is longer than %s", low, high).fix(w, fix)
	default:
		t.min, t.max = &lo, &hi
	}
	if t.kind = KindDuration; t.min == nil {
		t.anyLength()
	}
}

// anyLength gives a duration the bounds that all have.
func (t *astType) anyLength() {
	low, high := int64(0), MaxSpan
	t.min, t.max = &low, &high
}

// spanBounds writes the bounds of a duration that are narrower than those of all.
func (t Type) spanBounds() string {
	open := t.Max == nil || *t.Max == MaxSpan
	if t.Min == nil || *t.Min == 0 && open {
		return ""
	}
	if open {
		return " " + SpanText(*t.Min) + ".."
	}
	return " " + SpanText(*t.Min) + ".." + SpanText(*t.Max)
}

// isBackoff reports whether a length that grows starts here.
func isBackoff(ts []lexeme) bool {
	return len(ts) >= 2 && ts[0].text == "backoff" && ts[1].text != "+" && ts[1].text != "-" && comparisons[ts[1].text] == 0 &&
		meant[ts[1].text] == "" && ts[1].text != "is"
}

// parseBackoff reads `backoff 10s to 1h by counter` from the front of ts; bad is what is wrong.
func (p *parser) parseBackoff(w word, ts []lexeme) (t astTerm, rest []lexeme, bad *lexeme) {
	if len(ts) < 6 {
		return t, nil, &ts[len(ts)-1]
	}
	if ts[2].text != "to" {
		return t, nil, &ts[2]
	}
	if ts[4].text != "by" {
		return t, nil, &ts[4]
	}
	terms := make([]astTerm, 3)
	for i := range terms {
		x := &ts[1+2*i]
		ok := false
		if terms[i], ok = p.parseTerm(w, *x); !ok || terms[i].kind != 0 && terms[i].kind != TermSpan && terms[i].kind != TermInput {
			return t, nil, x
		}
	}
	if terms[2].kind != 0 {
		return t, nil, &ts[5]
	}
	words := make([]string, 6)
	for i := range words {
		words[i] = ts[i].text
	}
	end := ts[5].at + utf8.RuneCountInString(ts[5].text)
	return astTerm{text: w.part(ts[0].at, end-ts[0].at, strings.Join(words, " ")), kind: TermBackoff, backoff: terms}, ts[6:], nil
}

// backoff binds the two ends of a length that grows, and its counter.
func (r *resolver) backoff(t *Term, a astTerm, sc scope) bool {
	b := &Backoff{ByPos: a.backoff[2].text.pos}
	t.Backoff = b
	for i, to := range []*Term{&b.Base, &b.Max} {
		x := a.backoff[i]
		bound := false
		if *to, bound = r.term(x, sc); !bound {
			return false
		}
		if to.Kind == TermWord {
			r.undeclaredTerm(x)
			return false
		}
		if typ, known := to.typeOf(); known && typ.Kind != KindDuration {
			r.at(codeIncomparable, x.text, backoffHint,
				"a backoff grows from one length to another, and %s is %s", to.Text, article(typ.Kind.String()))
			return false
		}
	}
	by, bound := r.term(a.backoff[2], sc)
	switch {
	case !bound:
		return false
	case by.Kind == TermWord:
		r.undeclaredTerm(a.backoff[2])
		return false
	case by.Field.Type.Kind != KindCounter:
		r.at(codeIncomparable, a.backoff[2].text, "name a counter, such as `attempts: counter`",
			"a backoff grows with a counter, and %s is %s", by.Text, article(by.Field.Type.Kind.String()))
		return false
	case b.Base.Kind == TermSpan && b.Base.Int == 0:
		r.at(codeIncomparable, a.backoff[0].text, "start from a length such as 1s", "a backoff from %s never grows", b.Base.Text)
		return false
	case b.Base.Kind == TermSpan && b.Max.Kind == TermSpan && b.Max.Int < b.Base.Int:
		r.at(codeIncomparable, a.text, "put the shorter length first",
			"the backoff ends at %s, below %s where it starts", b.Max.Text, b.Base.Text)
		return false
	}
	b.By = by.Field
	return true
}

// SumKind is the kind of what a sum makes: a whole number, an instant or a length. It is 0 where
// that is not known yet: a part is an input that is not bound.
func SumKind(parts []Part) Kind {
	times, spans, numbers, unknown := 0, false, false, false
	for _, p := range parts {
		typ, known := p.Term.typeOf()
		switch {
		case !known:
			unknown = true
		case typ.Kind == KindTime && p.Minus:
			times--
		case typ.Kind == KindTime:
			times++
		case typ.Kind == KindDuration:
			spans = true
		default:
			numbers = true
		}
	}
	switch {
	case numbers:
		return KindInt
	case unknown:
		return 0
	case times == 1:
		return KindTime
	case times == 0 && (spans || len(parts) > 1):
		return KindDuration
	}
	return KindInt
}
