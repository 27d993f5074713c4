package model

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// moveKind says who does something.
type moveKind uint8

const (
	moveCall    moveKind = iota + 1 // somebody calls an operation
	movePass                        // an instant passes
	movePerform                     // an effect outside the transaction is performed; its record is still to come
	moveDeliver                     // ... is recorded, and what follows is done
	moveGiveUp                      // ... gave up, performed or not, and what follows that is done
)

// move is one thing that can happen in a state.
type move struct {
	kind   moveKind
	op     *spec.Operation // of the call, or of the effect
	call   int32           // moveCall, moveGiveUp: index of the call
	slot   int             // the record; for a creation its place
	wrong  string          // the promise it breaks, or empty
	what   wrongKind
	effect *spec.Effect // for the effect kinds
	about  *spec.Effect // that the promise speaks of

	branch *spec.Branch // that the operation took, or nil
}

// successors hands every move of a state to emit, with the state it leads to,
// until emit returns false. The state is valid during the call only.
func (c *checker) successors(s *state, emit func(move, *state) bool) {
	for i, op := range c.m.Operations {
		switch {
		case c.hidden[i]:
		case len(op.Creates) > 0:
			if !c.creations(s, i, op, emit) {
				return
			}
		default:
			for j := range s.slots {
				if c.twin(s, j) {
					continue
				}
				for _, e := range c.t.at(s.slots[j].local).edges[i] {
					if e.stays && e.wrong == "" && len(op.Asked(e.branch, nil, nil)) == 0 && op.Follower(e.branch) == nil {
						if c.passes(s, j, c.t.locals[s.slots[j].local], op, e.call) {
							c.cover.did(op, e.branch)
						}
						continue
					}
					if !c.call(s, j, op, e, emit) {
						return
					}
				}
			}
		}
	}
	for j := range s.slots {
		if !c.twin(s, j) && !c.environment(s, j, emit) {
			return
		}
	}
}

// twin reports whether an earlier record is the same in everything: what can
// happen to this one is what can happen to that one.
func (c *checker) twin(s *state, j int) bool {
	for i := range j {
		if i == 0 && c.watched {
			continue // what happens to the first one is told from what happens to others
		}
		if s.slots[i] == s.slots[j] {
			return true
		}
	}
	return false
}

func (c *checker) creations(s *state, i int, op *spec.Operation, emit func(move, *state) bool) bool {
	if c.full(s) {
		return true
	}
	for _, e := range c.t.creates[i] {
		if !c.create(s, op, e, emit) {
			return false
		}
	}
	return true
}

// create makes a record, unless others keep it out.
func (c *checker) create(s *state, op *spec.Operation, e creation, emit func(move, *state) bool) bool {
	grouped := c.t.locals[e.group]
	if d := c.dedupe[op.Index]; d != nil && c.count(s, -1, d.key, grouped.keys[d.key], d.in) > 0 {
		return true // the record that is there is returned
	}
	if !c.passes(s, -1, grouped, op, e.call) {
		return true
	}
	v := move{kind: moveCall, op: op, call: e.call, slot: len(s.slots)}
	if e.wrong != "" {
		v.wrong, v.what = e.wrong, wrongInvariant
		return emit(v, nil)
	}
	c.next.copyFrom(s)
	c.next.slots = append(c.next.slots, slot{local: e.to})
	v.branch = e.branch
	return c.land(v, op, e.to, emit)
}

