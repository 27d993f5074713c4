package evolve

import (
	"fmt"
	"slices"
	"strings"
)

// Change is the way of a machine's tables from one schema to the next.
type Change struct {
	Machine   string // its name, which the table of its records has
	Old, Next *Schema
	// Values says in SQL what columns of the records hold afterwards. Others keep their
	// value; one that is new begins with its default, or is absent.
	Values   map[string]string
	Postgres bool // the dialect; else SQLite
	Rebuild  bool // SQLite: rebuild the table of the records in any case, with no trigger awake
}

// Query lists rows that do not fit the next schema.
type Query struct {
	Rule string // that the rows break
	SQL  string // one statement, without a semicolon
	Who  string // the column that names the row, or several
}

// value returns what a column holds afterwards.
func (c *Change) value(t *Table, col Column) string {
	if strings.EqualFold(t.Name, c.Machine) {
		if v, given := c.Values[col.Name]; given {
			return v
		}
	}
	switch old := c.Old.Table(t.Name); {
	case old != nil && old.Column(col.Name) != nil:
		return Quote(col.Name)
	case col.Default() != "":
		return col.Default()
	}
	return "NULL"
}

// Rows returns what lists the rows that do not fit. It looks at rows as they would be
// afterwards. demands says whether a rule may not hold for a row that was right; nil: any that
// is new.
func (c *Change) Rows(demands func(r Rule, before []Rule) bool) []Query {
	old, next := c.Old.Table(c.Machine), c.Next.Table(c.Machine)
	if old == nil {
		return nil
	}
	if demands == nil {
		demands = func(r Rule, before []Rule) bool {
			return !slices.ContainsFunc(before, func(o Rule) bool { return o.Cond == r.Cond })
		}
	}
	var list []Query
	add := func(rule, sql string) { list = append(list, Query{rule, sql, "id"}) }
	for _, k := range next.Columns {
		before := old.Column(k.Name)
		unset := before == nil && strings.HasPrefix(c.value(next, k), "NULL")
		if k.Mandatory() && !k.ForIndexes() && (unset || before != nil && !before.Mandatory()) {
			add(k.Name+" is mandatory", c.broken(Quote(k.Name)+" IS NULL"))
		}
	}
	for _, k := range next.Columns {
		before := old.Column(k.Name)
		if before != nil && before.Default() != "" && before.Default() != k.Default() && k.Name != "_chain" {
			add("the log holds "+k.Name+", whose default is another one", c.unsaid(k.Name))
		}
	}
	for _, r := range next.Checks() {
		if demands(r, old.Checks()) {
			add(r.Name, c.broken("NOT ("+r.Cond+")"))
		}
	}
	for _, r := range c.Next.Sets {
		if demands(r, c.Old.Sets) {
			add("not: "+r.Name, c.broken(r.Cond))
		}
	}
	for _, x := range c.Next.Of("index", c.Machine) {
		keys, where := c.Next.keys(x)
		same := func(o Piece) bool {
			k, w := c.Old.keys(o)
			return o.Unique() && k == keys && w == where
		}
		if x.Unique() && !slices.ContainsFunc(c.Old.Of("index", c.Machine), same) {
			list = append(list, Query{x.Name, c.twice(keys, where), "ids"})
		}
	}
	return list
}

// after returns the rows as they would be, with the columns that a condition asks for.
func (c *Change) after(condition string) string {
	var list []string
	changed := false
	t := c.Next.Table(c.Machine)
	for _, k := range t.Columns {
		name := Quote(k.Name)
		if k.ForIndexes() || k.Name != "id" && k.Name != "state" && !strings.Contains(condition, name) {
			continue
		}
		text := c.value(t, k)
		if text != name {
			text, changed = text+" AS "+name, true
		}
		list = append(list, text)
	}
	if !changed {
		return Quote(c.Machine)
	}
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + Quote(c.Machine) + `) AS "after"`
}

func (c *Change) broken(condition string) string {
	return `SELECT "id", "state" FROM ` + c.after(condition) + " WHERE " + condition
}

// unsaid lists the rows whose log says nothing of a column: it would fold to another
// default than the row holds.
func (c *Change) unsaid(column string) string {
	said := func(document string) string {
		if c.Postgres {
			return fmt.Sprintf(`e."%s" -> %s IS NOT NULL`, document, Literal(column))
		}
		return fmt.Sprintf(`json_type(e."%s", %s) IS NOT NULL`, document, Literal(`$."`+column+`"`))
	}
	return fmt.Sprintf(`SELECT "id", "state" FROM %s AS r WHERE NOT EXISTS (SELECT 1 FROM %s AS e WHERE e."id" = r."id" AND (%s OR %s))`,
		Quote(c.Machine), Quote(c.Machine+"_events"), said("image"), said("changes"))
}

// twice lists the groups in which a unique rule does not hold. An absent value never
// collides.
func (c *Change) twice(keys, where string) string {
	var conditions []string
	for k := range strings.SplitSeq(keys, ", ") {
		conditions = append(conditions, k+" IS NOT NULL")
	}
	if where != "" {
		conditions = append(conditions, where)
	}
	members := `group_concat("id")`
	if c.Postgres {
		members = `string_agg("id", ',')`
	}
	all := strings.Join(conditions, " AND ")
	return fmt.Sprintf(`SELECT %s, count(*) AS "records", %s AS "ids" FROM %s WHERE %s GROUP BY %[1]s HAVING count(*) > 1`,
		keys, members, c.after(all), all)
}

// keys returns the columns and the condition of an index. Rows may lack the columns for
// indexes yet: what they are stands in the condition.
func (s *Schema) keys(x Piece) (keys, where string) {
	list := tokens(x.Text)
	begin, depth := 0, 0
	for _, w := range list {
		switch w.text {
		case "(":
			if depth++; depth == 1 {
				begin = w.end
			}
		case ")":
			if depth--; depth == 0 {
				where = strings.TrimSuffix(strings.TrimSpace(x.Text[w.end:]), ";")
				where = strings.TrimSpace(strings.TrimPrefix(where, "WHERE"))
				for _, c := range s.Computed {
					where = strings.ReplaceAll(where, Quote(c.Name), c.Def)
				}
				return x.Text[begin:w.begin], where
			}
		}
	}
	return "", ""
}
