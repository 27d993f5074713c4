package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Whose is it? The file says what the generator made in it: the schema of the version
// that the tables are of. What is neither there nor in the schema of the next version
// is somebody else's.

// madeTable holds that schema, by machine. The generated SQL makes it, or Migrate.
const madeTable = `CREATE TABLE IF NOT EXISTS "fsm_made" (
    "machine" TEXT NOT NULL PRIMARY KEY,
    "hash" TEXT NOT NULL,
    "schema" TEXT NOT NULL
) STRICT, WITHOUT ROWID`

// noted returns what the generator made, by name; nil where nobody has noted it for
// the specification that the tables are of: a script migrated them, or the note was lost.
func (w *sqliteWork) noted(ctx context.Context, q querier) (map[string]piece, error) {
	if o, there := w.have["fsm_made"]; w.m == nil || !there {
		return nil, nil
	} else if o.kind != "table" {
		return nil, &UserObjectError{o.kind, o.name, "has the name of a table that a store keeps for itself; rename it"}
	}
	schema, err := column(ctx, q, `SELECT "schema" FROM "fsm_made" WHERE "machine" = ? AND "hash" = ?`, w.t.schema.Machine, w.m.hash)
	if err != nil || len(schema) == 0 {
		return nil, err
	}
	list, err := pieces(schema[0])
	if err != nil {
		return nil, fmt.Errorf(`read the schema that "fsm_made" holds: %w`, err)
	}
	old := map[string]piece{}
	for _, p := range list {
		old[strings.ToLower(p.name)] = p
	}
	return old, nil
}

// loggedFields are fields that the old version had, as its log tells.
type loggedFields struct {
	has map[string]bool
	all bool // the image is of that version: it had no others
}

// logged returns the fields of an image in the log, which holds every field of its
// version: where nobody has noted what the generator made, it tells a column of ours
// from one of somebody else's that has the name of a new field. Nil: there is none.
func (w *sqliteWork) logged(ctx context.Context, q querier) (*loggedFields, error) {
	if o := w.have[strings.ToLower(w.t.schema.Table+"_events")]; w.m == nil || !w.later || w.old != nil || o.kind != "table" {
		return nil, nil
	}
	for _, f := range []loggedFields{{all: true}, {}} {
		text := `SELECT "image" FROM ` + w.t.part("_events") + ` WHERE "image" IS NOT NULL`
		if f.all {
			text += fmt.Sprintf(` AND "version" = %d`, w.m.version)
		}
		images, err := column(ctx, q, text+` LIMIT 1`)
		if err != nil {
			return nil, err
		}
		var members map[string]json.RawMessage
		if len(images) == 0 || json.Unmarshal([]byte(images[0]), &members) != nil {
			continue
		}
		f.has = map[string]bool{}
		for name := range members {
			f.has[name] = true
		}
		return &f, nil
	}
	return nil, nil
}

// note writes down what the generator has made now.
func (w *sqliteWork) note(ctx context.Context, q querier) error {
	if _, err := q.exec(ctx, madeTable); err != nil {
		return err
	}
	var schema strings.Builder
	for _, p := range w.want {
		if p.kind != "drop" {
			schema.WriteString(p.text + "\n")
		}
	}
	_, err := q.exec(ctx, `INSERT OR REPLACE INTO "fsm_made" ("machine", "hash", "schema") VALUES (?, ?, ?)`,
		w.t.schema.Machine, w.t.schema.Hash, schema.String())
	return err
}

// own reports whether a table is one of the machine's.
func (w *sqliteWork) own(name string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(name), strings.ToLower(w.t.schema.Table))
	return ok && slices.Contains([]string{"", "_events", "_outbox", "_groups"}, rest)
}

// The names that the generator gives to indexes, behind that of the machine.
var madeIndex = regexp.MustCompile(`^_(?:state|projection|(?:next|ready|due|unique|events|outbox|peers|parked)_.+)$`)

