package spec

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	spanHint    = "write a length such as 500ms, 90s, 5m, 2h or 7d"
	unitHint    = "a length is a whole number and one of ms, s, m, h, d, such as 500ms, 90s, 5m, 2h or 7d"
	typeHint    = "write `duration`, `duration 1s..1h` or `duration 1s..`"
	backoffHint = "write e.g. `now + backoff 10s to 1h by attempts`: two lengths and a counter"
)

// unitWords are what other languages call the units of a length.
var unitWords = map[string]string{
	"ms": "ms", "millis": "ms", "millisecond": "ms", "milliseconds": "ms",
	"s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s",
	"m": "m", "min": "m", "mins": "m", "minute": "m", "minutes": "m",
	"h": "h", "hr": "h", "hrs": "h", "hour": "h", "hours": "h",
	"d": "d", "day": "d", "days": "d",
}

var (
	foreignSpan = regexp.MustCompile(`(?i)^([0-9]{1,9})\s*([a-z]+)$`)
	plainNumber = regexp.MustCompile(`^[1-9][0-9]*$`)
	likeSpan    = regexp.MustCompile(`^[0-9][0-9.]*\p{L}+$`)
)

// meantSpan is the length that a text stands for in another way of writing: `30 s`, `1h30m`
// or `30 minutes`; empty where it stands for none.
func meantSpan(text string) string {
	if m := foreignSpan.FindStringSubmatch(text); m != nil {
		unit := unitWords[strings.ToLower(m[2])]
		if n, problem := parseSpan(cmp.Or(strings.TrimLeft(m[1], "0"), "0") + unit); problem == "" {
			return SpanText(n)
		}
		return ""
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d%time.Millisecond != 0 || d.Microseconds() > MaxSpan || plainNumber.MatchString(text) {
		return ""
	}
	return SpanText(d.Microseconds())
}

// spanFix is the length that a text stands for where it is written in another way; else empty.
func spanFix(text string) string {
	if _, problem := parseSpan(text); problem != "" {
		return meantSpan(text)
	}
	return ""
}

// hintOfSpan says how to write a length that cannot be read; empty for a text that was meant as none.
func hintOfSpan(text string) string {
	meant := spanFix(text)
	switch {
	case plainNumber.MatchString(text):
		if _, problem := parseSpan(text + "s"); problem != "" {
			return "write 36500d at most"
		}
		return "name the unit: `" + text + "s` are seconds, `" + text + "m` minutes"
	case meant != "":
		return "write `" + meant + "`"
	case spanForm.MatchString(text):
		if _, problem := parseSpan(text); problem != "" {
			return "write 36500d at most"
		}
	}
	return ""
}

// hintOfNegative says how to write a length that has a sign, such as `-5m`, behind a word.
func hintOfNegative(before, text string) string {
	length, signed := strings.CutPrefix(text, "-")
	switch {
	case !signed || !spanForm.MatchString(length):
		return ""
	case before == "+":
		return "write `- " + length + "` in the place of `+ " + text + "`"
	case before == "-":
		return "write `+ " + length + "` in the place of `- " + text + "`"
	case before == "" || before == "backoff" || before == "to" || comparisons[before] != 0:
		return "a length is never negative: take " + length + " off a time or a length, as in `ended - " + length + "`"
	}
	return "put `- " + length + "`, with a space on each side"
}

// meantEnd is an end of bounds in the way of this language, or empty; number: it lacks its unit.
func meantEnd(text string) (end string, number bool) {
	switch _, problem := parseSpan(text); {
	case problem == "":
		return text, false
	case text == "0":
		return "0s", false
	case plainNumber.MatchString(text):
		if _, problem = parseSpan(text + "s"); problem == "" {
			return text + "s", true
		}
		return "", false
	}
	return meantSpan(text), false
}

// spansHint says how to write bounds that cannot be read. fix is the type that they
// stand for, where only one is meant.
func spansHint(text string, bounds func(string) string) (hint, fix string) {
	low, high, two := strings.Cut(text, "..")
	least, number := meantEnd(cmp.Or(low, "0s"))
	most, other := "", false
	if high != "" {
		most, other = meantEnd(high)
	}
	switch {
	case least == "":
		return cmp.Or(hintOfSpan(low), typeHint), ""
	case high != "" && most == "" && spanForm.MatchString(high):
		return "write `" + bounds(least+"..") + "`: no length is above 36500d", ""
	case high != "" && most == "":
		return typeHint, ""
	case !two && number:
		return "name the unit, e.g. `" + bounds(least+"..") + "` or `" + bounds("0s.."+least) + "`", ""
	case !two:
		return "write `" + bounds(least+"..") + "` or `" + bounds("0s.."+least) + "`", ""
	}
	from, _ := parseSpan(least)
	if to, _ := parseSpan(most); most != "" && to < from {
		least, most = most, least
	}
	fix = bounds(least + ".." + most)
	if number || other {
		return "name the unit, e.g. `" + fix + "`", ""
	}
	return "write `" + fix + "`", fix
}

// hintOfPart says how to write a part of a sum that cannot be read. ts are all words of the text.
func hintOfPart(ts []lexeme, bad lexeme) string {
	backoff := false
	for i, t := range ts {
		backoff = backoff || strings.HasPrefix(t.text, "backoff")
		if t == bad && i > 0 && plainNumber.MatchString(ts[i-1].text) {
			if meant := meantSpan(ts[i-1].text + " " + t.text); meant != "" {
				return "write `" + meant + "`"
			}
		}
	}
	before := ""
	if i := slices.Index(ts, bad); i > 0 {
		before = ts[i-1].text
	}
	hint := cmp.Or(hintOfSpan(bad.text), hintOfNegative(before, bad.text))
	if _, problem := parseSpan(bad.text); hint == "" && likeSpan.MatchString(bad.text) && problem != "" {
		hint = unitHint
	}
	if hint == "" && backoff {
		hint = backoffHint
	}
	return hint
}

// triggerHint says how to write a trigger that cannot be read.
func triggerHint(ts []lexeme) string {
	if len(ts) < 4 || ts[0].text != "after" {
		return "write `startup`, `after <time field>` or `after <time field> + <duration>`"
	}
	plus, field := ts[3].text, ts[1].text
	name, input := strings.CutPrefix(plus, "input.")
	switch {
	case input:
		return "a trigger has no inputs: let an operation set a field, and write `after " + field + " + " + name + "`"
	case len(ts) == 4 && strings.Trim(plus, "0msh") == "":
		return "write `after " + field + "`"
	case len(ts) == 4 && hintOfSpan(plus) != "":
		return hintOfSpan(plus)
	case len(ts) == 4 && ts[2].text == "+":
		return "write e.g. `after " + field + " + 1m`"
	}
	return "write `after <time field>` or `after <time field> + <duration>`; for more let an operation set a time field, " +
		"as in `set: {due: now + backoff 10s to 1h by attempts}`"
}

// beLength says how a whole number becomes a length.
func (t Term) beLength() string {
	switch {
	case t.Kind == TermInt && t.Int > 0:
		return hintOfSpan(t.Text)
	case t.Kind == TermField && t.Field.Type.Kind == KindInt:
		return makeDuration("field", t.Field.Name, t.Field.Type)
	case t.Kind == TermInput && t.Input.Type.Kind == KindInt:
		return makeDuration("input", t.Name, t.Input.Type)
	}
	return "write a length such as 5m, or a field of type duration"
}

// makeDuration says how an int that was meant as a length becomes one.
func makeDuration(what, name string, t Type) string {
	typ := Type{Kind: KindDuration, Optional: t.Optional}
	return fmt.Sprintf("write a length such as 5m, or make %s %s a duration: `%s: %s`", what, name, name, typ)
}

// fitting says what to write for a value of kind got that does not fit a time or a duration;
// empty where there is nothing of the kind to say.
func (r *resolver) fitting(o *Operation, t Type, got Kind, v astValue) string {
	switch {
	case t.Kind == KindTime && got == KindDuration && len(v.parts) < mostParts:
		return "add it to a time: `now + " + v.text.text + "`"
	case t.Kind == KindDuration && got == KindTime:
		return "write a length such as 5m, or take one time off another, as in `ended - started`"
	case t.Kind == KindDuration && v.kind == ValueInt && v.int == 0:
		return "write `0s`"
	case t.Kind == KindDuration && v.kind == ValueInt && v.int > 0:
		return hintOfSpan(v.text.text)
	case t.Kind == KindDuration && v.named && got == KindInt:
		if in := r.inputOf[o][v.name]; in != nil {
			return Term{Kind: TermInput, Name: v.name, Input: in}.beLength()
		}
	case t.Kind == KindDuration && v.kind == 0 && got == KindInt:
		if src := r.fields.byName[v.name]; src != nil {
			return Term{Kind: TermField, Field: src}.beLength()
		}
	}
	return ""
}

// compareHint says how two sides of different types are compared.
func compareHint(l, rt Term) string {
	for _, p := range [][2]Term{{l, rt}, {rt, l}} {
		a, _ := p[0].typeOf()
		switch b, _ := p[1].typeOf(); {
		case a.Kind == KindDuration && b.Kind.family() == KindInt && p[1].Kind != TermSum:
			if p[1].Kind == TermInt && p[1].Int == 0 {
				return "write `0s`"
			}
			return p[1].beLength()
		case a.Kind == KindTime && b.Kind == KindDuration:
			return "compare two times, as in `created_at + " + p[1].Text + "`, or two lengths"
		}
	}
	return "compare terms of one type"
}

// made is the length that constants make; empty where they make none.
func made(parts []Part) string {
	sum := int64(0)
	for _, p := range parts {
		if p.Term.Kind != TermSpan {
			return ""
		}
		sum += p.Signed(p.Term.Int)
	}
	if sum < 0 || sum > MaxSpan {
		return ""
	}
	return SpanText(sum)
}
