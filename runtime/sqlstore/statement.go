package sqlstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func quoted(names []string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = quote(n)
	}
	return strings.Join(list, ", ")
}

// part returns the quoted name of one of the machine's tables.
func (t *table) part(suffix string) string { return t.dialect.qualified(t.schema.Table + suffix) }

// text builds one statement and numbers its parameters.
type text struct {
	strings.Builder
	d    Dialect
	args []any
	n    int
}

// arg adds a parameter and returns its place.
func (b *text) arg(v any) string {
	b.args = append(b.args, v)
	return b.param()
}

// oneOf is the condition that a row has one of ids. To a server they are one parameter, so that their number makes no
// other text.
func (b *text) oneOf(ids []string) string {
	switch {
	case len(ids) == 0:
		return "1 = 0"
	case b.d.server():
		var list arrays
		for _, id := range ids {
			list.add(id)
		}
		return `"id" = ANY(` + b.arg(list.end()) + "::text::text[])"
	}
	places := make([]string, len(ids))
	for i, id := range ids {
		places[i] = b.arg(id)
	}
	return `"id" IN (` + strings.Join(places, ", ") + ")"
}

func (b *text) param() string {
	b.n++
	return b.d.placeholder(b.n)
}

// build begins the texts of the tables that are known now.
func (t *table) build() {
	s := t.schema
	row := []string{"id", "state", "rev", "created_at", "updated_at"}
	for i := range s.Columns {
		row = append(row, s.Columns[i].Stored)
	}
	t.same = t.checked()
	t.name, t.reads, t.order = t.part(""), quoted(append(row, "_chain")), t.dialect.ordered()
	t.texts = map[string]string{}
	if t.writes = t.postgresWrites(); !t.dialect.server() {
		t.writes = t.sqliteWrites()
	}
}

// states writes the condition on the state. The words are literals in the
// order of the specification: a partial index is found only by the very words
// it was made with.
func (t *table) states(words []string) string {
	if len(words) == 0 {
		return "1 = 0"
	}
	var list []string
	for i := range t.schema.States {
		if word := t.schema.States[i].Stored; slices.Contains(words, word) {
			list = append(list, literal(word))
		}
	}
	var unknown []string
	for _, w := range words {
		if !slices.ContainsFunc(t.schema.States, func(st driver.StateInfo) bool { return st.Stored == w }) {
			unknown = append(unknown, literal(w))
		}
	}
	slices.Sort(unknown)
	return `"state" IN (` + strings.Join(append(list, slices.Compact(unknown)...), ", ") + ")"
}

// kind returns the kind of a column that a query names.
func (t *table) kind(name string) (driver.Kind, error) {
	switch name {
	case "id":
		return driver.KindString, nil
	case "created_at", "updated_at":
		return driver.KindTime, nil
	}
	if i := t.schema.Column(name); i >= 0 {
		return t.schema.Columns[i].Kind, nil
	}
	return 0, fmt.Errorf("sqlstore: %s has no column %q", t.schema.Machine, name)
}

// key is what a query compares rows by, or orders them by: see driver.Cond.
type key struct{ column, by string }

// words returns a key and its kind.
func (t *table) words(k key) (string, driver.Kind, error) {
	kind, err := t.kind(k.column)
	if err != nil || k.by == "" {
		return quote(k.column), kind, err
	}
	length, err := t.kind(k.by)
	if err == nil && (kind != driver.KindTime || length != driver.KindInt) {
		err = fmt.Errorf("sqlstore: %s: %q cannot be added to %q; name a time and a length", t.schema.Machine, k.by, k.column)
	}
	return t.dialect.later(quote(k.column), quote(k.by)), kind, err
}

// value adds a value that is compared with a key.
func (t *table) value(b *text, k key, v any) string {
	place := b.arg(t.bind(v))
	if k.by == "" {
		return place
	}
	return t.dialect.since(t.dialect.cast(place, driver.KindTime))
}

