package migration

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// queries returns what lists the rows that do not fit. They look at rows as the
// migration would leave them, so they can ask for new columns and states.
func (p *plan) queries() []Query {
	var list []Query
	add := func(rule, sql string) { list = append(list, Query{rule, sql, "id"}) }
	if len(p.reasons) > 0 {
		add("the table must be empty", `SELECT "id", "state" FROM `+p.table(""))
	}
	if len(p.lost) > 0 {
		add("no effect waits that the new version never delivers", p.waiting())
	}
	for _, v := range p.moved {
		add("no effect waits for a record in the removed state "+v.from, p.waitingIn(v))
	}
	for _, c := range p.next.columns {
		before := p.old.column(c.name)
		if c.mandatory() && !c.computed() && (p.unset(c) || before != nil && !before.mandatory()) {
			add(c.name+" is mandatory", p.broken(quoteName(c.name)+" IS NULL"))
		}
	}
	for _, f := range p.next.m.Fields {
		if o := field(p.old.m, f.Stored()); o != nil && o.Default != nil && !o.SameDefault(f) {
			add("the log holds "+f.Name+", whose default is another one", p.unsaid(f.Stored()))
		}
	}
	for _, k := range p.allNext.checks {
		if p.demands(k, p.allOld.checks) && (p.old.sorted != "" || !strings.Contains(k.sql, `"fsm_is_set"`)) {
			add(k.name, p.broken("NOT ("+k.sql+")"))
		}
	}
	for _, k := range p.allNext.sets {
		if p.demands(k, p.allOld.sets) {
			add("not: "+k.name, p.broken(k.sql))
		}
	}
	for _, x := range p.next.indexes {
		same := func(o index) bool { return o.unique && o.keys == x.keys && o.where == x.where }
		if x.unique && !slices.ContainsFunc(p.old.indexes, same) {
			list = append(list, Query{x.name, p.twice(x), "ids"})
		}
	}
	return list
}

// demands reports whether a rule may not hold for a row that was right: it is
// new, or it is about a state that rows move to. Rules that no old row can break
// are left out.
func (p *plan) demands(k check, before []check) bool {
	about := func(s *spec.State) bool {
		return strings.Contains(k.sql, `"state" <> `+quoteText(s.Stored())) || strings.Contains(k.sql, `"state" = `+quoteText(s.Stored()))
	}
	for _, v := range p.moved {
		if about(v.to) {
			return true
		}
	}
	if slices.ContainsFunc(before, func(o check) bool { return o.sql == k.sql }) {
		return false
	}
	old, next := p.old.m, p.next.m
	if k.name == "state is known" {
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
		if word, ok := strings.CutPrefix(k.name, f.Name+" is "); ok && slices.ContainsFunc(typeRules, func(w string) bool { return strings.HasPrefix(word, w) }) {
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

// after returns the rows as the migration would leave them, with the columns
// that a condition asks for.
func (p *plan) after(condition string) string {
	var list []string
	for _, c := range p.next.columns {
		name := quoteName(c.name)
		if c.computed() || c.name != "id" && c.name != "state" && !strings.Contains(condition, name) {
			continue
		}
		text := p.valueAfter(c)
		if c.name == "state" {
			text = p.stateAfter()
		}
		if text != name {
			text += " AS " + name
		}
		list = append(list, text)
	}
	if !strings.Contains(strings.Join(list, ""), " AS ") {
		return p.table("")
	}
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + p.table("") + `) AS "after"`
}

func (p *plan) broken(condition string) string {
	return `SELECT "id", "state" FROM ` + p.after(condition) + " WHERE " + condition
}

// unsaid lists the rows whose log says nothing of a column: it would fold to
// another default than the row holds.
func (p *plan) unsaid(column string) string {
	said := func(document string) string {
		if p.dialect == Postgres {
			return fmt.Sprintf(`e."%s" -> %s IS NOT NULL`, document, quoteText(column))
		}
		return fmt.Sprintf(`json_type(e."%s", %s) IS NOT NULL`, document, quoteText(`$."`+column+`"`))
	}
	return fmt.Sprintf(`SELECT "id", "state" FROM %s AS r WHERE NOT EXISTS (SELECT 1 FROM %s AS e WHERE e."id" = r."id" AND (%s OR %s))`,
		p.table(""), p.table("_events"), said("image"), said("changes"))
}

// twice lists the groups in which a unique rule does not hold. An absent value
// never collides.
func (p *plan) twice(x index) string {
	var conditions []string
	for _, k := range strings.Split(x.keys, ", ") {
		conditions = append(conditions, k+" IS NOT NULL")
	}
	if x.where != "" {
		conditions = append(conditions, x.where)
	}
	members := `group_concat("id")`
	if p.dialect == Postgres {
		members = `string_agg("id", ',')`
	}
	return fmt.Sprintf(`SELECT %s, count(*) AS "records", %s AS "ids" FROM %s WHERE %s GROUP BY %s HAVING count(*) > 1`,
		x.keys, members, p.after(strings.Join(conditions, " AND ")), strings.Join(conditions, " AND "), x.keys)
}
