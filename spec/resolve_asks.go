package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// bindAsks binds the effects of an operation and of its branches, and what follows
// them and the operation itself.
func (r *resolver) bindAsks(o *Operation, a *astOperation) {
	o.Asks = r.asks(a.asks)
	o.Then = r.follower(a.then)
	for i, e := range o.Asks {
		if e.Waits() && o.Then != nil {
			r.twoFollowers(o, a.asks[i], a.keys["then"])
		}
	}
	if o.Then != nil && len(a.asks) > 0 {
		r.oldFollower(o, a)
	}
}

// asks binds effects.
func (r *resolver) asks(list []*astEffect) []*Effect {
	var out []*Effect
	for _, a := range list {
		e := &Effect{
			Pos: a.pos, NamePos: a.name.pos, Name: a.name.text, Key: r.effectKey(a.key),
			Atomic: a.atomic, Then: r.follower(a.then), More: a.more,
			Attempts: a.attempts, Failed: r.follower(a.failed),
		}
		r.otherStep(e, a)
		if e.Atomic && e.Then != nil && e.Other == nil {
			r.add(codeTogether, a.thenAt, len("then"), "write `then` beside the effect: that step follows in the same transaction",
				"effect %s is atomic, so no step can wait for its delivery", e.Name)
		}
		r.givesUp(e, a)
		out = append(out, e)
	}
	return out
}

// givesUp reports what does not go with `attempts` and `failed`.
func (r *resolver) givesUp(e *Effect, a *astEffect) {
	key, at := "failed", a.failedAt
	if a.attempts > 0 {
		key, at = "attempts", a.attemptsAt
	}
	switch {
	case a.attempts == 0 && !a.failed.given() || e.Other != nil: // which is told
	case e.Atomic:
		r.add(codeTogether, at, len(key), "take `atomic` or `"+key+"` away",
			"effect %s is atomic, so it does not give up: its error takes the step back", e.Name)
	case !a.failed.given():
		r.add(codeTogether, at, len(key), "name under `failed` the step that runs then, or leave `attempts` out: it is tried until it succeeds",
			"effect %s gives up after %s, and nothing follows that", e.Name, tries(a.attempts))
	}
}

// tries counts tries in words.
func tries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}

func (r *resolver) follower(w word) *OperationRef {
	if !w.given() {
		return nil
	}
	if then, ok := lookup(r, &r.operations, w); ok {
		return &OperationRef{w.pos, then}
	}
	return nil
}

// bindBranchAsks binds the effects of a branch, and what follows it.
func (r *resolver) bindBranchAsks(o *Operation, b *astBranch, out *Branch) {
	out.Asks, out.Then = r.asks(b.asks), r.follower(b.then)
	if out.Then == nil {
		for _, e := range out.Asks {
			if o.Then != nil && !e.Atomic {
				r.add(codeTogether, e.Pos, 1, "leave `then` of the operation to the other branches, or write it within the effect",
					"operation %s: `then` is a step of the same transaction, and effect %s is performed after that", o.Name, e.Name).
					related(o.Then.Pos, "%s follows each step", o.Then.Operation.Name)
				return
			}
		}
		return
	}
	if o.Then != nil {
		r.add(codeTogether, b.keys["then"], len("then"), "keep it at each branch that needs it, or at the operation for all",
			"operation %s: `then` stands at the operation and at this branch", o.Name).
			related(o.Then.Pos, "%s follows each step here", o.Then.Operation.Name)
	}
	for _, e := range slices.Concat(o.Asks, out.Asks) {
		if e.Atomic {
			continue
		}
		hint := "write it within the effect: `effect: {name: " + e.Name + ", then: " + out.Then.Operation.Name + "}`"
		if slices.Contains(o.Asks, e) {
			hint = "move the effect to the branches that have no `then`"
		}
		r.add(codeTogether, b.keys["then"], len("then"), hint,
			"operation %s: `then` is a step of the same transaction, and effect %s is performed after that", o.Name, e.Name).
			related(e.Pos, "the effect")
		return
	}
}

// twoFollowers reports a step that another one follows at once, and one more later.
func (r *resolver) twoFollowers(o *Operation, a *astEffect, then Pos) {
	if !a.then.given() {
		r.add(codeTogether, a.failedAt, len("failed"), "keep one of them",
			"operation %s: `failed` stands in effect %s, and `then` beside it, which drops the delivery", o.Name, a.name.text).
			related(then, "beside it")
		return
	}
	r.add(codeTogether, a.thenAt, len("then"), "keep one of them",
		"operation %s: `then` stands in effect %s and beside it", o.Name, a.name.text).
		related(then, "beside it")
}

