package spec

import (
	"fmt"
	"strconv"
	"strings"
)

var operationKeys = []string{
	"doc", "by", "creates", "from", "to", "choose", "input", "require", "on_refusal", "record_only_in", "set", "clear", "increment", "add", "reset", "decrement", "remove",
	"event", "dedupe_by", "next", "each", "trigger", "effect", "then", "allow", "was",
}

func (p *parser) operations(o *object, m *astMachine) {
	entries, at := p.declarations(o, "operations")
	m.operationsAt = at
	if n := o.node("operations"); n != nil && n.kind == mapNode && len(n.pairs) == 0 {
		p.add(codeMissing, n.pos, 2, "add at least one operation", "operations: there is no operation")
	}
	for _, e := range entries {
		op := &astOperation{name: e.name, keys: map[string]Pos{}}
		m.operations = append(m.operations, op)
		if oo := p.object(e.value, "operation "+e.name.text, operationKeys...); oo != nil {
			oo.anchor = e.name
			op.keys = oo.keys
			p.operation(op, oo)
			p.allow(m, oo, e.name.pos, e.value)
		} else {
			op.keys = nil
		}
	}
}

func (p *parser) operation(op *astOperation, o *object) {
	op.doc = o.word("doc")
	op.by = o.choice("by", "caller", "system", "operator")
	op.was = p.was(o, "operation")
	op.creates = o.some("creates", o.wordOrWords("creates"), "name the state of a new record")
	op.from = o.some("from", o.wordOrWords("from"), "name the states in which the operation is possible")
	op.to = o.word("to")
	op.choose = p.branches(o)
	p.inputs(op, o)
	op.require = o.words("require")
	op.onRefusal = o.choice("on_refusal", "reject", "record_only")
	op.recordOnlyIn = o.words("record_only_in")
	op.effects = p.effects(o)
	op.event = o.name("event")
	op.dedupeBy = o.some("dedupe_by", o.wordOrWords("dedupe_by"), "name a field or a `unique`")
	op.next, op.each = p.next(o), p.each(o)
	for _, w := range o.some("trigger", o.words("trigger"), "write `[startup]` or `[after <time field>]`, or remove the key").words {
		if t, ok := p.parseTrigger(w); ok {
			op.triggers = append(op.triggers, &t)
		}
	}
	op.asks = p.asks(o, "effect")
	op.then = o.word("then")
}

func (p *parser) inputs(op *astOperation, o *object) {
	if !o.has("input") {
		return
	}
	n := o.node("input")
	if n == nil {
		op.inputsBroken = true
		return
	}
	entries, ok := p.entries(n, o.at("input"))
	op.inputsBroken = !ok
	for _, e := range entries {
		in := &astInput{name: e.name}
		op.inputs = append(op.inputs, in)
		switch e.value.kind {
		case scalarNode:
			in.typ = p.parseType(e.value.word())
		case mapNode:
			io := p.object(e.value, "input "+e.name.text, "type", "doc")
			io.anchor = e.name
			io.require("type")
			if w := io.word("type"); w.given() {
				in.typ = p.parseType(w)
			}
			in.doc = io.word("doc")
		default:
			p.wrongKind(e.value, "input "+e.name.text, "a type or a mapping", "write e.g. `"+e.name.text+": string` or `{type: string, doc: ...}`")
		}
		if in.typ.kind == KindCounter || in.typ.kind == KindSequence {
			p.at(codeValue, in.typ.text, "write `int 0..`", "input %s cannot be %s: only a field counts", e.name.text, article(in.typ.kind.String()))
			in.typ.kind = 0
		}
	}
}

func (p *parser) effects(o *object) astEffects {
	return astEffects{
		set:       p.assignments(o, "set"),
		clear:     o.words("clear"),
		increment: o.words("increment"),
		add:       p.assignments(o, "add"),
		reset:     o.words("reset"),
		decrement: o.words("decrement"),
		remove:    p.assignments(o, "remove"),
	}
}

func (p *parser) assignments(o *object, key string) []astAssign {
	n := o.node(key)
	if n == nil {
		return nil
	}
	if n.kind != mapNode {
		p.wrongKind(n, o.at(key), "a mapping of fields to values", "write `"+key+": {field: value}`")
		return nil
	}
	for _, e := range n.pairs {
		if e.key.kind != scalarNode {
			p.wrongKind(e.key, "key of "+o.at(key), "the name of a field", "")
		}
	}
	var out []astAssign
	for _, e := range p.unique(n, o.at(key)) {
		a := astAssign{field: e.key.word()}
		switch e.value.kind {
		case scalarNode:
			a.value = p.parseValue(e.value.word())
		case nullNode:
			hint := "to make a field absent list it under `clear`"
			if field, value, ok := strings.Cut(e.key.text, ":"); ok || strings.Contains(e.key.text, " ") {
				if !ok {
					field, value, _ = strings.Cut(e.key.text, " ")
				}
				hint = "write `" + field + ": " + value + "`, with a space behind the colon"
			}
			p.add(codeNodeKind, e.value.pos, e.value.size, hint, "value of %s: expected a value instead of nothing", e.key.text)
			continue
		default:
			p.wrongKind(e.value, "value of "+e.key.text, "a value", "write input, actor, now, a number or a word")
		}
		out = append(out, a)
	}
	return out
}

