package diff

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

const askedTwice = "deliver what waits in the outbox before the change; an effect that was delivered under the old key may come again under the new one"

// asks compares the effects that the steps of an operation ask for, by their names.
func (c *comparison) asks(o, n *spec.Operation) {
	old, next := askList(o), askList(n)
	if len(old) == 1 && len(next) == 1 && old[0].Name != next[0].Name {
		c.report("FSM712", at{old[0].Pos, next[0].Pos}, askedTwice, "the effect of %s is %s, it was %s", n.Name, next[0].Name, old[0].Name)
		c.ask(o, n, old[0], next[0])
		return
	}
	for _, p := range pairUp(old, next, func(e *spec.Effect) string { return e.Name }) {
		a, b := p.old, p.next
		switch {
		case a == nil:
			c.report("FSM710", at{o.Pos, b.Pos}, "implement it in Effects; records that are past it do not get it", "%s has the effect %s", n.Name, b.Name)
		case b == nil:
			c.report("FSM712", at{a.Pos, n.Pos}, "deliver what waits in the outbox before the change: nothing performs it afterwards", "%s no longer has the effect %s", n.Name, a.Name)
		default:
			c.ask(o, n, a, b)
		}
	}
}

// askList lists the effects of an operation, each name once.
func askList(o *spec.Operation) []*spec.Effect {
	return slices.DeleteFunc(slices.Clone(o.AllAsks()), func(e *spec.Effect) bool { return o.Ask(e.Name) != e })
}

// ask compares one effect.
func (c *comparison) ask(o, n *spec.Operation, a, b *spec.Effect) {
	where := at{a.Pos, b.Pos}
	key := func(e *spec.Effect, word func(spec.FieldRef) string) string {
		switch {
		case len(e.Key) > 0:
			return names(e.Key, word)
		case e.Named:
			return "machine, id, revision and name"
		}
		return "machine, id and revision"
	}
	keys := func(o *spec.Operation, name string, word func(spec.FieldRef) string) (list []string) {
		for _, e := range o.AllAsks() {
			if text := key(e, word); e.Name == name && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
		return list
	}
	switch {
	case !slices.Equal(keys(o, a.Name, fieldWord), keys(n, b.Name, fieldWord)):
		c.report("FSM712", where, askedTwice, "the key of effect %s is %s, it was %s", b.Name, key(b, fieldName), key(a, fieldName))
	case len(b.Key) == 1 && b.Key[0].Field.Type.Optional && !a.Key[0].Field.Type.Optional:
		c.report("FSM712", where, "make the field mandatory, or add `id` to the key",
			"the key of effect %s is %q where %s is absent, which it could not be: such effects share one key", b.Name, "-", b.Key[0].Field.Name)
	}
	if a.Atomic != b.Atomic {
		word := "runs after the commit, it ran within"
		if b.Atomic {
			word = "runs within the commit, it ran after"
		}
		c.report("FSM712", where, askedTwice, "effect %s %s", b.Name, word)
	}
	if x, y := followWord(a.Then), followWord(b.Then); x != y {
		c.report("FSM710", where, "", "effect %s is followed by %s, it was followed by %s", b.Name, y, x)
	}
	if x, y := askers(o, a.Name), askers(n, b.Name); !slices.Equal(x, y) {
		c.report("FSM710", where, "records that are past the step do not get it", "effect %s is asked for by other steps of %s", b.Name, n.Name)
	}
}

// askers lists the steps of an operation that ask for an effect, those of whole branches: all
// of them, or some.
func askers(o *spec.Operation, name string) (list []string) {
	is := func(e *spec.Effect) bool { return e.Name == name }
	if slices.ContainsFunc(o.Asks, is) {
		return []string{"all"}
	}
	for _, b := range o.Choose {
		if slices.ContainsFunc(b.Asks, is) {
			list = append(list, branchWords(b))
		}
	}
	return list
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
