package spec

import (
	"slices"
	"strings"
)

// rootName is what the top level is called in messages.
const rootName = "the specification"

var rootKeys = []string{
	"fsm", "machine", "layers", "entity", "version", "doc", "requests", "otherwise", "allow", "fields", "states", "state_groups", "removed", "invariant",
	"uses", "guards", "unique", "lookup", "operations", "forbidden", "steps", "projection", "probes",
}

// Parse reads a specification. It returns the resolved machine, or nil when a
// finding is an error; the findings are complete, sorted by position, and name
// file as given. It never panics, whatever src holds.
func Parse(file string, src []byte) (*Machine, Diagnostics) {
	r := &reporter{file: file}
	m := r.parse(src)
	r.finish()
	if m == nil || r.found.HasErrors() {
		return nil, r.found
	}
	m.File = file
	m.Hash = hashMachine(m)
	return m, r.found
}

// mostFindings is how many findings of one file are told: nobody reads more,
// and a file of a megabyte can hold a hundred thousand.
const mostFindings = 1000

// finish sorts the findings and cuts what is too much.
func (r *reporter) finish() {
	r.found.Sort()
	if more := len(r.found) - mostFindings; more > 0 {
		rest := r.found[mostFindings]
		r.found = r.found[:mostFindings]
		more += r.untold
		r.add(codeUnreadable, rest.Pos, rest.Len, "fix the others first", "%d more findings are not shown", more)
		r.found.Sort()
	}
}

func (r *reporter) parse(src []byte) *Machine {
	text, ok := cleanText(r, src)
	if !ok {
		return nil
	}
	root := readYAML(r, text)
	if root == nil {
		if len(r.found) == 0 {
			r.add(codeMissing, Pos{1, 1}, 1, "start with `fsm: 1`, `machine`, `entity`, `states` and `operations`", "the file is empty; expected a specification")
		}
		return nil
	}
	p := &parser{reporter: r}
	ast := p.machine(root)
	if ast == nil {
		return nil
	}
	return resolve(r, ast, src)
}

func (p *parser) machine(root *node) *astMachine {
	o := p.object(root, rootName, rootKeys...)
	if o == nil {
		return nil
	}
	o.require("fsm", "machine", "entity", "states", "operations")
	p.language(o)
	m := &astMachine{pos: root.pos, doc: o.word("doc"), version: 1}
	m.machine = o.name("machine")
	p.fits(m.machine, "machine", maxMachine, "it names tables, `<machine>_events` among them")
	if m.entity = o.word("entity"); m.entity.given() && !entityForm.MatchString(m.entity.text) {
		p.at(codeValue, m.entity, "start with A-Z and go on with letters and digits, e.g. Job", "entity: %q is not an exported Go name", m.entity.text)
	}
	if v, ok := o.number("version", 1); ok {
		m.version = int(v)
	}
	m.layers = p.layers(o)
	m.requestsAt = o.keys["requests"]
	if n := o.node("requests"); n != nil {
		if q := p.object(n, "requests", "request_id", "expected_rev"); q != nil {
			m.requestID = q.choice("request_id", "required", "optional", "none")
			m.expectedRev = q.choice("expected_rev", "required", "optional", "none")
		}
	}
	m.otherwise = o.choice("otherwise", "reject", "record_only")
	p.allow(m, o, Pos{}, root)
	m.invariant = p.facts(o, "invariant", false)
	p.fields(o, m)
	p.states(o, m)
	p.groups(o, m)
	p.removed(o, m)
	p.uses(o, m)
	p.guards(o, m)
	p.uniques(o, m)
	p.lookups(o, m)
	p.operations(o, m)
	m.forbidden = p.forbiddenMoves(o)
	m.steps = p.stepRules(o)
	p.projection(o, m)
	p.probes(o, m)
	return m
}

