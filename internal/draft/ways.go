package draft

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// addWay adds what a move does from a leaf; l is nil for a creation.
func (p *plan) addWay(o *operation, l *leaf, m *move) {
	w := &way{enters: m.enters, target: l}
	if m.target == nil {
		w.stays = true
	} else {
		w.target = p.arrive(m.target)
		w.stays = w.target == l
	}
	if m.when != after {
		text, not := negated(m.guard)
		if text != "" {
			w.test, w.not = p.testOf(text), not
		}
	}
	for _, a := range m.actions {
		p.addAction(w, o, a)
	}
	if !slices.Contains(o.sources, l) {
		o.sources = append(o.sources, l)
	}
	o.ways[l] = append(o.ways[l], w)
}

func (p *plan) addAction(w *way, o *operation, a action) {
	name := p.actionName(a)
	if !p.effects {
		name = ""
	}
	if name == "" {
		w.remarks = append(w.remarks, "action: "+clean(a.name))
		p.lost(a.line, "the action %s of %s", clean(a.name), o.name)
		return
	}
	if slices.ContainsFunc(w.effects, func(e effect) bool { return e.name == name }) {
		return
	}
	w.effects = append(w.effects, effect{name: name})
}

// testOf returns the guard of a text.
func (p *plan) testOf(text string) *test {
	t := p.guards[text]
	if t == nil {
		inputs := &names{"input", p.names.by["input"], map[string]bool{"Outcome": true}}
		for _, o := range p.tests {
			inputs.taken[spec.GoName(o.name)] = true
		}
		t = &test{text: text}
		t.name = inputs.give(text)
		base := t.name
		if rest, ok := strings.CutPrefix(base, "is_"); ok {
			base = rest
		}
		t.fail = p.errors.give("not_" + base)
		p.guards[text] = t
		p.tests = append(p.tests, t)
	}
	return t
}

// nameActions decides which actions of entering and leaving are effects.
func (p *plan) nameActions() {
	list := func(l *leaf, n *node, what string, actions []action) (out []effect) {
		for _, a := range actions {
			name := p.actionName(a)
			if !p.effects {
				name = ""
			}
			if name == "" {
				p.said[n] = append(p.said[n], what+": "+clean(a.name))
				p.lost(a.line, "%s %s: %s", what, n.name, clean(a.name))
				continue
			}
			if !slices.ContainsFunc(out, func(e effect) bool { return e.name == name }) {
				out = append(out, effect{name: name})
			}
		}
		return out
	}
	for _, l := range p.leaves {
		p.enter[l.node], p.exit[l.node] = list(l, l.node, "on entering", l.entry), list(l, l.node, "on leaving", l.exit)
	}
	for _, g := range p.groups {
		p.enter[g.node], p.exit[g.node] = list(nil, g.node, "on entering", g.entry), list(nil, g.node, "on leaving", g.exit)
	}
}

// actionName returns the name of the effect that an action becomes, or "" where a
// comment says more.
func (p *plan) actionName(a action) string {
	text := strings.TrimSuffix(strings.TrimSpace(a.name), "()")
	if a.private || !plainWord(text) && len(strings.Fields(text)) > 4 || strings.ContainsAny(text, "=;{}<>+*\"") {
		return ""
	}
	name := snake(text)
	if name == "" || name[0] < 'a' || refused[name] {
		return ""
	}
	base := name
	for i := 2; p.names.by["effect"][name] > 0; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	return name
}