// made reports whether an object is of the generator's making: the old schema has it,
// and has it so where the new one does not have it. Where nobody has noted the old
// schema, a trigger is known by its message; an index or a view by a name that is in
// the new schema, and the form in which the generator writes.
func (w *sqliteWork) made(o object) bool {
	key := strings.ToLower(o.name)
	if w.old != nil {
		p, had := w.old[key]
		return had && p.kind == o.kind && (p.table == "" || strings.EqualFold(p.table, o.table)) &&
			(o.kind == "table" || w.wanted[key] || p.is == o.is())
	}
	_, named := w.wanted[key]
	switch o.kind {
	case "table":
		return true
	case "trigger":
		hidden := strings.HasPrefix(o.name, w.t.schema.Table+"_parked") || o.name == w.t.schema.Table+"_unchained"
		if named && hidden && o.table == w.t.schema.Table {
			return strings.HasPrefix(o.sql, "CREATE TRIGGER "+quote(o.name)+" AFTER ")
		}
		return w.own(o.table) && strings.Contains(o.sql, "RAISE(ABORT, "+strings.TrimSuffix(literal("fsm: "+w.t.schema.Machine+": "), "'"))
	}
	return named && w.formed(o)
}

// formed reports whether the generator could have made an index or a view.
func (w *sqliteWork) formed(o object) bool {
	name := w.t.schema.Table
	if o.kind == "view" {
		return strings.HasPrefix(o.name, name+"_") && strings.HasPrefix(o.sql, "CREATE VIEW "+quote(o.name)+" AS\nSELECT\n    ")
	}
	rest, ok := strings.CutPrefix(o.name, name)
	form := "INDEX " + quote(o.name) + " ON " + quote(o.table) + " ("
	return ok && o.kind == "index" && w.own(o.table) && madeIndex.MatchString(rest) &&
		(strings.HasPrefix(o.sql, "CREATE "+form) || strings.HasPrefix(o.sql, "CREATE UNIQUE "+form))
}

// leftovers finds what an older schema has made and this one does not have. An index
// that may be ours or not stays, unless it would refuse rows by a rule that is gone.
func (w *sqliteWork) leftovers() error {
	for key, o := range w.have {
		_, named := w.wanted[key]
		switch {
		case named || o.kind == "table":
		case w.made(o):
			w.drop = append(w.drop, o)
		case w.old == nil && w.later && strings.HasPrefix(o.is(), "UNIQUE ") && w.formed(o):
			return w.unsure("index", o.name, "")
		}
	}
	return nil
}

// unsure refuses what may be somebody else's, for want of a note.
func (w *sqliteWork) unsure(kind, name, table string) error {
	if table != "" {
		table = fmt.Sprintf("of the table %q ", table)
	}
	return &UserObjectError{kind, name, fmt.Sprintf("%sis not in version %d, and this file does not say whether version %d made it; "+
		"call Migrate of the package of version %d first, or use the script of `fsmgen diff --sql`", table, w.t.schema.Version, w.m.version, w.m.version)}
}

// over reports whether the text of a view names the machine's table.
func (w *sqliteWork) over(o object) bool {
	return slices.ContainsFunc(tokens(o.sql), func(t token) bool { return strings.EqualFold(t.name(), w.t.schema.Table) })
}

// parts is a table of the machine as it is in the file, taken apart by who made what.
type parts struct {
	columns, rules []item // the machine's
	added, ruled   []item // columns and constraints of others
	behind         map[string]string
	tail           string
}

// partWork takes one table apart.
type partWork struct {
	*sqliteWork
	parts
	table          string
	columns, rules []item // wanted
	old            []item // columns of the old schema
	known          bool   // the old schema is
	ours           map[string]bool
}

