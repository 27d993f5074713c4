package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// Options bound what is looked at. The zero value is completed by [Defaults].
type Options struct {
	Records   int // at once, finished ones included
	Groups    int // values that a field which makes groups can have
	Workers   int
	Counter   int // the highest count
	MaxStates int

	// EffectOnce demands that an effect outside the transaction is performed
	// once, which nothing can promise: it is at least once.
	EffectOnce bool
	// NoSymmetry tells records, workers and groups apart by name: the same
	// verdict with more states.
	NoSymmetry bool

	scaled    bool // numbers of guards on other records are looked at as smaller ones
	decisions int  // of the interpreter, after which a search for coverage ends; 0: no bound
}

const (
	mostRecords = 6 // that [Defaults] asks for
	mostLimit   = 2 // of a limit that the record or the call tells
	mostCrowd   = 3 // what a number that they do not reach is looked at as
)

// Defaults completes options for a machine. Records that know of each other are
// as many as the largest number in the file and one, but three at least: so the
// refusal after the last one is reached. Where these are too many, smaller numbers
// stand for those of the file. Where no rule looks at other records, one is enough.
func Defaults(m *spec.Machine, o Options) Options {
	set := func(n *int, to int) {
		if *n == 0 {
			*n = to
		}
	}
	records := 1
	if len(keys(m)) > 0 {
		list := append([]int64{2}, numbers(m)...)
		largest := slices.Max(list)
		if o.Records == 0 && largest >= mostRecords {
			o.scaled, largest = true, mostCrowd-2+int64(len(list))
		}
		records = int(min(largest+1, mostRecords))
	}
	set(&o.Records, records)
	set(&o.Groups, 1)
	set(&o.Workers, 2)
	set(&o.Counter, 3)
	set(&o.MaxStates, 2_000_000)
	return o
}

