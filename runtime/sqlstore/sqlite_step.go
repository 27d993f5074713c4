package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/evolve"
)

// misfitError says which rows keep a table from becoming the wanted one.
type misfitError struct{ text string }

func (e *misfitError) Error() string { return e.text }

// rowsAgainst is the message about rows that break a rule.
func rowsAgainst(ids []string, more int, rule string) string {
	text := "the row " + fmt.Sprintf("%q", ids[0]) + " breaks "
	if more > 0 {
		text = fmt.Sprintf("the row %q and %d more break ", ids[0], more)
	}
	return text + rule
}

// sqliteStep makes the machine's objects in a file those of the next schema.
type sqliteStep struct {
	*sqliteFile
	sqlite
	change *evolve.Change
	step   *evolve.Step
}

// work returns how the file's objects become those of the schema; no stages when they are.
// It changes nothing.
func (d sqlite) work(ctx context.Context, q querier, t *table, m *meta, next *evolve.Schema) ([]stage, error) {
	f, err := d.owners(ctx, q, t, m, next)
	if err != nil {
		return nil, err
	}
	w := &sqliteStep{sqliteFile: f, change: &evolve.Change{Machine: t.schema.Table, Old: f.old, Next: next, Values: map[string]string{}}}
	if records := f.old.Table(t.schema.Table); records != nil {
		for _, c := range t.schema.Columns {
			if value := blank(c.Kind); value != "" && c.Default == nil && records.Column(c.Stored) == nil {
				w.change.Values[c.Stored] = value
			}
		}
	}
	w.step = w.change.SQLite()
	switch {
	case len(w.step.Drop)+len(w.step.Change)+len(w.step.Make) > 0:
		return []stage{w.run, w.note}, nil
	case f.noted == nil || m.hash != t.schema.Hash || !f.noted.Same(next):
		return []stage{w.note}, nil
	}
	return nil, nil
}

// blank is the value of a field that no operation has set, where that is one.
func blank(k driver.Kind) string {
	switch k {
	case driver.KindSet:
		return "'[]'"
	case driver.KindCounter:
		return "0"
	}
	return ""
}

// run takes the step.
func (w *sqliteStep) run(ctx context.Context, q querier) error {
	if err := w.refuse(ctx, q); err != nil {
		return err
	}
	if len(w.step.Rebuilt) > 0 {
		if on, err := one(ctx, q, "PRAGMA foreign_keys"); err != nil || on != "0" {
			return fmt.Errorf("sqlstore: a table is not rebuilt while foreign keys are enforced (%q): %w", on, err)
		}
		defer q.exec(context.WithoutCancel(ctx), "PRAGMA legacy_alter_table = OFF") //nolint:errcheck // it ends with the connection
	}
	if err := executes(ctx, q, w.step.Look); err != nil {
		return unreadable(err, "cannot be read; correct it or drop it first")
	}
	const unfit = "does not go with the new tables; drop it first"
	if err := executes(ctx, q, slices.Concat(w.step.Drop, w.step.Change, w.step.Make)); err != nil {
		return unreadable(err, unfit)
	}
	for _, name := range slices.Concat(w.step.Rebuilt, w.step.Views) {
		for _, o := range w.others(name) {
			if _, err := q.exec(ctx, o.sql); err != nil {
				return &UserObjectError{o.kind, o.name, fmt.Sprintf("does not go with the new %s (%v); drop it first", o.table, err)}
			}
		}
	}
	if err := executes(ctx, q, w.step.LookAgain); err != nil {
		return unreadable(err, unfit)
	}
	if err := w.refused(ctx, q, w.step.Broken); err != nil {
		return unreadable(err, unfit)
	}
	return executes(ctx, q, w.step.Forget)
}

func executes(ctx context.Context, q querier, texts []string) error {
	for _, text := range texts {
		if _, err := q.exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// refuse looks for what would be lost, and for rows that do not fit.
func (w *sqliteStep) refuse(ctx context.Context, q querier) error {
	for _, name := range w.step.Rebuilt {
		if err := w.changed[strings.ToLower(name)]; err != nil {
			return err
		}
		for _, o := range w.others(name) {
			if c := evolve.Names(o.sql, w.step.Gone); c != "" {
				return &UserObjectError{o.kind, o.name, fmt.Sprintf("needs the column %q of %s, which goes; drop it first", c, o.table)}
			}
		}
	}
	if err := w.refused(ctx, q, w.step.Refused); err != nil {
		return err
	}
	if w.m == nil {
		return nil
	}
	for _, r := range w.change.Rows(nil) {
		found, err := column(ctx, q, fmt.Sprintf(`SELECT %q FROM (%s) ORDER BY 1 LIMIT 101`, r.Who, r.SQL))
		if err != nil {
			return fmt.Errorf("look for rows that break the rule %q: %w", r.Rule, err)
		}
		if len(found) == 0 {
			continue
		}
		text := rowsAgainst(found, len(found)-1, fmt.Sprintf("the rule %q", r.Rule))
		if r.Who == "ids" {
			text = fmt.Sprintf("the rows %q break the unique rule %q", found[0], r.Rule)
		}
		if r.Rule == "state is known" {
			text += " (rows of a state under `removed` are moved by the script that `fsmctl migrate` prints)"
		}
		return &misfitError{text}
	}
	return nil
}

// refused asks for what the step refuses.
func (w *sqliteStep) refused(ctx context.Context, q querier, list []evolve.Refusal) error {
	for _, r := range list {
		found, err := column(ctx, q, "SELECT "+r.Kind+" || ' ' || "+r.Name+" "+r.From+" LIMIT 1")
		if err != nil {
			return err
		}
		if len(found) > 0 {
			kind, name, _ := strings.Cut(found[0], " ")
			return &UserObjectError{kind, name, r.Why}
		}
	}
	return nil
}

var (
	unread  = regexp.MustCompile(`error in (view|trigger) (.+?)(?: after rename)?: (.*)`)
	unkeyed = regexp.MustCompile(`foreign key mismatch - "(.+)" referencing "`)
)

// unreadable names the object that SQLite cannot read, where err is about one, and says why
// that matters.
func unreadable(err error, why string) error {
	message := codeSuffix.ReplaceAllString(err.Error(), "")
	if m := unread.FindStringSubmatch(message); m != nil {
		return &UserObjectError{m[1], m[2], why + ": " + m[3]}
	}
	if m := unkeyed.FindStringSubmatch(message); m != nil {
		return &UserObjectError{"table", m[1], "has a foreign key that " + why + ": " + message}
	}
	return err
}

// note writes down what the generator has made now.
func (w *sqliteStep) note(ctx context.Context, q querier) error {
	return executes(ctx, q, w.change.Note(w.t.schema.Hash))
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
	parts := evolve.Sections(t.schema.SQL["sqlite"])
	texts := []string{parts["tables"], parts["checks"], parts["full"]}
	if have["fsm_made"].kind == "table" { // the tables may be of a later version, which has others
		noted, err := column(ctx, q, `SELECT "schema" FROM "fsm_made" WHERE "machine" = ?`, t.schema.Machine)
		if err != nil {
			return err
		}
		texts = append(texts, noted...)
	}
	made := map[string]bool{}
	for _, text := range texts {
		schema, err := evolve.Parse(text)
		if err != nil {
			return err
		}
		for _, p := range schema.Of("trigger", "") {
			made[strings.ToLower(p.Name)] = true
		}
	}
	var ours []object
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if o := have[key]; o.kind == "trigger" && made[key] {
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