// apart finds out who made what in the table o. It refuses what would be lost or
// taken over.
func (w *sqliteWork) apart(o object, p piece) (parts, error) {
	a := &partWork{sqliteWork: w, table: o.name, known: w.old != nil, ours: map[string]bool{}}
	a.columns, a.rules, _ = tableItems(p.text)
	a.behind = map[string]string{}
	var oldRules []item
	if a.known {
		a.old, oldRules, _ = tableItems(w.old[strings.ToLower(o.name)].text)
	}
	for _, k := range slices.Concat(a.rules, oldRules) {
		a.ours[k.is] = true
	}
	columns, rules, tail := tableItems(o.sql)
	a.tail = tail
	for _, c := range columns {
		if err := a.column(c); err != nil {
			return parts{}, err
		}
	}
	for _, k := range rules {
		switch ours, err := a.mine(k); {
		case err != nil:
			return parts{}, err
		case ours:
			a.parts.rules = append(a.parts.rules, k)
		default:
			a.ruled = append(a.ruled, k)
		}
	}
	return a.parts, a.goOn()
}

// mine reports whether the machine made a constraint.
func (a *partWork) mine(k item) (bool, error) {
	switch {
	case a.ours[k.is]:
		return true, nil
	case a.known:
		return false, nil
	case k.rule != "" && slices.ContainsFunc(a.rules, func(n item) bool { return n.rule == k.rule }):
		return true, nil
	}
	if !a.later { // nothing that the generator made is gone
		return false, nil
	}
	return false, a.unsure("constraint", named(k), a.table)
}

func named(k item) string {
	if k.rule != "" {
		return k.rule
	}
	return fmt.Sprintf("%.60s", k.is)
}

