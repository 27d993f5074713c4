package sqlstore

import (
	_ "embed"
	"maps"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

var (
	//go:embed postgres.queries.sql
	postgresQueries string
	//go:embed sqlite.queries.sql
	sqliteQueries string

	queries = map[string]map[string]string{"postgres": queriesOf(postgresQueries), "sqlite": queriesOf(sqliteQueries)}
)

// queriesOf cuts a file at its lines "-- name: x" and leaves its comments out.
func queriesOf(file string) map[string]string {
	list, name := map[string]string{}, ""
	for line := range strings.Lines(file) {
		if word, ok := strings.CutPrefix(line, "-- name: "); ok {
			name = strings.TrimSpace(word)
		} else if !strings.HasPrefix(line, "--") {
			list[name] += line
		}
	}
	for name, text := range list {
		list[name] = strings.TrimRight(text, "\n")
	}
	return list
}

// expanded returns a query of a file with the words in braces replaced: those that begin with
// a capital by what the machine makes, the others by the query of that name. There are no
// conditions and no loops; what a machine does not need is empty.
func expanded(queries map[string]string, name string, made map[string]string) string {
	var b strings.Builder
	var put func(text string)
	put = func(text string) {
		for {
			before, rest, more := strings.Cut(text, "{")
			b.WriteString(before)
			if !more {
				return
			}
			word, after, _ := strings.Cut(rest, "}")
			list := queries
			if word != "" && word[0] >= 'A' && word[0] <= 'Z' {
				list = made
			}
			value, known := list[word]
			if !known {
				panic("sqlstore: the query " + name + " names {" + word + "}, which there is not")
			}
			put(value)
			text = after
		}
	}
	put("{" + name + "}")
	return b.String()
}

// query returns a query for the machine. made are the words that only this one has.
func (t *table) query(name string, made map[string]string) string {
	all := map[string]string{
		"M": t.name, "M_events": t.part("_events"), "M_outbox": t.part("_outbox"), "M_groups": t.part("_groups"),
		"ROW": t.reads, "SAME": "true",
	}
	if same := strings.TrimPrefix(t.same, " AND "); same != "" {
		all["SAME"] = same
	}
	maps.Copy(all, made)
	return expanded(queries[t.dialect.Name()], name, all)
}

// Query is a statement that a store sends.
type Query struct{ Name, Text string }

// Queries returns the statements of a machine that are the same for each call, as a store sends them. Where
// it names no schema, the names stand without one, and nothing compares which tables they lead to.
func Queries(d Dialect, schema *driver.Schema) ([]Query, error) {
	t, err := newTable(&Store{dialect: d}, schema)
	if err != nil {
		return nil, err
	}
	t.computed = computedColumns(schema.SQL[d.Name()], columnsOf(schema.SQL[d.Name()]))
	t.build()
	return t.queries(), nil
}

func (t *table) queries() (list []Query) {
	for _, x := range t.writes.all {
		list = append(list, Query{x.name, x.text().text})
	}
	return append(list, t.fixed...)
}

// keep returns a query that has one text, and keeps it for queries; nothing where the database has no such query.
func (t *table) keep(name string, made map[string]string) string {
	if _, has := queries[t.dialect.Name()][name]; !has {
		return ""
	}
	text := t.query(name, made)
	t.fixed = append(t.fixed, Query{name, text})
	return text
}

// mark begins a parameter with a number. In a text all have one, or none: SQLite gives a bare
// one the number after the largest so far.
func (t *table) mark() string {
	if t.dialect.writers() == 1 {
		return "?"
	}
	return "$"
}