// call applies an operation to the record at j, unless others keep it out.
func (c *checker) call(s *state, j int, op *spec.Operation, e edge, emit func(move, *state) bool) bool {
	if !c.passes(s, j, c.t.locals[s.slots[j].local], op, e.call) {
		return true
	}
	v := move{kind: moveCall, op: op, call: e.call, slot: j}
	if e.wrong != "" {
		v.wrong, v.what = e.wrong, wrongInvariant
		return emit(v, nil)
	}
	if a, i := c.asks.waited(s.slots[j].wait); i >= 0 && s.slots[j].done&(1<<i) == 0 &&
		a.effect.Then != nil && a.effect.Then.Operation == op {
		v.wrong = fmt.Sprintf("%s comes before effect %s of %s was performed", op.Name, a.effect.Name, a.op.Name)
		v.what, v.about = wrongOrder, a.effect
		return emit(v, nil)
	}
	c.next.copyFrom(s)
	v.branch = e.branch
	return c.land(v, op, e.to, emit)
}

// land writes the record of a step into c.next, with all that belongs to its
// transaction, and emits the result. A step that the store refuses emits nothing.
func (c *checker) land(v move, op *spec.Operation, to uint16, emit func(move, *state) bool) bool {
	s := &c.next
	c.happened = append(c.happened[:0], happened{op, v.branch, c.t.locals[to].record.State})
chain:
	for step, branch := op, v.branch; ; {
		l := c.t.at(to)
		if c.duplicate(s, v.slot, l) || c.collides(s, v.slot, l) {
			return true
		}
		x := &s.slots[v.slot]
		var from *spec.State
		if len(step.Creates) == 0 {
			from = c.t.locals[x.local].record.State
		}
		asked := step.Asked(branch, from, l.record.State)
		x.local = to
		c.asks.leave(x)
		for _, e := range asked {
			if e.Atomic && v.wrong == "" {
				c.perform(&v, s, e, l)
			}
		}
		if n := c.asks.of(step, branch, from, l.record.State); n > 0 {
			x.wait, x.done = n, 0
		}
		follower := step.Follower(branch)
		if follower == nil || v.wrong != "" {
			break
		}
		then := follower.Operation
		switch c.m.Class(l.record.State, then) {
		case spec.RecordOnly:
			break chain
		case spec.Transition:
			c.hear(l, func(op *spec.Operation) bool { return op == then })
			if c.kept(s, v.slot, l, then) {
				break chain
			}
			if len(l.edges[then.Index]) == 0 {
				return true // refused: the transaction is rolled back
			}
			e := l.edges[then.Index][0]
			if !c.passes(s, v.slot, l, then, e.call) {
				return true
			}
			if e.wrong != "" {
				v.wrong, v.what = then.Name+": "+e.wrong, wrongInvariant
				return emit(v, nil)
			}
			c.happened = append(c.happened, happened{then, e.branch, c.t.locals[e.to].record.State})
			step, branch, to = then, e.branch, e.to
		default:
			return true
		}
	}
	s.slots[v.slot].local = c.t.settled(to)
	for _, h := range c.happened {
		c.cover.did(h.op, h.branch)
		c.cover.states[h.to.Index] = true
	}
	return emit(v, s)
}

// kept reports whether a step that follows is recorded only: a branch says so, or a
// guard refuses it that only records.
func (c *checker) kept(s *state, self int, l *local, then *spec.Operation) bool {
	calls := c.t.byOp[then.Index]
	return l.kept[then.Index] || then.OnRefusalRecordOnly && c.m.Class(l.record.State, then) == spec.Transition &&
		len(calls) > 0 && !c.passes(s, self, l, then, calls[0])
}

// perform counts an effect for the group of the record.
func (c *checker) perform(v *move, s *state, effect *spec.Effect, l *local) {
	e, counts := c.counts[effect]
	if !counts {
		return
	}
	key := c.effects[e].key
	group := l.keys[key]
	switch {
	case group < 0:
		return // absent fields never collide
	case group > 31:
		c.crowded = true
		return
	}
	if s.effects[e]&(1<<group) != 0 {
		v.wrong = fmt.Sprintf("effect %s applied 2 times for %s", effect.Name, c.t.keys[key].text(int(group)))
		v.what, v.about = wrongEffect, effect
	}
	s.effects[e] |= 1 << group
}

