package spec

import (
	"maps"
	"slices"
)

// Group is a name for several states, which stands wherever a list of states does.
type Group struct {
	Pos    Pos // of the name
	Name   string
	Doc    string
	States []*State  // in the order of the file
	Enter  []*Effect // of each step that comes into the group from outside
	Exit   []*Effect // of each step that leaves it
}

// groups reads `state_groups`: a list of states, or all but some.
func (p *parser) groups(o *object, m *astMachine) {
	entries, _ := p.declarations(o, "state_groups")
	for _, e := range entries {
		g := &astGroup{name: e.name}
		m.groups = append(m.groups, g)
		if e.value.kind != mapNode {
			if g.states = p.list(e.value, e.name.pos, "group "+e.name.text, e.name.text, false); e.value.kind == listNode && len(e.value.items) == 0 {
				p.add(codeValue, e.value.pos, 2, "name at least one state", "group %s: the list is empty", e.name.text)
			}
			continue
		}
		of := p.object(e.value, "group "+e.name.text, "doc", "states", "except", "enter", "exit")
		if of == nil {
			continue
		}
		g.doc = of.word("doc")
		g.enter, g.exit = p.asks(of, "enter"), p.asks(of, "exit")
		g.states = of.some("states", of.words("states"), "name at least one state")
		g.except = of.some("except", of.words("except"), "name at least one state")
		if of.has("states") == of.has("except") {
			p.at(codeShape, e.name, "write `states: [a, b]`, or `except: [a, b]` for all states but these", "group %s: one of `states` and `except` says which states are in it", e.name.text)
		}
	}
}

// bindGroups binds the groups, and puts their states in their place in all lists.
func (r *resolver) bindGroups() {
	for _, a := range r.ast.groups {
		if s := r.states.byName[a.name.text]; s != nil {
			r.at(codeDuplicate, a.name, "rename the group", "%s is the name of a state and of a group", a.name.text).related(s.Pos, "the state")
		}
		if a.name.text == "same" {
			r.at(codeValue, a.name, "choose another name", "group same cannot have this name: `to: same` means the state that the record is in")
		}
		g := &Group{Pos: a.name.pos, Name: a.name.text, Doc: a.doc.text}
		in := map[*State]bool{}
		for _, l := range []*list{&a.states, &a.except} {
			r.expand(l)
			for _, ref := range r.stateRefs(*l) {
				in[ref.State] = true
			}
		}
		for _, s := range r.m.States {
			if in[s] != a.except.given() {
				g.States = append(g.States, s)
			}
		}
		if len(g.States) == 0 {
			if a.except.given() {
				r.at(codeValue, a.name, "leave a state out of `except`", "group %s: no state is left in it", g.Name)
			}
			g.States = r.m.States // something was wrong with it: nothing follows from that
		}
		r.m.Groups = append(r.m.Groups, g)
		r.groups[g.Name] = g
		r.note(a.name, g)
	}
	for _, a := range r.ast.guards {
		if a.peers != nil {
			r.expand(&a.peers.in)
		}
	}
	for _, a := range r.ast.unique {
		r.expand(&a.in)
	}
	for _, a := range r.ast.lookups {
		r.expand(&a.in)
	}
	for _, a := range r.ast.operations {
		r.expand(&a.from)
		r.expand(&a.recordOnlyIn)
		for _, b := range a.choose {
			r.expand(&b.from)
		}
	}
	if p := r.ast.projection; p != nil {
		for _, rule := range p.rules {
			r.expand(&rule.any)
			r.expand(&rule.all)
			r.expand(&rule.none)
		}
	}
	r.expandForbidden()
}

// expand puts the states of each group in its place. A state that stands in the list
// besides stays where it is.
func (r *resolver) expand(l *list) {
	if len(r.ast.groups) == 0 {
		return
	}
	named := stateNames(*l)
	var out []word
	for _, w := range l.words {
		g := r.groups[w.text]
		below := slices.IndexFunc(r.ast.groups, func(a *astGroup) bool { return a.name.text == w.text })
		if g == nil && below >= 0 && r.states.byName[w.text] == nil {
			r.at(codeUndeclared, w, "declare "+w.text+" above the group that names it", "group %s is declared below", w.text).
				related(r.ast.groups[below].name.pos, "the group")
			continue
		}
		if g == nil && r.states.byName[w.text] == nil && w.given() {
			near := r.nearest(w.text, slices.Concat(r.states.names, slices.Sorted(maps.Keys(r.groups))))
			if g = r.groups[near]; g != nil {
				r.at(codeUndeclared, w, didYouMean(near, "", nil), "state %q is not declared", w.text).fix(w, near)
			}
		}
		if g == nil {
			out = append(out, w)
			continue
		}
		for _, s := range g.States {
			if !named[s.Name] {
				named[s.Name] = true
				out = append(out, word{pos: w.pos, text: s.Name, size: w.size, shift: -1, group: g})
			}
		}
	}
	l.words = out
}

// expandForbidden makes a line of each pair of states.
func (r *resolver) expandForbidden() {
	var out []*astForbidden
	for _, f := range r.ast.forbidden {
		from, to := list{words: []word{f.from}}, list{words: []word{f.to}}
		r.expand(&from)
		r.expand(&to)
		for _, a := range from.words {
			for _, b := range to.words {
				out = append(out, &astForbidden{pos: f.pos, from: a, to: b, reason: f.reason, after: f.after})
			}
		}
	}
	r.ast.forbidden = out
}
