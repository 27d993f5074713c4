package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// askRules look at the effects that one step asks for.
var askRules = []Rule{
	{
		Code: "FSM024", Name: "two effects of one name and key", Severity: spec.Error, Run: doubleAsk, Choice: true,
		Doc: `One step asks for two effects of one name with one key. The application takes the second for a retry of the first, so one of
them is never performed. Each branch asks for the effects of its operation, too. Leave one of them out, or add to a key what
tells them apart.`,
	},
	{
		Code: "FSM111", Name: "only a delivery leaves a state", Severity: spec.Warning, Run: onlyDelivered, Allow: true,
		Doc: `The state is left by ` + "`then`" + ` of an effect alone, and the effect has no ` + "`failed`" + `. It is
tried until it succeeds. Where the receiver says no for good, or the work kills its process, the record stays in the state. Name the step
that follows when the effect gives up, or let a trigger or an operator leave the state.`,
	},
}

// onlyDelivered reports states that a record leaves only when an effect succeeds.
func onlyDelivered(p *Pass) {
	out := exits(p.Machine)
	told := map[*spec.State]bool{}
	for _, op := range p.Machine.Operations {
		for _, v := range op.Moves() {
			e := spec.Waited(v.Asked())
			if e == nil || e.Then == nil || e.Failed != nil || told[v.To] || op.Follower(v.Branch) != nil {
				continue
			}
			ways := out[v.To]
			if len(ways) == 0 || slices.ContainsFunc(ways, func(x spec.Move) bool { return !deliveredOnly(p.Machine, x.Operation) }) {
				continue
			}
			told[v.To] = true
			p.report(finding{
				pos: v.To.Pos, mark: v.To.Name, related: also(e.Then.Pos, "%s follows effect %s", e.Then.Operation.Name, e.Name),
				hint: "name a step under `failed` of effect " + e.Name + ", or let a trigger or an operator leave " + v.To.Name +
					"; where the effect always succeeds in the end, write `allow: {FSM111: <why>}` on " + v.To.Name,
			}, "only %s leaves %s, when effect %s has succeeded: while it fails, the record stays there",
				e.Then.Operation.Name, v.To.Name, e.Name)
		}
	}
}

// deliveredOnly reports whether an operation runs only behind an effect that is performed
// after its transaction.
func deliveredOnly(m *spec.Machine, o *spec.Operation) bool {
	list := m.Leaders(o)
	return len(list) > 0 && o.By == spec.BySystem && len(o.Triggers) == 0 && o.Next == nil &&
		!slices.ContainsFunc(list, func(l spec.Leader) bool { return l.AtOnce })
}

func doubleAsk(p *Pass) {
	told := map[*spec.Effect]bool{}
	for _, op := range p.Machine.Operations {
		for _, v := range op.Moves() {
			asked := v.Asked()
			for i, e := range asked {
				j := slices.IndexFunc(asked[:i], func(x *spec.Effect) bool { return sameAsk(x, e) })
				if j < 0 || told[e] {
					continue
				}
				told[e] = true
				p.report(finding{
					pos: e.NamePos, mark: e.Name, hint: "leave one of them out, or add to a key what tells them apart",
					related: also(asked[j].NamePos, "the first one"),
				},
					"a step of %s asks for effect %s twice with the same key", op.Name, e.Name)
			}
		}
	}
}

// sameAsk reports whether two effects have one name and the same key.
func sameAsk(a, b *spec.Effect) bool {
	return a.Name == b.Name && slices.EqualFunc(a.Key, b.Key, func(x, y spec.FieldRef) bool { return x.Field == y.Field })
}

// follower is an operation that follows steps of another one.
type follower struct {
	ref    *spec.OperationRef
	of     func(v spec.Move) bool // the steps that it follows
	gaveUp bool                   // it follows an effect that gave up, and gets the error
}

// followers lists what follows the steps of an operation: in their transaction, when an
// effect was performed, or when it gave up.
func followers(op *spec.Operation) []follower {
	var list []follower
	if op.Then != nil {
		list = append(list, follower{ref: op.Then, of: func(spec.Move) bool { return true }})
	}
	for _, b := range op.Choose {
		if b.Then != nil {
			list = append(list, follower{ref: b.Then, of: func(v spec.Move) bool { return v.Branch == b }})
		}
	}
	for _, e := range op.AllAsks() {
		asked := func(v spec.Move) bool { return slices.Contains(v.Asked(), e) }
		if e.Then != nil {
			list = append(list, follower{ref: e.Then, of: asked})
		}
		if e.Failed != nil {
			list = append(list, follower{ref: e.Failed, of: asked, gaveUp: true})
		}
	}
	return list
}