func (p *parser) branches(o *object) []*astBranch {
	nodes := p.items(o, "choose")
	if n := o.node("choose"); n != nil && n.kind == listNode && len(n.items) == 0 {
		p.add(codeValue, n.pos, 2, "write `- {when: ..., to: ...}` for each branch", "%s: the list is empty", o.at("choose"))
	}
	var out []*astBranch
	for _, n := range nodes {
		bo := p.object(n, "branch of "+o.what, "from", "when", "to", "record_only", "reject", "set", "clear", "increment", "add", "reset", "decrement", "remove",
			"effect", "then")
		if bo == nil {
			continue
		}
		b := &astBranch{pos: n.pos, keys: bo.keys}
		b.from = bo.some("from", bo.wordOrWords("from"), "name source states, or remove the key for all")
		b.when = p.facts(bo, "when", true)
		b.to = bo.word("to")
		b.recordOnly = bo.flag("record_only")
		if bo.has("record_only") && !b.recordOnly && bo.node("record_only") != nil && bo.node("record_only").text == "false" {
			p.at(codeValue, bo.node("record_only").word(), "remove the key", "%s: false says nothing", bo.at("record_only"))
		}
		b.reject = bo.name("reject")
		b.effects = p.effects(bo)
		b.asks, b.then = p.asks(bo, "effect"), bo.word("then")
		out = append(out, b)
	}
	return out
}

// next reads `{where: facts, order: [field, -field]}`. Like `when`, `where` may
// be a single fact.
func (p *parser) next(o *object) *astNext {
	n := o.node("next")
	if n == nil {
		return nil
	}
	no := p.object(n, o.at("next"), "where", "order")
	if no == nil {
		return nil
	}
	return &astNext{pos: o.keys["next"], where: p.facts(no, "where", true), order: no.words("order")}
}

// mostEach is the greatest `most`: what one transaction moves.
const mostEach = 10000

// each reads `{where: facts, most: 500}`, with `where` as in `next`.
func (p *parser) each(o *object) *astEach {
	n := o.node("each")
	if n == nil {
		return nil
	}
	eo := p.object(n, o.at("each"), "where", "most")
	if eo == nil {
		return nil
	}
	eo.anchor = o.values["each"].key.word()
	eo.require("most")
	e := &astEach{pos: o.keys["each"], where: p.facts(eo, "where", true)}
	if w := eo.word("most"); w.given() {
		most, err := strconv.ParseInt(w.text, 10, 64)
		if err != nil || most < 1 || most > mostEach {
			p.at(codeValue, w, fmt.Sprintf("write a whole number from 1 to %d", mostEach),
				"%s: %q is not a number of records that one call may move", eo.at("most"), w.text)
			return nil
		}
		e.most = most
	}
	return e
}

func (p *parser) projection(o *object, m *astMachine) {
	n := o.node("projection")
	if n == nil {
		return
	}
	po := p.object(n, "projection", "entity", "key", "fields", "rules", "reserved", "transitions")
	if po == nil {
		return
	}
	po.anchor = o.values["projection"].key.word()
	po.require("entity", "key", "rules")
	q := &astProjection{pos: o.keys["projection"]}
	m.projection = q
	if q.entity = po.word("entity"); q.entity.given() && !entityForm.MatchString(q.entity.text) {
		p.at(codeValue, q.entity, "start with A-Z and go on with letters and digits, e.g. Job", "entity of projection: %q is not an exported Go name", q.entity.text)
	}
	q.key = po.some("key", po.wordOrWords("key"), "name the fields that the records of a group share")
	if f := po.node("fields"); f != nil {
		entries, _ := p.entries(f, po.at("fields"))
		for _, e := range entries {
			p.aggregate(q, e)
		}
	}
	rules := p.items(po, "rules")
	if n := po.node("rules"); n != nil && n.kind == listNode && len(n.items) == 0 {
		p.add(codeValue, n.pos, 2, "end with a bare rule, `- {state: ...}`", "%s: the list is empty", po.at("rules"))
	}
	q.broken = po.node("rules") == nil
	for _, n := range rules {
		if rule := p.rule(n); rule != nil {
			q.rules = append(q.rules, rule)
		}
		q.broken = q.broken || len(q.rules) == 0 || !q.rules[len(q.rules)-1].state.given()
	}
	if q.reserved = po.words("reserved"); q.reserved.given() {
		for _, n := range po.node("reserved").items {
			if n.kind == scalarNode {
				p.checkName(n, po.at("reserved"))
			}
		}
	}
	q.transitions = p.moves(po, "transitions")
}

func (p *parser) aggregate(q *astProjection, e entry) {
	const hint = "write `max <field>`, `min <field>` or `count`"
	if e.value.kind != scalarNode {
		p.wrongKind(e.value, "projected field "+e.name.text, "an aggregate", hint)
		return
	}
	w := e.value.word()
	ts := scan(w.text)
	switch {
	case len(ts) == 1 && ts[0].text == "count":
		q.fields = append(q.fields, astAggregate{name: e.name, agg: w})
	case len(ts) == 2 && (ts[0].text == "max" || ts[0].text == "min") && nameForm.MatchString(ts[1].text):
		q.fields = append(q.fields, astAggregate{e.name, w.part(ts[0].at, 3, ts[0].text), w.part(ts[1].at, len(ts[1].text), ts[1].text)})
	default:
		p.at(codeValue, w, hint, "projected field %s: %q is not an aggregate", e.name.text, w.text)
	}
}

func (p *parser) rule(n *node) *astRule {
	o := p.object(n, "rule of projection", "state", "any", "all", "none", "at_least")
	if o == nil {
		return nil
	}
	o.require("state")
	r := &astRule{pos: n.pos, state: o.name("state")}
	for key, to := range map[string]*list{"any": &r.any, "all": &r.all, "none": &r.none} {
		*to = o.some(key, o.words(key), "list at least one state, or remove the key")
	}
	r.atLeast, _ = o.number("at_least", 1)
	r.atLeastPos = o.keys["at_least"]
	return r
}
