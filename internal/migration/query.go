package migration

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/evolve"
	"github.com/fsmgen/fsmgen/spec"
)

// change is the way of the tables: of those at the level of enforcement, or of all that the
// schemas say.
func (p *plan) change(old, next *schema) *evolve.Change {
	c := &evolve.Change{Machine: p.next.m.Name, Old: old.Schema, Next: next.Schema, Values: map[string]string{},
		Postgres: p.dialect == Postgres, Rebuild: len(p.moved) > 0 || len(p.reasons) > 0}
	for _, k := range p.next.records.Columns {
		if value := p.valueAfter(k); value != quoteName(k.Name) {
			c.Values[k.Name] = value
		}
	}
	if len(p.moved) > 0 {
		c.Values["state"] = p.stateAfter()
	}
	return c
}

// queries returns what lists the rows that do not fit. They look at rows as the
// migration would leave them, so they can ask for new columns and states.
func (p *plan) queries() []Query {
	var list []Query
	add := func(rule, sql string) { list = append(list, Query{Rule: rule, SQL: sql, Who: "id"}) }
	if len(p.reasons) > 0 {
		add("the table must be empty", `SELECT "id", "state" FROM `+p.table(""))
	}
	if len(p.lost) > 0 {
		add("no effect waits that the new version never delivers", p.waiting())
	}
	for _, v := range p.moved {
		add("no effect waits for a record in the removed state "+v.from, p.waitingIn(v))
	}
	// The rules hold for programs too where the database does not enforce them.
	return append(list, p.change(p.allOld, p.allNext).Rows(p.demands)...)
}

// demands reports whether a rule may not hold for a row that was right: it is
// new, or it is about a state that rows move to. Rules that no old row can break
// are left out.
func (p *plan) demands(k evolve.Rule, before []evolve.Rule) bool {
	about := func(s *spec.State) bool {
		return strings.Contains(k.Cond, `"state" <> `+quoteText(s.Stored())) || strings.Contains(k.Cond, `"state" = `+quoteText(s.Stored()))
	}
	if p.old.Sorted == "" && strings.Contains(k.Cond, `"fsm_is_set"`) {
		return false // the old database cannot be asked
	}
	for _, v := range p.moved {
		if about(v.to) {
			return true
		}
	}
	if slices.ContainsFunc(before, func(o evolve.Rule) bool { return o.Cond == k.Cond }) {
		return false
	}
	old, next := p.old.m, p.next.m
	if k.Name == "state is known" {
		return slices.ContainsFunc(old.States, func(s *spec.State) bool {
			return !slices.ContainsFunc(next.States, func(n *spec.State) bool { return n.Stored() == s.Stored() }) &&
				!slices.ContainsFunc(p.moved, func(v move) bool { return v.from == s.Stored() })
		})
	}
	for _, s := range next.States { // nothing is in a state that is new
		if about(s) && !slices.ContainsFunc(old.States, func(o *spec.State) bool { return o.Stored() == s.Stored() }) {
			return false
		}
	}
	for _, f := range next.Fields {
		word, about := strings.CutPrefix(k.Name, f.Name+" is ")
		if about && slices.ContainsFunc(typeRules, func(w string) bool { return strings.HasPrefix(word, w) }) {
			o := field(old, f.Stored())
			return o != nil && !wider(o, f)
		}
	}
	return true
}

// typeRules begin the names of the rules that follow from the type of a field.
var typeRules = []string{"a known word", "from ", "at least ", "at most ", "a count", "a number of a sequence", "true or false", "JSON", "a set", "not a sorted set"}

// wider reports whether every value of the old field is one of the new one.
func wider(o, n *spec.Field) bool {
	if o.Type.Kind != n.Type.Kind {
		return false
	}
	above := func(a, b *int64) bool { return a == nil || b != nil && *b >= *a }
	for _, v := range o.Type.Values {
		if !slices.ContainsFunc(n.Type.Values, func(w *spec.EnumValue) bool { return w.Stored() == v.Stored() }) {
			return false
		}
	}
	return above(n.Type.Min, o.Type.Min) && (n.Type.Max == nil || o.Type.Max != nil && *o.Type.Max <= *n.Type.Max)
}
