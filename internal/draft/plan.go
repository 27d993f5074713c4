package draft

import (
	"fmt"
	"slices"
	"time"
)

// plan is a draft before it is written.
type plan struct {
	*flat
	machine, entity string
	deadlines       []*deadline
	operations      []*operation
	guards          map[string]*test // by the text of the file
	tests           []*test
	enter, exit     map[*node][]effect
	said            map[*node][]string // remarks of ours
	effects         bool               // actions are effects
	waits           bool               // and those that end lead to a step
	names           *renames
	errors          *names
	owner           bool
}

// test is a guard of the file: the caller decides it.
type test struct {
	text string
	name string // of the input, and of the guard
	fail string // the error when it is refused
	used bool   // as a guard with a name
}

// effect is an action in the draft.
type effect struct {
	name         string
	then, failed string
}

// deadline is a field with the time at which the system moves a record.
type deadline struct {
	field  string
	place  *node
	length time.Duration
	guess  string
	scope  map[*leaf]bool
	op     *operation
}

// operation is one of the draft.
type operation struct {
	name, first string // first is what the file says
	by          string
	created     bool
	sources     []*leaf // nil within for a creation
	ways        map[*leaf][]*way
	trigger     string
	doc         string
	remarks     []string
	outcomes    []string // the words of the input outcome
	owner       bool
}

// way is what an operation does from one state.
type way struct {
	test    *test
	not     bool
	outcome string
	target  *leaf // nil: refused
	stays   bool
	enters  bool
	effects []effect
	set     []string // deadlines that begin
	clear   []string
	setsTo  []*deadline
	owner   string // "set", "clear" or ""
	remarks []string
}

func (y *way) bare() bool { return y.test == nil && y.outcome == "" }

// key tells the operation of a move.
func (p *plan) key(l *leaf, m *move) (key, name, first string) {
	switch m.when {
	case creates:
		if m.own {
			return "creates " + m.event, m.event, ""
		}
		if m.event != "" {
			return "creates " + m.event, m.event, m.event
		}
		return "creates", "create", ""
	case onEvent:
		if m.invoke != nil || m.own {
			return "own " + m.event, m.event, ""
		}
		return "event " + m.event, m.event, m.event
	case after:
		n := p.holder(l, m)
		return fmt.Sprintf("after %p %s", n, m.said), p.title(n) + "_timeout", ""
	case done:
		n := p.holder(l, m)
		return fmt.Sprintf("done %p", n), p.title(n) + "_done", ""
	default:
		n := p.holder(l, m)
		return fmt.Sprintf("always %p", n), "leave_" + p.title(n), ""
	}
}

// holder returns the node that has a move which a leaf inherited.
func (p *plan) holder(l *leaf, m *move) *node {
	for n := l.node; n != nil; n = n.parent {
		if slices.Contains(n.moves, m) {
			return n
		}
	}
	return l.node
}

// title names a node in the name of an operation.
func (p *plan) title(n *node) string {
	if l := p.of[n]; l != nil {
		return l.id
	}
	for _, g := range p.groups {
		if g.node == n {
			return g.id
		}
	}
	return p.machine
}

// newPlan decides everything that is written.
func newPlan(f *flat, machine string, names *renames, level int) *plan {
	p := &plan{flat: f, machine: machine, names: names, guards: map[string]*test{}, effects: level < 2, waits: level < 1,
		said: map[*node][]string{}, enter: map[*node][]effect{}, exit: map[*node][]effect{}, errors: names.scope("error")}
	p.entity = entity(machine, names)
	p.nameStates()
	p.dropMoves()
	p.reach()
	ops := names.scope("operation")
	byKey := map[string]*operation{}
	at := func(l *leaf, m *move) *operation {
		key, name, first := p.key(l, m)
		o := byKey[key]
		if o == nil {
			if m.when == creates && slices.ContainsFunc(p.leaves, func(l *leaf) bool {
				return slices.ContainsFunc(l.moves, func(o *move) bool { return o.when == onEvent && snake(o.event) == snake(name) })
			}) {
				name += "_new"
			}
			o = &operation{name: ops.give(name), first: first, created: m.when == creates, ways: map[*leaf][]*way{}}
			byKey[key] = o
			p.operations = append(p.operations, o)
		}
		p.describe(o, m)
		return o
	}
	p.nameActions()
	for _, m := range p.starts {
		p.addWay(at(nil, m), nil, m)
	}
	for _, l := range p.leaves {
		for _, m := range l.moves {
			o := at(l, m)
			if m.when == after {
				p.addDeadline(o, l, m)
			}
			p.addWay(o, l, m)
		}
	}
	p.waitFor(byKey)
	p.finishWays()
	return p
}

