package diff

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// requirements compares the guards of an operation by what they say.
func (c *comparison) requirements(o, n *spec.Operation) {
	left := slices.Clone(o.Require)
	var order [2][]string
	for _, q := range n.Require {
		i := slices.IndexFunc(left, func(p *spec.Requirement) bool { return p.Guard.Name == q.Guard.Name })
		if i < 0 {
			i = slices.IndexFunc(left, func(p *spec.Requirement) bool { return sameCondition(p, q) })
		}
		if i < 0 {
			c.report("FSM704", at{o.Pos, q.Pos}, "calls that succeeded may now fail", "operation %s requires %s", n.Name, q.Guard.Name)
			continue
		}
		p := left[i]
		left = slices.Delete(left, i, i+1)
		order[0], order[1] = append(order[0], p.Guard.Name), append(order[1], q.Guard.Name)
		c.requirement(n, p, q)
	}
	for _, p := range left {
		c.report("FSM705", at{p.Pos, n.Pos}, "calls that were refused now succeed", "operation %s no longer requires %s", n.Name, p.Guard.Name)
	}
	var was []string
	for _, p := range o.Require {
		if slices.Contains(order[0], p.Guard.Name) {
			was = append(was, p.Guard.Name)
		}
	}
	if !slices.Equal(was, order[0]) {
		c.compatible(at{o.Pos, n.Pos}, "operation %s asks its guards in another order: where two fail, another one refuses", n.Name)
	}
}

func sameCondition(p, q *spec.Requirement) bool {
	if (p.Guard.Peers == nil) != (q.Guard.Peers == nil) {
		return false
	}
	if p.Guard.Peers != nil {
		return peersWords(p.Guard.Peers) == peersWords(q.Guard.Peers) && slices.Equal(sorted(p.Of, memberWord), sorted(q.Of, memberWord))
	}
	return len(p.When) > 0 && slices.Equal(sorted(p.When, factWords), sorted(q.When, factWords))
}

// requirement compares one guard as one operation uses it.
func (c *comparison) requirement(op *spec.Operation, p, q *spec.Requirement) {
	where := at{p.Guard.Pos, q.Guard.Pos}
	stronger, weaker := "", ""
	switch a, b := p.Guard.Peers, q.Guard.Peers; {
	case a == nil && b == nil:
		if more := without(q.When, p.When); len(more) > 0 {
			stronger = "asks for " + factTexts(more)
		}
		if less := without(p.When, q.When); len(less) > 0 {
			weaker = "no longer asks for " + factTexts(less)
		}
	case a == nil || b == nil || a.Some != b.Some:
		stronger, weaker = "asks something else", "does not ask what it asked"
	default:
		stronger, weaker = comparePeers(p, q)
	}
	if stronger != "" {
		c.report("FSM704", where, "calls that succeeded may now fail", "guard %s of %s %s", q.Guard.Name, op.Name, stronger)
	}
	if weaker != "" {
		c.report("FSM705", where, "calls that were refused now succeed", "guard %s of %s %s", q.Guard.Name, op.Name, weaker)
	}
}

// comparePeers tells in which way a condition on other records is stronger and
// in which way weaker.
func comparePeers(p, q *spec.Requirement) (stronger, weaker string) {
	a, b := p.Guard.Peers, q.Guard.Peers
	add := func(text *string, format string, args ...any) {
		if *text != "" {
			*text += ", and "
		}
		*text += fmt.Sprintf(format, args...)
	}
	wider, narrower := &stronger, &weaker // what it is to count more records, and to count fewer
	if a.Some {
		wider, narrower = &weaker, &stronger
	}
	switch {
	case limitWord(a) == limitWord(b):
	case a.Limit != nil || b.Limit != nil:
		add(&stronger, "allows fewer than %s others, it allowed fewer than %s", b.Number(), a.Number())
		add(&weaker, "allows fewer than %s others, it allowed fewer than %s", b.Number(), a.Number())
	case b.Than < a.Than:
		add(&stronger, "allows fewer than %d others, it allowed fewer than %d", b.Than, a.Than)
	default:
		add(&weaker, "allows fewer than %d others, it allowed fewer than %d", b.Than, a.Than)
	}
	if more := beyond(stateWords(b.In), stateWords(a.In)); len(more) > 0 {
		add(wider, "counts records in %s too", comma(more))
	}
	if less := beyond(stateWords(a.In), stateWords(b.In)); len(less) > 0 {
		add(narrower, "does not count records in %s", comma(less))
	}
	if added := beyond(fieldWords(b.Same), fieldWords(a.Same)); len(added) > 0 {
		add(narrower, "looks only at records with the same %s too", comma(added))
	}
	if gone := beyond(fieldWords(a.Same), fieldWords(b.Same)); len(gone) > 0 {
		add(wider, "looks at records with another %s too", comma(gone))
	}
	for _, f := range q.Of {
		for _, g := range p.Of {
			if f.Left.Field.Stored() == g.Left.Field.Stored() && memberWord(f) != memberWord(g) {
				add(&stronger, "counts those whose %s is %s", f.Left.Field.Name, f.Right.Text)
				add(&weaker, "no longer counts those whose %s is %s", f.Left.Field.Name, g.Right.Text)
			}
		}
	}
	return stronger, weaker
}

