package spec

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	nameForm   = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	wordForm   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	entityForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`)
	spanForm   = regexp.MustCompile(`^[0-9]+(ms|s|m|h|d)$`)
	numberForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
)

const factHint = "write `x is present`, `x is absent`, `a == b` (also !=, <, <=, >, >=), `x in set`, `x not in set` or `set covers set`"

var comparisons = map[string]FactOp{"==": Eq, "!=": Ne, "<": Lt, "<=": Le, ">": Gt, ">=": Ge}

// meant are comparisons of other languages, and what they are here.
var meant = map[string]string{"=": "==", "===": "==", "=>": ">=", "=<": "<=", "<>": "!="}

// opposite writes what holds where a fact on presence does not; empty for a comparison, whose
// opposite is false as well where something is absent.
func opposite(ts []lexeme) string {
	if len(ts) != 3 || ts[1].text != "is" {
		return ""
	}
	switch ts[2].text {
	case "present":
		return ts[0].text + " is absent"
	case "absent":
		return ts[0].text + " is present"
	}
	return ""
}

// parseFact reads one fact; nil when it cannot be read (FSM005).
func (p *parser) parseFact(w word) *astFact {
	fail := func(t lexeme, hint, format string, args ...any) *astFact {
		at := w
		if t.text != "" {
			at = w.part(t.at, utf8.RuneCountInString(t.text), t.text)
		}
		if hint == "" {
			hint = factHint
		}
		p.at(codeFact, at, hint, "cannot read the fact %q: %s", fold(w.text), fmt.Sprintf(format, args...)).
			fix(at, cmp.Or(meant[t.text], spanFix(t.text)))
		return nil
	}
	ts := scan(w.text)
	if len(ts) == 0 {
		return fail(lexeme{}, "", "it is empty")
	}
	for _, t := range ts {
		switch t.text {
		case "and", "&&", "or", "||":
			if i := slices.IndexFunc(ts, func(t lexeme) bool { return t.text == "or" || t.text == "||" }); i >= 0 {
				t = ts[i]
			}
			hint := "write each fact as an item of its own: a list of facts means all of them"
			if t.text == "or" || t.text == "||" {
				hint = "write `" + asAny(w.text, ts) + "`: one of them holds"
			}
			return fail(t, hint, "a fact holds no %q", t.text)
		case "=", "=>", "=<", "<>", "===":
			return fail(t, "write == for equal, != for not equal, <= and >= for the others", "%q is not a comparison", t.text)
		case "*", "/":
			return fail(t, "write a sum, or let the caller send the result as an input", "a fact adds and takes off, and does nothing else")
		}
	}
	for _, t := range ts {
		if _, problem := unquote(t.text); t.text[0] == '\'' && problem != "" {
			return fail(t, "write a text as in `x == 'new'`, with two quotes for one within; for no value write `x is absent`", "%s", problem)
		}
	}
	noTerm := func(t lexeme) *astFact {
		return fail(t, cmp.Or(apart(t.text), hintOfPart(ts, t)), "%q is not a term", t.text)
	}
	left, rest, bad := p.parseSide(w, ts)
	if bad != nil {
		if ts[0].text != "not" {
			return noTerm(*bad)
		}
		const hint = "write the opposite: `a != b` for `not a == b`, `a >= b` for `not a < b`, `x is absent` for `not x is present`; " +
			"a comparison with something absent is false both ways"
		p.at(codeFact, w.part(ts[0].at, len("not"), "not"), hint, "cannot read the fact %q: %q is not a term", fold(w.text), "not").fix(w, opposite(ts[1:]))
		return nil
	}
	f := &astFact{text: w, left: left}
	f.text.text = fold(w.text)
	if len(rest) == 0 {
		return fail(lexeme{}, "", "nothing says what holds for %q", left.text.text)
	}
	how := rest[0]
	rest = rest[1:]
	switch op := how.text; op {
	case "is":
		switch {
		case len(rest) == 1 && rest[0].text == "present":
			f.op = Present
		case len(rest) == 1 && rest[0].text == "absent":
			f.op = Absent
		case len(rest) == 2 && rest[0].text == "not" && rest[1].text == "present":
			return fail(rest[0], "write `"+left.text.text+" is absent`", "there is no `is not`")
		case len(rest) == 2 && rest[0].text == "not" && rest[1].text == "absent":
			return fail(rest[0], "write `"+left.text.text+" is present`", "there is no `is not`")
		default:
			return fail(how, "", "after `is` comes `present` or `absent`")
		}
		return f
	case "in":
		f.op = In
	case "covers":
		f.op = Covers
	case "not":
		if len(rest) == 0 || rest[0].text != "in" {
			return fail(how, "", "after `not` comes `in`")
		}
		f.op, rest = NotIn, rest[1:]
	default:
		if f.op = comparisons[op]; f.op == 0 {
			hint := cmp.Or(apart(left.text.text+op), hintOfNegative(left.text.text, op))
			return fail(how, hint, "expected a comparison, `is`, `in` or `covers` instead of %q", op)
		}
	}
	if len(rest) == 0 {
		return fail(ts[len(ts)-1], "", "nothing stands on the right side")
	}
	if f.right, rest, bad = p.parseSide(w, rest); bad != nil {
		return noTerm(*bad)
	}
	if len(rest) > 0 {
		return fail(rest[0], hintOfNegative(f.right.text.text, rest[0].text), "%q is too much", rest[0].text)
	}
	return f
}

// fold makes every run of blanks one space, and puts one around each sign.
func fold(text string) string {
	ts := scan(text)
	words := make([]string, len(ts))
	for i, t := range ts {
		words[i] = t.text
	}
	return strings.Join(words, " ")
}

// parseTerm reads one side of a fact.
func (p *parser) parseTerm(w word, t lexeme) (astTerm, bool) {
	out := astTerm{text: w.part(t.at, utf8.RuneCountInString(t.text), t.text)}
	switch {
	case t.text == "actor":
		out.kind = TermActor
	case t.text == "now":
		out.kind = TermNow
	case t.text == "true", t.text == "false":
		out.kind, out.bool = TermBool, t.text == "true"
	case numberForm.MatchString(t.text):
		n, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			return out, false
		}
		out.kind, out.int = TermInt, n
	case spanForm.MatchString(t.text):
		n, problem := parseSpan(t.text)
		if problem != "" {
			return out, false
		}
		out.kind, out.int = TermSpan, n
	case strings.HasPrefix(t.text, "input."):
		out.kind, out.name = TermInput, strings.TrimPrefix(t.text, "input.")
		return out, nameForm.MatchString(out.name)
	case strings.HasPrefix(t.text, oldMark):
		out.kind, out.name = TermOld, strings.TrimPrefix(t.text, oldMark)
		return out, nameForm.MatchString(out.name)
	case wordForm.MatchString(t.text) && !factWord[t.text]:
		out.name = t.text
	case t.text[0] == '\'':
		out.kind = TermText
		out.name, _ = unquote(t.text)
	default:
		return out, false
	}
	return out, true
}

// factWord are the words of the language that cannot be a term.
var factWord = map[string]bool{
	"is": true, "in": true, "not": true, "covers": true, "present": true, "absent": true, "input": true, "same": true,
}

// parseValue reads the right side of an assignment. The result has neither
// kind nor name when it cannot be read (FSM015).
func (p *parser) parseValue(w word) astValue {
	v := astValue{text: w}
	ts := scan(w.text)
	words := make([]string, len(ts))
	for i, t := range ts {
		words[i] = t.text
	}
	text := strings.Join(words, " ")
	v.text.text = text
	switch {
	case isInput(words):
		v.kind = ValueInput
		if len(words) == 3 {
			v.kind = inputOr[words[2]]
		}
		v.name, v.named = strings.CutPrefix(words[0], "input.")
		if !v.named {
			v.name = ""
		}
	case text == "actor":
		v.kind = ValueActor
	case text == "now":
		v.kind = ValueNow
	case len(ts) == 3 && words[0] == "now" && words[1] == "+" && unicode.IsDigit(rune(words[2][0])):
		d, problem := parseDuration(words[2])
		if problem != "" {
			hint := cmp.Or(hintOfSpan(words[2]), "write e.g. `now + 1m`")
			if strings.Trim(words[2], "0msh") == "" {
				hint = "write `now`"
			}
			p.at(codeValue, w.part(ts[2].at, utf8.RuneCountInString(words[2]), words[2]), hint, "%s", problem).
				fix(w.part(ts[2].at, utf8.RuneCountInString(words[2]), words[2]), spanFix(words[2]))
			return v
		}
		v.kind, v.plus = ValueNow, d
	case text == "true", text == "false":
		v.kind, v.bool = ValueBool, text == "true"
	case len(ts) == 1 && spanForm.MatchString(text):
		n, problem := parseSpan(text)
		if problem != "" {
			p.at(codeValue, w, cmp.Or(hintOfSpan(text), spanHint), "%s", problem)
			return v
		}
		v.kind, v.int = ValueSpan, n
	case isSum(ts):
		side, rest, bad := p.parseSide(w, ts)
		if bad == nil && len(rest) > 0 {
			bad = &rest[0]
		}
		if bad != nil {
			at := w.part(bad.at, utf8.RuneCountInString(bad.text), bad.text)
			p.at(codeValue, at, cmp.Or(apart(bad.text), hintOfPart(ts, *bad), sumHint),
				"cannot read the sum %q: %q is no part of it", text, bad.text).
				fix(at, spanFix(bad.text))
			return v
		}
		v.kind, v.parts = ValueSum, side.parts
	case numberForm.MatchString(text):
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			p.at(codeValue, w, "write a number of at most 64 bits", "%s is too large", text)
			return v
		}
		v.kind, v.int = ValueInt, n
	case len(ts) == 1 && wordForm.MatchString(text) && !factWord[text]:
		v.name = text
	case len(ts) == 1 && text[0] == '\'':
		var problem string
		if v.name, problem = unquote(text); problem != "" {
			p.at(codeValue, w, "write a text in both kinds of quotes, e.g. \"'new'\", with two single quotes for one within", "%s", problem)
			return v
		}
		v.kind = ValueText
	default:
		hint := "write input or input.x, alone or with `or absent`, `or same`, `or default` or `or reject`, a field, actor, now, now + 1m, " +
			"a length such as 5m, a number, a sum, true, false, a word of the enum or a text as \"'new'\""
		fix := ""
		switch {
		case apart(text) != "":
			hint = apart(text)
		case spanFix(text) != "":
			fix = spanFix(text)
			hint = hintOfSpan(text)
		case len(ts) == 1 && hintOfPart(ts, ts[0]) != "":
			hint = hintOfPart(ts, ts[0])
		case len(ts) == 1 && strings.HasPrefix(text, oldMark):
			fix = strings.TrimPrefix(text, oldMark)
			hint = oldHint(fix)
		case text == "absent" || text == "null":
			hint = "to make a field absent list it under `clear`"
		case strings.HasPrefix(text, "input") || slices.Contains(words, "or"): // no text: a form that is misspelt
		case len(ts) > 1 && !strings.ContainsAny(text, "+-*/()<>=\"'"):
			fix = `"` + quoteText(w.text) + `"`
			hint = "write the text in both kinds of quotes: " + fix
		}
		p.at(codeValue, w, hint, "%q is not a valid value", text).fix(w, fix)
	}
	return v
}

// inputOr says what a value is that names an input, by what follows it.
var inputOr = map[string]ValueKind{
	"absent": ValueInputOrAbsent, "same": ValueInputOrSame, "default": ValueInputOrDefault, "reject": ValueInputOrReject,
}

// isInput reports whether the words of a value name an input, and perhaps what happens without it.
func isInput(words []string) bool {
	if len(words) != 1 && (len(words) != 3 || words[1] != "or" || inputOr[words[2]] == 0) {
		return false
	}
	name, named := strings.CutPrefix(words[0], "input.")
	return words[0] == "input" || named && nameForm.MatchString(name)
}

// parseTrigger reads `startup` or `after <time field> [+ duration]`, whose duration may be a field.
func (p *parser) parseTrigger(w word) (astTrigger, bool) {
	ts := scan(w.text)
	t := astTrigger{text: w}
	t.text.text = fold(w.text)
	switch {
	case len(ts) == 1 && ts[0].text == "startup":
		t.startup = true
		return t, true
	case (len(ts) == 2 || len(ts) == 4 && ts[2].text == "+") && ts[0].text == "after" && nameForm.MatchString(ts[1].text):
		t.after = w.part(ts[1].at, len(ts[1].text), ts[1].text)
		switch {
		case len(ts) == 4 && nameForm.MatchString(ts[3].text):
			t.by = w.part(ts[3].at, len(ts[3].text), ts[3].text)
		case len(ts) == 4:
			d, problem := parseDuration(ts[3].text)
			if problem != "" {
				p.at(codeTrigger, w.part(ts[3].at, utf8.RuneCountInString(ts[3].text), ts[3].text), triggerHint(ts), "%s", problem).
					fix(w.part(ts[3].at, utf8.RuneCountInString(ts[3].text), ts[3].text), spanFix(ts[3].text))
				return t, false
			}
			t.plus = d
		}
		return t, true
	}
	p.at(codeTrigger, w, triggerHint(ts), "unknown trigger %q", fold(w.text))
	return t, false
}

var typeWords = map[string]Kind{
	"string": KindString, "int": KindInt, "bool": KindBool, "time": KindTime, "json": KindJSON,
	"duration": KindDuration, "counter": KindCounter, "set": KindSet, "sequence": KindSequence,
}

var typeNames = []string{"string", "int", "bool", "time", "duration", "json", "counter", "set", "sequence"}

// foreignTypes are words of other languages for the types of this one.
var foreignTypes = map[string]string{
	"str": "string", "text": "string", "uuid": "string", "integer": "int", "int64": "int", "number": "int", "boolean": "bool",
	"timestamp": "time", "datetime": "time", "date": "time",
	"interval": "duration", "timespan": "duration", "span": "duration",
	"object": "json", "map": "json", "any": "json", "list": "json", "array": "json",
}

// String returns the name of the kind as it is written in a specification.
func (k Kind) String() string {
	for _, name := range typeNames {
		if typeWords[name] == k {
			return name
		}
	}
	if k == KindEnum {
		return "enum"
	}
	return "unknown"
}

// String returns the type as it is written in a specification.
func (t Type) String() string {
	text := t.Kind.String()
	if t.Kind == KindEnum {
		words := make([]string, len(t.Values))
		for i, v := range t.Values {
			words[i] = QuoteWord(v.Name)
		}
		text = strings.Join(words, "|")
	}
	if t.Kind == KindDuration {
		text += t.spanBounds()
	} else if t.Min != nil {
		text += fmt.Sprintf(" %d..", *t.Min)
		if t.Max != nil {
			text += fmt.Sprint(*t.Max)
		}
	}
	if t.Optional {
		text = "optional " + text
	}
	return text
}

// parseType reads a type; its kind is 0 when it cannot be read (FSM004).
func (p *parser) parseType(w word) astType {
	t := astType{text: w}
	text := strings.Join(strings.Fields(w.text), " ")
	if rest, ok := strings.CutPrefix(text, "optional "); ok {
		t.optional, text = true, rest
		if strings.HasPrefix(text, "optional ") {
			p.at(codeUnknownType, w, "write `optional` once", "type %q says optional twice", fold(w.text))
			return t
		}
	}
	switch {
	case text == "":
		p.at(codeUnknownType, w, "write one of "+strings.Join(typeNames, ", ")+" or words divided by |", "the type is empty")
	case typeWords[text] != 0:
		if t.kind = typeWords[text]; t.kind == KindDuration {
			t.anyLength()
		}
	case strings.HasPrefix(text, "duration "):
		p.parseSpans(&t, w, strings.ReplaceAll(text[len("duration "):], " ", ""))
	case strings.HasPrefix(text, "int "):
		p.parseBounds(&t, w, strings.ReplaceAll(text[len("int "):], " ", ""))
	case strings.HasPrefix(text, "string "):
		p.parseLength(&t, w, strings.ReplaceAll(text[len("string "):], " ", ""))
	case strings.HasPrefix(text, "set ") && strings.Contains(text, ".."):
		p.at(codeUnknownType, w, "write `set`, and bounds at the input that is added, e.g. `input: {tag: string 1..64}` and `add: {tags: input.tag}`",
			"the members of a set have no bounds").fix(w, "set")
		t.kind = KindSet
	case strings.Contains(text, "|"):
		p.parseEnum(&t, w)
	case text == "optional":
		p.at(codeUnknownType, w, "write e.g. `optional string`", "`optional` stands before a type")
	default:
		near := foreignTypes[text]
		if near == "" {
			near = p.nearest(text, typeNames)
		}
		d := p.at(codeUnknownType, w, didYouMean(near, "types", append(typeNames[:len(typeNames):len(typeNames)], "int 1..5",
			"string 1..64", "duration 1s..1h", "two or more words divided by |")), "unknown type %q", text)
		if near != "" && t.optional {
			d.fix(w, "optional "+near)
		} else {
			d.fix(w, near)
		}
		if near != "" {
			if t.kind = typeWords[near]; t.kind == KindDuration {
				t.anyLength()
			}
		}
	}
	if t.optional && (t.kind == KindCounter || t.kind == KindSet || t.kind == KindSequence) {
		p.at(codeTogether, w, "remove `optional`: a counter starts at 0, a set empty, and a sequence is given by the store",
			"%s cannot be optional", article(t.kind.String()))
		t.optional = false
	}
	return t
}

// parseBounds reads `1..5` and `0..`.
func (p *parser) parseBounds(t *astType, w word, text string) {
	low, high, ok := strings.Cut(text, "..")
	lo, err := strconv.ParseInt(low, 10, 64)
	if !ok || err != nil || !numberForm.MatchString(low) {
		p.at(codeUnknownType, w, "write `int`, `int 1..5` or `int 0..`", "cannot read the bounds of %q", fold(w.text))
		return
	}
	t.min = &lo
	if high != "" {
		hi, err := strconv.ParseInt(high, 10, 64)
		if err != nil || !numberForm.MatchString(high) {
			p.at(codeUnknownType, w, "write `int`, `int 1..5` or `int 0..`", "cannot read the bounds of %q", fold(w.text))
			return
		}
		if hi < lo {
			p.at(codeTogether, w, fmt.Sprintf("write `int %d..%d`", hi, lo), "the bounds are reversed: %d is above %d", lo, hi)
		}
		t.max = &hi
	}
	t.kind = KindInt
}

// maxLength is how many characters a text may be asked to have: no call brings more bytes.
const maxLength = 8 << 20

// parseLength reads `1..64` and `3..`, the characters that a text has.
func (p *parser) parseLength(t *astType, w word, text string) {
	const hint = "write `string`, `string 1..64` or `string 3..`"
	t.kind = KindString
	low, high, ok := strings.Cut(text, "..")
	if !ok {
		low, high = "", text
	}
	lo, least := wholeNumber(low)
	hi, most := wholeNumber(high)
	if high == "" && least {
		hi, most = maxLength, true
	}
	written := func(low, high string) string {
		if t.optional {
			low = "optional string " + low
		} else {
			low = "string " + low
		}
		return low + ".." + high
	}
	switch {
	case (low == "" || least && lo < 1) && most && hi >= 1:
		fix := written("1", high)
		p.at(codeUnknownType, w, "write `"+fix+"`: a text is never empty", "cannot read the bounds of %q", fold(w.text)).fix(w, fix)
	case !least || !most || lo < 1 || hi < 1:
		p.at(codeUnknownType, w, hint, "cannot read the bounds of %q", fold(w.text))
	case max(lo, hi) > maxLength:
		p.at(codeUnknownType, w, hint, "no text has %d characters: a call brings %d bytes at most", max(lo, hi), maxLength)
	case hi < lo:
		fix := written(high, low)
		p.at(codeTogether, w, "write `"+fix+"`", "the bounds are reversed: %d is above %d", lo, hi).fix(w, fix)
	case lo > 1 || high != "": // each text has one character at least
		if t.min = &lo; high != "" {
			t.max = &hi
		}
	}
}

// wholeNumber reads a number as the language writes it.
func wholeNumber(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && numberForm.MatchString(text)
}

// reservedWord may not be a word of an enum, since a fact or a value reads it
// as something else.
var reservedWord = map[string]bool{
	"actor": true, "now": true, "input": true, "same": true, "absent": true, "present": true, "true": true, "false": true,
	"is": true, "in": true, "not": true, "covers": true,
}

// parseEnum reads `done|failed|undecided`.
func (p *parser) parseEnum(t *astType, w word) {
	offset := strings.Index(w.text, "optional ")
	if offset < 0 || !t.optional {
		offset = 0
	} else {
		offset += len("optional ")
	}
	seen := map[string]bool{}
	t.kind = KindEnum
	at := utf8.RuneCountInString(w.text[:offset])
	for _, part := range alternativesOf(w.text[offset:]) {
		written := strings.TrimSpace(part)
		lead := utf8.RuneCountInString(part) - utf8.RuneCountInString(strings.TrimLeft(part, " \t\n"))
		value := w.part(at+lead, max(utf8.RuneCountInString(written), 1), written)
		at += utf8.RuneCountInString(part) + 1
		name, problem := written, ""
		if strings.HasPrefix(written, "'") {
			name, problem = unquote(written)
			value.quoted = true
		}
		switch {
		case problem != "":
			p.at(codeUnknownType, value, "write a word in quotes as in `open|'in-progress'`", "%s cannot be a word of an enum: %s", written, problem)
			t.kind = 0
		case !value.quoted && !wordForm.MatchString(name):
			p.at(codeUnknownType, value, "an enum is two or more words of letters, digits and _ divided by |, e.g. `low|high`; put others in single quotes, e.g. `'in-progress'`",
				"%q cannot be a word of an enum", name)
			t.kind = 0
		case !strings.ContainsFunc(name, func(c rune) bool { return c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c)) }):
			p.at(codeValue, value, "give it a letter or a digit of ASCII", "%q cannot be a word of an enum: its Go constant would have no name", name)
			t.kind = 0
		case !value.quoted && reservedWord[name]:
			p.at(codeValue, value, "choose another word, or put it in quotes wherever it stands", "%q cannot be a word of an enum: facts read it as something else", name)
		case seen[name]:
			p.at(codeDuplicate, value, "remove one", "the enum holds %q twice", name)
		default:
			seen[name] = true
			value.text = name
			t.words = append(t.words, value)
		}
	}
	if len(seen) == 1 && len(alternativesOf(w.text[offset:])) == 1 { // a word that holds the |
		p.at(codeUnknownType, w, "put | between the quotes of two words, e.g. `'to do'|done`",
			"%s is one word, and an enum has two or more", fold(w.text[offset:]))
		t.kind = 0
	}
}

// alternativesOf splits text at each | that stands in no quotes.
func alternativesOf(text string) []string {
	var parts []string
	start := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\'':
			i += quotedLength(text[i:]) - 1
		case '|':
			parts, start = append(parts, text[start:i]), i+1
		}
	}
	return append(parts, text[start:])
}
