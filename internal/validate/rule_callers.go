package validate

import (
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// callerRules look at what a caller is told, and on whose word a record moves.
var callerRules = []Rule{
	{
		Code: "FSM109", Name: "early call that is recorded only", Severity: spec.Warning, Run: recordedEarly, Allow: true, Choice: true,
		Doc: `A call that is recorded only is answered like one that was carried out. That is right for a repeat: the work is done.
Here a record may be that has yet to reach a state in which the operation works, so the work cannot be done already. The call is too early,
such as the heartbeat of a worker whose job is in the queue. It is swallowed, and its sender takes it for a success. Leave the state out of ` + "`record_only_in`" + `, and the call is refused. Where cells have no ` + "`otherwise: reject`" + ` to fall back on,
as in a machine that only logs its calls, nothing is reported.`,
	},
	{
		Code: "FSM110", Name: "owner is not checked", Severity: spec.Warning, Run: ownerUnasked, Allow: true,
		Doc: `The record has a holder in this state: an operation put its caller there, and a trigger takes the record away from it after a while.
Most operations that callers run there, and two at least, ask with ` + "`field == actor`" + ` whether the caller is the holder; one for which
the file allows this finding does not count. This one does not ask: a worker that lost the record can move it while the owner works on it.
Require the guard. Where somebody else may call, say who: another guard on ` + "`actor`" + `, ` + "`by: operator`" + ` or ` + "`by: system`" + `. An operation that gives
the record another owner is not meant, nor a field with which some operation asks for ` + "`field != actor`" + `: it names a party, such as who
made the request that others approve.`,
	},
}

// recordedEarly looks at the states under `record_only_in` of an operation from
// which its work is still ahead and in which it cannot be behind.
func recordedEarly(p *Pass) {
	m := p.Machine
	next := onward(m)
	for _, op := range m.Operations {
		if len(op.RecordOnlyIn) == 0 {
			continue
		}
		standing, early := done(next, op), before(m, next, op)
		for _, r := range op.RecordOnlyIn {
			if standing[r.State] || !early[r.State] || !refusesElse(m, r.State) || !ahead(next, r.State, op) {
				continue
			}
			p.report(finding{pos: r.Pos, mark: r.State.Name, related: also(op.Pos, "%s is declared here", op.Name),
				hint: fmt.Sprintf("take %s out of `record_only_in`, so that the call is refused there", r.State.Name),
				fix:  m.Without(r.Pos)},
				"%s in %s is answered like a success, but it is too early: the record has yet to reach %s", op.Name, r.State.Name, stateNames(op.From))
		}
	}
}

// refusesElse reports whether a cell of the state that nothing lists is refused.
func refusesElse(m *spec.Machine, s *spec.State) bool {
	if s.Otherwise != spec.OtherwiseUnset {
		return s.Otherwise == spec.OtherwiseReject
	}
	return m.Otherwise == spec.OtherwiseReject
}

// onward lists the states that a record can go to from each state, itself
// excepted.
func onward(m *spec.Machine) map[*spec.State][]*spec.State {
	next := make(map[*spec.State][]*spec.State, len(m.States))
	for _, op := range m.Operations {
		for _, v := range op.Moves() {
			if v.From != nil && v.Leaves() {
				next[v.Source()] = append(next[v.Source()], v.To)
			}
		}
	}
	return next
}

// before marks the states that a record can be in that was in none yet in which
// the operation works.
func before(m *spec.Machine, onward map[*spec.State][]*spec.State, op *spec.Operation) map[*spec.State]bool {
	seen := map[*spec.State]bool{}
	var visit func(s *spec.State)
	visit = func(s *spec.State) {
		if !seen[s] && !listed(s, op.From) {
			seen[s] = true
			for _, to := range onward[s] {
				visit(to)
			}
		}
	}
	for _, v := range m.Moves() {
		if v.From == nil {
			visit(v.To)
		}
	}
	return seen
}

// done marks the states in which the work of an operation may be behind a
// record: those it leads to, and what follows until it can happen again.
func done(onward map[*spec.State][]*spec.State, op *spec.Operation) map[*spec.State]bool {
	seen := map[*spec.State]bool{}
	var visit func(s *spec.State)
	visit = func(s *spec.State) {
		if seen[s] {
			return
		}
		seen[s] = true
		if listed(s, op.From) {
			return // the next call is no repeat
		}
		for _, to := range onward[s] {
			visit(to)
		}
	}
	for _, v := range op.Moves() {
		visit(v.To)
	}
	return seen
}

// ahead reports whether a record in the state can come to where the operation
// works.
func ahead(onward map[*spec.State][]*spec.State, s *spec.State, op *spec.Operation) bool {
	seen := map[*spec.State]bool{}
	var visit func(s *spec.State) bool
	visit = func(s *spec.State) bool {
		if listed(s, op.From) {
			return true
		}
		if seen[s] {
			return false
		}
		seen[s] = true
		return slices.ContainsFunc(onward[s], visit)
	}
	return visit(s)
}

// ownerUnasked looks for the odd one out: most operations that move an owned
// record ask for its owner, and one does not.
func ownerUnasked(p *Pass) {
	for _, f := range p.Machine.Fields {
		owns := guarded(p, f)
		var asking []*spec.Operation
		party := false                        // others than whom the field names move the record, too
		slips := 0                            // those of odd that nothing in the file means
		odd := map[*spec.Operation][]string{} // the states in which it moves what somebody owns
		for _, op := range p.Machine.Operations {
			if op.By != spec.ByCaller || handsOver(op, f) {
				continue
			}
			var owned []string
			for _, s := range op.From {
				if owns[s.State] {
					owned = append(owned, s.State.Name)
				}
			}
			switch {
			case len(owned) == 0:
			case asks(op, f, spec.Eq):
				asking = append(asking, op)
			case asks(op, f, spec.Ne):
				party = true
			case !asksActor(op):
				odd[op] = owned
				if !slices.ContainsFunc(p.Machine.Allow, func(a *spec.Allow) bool { return a.Code == p.rule.Code && a.Covers(op.Pos) }) {
					slips++
				}
			}
		}
		if party || len(asking) <= slips {
			continue // the owner is one user among others
		}
		for _, op := range p.Machine.Operations {
			if owned := odd[op]; owned != nil {
				p.report(finding{pos: op.Pos, mark: op.Name, related: also(asking[0].Pos, "%s asks for it", asking[0].Name),
					hint: fmt.Sprintf("require a guard with `%s == actor`, or say with `by: operator` or a guard on `actor` who else may do it", f.Name)},
					"anybody can %s in %s, although %s names the owner of the record", op.Name, enumerate(owned, "and"), f.Name)
			}
		}
	}
}

// holds reports whether a field names in a state who holds the record for a while:
// a step put its caller there on the way, and somewhere a trigger takes it away.
func holds(p *Pass, f *spec.Field, s *spec.State) bool {
	held, known := p.held[f]
	if !known {
		held = heldIn(p, f)
		if p.held == nil {
			p.held = map[*spec.Field]map[*spec.State]bool{}
		}
		p.held[f] = held
	}
	return held[s]
}

// heldIn returns the states for holds.
func heldIn(p *Pass, f *spec.Field) map[*spec.State]bool {
	m := p.Machine
	if !slices.ContainsFunc(m.Operations, func(op *spec.Operation) bool { return takesAway(p, op, f) }) {
		return nil
	}
	var starts []*spec.State
	for _, v := range m.Moves() {
		values, _ := changed(v, f)
		if v.From != nil && slices.ContainsFunc(values, func(x spec.Value) bool { return x.Kind == spec.ValueActor }) {
			starts = append(starts, v.To)
		}
	}
	held := map[*spec.State]bool{}
	follow(leaving(m), starts, func(v spec.Move) bool { _, hit := changed(v, f); return !hit }, func(s *spec.State) bool {
		held[s] = true
		return false
	})
	return held
}

// takesAway reports whether an operation clears the field when a time has come that
// is no matter of days.
func takesAway(p *Pass, op *spec.Operation, f *spec.Field) bool {
	clears := func(e branchEffects) bool {
		return slices.ContainsFunc(e.effects.Clear, func(r spec.FieldRef) bool { return r.Field == f })
	}
	waits := func(t spec.Trigger) bool { return t.After != nil && !ofDays(p, t) }
	return slices.ContainsFunc(op.Triggers, waits) && slices.ContainsFunc(effects(op), clears)
}

// ofDays reports whether a trigger waits for a day or more, as people are waited for.
func ofDays(p *Pass, t spec.Trigger) bool {
	if p.longest == nil {
		p.longest = map[*spec.Field]time.Duration{}
		for _, op := range p.Machine.Operations {
			for _, e := range effects(op) {
				for _, a := range e.effects.Set {
					p.longest[a.Field] = max(p.longest[a.Field], howFar(a.Value))
				}
			}
		}
	}
	wait := p.longest[t.After] + t.Plus
	if t.By != nil {
		wait += usual(spec.Term{Kind: spec.TermField, Field: t.By})
	}
	return wait >= 24*time.Hour
}

// guarded marks the states in which a holder can lose the record, and in which at
// least two operations of callers ask for the holder.
func guarded(p *Pass, f *spec.Field) map[*spec.State]bool {
	lost, asking := map[*spec.State]bool{}, map[*spec.State]int{}
	for _, op := range p.Machine.Operations {
		takes, asked := takesAway(p, op, f), op.By == spec.ByCaller && asks(op, f, spec.Eq)
		if !takes && !asked {
			continue
		}
		for _, from := range op.From {
			lost[from.State] = lost[from.State] || takes
			if asked {
				asking[from.State]++
			}
		}
	}
	in := map[*spec.State]bool{}
	for s := range lost {
		in[s] = lost[s] && asking[s] >= 2 && hasOwner(s, f) && holds(p, f, s)
	}
	return in
}

// hasOwner reports whether the field surely holds somebody in the state.
func hasOwner(s *spec.State, f *spec.Field) bool {
	return !f.Type.Optional || slices.ContainsFunc(s.Present, func(r spec.FieldRef) bool { return r.Field == f })
}

// asks reports whether a guard of the operation compares the actor so with whom the
// field names.
func asks(op *spec.Operation, f *spec.Field, how spec.FactOp) bool {
	return slices.ContainsFunc(op.Require, func(r *spec.Requirement) bool {
		return slices.ContainsFunc(r.When, func(x *spec.Fact) bool {
			return x.Op == how && (x.Left.Field == f && x.Right.Kind == spec.TermActor || x.Right.Field == f && x.Left.Kind == spec.TermActor)
		})
	})
}

// asksActor reports whether any fact of the operation looks at the actor.
func asksActor(op *spec.Operation) bool {
	named := func(x *spec.Fact) bool { _, ok := actorIn(x); return ok }
	// a guard that counts does not ask whose record this is
	asks := func(r *spec.Requirement) bool { return slices.ContainsFunc(r.When, named) }
	return slices.ContainsFunc(facts(op), named) || slices.ContainsFunc(op.Require, asks)
}

// handsOver reports whether an operation gives the record another owner.
func handsOver(op *spec.Operation, f *spec.Field) bool {
	return slices.ContainsFunc(effects(op), func(e branchEffects) bool { return sets(e.effects, f) })
}
