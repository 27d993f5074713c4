package gen

import (
	"maps"
	"slices"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// firstCompany is the number of the first record that keeps another one company: above those
// that a case puts into a store itself.
const firstCompany = mostPeers + 4

// company makes the other records without which a guard with `some` refuses a call, and the steps
// that follow it: one for each group in which there is none yet. Where the call says that a guard
// counts none, or that the case tells who is there, it makes none. Of a call with bad inputs nobody is asked.
func (s search) company(x tried, beside []interp.Record) (more []interp.Record, bad bool) {
	m, o := s.m, x.call.Op
	if !slices.ContainsFunc(inTransaction(o), func(step *spec.Operation) bool {
		return slices.ContainsFunc(peerGuards(step), func(g *spec.Guard) bool { return g.Peers.Some })
	}) {
		return nil, false
	}
	call, refusal := interp.Accept(m, x.call)
	if refusal != nil {
		return nil, true
	}
	var own []interp.Record
	switch {
	case creates(o):
		own = append(own, interp.Effects(m, &o.Effects, interp.NewRecord(m, ownID), call))
	case x.before.State != nil:
		r := x.before
		r.ID = ownID
		own = append(own, r)
	default: // the machine picks one
		for _, r := range beside {
			if slices.Contains(states(o.From), r.State) {
				own = append(own, r)
			}
		}
	}
	w := interp.World{Records: map[string]interp.Record{}}
	for _, r := range slices.Concat(beside, own) {
		w.Records[r.ID] = r
	}
	for _, step := range inTransaction(o) {
		c := call
		c.Op = step
		for _, q := range peerRequirements(step) {
			n, said := x.others.Count[q.Guard.Name]
			if !q.Guard.Peers.Some || q.Guard == x.alone || said && n == 0 && step == o {
				continue
			}
			for _, r := range own {
				values, there := interp.GroupOf(m, q, r, c)
				if !there || len(w.Counted(m, q, r, c)) > 0 {
					continue
				}
				like := r
				for i, f := range q.Guard.Peers.Same {
					if !f.Field.Builtin {
						like = like.With(m, f.Field.Name, values[i])
					}
				}
				if next, ok := s.companion(q.Guard.Peers, firstCompany+len(more), o, like); ok {
					more = append(more, next)
					w.Records = maps.Clone(w.Records)
					w.Records[next.ID] = next
				}
			}
		}
	}
	return more, false
}

// companion makes the n-th other record in one of the states of a guard: one that nothing takes, where there is such
// a state.
func (s search) companion(p *spec.Peers, n int, o *spec.Operation, like interp.Record) (interp.Record, bool) {
	in := slices.Clone(states(p.In))
	quiet := func(st *spec.State) bool { return !slices.Contains(states(o.From), st) && !s.starts(st) }
	slices.SortStableFunc(in, func(a, b *spec.State) int {
		switch {
		case quiet(a) == quiet(b):
			return 0
		case quiet(a):
			return -1
		}
		return 1
	})
	for _, st := range in {
		if r := s.other(n, st, like, p.Same); sound(s.m, r) {
			return r, true
		}
	}
	return interp.Record{}, false
}

// starts reports whether recovery moves a record in a state.
func (s search) starts(st *spec.State) bool {
	return slices.ContainsFunc(s.m.Operations, func(o *spec.Operation) bool {
		return slices.ContainsFunc(o.Triggers, func(t spec.Trigger) bool { return t.Startup }) && s.m.Class(st, o) == spec.Transition
	})
}
