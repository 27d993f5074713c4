package count

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// most is how many abstract groups a walk visits before it counts less.
const most = 20_000

// Step is one step that records of a group can take.
type Step struct {
	Op            *spec.Operation
	Before, After Group
}

// Move is an edge of the projection.
type Move struct{ From, To string }

// Walk is what the walk through all groups of one key has met.
type Walk struct {
	Groups   int                   // how many abstract groups there are
	Complete bool                  // false: there are too many, so nothing that was not met is excluded
	Broken   map[*spec.Unique]Step // without the index: the first step to two records where one may be
	Gap      *Step                 // the first step into a group that no rule of the projection fits; Op is nil for the empty group
	States   map[string]bool       // the derived states that occur
	Moves    map[Move]Step         // the edges of the projection, each with its first step; without those that stay
	Order    []Move                // the keys of Moves in the order in which they were met
}

// Explore walks through all groups of a key that can be reached from the empty
// one. With index the `unique` rules over the key refuse what they refuse in
// the store; without it the guards stand alone.
func Explore(m *spec.Machine, key Key, index bool) Walk {
	var w Walk
	for _, detail := range []int64{2, 1, 0} {
		w = explore(m, key, index, detail)
		if w.Complete {
			break
		}
	}
	return w
}

// walker is one walk at work.
type walker struct {
	m       *spec.Machine
	key     Key
	indexed bool
	project bool
	ways    map[*spec.Operation]map[*spec.State][]spec.Move // by operation and source
	moves   map[*spec.Effects]bool                          // what gives a record another key
	always  []start                                         // where every group must be asked
	byState [][]start                                       // where a group with a record in the state must be
	unique  []*spec.Unique                                  // over the key
	seen    map[string]bool
	queue   []Group
	walk    Walk
	chain   []*spec.Operation // the steps of `then` at hand
}

func explore(m *spec.Machine, key Key, index bool, detail int64) Walk {
	w := &walker{m: m, key: key, indexed: index, ways: waysOf(m), seen: map[string]bool{}}
	w.moves = map[*spec.Effects]bool{}
	for _, op := range m.Operations {
		w.moves[&op.Effects] = key.moved(&op.Effects)
		for _, b := range op.Choose {
			w.moves[&b.Effects] = key.moved(&b.Effects)
		}
	}
	w.project = m.Projection != nil && key.Same(m.Projection.Key)
	for _, u := range m.Unique {
		if key.Same(u.Fields) {
			w.unique = append(w.unique, u)
		}
	}
	limit := max(most*100/max(len(m.States), 100), 100) // a group takes a byte for each state
	w.walk = Walk{Broken: map[*spec.Unique]Step{}, States: map[string]bool{}, Moves: map[Move]Step{}}
	sh := shapeFor(m, key, detail)
	w.index(sh)
	empty := Group{counts: string(make([]byte, len(m.States))), shape: sh}
	w.visit(empty, Step{After: empty})
	for len(w.queue) > 0 {
		if len(w.seen) > limit {
			w.walk.Groups = len(w.seen)
			return w.walk
		}
		g := w.queue[0]
		w.queue = w.queue[1:]
		for _, start := range w.starts(g) {
			w.steps(g, start)
		}
	}
	w.walk.Groups, w.walk.Complete = len(w.seen), true
	return w.walk
}

// visit notes a group that was reached, with the step that reached it.
func (w *walker) visit(g Group, by Step) {
	if w.seen[g.counts] {
		return
	}
	w.seen[g.counts] = true
	w.queue = append(w.queue, g)
	if !w.project {
		return
	}
	states := g.Projected()
	if len(states) == 0 && w.walk.Gap == nil {
		w.walk.Gap = &by
	}
	for _, s := range states {
		w.walk.States[s] = true
	}
}

// start is where an operation can begin: a creation, or one of its source
// states. The sources of all operations are numbered in the order of the file.
type start struct {
	op   *spec.Operation
	from *spec.State // nil for a creation
	n    int
}

// index notes where the operations can begin: those that any group has to be
// asked about, and by state those that a group with a record in it has.
func (w *walker) index(sh *shape) {
	w.byState = make([][]start, len(w.m.States))
	n := 0
	for _, op := range w.m.Operations {
		if len(op.Creates) > 0 {
			w.always = append(w.always, start{op, nil, n})
			n++
			continue
		}
		for _, r := range op.From {
			at := start{op, r.State, n}
			n++
			if sh.caps[r.State.Index] == 0 || slices.ContainsFunc(w.ways[op][r.State], w.regroups) {
				w.always = append(w.always, at)
			} else {
				w.byState[r.State.Index] = append(w.byState[r.State.Index], at)
			}
		}
	}
}

// starts lists where a step of the group can begin, in the order of the file.
func (w *walker) starts(g Group) []start {
	list := slices.Clone(w.always)
	for i := range len(g.counts) {
		if g.counts[i] > 0 {
			list = append(list, w.byState[i]...)
		}
	}
	slices.SortFunc(list, func(a, b start) int { return a.n - b.n })
	return list
}

