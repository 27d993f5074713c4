package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// object is a table, index, trigger or view as SQLite keeps it.
type object struct{ kind, name, table, sql string }

func (o object) String() string { return o.kind + " " + quote(o.name) }

// is returns the object's text as pieces compare it.
func (o object) is() string { return pieceOf(tokens(o.sql)).is }

// sqliteWork is what has to be done to one machine's objects in a file. Those
// that others made are left alone, or made again as they were.
type sqliteWork struct {
	sqlite
	t       *table
	m       *meta
	want    []piece
	wanted  map[string]bool  // their names
	old     map[string]piece // what the generator made, by name; nil: nobody has noted it
	fields  *loggedFields    // where nobody has
	stale   bool             // what is noted lacks something
	later   bool             // the tables are those of another specification or level
	have    map[string]object
	parts   map[string]parts    // of tables that differ
	drop    []object            // ours, not wanted or another now
	add     map[string][]string // statements that add columns, by table
	rebuild []string            // tables
	missing bool
}

// work returns how the file's objects become those of the schema; no steps when
// they are. It changes nothing.
func (d sqlite) work(ctx context.Context, q querier, t *table, m *meta, want []piece) ([]stage, error) {
	w := &sqliteWork{sqlite: d, t: t, m: m, want: want, wanted: map[string]bool{}, parts: map[string]parts{}, add: map[string][]string{}}
	w.later = m != nil && (m.hash != t.schema.Hash || m.enforce != t.enforce())
	for _, p := range want {
		w.wanted[strings.ToLower(p.name)] = p.kind != "drop"
	}
	var err error
	if w.have, err = d.masters(ctx, q); err != nil {
		return nil, err
	}
	if w.old, err = w.noted(ctx, q); err != nil {
		return nil, err
	}
	if w.fields, err = w.logged(ctx, q); err != nil {
		return nil, err
	}
	for _, p := range want {
		if err := w.compare(p, m == nil); err != nil {
			return nil, err
		}
	}
	if err := w.leftovers(); err != nil {
		return nil, err
	}
	switch {
	case len(w.rebuild) > 0 || len(w.add) > 0:
		return []stage{w.change, w.note}, nil
	case w.missing || len(w.drop) > 0:
		return []stage{w.replace, w.note}, nil
	case w.later || w.old == nil || w.stale:
		return []stage{w.note}, nil
	}
	return nil, nil
}

