package spec

import (
	"cmp"
	"slices"
	"strings"
)

// factList reads a list of facts, of which all hold. With alternatives an item may be a
// mapping `any`, whose items are facts or lists of facts: one of them holds.
func (p *parser) factList(n *node, at, key string, single, alternatives bool) []*astFact {
	if n.kind != listNode {
		return p.readFacts(p.list(n, n.pos, at, key, single))
	}
	scalars := *n
	scalars.items = slices.DeleteFunc(slices.Clone(n.items), func(i *node) bool { return i.kind == mapNode })
	out := p.readFacts(p.list(&scalars, n.pos, at, key, single))
	for _, item := range n.items {
		switch {
		case item.kind != mapNode:
		case alternatives:
			if f := p.anyOf(item, at); f != nil {
				out = append(out, f)
			}
		case key == "any":
			p.add(codeTogether, item.pos, 1, "write its facts as items of this list, or name them in guards of their own",
				"%s: `any` stands in no other `any`", at)
		default:
			p.add(codeTogether, item.pos, 1, "make a guard of it, and name that under `require`: a pick then passes over records that it refuses",
				"%s: `any` does not stand here, for it is no range of an index", at)
		}
	}
	slices.SortStableFunc(out, func(a, b *astFact) int {
		return cmp.Or(cmp.Compare(a.text.pos.Line, b.text.pos.Line), cmp.Compare(a.text.pos.Col, b.text.pos.Col))
	})
	return out
}

func (p *parser) readFacts(l list) []*astFact {
	var out []*astFact
	for _, w := range l.words {
		if f := p.parseFact(w); f != nil {
			out = append(out, f)
		}
	}
	return out
}

// anyOf reads `{any: [fact, [fact, fact]]}`; nil when it cannot be read.
func (p *parser) anyOf(n *node, at string) *astFact {
	o := p.object(n, "fact of "+at, "any")
	if o == nil {
		return nil
	}
	list := o.node("any")
	if list == nil {
		o.require("any")
		return nil
	}
	at = "any of " + at
	if list.kind != listNode {
		p.wrongKind(list, at, "a list", "write `any: [a, b]`: one of these facts holds")
		return nil
	}
	f := &astFact{op: AnyOf, text: word{pos: o.keys["any"], size: len("any"), shift: -1}}
	var texts []string
	twice := false
	for _, item := range list.items {
		all := item
		if item.kind != listNode {
			all = &node{kind: listNode, pos: item.pos, items: []*node{item}}
		} else if len(item.items) == 0 {
			p.add(codeValue, item.pos, 2, "write a fact, or remove it", "%s: the list is empty", at)
		}
		facts := p.factList(all, at, "any", false, false)
		if len(facts) == 0 {
			return nil // that was reported
		}
		var parts []string
		for _, x := range facts {
			parts = append(parts, x.text.text)
		}
		text := strings.Join(parts, " and ")
		if i := slices.Index(texts, text); i >= 0 {
			p.at(codeDuplicate, facts[0].text, "remove one of the two", "%s: %q is listed twice", at, text).
				related(f.any[i][0].text.pos, "first listed here")
			twice = true
			continue
		}
		texts, f.any = append(texts, text), append(f.any, facts)
	}
	switch {
	case len(f.any) > 1:
	case twice:
		return nil
	default:
		p.at(codeValue, f.text, "name another one, or write the facts without `any`", "%s: one of at least two holds", at)
		return nil
	}
	f.text.text = strings.Join(texts, " or ")
	return f
}

// anyFact binds the facts of an `any`; nil when one of them has a finding.
func (r *resolver) anyFact(a *astFact, sc scope) *Fact {
	f := &Fact{Pos: a.text.pos, Text: a.text.text, Op: AnyOf}
	for _, list := range a.any {
		facts := r.facts(list, sc)
		if len(facts) == len(list) {
			f.Any = append(f.Any, facts)
		}
	}
	if len(f.Any) < len(a.any) {
		return nil
	}
	return f
}

// Leaves lists the comparisons of facts, with those that stand in an `any`.
func Leaves(facts []*Fact) []*Fact {
	if !slices.ContainsFunc(facts, func(f *Fact) bool { return f.Op == AnyOf }) {
		return facts
	}
	var out []*Fact
	for _, f := range facts {
		if f.Op != AnyOf {
			out = append(out, f)
			continue
		}
		for _, list := range f.Any {
			out = append(out, list...)
		}
	}
	return out
}

// Written returns the fact as it stands in a list of facts.
func (f *Fact) Written() string {
	if f.Op != AnyOf {
		return f.Text
	}
	var items []string
	for _, list := range f.Any {
		var texts []string
		for _, x := range list {
			texts = append(texts, x.Text)
		}
		item := strings.Join(texts, ", ")
		if len(texts) > 1 {
			item = "[" + item + "]"
		}
		items = append(items, item)
	}
	return "{any: [" + strings.Join(items, ", ") + "]}"
}

// FactTexts are the texts of facts that all hold; an `any` beside others stands in parentheses.
func FactTexts(facts []*Fact) []string {
	texts := make([]string, len(facts))
	for i, f := range facts {
		if texts[i] = f.Text; f.Op == AnyOf && len(facts) > 1 {
			texts[i] = "(" + f.Text + ")"
		}
	}
	return texts
}

// asAny is how a text with `or` is written.
func asAny(text string, ts []lexeme) string {
	runes := []rune(text)
	items, item, from := []string{}, []string{}, 0
	for _, t := range append(slices.Clone(ts), lexeme{text: "or", at: len(runes)}) {
		or := t.text == "or" || t.text == "||"
		if !or && t.text != "and" && t.text != "&&" {
			continue
		}
		item = append(item, fold(string(runes[from:t.at])))
		from = min(t.at+len(t.text), len(runes))
		if !or {
			continue
		}
		if text := strings.Join(item, ", "); len(item) > 1 {
			items = append(items, "["+text+"]")
		} else {
			items = append(items, text)
		}
		item = nil
	}
	return "{any: [" + strings.Join(items, ", ") + "]}"
}
