package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// cover notes what happened in a search: operations and branches that did something
// or decided, guards that refused, and groups that two records shared. A search in
// which nothing could happen has looked at no promise. Only records that a state holds
// count: one that is refused in the end, or that a step leaves within its transaction,
// is met by nobody.
type cover struct {
	ops      []bool
	states   []bool // that a record was in, if only within a transaction
	branches map[*spec.Branch]bool
	guards   map[*spec.Guard]bool // refused a call
	shared   map[int]bool         // by key: two records had the same group
}

func newCover(m *spec.Machine) *cover {
	return &cover{
		ops: make([]bool, len(m.Operations)), states: make([]bool, len(m.States)),
		branches: map[*spec.Branch]bool{}, guards: map[*spec.Guard]bool{}, shared: map[int]bool{},
	}
}

// did notes that an operation changed, or would have changed, a record.
func (v *cover) did(op *spec.Operation, b *spec.Branch) {
	v.ops[op.Index] = true
	if b != nil {
		v.branches[b] = true
	}
}

// heard is a call that changes nothing, and what decided so: a branch, or the name of a
// guard or of the error of a branch.
type heard struct {
	op     *spec.Operation
	branch *spec.Branch
	name   string
}

// hear adds what a decision that changes nothing came to.
func hear(list []heard, op *spec.Operation, d interp.Decision, refusal *interp.Refusal) []heard {
	h := heard{op: op}
	switch {
	case refusal == nil && d.Branch != nil:
		h.branch = d.Branch
	case refusal == nil && d.Guard != "":
		h.name = d.Guard
	case refusal != nil && refusal.Code == interp.CodeGuard:
		h.name = refusal.Guard
	default:
		return list
	}
	if slices.Contains(list, h) {
		return list
	}
	return append(list, h)
}

// add notes a decision that somebody met.
func (v *cover) add(h heard) {
	if h.branch != nil {
		v.did(h.op, h.branch)
	} else {
		v.refused(h.op, h.name)
	}
}

// refused notes a guard, or the branches that reject with this error.
func (v *cover) refused(op *spec.Operation, name string) {
	for _, r := range op.Require {
		if r.Guard.Name == name {
			v.guards[r.Guard] = true
			return
		}
	}
	for _, b := range op.Choose {
		if b.Reject == name {
			v.did(op, b)
		}
	}
}

// Missing is something that never happened in a search.
type Missing struct {
	What string // "operation scrap"
	Pos  spec.Pos
	Mark string // the name at Pos
	Said string // the same as a sentence; "" for what another one that is missing brings along, and for keys in common
	On   string // the operation whose `allow` speaks of it, or the state; "" for keys in common

	so []spec.Related // the states that no record reaches for it
}