// layers reads which layers are generated.
func (p *parser) layers(o *object) list {
	l := o.some("layers", o.words("layers"), "write `[pure]`, `[durable]` or `[durable, handles]`, or remove the key")
	has := make(map[Layer]bool)
	for _, w := range l.words {
		if !slices.Contains(Layers, Layer(w.text)) {
			hint := "write pure, durable or handles"
			if near := p.nearest(w.text, layerNames()); near != "" {
				hint = didYouMean(near, "", nil) + " " + hint
			}
			p.at(codeValue, w, hint, "layers: %q is no layer", w.text).fix(w, p.nearest(w.text, layerNames()))
			return l
		}
		has[Layer(w.text)] = true
	}
	for _, w := range l.words {
		if Layer(w.text) == LayerHandles && !has[LayerDurable] {
			p.at(codeTogether, w, "write `[durable, handles]`", "layers: handles are over the durable layer, which is not listed")
		}
	}
	return l
}

// allow reads the findings that a declaration allows, from where its name stands
// to the end of its value.
func (p *parser) allow(m *astMachine, o *object, begin Pos, value *node) {
	n := o.node("allow")
	if n == nil {
		return
	}
	if n.kind != mapNode {
		p.wrongKind(n, o.at("allow"), "a mapping of codes to reasons", "write `allow: {FSM106: why that is meant}`")
		return
	}
	for _, e := range p.unique(n, o.at("allow")) {
		a := &Allow{Pos: e.key.pos, Code: e.key.text, Begin: begin, End: value.end()}
		switch e.value.kind {
		case scalarNode:
			a.Reason = e.value.text
		case nullNode:
		default:
			p.wrongKind(e.value, "reason of "+e.key.text, "a text", "")
			continue
		}
		m.allow = append(m.allow, a)
	}
}

// language checks the version of the language.
func (p *parser) language(o *object) {
	n := o.node("fsm")
	if n == nil {
		return
	}
	if n.kind != scalarNode {
		p.wrongKind(n, "fsm", "the number 1", "write `fsm: 1`")
	} else if !n.plain || n.text != "1" {
		p.at(codeValue, n.word(), "write `fsm: 1`", "fsm: version %q of the language is not known; this program reads version 1", n.text)
	}
}

// declarations reads the mapping of declarations at key; it is broken when a
// name may be missing from it.
func (p *parser) declarations(o *object, key string) ([]entry, section) {
	var s section
	n := o.node(key)
	if n == nil {
		s.broken = o.has(key) || key == "states" || key == "operations" // mandatory: that was reported
		return nil, s
	}
	list, ok := p.entries(n, key)
	s.broken = !ok
	return list, s
}

// facts reads the list of facts at key.
func (p *parser) facts(o *object, key string, single bool) []*astFact {
	n := o.node(key)
	if n == nil {
		return nil
	}
	if single && n.kind == mapNode {
		n = &node{kind: listNode, pos: n.pos, items: []*node{n}}
	}
	out := p.factList(n, o.at(key), key, single, key != "where")
	if single {
		o.some(key, list{pos: o.keys[key]}, "remove the key, or write a fact")
	}
	return out
}

func (p *parser) fields(o *object, m *astMachine) {
	entries, at := p.declarations(o, "fields")
	m.fieldsAt = at
	for _, e := range entries {
		f := &astField{name: e.name}
		m.fields = append(m.fields, f)
		switch e.value.kind {
		case scalarNode:
			p.fits(f.name, "fields", maxColumn, "it names a column")
			f.typ = p.parseType(e.value.word())
			continue
		case mapNode:
		default:
			p.wrongKind(e.value, "field "+e.name.text, "a type or a mapping", "write e.g. `"+e.name.text+": string` or `{type: string, doc: ...}`")
			continue
		}
		fo := p.object(e.value, "field "+e.name.text, "type", "doc", "default", "changed_by", "per", "was")
		fo.anchor = e.name
		fo.require("type")
		if w := fo.word("type"); w.given() {
			f.typ = p.parseType(w)
		}
		f.doc = fo.word("doc")
		f.def = fo.node("default")
		f.changedBy = fo.words("changed_by")
		f.per = fo.some("per", fo.wordOrWords("per"), "name a field, or remove `per`: then the whole machine counts")
		f.was = p.was(fo, "field")
		if stored := f.was.name; stored.given() {
			p.fits(stored, "was of field "+e.name.text, maxColumn, "it names a column")
		} else {
			p.fits(f.name, "fields", maxColumn, "it names a column")
		}
		if fo.has("per") && f.typ.kind != 0 && f.typ.kind != KindSequence {
			p.add(codeTogether, fo.keys["per"], 3, "make the type `sequence`, or remove `per`", "field %s: `per` goes with a sequence only, not with %s", e.name.text, article(f.typ.kind.String()))
		}
	}
}

