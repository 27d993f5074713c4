package model

import (
	"context"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// Stuck is a deadline, or the step after an effect, that waits in vain.
type Stuck struct {
	What  string // "the deadline due can never be met in waiting: expire refuses the record, now and later"
	Pos   spec.Pos
	Mark  string // the name at Pos
	On    string // the operation whose `allow` speaks of it
	Way   string // out, as a hint
	Trace []Step
}

// watched is one record among the others, with its effect that waits, and what they can become.
type watched struct {
	state *state // its slot is the first
	at    int    // the state that holds it, nearest first
	next  []int
	still []bool // by next: the record waits on
	done  bool   // the step after its effect succeeds
	gave  bool   // the step after an effect that gave up succeeds
	due   bool   // some operation that a trigger asks for succeeds
}

// mostWatched is how many states may be looked at again where others can stand in the way.
const mostWatched = 20_000

// stuck lists what waits in some record, and succeeds neither there nor in anything that
// the records can become while it waits. More records than there are only stand in the way.
func (c *checker) stuck(ctx context.Context) []Stuck {
	waits := func(op *spec.Operation) bool {
		return len(op.Triggers) > 0 || spec.Waited(op.AllAsks()) != nil
	}
	if !slices.ContainsFunc(c.m.Operations, waits) {
		return nil
	}
	nodes := c.watch(ctx)
	var list []Stuck
	add := func(n int, pos spec.Pos, mark string, op *spec.Operation, way, format string, args ...any) {
		if slices.ContainsFunc(list, func(x Stuck) bool { return x.Pos == pos }) {
			return
		}
		x := Stuck{What: fmt.Sprintf(format, args...), Pos: pos, Mark: mark, On: op.Name, Way: way}
		x.Trace, _ = c.way(nodes[n].at)
		list = append(list, x)
	}
	for _, step := range []struct {
		of   func(*spec.Effect) *spec.OperationRef
		good func(*watched) bool
	}{
		{func(e *spec.Effect) *spec.OperationRef { return e.Then }, func(n *watched) bool { return n.done }},
		{func(e *spec.Effect) *spec.OperationRef { return e.Failed }, func(n *watched) bool { return n.gave }},
	} {
		follows := func(n *watched) bool {
			a, i := c.asks.waited(n.state.slots[0].wait)
			return i >= 0 && step.of(a.effect) != nil
		}
		for _, n := range hopeless(nodes, follows, step.good, true) {
			a, _ := c.asks.waited(nodes[n].state.slots[0].wait)
			ref := step.of(a.effect)
			op, next := a.op, ref.Operation
			add(n, ref.Pos, next.Name, op, fmt.Sprintf("let %s accept such a record, or %s refuse it", next.Name, op.Name),
				"%s can never follow effect %s in %s: it refuses the record, now and later",
				next.Name, a.effect.Name, c.t.locals[nodes[n].state.slots[0].local].record.State.Name)
		}
	}
	for _, f := range slices.Concat(c.m.Fields, c.m.Builtin) {
		trigger := func(l *local) (*spec.Operation, *spec.Trigger) { return c.trigger(l, f) }
		waiting := func(n *watched) bool { op, _ := trigger(c.t.locals[n.state.slots[0].local]); return op != nil }
		for _, n := range hopeless(nodes, waiting, func(n *watched) bool { return n.due || n.done || n.gave }, false) {
			l := c.t.locals[nodes[n].state.slots[0].local]
			op, t := trigger(l)
			way := "let " + op.Name + " accept such a record, or add an operation of the system with the same trigger that does"
			add(n, t.Pos, t.Text, op, way,
				"the deadline %s can never be met in %s: %s refuses the record, now and later", f.Name, l.record.State.Name, op.Name)
		}
	}
	return list
}

// trigger returns an operation that waits for the time of a record, or nil.
func (c *checker) trigger(l *local, f *spec.Field) (*spec.Operation, *spec.Trigger) {
	if there, known := c.there(l, f); !there || !known {
		return nil, nil
	}
	for _, op := range c.m.Operations {
		for i := range op.Triggers {
			if op.Triggers[i].After == f && c.m.Class(l.record.State, op) == spec.Transition {
				return op, &op.Triggers[i]
			}
		}
	}
	return nil, nil
}

// there reports whether a record has a time, where that is known.
func (c *checker) there(l *local, f *spec.Field) (there, known bool) {
	switch {
	case !f.Type.Optional, slices.ContainsFunc(l.record.State.Present, func(r spec.FieldRef) bool { return r.Field == f }):
		return true, true
	case c.t.pools.presenceMatters(f):
		return l.record.Value(c.m, f).IsPresent(), true
	}
	return true, false
}

// isDue reports whether a trigger may ask for an operation: its time is over, or that is not known.
func (c *checker) isDue(l *local, op *spec.Operation) bool {
	return slices.ContainsFunc(op.Triggers, func(t spec.Trigger) bool {
		if t.Startup || !c.t.pools.matters(t.After) {
			return true
		}
		v := l.record.Value(c.m, t.After)
		return v.IsPresent() && !v.AsTime().After(epoch)
	})
}

// fires reports whether an operation that a trigger asks for is recorded at least.
func (c *checker) fires(s *state) bool {
	l := c.t.at(s.slots[0].local)
	return slices.ContainsFunc(c.m.Operations, func(op *spec.Operation) bool {
		stays := func(e edge) bool { return e.stays && e.wrong == "" && c.passes(s, 0, l, op, e.call) }
		return c.isDue(l, op) && (l.kept[op.Index] || slices.ContainsFunc(l.edges[op.Index], stays))
	})
}

// watch lists each record of each state, nearest first. Where no rule looks across
// records, the others are left out. Nobody waits for the answer when the context has ended.
func (c *checker) watch(ctx context.Context) []*watched {
	alone := !across(c.m)
	if !alone && c.seen.len() > mostWatched {
		return nil
	}
	var nodes []*watched
	index, known := map[string]int{}, map[slot]bool{}
	from, one := &state{}, &state{}
	focus := func(s *state, i int) string {
		one.copyFrom(s)
		one.slots[0], one.slots[i] = one.slots[i], one.slots[0]
		if alone {
			one.slots = one.slots[:1]
			clear(one.effects)
		}
		c.codec.watched = true
		defer func() { c.codec.watched = false }()
		return string(c.key(one))
	}
	for i := range c.seen.len() {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return nil
		}
		c.codec.read(c.seen.at(i), from)
		for j, x := range from.slots {
			if alone && known[x] {
				continue
			}
			known[x] = true
			if key := focus(from, j); !has(index, key) {
				index[key] = len(nodes)
				c.codec.read([]byte(key), one)
				nodes = append(nodes, &watched{state: one.clone(), at: i})
			}
		}
	}
	c.watched = true
	defer func() { c.watched = false }()
	for _, n := range nodes {
		n.due = c.fires(n.state)
		l := c.t.locals[n.state.slots[0].local]
		c.successors(n.state, func(v move, next *state) bool {
			if v.wrong != "" || alone && v.slot != 0 {
				return true
			}
			mine := v.slot == 0
			n.done = n.done || mine && v.kind == moveDeliver && v.effect.Then != nil
			n.gave = n.gave || mine && v.kind == moveGiveUp
			n.due = n.due || mine && v.kind == moveCall && c.isDue(l, v.op)
			if to, ok := index[focus(next, 0)]; ok {
				n.next = append(n.next, to)
				n.still = append(n.still, !mine || v.kind == movePass || v.kind == movePerform || v.kind == moveDeliver && v.effect.Then == nil)
			}
			return true
		})
	}
	return nodes
}

// hopeless lists the records that wait, and never come to be good while they do. With
// still, the record itself takes no step on the way.
func hopeless(nodes []*watched, waiting, good func(*watched) bool, still bool) []int {
	before := make([][]int, len(nodes))
	hope := make([]bool, len(nodes))
	var queue, list []int
	for i, n := range nodes {
		if !waiting(n) {
			continue
		}
		for k, to := range n.next {
			if !still || n.still[k] {
				before[to] = append(before[to], i)
			}
		}
		if good(n) {
			hope[i] = true
			queue = append(queue, i)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, i := range before[queue[0]] {
			if !hope[i] {
				hope[i] = true
				queue = append(queue, i)
			}
		}
	}
	for i, n := range nodes {
		if waiting(n) && !hope[i] {
			list = append(list, i)
		}
	}
	return list
}