var comparisons = map[driver.Op]string{
	driver.OpEq: "=", driver.OpNe: "<>", driver.OpLt: "<", driver.OpLe: "<=", driver.OpGt: ">", driver.OpGe: ">=",
}

// firstKey returns the key that decides first on the order of a query: one
// that has one value in all rows asked for does not. It is empty where none does.
func firstKey(q *driver.Query) key {
	for _, o := range q.Order {
		if !slices.ContainsFunc(q.Where, func(c driver.Cond) bool { return c.Column == o.Column && c.By == o.By && c.Op == driver.OpEq }) {
			return key{o.Column, o.By}
		}
	}
	return key{}
}

// mayLack reports whether a key may be absent in a row that fits a query.
func (t *table) mayLack(k key, q *driver.Query) bool {
	for _, name := range []string{k.column, k.by} {
		i := t.schema.Column(name)
		if i >= 0 && t.schema.Columns[i].Optional && !slices.ContainsFunc(q.Where, func(c driver.Cond) bool {
			return (c.Column == name || c.By == name) && c.Op != driver.OpAbsent
		}) {
			return true
		}
	}
	return false
}

// where writes the conditions of a query.
func (t *table) where(b *text, q *driver.Query, more ...string) error {
	var parts []string
	first, ranged := firstKey(q), false
	if q.Park != nil && len(q.Where)+len(q.Order) == 0 {
		first = key{column: "id"}
	}
	if q.IDs != nil {
		parts = append(parts, b.oneOf(q.IDs))
	}
	if q.States != nil {
		states := t.among("", q.States)
		listed := len(q.Where)+len(q.Order) == 0 && q.Park == nil
		if len(q.States) > 0 && !listed {
			states = t.dialect.often(states)
		}
		parts = append(parts, states)
		// An index over a column for some states may have only those in which others are present.
		if open := t.open(q.States); open != "" && (listed || strings.HasPrefix(states, `"state"`)) {
			parts = append(parts, open)
		}
	}
	for _, c := range q.Where {
		k := key{c.Column, c.By}
		col, kind, err := t.words(k)
		if err != nil {
			return err
		}
		switch {
		case c.Op == driver.OpPresent && kind == driver.KindSet:
			parts = append(parts, t.dialect.present(col))
		case c.Op == driver.OpAbsent && kind == driver.KindSet:
			parts = append(parts, "NOT "+t.dialect.present(col))
		case c.Op == driver.OpPresent:
			parts = append(parts, col+" IS NOT NULL")
		case c.Op == driver.OpAbsent:
			parts = append(parts, col+" IS NULL")
		case c.Value == nil:
			parts = append(parts, "1 = 0") // a comparison with an absent value is false
		case comparisons[c.Op] == "":
			return fmt.Errorf("sqlstore: unknown comparison %d of column %q", c.Op, c.Column)
		default:
			value := t.value(b, k, c.Value)
			condition := t.dialect.operand(col, kind) + " " + comparisons[c.Op] + " " + value
			if minute := t.minute(c.Column); minute != "" && c.By == "" && (c.Op == driver.OpLe || c.Op == driver.OpLt) {
				condition += " AND " + minute + " <= " + value
			}
			if c.Op != driver.OpEq && c.Op != driver.OpNe && (k == first || first == key{} && kind == driver.KindTime) {
				condition, ranged = t.dialect.seldom(condition), true // a deadline: few are past it
			}
			parts = append(parts, condition)
		}
	}
	if q.Park != nil {
		parts = append(parts, quote(q.Park.Column)+" IS NULL")
	}
	parts = append(parts, more...)
	switch {
	case q.After != "" && len(q.Order) > 0:
		behind, err := t.behind(b, q, 0)
		if err != nil {
			return err
		}
		parts = append(parts, behind)
	case q.After != "":
		parts = append(parts, `"id" > `+b.arg(q.After))
	}
	if len(q.States) > 0 && first != (key{}) && !ranged {
		words, kind, err := t.words(first)
		if err != nil {
			return err
		}
		if walk := t.dialect.walk(words, kind, t.mayLack(first, q)); walk != "" {
			parts = append(parts, walk)
		}
	}
	if len(parts) > 0 {
		b.WriteString(" WHERE " + strings.Join(parts, " AND "))
	}
	return nil
}

