package diff

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

const droppedNow = "deliver what waits in the outbox before the change: a delivery that a step follows is dropped when its record goes on"

const askedTwice = "deliver what waits in the outbox before the change; " +
	"an effect that was delivered under the old key may come again under the new one"

// asks compares the effects that an operation and its branches ask for, by their names. Gone is
// the code of one that is lost.
func (c *comparison) asks(o, n *spec.Operation, gone string) {
	c.askOrder(o, n)
	old, next := askList(o), askList(n)
	if len(old) == 1 && len(next) == 1 && old[0].Name != next[0].Name {
		c.report(gone, at{old[0].Pos, next[0].Pos}, askedTwice, "the effect of %s is %s, it was %s", n.Name, next[0].Name, old[0].Name)
		c.ask(o, n, old[0], next[0])
		return
	}
	for _, p := range pairUp(old, next, func(e *spec.Effect) string { return e.Name }) {
		a, b := p.old, p.next
		switch {
		case a == nil:
			hint := "implement it in Effects; records that are past it do not get it"
			if b.Other != nil {
				hint = "records that are past it do not move the other one"
			}
			c.report("FSM710", at{o.Pos, b.Pos}, hint, "%s has the effect %s", n.Name, b.Name)
		case b == nil && n.Ask(a.Name) != nil:
			c.report("FSM710", at{a.Pos, n.Pos}, "", "effect %s is asked for by other steps of %s", a.Name, n.Name)
		case b == nil && a.Other != nil:
			c.report("FSM710", at{a.Pos, n.Pos}, "nothing moves the other record any longer", "%s no longer has the effect %s", n.Name, a.Name)
		case b == nil:
			c.report(gone, at{a.Pos, n.Pos}, "deliver what waits in the outbox before the change: nothing performs it afterwards",
				"%s no longer has the effect %s", n.Name, a.Name)
		default:
			c.ask(o, n, a, b)
		}
	}
}

// lost reports the effects of states and groups that no step of an operation asks for any more:
// a delivery that waits is found by its operation.
func (c *comparison) lost(o, n *spec.Operation) {
	own := askList(o)
	for _, e := range o.AllAsks() {
		if n.Ask(e.Name) == nil && !slices.ContainsFunc(own, func(x *spec.Effect) bool { return x.Name == e.Name }) {
			own = append(own, e)
			c.report("FSM712", at{e.Pos, n.Pos}, "deliver what waits in the outbox before the change: nothing performs it afterwards",
				"%s no longer has the effect %s", n.Name, e.Name)
		}
	}
}

// askList lists the effects of an operation and of its branches, each name once.
func askList(o *spec.Operation) (list []*spec.Effect) {
	add := func(asks []*spec.Effect) {
		for _, e := range asks {
			if !slices.ContainsFunc(list, func(x *spec.Effect) bool { return x.Name == e.Name }) {
				list = append(list, e)
			}
		}
	}
	add(o.Asks)
	for _, b := range o.Choose {
		add(b.Asks)
	}
	return list
}

// ask compares one effect.
func (c *comparison) ask(o, n *spec.Operation, a, b *spec.Effect) {
	where := at{a.Pos, b.Pos}
	if x, y := otherWord(a), otherWord(b); x != y {
		c.report("FSM710", where, "", "effect %s is %s, it was %s", b.Name, y, x)
		return
	}
	old, next := askings(o, a.Name), askings(n, b.Name)
	x, y := rekeyed(old, next)
	switch {
	case x != nil:
		c.report("FSM712", at{x.Pos, y.Pos}, askedTwice, "the key of effect %s is %s, it was %s", b.Name, keyText(y, fieldName), keyText(x, fieldName))
	case len(b.Key) == 1 && b.Key[0].Field.Type.Optional && !a.Key[0].Field.Type.Optional:
		c.report("FSM712", where, "make the field mandatory, or add `id` to the key",
			"the key of effect %s is %q where %s is absent, which it could not be: such effects share one key", b.Name, "-", b.Key[0].Field.Name)
	case !slices.EqualFunc(old, next, asking.is):
		c.report("FSM710", where, "records that are past the step do not get it", "effect %s is asked for by other steps of %s", b.Name, n.Name)
	}
	if a.Atomic != b.Atomic {
		word := "runs after the commit, it ran within"
		if b.Atomic {
			word = "runs within the commit, it ran after"
		}
		c.report("FSM712", where, askedTwice, "effect %s %s", b.Name, word)
	}
	switch x, y := followWord(a.Then), followWord(b.Then); {
	case x == y:
	case !a.Waits():
		c.report("FSM712", where, droppedNow,
			"effect %s is followed by %s, it was followed by %s", b.Name, y, x)
	default:
		c.report("FSM710", where, "", "effect %s is followed by %s, it was followed by %s", b.Name, y, x)
	}
	c.ends(where, a, b)
}

// ends compares how an effect gives up.
func (c *comparison) ends(where at, a, b *spec.Effect) {
	switch x, y := followWord(a.Failed), followWord(b.Failed); {
	case x == y:
	case !a.Waits() && b.Waits() && b.Then == nil:
		c.report("FSM712", where, droppedNow,
			"when effect %s gives up, %s follows; it never gave up", b.Name, y)
	case a.Failed == nil:
		c.report("FSM710", where, "", "when effect %s gives up, %s follows; it never gave up", b.Name, y)
	case b.Failed == nil:
		c.report("FSM710", where, "what waits in the outbox is tried until it succeeds",
			"effect %s never gives up, it gave up with %s", b.Name, x)
	default:
		c.report("FSM710", where, "", "when effect %s gives up, %s follows, it was %s", b.Name, y, x)
	}
	if a.Failed != nil && b.Failed != nil && a.Attempts != b.Attempts {
		c.report("FSM710", where, "it holds for what waits in the outbox, too",
			"effect %s is tried %s, it was tried %s", b.Name, often(b), often(a))
	}
}