// masters returns all objects of the file that have a text.
func (sqlite) masters(ctx context.Context, q querier) (map[string]object, error) {
	rows, err := q.query(ctx, `SELECT "type", "name", "tbl_name", "sql" FROM sqlite_master WHERE "sql" IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	have := map[string]object{}
	for rows.Next() {
		var o object
		if err := rows.Scan(&o.kind, &o.name, &o.table, &o.sql); err != nil {
			return nil, err
		}
		have[strings.ToLower(o.name)] = o
	}
	return have, rows.Err()
}

// compare finds out what is to be done for one wanted object.
func (w *sqliteWork) compare(p piece, first bool) error {
	o, there := w.have[strings.ToLower(p.name)]
	switch {
	case p.kind == "drop":
		if there && o.kind == "index" && w.made(o) {
			w.drop = append(w.drop, o)
		}
		return nil
	case !there:
		w.missing = true
		return nil
	case o.kind != p.kind || p.table != "" && !strings.EqualFold(o.table, p.table):
		return &UserObjectError{o.kind, o.name, fmt.Sprintf("has the name of a %s that the machine %s needs; rename it", p.kind, w.t.schema.Machine)}
	case p.kind == "table" && p.name == "fsm_meta":
		return nil
	case o.is() == p.is:
		_, had := w.old[strings.ToLower(p.name)]
		w.stale = w.stale || w.old != nil && !had
		return nil
	case first || !w.made(o):
		return &UserObjectError{o.kind, o.name, fmt.Sprintf("is another one than the machine %s needs under this name; rename it", w.t.schema.Machine)}
	case p.kind != "table":
		w.drop, w.missing = append(w.drop, o), true
		return nil
	}
	apart, err := w.apart(o, p)
	if err != nil {
		return err
	}
	w.parts[p.name] = apart
	switch adding, fits := apart.additions(p); {
	case !fits:
		w.rebuild = append(w.rebuild, p.name)
	case len(adding) > 0:
		w.add[p.name] = adding
	}
	return nil
}

// replace drops what is another now and makes what is missing.
func (w *sqliteWork) replace(ctx context.Context, q querier) error {
	if err := w.remove(ctx, q); err != nil {
		return err
	}
	return w.make(ctx, q)
}

func (w *sqliteWork) remove(ctx context.Context, q querier) error {
	for _, o := range w.drop {
		if slices.Contains(w.rebuild, o.table) && o.kind != "view" {
			continue // it goes with the table
		}
		if _, err := q.exec(ctx, "DROP "+strings.ToUpper(o.kind)+" IF EXISTS "+quote(o.name)); err != nil {
			return fmt.Errorf("drop the %v: %w", o, err)
		}
	}
	return nil
}

// make makes what is missing, in the order of the schema.
func (w *sqliteWork) make(ctx context.Context, q querier) error {
	have, err := w.masters(ctx, q)
	if err != nil {
		return err
	}
	for _, p := range w.want {
		if _, there := have[strings.ToLower(p.name)]; there || p.kind == "drop" {
			continue
		}
		if _, err := q.exec(ctx, p.text); err != nil {
			if p.kind == "index" {
				if twice := w.twice(ctx, q, p); twice != nil {
					return twice
				}
			}
			return fmt.Errorf("make the %s %q: %w", p.kind, p.name, err)
		}
	}
	return nil
}

// change changes tables, and looks before and after at what others have made over
// them.
func (w *sqliteWork) change(ctx context.Context, q querier) error {
	// Texts of others are not read while a table is away, nor changed.
	if _, err := q.exec(ctx, "PRAGMA legacy_alter_table = ON"); err != nil {
		return err
	}
	defer q.exec(context.WithoutCancel(ctx), "PRAGMA legacy_alter_table = OFF") //nolint:errcheck // it ends with the connection
	before, err := w.look(ctx, q)
	if err != nil {
		return err
	}
	if err := w.remove(ctx, q); err != nil {
		return err
	}
	var again []object
	for _, name := range w.rebuild {
		of, err := w.rebuildTable(ctx, q, name)
		if err != nil {
			return err
		}
		again = append(again, of...)
	}
	for name, statements := range w.add {
		for _, text := range statements {
			if _, err := q.exec(ctx, text); err != nil {
				return w.misfit(ctx, q, name, err)
			}
		}
	}
	if err := w.make(ctx, q); err != nil {
		return err
	}
	for _, o := range again {
		if err := w.restore(ctx, q, o); err != nil {
			return err
		}
	}
	return w.compareLooks(ctx, q, before)
}

// restore makes an index or trigger of somebody else again.
func (w *sqliteWork) restore(ctx context.Context, q querier, o object) error {
	if lost := w.lostColumns(ctx, q, o); lost != "" {
		return &UserObjectError{o.kind, o.name, fmt.Sprintf("needs the column %q of %s, which is gone; drop it first", lost, o.table)}
	}
	if _, err := q.exec(ctx, o.sql); err != nil {
		return &UserObjectError{o.kind, o.name, fmt.Sprintf("does not go with the new table %s (%v); drop it first", o.table, err)}
	}
	return nil
}

// rebuildTable makes a table anew beside the old one, fills it and puts it in its
// place. It returns the indexes and triggers of others that went with the old one.
func (w *sqliteWork) rebuildTable(ctx context.Context, q querier, name string) ([]object, error) {
	switch on, err := one(ctx, q, "PRAGMA foreign_keys"); {
	case err != nil:
		return nil, fmt.Errorf("sqlstore: are foreign keys enforced: %w", err)
	case on != "0":
		return nil, fmt.Errorf("sqlstore: a table is not rebuilt while foreign keys are enforced (%q)", on)
	}
	var others []object
	for _, o := range w.have {
		if strings.EqualFold(o.table, name) && (o.kind == "index" || o.kind == "trigger") && !w.made(o) {
			others = append(others, o)
		}
	}
	slices.SortFunc(others, func(a, b object) int { return strings.Compare(a.kind+a.name, b.kind+b.name) })
	i := slices.IndexFunc(w.want, func(p piece) bool { return p.kind == "table" && p.name == name })
	fresh := name + "_new"
	for n := 2; w.have[strings.ToLower(fresh)].name != ""; n++ {
		fresh = fmt.Sprintf("%s_new%d", name, n)
	}
	if _, err := q.exec(ctx, w.parts[name].fresh(w.want[i], fresh)); err != nil {
		return nil, err
	}
	if err := w.move(ctx, q, name, fresh); err != nil {
		return nil, err
	}
	for _, text := range []string{"DROP TABLE " + quote(name), "ALTER TABLE " + quote(fresh) + " RENAME TO " + quote(name)} {
		if _, err := q.exec(ctx, text); err != nil {
			return nil, err
		}
	}
	return others, nil
}

// move copies the columns that old and new table share. Columns that are new
// begin with their default, absent, empty or at 0.
func (w *sqliteWork) move(ctx context.Context, q querier, name, fresh string) error {
	into, values, err := w.values(ctx, q, name, fresh)
	if err != nil {
		return err
	}
	if err := w.unsaid(ctx, q, name); err != nil {
		return err
	}
	if _, err := q.exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s",
		quote(fresh), strings.Join(into, ", "), strings.Join(values, ", "), quote(name))); err != nil {
		return w.misfit(ctx, q, name, err)
	}
	if !strings.HasSuffix(name, "_events") {
		return nil
	}
	// A place in the log is never given again, also when its last events are gone.
	for _, text := range []string{
		`DELETE FROM "sqlite_sequence" WHERE "name" = ? AND EXISTS (SELECT 1 FROM "sqlite_sequence" WHERE "name" = ?)`,
		`INSERT INTO "sqlite_sequence" ("name", "seq") SELECT ?, "seq" FROM "sqlite_sequence" WHERE "name" = ?`,
	} {
		if _, err := q.exec(ctx, text, fresh, name); err != nil {
			return fmt.Errorf("number the log: %w", err)
		}
	}
	return nil
}

// values returns the columns of the fresh table that are filled, and what with.
func (w *sqliteWork) values(ctx context.Context, q querier, name, fresh string) (into, values []string, err error) {
	const list = `SELECT "name" FROM pragma_table_info(?) ORDER BY "cid"`
	before, err := column(ctx, q, list, name)
	if err != nil {
		return nil, nil, err
	}
	after, err := column(ctx, q, list, fresh)
	if err != nil {
		return nil, nil, err
	}
	s := w.t.schema
	for _, c := range after {
		if slices.Contains(before, c) {
			into, values = append(into, quote(c)), append(values, quote(c))
			continue
		}
		if i := s.Column(c); name == s.Table && i >= 0 {
			if s.Columns[i].Default != nil {
				continue // the column has it
			}
			if value := blank(s.Columns[i].Kind); value != "NULL" {
				into, values = append(into, quote(c)), append(values, value)
			}
		}
	}
	return into, values, nil
}

// blank is the value of a field that no operation has set.
func blank(k driver.Kind) string {
	switch k {
	case driver.KindSet:
		return "'[]'"
	case driver.KindCounter:
		return "0"
	}
	return "NULL"
}

func (sqlite) columns(table string) string {
	return `SELECT "name" FROM pragma_table_info(` + literal(table) + ")"
}

func (sqlite) ruled(table, columns string) string {
	return `SELECT iif(instr("sql", ' WHERE '), substr("sql", instr("sql", ' WHERE ') + 7), 'true') FROM "sqlite_master" AS m
		WHERE "type" = 'index' AND "tbl_name" = ` + literal(table) + ` AND instr("name", ` + literal(table+"_unique_") + `) = 1
		AND coalesce((SELECT group_concat("name", ',') FROM (SELECT "name" FROM pragma_index_info(m."name")
			WHERE "name" IS NOT NULL ORDER BY "name")), '') = ` + literal(columns)
}

// unguarded drops the triggers of the generated schema and makes them again.
func (d sqlite) unguarded(ctx context.Context, q querier, t *table, f func() error) error {
	have, err := d.masters(ctx, q)
	if err != nil {
		return err
	}
	w := &sqliteWork{t: t}
	var ours []object
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if o := have[name]; o.kind == "trigger" && w.made(o) {
			ours = append(ours, o)
		}
	}
	for _, o := range ours {
		if _, err := q.exec(ctx, "DROP TRIGGER "+quote(o.name)); err != nil {
			return err
		}
	}
	if err := f(); err != nil {
		return err
	}
	for _, o := range ours {
		if _, err := q.exec(ctx, o.sql); err != nil {
			return err
		}
	}
	return nil
}

// unlink stops this connection from enforcing foreign keys, or lets it go on: what
// refers to a table stays as it is while that is rebuilt.
func (sqlite) unlink(ctx context.Context, q querier, off bool) error {
	want := map[bool]string{true: "0", false: "1"}[off]
	if _, err := q.exec(ctx, "PRAGMA foreign_keys = "+want); err != nil {
		return err
	}
	if is, err := one(ctx, q, "PRAGMA foreign_keys"); err != nil || is != want {
		return fmt.Errorf("sqlstore: PRAGMA foreign_keys is %q, expected %q: %w", is, want, err)
	}
	return nil
}