// missing lists what never happened, in the order of the file.
func (c *checker) missing() []Missing {
	var list []Missing
	asked := func(from []spec.StateRef) bool {
		return slices.ContainsFunc(from, func(r spec.StateRef) bool { return c.cover.states[r.State.Index] })
	}
	add := func(what string, pos spec.Pos, mark string, op *spec.Operation, asked bool, moves []spec.Move) {
		x := Missing{What: what, Pos: pos, Mark: mark, On: op.Name}
		if asked {
			x.Said = what + " never happens"
		}
		for _, v := range moves {
			so := spec.Related{Pos: v.To.Pos, Message: "so no record ever reaches " + v.To.Name}
			if !c.cover.states[v.To.Index] && !slices.Contains(x.so, so) {
				x.so = append(x.so, so)
			}
		}
		list = append(list, x)
	}
	for i, op := range c.m.Operations {
		if !c.cover.ops[i] {
			add("operation "+op.Name, op.Pos, op.Name, op, len(op.Creates) > 0 || asked(op.From), op.Moves())
			continue
		}
		met := met(op)
		for n, b := range op.Choose {
			if met[b] && !c.cover.branches[b] {
				moves := slices.DeleteFunc(slices.Clone(op.Moves()), func(v spec.Move) bool { return v.Branch != b })
				add(fmt.Sprintf("branch %d of %s", n+1, op.Name), b.Pos, "", op, b.From == nil || asked(b.From), moves)
			}
		}
	}
	for _, s := range c.m.States {
		if !c.cover.states[s.Index] {
			list = append(list, Missing{What: "state " + s.Name, Pos: s.Pos, Mark: s.Name, On: s.Name})
		}
	}
	for _, g := range c.m.Guards {
		x, seen := Missing{What: "a refusal by guard " + g.Name}, c.cover.guards[g]
		for _, op := range c.m.Operations {
			for _, r := range op.Require {
				if r.Guard != g {
					continue
				}
				seen = seen || c.numbered(r.When) || len(r.Owners()) > 0 && slices.ContainsFunc(c.m.States, func(s *spec.State) bool {
					return c.m.Class(s, op) == spec.RecordOnly // refuses strangers there, which is not looked at
				})
				if x.Pos.IsZero() {
					x.Pos, x.Mark, x.On = r.Pos, g.Name, op.Name
				}
				if c.cover.ops[op.Index] && x.Said == "" {
					x.Pos, x.On, x.Said = r.Pos, op.Name, g.Name+" never refuses "+op.Name
				}
			}
		}
		if !x.Pos.IsZero() && !seen {
			list = append(list, x)
		}
	}
	for _, e := range c.effects {
		x := Missing{What: "two records with one key of effect " + e.effect.Name, Pos: e.effect.Pos}
		if !c.cover.shared[e.key] && !slices.ContainsFunc(list, func(y Missing) bool { return x.What == y.What }) {
			list = append(list, x)
		}
	}
	return list
}

// numbered reports whether a fact looks at a number of a sequence, or at what is compared with one:
// the search gives each record the first number.
func (c *checker) numbered(facts []*spec.Fact) bool {
	p := c.t.pools
	return slices.ContainsFunc(c.m.Fields, func(s *spec.Field) bool {
		of := func(t spec.Term) bool { n := node(t); return n != nil && p.root(n) == p.root(s) }
		return s.Type.Kind == spec.KindSequence &&
			slices.ContainsFunc(spec.Leaves(facts), func(f *spec.Fact) bool { return slices.ContainsFunc(f.Names(), of) })
	})
}

// both is what two searches did not see, in the words of the first one.
func both(a, b []Missing) []Missing {
	return slices.DeleteFunc(slices.Clone(a), func(x Missing) bool {
		return !slices.ContainsFunc(b, func(y Missing) bool { return x.What == y.What })
	})
}

// hear notes what a record decides about the operations of which `of` is true.
func (c *checker) hear(l *local, of func(*spec.Operation) bool) {
	for _, h := range l.heard {
		if of(h.op) {
			c.cover.add(h)
		}
	}
}

// met is the branches of an operation that some record can meet.
func met(op *spec.Operation) map[*spec.Branch]bool {
	list := map[*spec.Branch]bool{}
	sources := []*spec.State{nil}
	for _, r := range op.From {
		sources = append(sources, r.State)
	}
	if len(op.Creates) == 0 {
		sources = sources[1:]
	}
	for _, s := range sources {
		for _, b := range op.Branches(s) {
			list[b] = true
		}
	}
	return list
}

// note remembers what the records of a state decide by themselves, and that two of
// them share a group.
func (c *checker) note(s *state) {
	for _, x := range s.slots {
		l := c.t.at(x.local)
		if !l.met {
			l.met = true
			c.cover.states[l.record.State.Index] = true
			c.hear(l, func(op *spec.Operation) bool { return !c.hidden[op.Index] })
		}
	}
	for i, op := range c.m.Operations {
		switch {
		case c.hidden[i] || !slices.ContainsFunc(c.guards[i], func(p peers) bool { return !c.cover.guards[p.guard] }):
		case len(op.Creates) == 0:
			for j, x := range s.slots {
				l := c.t.at(x.local)
				c.keepsOut(s, j, l, op, l.gets[i])
			}
		case !c.full(s):
			for _, a := range c.t.tried[i] {
				l := c.t.locals[a.group]
				if d := c.dedupe[i]; d == nil || c.count(s, -1, d.key, l.keys[d.key], d.in) == 0 {
					c.keepsOut(s, -1, l, op, a.gets)
				}
			}
		}
	}
	for _, e := range c.effects {
		if c.cover.shared[e.key] {
			continue
		}
		for i, x := range s.slots {
			g := c.t.locals[x.local].keys[e.key]
			if g >= 0 && slices.ContainsFunc(s.slots[:i], func(y slot) bool { return c.t.locals[y.local].keys[e.key] == g }) {
				c.cover.shared[e.key] = true
				break
			}
		}
	}
}

