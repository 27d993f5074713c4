package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// askText says when an effect is performed, and what follows it.
func askText(n *names, e *spec.Effect) string {
	method := spec.MethodName(e.Name)
	switch {
	case e.Other != nil:
		return fmt.Sprintf("The %s that %s names takes the step %s in the same transaction", e.Other.Use.Name, list(fieldNames(e.Key), "and"), e.Other.Do)
	case n.alone:
		return fmt.Sprintf("[Effects.%s] is asked for", method)
	case e.Atomic:
		return fmt.Sprintf("[Effects.%s] is performed in the same transaction", method)
	}
	text := fmt.Sprintf("[Effects.%s] is performed after the commit", method)
	if e.Then != nil {
		text += ", and " + n.op(e.Then.Operation).Method + " follows"
	}
	switch {
	case e.Failed == nil:
	case e.Then != nil:
		text += ", or " + n.op(e.Failed.Operation).Method + " when it gave up"
	default:
		text += ", and " + n.op(e.Failed.Operation).Method + " follows when it gave up"
	}
	return text
}

// endText says how an effect gives up, and what follows.
func endText(n *names, e *spec.Effect) string {
	text := "When it returns an error of fsm.GiveUp"
	switch {
	case e.Attempts == 1:
		text += ", or its only try fails"
	case e.Attempts > 1:
		text += fmt.Sprintf(", or %d tries have failed", e.Attempts)
	}
	return text + "<>, " + n.op(e.Failed.Operation).Method + " follows: it may be done all the same."
}

// followText says what follows a step in its transaction.
func followText(n *names, r *spec.OperationRef) string {
	return n.op(r.Operation).Method + " follows in the same transaction"
}

// branchAsks says what a branch asks for, and what follows it.
func branchAsks(n *names, b *spec.Branch) string {
	text := ""
	for _, e := range b.Asks {
		text += "; " + askText(n, e)
	}
	if b.Then != nil && !n.alone {
		text += "; " + followText(n, b.Then)
	}
	return text
}

// asker is what asks for an effect: an operation, or entering or leaving a place.
type asker struct {
	who  string
	step string // what follows the delivery; empty: nothing
	ends string // how it gives up, and what follows that; <> stands for who; empty: never
}

// askedBy lists what asks for an effect, and of what its keys are made.
func askedBy(m *spec.Machine, n *names, e *spec.Effect) (users []asker, keys []string) {
	asked := func(who string, asks []*spec.Effect) {
		user := asker{who: who}
		asks = slices.DeleteFunc(slices.Clone(asks), func(x *spec.Effect) bool { return x.Name != e.Name })
		for _, x := range asks {
			key := "machine, id, revision and name"
			if len(x.Key) > 0 {
				key = list(fieldNames(x.Key), "and")
			}
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
			if x.Then != nil {
				user.step = n.op(x.Then.Operation).Method
			}
			if x.Failed != nil {
				user.ends = endText(n, x)
			}
		}
		if len(asks) > 0 {
			users = append(users, user)
		}
	}
	for _, p := range m.Places() {
		asked("entering "+p.Name, p.Enter)
		asked("leaving "+p.Name, p.Exit)
	}
	for _, o := range m.Operations {
		asks := slices.Clone(o.Asks)
		for _, b := range o.Choose {
			asks = append(asks, b.Asks...)
		}
		asked(n.op(o).Method+askedWhere(o, e), asks)
	}
	return users, keys
}

// effectDoc says which steps ask for an effect, when it runs, and what follows it.
func effectDoc(m *spec.Machine, n *names, e *spec.Effect) string {
	users, keys := askedBy(m, n, e)
	followed, steps := map[string][]asker{}, []string{}
	for _, u := range users {
		if followed[u.step] == nil {
			steps = append(steps, u.step)
		}
		followed[u.step] = append(followed[u.step], u)
	}
	text := fmt.Sprintf("%s is the effect of %s; key is made of %s.",
		spec.MethodName(e.Name), askers(users, "of"), strings.Join(keys, "; or of "))
	if e.Atomic {
		return text + " It runs in the transaction of the step: its writes through tx are committed with the step or not at all, " +
			"and an error takes the step back. " +
			"It may run again after a conflict, so whatever it does outside tx is not covered."
	}
	text += " It runs after the commit, at least once: again after an error and after a crash, so it must recognise a key that it has seen."
	for _, step := range steps {
		switch {
		case step == "":
		case len(steps) == 1:
			text += fmt.Sprintf(" When it has returned without an error, %s follows.", step)
		default:
			text += fmt.Sprintf(" When it has returned without an error for %s, %s follows.", askers(followed[step], "for"), step)
		}
	}
	ended, ends := map[string][]asker{}, []string{}
	for _, u := range users {
		if ended[u.ends] == nil {
			ends = append(ends, u.ends)
		}
		ended[u.ends] = append(ended[u.ends], u)
	}
	for _, end := range ends {
		who := ""
		if len(ends) > 1 {
			who = " for " + askers(ended[end], "for")
		}
		text += strings.TrimRight(" "+strings.Replace(end, "<>", who, 1), " ")
	}
	return text
}

// askers lists steps that ask for an effect; word stands before each where branches are told.
func askers(users []asker, word string) string {
	names := make([]string, len(users))
	told := false
	for i, u := range users {
		names[i], told = u.who, told || strings.Contains(u.who, " where ")
	}
	if told {
		return strings.Join(names, " and "+word+" ")
	}
	return list(names, "and")
}

// askedWhere says which branches of an operation ask for an effect; empty: each step does.
func askedWhere(o *spec.Operation, e *spec.Effect) string {
	in := func(x *spec.Effect) bool { return x.Name == e.Name }
	if slices.ContainsFunc(o.Asks, in) {
		return ""
	}
	var ends []string
	for _, b := range o.Choose {
		end := "stays where it is"
		if !b.Same && b.To != nil {
			end = "leads to " + b.To.State.Name
		}
		if slices.ContainsFunc(b.Asks, in) && !slices.Contains(ends, end) {
			ends = append(ends, end)
		}
	}
	return " where it " + list(ends, "or")
}
