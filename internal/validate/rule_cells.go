package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// cellRules look at the matrix of states and operations as a graph.
var cellRules = []Rule{
	{
		Code: "FSM101", Name: "unclassified cell", Severity: spec.Error, Run: unclassified,
		Doc: `Every operation can arrive in every state, at the worst moment. Machines go wrong in the cells that nobody thought
of, so each cell is a transition, or recorded only, or rejected. List the state under ` + "`from`" + ` or
` + "`record_only_in`" + ` of the operation, or say for the rest with ` + "`otherwise`" + `, of the state or of the machine.`,
	},
	{
		Code: "FSM102", Name: "nothing creates a record", Severity: spec.Error, Run: noCreation,
		Doc: `Without an operation that has ` + "`creates`" + ` there is never a record, and every other line of the file is about nothing.`,
	},
	{
		Code: "FSM103", Name: "unreachable state", Severity: spec.Error, Run: unreachable,
		Doc: `No chain of operations leads from a creation to the state. Either an operation is missing, or a target is
misspelt, or the state is a leftover; a reader would look for the way in and not find it.`,
	},
	{
		Code: "FSM104", Name: "dead end", Severity: spec.Error, Run: deadEnd,
		Doc: `A record that reaches the state stays there forever, but the state is not marked as an end. Write
` + "`terminal: true`" + ` when it is one, ` + "`final: true`" + ` when it is finished but may be reopened, or add the operation that leaves it.`,
	},
	{
		Code: "FSM105", Name: "terminal state is left", Severity: spec.Error, Run: terminalLeft,
		Doc: `A terminal record is frozen: readers, archives and ` + "`Purge`" + ` rely on it. An operation that may start in a
terminal state breaks that promise, also with ` + "`to: same`" + `. A finished state that operators may reopen is ` + "`final`" + `; a call that should
be noted and change nothing belongs under ` + "`record_only_in`" + `.`,
	},
	{
		Code: "FSM106", Name: "only the owner can leave a state", Severity: spec.Warning, Run: ownerOnly, Allow: true,
		Doc: `Every way out of the state is guarded by ` + "`field == actor`" + `, and the field names a holder: an operation puts its caller there,
and elsewhere a trigger takes the record away from whom it names. Workers die, and when the holder dies in this state the
record stays where it is. Give the state one way out that somebody else can take: a ` + "`by: system`" + ` operation with a trigger after the
lease, or one for operators. People may take as long as they like: an owner since the creation is no holder, nor is one
who has a day or more.`,
	},
	{
		Code: "FSM107", Name: "`then` or `failed` step that always fails", Severity: spec.Error, Run: impossibleThen, Choice: true,
		Doc: `The step of ` + "`then`" + ` runs in the same transaction, by the system and without inputs; when it is refused,
everything rolls back. A step that is always refused after the first operation makes that operation fail each time. Within an
effect, ` + "`then`" + ` and ` + "`failed`" + ` run by the system, too, when it was performed or gave up. ` + "`failed`" + ` may have one input,
` + "`error: string`" + `. Where such a step is always refused, the delivery never ends.`,
	},
	{
		Code: "FSM108", Name: "allowed and forbidden", Severity: spec.Error, Run: allowedForbidden,
		Doc: `A line under ` + "`forbidden`" + ` states a move that must never become possible, and an operation makes it. One of the two
lines is wrong. The author of the forbidden line knows which, and its reason helps to decide.`,
	},
	{
		Code: "FSM112", Name: "a path that `after` forbids", Severity: spec.Error, Run: forbiddenPaths,
		Doc: `A line ` + "`{after: a, to: b}`" + ` under ` + "`forbidden`" + ` says that a record which has been in a never comes to b, and steps lead there. The
finding lists the shortest way. It looks at states, branches and what can never happen, not at fields: a way that only
values close is reported, too. Take one of its steps away, or split a state so that the past of a record shows in its name.`,
	},
}

func unclassified(p *Pass) {
	m := p.Machine
	for _, op := range m.Operations {
		if len(op.Creates) > 0 {
			continue
		}
		var states []string
		for i, class := range m.Row(op) {
			if class == spec.Unclassified {
				states = append(states, m.States[i].Name)
			}
		}
		if len(states) > 0 {
			p.report(finding{pos: op.Pos, mark: op.Name, hint: fmt.Sprintf(
				"list %s under `from` or `record_only_in` of %s, or write `otherwise: reject` (or record_only) for the machine or the state", enumerate(states, "and"), op.Name)},
				"%s has no rule for %s", op.Name, plural("the state", states))
		}
	}
}