// keepsOut notes the guard on other records that refuses a call which gets to so many
// requirements. What the record would say to it afterwards makes no difference.
func (c *checker) keepsOut(s *state, self int, l *local, op *spec.Operation, gets int) {
	for _, p := range c.guards[op.Index] {
		calls := c.t.byOp[op.Index]
		if p.asks == nil && p.limit == nil {
			calls = calls[:min(1, len(calls))] // the call makes no difference
		}
		if p.at < gets && slices.ContainsFunc(calls, func(call int32) bool { return c.refuses(&p, s, self, l, call) }) {
			c.cover.guards[p.guard] = true
			return
		}
	}
}

// wider lists bounds in which more may happen than in those that were tried, the
// cheapest first. A bound that the caller named stays as it is. The last ones are for
// one record that many people work on, which is small where several records are not.
func wider(m *spec.Machine, asked, o Options) []Options {
	var list []Options
	add := func(edit func(*Options)) {
		next := o
		if len(list) > 0 {
			next = list[len(list)-1]
		}
		before := next
		if edit(&next); next != before {
			list = append(list, next)
		}
	}
	if asked.Groups == 0 && len(keys(m)) > 0 {
		add(func(o *Options) { o.Groups = 2 })
	}
	if asked.Counter == 0 {
		add(func(o *Options) { o.Counter = max(o.Counter, int(min(largestCount(m)+1, mostCount))) })
	}
	if asked.Records == 0 && len(keys(m)) > 0 {
		add(func(o *Options) { o.Records = min(o.Records+1, mostRecords) })
	}
	if asked.Workers == 0 {
		add(func(o *Options) { o.Workers = 3 })
	}
	alone := Options{Records: 1, Groups: 2, Workers: 4, Counter: mostCount}
	for _, b := range []struct{ asked, next *int }{
		{&asked.Records, &alone.Records}, {&asked.Groups, &alone.Groups},
		{&asked.Workers, &alone.Workers}, {&asked.Counter, &alone.Counter},
	} {
		if *b.asked != 0 {
			*b.next = *b.asked
		}
	}
	alone.EffectOnce, alone.NoSymmetry = o.EffectOnce, o.NoSymmetry
	list = append(list, alone)
	for i := range list {
		list[i].MaxStates, list[i].decisions = min(o.MaxStates, widerStates), widerDecisions
	}
	return list
}

// Bounds that are tried for the sake of coverage cost a moment, no more.
const (
	widerStates    = 50_000
	widerDecisions = 100_000
	mostCount      = 16
)

// largestCount is the largest number that a fact names.
func largestCount(m *spec.Machine) int64 {
	largest := int64(0)
	look := func(facts []*spec.Fact) {
		for _, f := range spec.Leaves(facts) {
			for _, t := range f.Names() {
				if t.Kind == spec.TermInt {
					largest = max(largest, min(t.Int, 1<<20))
				}
			}
		}
	}
	look(m.Invariant)
	look(m.Kept())
	for _, s := range m.States {
		look(s.Invariant)
	}
	for _, g := range m.Guards {
		look(g.When)
	}
	for _, op := range m.Operations {
		for _, b := range op.Choose {
			look(b.When)
		}
	}
	return largest
}

// Verdict says in one line what a search without a violation has shown.
func (r Result) Verdict() string {
	if len(r.Missing) == 0 {
		return "every promise holds within the bounds"
	}
	return "no promise was broken, but within the bounds these never happened: " + few(r.Missing)
}

// few names the first of many.
func few(list []Missing) string {
	const most = 12
	var names []string
	for _, x := range list[:min(len(list), most)] {
		names = append(names, x.What)
	}
	if len(list) > most {
		names = append(names, fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(names, ", ")
}