// describe adds to an operation what a move says of it.
func (p *plan) describe(o *operation, m *move) {
	if o.doc == "" {
		o.doc = m.doc
	}
	for _, r := range m.remarks {
		if !slices.Contains(o.remarks, r) {
			o.remarks = append(o.remarks, r)
		}
	}
	switch m.when {
	case after, done, always:
		o.by = "system"
	default:
		if m.by != "" {
			o.by = m.by
		}
	}
	if m.owner {
		o.owner, p.owner = true, true
	}
	remark := ""
	switch m.when {
	case always:
		remark = "in the file this follows at once: name it under `then` of what leads here, or let the program call it"
		p.note(m.line, Guess, "%s follows at once in the file; here the program calls it", o.name)
	case done:
		remark = "in the file this follows when the states inside are done: name it under `then`, or let the program call it"
		p.note(m.line, Guess, "%s follows in the file when the states inside are done; here the program calls it", o.name)
	}
	if remark != "" && !slices.Contains(o.remarks, remark) {
		o.remarks = append(o.remarks, remark)
	}
}

// nameStates gives each leaf and each group a name of the language.
func (p *plan) nameStates() {
	states := p.names.scope("state")
	for _, l := range p.leaves {
		l.id = states.give(l.paths)
	}
	groups := &names{"group", p.names.by["group"], states.taken} // in Go their scope is another one, in the file it is the same
	for _, g := range p.groups {
		g.id = groups.give(g.name)
	}
}

// dropMoves takes away moves that another one of the same state comes before.
func (p *plan) dropMoves() {
	for _, l := range p.leaves {
		bare := map[string]*move{}
		seen := map[string]bool{}
		l.moves = slices.DeleteFunc(slices.Clone(l.moves), func(m *move) bool {
			key, _, _ := p.key(l, m)
			text, not := negated(m.guard)
			if m.when == after { // no caller decides for the clock
				if text != "" {
					p.lost(m.line, "the guard %s of a delay in %s: the deadline asks nobody", m.guard, l.name)
				}
				text = ""
			}
			switch {
			case bare[key] != nil && (!p.picked || text != "" || m.when == after):
				if !same(bare[key], m) {
					p.lost(m.line, "a move of %s that never happens in the file: another one without a guard comes before it%s", l.name, towards(m))
				}
				return true
			case bare[key] != nil && same(bare[key], m):
				return true
			case text == "":
				bare[key] = m
			case seen[fmt.Sprint(key, text, not)]:
				p.lost(m.line, "a move of %s that never happens in the file: one with the same guard comes before it%s", l.name, towards(m))
				return true
			default:
				seen[fmt.Sprint(key, text, not)] = true
				if seen[fmt.Sprint(key, text, !not)] {
					bare[key] = m
				}
			}
			return false
		})
	}
}

func same(a, b *move) bool { return a.target == b.target && len(b.actions) == 0 }

func towards(m *move) string {
	if m.target == nil {
		return ""
	}
	return " (to " + m.target.name + ")"
}

// reach adds a creation for what nothing leads to.
func (p *plan) reach() {
	led := map[*leaf]bool{}
	var walk func(l *leaf)
	walk = func(l *leaf) {
		if l == nil || led[l] {
			return
		}
		led[l] = true
		for _, m := range l.moves {
			if m.target != nil {
				walk(p.arrive(m.target))
			}
		}
	}
	for _, m := range p.starts {
		walk(p.arrive(m.target))
	}
	into := map[*leaf]bool{}
	for _, l := range p.leaves {
		for _, m := range l.moves {
			if m.target != nil && p.arrive(m.target) != l {
				into[p.arrive(m.target)] = true
			}
		}
	}
	for _, again := range []bool{false, true} { // first where nothing comes in at all
		for _, l := range p.leaves {
			if led[l] || into[l] && !again {
				continue
			}
			p.note(l.line, Odd, "nothing in the file leads to %s", l.name)
			p.starts = append(p.starts, &move{when: creates, event: "create_" + l.id, own: true, target: l.node, by: "operator", line: l.line,
				remarks: []string{"oddity: nothing in the file leads to " + l.id + "; name what does, or take the state out"}})
			walk(l)
		}
	}
}

// negated takes the "not" off a guard.
func negated(guard string) (text string, not bool) {
	text = clean(guard)
	for _, no := range []string{"!", "not ", "NOT ", "Not "} {
		if rest, ok := cut(text, no); ok && (no != "!" || len(rest) > 0 && rest[0] != '=') && plainWord(rest) {
			return rest, true
		}
	}
	if otherwise[text] {
		return "", false
	}
	return text, false
}

// otherwise are guards that always hold.
var otherwise = map[string]bool{"else": true, "Else": true, "otherwise": true, "default": true, "true": true}
