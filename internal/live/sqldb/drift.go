package sqldb

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/evolve"
)

// made lists what a database holds: kind, name, table and text of an object, and what is wrong with it.
var made = map[string]string{
	"sqlite": `SELECT "type", "name", "tbl_name", "sql", '' FROM sqlite_master WHERE "type" IN ('index', 'trigger') AND "sql" IS NOT NULL`,
	"postgres": `WITH n AS (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('fsm_meta')),
			t AS (SELECT oid, relname FROM pg_class JOIN n USING (relnamespace) WHERE relkind = 'r')
		SELECT 'index', x.relname, t.relname, pg_get_indexdef(x.oid, 0, true), ''
			FROM t JOIN pg_index ON indrelid = t.oid JOIN pg_class AS x ON x.oid = indexrelid
		UNION ALL SELECT 'trigger', tgname, relname, pg_get_triggerdef(g.oid, true),
			CASE WHEN tgenabled NOT IN ('O', 'A') THEN format('does not fire; run ALTER TABLE %I ENABLE TRIGGER %I', relname, tgname) ELSE '' END
			FROM t JOIN pg_trigger AS g ON tgrelid = t.oid WHERE NOT tgisinternal
		UNION ALL SELECT 'function', proname, '', prosrc, '' FROM pg_proc JOIN n ON pronamespace = relnamespace
		UNION ALL SELECT 'constraint', conname, relname, '',
			format('has not been checked for old rows; run ALTER TABLE %I VALIDATE CONSTRAINT %I', relname, conname)
			FROM t JOIN pg_constraint ON conrelid = t.oid WHERE NOT convalidated`,
}

// Drift says which indexes, triggers and functions in a database are others than the schema makes under
// their names, and which of its rules do not hold, each with what to do about it.
func (s store) Drift(ctx context.Context, schema *driver.Schema, generate string) (list []string, err error) {
	parts := evolve.Sections(schema.SQL[s.address.Dialect])
	wanted, err := evolve.Parse(parts["tables"] + parts["checks"] + parts["full"])
	if err != nil {
		return nil, err
	}
	pieces := map[[3]string]evolve.Piece{}
	for _, w := range wanted.Pieces {
		pieces[[3]string{w.Kind, w.Name, w.Table}] = w
	}
	for _, t := range wanted.Tables {
		for _, r := range t.Checks() {
			pieces[[3]string{"constraint", r.Name, t.Name}] = evolve.Piece{}
		}
	}
	db, err := open(s.address)
	if err != nil {
		return nil, s.address.Clean(err)
	}
	defer func() { err = s.address.Clean(errors.Join(err, db.Close())) }()
	rows, err := db.QueryContext(ctx, made[s.address.Dialect])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var key [3]string
		var text, wrong string
		if err := rows.Scan(&key[0], &key[1], &key[2], &text, &wrong); err != nil {
			return nil, err
		}
		w, ours := pieces[key]
		if ours && !same(s.address.Dialect, text, w) {
			wrong = "is not the one of the generated schema; run "
			if w.Kind != "function" {
				wrong += fmt.Sprintf("DROP %s %s", strings.ToUpper(w.Kind), evolve.Quote(w.Name))
				if s.address.Dialect == "postgres" && w.Kind == "trigger" {
					wrong += " ON " + evolve.Quote(w.Table)
				}
				wrong += "; and then "
			}
			wrong += fmt.Sprintf("what `%s` prints", generate)
		}
		if ours && wrong != "" {
			list = append(list, fmt.Sprintf("the %s %q %s", key[0], key[1], wrong))
		}
	}
	slices.Sort(list)
	return list, rows.Err()
}

// same reports whether a text of a database makes what the schema makes.
func same(dialect, text string, w evolve.Piece) bool {
	switch {
	case dialect == "sqlite": // it keeps the text
		s, err := evolve.Parse(text)
		return err == nil && len(s.Pieces) == 1 && s.Pieces[0].Is == w.Is
	case w.Kind == "function":
		return strings.Split(w.Text, "$fsm$")[1] == text
	}
	return strings.EqualFold(form(text), form(w.Text))
}

var (
	// written is what PostgreSQL's catalog says in other words.
	written = strings.NewReplacer("DESC NULLS LAST", "DESC LAST", " NULLS LAST", "", "UPDATE OR DELETE", "DELETE OR UPDATE",
		"interval '1 microsecond'", "'00:00:00.000001'", `"`, "")
	// noise is what it sets its own way: casts, quotes, parentheses, and how it writes a list.
	noise = regexp.MustCompile(`::(?:timestamp with time zone|double precision|[a-z]+)(?:\[\])?|` +
		`\b(?:IF NOT EXISTS|OR REPLACE|USING btree|IN|ANY|ARRAY)\b|=|[\s()\[\],;]+`)
)

// form brings the text of an index or a trigger, ours or the catalog's, into one form.
func form(text string) string {
	return strings.Join(strings.Fields(noise.ReplaceAllString(written.Replace(text), " ")), " ")
}
