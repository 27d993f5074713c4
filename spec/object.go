package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// parser turns the YAML tree into the syntax tree.
type parser struct {
	*reporter
}

// object is a mapping whose keys are words of the language.
type object struct {
	p       *parser
	pos     Pos
	what    string
	anchor  word // where missing keys are reported; the mapping when it is not given
	values  map[string]pair
	keys    map[string]Pos
	foreign bool // it has a key that is not allowed
}

// kindName names what a node is, for messages.
func kindName(n *node) string {
	switch n.kind {
	case listNode:
		return "a list"
	case mapNode:
		return "a mapping"
	case nullNode:
		return "nothing"
	}
	return "the text " + strconv.Quote(n.text)
}

// wrongKind reports a node of the wrong kind (FSM002).
func (p *parser) wrongKind(n *node, what, expected, hint string) {
	if n.kind != brokenNode {
		p.add(codeNodeKind, n.pos, n.span(), hint, "%s: expected %s instead of %s", what, expected, kindName(n))
	}
}

// object reads a mapping with the allowed keys. It reports unknown and
// duplicate keys; an unknown key that is near to an allowed one that is not
// there is read as that one, so that nothing follows from the slip. It returns
// nil when n is no mapping.
func (p *parser) object(n *node, what string, allowed ...string) *object {
	if n.kind != mapNode {
		p.wrongKind(n, what, "a mapping", "write `key: value`; allowed keys: "+strings.Join(allowed, ", "))
		return nil
	}
	o := &object{p: p, pos: n.pos, what: what, values: map[string]pair{}, keys: map[string]Pos{}}
	known := map[string]bool{}
	for _, key := range allowed {
		known[key] = true
	}
	for _, e := range p.unique(n, what) {
		if known[e.key.text] {
			o.values[e.key.text], o.keys[e.key.text] = e, e.key.pos
		}
	}
	for _, e := range n.pairs {
		if e.key.kind == brokenNode || e.key.kind == scalarNode && known[e.key.text] {
			continue
		}
		if e.key.kind != scalarNode {
			p.wrongKind(e.key, "key of "+what, "a word", "allowed keys: "+strings.Join(allowed, ", "))
			continue
		}
		near := foreignKeys[e.key.text]
		if !known[near] {
			near = p.nearest(e.key.text, allowed)
		}
		hint := "allowed here: " + strings.Join(allowed, ", ")
		switch {
		case n.flow && strings.Contains(e.key.text, " ") && e.value.kind == nullNode:
			hint = "put the text before it in quotes: within brackets a comma ends a text; " + hint
		case near != "":
			hint = didYouMean(near, "", nil) + " " + hint
		}
		o.foreign = true
		d := p.at(codeUnknownKey, e.key.word(), hint, "%s: unknown key %q", what, e.key.text)
		if _, taken := o.values[near]; near != "" && !taken {
			d.fix(e.key.word(), near)
			o.values[near], o.keys[near] = e, e.key.pos
		}
	}
	return o
}

// foreignKeys are words of other tools for the keys of this language.
var foreignKeys = map[string]string{
	"name": "machine", "description": "doc", "comment": "doc", "transitions": "operations", "events": "operations", "constraints": "unique",
	"invariants": "invariant", "params": "input", "args": "input", "target": "to", "source": "from", "guard": "require", "if": "when",
	"branches": "choose", "update": "set", "unset": "clear", "initial": "creates", "emit": "event", "on_failure": "on_refusal",
}

// unique returns the entries of a mapping without repeated keys, which it
// reports (FSM003). The YAML library does not report them.
func (p *parser) unique(n *node, what string) []pair {
	first := map[string]Pos{}
	var out []pair
	for _, e := range n.pairs {
		if e.key.kind != scalarNode {
			continue
		}
		if at, again := first[e.key.text]; again {
			p.at(codeDuplicate, e.key.word(), "remove one of the two", "%s: key %q is already set at line %d", what, e.key.text, at.Line).
				related(at, "first set here")
			continue
		}
		first[e.key.text] = e.key.pos
		out = append(out, e)
	}
	return out
}

// entry is one declaration of a mapping whose keys are names of the user's.
type entry struct {
	name  word
	value *node
}

