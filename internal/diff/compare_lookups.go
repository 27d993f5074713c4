package diff

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// lookups compares the questions of the application. No row changes with them: the
// migration makes and drops their indexes.
func (c *comparison) lookups() {
	const compile = "callers do not compile before they are changed"
	for _, p := range pairUp(c.old.Lookups, c.next.Lookups, func(l *spec.Lookup) string { return l.Name }) {
		switch {
		case p.next == nil:
			c.report("FSM703", at{old: p.old.Pos}, compile, "lookup %s is gone", p.old.Name)
			continue
		case p.old == nil:
			c.compatible(at{next: p.next.Pos}, "lookup %s is new", p.next.Name)
			continue
		}
		where := at{p.old.Pos, p.next.Pos}
		inOrder := func(refs []spec.FieldRef) (words []string) { // they are the parameters of the method
			for _, r := range refs {
				words = append(words, fieldWord(r))
			}
			return words
		}
		if a, b := inOrder(p.old.Fields), inOrder(p.next.Fields); !slices.Equal(a, b) {
			c.report("FSM703", where, compile, "lookup %s takes %s, it took %s", p.next.Name, comma(b), comma(a))
		} else if one := c.next.OneRecord(p.next); one != c.old.OneRecord(p.old) {
			c.report("FSM703", where, compile, "lookup %s gives %s, it gave %s", p.next.Name, found[one], found[!one])
		}
		if a, b := stateWords(p.old.In), stateWords(p.next.In); !slices.Equal(a, b) {
			c.report("FSM710", where, "callers find other records", "lookup %s finds records in %s, they were in %s",
				p.next.Name, orAll(b), orAll(a))
		}
		if a, b := orderWords(p.old.Order), orderWords(p.next.Order); !slices.Equal(a, b) {
			c.report("FSM710", where, "callers get another order, and cursors of before are refused",
				"the order of lookup %s is %s, it was %s", p.next.Name, orNothing(b), orNothing(a))
		}
		c.text(where, "doc of lookup "+p.next.Name, p.old.Doc, p.next.Doc)
	}
}

var found = map[bool]string{true: "one record", false: "pages of records"}

func orAll(states []string) string {
	if len(states) == 0 {
		return "all states"
	}
	return comma(states)
}
