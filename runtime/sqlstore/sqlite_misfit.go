package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// misfitError says which rows keep a table from becoming the wanted one.
type misfitError struct {
	text string
	err  error
}

func (e *misfitError) Error() string { return e.text }
func (e *misfitError) Unwrap() error { return e.err }

// rowsAgainst is the message about rows that break a rule.
func rowsAgainst(ids []string, more int, rule string) string {
	text := "the row " + fmt.Sprintf("%q", ids[0]) + " breaks "
	if more > 0 {
		text = fmt.Sprintf("the row %q and %d more break ", ids[0], more)
	}
	return text + rule
}

// misfit finds the rows that err is about. The old table is there.
func (w *sqliteWork) misfit(ctx context.Context, q querier, name string, err error) error {
	switch w.failure(err) {
	case failConstraint, failDenied, failSchema, failOpen: // of the statement, not of the file
	default:
		return err
	}
	var columns, rules []item
	for _, p := range w.want {
		if p.kind == "table" && p.name == name {
			columns, rules, _ = tableItems(p.text)
		}
	}
	view := w.after(ctx, q, name, columns)
	if view == "" {
		return err
	}
	for _, c := range columns {
		if strings.Contains(c.is, " NOT NULL") {
			if bad := w.rows(ctx, q, view, quote(c.name)+" IS NULL"); bad != "" {
				return &misfitError{strings.Replace(bad, "§", fmt.Sprintf("the rule that %s is mandatory", c.name), 1), err}
			}
		}
	}
	for _, k := range rules {
		if k.check != "" {
			if bad := w.rows(ctx, q, view, "NOT ("+k.cond+")"); bad != "" {
				if k.check == "state is known" {
					bad += " (rows of a state under `removed` are moved by the script that `fsmctl migrate` prints)"
				}
				return &misfitError{strings.Replace(bad, "§", fmt.Sprintf("the rule %q", k.check), 1), err}
			}
		}
	}
	return err
}

// after returns a query for the rows of a table as the migration would leave them.
func (w *sqliteWork) after(ctx context.Context, q querier, name string, columns []item) string {
	before, err := column(ctx, q, w.columns(name))
	if err != nil {
		return ""
	}
	var list []string
	for _, c := range columns {
		value := "NULL"
		_, constant, given := strings.Cut(c.text, " DEFAULT ")
		switch i := w.t.schema.Column(c.name); {
		case slices.Contains(before, c.name):
			value = quote(c.name)
		case given:
			value = constant
		case i >= 0 && name == w.t.schema.Table:
			value = blank(w.t.schema.Columns[i].Kind)
		}
		list = append(list, value+" AS "+quote(c.name))
	}
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + quote(name) + ")"
}

// rows returns the message about the rows of a query that a condition is true of,
// with § for the rule; empty when there are none.
func (w *sqliteWork) rows(ctx context.Context, q querier, from, condition string) string {
	ids, err := column(ctx, q, `SELECT "id" FROM `+from+" WHERE "+condition+` ORDER BY "id" LIMIT 101`)
	if err != nil || len(ids) == 0 {
		return ""
	}
	return rowsAgainst(ids, len(ids)-1, "§")
}

// twice finds rows that a unique index would not take.
func (w *sqliteWork) twice(ctx context.Context, q querier, p piece) error {
	list := tokens(p.text)
	begin, end, where := 0, 0, ""
	for i, depth := 0, 0; i < len(list) && end == 0; i++ {
		switch list[i].text {
		case "(":
			if depth++; depth == 1 {
				begin = list[i].end
			}
		case ")":
			if depth--; depth == 0 {
				end = list[i].begin
				where = strings.TrimSuffix(strings.TrimSpace(p.text[list[i].end:]), ";")
			}
		}
	}
	if end == 0 || !strings.HasPrefix(p.is, "UNIQUE ") {
		return nil
	}
	keys := p.text[begin:end]
	having := "count(*) > 1"
	for _, k := range strings.Split(keys, ", ") { // an absent value never collides
		having += " AND " + k + " IS NOT NULL"
	}
	ids, err := column(ctx, q, fmt.Sprintf(`SELECT group_concat("id", '", "') FROM %s %s GROUP BY %s HAVING %s LIMIT 1`,
		quote(p.table), where, keys, having))
	if err != nil || len(ids) == 0 {
		return nil
	}
	return &misfitError{text: fmt.Sprintf("the rows \"%.200s\" break the unique rule %q", ids[0], p.name)}
}

// unsaid finds rows of a column whose default changes that are older than the
// column: their log says nothing of it, and would fold to another value than theirs.
func (w *sqliteWork) unsaid(ctx context.Context, q querier, name string) error {
	if name != w.t.schema.Table {
		return nil
	}
	i := slices.IndexFunc(w.want, func(p piece) bool { return p.kind == "table" && p.name == name })
	columns, _, _ := tableItems(w.want[i].text)
	for _, o := range w.parts[name].columns {
		_, before, given := strings.Cut(o.is, " DEFAULT ")
		n := slices.IndexFunc(columns, func(c item) bool { return c.name == o.name })
		if !given || n < 0 {
			continue
		}
		if _, after, _ := strings.Cut(columns[n].is, " DEFAULT "); after == before {
			continue
		}
		at := literal(`$."` + o.name + `"`)
		said := fmt.Sprintf(`SELECT 1 FROM %s AS e WHERE e."id" = r."id" AND coalesce(json_type(e."image", %s), json_type(e."changes", %[2]s)) IS NOT NULL`,
			quote(name+"_events"), at)
		if bad := w.rows(ctx, q, quote(name)+" AS r", "NOT EXISTS ("+said+")"); bad != "" {
			rule := fmt.Sprintf("the rule that the log holds %s, whose default is another one", o.name)
			return &misfitError{text: strings.Replace(bad, "§", rule, 1)}
		}
	}
	return nil
}