// oldFollower reports `then` beside an effect that is performed after the transaction, and
// offers to write it within the effect.
func (r *resolver) oldFollower(o *Operation, a *astOperation) {
	var after *Effect
	for _, e := range o.Asks {
		if !e.Atomic && after == nil {
			after = e
		}
		if e.Waits() {
			return // told already
		}
	}
	if after == nil {
		return
	}
	next := o.Then.Operation.Name
	d := r.add(codeTogether, a.keys["then"], len("then"), "write it within the effect: `effect: {name: "+after.Name+", then: "+next+"}`",
		"operation %s: `then` is a step of the same transaction, and effect %s is performed after that", o.Name, after.Name)
	d.related(after.Pos, "the effect")
	if out, in := r.m.Without(o.Then.Pos), r.m.After(after.NamePos, "then: "+next); out != nil && in != nil {
		d.Fix = append(out, in...)
	}
}

// bindPlaces binds the effects of states and groups, and tells the operations of them. It runs
// when all branches are bound.
func (r *resolver) bindPlaces() {
	for i, a := range r.ast.groups {
		r.m.Groups[i].Enter, r.m.Groups[i].Exit = r.asks(a.enter), r.asks(a.exit)
	}
	for i, a := range r.ast.states {
		r.m.States[i].Enter, r.m.States[i].Exit = r.asks(a.enter), r.asks(a.exit)
	}
	r.borders()
}

// checkAsks reports steps that ask for what does not go together.
func (r *resolver) checkAsks() {
	told := map[*Effect]bool{}
	for _, o := range r.m.Operations {
		r.checkSteps(o, told)
	}
	asked := map[*Effect]bool{}
	for _, o := range r.m.Operations {
		for _, e := range o.AllAsks() {
			asked[e] = true
		}
	}
	for _, p := range r.m.Places() {
		r.checkBorder(p, "enters", p.Enter, asked)
		r.checkBorder(p, "leaves", p.Exit, asked)
	}
}

// checkBorder reports effects of a state or a group that no step asks for.
func (r *resolver) checkBorder(p *Place, how string, effects []*Effect, asked map[*Effect]bool) {
	for _, e := range effects {
		if !asked[e] {
			r.add(codeTogether, e.NamePos, len(e.Name), "take the effect away, or write it on the operation that is meant",
				"no step %s %s, so nothing asks for effect %s", how, p.Name, e.Name)
		}
	}
}

func (r *resolver) checkSteps(o *Operation, told map[*Effect]bool) {
	for _, v := range o.Moves() {
		asked := v.Asked()
		first := Waited(asked)
		for _, e := range asked {
			if e.Waits() && e != first && !told[e] {
				told[e] = true
				r.add(codeTogether, waiter(e).Pos, len(waiter(e).Operation.Name),
					"let one effect of the step have `then` or `failed`: when its record goes on, the other delivery is dropped",
					"operation %s: a step waits for one effect at most, and would wait for %s and for %s", o.Name, first.Name, e.Name).
					related(waiter(first).Pos, "the step after %s", first.Name)
			}
		}
		if at := o.Follower(v.Branch); at != nil && first != nil && !told[first] && slices.ContainsFunc(o.Places, func(p *Place) bool {
			return slices.Contains(p.Enter, first) || slices.Contains(p.Exit, first)
		}) {
			told[first] = true
			r.add(codeTogether, waiter(first).Pos, len(waiter(first).Operation.Name),
				"take one of both away: when its record goes on, the delivery is dropped",
				"operation %s: %s follows its step at once, and %s would follow effect %s",
				o.Name, at.Operation.Name, waiter(first).Operation.Name, first.Name).
				related(at.Pos, "the step that follows at once")
		}
	}
	for _, e := range o.AllAsks() {
		f := o.Ask(e.Name)
		if f != e && !told[e] && followerOf(f) != followerOf(e) {
			pos, mark := e.NamePos, e.Name
			r.add(codeTogether, pos, len(mark), "give one of them another name, or the same `then`, `attempts` and `failed`",
				"operation %s: effect %s is followed by %s here and by %s in another step: nothing tells its deliveries apart",
				o.Name, e.Name, followerOf(e), followerOf(f)).related(f.NamePos, "the other step")
		}
	}
}

// waiter returns a step that waits for an effect.
func waiter(e *Effect) *OperationRef { return cmp.Or(e.Then, e.Failed) }

// followerOf says what follows an effect.
func followerOf(e *Effect) string {
	var list []string
	if e.Then != nil {
		list = append(list, e.Then.Operation.Name)
	}
	if e.Failed != nil {
		failed := e.Failed.Operation.Name
		if e.Attempts > 0 {
			failed += " after " + tries(e.Attempts)
		}
		list = append(list, failed)
	}
	return cmp.Or(strings.Join(list, " or "), "nothing")
}

// checkAtomic reports effects of one name of which some are atomic and some are not: they
// are one method of the application.
func (r *resolver) checkAtomic() {
	first := map[string]*Effect{}
	for _, e := range r.m.AllEffects() {
		switch f := first[e.Name]; {
		case f == nil:
			first[e.Name] = e
		case f.Atomic != e.Atomic:
			r.add(codeTogether, e.NamePos, len(e.Name), "give one of them another name",
				"effect %s is atomic in one place and not in another, and it is one method of the application", e.Name).
				related(f.NamePos, "the other place")
		}
	}
}