// addDeadline gives the places of a delay a field with its time.
func (p *plan) addDeadline(o *operation, l *leaf, m *move) {
	n := p.holder(l, m)
	i := slices.IndexFunc(p.deadlines, func(d *deadline) bool { return d.op == o })
	if i < 0 {
		fields := &names{"field", p.names.by["field"], map[string]bool{"Owner": true}}
		for _, d := range p.deadlines {
			fields.taken[spec.GoName(d.field)] = true
		}
		d := &deadline{field: fields.give(p.title(n) + "_until"), place: n, length: m.delay, op: o, scope: map[*leaf]bool{}}
		switch {
		case m.delay <= 0:
			d.length = time.Hour
			d.guess = "guess: the file only says " + clean(m.said)
			p.note(m.line, Guess, "%s is an hour: the file only says %s", d.field, m.said)
		case m.said != "" && strings.HasPrefix(m.said, "guess: "):
			d.guess = m.said
			p.note(m.line, Guess, "%s: %s", o.name, strings.TrimPrefix(m.said, "guess: "))
		default:
			d.guess = "guess: a deadline, for the delay " + clean(m.said)
			p.note(m.line, Guess, "the delay %s of %s is a deadline, %s", m.said, n.name, d.field)
		}
		o.trigger = "after " + d.field
		p.deadlines = append(p.deadlines, d)
		i = len(p.deadlines) - 1
	}
	for _, inner := range p.leaves {
		if inner.within(n) {
			p.deadlines[i].scope[inner] = true
		}
	}
}

// waitFor lets steps follow the work that a state begins.
func (p *plan) waitFor(byKey map[string]*operation) {
	for _, l := range p.leaves {
		for _, m := range l.moves {
			if m.invoke == nil {
				continue
			}
			key, _, _ := p.key(l, m)
			o, n := byKey[key], p.holder(l, m)
			name := p.actionName(*m.invoke)
			i := slices.IndexFunc(p.enter[n], func(e effect) bool { return e.name == name && name != "" })
			ways := o.ways[l]
			if i < 0 || p.of[n] == nil || len(o.sources) != 1 || len(ways) != 1 || !ways[0].bare() || !p.waits || p.waiting(n, name) {
				if remark := "in the file this follows the end of " + clean(m.invoke.name); !slices.Contains(o.remarks, remark) {
					o.remarks = append(o.remarks, remark)
					p.note(m.line, Guess, "%s follows the end of %s in the file; here a caller says so", o.name, m.invoke.name)
				}
				continue
			}
			o.by = "system"
			if m.failed {
				p.enter[n][i].failed = o.name
			} else {
				p.enter[n][i].then = o.name
			}
		}
	}
}

// waiting reports whether another effect of a place ends with a step.
func (p *plan) waiting(n *node, name string) bool {
	return slices.ContainsFunc(p.enter[n], func(e effect) bool { return e.name != name && (e.then != "" || e.failed != "") })
}

// finishWays decides what the ways need beside their targets.
func (p *plan) finishWays() {
	for _, o := range p.operations {
		for _, l := range o.sources {
			p.choose(o, l)
			for _, w := range o.ways[l] {
				if w.target == nil {
					continue
				}
				p.moveDeadlines(o, w, l)
				p.moveOwner(o, w, l)
				p.once(o, w, l)
				if w.stays && w.enters && l != nil && len(p.enter[l.node])+len(p.exit[l.node]) > 0 {
					p.note(0, Guess, "%s stays in %s, and does not enter it once more as in the file", o.name, l.id)
				}
			}
		}
	}
	p.dropUnused()
}

// choose makes several bare ways a choice of the caller, and refuses what is left.
func (p *plan) choose(o *operation, l *leaf) {
	bare := map[*leaf]*way{}
	ways := slices.DeleteFunc(o.ways[l], func(w *way) bool {
		first := bare[w.target]
		if !w.bare() || first == nil {
			if w.bare() {
				bare[w.target] = w
			}
			return false
		}
		for _, e := range w.effects {
			if !slices.Contains(first.effects, e) {
				first.effects = append(first.effects, e)
			}
		}
		first.remarks = append(first.remarks, w.remarks...)
		return true
	})
	if len(bare) > 1 {
		for _, w := range ways {
			if !w.bare() {
				continue
			}
			w.outcome = "to_" + w.target.id // no field has such a name
			if w.target == l {
				w.outcome = "stay_" + w.target.id
			}
			if !slices.Contains(o.outcomes, w.outcome) {
				o.outcomes = append(o.outcomes, w.outcome)
			}
		}
		slices.SortStableFunc(ways, func(a, b *way) int { return min(len(a.outcome), 1) - min(len(b.outcome), 1) }) // guards first
	}
	seen := map[*test]*way{}
	for i, w := range ways {
		if w.test == nil {
			continue
		}
		if other := seen[w.test]; other != nil && other.not != w.not { // the opposite holds here
			w.remarks = append(w.remarks, "else")
			w.test = nil
			ways = ways[:i+1]
			break
		}
		seen[w.test] = w
	}
	o.ways[l] = ways
}