func noCreation(p *Pass) {
	if !hasCreation(p.Machine) {
		p.report(finding{pos: p.Machine.Pos, mark: p.Machine.Name, hint: "add an operation with `creates: <state>`"},
			"no operation creates a record of machine %s", p.Machine.Name)
	}
}

func hasCreation(m *spec.Machine) bool {
	return slices.ContainsFunc(m.Operations, func(op *spec.Operation) bool { return len(op.Creates) > 0 })
}

// reached marks the states that a chain of operations leads to.
func reached(m *spec.Machine) map[*spec.State]bool {
	seen := make(map[*spec.State]bool)
	next := make(map[*spec.State][]*spec.State)
	var queue []*spec.State
	visit := func(s *spec.State) {
		if !seen[s] {
			seen[s] = true
			queue = append(queue, s)
		}
	}
	for _, v := range m.Moves() {
		if v.From == nil {
			visit(v.To)
		} else {
			next[v.From.State] = append(next[v.From.State], v.To)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, s := range next[queue[0]] {
			visit(s)
		}
	}
	return seen
}

func unreachable(p *Pass) {
	if !hasCreation(p.Machine) {
		return // FSM102 says why nothing can be reached
	}
	seen := reached(p.Machine)
	for _, s := range p.Machine.States {
		if !seen[s] {
			hint := "add an operation with `to: " + s.Name + "`, or remove the state"
			if slices.ContainsFunc(p.Machine.Operations, func(o *spec.Operation) bool { return leadsTo(o, s) }) {
				hint += " with the moves that lead to it"
			}
			p.report(finding{pos: s.Pos, mark: s.Name, hint: hint},
				"%s can never be reached: no operation leads there from a state that can be reached", s.Name)
		}
	}
}

// leadsTo reports whether an operation names the state as a target, whether or not a
// record ever comes there.
func leadsTo(op *spec.Operation, s *spec.State) bool {
	is := func(r *spec.StateRef) bool { return r != nil && r.State == s }
	return is(op.To) || slices.ContainsFunc(op.Choose, func(b *spec.Branch) bool { return is(b.To) })
}

// exits lists the moves that lead out of each state.
func exits(m *spec.Machine) map[*spec.State][]spec.Move {
	out := make(map[*spec.State][]spec.Move, len(m.States))
	for _, v := range m.Moves() {
		if v.From != nil && v.Leaves() {
			out[v.From.State] = append(out[v.From.State], v)
		}
	}
	return out
}

func deadEnd(p *Pass) {
	seen, out := reached(p.Machine), exits(p.Machine)
	for _, s := range p.Machine.States {
		if s.Terminal || s.Final || !seen[s] {
			continue // an unreachable state has a finding of its own
		}
		if len(out[s]) == 0 {
			hint := "add `terminal: true` (or `final: true`) to " + s.Name + ", or an operation with `from: " + s.Name + "`"
			if slices.ContainsFunc(p.Machine.Operations, func(o *spec.Operation) bool { return listed(s, o.From) }) { // it stays
				hint = "add `final: true` to " + s.Name + ", or let an operation lead to another state"
			}
			p.report(finding{pos: s.Pos, mark: s.Name, hint: hint},
				"no operation leaves %s, and it is not terminal", s.Name)
		}
	}
}

func terminalLeft(p *Pass) {
	for _, op := range p.Machine.Operations {
		for _, from := range op.From {
			if from.State.Terminal {
				p.report(finding{pos: from.Pos, mark: from.State.Name, related: also(from.State.Pos, "%s is declared here", from.State.Name),
					hint: fmt.Sprintf("take %s out of `from` of %s, or write `final: true` instead of `terminal: true`", from.State.Name, op.Name)},
					"%s leaves %s, which is terminal (line %d)", op.Name, from.State.Name, from.State.Pos.Line)
			}
		}
	}
}

func ownerOnly(p *Pass) {
	out := exits(p.Machine)
	for _, s := range p.Machine.States {
		if s.Terminal || s.Final || len(out[s]) == 0 {
			continue
		}
		var owners []string
		free := false
		for _, x := range out[s] {
			// A system operation has no actor to be the owner: FSM012 speaks of it.
			if f := ownerOf(x.Operation, x.Branch); f != nil && x.Operation.By != spec.BySystem && holds(p, f, s) {
				if is := "`" + f.Name + " == actor`"; !slices.Contains(owners, is) {
					owners = append(owners, is)
				}
			} else {
				free = true
			}
		}
		if !free {
			p.report(finding{pos: s.Pos, mark: s.Name, hint: "add a `by: system` operation with `from: " + s.Name + "` and a trigger, e.g. after the lease"},
				"only the owner (%s) can leave %s: if it dies, the record stays there", strings.Join(owners, " or "), s.Name)
		}
	}
}

// ownerOf returns the field that must be the actor for the operation to take
// the branch, or nil.
func ownerOf(op *spec.Operation, branch *spec.Branch) *spec.Field {
	var needed []*spec.Fact
	for _, r := range op.Require {
		needed = append(needed, r.When...)
	}
	if branch != nil {
		needed = append(needed, branch.When...)
	}
	for _, f := range needed {
		if f.Op != spec.Eq {
			continue
		}
		a, b := f.Left, f.Right
		if a.Kind == spec.TermActor {
			a, b = b, a
		}
		if a.Kind == spec.TermField && b.Kind == spec.TermActor {
			return a.Field
		}
	}
	return nil
}

func allowedForbidden(p *Pass) {
	type pair struct{ from, to *spec.State }
	forbidden := make(map[pair][]*spec.Forbidden)
	for _, f := range p.Machine.Forbidden {
		if f.After {
			continue
		}
		forbidden[pair{f.From.State, f.To.State}] = append(forbidden[pair{f.From.State, f.To.State}], f)
	}
	for _, v := range p.Machine.Moves() {
		for _, f := range forbidden[pair{v.Source(), v.To}] {
			reason := ""
			if f.Reason != "" {
				reason = ": " + f.Reason
			}
			mark, of, hint := outOf(v)
			hint += ", or remove the line under `forbidden`"
			p.report(finding{pos: v.From.Pos, mark: mark, related: also(f.Pos, "forbidden here%s", reason), hint: hint},
				"%s makes the transition %s%s -> %s, which line %d forbids", v.Operation.Name, v.Source().Name, of, v.To.Name, f.Pos.Line)
		}
	}
}

// outOf says how to take a move away: what stands in `from`, of which group, and the hint.
func outOf(v spec.Move) (mark, of, hint string) {
	from, op := v.Source().Name, v.Operation.Name
	mark, hint = from, fmt.Sprintf("take %s out of `from` of %s", from, op)
	if g := v.From.Group; g != nil {
		mark, of = g.Name, " of "+g.Name
		hint = fmt.Sprintf("list the states of %s without %s in its place in `from` of %s", g.Name, from, op)
	}
	if v.Branch != nil {
		hint = fmt.Sprintf("keep %s out of the branch in line %d of %s: by its `from`, by its `when`, or by a branch above it",
			from, v.Branch.Pos.Line, op)
	}
	return mark, of, hint
}

// forbiddenPaths looks for the shortest way along which a record comes to a state after one
// that rules it out.
func forbiddenPaths(p *Pass) {
	var moves []spec.Move
	for _, v := range p.Machine.Moves() {
		if v.Source() != nil && v.Source() != v.To {
			moves = append(moves, v)
		}
	}
	for _, f := range p.Machine.Forbidden {
		if !f.After {
			continue
		}
		path := shortest(moves, f.From.State, f.To.State)
		if path == nil {
			continue
		}
		text, last := f.From.State.Name, path[len(path)-1]
		for _, v := range path {
			text += " -> " + v.To.Name + " (" + v.Operation.Name + ")"
		}
		_, _, hint := outOf(last)
		p.report(finding{pos: f.Pos, related: also(last.From.Pos, "the last step"), hint: hint + ", or remove this line under `forbidden`"},
			"%s comes to %s after %s: %s", p.Machine.Entity, f.To.State.Name, f.From.State.Name, text)
	}
}

// shortest returns the fewest moves that lead from a state to another one, or back to it; nil
// when none do.
func shortest(moves []spec.Move, from, to *spec.State) []spec.Move {
	came := map[*spec.State]*spec.Move{}
	for next := []*spec.State{from}; len(next) > 0; next = next[1:] {
		for i := range moves {
			v := &moves[i]
			if v.Source() != next[0] || came[v.To] != nil {
				continue
			}
			came[v.To] = v
			if v.To != to {
				next = append(next, v.To)
				continue
			}
			path := []spec.Move{*v}
			for s := v.Source(); s != from; s = path[0].Source() {
				path = slices.Insert(path, 0, *came[s])
			}
			return path
		}
	}
	return nil
}