// guards compares what a guard is called; what it asks is compared where it is
// required.
func (c *comparison) guards() {
	for _, p := range pairUp(c.old.Guards, c.next.Guards, func(g *spec.Guard) string { return g.Name }) {
		switch {
		case p.next == nil:
			c.compatible(at{old: p.old.Pos}, "guard %s is no longer declared", p.old.Name)
		case p.old == nil:
			c.compatible(at{next: p.next.Pos}, "guard %s is declared", p.next.Name)
		default:
			where := at{p.old.Pos, p.next.Pos}
			if p.old.Error != p.next.Error {
				c.report("FSM703", at{p.old.ErrorPos, p.next.ErrorPos}, "callers compare with the error", "guard %s refuses as %s, it was %s", p.next.Name, p.next.Error, p.old.Error)
			}
			if !used(c.old, p.old) && !used(c.next, p.next) && guardWords(p.old) != guardWords(p.next) {
				c.compatible(where, "guard %s, which nothing requires, asks something else", p.next.Name)
			}
			c.text(where, "doc of guard "+p.next.Name, p.old.Doc, p.next.Doc)
			c.text(where, "message of guard "+p.next.Name, p.old.Message, p.next.Message)
		}
	}
}

func used(m *spec.Machine, g *spec.Guard) bool {
	return slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool {
		return slices.ContainsFunc(o.Require, func(q *spec.Requirement) bool { return q.Guard == g })
	})
}

func guardWords(g *spec.Guard) string {
	if g.Peers != nil {
		return peersWords(g.Peers)
	}
	return comma(sorted(g.When, factWords))
}

// musts are the MUST facts of a state, presence first.
func musts(s *spec.State) []*spec.Fact {
	var list []*spec.Fact
	add := func(refs []spec.FieldRef, op spec.FactOp, word string) {
		for _, r := range refs {
			list = append(list, &spec.Fact{Pos: r.Pos, Text: r.Field.Name + word, Op: op,
				Left: spec.Term{Pos: r.Pos, Kind: spec.TermField, Text: r.Field.Name, Field: r.Field}})
		}
	}
	add(s.Present, spec.Present, " is present")
	add(s.Absent, spec.Absent, " is absent")
	return append(list, s.Invariant...)
}

// invariants compares what must hold: of every record, and in each state.
func (c *comparison) invariants() {
	where := func(f *spec.Fact) at { return at{c.old.Pos, f.Pos} }
	everywhere := func(m *spec.Machine, f *spec.Fact, pick func(pair[spec.State]) *spec.State) bool {
		for _, p := range c.pairs {
			if p.old != nil && p.next != nil && !follows(slices.Concat(m.Invariant, musts(pick(p))), f) {
				return false
			}
		}
		return true
	}
	before := func(p pair[spec.State]) *spec.State { return p.old }
	after := func(p pair[spec.State]) *spec.State { return p.next }
	for _, f := range without(c.next.Invariant, c.old.Invariant) {
		if everywhere(c.old, f, before) {
			c.compatible(where(f), "`%s` is an invariant of the machine; each state had it", f.Text)
		} else {
			c.report("FSM706", where(f), auditFirst, "the invariant `%s` is new", f.Text)
		}
	}
	for _, f := range without(c.old.Invariant, c.next.Invariant) {
		place := at{f.Pos, c.next.Pos}
		if everywhere(c.next, f, after) {
			c.compatible(place, "`%s` is no longer an invariant of the machine; each state has it", f.Text)
		} else {
			c.report("FSM707", place, "check code that relies on it", "the invariant `%s` is gone", f.Text)
		}
	}
	for _, p := range c.pairs {
		if p.old != nil && p.next != nil {
			c.stateInvariants(p.old, p.next)
		}
	}
	c.rewritten()
}

const auditFirst = "look for old rows that break it first: `fsmgen diff --rows sqlite`, or postgres, prints the queries"

