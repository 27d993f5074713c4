package sqlstore

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// object is an index, trigger or view as SQLite keeps it.
type object struct{ kind, name, sql string }

// reshape moves the rows of the machine's tables into newly made ones, since
// SQLite cannot change most of a table in place. What the generator made is
// dropped, for the schema to make it anew; what somebody else made over these
// tables is made again as it was.
func (d sqlite) reshape(ctx context.Context, q querier, s *fsm.Schema, tables string) error {
	objects, err := d.objects(ctx, q)
	if err != nil {
		return err
	}
	var names []string
	for _, suffix := range []string{"", "_events", "_outbox", "_groups"} {
		if objects[s.Table+suffix] {
			names = append(names, s.Table+suffix)
		}
	}
	var foreign []object
	for _, name := range names {
		dropped, err := d.strip(ctx, q, name)
		if err != nil {
			return err
		}
		for _, o := range dropped {
			if !strings.HasPrefix(o.name, s.Table+"_") {
				foreign = append(foreign, o)
			}
		}
	}
	for _, name := range names {
		if _, err := q.exec(ctx, fmt.Sprintf("ALTER TABLE %s RENAME TO %s", quote(name), quote(name+"_old"))); err != nil {
			return err
		}
	}
	if _, err := q.exec(ctx, tables); err != nil {
		return err
	}
	for _, name := range names {
		if err := d.move(ctx, q, s, name); err != nil {
			return err
		}
	}
	for _, o := range foreign {
		if _, err := q.exec(ctx, o.sql); err != nil {
			return fmt.Errorf("make the %s %q again: %w", o.kind, o.name, err)
		}
	}
	return nil
}

func (sqlite) columns(table string) string {
	return `SELECT "name" FROM pragma_table_info(` + literal(table) + ")"
}

// addChain rebuilds the tables, and with them the triggers.
func (d sqlite) addChain(ctx context.Context, q querier, s *fsm.Schema, tables string) error {
	return d.reshape(ctx, q, s, tables)
}

// unguarded drops the triggers and makes them again.
func (sqlite) unguarded(ctx context.Context, q querier, table string, f func() error) error {
	names, err := column(ctx, q, `SELECT "name" FROM sqlite_master WHERE "type" = 'trigger' AND "tbl_name" = ? ORDER BY "name"`, table)
	if err != nil {
		return err
	}
	texts, err := column(ctx, q, `SELECT "sql" FROM sqlite_master WHERE "type" = 'trigger' AND "tbl_name" = ? ORDER BY "name"`, table)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := q.exec(ctx, "DROP TRIGGER "+quote(name)); err != nil {
			return err
		}
	}
	if err := f(); err != nil {
		return err
	}
	for _, text := range texts {
		if _, err := q.exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// strip drops the triggers and indexes of a table and the views over it, and
// returns what it dropped.
func (sqlite) strip(ctx context.Context, q querier, name string) ([]object, error) {
	rows, err := q.query(ctx, `SELECT "type", "name", "sql" FROM sqlite_master
		WHERE "sql" IS NOT NULL AND ("tbl_name" = ? AND "type" IN ('trigger', 'index') OR "type" = 'view')`, name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	// A whole word: a view over "job_state" is none over "job".
	over := regexp.MustCompile(`(?i)(?:^|[^\pL\pN_$])` + regexp.QuoteMeta(name) + `(?:$|[^\pL\pN_$])`)
	var dropped []object
	for rows.Next() {
		var o object
		if err := rows.Scan(&o.kind, &o.name, &o.sql); err != nil {
			return nil, err
		}
		if o.kind != "view" || over.MatchString(o.sql) {
			dropped = append(dropped, o)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	rows.Close()
	for _, o := range dropped {
		if _, err := q.exec(ctx, "DROP "+strings.ToUpper(o.kind)+" "+quote(o.name)); err != nil {
			return nil, err
		}
	}
	return dropped, nil
}

// move copies the columns that old and new table share. Columns that are new
// begin absent, empty or at 0.
func (sqlite) move(ctx context.Context, q querier, s *fsm.Schema, name string) error {
	const list = `SELECT "name" FROM pragma_table_info(?) ORDER BY "cid"`
	before, err := column(ctx, q, list, name+"_old")
	if err != nil {
		return err
	}
	after, err := column(ctx, q, list, name)
	if err != nil {
		return err
	}
	had := map[string]bool{}
	for _, c := range before {
		had[c] = true
	}
	var into, values []string
	for _, c := range after {
		if had[c] {
			into, values = append(into, quote(c)), append(values, quote(c))
			continue
		}
		if i := s.Column(c); name == s.Table && i >= 0 {
			switch s.Columns[i].Kind {
			case fsm.KindSet:
				into, values = append(into, quote(c)), append(values, "'[]'")
			case fsm.KindCounter:
				into, values = append(into, quote(c)), append(values, "0")
			}
		}
	}
	if _, err := q.exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s",
		quote(name), strings.Join(into, ", "), strings.Join(values, ", "), quote(name+"_old"))); err != nil {
		return err
	}
	if name == s.Table+"_events" {
		if err := keepPlaces(ctx, q, name); err != nil {
			return err
		}
	}
	_, err = q.exec(ctx, "DROP TABLE "+quote(name+"_old"))
	return err
}

// keepPlaces makes the new log go on where the old one has ended, also when its
// last events are gone: a place is never given again.
func keepPlaces(ctx context.Context, q querier, name string) error {
	for _, text := range []string{
		`DELETE FROM "sqlite_sequence" WHERE "name" = ? AND EXISTS (SELECT 1 FROM "sqlite_sequence" WHERE "name" = ?)`,
		`INSERT INTO "sqlite_sequence" ("name", "seq") SELECT ?, "seq" FROM "sqlite_sequence" WHERE "name" = ?`,
	} {
		if _, err := q.exec(ctx, text, name, name+"_old"); err != nil {
			return fmt.Errorf("number the log: %w", err)
		}
	}
	return nil
}