// numbers lists the numbers of the guards on other records, each once, in order.
func numbers(m *spec.Machine) []int64 {
	var list []int64
	for _, g := range m.Guards {
		if g.Peers != nil && !g.Peers.Some { // one is enough, so a second record is
			list = append(list, number(g.Peers))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// number is how many others are too many: of a limit that the record or the call tells, as many as
// are looked at.
func number(p *spec.Peers) int64 {
	if p.Limit == nil {
		return p.Than
	}
	most := int64(mostLimit)
	if f := p.Limit.Left.Field; f != nil && f.Type.Min != nil {
		most = max(most, *f.Type.Min)
	}
	return min(most, mostRecords-1)
}

// crowds says what each number of a guard on other records is looked at as. So many
// records reach the largest one, and of two numbers the smaller stays smaller.
func crowds(m *spec.Machine, o Options) map[int64]int {
	as := map[int64]int{}
	next := int64(1 << 20)
	if o.scaled {
		next = int64(max(o.Records-1, 1))
	}
	for _, n := range slices.Backward(numbers(m)) {
		next = max(min(n, next), 1)
		as[n] = int(next)
		next--
	}
	return as
}

// Result is what a search has found.
type Result struct {
	Options     Options
	States      int
	Transitions int
	Locals      int // kinds of records
	Elapsed     time.Duration
	Violation   *Violation // nil: every promise holds within the bounds
	Limits      []string   // the bounds that were met, in words: what lies beyond was not looked at
	Missing     []Missing  // what never happened
	Whole       bool       // what is missing cannot happen, but for keys in common
	Stuck       []Stuck    // what waits in vain

	cut   bool // it ended before it saw all states
	exact bool // it met no bound, and tried what stands for all values
}

// Speed returns the states that were looked at in a second.
func (r Result) Speed() float64 {
	return float64(r.States) / max(r.Elapsed.Seconds(), 1e-6)
}

// Violation is a promise that is broken, with a shortest way there.
type Violation struct {
	What  string // "effect apply_result applied 2 times for job_id k1"
	Pos   spec.Pos
	Mark  string // the name at Pos
	Trace []Step

	kind   wrongKind
	effect *spec.Effect // that it speaks of, for the effect kinds
	real   []realStep   // the trace with real instants
}

// wrongKind says what a test of the violation has to look at.
type wrongKind uint8

const (
	wrongInvariant wrongKind = iota + 1
	wrongEffect              // twice for one key
	wrongOrder               // a step before its effect
)

// checker is one search.
type checker struct {
	m        *spec.Machine
	o        Options
	t        *table
	codec    *codec
	seen     *visited
	effects  []*counted           // effects that are counted by group
	counts   map[*spec.Effect]int // index in effects
	asks     *asks
	unique   []int     // by `unique`: its key
	inState  [][]bool  // by `unique` and state
	guards   [][]peers // by operation
	dedupe   []*peers  // by operation
	hidden   []bool    // by operation: nobody can call it
	next     state
	cover    *cover
	crowds   map[int64]int // what the numbers of guards on other records are looked at as
	happened []happened    // in the transaction at hand
	moves    int
	watched  bool // the first record is not taken for another one, see watch
	crowded  bool // an effect has more groups than are counted
	cut      bool // the search ended before it saw all states
}

// happened is one step of a transaction.
type happened struct {
	op     *spec.Operation
	branch *spec.Branch
	to     *spec.State
}

// counted is an effect that may happen once for each group, from whatever branch of its
// operation.
type counted struct {
	op     *spec.Operation
	effect *spec.Effect
	key    int
}

// peers is a guard on other records: fewer than `than` of the group are in the
// states, or with some one is.
type peers struct {
	key  int
	than int
	some bool
	in   []bool // nil: in any state
	at   int    // the place in `require`

	guard *spec.Guard       // nil for dedupe_by
	asks  *spec.Requirement // whose group is not told by the record alone; else nil
	limit *spec.Requirement // whose limit is told by the record or the call; else nil
}

// Check searches the states of a machine.
func Check(m *spec.Machine, o Options) Result {
	r, _ := Search(context.Background(), m, o, nil) // which never ends
	return r
}

// lookEvery is how many states are looked at before the search asks whether it is
// still wanted, and tells how far it is: some milliseconds.
const lookEvery = 256

// Search is Check for somebody who waits: it ends with ctx, whose error it then
// returns beside what it had seen so far. Progress, unless it is nil, hears now and
// then how many states were looked at, and how many are known by then.
//
// Where some operation, branch or guard never happens, wider bounds are tried, as long
// as the caller did not name them; those in which most happens are kept. Missing is
// what happened in none of the searches.
func Search(ctx context.Context, m *spec.Machine, o Options, progress func(looked, known int)) (Result, error) {
	started := time.Now()
	asked, o := o, Defaults(m, o)
	best, err := searchOnce(ctx, m, o, progress)
	if settled := best.Whole && len(keys(m)) == 0; err == nil && best.Violation == nil && len(best.Missing) > 0 && !settled {
		list := wider(m, asked, o)
		for i := 0; i < len(list); i++ {
			r, failed := searchOnce(ctx, m, list[i], nil)
			if failed != nil {
				return best, failed
			}
			whole := !r.cut
			of, missing := r, both(r.Missing, best.Missing)
			if best.exact {
				of, missing = best, both(best.Missing, r.Missing)
			}
			if r.Violation != nil || whole && r.Options.Records >= best.Options.Records && len(r.Missing) < len(best.Missing) {
				best = r
				best.Options.MaxStates, best.Options.decisions = o.MaxStates, o.decisions
			}
			best.Missing, best.Whole, best.Stuck, best.exact = missing, of.Whole, of.Stuck, of.exact
			if best.Violation != nil || len(missing) == 0 {
				break
			}
			if !whole {
				i = max(i, len(list)-2) // what is larger still is not whole either
			}
		}
	}
	best.Elapsed = time.Since(started)
	return best, err
}

// searchOnce looks at the states within bounds that are complete.
func searchOnce(ctx context.Context, m *spec.Machine, o Options, progress func(looked, known int)) (Result, error) {
	c := newChecker(m, o)
	r, err := c.search(ctx, progress)
	r.Options, r.States, r.Transitions, r.Locals = o, c.seen.len(), c.moves, len(c.t.locals)
	r.Missing, r.cut = c.missing(), c.cut
	for _, g := range m.Guards {
		if g.Peers == nil || g.Peers.Some || !slices.ContainsFunc(m.Operations, func(op *spec.Operation) bool { return requires(op, g) }) {
			continue
		}
		if g.Peers.Limit != nil {
			r.Limits = append(r.Limits, fmt.Sprintf("%s with %s above %d", g.Name, g.Peers.Number(), number(g.Peers)))
			continue
		}
		if as := c.crowds[g.Peers.Than]; o.scaled && int64(as) < g.Peers.Than {
			r.Limits = append(r.Limits, fmt.Sprintf("%s with fewer than %d, only with fewer than %d (--records %d takes it as it is)",
				g.Name, g.Peers.Than, as, g.Peers.Than+1))
		}
	}
	if c.t.bounded {
		r.Limits = append(r.Limits, fmt.Sprintf("counters above %d", o.Counter))
	}
	for _, op := range c.t.thinned {
		r.Limits = append(r.Limits, "some combinations of the inputs of "+op)
	}
	if c.crowded {
		r.Limits = append(r.Limits, "more than 32 groups of one effect")
	}
	if c.t.full {
		r.Limits = append(r.Limits, "more than 65534 kinds of records")
	}
	if err == nil && r.Violation == nil && !r.cut && len(r.Limits) == 0 && exact(m, c.t.pools) {
		r.exact, r.Whole, r.Stuck = true, !across(m), c.stuck(ctx)
	}
	return r, err
}

// requires reports whether an operation asks for a guard.
func requires(op *spec.Operation, g *spec.Guard) bool {
	return slices.ContainsFunc(op.Require, func(r *spec.Requirement) bool { return r.Guard == g })
}

func newChecker(m *spec.Machine, o Options) *checker {
	c := &checker{m: m, o: o, t: newTable(m, o), cover: newCover(m), crowds: crowds(m, o)}
	states := func(refs []spec.StateRef) []bool {
		in := make([]bool, len(m.States))
		for _, r := range refs {
			in[r.State.Index] = true
		}
		return in
	}
	c.counts = map[*spec.Effect]int{}
	waits := false
	for _, op := range m.Operations {
		for _, e := range op.AllAsks() {
			waits = waits || !e.Atomic
			if _, known := c.counts[e]; known { // of a state: several operations ask for it
				continue
			}
			if !e.OfRecord() && e.Other == nil && (e.Atomic || o.EffectOnce) {
				one := slices.IndexFunc(c.effects, func(x *counted) bool {
					return x.op == op && x.effect.Name == e.Name && keyName(x.effect.Key) == keyName(e.Key)
				})
				if one < 0 {
					one = len(c.effects)
					c.effects = append(c.effects, &counted{op, e, c.t.keyOf[keyName(e.Key)]})
				}
				c.counts[e] = one
			}
		}
		var guards []peers
		for n, r := range op.Require {
			if p := r.Guard.Peers; p != nil {
				g := peers{key: c.t.keyOf[keyName(p.Same)], than: c.crowds[p.Than], in: states(p.In), at: n, guard: r.Guard, some: p.Some}
				if !p.Own() {
					g.asks = r
				}
				if p.Limit != nil {
					g.limit = r
				}
				guards = append(guards, g)
			}
		}
		c.guards = append(c.guards, guards)
		var dedupe *peers
		if d := op.DedupeBy; d != nil {
			dedupe = &peers{key: c.t.keyOf[keyName(d.Fields)], than: 1}
			if d.Unique != nil {
				dedupe.in = states(d.Unique.In)
			}
		}
		c.dedupe = append(c.dedupe, dedupe)
		c.hidden = append(c.hidden, interp.Internal(m, op) && len(op.Triggers) == 0) // a trigger may fire at any time
	}
	for _, u := range m.Unique {
		c.unique = append(c.unique, c.t.keyOf[keyName(u.Fields)])
		c.inState = append(c.inState, states(u.In))
	}
	c.asks, c.crowded = newAsks(m, func(e *spec.Effect) bool {
		_, counts := c.counts[e]
		return counts || e.Waits()
	})
	c.codec = &codec{t: c.t, records: o.Records, waits: waits, effects: len(c.effects), plain: o.NoSymmetry}
	c.seen = newVisited(c.codec.width())
	for _, h := range c.t.heard {
		c.cover.add(h)
	}
	return c
}

// search goes through the states, nearest first.
func (c *checker) search(ctx context.Context, progress func(looked, known int)) (Result, error) {
	first := &state{effects: make([]uint32, len(c.effects))}
	c.seen.add(c.key(first), -1)
	var r Result
	var from state
	for i := 0; i < c.seen.len(); i++ {
		if i%lookEvery == 0 {
			if err := ctx.Err(); err != nil {
				return r, err
			}
			if progress != nil {
				progress(i, c.seen.len())
			}
		}
		if c.cut = c.o.decisions > 0 && c.t.decisions > c.o.decisions; c.cut {
			return r, nil
		}
		if c.cut = c.seen.len() > c.o.MaxStates; c.cut {
			r.Limits = append(r.Limits, fmt.Sprintf("more than %d states", c.o.MaxStates))
			return r, nil
		}
		c.codec.read(c.seen.at(i), &from)
		c.note(&from)
		var found *move
		c.successors(&from, func(v move, next *state) bool {
			c.moves++
			if v.wrong != "" {
				found = &v
				return false
			}
			c.seen.add(c.key(next), i)
			return true
		})
		if found != nil {
			r.Violation = c.violation(i, *found)
			return r, nil
		}
	}
	return r, nil
}

func (c *checker) key(s *state) []byte {
	keys := make([]int, 0, 4)
	for _, e := range c.effects {
		keys = append(keys, e.key)
	}
	return c.codec.key(s, keys)
}

// full reports whether there is room for another record.
func (c *checker) full(s *state) bool { return len(s.slots) >= c.o.Records }

// count returns how many records but the one at self are in the group and in
// the states.
func (c *checker) count(s *state, self, key int, group int16, in []bool) int {
	if group < 0 {
		return 0 // absent fields never collide
	}
	n := 0
	for i, x := range s.slots {
		if l := c.t.locals[x.local]; i != self && l.keys[key] == group && (len(in) == 0 || in[l.record.State.Index]) {
			n++
		}
	}
	return n
}

// passes reports whether the guards on other records let a call pass; the record at self
// (-1: a new one) has the groups of l.
func (c *checker) passes(s *state, self int, l *local, op *spec.Operation, call int32) bool {
	for _, p := range c.guards[op.Index] {
		if c.refuses(&p, s, self, l, call) {
			c.cover.guards[p.guard] = true
			return false
		}
	}
	return true
}

// refuses reports whether a guard on other records keeps a call out.
func (c *checker) refuses(p *peers, s *state, self int, l *local, call int32) bool {
	group := l.keys[p.key]
	if p.asks != nil {
		group = c.t.keys[p.key].among(interp.GroupOf(c.m, p.asks, l.record, c.t.calls[call].call))
	}
	if p.some {
		return c.count(s, self, p.key, group, p.in) == 0
	}
	than := p.than
	if p.limit != nil {
		than = int(min(interp.Most(c.m, p.limit, l.record, c.t.calls[call].call), mostRecords))
	}
	return c.count(s, self, p.key, group, p.in) >= than
}

// duplicate reports whether a record has the fields of some `dedupe_by` in common
// with another one: an index over all states, which every operation meets.
func (c *checker) duplicate(s *state, self int, l *local) bool {
	for i, d := range c.dedupe {
		if d != nil && c.m.Operations[i].DedupeBy.Unique == nil && c.count(s, self, d.key, l.keys[d.key], nil) > 0 {
			return true
		}
	}
	return false
}

// collides reports whether the record at self breaks a `unique`.
func (c *checker) collides(s *state, self int, l *local) bool {
	for i, key := range c.unique {
		if c.inState[i][l.record.State.Index] && c.count(s, self, key, l.keys[key], c.inState[i]) > 0 {
			return true
		}
	}
	return false
}