func (c *comparison) stateInvariants(o, n *spec.State) {
	old, next := musts(o), musts(n)
	for _, f := range without(next, slices.Concat(old, c.old.Invariant)) {
		word := ""
		if f.Op == spec.Present && shouldHave(o.ShouldPresent, f) || f.Op == spec.Absent && shouldHave(o.ShouldAbsent, f) {
			word = ", it was a SHOULD"
		}
		c.report("FSM706", at{o.Pos, f.Pos}, auditFirst, "state %s demands `%s`%s", n.Name, f.Text, word)
	}
	for _, f := range without(old, slices.Concat(next, c.next.Invariant)) {
		word := ""
		if f.Op == spec.Present && shouldHave(n.ShouldPresent, f) || f.Op == spec.Absent && shouldHave(n.ShouldAbsent, f) {
			word = ", it is a SHOULD"
		}
		c.report("FSM707", at{f.Pos, n.Pos}, "check code that relies on it", "state %s no longer demands `%s`%s", n.Name, f.Text, word)
	}
}

func shouldHave(refs []spec.FieldRef, f *spec.Fact) bool {
	return slices.ContainsFunc(refs, func(r spec.FieldRef) bool { return r.Field.Stored() == f.Left.Field.Stored() })
}

// steps compares what each step keeps.
func (c *comparison) steps() {
	old, next := c.old.Kept(), c.next.Kept()
	for _, f := range without(next, old) {
		c.report("FSM706", at{c.old.Pos, f.Pos}, "an audit tells which steps of old logs broke it: `fsmctl audit`",
			"the rule over a step `%s` is new", f.Text)
	}
	for _, f := range without(old, next) {
		c.report("FSM707", at{f.Pos, c.next.Pos}, "check code that relies on it", "the rule over a step `%s` is gone", f.Text)
	}
	if !slices.Equal(sorted(old, factWords), sorted(next, factWords)) && len(without(old, next)) == 0 && len(without(next, old)) == 0 {
		c.compatible(at{c.old.Pos, c.next.Pos}, "the rules over a step are written in another way and ask the same")
	}
	reasons := func(m *spec.Machine) string {
		return names(m.Steps, func(s *spec.StepRule) string { return s.Reason })
	}
	if len(c.old.Steps) == len(c.next.Steps) {
		c.text(at{c.old.Pos, c.next.Pos}, "reasons of the rules over a step", reasons(c.old), reasons(c.next))
	}
}

// rewritten tells of facts that are written in another way and ask the same.
func (c *comparison) rewritten() {
	compare := func(where at, what string, old, next []*spec.Fact) {
		if slices.Equal(sorted(old, factWords), sorted(next, factWords)) {
			return
		}
		if len(without(old, next)) == 0 && len(without(next, old)) == 0 {
			c.compatible(where, "the facts of %s are written in another way and ask the same", what)
		}
	}
	compare(at{c.old.Pos, c.next.Pos}, "the machine", c.old.Invariant, c.next.Invariant)
	for _, p := range c.pairs {
		if p.old == nil || p.next == nil {
			continue
		}
		where := at{p.old.Pos, p.next.Pos}
		old, next := musts(p.old), musts(p.next)
		compare(where, "state "+p.next.Name, old, next)
		moved := func(list, others, above []*spec.Fact) bool { // what only the machine's invariant says now
			return slices.ContainsFunc(without(list, others), func(f *spec.Fact) bool { return follows(above, f) })
		}
		if moved(old, next, c.next.Invariant) {
			c.compatible(where, "state %s leaves to the invariant of the machine what it said itself", p.next.Name)
		}
		if moved(next, old, c.old.Invariant) {
			c.compatible(where, "state %s says itself what the invariant of the machine said", p.next.Name)
		}
	}
	for _, p := range c.opairs {
		if p.old == nil || p.next == nil {
			continue
		}
		for _, q := range p.next.Require {
			for _, r := range p.old.Require {
				if q.Guard.Name == r.Guard.Name {
					compare(at{r.Guard.Pos, q.Guard.Pos}, "guard "+q.Guard.Name, r.When, q.When)
				}
			}
		}
		if p.old.Next != nil && p.next.Next != nil {
			compare(at{p.old.Next.Pos, p.next.Next.Pos}, "`next` of "+p.next.Name, p.old.Next.Where, p.next.Next.Where)
		}
		if p.old.Each != nil && p.next.Each != nil {
			compare(at{p.old.Each.Pos, p.next.Each.Pos}, "`each` of "+p.next.Name, p.old.Each.Where, p.next.Each.Where)
		}
	}
}
