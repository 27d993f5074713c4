package migration

import (
	"fmt"
	"slices"
	"strings"
)

// queries returns what lists the rows that do not fit. They look at rows as the
// migration would leave them, so they can ask for new columns and states.
func (p *plan) queries() []Query {
	var list []Query
	add := func(rule, sql string) { list = append(list, Query{rule, sql}) }
	if len(p.reasons) > 0 {
		add("the table must be empty", `SELECT "id", "state" FROM `+p.table(""))
	}
	if len(p.lost) > 0 {
		add("no effect waits that nothing delivers afterwards", p.waiting())
	}
	for _, v := range p.moved {
		add("no effect waits for a record in the removed state "+v.from, p.waitingIn(v))
	}
	for _, c := range p.next.columns {
		before := p.old.column(c.name)
		if c.mandatory() && (p.unset(c) || before != nil && !before.mandatory()) {
			add(c.name+" is mandatory", p.broken(quoteName(c.name)+" IS NULL"))
		}
	}
	for _, k := range p.next.checks {
		if p.demands(k, p.old.checks) && (p.old.sorted != "" || !strings.Contains(k.sql, `"fsm_is_set"`)) {
			add(k.name, p.broken("NOT ("+k.sql+")"))
		}
	}
	for _, k := range p.next.sets {
		if p.demands(k, p.old.sets) {
			_, rule, _ := strings.Cut(k.name, p.next.m.Name+": ")
			add("not: "+rule, p.broken(k.sql))
		}
	}
	for _, x := range p.next.indexes {
		if x.unique && !slices.ContainsFunc(p.old.indexes, func(o index) bool { return o.unique && o.text == x.text }) {
			add(x.name, p.twice(x))
		}
	}
	return list
}

// demands reports whether a check may fail for a row that was right: it is new,
// or it is about a state that rows move to.
func (p *plan) demands(k check, before []check) bool {
	if !slices.ContainsFunc(before, func(o check) bool { return o.sql == k.sql }) {
		return true
	}
	return slices.ContainsFunc(p.moved, func(v move) bool {
		return strings.Contains(k.sql, quoteText(v.to.Stored())) && k.name != "state is known"
	})
}

// after returns the rows as the migration would leave them.
func (p *plan) after() string {
	var list []string
	for _, c := range p.next.columns {
		text := p.valueAfter(c)
		if c.name == "state" {
			text = p.stateAfter()
		}
		if text != quoteName(c.name) {
			text += " AS " + quoteName(c.name)
		}
		list = append(list, text)
	}
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + p.table("") + `) AS "after"`
}

func (p *plan) broken(condition string) string {
	return `SELECT "id", "state" FROM ` + p.after() + " WHERE " + condition
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
		x.keys, members, p.after(), strings.Join(conditions, " AND "), x.keys)
}