// was reads a former name. A field and an operation may write a mapping:
// `{field: old, values: {new: old}}` and `{operation: old, event: old}`.
func (p *parser) was(o *object, what string) astWas {
	n := o.node("was")
	if n == nil {
		return astWas{}
	}
	if n.kind != mapNode {
		return astWas{name: o.name("was")}
	}
	second := "values"
	if what == "operation" {
		second = "event"
	}
	w := p.object(n, "was of "+o.what, what, second)
	out := astWas{name: w.name(what)}
	if what == "operation" {
		out.event = w.name("event")
		return out
	}
	if v := w.node("values"); v != nil {
		if v.kind != mapNode {
			p.wrongKind(v, w.at("values"), "a mapping of words", "write `new: old` for each")
			return out
		}
		for _, e := range p.unique(v, w.at("values")) {
			if e.key.kind != scalarNode {
				p.wrongKind(e.key, "key of "+w.at("values"), "a word", "write `new: old`")
			} else if e.value.kind != scalarNode {
				p.wrongKind(e.value, "former name of "+e.key.text, "a word", "write `new: old`")
			} else if from, to := p.enumWord(e.value, w.at("values")), p.enumWord(e.key, w.at("values")); from.given() && to.given() {
				out.values = append(out.values, astRename{to, from})
			}
		}
	}
	return out
}

// enumWord reads one word of an enum. A word with other characters than letters, digits and
// _ has to be quoted.
func (p *parser) enumWord(n *node, what string) word {
	w := n.word()
	name, problem := w.text, ""
	if strings.HasPrefix(name, "'") {
		name, problem = unquote(name)
	} else if !wordForm.MatchString(name) || n.plain && yaml11[strings.ToLower(name)] {
		problem = "it has to be quoted"
	}
	if problem != "" {
		p.at(codeValue, w, "write a word of the enum, e.g. low or \"'in-progress'\"", "%s: %q is not a word: %s", what, w.text, problem)
		return word{}
	}
	w.text = name
	return w
}

func (p *parser) states(o *object, m *astMachine) {
	entries, at := p.declarations(o, "states")
	m.statesAt = at
	if n := o.node("states"); n != nil && n.kind == mapNode && len(n.pairs) == 0 {
		p.add(codeMissing, n.pos, 2, "add at least one state", "states: there is no state")
	}
	for _, e := range entries {
		s := &astState{name: e.name}
		m.states = append(m.states, s)
		if p.empty(e, "state") {
			continue
		}
		so := p.object(e.value, "state "+e.name.text,
			"doc", "present", "absent", "should", "invariant", "terminal", "final", "otherwise", "kind", "enter", "exit", "allow", "probe", "was")
		if so == nil {
			continue
		}
		s.doc, s.was = so.word("doc"), so.name("was")
		s.presence = astPresence{so.words("present"), so.words("absent")}
		if n := so.node("should"); n != nil {
			if sh := p.object(n, "should of state "+e.name.text, "present", "absent"); sh != nil {
				s.should = astPresence{sh.words("present"), sh.words("absent")}
			}
		}
		s.invariant = p.facts(so, "invariant", false)
		s.terminal, s.final, s.finalPos = so.flag("terminal"), so.flag("final"), so.keys["final"]
		s.otherwise = so.choice("otherwise", "reject", "record_only")
		s.kind = so.choice("kind", string(Success), string(Trouble))
		s.probes = so.words("probe")
		s.enter, s.exit = p.asks(so, "enter"), p.asks(so, "exit")
		p.allow(m, so, e.name.pos, e.value)
	}
}

// empty reports a declaration without a value, which YAML reads as null.
func (p *parser) empty(e entry, what string) bool {
	if e.value.kind != nullNode {
		return false
	}
	p.at(codeNodeKind, e.name, "write `"+e.name.text+": {}`", "%s %s: expected a mapping instead of nothing", what, e.name.text)
	return true
}

func (p *parser) removed(o *object, m *astMachine) {
	entries, _ := p.declarations(o, "removed")
	for _, e := range entries {
		if ro := p.object(e.value, "removed state "+e.name.text, "to"); ro != nil {
			ro.anchor = e.name
			ro.require("to")
			m.removed = append(m.removed, &astRemoved{e.name, ro.word("to")})
		}
	}
}