// yaml11 are words that YAML 1.1 tools read as a boolean or as nothing.
var yaml11 = map[string]bool{"yes": true, "no": true, "on": true, "off": true, "true": true, "false": true, "null": true}

// entries reads a mapping of declarations; ok is false when it is none or when
// some of its names cannot be read.
func (p *parser) entries(n *node, what string) (out []entry, ok bool) {
	if n.kind != mapNode {
		p.wrongKind(n, what, "a mapping of names", "write `name: ...` for each")
		return nil, false
	}
	ok = true
	for _, e := range n.pairs {
		if e.key.kind != scalarNode {
			ok = false
			if e.key.kind == nullNode {
				p.add(codeValue, e.key.pos, e.key.size, "choose another name", "%s: the name is empty, or one that YAML reads as nothing", what)
			} else {
				p.wrongKind(e.key, "key of "+what, "a name", "names are words of a-z, 0-9 and _")
			}
		}
	}
	for _, e := range p.unique(n, what) {
		ok = p.checkName(e.key, what) && ok
		out = append(out, entry{e.key.word(), e.value})
	}
	return out, ok
}

// checkName reports a name that is not in the form of names (FSM015).
func (p *parser) checkName(n *node, what string) bool {
	switch {
	case n.plain && yaml11[strings.ToLower(n.text)]:
		p.at(codeValue, n.word(), "choose another name", "%s: other YAML tools read the name %q as a boolean or as nothing", what, n.text)
	case !nameForm.MatchString(n.text):
		hint := "a name starts with a-z and goes on with a-z, 0-9 and _"
		if s := snake(n.text); s != n.text && nameForm.MatchString(s) {
			hint = "write " + s + "; " + hint
		}
		p.at(codeValue, n.word(), hint, "%s: %q is not a valid name", what, n.text)
	default:
		return true
	}
	return false
}

// How many bytes a name may have that becomes one of the database: PostgreSQL
// cuts identifiers at 63 without a word, and a table may be `<machine>_events`.
const (
	maxColumn  = 63
	maxMachine = maxColumn - len("_events")
)

// fits reports a name that is too long for a database (FSM015).
func (p *parser) fits(w word, what string, most int, why string) {
	if len(w.text) > most {
		p.at(codeValue, w, fmt.Sprintf("write one of at most %d bytes: %s, and PostgreSQL cuts names at %d", most, why, maxColumn),
			"%s: the name has %d bytes, more than %d", what, len(w.text), most)
	}
}