// steps takes every step that an operation can make from a place in the group.
func (w *walker) steps(g Group, at start) {
	if at.from == nil {
		w.call(g, g, at.op, nil, nil)
		return
	}
	for _, rest := range g.leave(at.from) {
		w.call(g, rest, at.op, at.from, nil)
	}
	for _, v := range w.ways[at.op][at.from] {
		if w.regroups(v) { // a record of another group comes into this one
			w.land(g, g, v, at.op)
		}
	}
}

// regroups reports whether a move gives the record another key on the way.
func (w *walker) regroups(v spec.Move) bool {
	return w.moves[&v.Operation.Effects] || v.Branch != nil && w.moves[&v.Branch.Effects]
}

// call applies an operation to a record in state from (nil: it is made). The
// group rest is the one without it, before is the group before the transaction,
// whose first operation is first (nil: this one).
func (w *walker) call(before, rest Group, op *spec.Operation, from *spec.State, first *spec.Operation) {
	if first == nil {
		first = op
	}
	if !w.mayPass(rest, op) {
		return
	}
	for _, v := range w.ways[op][from] {
		if from != nil && w.regroups(v) { // the record leaves this group, or stays after all
			w.take(Step{Op: first, Before: before, After: rest})
		}
		w.land(before, rest, v, first)
	}
}

// land puts the record of a step into its new state and follows `then`.
func (w *walker) land(before, rest Group, v spec.Move, first *spec.Operation) {
	to := v.To
	for _, u := range w.unique {
		if !listed(to, u.In) {
			continue
		}
		surely, maybe := rest.in(u.In...).atLeast(1)
		if surely && w.indexed {
			return
		}
		if _, known := w.walk.Broken[u]; maybe && !known && !w.indexed {
			w.walk.Broken[u] = Step{Op: first, Before: before, After: rest.enter(to)}
		}
	}
	if then := v.Operation.Follower(v.Branch); then != nil {
		switch w.m.Class(to, then.Operation) {
		case spec.Transition:
			if slices.Contains(w.chain, then.Operation) { // it comes back: FSM107 speaks of it
				w.take(Step{Op: first, Before: before, After: rest.enter(to)})
				return
			}
			w.chain = append(w.chain, then.Operation)
			w.call(before, rest, then.Operation, to, first)
			w.chain = w.chain[:len(w.chain)-1]
			if mayOnlyRecord(then.Operation, to) {
				w.take(Step{Op: first, Before: before, After: rest.enter(to)})
			}
			return
		case spec.Reject, spec.Unclassified:
			return // refused, so the transaction is rolled back: FSM107 speaks of it
		case spec.RecordOnly:
		}
	}
	w.take(Step{Op: first, Before: before, After: rest.enter(to)})
}

// take notes a step and the group it leads to.
func (w *walker) take(s Step) {
	w.visit(s.After, s)
	if !w.project || s.Before.counts == s.After.counts {
		return
	}
	for _, from := range s.Before.Projected() {
		for _, to := range s.After.Projected() {
			move := Move{from, to}
			if _, known := w.walk.Moves[move]; from == to || known {
				continue
			}
			w.walk.Moves[move] = s
			w.walk.Order = append(w.walk.Order, move)
		}
	}
}

// mayPass reports whether the guards over the key can let the operation pass;
// rest are the other records. Guards over fields, over another key, and those whose group
// or limit is told otherwise, may go either way.
func (w *walker) mayPass(rest Group, op *spec.Operation) bool {
	for _, r := range op.Require {
		p := r.Guard.Peers
		if p != nil && p.Some {
			if _, maybe := rest.in(p.In...).atLeast(1); !maybe && asksWithin(p, w.key) {
				return false
			}
			continue
		}
		if p != nil && counts(p, w.key) { // who shares the key shares a part of it
			if surely, _ := rest.in(p.In...).atLeast(p.Than); surely {
				return false
			}
		}
	}
	return true
}

// waysOf lists the moves of every operation by their source; nil is that of a
// creation.
func waysOf(m *spec.Machine) map[*spec.Operation]map[*spec.State][]spec.Move {
	ways := make(map[*spec.Operation]map[*spec.State][]spec.Move, len(m.Operations))
	for _, op := range m.Operations {
		bySource := make(map[*spec.State][]spec.Move, len(op.From))
		for _, v := range op.Moves() {
			bySource[v.Source()] = append(bySource[v.Source()], v)
		}
		ways[op] = bySource
	}
	return ways
}

// mayOnlyRecord reports whether a call on a record in the state may be recorded
// and change nothing.
func mayOnlyRecord(op *spec.Operation, s *spec.State) bool {
	return op.OnRefusalRecordOnly && len(op.Require) > 0 ||
		slices.ContainsFunc(op.Branches(s), func(b *spec.Branch) bool { return b.RecordOnly })
}