// often says how often an effect is tried.
func often(e *spec.Effect) string {
	switch e.Attempts {
	case 0:
		return "until it succeeds or gives up itself"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", e.Attempts)
}

// asking is a place where steps ask for an effect: all of an operation, or those of one branch.
type asking struct {
	step string
	*spec.Effect
}

func (x asking) is(y asking) bool {
	return x.step == y.step && keyText(x.Effect, fieldWord) == keyText(y.Effect, fieldWord)
}

// askings lists where an operation asks for an effect, sorted by the steps.
func askings(o *spec.Operation, name string) (list []asking) {
	add := func(step string, asks []*spec.Effect) {
		for _, e := range asks {
			if e.Name == name {
				list = append(list, asking{step, e})
			}
		}
	}
	add("all", o.Asks)
	for _, b := range o.Choose {
		add(stepWords(b), b.Asks)
	}
	slices.SortStableFunc(list, func(x, y asking) int { return cmp.Compare(x.step, y.step) })
	return list
}

// stepWords tells the steps of a branch by when they are taken.
func stepWords(b *spec.Branch) string {
	return fmt.Sprintf("from %q when %q", stateWords(b.From), sorted(b.When, factWords))
}

// rekeyed returns an effect whose key is gone, and one that stands in its place: at the same
// step, or at any where that step asks for none.
func rekeyed(old, next []asking) (lost, now *spec.Effect) {
	for _, x := range old {
		mates := slices.DeleteFunc(slices.Clone(next), func(y asking) bool { return y.step != x.step })
		if len(mates) == 0 {
			mates = next
		}
		key := keyText(x.Effect, fieldWord)
		if slices.ContainsFunc(mates, func(y asking) bool { return keyText(y.Effect, fieldWord) == key }) {
			continue
		}
		fresh := slices.IndexFunc(mates, func(y asking) bool { return !slices.ContainsFunc(old, y.is) })
		return x.Effect, mates[max(fresh, 0)].Effect
	}
	return nil, nil
}

// keyText tells the key of an effect.
func keyText(e *spec.Effect, word func(spec.FieldRef) string) string {
	if len(e.Key) > 0 {
		return names(e.Key, word)
	}
	return "machine, id, revision and name"
}

// askOrder compares the order in which steps ask for effects.
func (c *comparison) askOrder(o, n *spec.Operation) {
	order := func(o *spec.Operation) map[string][]string {
		list := map[string][]string{"all": askNames(o.Asks)}
		for _, b := range o.Choose {
			list[stepWords(b)] = askNames(b.Asks)
		}
		return list
	}
	old, next := order(o), order(n)
	for step, x := range old {
		if y := next[step]; !slices.Equal(x, y) && slices.Equal(slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))) {
			c.report("FSM710", at{o.Pos, n.Pos}, "", "the effects of %s run in another order", n.Name)
			return
		}
	}
}

func askNames(asks []*spec.Effect) (names []string) {
	for _, e := range asks {
		names = append(names, e.Name)
	}
	return names
}

func followWord(r *spec.OperationRef) string {
	if r == nil {
		return "nothing"
	}
	return r.Operation.Stored()
}

// then compares what follows the steps of an operation in their transaction.
func (c *comparison) then(o, n *spec.Operation) {
	if a, b := followWord(o.Then), followWord(n.Then); a != b {
		c.report("FSM710", at{o.Pos, n.Pos}, "", "%s is followed by %s, it was followed by %s", n.Name, b, a)
	}
	branches := func(o *spec.Operation) []string {
		var list []string
		for _, b := range o.Choose {
			if b.Then != nil {
				list = append(list, branchWords(b)+" then "+followWord(b.Then))
			}
		}
		return list
	}
	if !slices.Equal(branches(o), branches(n)) {
		c.report("FSM710", at{o.Pos, n.Pos}, "", "other operations follow the branches of %s", n.Name)
	}
}

// otherWord says of which machine's record an effect is a step.
func otherWord(e *spec.Effect) string {
	x := e.Other
	if x == nil {
		return "performed by the program"
	}
	text := fmt.Sprintf("the step %s of machine %s, of the record %s", x.Do, x.Use.Name, comma(fieldWords(e.Key)))
	for _, p := range sorted(x.Passes, func(p spec.Pass) string { return p.Input + " = " + fieldWord(p.Field) }) {
		text += ", with " + p
	}
	return text
}

// uses compares the machines that are used: Open takes each of them.
func (c *comparison) uses() {
	for _, p := range pairUp(c.old.Uses, c.next.Uses, func(u *spec.Use) string { return u.Name }) {
		switch a, b := p.old, p.next; {
		case a == nil:
			c.report("FSM703", at{c.old.Pos, b.Pos}, "hand it to Open", "machine %s is used", b.Name)
		case b == nil:
			c.report("FSM703", at{a.Pos, c.next.Pos}, "take it out of the call of Open", "machine %s is no longer used", a.Name)
		case a.Package != b.Package:
			c.report("FSM703", at{a.Pos, b.Pos}, "hand the machine of that package to Open", "machine %s is of package %s, it was %s", b.Name, b.Package, a.Package)
		}
	}
}