// snake makes a name of what was probably meant as one.
func snake(text string) string {
	var b strings.Builder
	for i, c := range text {
		switch {
		case c >= 'A' && c <= 'Z':
			if i > 0 && !strings.HasSuffix(b.String(), "_") {
				b.WriteByte('_')
			}
			b.WriteRune(c + 'a' - 'A')
		case c == '-' || c == ' ' || c == '.':
			b.WriteByte('_')
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func (o *object) has(key string) bool { _, ok := o.values[key]; return ok }

// node returns the value at key, nil when it is not there or broken.
func (o *object) node(key string) *node {
	if n := o.values[key].value; n != nil && n.kind != brokenNode {
		return n
	}
	return nil
}

// word returns the scalar at key.
func (o *object) word(key string) word {
	n := o.node(key)
	if n == nil {
		return word{}
	}
	if n.kind != scalarNode {
		hint := ""
		if n.kind == listNode && len(n.items) == 1 && n.items[0].kind == scalarNode {
			hint = "write `" + key + ": " + n.items[0].text + "`"
		}
		o.p.wrongKind(n, o.at(key), "a word", hint)
		return word{}
	}
	return n.word()
}

// name returns the scalar at key when it has the form of a name.
func (o *object) name(key string) word {
	w := o.word(key)
	if w.given() && !o.p.checkName(o.values[key].value, o.at(key)) {
		return word{}
	}
	return w
}

// choice returns the scalar at key when it is one of the allowed words.
func (o *object) choice(key string, allowed ...string) word {
	w := o.word(key)
	if !w.given() {
		return word{}
	}
	for _, a := range allowed {
		if w.text == a {
			return w
		}
	}
	hint := "write " + alternatives(allowed)
	if near := o.p.nearest(w.text, allowed); near != "" {
		hint = didYouMean(near, "", nil) + " " + hint
	}
	o.p.at(codeValue, w, hint, "%s: %q is not allowed", o.at(key), w.text).fix(w, o.p.nearest(w.text, allowed))
	return word{}
}

// alternatives writes "a, b or c".
func alternatives(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// flag returns the boolean at key.
func (o *object) flag(key string) bool {
	n := o.node(key)
	if n == nil {
		return false
	}
	if n.kind != scalarNode {
		o.p.wrongKind(n, o.at(key), "true or false", "")
		return false
	}
	if n.plain && (n.text == "true" || n.text == "false") {
		return n.text == "true"
	}
	o.p.at(codeValue, n.word(), "write true or false without quotes", "%s: %q is not a boolean", o.at(key), n.text)
	return false
}

// number returns the whole number at key; ok is false when there is none.
func (o *object) number(key string, least int64) (int64, bool) {
	n := o.node(key)
	if n == nil {
		return 0, false
	}
	if n.kind != scalarNode {
		o.p.wrongKind(n, o.at(key), "a whole number", "")
		return 0, false
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	switch {
	case !n.plain || !numberForm.MatchString(n.text):
		hint := "write a whole number in decimal digits"
		if n.plain && err == nil {
			hint = "write " + strconv.FormatInt(v, 10) + ": YAML tools read a leading zero as octal"
		}
		o.p.at(codeValue, n.word(), hint, "%s: %q is not a whole number", o.at(key), n.text)
	case err != nil || v < least:
		o.p.at(codeValue, n.word(), "", "%s: expected a number from %d that fits 64 bits instead of %s", o.at(key), least, n.text)
	default:
		return v, true
	}
	return 0, false
}

// words returns the list at key.
func (o *object) words(key string) list { return o.list(key, false) }

// wordOrWords returns the list at key, where a single word is a list of one.
func (o *object) wordOrWords(key string) list { return o.list(key, true) }

func (o *object) list(key string, single bool) list {
	n := o.node(key)
	if n == nil {
		return list{}
	}
	return o.p.list(n, o.keys[key], o.at(key), key, single)
}

// list reads a list of words; at says what it is, and key where it stands.
func (p *parser) list(n *node, pos Pos, at, key string, single bool) list {
	out := list{pos: pos}
	switch {
	case n.kind == scalarNode && single:
		out.words = []word{n.word()}
		return out
	case n.kind == scalarNode:
		p.wrongKind(n, at, "a list", "write `"+key+": ["+n.text+"]`")
		return list{}
	case n.kind != listNode:
		p.wrongKind(n, at, "a list", "write `"+key+": [a, b]`")
		return list{}
	}
	first := map[string]Pos{}
	for _, item := range n.items {
		if item.kind != scalarNode {
			p.wrongKind(item, "item of "+at, "a word", "")
			continue
		}
		if before, again := first[item.text]; again {
			p.at(codeDuplicate, item.word(), "remove one of the two", "%s: %q is listed twice", at, item.text).related(before, "first listed here")
			continue
		}
		first[item.text] = item.pos
		out.words = append(out.words, item.word())
	}
	return out
}

// some reports an empty list at a key that needs at least one item (FSM015).
func (o *object) some(key string, l list, hint string) list {
	if n := o.node(key); l.given() && n.kind == listNode && len(n.items) == 0 {
		o.p.add(codeValue, n.pos, 2, hint, "%s: the list is empty", o.at(key))
	}
	return l
}

// require reports mandatory keys that are not there (FSM022).
func (o *object) require(keys ...string) {
	var missing []string
	for _, key := range keys {
		if !o.has(key) {
			missing = append(missing, "`"+key+"`")
		}
	}
	if len(missing) == 0 {
		return
	}
	at := o.anchor
	if !at.given() {
		at = word{pos: o.pos, size: 1}
	}
	o.p.at(codeMissing, at, "add "+strings.Join(missing, ", "), "%s has no %s", o.what, alternatives(missing))
}

// at names the value at key, for messages.
func (o *object) at(key string) string {
	if o.what == rootName {
		return key
	}
	return key + " of " + o.what
}
