package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// UserObjectError says that an object that somebody else made in the database does
// not go with the tables that a migration would make. Nothing was changed.
type UserObjectError struct {
	Kind string // table, column, constraint, index, trigger or view
	Name string
	Why  string
}

func (e *UserObjectError) Error() string {
	return fmt.Sprintf("the %s %q, which is not of the machine's making, %s", e.Kind, e.Name, e.Why)
}

// looks is what is wrong with the objects of others, by object: nothing, as a rule.
// A migration must not add to it.
type looks map[object]map[string]bool

// look asks SQLite to read every view, every trigger and every foreign key to the
// machine's tables. It changes nothing: no statement is run to its end.
func (w *sqliteWork) look(ctx context.Context, q querier) (looks, error) {
	have, err := w.masters(ctx, q)
	if err != nil {
		return nil, err
	}
	found := looks{}
	triggers := map[string]bool{}
	for _, o := range have {
		if o.kind == "trigger" && !w.made(o) {
			triggers[strings.ToLower(o.table)] = true
		}
	}
	for _, o := range have {
		var wrong []string
		if o.kind == "view" && !w.made(o) {
			wrong = append(wrong, explained(ctx, q, "SELECT * FROM "+quote(o.name)))
		}
		if (o.kind == "view" || o.kind == "table") && triggers[strings.ToLower(o.name)] {
			for _, text := range w.changes(ctx, q, o.name) {
				wrong = append(wrong, explained(ctx, q, text))
			}
		}
		if o.kind == "table" && !w.own(o.name) {
			more, err := w.references(ctx, q, o.name)
			if err != nil {
				return nil, err
			}
			wrong = append(wrong, more...)
		}
		found[o] = map[string]bool{}
		for _, text := range wrong {
			found[o][text] = text != ""
		}
	}
	return found, nil
}

// explained returns what SQLite finds wrong with a statement that is not run.
func explained(ctx context.Context, q querier, text string) string {
	rows, err := q.query(ctx, "EXPLAIN "+text)
	if err != nil {
		return codeSuffix.ReplaceAllString(err.Error(), "")
	}
	rows.Close()
	return ""
}

// changes returns statements that ask for the triggers of a table or view.
func (w *sqliteWork) changes(ctx context.Context, q querier, name string) []string {
	columns, err := column(ctx, q, w.columns(name))
	if err != nil || len(columns) == 0 {
		return nil
	}
	for i, c := range columns {
		columns[i] = quote(c) + " = " + quote(c)
	}
	return []string{"INSERT INTO " + quote(name) + " DEFAULT VALUES", "DELETE FROM " + quote(name),
		"UPDATE " + quote(name) + " SET " + strings.Join(columns, ", ")}
}

// references returns the rows of a table that refer to no record, when it refers
// to the machine's tables.
func (w *sqliteWork) references(ctx context.Context, q querier, name string) ([]string, error) {
	parents, err := column(ctx, q, `SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)`, name)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(parents, w.own) {
		return nil, nil
	}
	wrong, err := column(ctx, q, `SELECT 'row ' || coalesce("rowid", '') || ' refers to no row of ' || "parent" || ' (foreign key ' || "fkid" || ')'
		FROM pragma_foreign_key_check(?) LIMIT 1000`, name)
	if err != nil { // the foreign key itself is wrong: its target is no key
		return []string{codeSuffix.ReplaceAllString(err.Error(), "")}, nil
	}
	return wrong, nil
}

// compareLooks refuses what the migration broke.
func (w *sqliteWork) compareLooks(ctx context.Context, q querier, before looks) error {
	after, err := w.look(ctx, q)
	if err != nil {
		return err
	}
	had := map[string]object{}
	for o := range before {
		had[o.kind+" "+o.name] = o
	}
	for _, o := range slices.SortedFunc(maps.Keys(after), func(a, b object) int { return strings.Compare(a.kind+a.name, b.kind+b.name) }) {
		for _, text := range slices.Sorted(maps.Keys(after[o])) {
			if text != "" && !before[had[o.kind+" "+o.name]][text] {
				return w.blame(o, text)
			}
		}
	}
	for _, o := range after.views(w) {
		if lost := w.lostColumns(ctx, q, o); lost != "" {
			return &UserObjectError{o.kind, o.name, fmt.Sprintf("names %q in double quotes, a column of %s that is gone; drop it first", lost, w.t.schema.Table)}
		}
	}
	return nil
}

// views returns the views and triggers of others that name the machine's table.
func (l looks) views(w *sqliteWork) []object {
	var list []object
	for o := range l {
		if (o.kind == "view" || o.kind == "trigger") && !w.made(o) && w.over(o) {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b object) int { return strings.Compare(a.name, b.name) })
	return list
}

// blame names the object that does not go with the new tables. Where it is a
// trigger of a table, those that name the machine's tables are named.
func (w *sqliteWork) blame(o object, text string) error {
	if strings.Contains(text, "foreign key mismatch") || strings.HasPrefix(text, "row ") {
		return &UserObjectError{o.kind, o.name, "has a foreign key that does not go with the new tables: " + text}
	}
	if o.kind == "view" {
		return &UserObjectError{o.kind, o.name, "does not go with the new tables: " + text + "; drop it first"}
	}
	var names []string
	for _, t := range w.have {
		if t.kind == "trigger" && strings.EqualFold(t.table, o.name) && !w.made(t) {
			names = append(names, t.name)
		}
	}
	slices.Sort(names)
	return &UserObjectError{"trigger", strings.Join(names, `", "`), "does not go with the new tables: " + text + "; drop it first"}
}

// lostColumns returns a column of the machine's table that is gone and that the
// object names where SQLite would not miss it: in UPDATE OF, and in double quotes,
// which it reads as a text then.
func (w *sqliteWork) lostColumns(ctx context.Context, q querier, o object) string {
	had, _, _ := tableItems(w.have[strings.ToLower(w.t.schema.Table)].sql)
	has, err := column(ctx, q, w.columns(w.t.schema.Table))
	if err != nil {
		return ""
	}
	gone := func(name string) bool {
		same := func(n string) bool { return strings.EqualFold(n, name) }
		return slices.ContainsFunc(had, func(i item) bool { return same(i.name) }) && !slices.ContainsFunc(has, same)
	}
	list := tokens(o.sql)
	for i, t := range list {
		if t.text[0] == '"' && gone(t.name()) {
			return t.name()
		}
		if o.kind == "trigger" && strings.EqualFold(o.table, w.t.schema.Table) && t.is("OF") && i > 0 && list[i-1].is("UPDATE") {
			for _, c := range list[i+1:] {
				if c.is("ON") {
					break
				}
				if gone(c.name()) {
					return c.name()
				}
			}
		}
	}
	return ""
}