func (p *parser) guards(o *object, m *astMachine) {
	entries, at := p.declarations(o, "guards")
	m.guardsAt = at
	for _, e := range entries {
		g := &astGuard{name: e.name}
		m.guards = append(m.guards, g)
		p.guard(g, e)
	}
}

func (p *parser) guard(g *astGuard, e entry) {
	o := p.object(e.value, "guard "+e.name.text, "when", "none", "fewer", "some", "error", "message", "doc")
	if o == nil {
		return
	}
	o.anchor = e.name
	o.require("error")
	g.doc, g.err, g.message = o.word("doc"), o.name("error"), o.word("message")
	var conditions []string
	for _, key := range []string{"when", "none", "fewer", "some"} {
		if o.has(key) {
			conditions = append(conditions, key)
		}
	}
	switch len(conditions) {
	case 0:
		if o.foreign {
			break // an unknown key may be the condition
		}
		p.at(codeMissing, e.name,
			"add `when: ...`, `none: {same: ..., in: [...]}`, `fewer: {than: ..., same: ..., in: [...]}` or `some: {same: ..., in: [...]}`",
			"guard %s has no condition", e.name.text)
	case 1:
	default:
		key := conditions[len(conditions)-1]
		p.add(codeTogether, o.keys[key], len(key), "make two guards of it and require both", "guard %s: `%s` and `%s` do not go together", e.name.text, conditions[0], key)
	}
	g.when = p.facts(o, "when", true)
	for _, key := range []string{"none", "fewer", "some"} {
		if n := o.node(key); n != nil {
			g.peers = p.peers(n, o.at(key), key)
			break
		}
	}
}

func (p *parser) peers(n *node, what, form string) *astPeers {
	keys := []string{"than", "same", "in"}
	if form != "fewer" {
		keys = keys[1:]
	}
	o := p.object(n, what, keys...)
	if o == nil {
		return nil
	}
	o.require(keys...)
	out := &astPeers{pos: n.pos, none: form == "none", some: form == "some", than: 1}
	if n := o.node("than"); n != nil && n.kind == scalarNode && !numberForm.MatchString(n.text) {
		out.than, out.limit = 0, p.limit(n.word(), o.at("than"))
	} else if form == "fewer" {
		out.than, _ = o.number("than", 1)
	}
	if n := o.node("same"); n != nil && n.kind == mapNode {
		p.members(n, out, o.keys["same"], o.at("same"))
	} else {
		out.same = o.some("same", o.wordOrWords("same"), "name the fields that the others share")
	}
	out.in = o.some("in", o.words("in"), "list the states that count")
	return out
}

// limit reads the `than` that a field or an input tells, as the fact that it is 1 at least; nil
// where it cannot be read.
func (p *parser) limit(w word, what string) *astFact {
	if ts := scan(w.text); len(ts) == 1 {
		if t, ok := p.parseTerm(w, ts[0]); ok && (t.kind == 0 || t.kind == TermInput) {
			text := w
			text.text = t.text.text + " >= 1"
			return &astFact{text: text, op: Ge, left: t, right: astTerm{text: w, kind: TermInt, int: 1}}
		}
	}
	p.at(codeValue, w, "write a whole number, a field of type int or counter, or input.x", "%s: %q is not a number of records", what, w.text)
	return nil
}

// members reads the mapping of `same`: of each field of the others, which value they have.
func (p *parser) members(n *node, out *astPeers, at Pos, what string) {
	out.same.pos = at
	const hint = "write a field of the record, actor, input.x, a number, true, false, a word of the enum or a text as \"'new'\""
	entries, _ := p.entries(n, what)
	if len(n.pairs) == 0 {
		p.add(codeValue, n.pos, 2, "name the fields that the others share", "%s: the mapping is empty", what)
	}
	for _, e := range entries {
		if e.value.kind != scalarNode {
			p.wrongKind(e.value, e.name.text+" in "+what, "a value", hint)
			continue
		}
		w, f := e.value.word(), &astFact{op: Eq, left: astTerm{text: e.name, name: e.name.text}}
		ok := false
		if ts := scan(w.text); len(ts) == 1 {
			f.right, ok = p.parseTerm(w, ts[0])
			_, problem := unquote(ts[0].text)
			ok = ok && (f.right.kind != TermText || problem == "")
		}
		switch {
		case !ok && w.text == "input":
			p.at(codeValue, w, "write input."+e.name.text, "%s: `input` has no name of its own here", what).fix(w, "input."+e.name.text)
		case !ok || f.right.kind == TermNow:
			p.at(codeValue, w, hint, "%s: %q is not a value that %s can have", what, w.text, e.name.text)
		default:
			f.text = w
			f.text.text = e.name.text + " == " + f.right.text.text
			out.same.words, out.of = append(out.same.words, e.name), append(out.of, f)
		}
	}
}