func byName(list []item, name string) *item {
	i := slices.IndexFunc(list, func(n item) bool { return strings.EqualFold(n.name, name) })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// column finds out who made a column, and what is behind it.
func (a *partWork) column(c item) error {
	old, next := byName(a.old, c.name), byName(a.columns, c.name)
	ours := old != nil
	if !a.known {
		ours = c.marked && (a.later || next != nil) || next != nil && next.is == c.is && !a.later
		if f := a.sqliteWork.fields; ours && f != nil && a.t.schema.Column(c.name) >= 0 && strings.EqualFold(a.table, a.t.schema.Table) && !f.has[c.name] {
			if !f.all {
				return a.unsure("column", c.name, a.table)
			}
			ours = false
		}
	}
	theirs := ""
	for _, k := range c.behind {
		switch mine, err := a.mine(k); {
		case err != nil && ours:
			return err
		case mine:
			a.parts.rules = append(a.parts.rules, k)
		default:
			theirs += " " + k.text
		}
	}
	c.behind = nil
	switch {
	case !ours && next != nil:
		return &UserObjectError{"column", c.name,
			fmt.Sprintf("stands in the table %q where the machine needs a column of its own; rename it", a.table)}
	case !ours:
		c.text += theirs
		a.added = append(a.added, c)
		return nil
	case !a.known && next == nil:
		return a.unsure("column", c.name, a.table)
	}
	c, more, err := a.asMade(c, old, next)
	if err != nil {
		return err
	}
	if theirs = more + theirs; theirs != "" {
		if next == nil {
			return &UserObjectError{"constraint", strings.TrimSpace(theirs),
				fmt.Sprintf("stands behind the column %q of the table %q, which goes; drop it first", c.name, a.table)}
		}
		a.behind[next.name] = theirs
	}
	a.parts.columns = append(a.parts.columns, c)
	return nil
}

// asMade returns the column as the generator made it, and what others have written
// behind it.
func (a *partWork) asMade(c item, old, next *item) (item, string, error) {
	list := tokens(c.text)
	for _, m := range []*item{old, next} {
		if m == nil {
			continue
		}
		if n := len(tokens(m.text)); c.is == m.is {
			return c, "", nil
		} else if more, ok := strings.CutPrefix(c.is, m.is+" "); ok && (a.known || ruling(more)) {
			c.is = m.is
			return c, " " + c.text[list[n].begin-list[0].begin:], nil
		}
	}
	if a.known || ruling(c.is) && !ruling(next.is) {
		return c, "", &UserObjectError{"column", c.name,
			fmt.Sprintf("of the table %q is another one than version %d made (%s); make it that again", a.table, a.m.version, c.text)}
	}
	return c, "", nil
}

// ruling reports whether a column's text has a rule that the generator writes behind
// no column.
func ruling(is string) bool {
	return slices.ContainsFunc(tokens(is), func(t token) bool { return t.is("CHECK", "UNIQUE", "REFERENCES", "GENERATED") })
}

// goOn refuses what others have made over columns that go.
func (a *partWork) goOn() error {
	gone := func(name string) bool { return byName(a.parts.columns, name) != nil && byName(a.columns, name) == nil }
	look := func(kind, name, text string) error {
		for _, t := range tokens(text) {
			if gone(t.name()) {
				return &UserObjectError{kind, name, fmt.Sprintf("of the table %q names the column %q, which goes; drop it first", a.table, t.name())}
			}
		}
		return nil
	}
	for _, c := range a.added {
		if err := look("column", c.name, c.text); err != nil {
			return err
		}
	}
	for _, k := range a.ruled {
		if err := look("constraint", named(k), k.text); err != nil {
			return err
		}
	}
	for name, text := range a.behind {
		if err := look("constraint", strings.TrimSpace(text), text); err != nil {
			return fmt.Errorf("behind %q: %w", name, err)
		}
	}
	return nil
}

// additions returns the statements that make the table the wanted one by adding
// columns; fits is false when it must be rebuilt. What others have added stays.
func (a parts) additions(p piece) (statements []string, fits bool) {
	columns, rules, tail := tableItems(p.text)
	has, wanted := map[string]bool{}, map[string]bool{}
	for _, i := range slices.Concat(a.columns, a.rules) {
		has[i.is] = true
	}
	for _, i := range slices.Concat(columns, rules) {
		wanted[i.is] = true
	}
	extra := func(i item) bool { return !wanted[i.is] }
	if a.tail != strings.TrimSuffix(tail, " ;") || slices.ContainsFunc(a.columns, extra) || slices.ContainsFunc(a.rules, extra) {
		return nil, false
	}
	for _, c := range columns {
		if has[c.is] {
			continue
		}
		if byName(a.columns, c.name) != nil || strings.Contains(c.is, " NOT NULL") && !strings.Contains(c.is, " DEFAULT ") {
			return nil, false
		}
		statements = append(statements, "ALTER TABLE "+quote(p.name)+" ADD COLUMN "+c.text)
	}
	for _, k := range rules {
		switch {
		case has[k.is]:
		case len(statements) == 0 || k.check == "":
			return nil, false
		default: // the last column is there when the rule is read
			statements[len(statements)-1] += " " + k.text
		}
	}
	for i := range statements {
		statements[i] += " " + addedMark
	}
	return statements, true
}

// fresh returns the statement that makes the wanted table under another name, with
// the columns and constraints that others have added to the old one.
func (a parts) fresh(p piece, name string) string {
	columns, rules, _ := tableItems(p.text)
	text := p.text
	insert := func(at int, list []item) {
		for _, i := range slices.Backward(list) {
			text = text[:at] + ", " + i.text + text[at:]
		}
	}
	last := columns[len(columns)-1].end
	for _, k := range rules {
		last = max(last, k.end)
	}
	insert(last, a.ruled)
	insert(columns[len(columns)-1].end, a.added)
	for _, c := range slices.Backward(columns) {
		text = text[:c.end] + a.behind[c.name] + text[c.end:]
	}
	return strings.Replace(strings.Replace(text, "IF NOT EXISTS ", "", 1), quote(p.name), quote(name), 1)
}