func impossibleThen(p *Pass) {
	for _, op := range p.Machine.Operations {
		for _, f := range followers(op) {
			impossible(p, op, f)
		}
	}
}

func impossible(p *Pass, op *spec.Operation, f follower) {
	next := f.ref.Operation
	at := func(hint string) finding {
		return finding{pos: f.ref.Pos, mark: next.Name, hint: hint, related: also(next.Pos, "%s is declared here", next.Name)}
	}
	if len(next.Creates) > 0 {
		p.report(at("name an operation with `from`"), "%s makes a record, so it cannot follow %s", next.Name, op.Name)
		return
	}
	if next.By != spec.BySystem {
		p.report(at("add `by: system` to "+next.Name), "%s is not run by the system, so it cannot follow %s", next.Name, op.Name)
	}
	word := "then"
	if f.gaveUp {
		word = "failed"
	}
	rejects := map[*spec.Input]bool{}
	for _, b := range next.Choose {
		for _, in := range b.Rejects() {
			rejects[in] = true
		}
	}
	for _, in := range next.Inputs {
		none := "a step of `" + word + "` has none"
		if f.gaveUp {
			none = "a step of `failed` has the input `error: string` only"
		}
		switch {
		case f.gaveUp && in.Name == spec.ErrorInput:
			if !in.TakesError() {
				p.report(at("write `"+spec.ErrorInput+": string` under `input` of "+next.Name),
					"%s cannot take the last error as its input %s: it is a text of up to 1000 bytes", next.Name, in.Name)
			}
		case !in.Type.Optional:
			p.report(at("make the input optional, or set the field to a value that needs none"),
				"%s needs the input %s, and %s", next.Name, in.Name, none)
		case rejects[in]:
			p.report(at("set the field to a value that needs no input"),
				"a branch of %s refuses without the input %s, and %s", next.Name, in.Name, none)
		}
	}
	if cycle := thenCycle(op, f); cycle != nil {
		p.report(at(cycle.hint()), "the chain of %s comes back: %s", cycle.keys(), strings.Join(cycle.names, " -> "))
	}
	var states []string
	for _, v := range op.Moves() {
		if f.of(v) && p.Machine.Class(v.To, next) == spec.Reject && !slices.Contains(states, v.To.Name) {
			states = append(states, v.To.Name)
		}
	}
	if len(states) == 0 {
		return
	}
	more := at(fmt.Sprintf("list %s under `from` of %s", enumerate(states, "and"), next.Name))
	if n := len(next.From); n > 0 {
		more.fix = p.Machine.Beside(next.From[n-1].Pos, commas(states))
	}
	p.report(more,
		"%s is not possible in %s, which %s leads to", next.Name, plural("state", states), op.Name)
}

// circle is a chain of steps that comes back to where it began.
type circle struct {
	names        []string
	then, failed bool // what its steps stand under
}

// keys names what the steps stand under.
func (c *circle) keys() string {
	switch {
	case !c.failed:
		return "`then`"
	case !c.then:
		return "`failed`"
	}
	return "`then` and `failed`"
}

// hint says how the chain ends.
func (c *circle) hint() string {
	if !c.failed {
		return "end the chain"
	}
	return "let `failed` lead to a state that a trigger leaves, such as `trigger: [after again_at]`: wait there, then try again"
}

// thenCycle returns the chain that starts with the operation, goes on with one that follows it
// and comes back to the first, or nil. A cycle further on is reported at its own members.
func thenCycle(op *spec.Operation, next follower) *circle {
	seen := map[*spec.Operation]bool{}
	var walk func(f follower) *circle
	walk = func(f follower) *circle {
		o := f.ref.Operation
		if o == op {
			return &circle{names: []string{o.Name}, then: !f.gaveUp, failed: f.gaveUp}
		}
		if seen[o] {
			return nil
		}
		seen[o] = true
		for _, later := range followers(o) {
			if rest := walk(later); rest != nil {
				return &circle{append([]string{o.Name}, rest.names...), rest.then || !f.gaveUp, rest.failed || f.gaveUp}
			}
		}
		return nil
	}
	c := walk(next)
	if c != nil {
		c.names = append([]string{op.Name}, c.names...)
	}
	return c
}