func (p *plan) moveDeadlines(o *operation, w *way, l *leaf) {
	for _, d := range p.deadlines {
		was, is := l != nil && d.scope[l], d.scope[w.target]
		switch {
		case is && (!was || w.stays && w.enters && d.place == w.target.node || d.op == o):
			w.set = append(w.set, d.field)
			w.setsTo = append(w.setsTo, d)
		case was && !is:
			w.clear = append(w.clear, d.field)
		}
	}
}

func (p *plan) moveOwner(o *operation, w *way, l *leaf) {
	if !p.owner {
		return
	}
	was := l != nil && l.owned
	switch {
	case w.target.owned && !o.owner && !(was && w.stays):
		w.owner = "set"
	case was && !w.target.owned:
		w.owner = "clear"
	}
}

// once takes effects away that one step would ask for twice.
func (p *plan) once(o *operation, w *way, l *leaf) {
	seen := map[string]bool{}
	around := func(n *node) (all []*node) {
		for ; n != nil; n = n.parent {
			all = append(all, n)
		}
		return all
	}
	if !w.stays {
		var out, in []*node
		if l != nil {
			out = around(l.node)
		}
		in = around(w.target.node)
		for _, n := range in {
			if slices.Contains(out, n) {
				continue
			}
			p.enter[n] = slices.DeleteFunc(p.enter[n], func(e effect) bool { return p.twice(seen, e, n) })
		}
		for _, n := range out {
			if slices.Contains(in, n) {
				continue
			}
			p.exit[n] = slices.DeleteFunc(p.exit[n], func(e effect) bool { return p.twice(seen, e, n) })
		}
	}
	w.effects = slices.DeleteFunc(w.effects, func(e effect) bool {
		if seen[e.name] {
			w.remarks = append(w.remarks, "action: "+e.name+", which the step asks for already")
			p.lost(0, "the action %s of %s: the same step asks for it on entering or leaving", e.name, o.name)
		}
		return seen[e.name]
	})
}

func (p *plan) twice(seen map[string]bool, e effect, n *node) bool {
	if !seen[e.name] {
		seen[e.name] = true
		return false
	}
	p.said[n] = append(p.said[n], "action: "+e.name+", which one step would ask for twice")
	p.lost(n.line, "the action %s of entering or leaving %s: one step would ask for it twice", e.name, n.name)
	return true
}

// dropUnused takes effects away from places that no step enters or leaves.
func (p *plan) dropUnused() {
	entered, left := map[*node]bool{}, map[*node]bool{}
	for _, o := range p.operations {
		for _, l := range o.sources {
			for _, w := range o.ways[l] {
				if w.target == nil || w.stays {
					continue
				}
				for n := w.target.node; n != nil; n = n.parent {
					if l == nil || !l.within(n) {
						entered[n] = true
					}
				}
				if l != nil {
					for n := l.node; n != nil; n = n.parent {
						if !w.target.within(n) {
							left[n] = true
						}
					}
				}
			}
		}
	}
	drop := func(of map[*node][]effect, used map[*node]bool, what string) {
		for _, l := range p.leaves {
			for n := l.node; n != nil; n = n.parent {
				for _, e := range of[n] {
					if !used[n] {
						p.said[n] = append(p.said[n], what+": "+e.name)
						p.lost(n.line, "%s %s: %s, which no step asks for", what, n.name, e.name)
					}
				}
				if !used[n] {
					delete(of, n)
				}
			}
		}
	}
	drop(p.enter, entered, "on entering")
	drop(p.exit, left, "on leaving")
}
