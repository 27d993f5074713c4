package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Contract version 1 called these columns by words that SQL reserves. Migrate gives them
// their names of today: that changes the catalog alone, no row.
var renames = []rename{
	{"from", "from_state"}, {"to", "to_state"}, {"at", "occurred_at"}, {"sum", "checksum"},
}

// rename is a column of the log, and its name of today.
type rename struct{ old, name string }

// oldNames returns the columns of the log that still have their old names.
func (t *table) oldNames(ctx context.Context, q querier) (list []rename, err error) {
	names, err := column(ctx, q, t.dialect.columns(t.schema.Table+"_events"))
	if err != nil {
		return nil, err
	}
	taken := ""
	for _, r := range renames {
		switch old, is := slices.Contains(names, r.old), slices.Contains(names, r.name); {
		case old && !is:
			list = append(list, r)
		case old:
			taken = r.name
		}
	}
	if taken != "" && len(list) > 0 {
		return nil, &UserObjectError{"column", taken, fmt.Sprintf(
			"stands in the table %q where the machine needs a column of its own; rename it",
			t.schema.Table+"_events")}
	}
	return list, nil
}

// give gives the columns their names.
func (t *table) give(ctx context.Context, q querier, list []rename) error {
	for _, r := range list {
		text := fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO %s", t.part("_events"), quote(r.old), quote(r.name))
		if _, err := q.exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// renameColumns drops the triggers of the generator, which are made again, and lets SQLite
// rewrite what others have made. A text that it cannot read stops it.
func (d sqlite) renameColumns(ctx context.Context, q querier, t *table, m *meta, want []piece, list []rename) (err error) {
	w := &sqliteWork{t: t, m: m, wanted: map[string]bool{}}
	for _, p := range want {
		w.wanted[strings.ToLower(p.name)] = p.kind != "drop"
	}
	if w.have, err = d.masters(ctx, q); err != nil {
		return err
	}
	if w.old, err = w.noted(ctx, q); err != nil {
		return err
	}
	for _, o := range w.have {
		if o.kind == "trigger" && w.made(o) {
			if _, err := q.exec(ctx, "DROP TRIGGER "+quote(o.name)); err != nil {
				return err
			}
		}
	}
	if err = t.give(ctx, q, list); err == nil {
		return nil
	}
	if told := unreadable.FindStringSubmatch(err.Error()); told != nil {
		return &UserObjectError{told[1], told[2],
			"cannot be read, and columns of the machine get new names: " + told[3] + "; drop it first"}
	}
	return err
}

var unreadable = regexp.MustCompile(`error in (view|trigger|index|table) (.+?)(?: after rename)?: (.+?)(?: \(\d+\))?$`)

// today gives the columns of the log, as an older fsmgen has noted it, their names.
func (t *table) today(p piece) piece {
	log := p.kind == "table" && strings.EqualFold(p.name, t.schema.Table+"_events")
	if !log || strings.Contains(p.text, quote(renames[0].name)) {
		return p
	}
	for _, k := range slices.Backward(tokens(p.text)) {
		for _, r := range renames {
			if k.text == quote(r.old) {
				p.text = p.text[:k.begin] + quote(r.name) + p.text[k.end:]
			}
		}
	}
	p.is = pieceOf(tokens(p.text)).is
	return p
}

// renameColumns refuses while a function of somebody else names one of the columns: the
// server rewrites views, rules and indexes, and keeps a function as a text.
func (p *postgres) renameColumns(ctx context.Context, q querier, t *table, _ *meta, _ []piece, list []rename) error {
	name, log := t.schema.Table+"_events", literal(t.part("_events"))+"::regclass"
	rows, err := q.query(ctx, `SELECT p.oid::regprocedure::text, p.prosrc FROM pg_proc AS p
		JOIN pg_language AS l ON l.oid = p.prolang JOIN pg_namespace AS n ON n.oid = p.pronamespace
		WHERE l.lanname NOT IN ('internal', 'c') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
		AND (p.prosrc LIKE $1 OR p.oid IN (SELECT tgfoid FROM pg_trigger WHERE tgrelid = `+log+`))
		AND NOT (p.pronamespace = `+p.namespace()+` AND p.proname LIKE $2 AND p.prosrc LIKE $3) ORDER BY 1`,
		"%"+likeForm.Replace(name)+"%", likeForm.Replace(t.schema.Table)+"%",
		"%'fsm: "+likeForm.Replace(t.schema.Machine)+": %")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var function, source string
		if err := rows.Scan(&function, &source); err != nil {
			return err
		}
		if c := mentioned(source, list); c != "" {
			return &UserObjectError{"function", function, fmt.Sprintf("names the column %q of the table %q, which gets another name; "+
				"drop it, and make it again with the names of CONTRACT.md", c, name)}
		}
	}
	if err := cmp.Or(rows.Err(), rows.Close()); err != nil {
		return err
	}
	return t.give(ctx, q, list)
}

var likeForm = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)

// mentioned returns one of the columns that the text of a function seems to name; empty:
// none. A word without quotes may be one of SQL's own.
func mentioned(text string, columns []rename) string {
	list := append(tokens(text), token{text: ";"})
	for i, t := range list[:len(list)-1] {
		before, after := list[max(i-1, 0)], list[i+1]
		for _, c := range columns {
			switch word := t.is(c.old); {
			case t.text == quote(c.old), word && before.text == ".",
				word && c.old == "at" && !after.is("TIME", "LOCAL"), word && c.old == "sum" && after.text != "(":
				return c.old
			}
		}
	}
	return ""
}
