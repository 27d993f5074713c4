package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/evolve"
)

// Whose is it? The file says what the generator made in it: the schema of the version that the
// tables are of. What is neither there nor in the schema of the next version is somebody else's.

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

// errUnnoted says that nobody knows whose the objects in a file are.
var errUnnoted = errors.New(`the table "fsm_made" does not say what was made in this file; ` +
	"call Migrate of the package that made the tables once, at their level, or use the script of `fsmgen diff --sql`")

// object is a table, index, trigger or view as SQLite keeps it.
type object struct{ kind, name, table, sql string }

// piece returns the object as schemas have it.
func (o object) piece() (evolve.Piece, error) {
	s, err := evolve.Parse(o.sql)
	if err == nil && len(s.Pieces) != 1 {
		err = fmt.Errorf("%d statements", len(s.Pieces))
	}
	if err != nil {
		return evolve.Piece{}, fmt.Errorf("read the %s %q: %w", o.kind, o.name, err)
	}
	return s.Pieces[0], nil
}

// masters returns all objects of the file that have a text, by their names in small letters.
func (sqlite) masters(ctx context.Context, q querier) (map[string]object, error) {
	have := map[string]object{}
	err := q.query(ctx, func(rows Rows) error {
		var o object
		err := rows.Scan(&o.kind, &o.name, &o.table, &o.sql)
		have[strings.ToLower(o.name)] = o
		return err
	}, `SELECT "type", "name", "tbl_name", "sql" FROM sqlite_master WHERE "sql" IS NOT NULL`)
	return have, err
}

// sqliteFile is a file with one machine's objects, and those of others.
type sqliteFile struct {
	t         *table
	m         *meta
	have      map[string]object
	noted     *evolve.Schema              // what the generator made; nil: nobody has noted it
	next, old *evolve.Schema              // old: what of it is there
	changed   map[string]*UserObjectError // columns and constraints of others, by table: the first of each
}

// owners finds out whose the objects of a file are.
func (d sqlite) owners(ctx context.Context, q querier, t *table, m *meta, next *evolve.Schema) (*sqliteFile, error) {
	f := &sqliteFile{t: t, m: m, next: next, old: evolve.New(), changed: map[string]*UserObjectError{}}
	var err error
	if f.have, err = d.masters(ctx, q); err != nil {
		return nil, err
	}
	if o, there := f.have["fsm_made"]; there && o.kind != "table" {
		return nil, &UserObjectError{o.kind, o.name, "has the name of a table that a store keeps for itself; rename it"}
	} else if there && m != nil {
		texts, err := column(ctx, q, `SELECT "schema" FROM "fsm_made" WHERE "machine" = ? AND "hash" = ?`, t.schema.Machine, m.hash)
		if err != nil {
			return nil, err
		}
		if len(texts) > 0 {
			if f.noted, err = evolve.Parse(texts[0]); err != nil {
				return nil, fmt.Errorf(`read the schema that "fsm_made" holds: %w`, err)
			}
		}
	}
	if m != nil && f.noted == nil && (m.hash != t.schema.Hash || m.enforce != t.enforce()) {
		return nil, errUnnoted
	}
	for _, p := range next.Pieces {
		if err := f.wanted(p); err != nil {
			return nil, err
		}
	}
	err = f.leftOver()
	return f, err
}

// wanted looks at what has the name of an object that the next schema makes.
func (f *sqliteFile) wanted(p evolve.Piece) error {
	o, there := f.have[strings.ToLower(p.Name)]
	switch {
	case !there:
		return nil
	case p.Name == "fsm_meta" && o.kind == "table":
		return f.found(o)
	case p.Kind == "drop":
		if f.noted == nil && o.kind == "index" && f.next.Table(o.table) != nil { // else what is noted tells
			return f.found(o)
		}
		return nil
	case o.kind != p.Kind || p.Table != "" && !strings.EqualFold(o.table, p.Table):
		return &UserObjectError{o.kind, o.name,
			fmt.Sprintf("has the name of a %s that the machine %s needs; rename it", p.Kind, f.t.schema.Machine)}
	}
	live, err := o.piece()
	if err != nil {
		return err
	}
	switch known := f.noted == nil || f.noted.Find(p.Kind, p.Name) != nil; {
	case live.Is == p.Is:
	case f.m == nil || !known:
		return &UserObjectError{o.kind, o.name,
			fmt.Sprintf("is another one than the machine %s needs under this name; rename it", f.t.schema.Machine)}
	case p.Kind == "table":
		return f.table(live)
	}
	f.old.Add(live)
	return nil
}

func (f *sqliteFile) found(o object) error {
	live, err := o.piece()
	if err == nil {
		f.old.Add(live)
	}
	return err
}

// leftOver looks for what an older schema made and the next one does not have. What has been
// changed since is somebody else's.
func (f *sqliteFile) leftOver() error {
	if f.noted == nil {
		return nil
	}
	for _, p := range f.noted.Pieces {
		o, there := f.have[strings.ToLower(p.Name)]
		if !there || p.Kind == "table" || o.kind != p.Kind || f.next.Find(p.Kind, p.Name) != nil {
			continue
		}
		if live, err := o.piece(); err != nil {
			return err
		} else if live.Is == p.Is {
			f.old.Add(live)
		}
	}
	return nil
}

// table takes a table of the machine apart by who made what.
func (f *sqliteFile) table(live evolve.Piece) error {
	f.old.Add(live)
	t, next := f.old.Table(live.Name), f.next.Table(live.Name)
	made := next
	if f.noted != nil {
		made = f.noted.Table(live.Name)
	}
	var strange *UserObjectError
	other := func(kind, name, why string) {
		if strange == nil {
			strange = &UserObjectError{kind, name, why}
		}
	}
	lost := fmt.Sprintf("would be lost with the table %q, which must be rebuilt; "+
		"move it into a table of your own that refers to this one, or drop it", live.Name)
	var columns []evolve.Column
	for _, c := range t.Columns {
		k := made.Column(c.Name)
		switch {
		case k == nil:
			other("column", c.Name, lost)
			continue
		case f.noted != nil && k.Is != c.Is && (next.Column(c.Name) == nil || next.Column(c.Name).Is != c.Is):
			other("column", c.Name,
				fmt.Sprintf("stands in the table %q for one that version %d made; make it that again", live.Name, f.m.version))
			c = *k
		case f.noted == nil && strings.HasPrefix(c.Is, k.Is): // others may have written behind it
			c = *k
		}
		columns = append(columns, c)
	}
	var rules []evolve.Rule
	for _, r := range t.Rules {
		ours := func(o evolve.Rule) bool { return o.Is == r.Is || f.noted == nil && r.Name != "" && o.Name == r.Name }
		if slices.ContainsFunc(made.Rules, ours) || slices.ContainsFunc(next.Rules, ours) {
			rules = append(rules, r)
		} else if name := r.Name; name != "" {
			other("constraint", name, lost)
		} else {
			other("constraint", fmt.Sprintf("%.60s", r.Text), lost)
		}
	}
	t.Columns, t.Rules = columns, rules
	f.changed[strings.ToLower(live.Name)] = strange
	return nil
}

// others returns the indexes and triggers that others have made over a table.
func (f *sqliteFile) others(table string) (list []object) {
	for _, key := range slices.Sorted(maps.Keys(f.have)) {
		o := f.have[key]
		if (o.kind == "index" || o.kind == "trigger") && strings.EqualFold(o.table, table) && f.old.Find(o.kind, o.name) == nil {
			list = append(list, o)
		}
	}
	return list
}