// environment is what happens to a record by itself: time and deliveries.
func (c *checker) environment(s *state, j int, emit func(move, *state) bool) bool {
	x := s.slots[j]
	for _, to := range c.t.at(x.local).passes {
		c.next.copyFrom(s)
		c.next.slots[j].local = to
		if !emit(move{kind: movePass, slot: j}, &c.next) {
			return false
		}
	}
	for i, a := range c.asks.sets[x.wait] {
		v := move{kind: movePerform, op: a.op, effect: a.effect, slot: j}
		c.next.copyFrom(s)
		c.perform(&v, &c.next, a.effect, c.t.locals[x.local])
		c.next.slots[j].done |= 1 << i
		if !emit(v, &c.next) || x.done&(1<<i) != 0 && !c.deliver(s, j, i, a, emit) ||
			a.effect.Failed != nil && !c.giveUp(s, j, i, a, emit) {
			return false
		}
	}
	return true
}

// deliver records that the effect at a place was performed, and takes the step that follows.
func (c *checker) deliver(s *state, j, i int, a ask, emit func(move, *state) bool) bool {
	v := move{kind: moveDeliver, op: a.op, effect: a.effect, slot: j}
	c.next.copyFrom(s)
	c.asks.without(&c.next.slots[j], i)
	if a.effect.Then == nil {
		return emit(v, &c.next)
	}
	then := a.effect.Then.Operation
	l := c.t.at(s.slots[j].local)
	c.hear(l, func(op *spec.Operation) bool { return op == then })
	if c.m.Class(l.record.State, then) == spec.RecordOnly || c.kept(s, j, l, then) {
		return emit(v, &c.next)
	}
	edges := l.edges[then.Index]
	if len(edges) == 0 || !c.passes(s, j, l, then, edges[0].call) {
		return true
	}
	if e := edges[0]; e.wrong == "" {
		v.branch = e.branch
		return c.land(v, then, e.to, emit)
	}
	v.wrong, v.what = then.Name+": "+edges[0].wrong, wrongInvariant
	return emit(v, nil)
}

// giveUp records that the effect at a place gave up, and takes the step of `failed`, for each
// error that makes a difference.
func (c *checker) giveUp(s *state, j, i int, a ask, emit func(move, *state) bool) bool {
	failed := a.effect.Failed.Operation
	l := c.t.at(s.slots[j].local)
	c.hear(l, func(op *spec.Operation) bool { return op == failed })
	v := move{kind: moveGiveUp, op: a.op, effect: a.effect, slot: j, call: -1}
	begin := func() {
		c.next.copyFrom(s)
		c.asks.without(&c.next.slots[j], i)
	}
	if c.m.Class(l.record.State, failed) == spec.RecordOnly || c.kept(s, j, l, failed) {
		if begin(); !emit(v, &c.next) {
			return false
		}
	}
	for _, e := range l.edges[failed.Index] {
		if !c.handed(failed, e.call) || !c.passes(s, j, l, failed, e.call) {
			continue
		}
		begin()
		v := v
		v.call, v.branch = e.call, e.branch
		if e.wrong != "" {
			v.wrong, v.what = failed.Name+": "+e.wrong, wrongInvariant
			if !emit(v, nil) {
				return false
			}
		} else if !c.land(v, failed, e.to, emit) {
			return false
		}
	}
	return true
}

// handed reports whether a call brings what one of `failed` does: the error, where the
// operation takes it and some call brings it, and nothing else.
func (c *checker) handed(failed *spec.Operation, n int32) bool {
	brings := func(n int32, in *spec.Input) bool { return c.t.calls[n].call.Inputs[in.Name].Kind != interp.KindAbsent }
	for _, in := range failed.Inputs {
		told := in.Name == spec.ErrorInput && slices.ContainsFunc(c.t.byOp[failed.Index], func(n int32) bool { return brings(n, in) })
		if brings(n, in) != told {
			return false
		}
	}
	return true
}