func (p *parser) uniques(o *object, m *astMachine) {
	entries, at := p.declarations(o, "unique")
	m.uniqueAt = at
	for _, e := range entries {
		u := &astUnique{name: e.name}
		m.unique = append(m.unique, u)
		uo := p.object(e.value, "unique "+e.name.text, "fields", "in", "error", "message")
		if uo == nil {
			continue
		}
		uo.anchor = e.name
		uo.require("fields", "in", "error")
		u.fields = uo.some("fields", uo.wordOrWords("fields"), "name at least one field")
		u.in = uo.some("in", uo.words("in"), "list the states in which the fields are unique")
		u.err, u.message = uo.name("error"), uo.word("message")
	}
}

func (p *parser) lookups(o *object, m *astMachine) {
	entries, _ := p.declarations(o, "lookup")
	for _, e := range entries {
		lo := p.object(e.value, "lookup "+e.name.text, "doc", "fields", "in", "order")
		if lo == nil {
			continue
		}
		lo.anchor = e.name
		lo.require("fields")
		m.lookups = append(m.lookups, &astLookup{
			name: e.name, doc: lo.word("doc"),
			fields: lo.some("fields", lo.wordOrWords("fields"), "name at least one field"),
			in:     lo.some("in", lo.words("in"), "list the states whose records are found, or remove the key: all are"),
			order:  lo.words("order"),
		})
	}
}

func (p *parser) probes(o *object, m *astMachine) {
	entries, at := p.declarations(o, "probes")
	m.probesAt = at
	for _, e := range entries {
		b := &astProbe{name: e.name}
		m.probes = append(m.probes, b)
		if p.empty(e, "probe") {
			continue
		}
		if po := p.object(e.value, "probe "+e.name.text, "doc", "message"); po != nil {
			b.doc, b.message = po.word("doc"), po.word("message")
		}
	}
}

// forbiddenMoves reads a list of `{from, to, reason}` and `{after, to, reason}`.
func (p *parser) forbiddenMoves(o *object) []*astForbidden {
	var out []*astForbidden
	for _, n := range p.items(o, "forbidden") {
		mo := p.object(n, "item of forbidden", "from", "after", "to", "reason")
		if mo == nil {
			continue
		}
		f := &astForbidden{pos: n.pos, to: mo.word("to"), reason: mo.word("reason")}
		if f.after = mo.has("after"); f.after {
			mo.require("to")
			f.from = mo.word("after")
		} else {
			mo.require("from", "to")
		}
		switch {
		case !mo.has("from"):
		case f.after:
			p.at(codeTogether, mo.word("from"), "keep `from` for one step, or `after` for every path", "`from` and `after` stand in one line")
		default:
			f.from = mo.word("from")
		}
		out = append(out, f)
	}
	return out
}

// moves reads a list of `{from, to}`.
func (p *parser) moves(o *object, key string) []*astForbidden {
	var out []*astForbidden
	for _, n := range p.items(o, key) {
		mo := p.object(n, "item of "+o.at(key), "from", "to")
		if mo == nil {
			continue
		}
		mo.require("from", "to")
		out = append(out, &astForbidden{pos: n.pos, from: mo.word("from"), to: mo.word("to")})
	}
	return out
}

// items returns the items of the list at key.
func (p *parser) items(o *object, key string) []*node {
	n := o.node(key)
	if n == nil {
		return nil
	}
	if n.kind != listNode {
		p.wrongKind(n, o.at(key), "a list", "write each item on a line of its own, after `- `")
		return nil
	}
	return n.items
}