// behind is the condition that a row stands behind the place where a query with an order
// begins: its first key is beyond, or it is equal and the rest is beyond, and so on to the id.
func (t *table) behind(b *text, q *driver.Query, i int) (string, error) {
	if len(q.Behind) != len(q.Order) {
		return "", fmt.Errorf("sqlstore: a query of %s by %d columns begins behind %d values",
			t.schema.Machine, len(q.Order), len(q.Behind))
	}
	if i == len(q.Order) {
		return `"id" > ` + b.arg(q.After), nil
	}
	o, value := q.Order[i], q.Behind[i]
	k := key{o.Column, o.By}
	column, kind, err := t.words(k)
	if err != nil {
		return "", err
	}
	column = t.dialect.operand(column, kind)
	if value == nil { // absent values are the last
		rest, err := t.behind(b, q, i+1)
		return column + " IS NULL AND " + rest, err
	}
	sign := map[bool]string{true: " < ", false: " > "}[o.Descending]
	condition := ""
	if t.mayLack(k, q) {
		condition = "(" + column + " IS NULL OR "
	} else { // the range, which an index can begin with
		condition = column + strings.TrimSuffix(sign, " ") + "= " + t.value(b, k, value) + " AND ("
	}
	condition += column + sign + t.value(b, k, value) + " OR " + column + " = " + t.value(b, k, value) + " AND "
	rest, err := t.behind(b, q, i+1)
	return condition + rest + ")", err
}

// selectRows returns the statement of a query, for the columns of a row and more.
func (t *table) selectRows(q *driver.Query, more ...string) (*text, error) {
	return t.selectWhere(strings.Join(append([]string{t.reads}, more...), ", "), q)
}

// selectWhere returns the statement of a query that asks for what, with more conditions.
func (t *table) selectWhere(what string, q *driver.Query, conditions ...string) (*text, error) {
	b := &text{d: t.dialect}
	b.WriteString("SELECT " + t.says("rows") + what + " FROM " + t.name)
	if err := t.where(b, q, conditions...); err != nil {
		return nil, err
	}
	var keys []string
	for _, c := range q.Where {
		// PostgreSQL walks an index that begins with what is absent only where the order names it.
		kind, err := t.kind(c.Column)
		if err != nil {
			return nil, err
		}
		ordered := slices.ContainsFunc(q.Order, func(o driver.Order) bool { return o.Column == c.Column })
		if c.Op == driver.OpAbsent && c.By == "" && kind != driver.KindSet && kind != driver.KindJSON && !ordered {
			keys = append(keys, quote(c.Column))
		}
	}
	for _, o := range q.Order {
		k := key{o.Column, o.By}
		words, kind, err := t.words(k)
		if err != nil {
			return nil, err
		}
		keys = append(keys, t.dialect.order(t.dialect.operand(words, kind), t.mayLack(k, q), o.Descending)...)
	}
	b.WriteString(" ORDER BY " + strings.Join(append(keys, `"id"`), ", "))
	if q.Limit > 0 {
		b.WriteString(b.most(q.Limit))
	}
	return b, nil
}

// most ends a query with how many rows it returns at most. A server plans for a few rows
// otherwise than for any number, and so plans each time anew where the number is a
// parameter: to plan a claim takes as long as to run it. So few are in the text.
func (b *text) most(n int) string {
	if b.d.server() && n <= maxFew {
		return b.d.limit(strconv.Itoa(n))
	}
	return b.d.limit(b.arg(n))
}

// maxFew bounds the texts that differ by their limit alone.
const maxFew = 32
