package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/refused"
)

// versionsTable holds the specifications that the tables were those of, and
// whether their programs may still work on them. It is made with the first of
// them, by Migrate or by the SQL that `fsmgen diff --sql` prints.
const versionsTable = "fsm_versions"

// standing is what became of a specification.
type standing string

const (
	unheard standing = ""        // the tables were never its, or still are
	beside  standing = "open"    // its programs may work on the tables of the later one
	retired standing = "retired" // they may not
)

// standing returns what became of this specification.
func (t *table) standing(ctx context.Context, q querier) (standing, error) {
	objects, err := t.dialect.objects(ctx, q)
	if err != nil || !objects[versionsTable] {
		return unheard, err
	}
	words, err := column(ctx, q, t.query("standing", nil), t.schema.Machine, t.schema.Hash)
	if err != nil || len(words) == 0 {
		return unheard, err
	}
	return standing(words[0]), nil
}

// checkBeside is Check for a program of another specification than the tables'.
func (t *table) checkBeside(ctx context.Context, q querier, m *meta) error {
	st, err := t.standing(ctx, q)
	if err != nil {
		return t.fault("read which specifications are open", err)
	}
	return t.besides(ctx, q, m, st)
}

// besides refuses a program unless it may work on the tables of m and finds its
// columns in them. Their constraints, indexes and triggers are those of m.
func (t *table) besides(ctx context.Context, q querier, m *meta, st standing) error {
	switch {
	case st == retired:
		return refused.Retired(t.schema, driver.SpecID{Version: m.version, Hash: m.hash})
	case st != beside:
		return t.mismatch("the tables are those of version %d (hash %.12s), the program is version %d (hash %.12s)",
			m.version, m.hash, t.schema.Version, t.schema.Hash)
	case m.dialect != t.dialect.Name():
		return t.mismatch("the tables were made for %s", m.dialect)
	}
	names, err := column(ctx, q, t.dialect.columns(t.schema.Table))
	if err != nil {
		return t.fault("read the schema", err)
	}
	for _, c := range t.stored() {
		if !slices.Contains(names, c) {
			return t.mismatch("the column %q is missing in the tables, which are those of version %d (hash %.12s)", c, m.version, m.hash)
		}
	}
	return nil
}

// stored returns the stored names of the fields.
func (t *table) stored() []string {
	names := make([]string, len(t.schema.Columns))
	for i := range names {
		names[i] = t.schema.Columns[i].Stored
	}
	return names
}

// succeed notes what becomes of the specification m, whose tables become those
// of this one, and of those that were open beside it.
func (t *table) succeed(ctx context.Context, q querier, m *meta) error {
	if t.schema.Version <= m.version { // one that is being worked on, or a step back
		return nil
	}
	if _, err := q.exec(ctx, t.query("make_versions", nil)); err != nil {
		return err
	}
	if _, err := q.exec(ctx, t.query("retire", nil), t.schema.Machine, m.hash, m.version); err != nil {
		return err
	}
	if _, err := q.exec(ctx, t.query("retire_all", nil), t.schema.Machine); err != nil {
		return err
	}
	for _, s := range t.schema.Beside {
		if _, err := q.exec(ctx, t.query("reopen", nil), t.schema.Machine, s.Hash); err != nil {
			return err
		}
	}
	_, err := q.exec(ctx, t.query("remove_version", nil), t.schema.Machine, t.schema.Hash)
	return err
}

// Retire ends a roll-out.
func (t *table) Retire(ctx context.Context) error {
	return t.transact(ctx, t.dialect.claim(), func(x *txn) error {
		if claim := t.dialect.claimSchema(); claim != "" {
			if _, err := x.tx.ExecContext(x.ctx, claim); err != nil {
				return t.fault("take the write lock", err)
			}
		}
		q := txQuerier{x.tx, 0}
		m, err := t.meta(x.ctx, q)
		switch {
		case err != nil:
			return t.fault("read the meta table", err)
		case m == nil:
			return t.mismatch("the database has no tables of this machine")
		case m.hash != t.schema.Hash:
			if err := t.checkBeside(x.ctx, q, m); err != nil {
				return err
			}
			return t.mismatch("the tables are those of version %d (hash %.12s), which retires version %d, not the other way round", m.version, m.hash, t.schema.Version)
		}
		objects, err := t.dialect.objects(x.ctx, q)
		if err != nil {
			return t.fault("read the schema", err)
		}
		if !objects[versionsTable] {
			return nil
		}
		if _, err := q.exec(x.ctx, t.query("retire_all", nil), t.schema.Machine); err != nil {
			return t.fault("retire the other specifications", err)
		}
		if err := t.endBeside(x.ctx, q); err != nil {
			return t.fault("remove the columns of the retired specifications", err)
		}
		return nil
	})
}

// endBeside removes the columns for indexes that a migration kept for programs of the version
// before: the comment on a function names them. A program that does not own the
// tables leaves that to the next migration, and so does one whose columns a view of a user reads.
func (t *table) endBeside(ctx context.Context, q querier) error {
	if t.dialect.patience() == 0 {
		return nil // SQLite has no such columns
	}
	function, table := t.dialect.qualified(t.schema.Table+"_beside"), t.dialect.qualified(t.schema.Table)
	comment, err := column(ctx, q, `SELECT coalesce(obj_description(oid, 'pg_proc'), '') FROM pg_proc
		WHERE oid = to_regproc(`+literal(function)+`) AND pg_has_role(proowner, 'USAGE')`)
	if err != nil || len(comment) == 0 {
		return err
	}
	var names []string
	if err := json.Unmarshal([]byte(comment[0]), &names); err != nil {
		return fmt.Errorf("the comment on the function %s is %q, not the columns that it keeps, as a JSON array; write it again",
			function, comment[0])
	}
	var drops []string
	for _, name := range names {
		// After a step back to the old version they are its own.
		if !slices.ContainsFunc(t.worked, func(c *driver.WorkedColumn) bool { return c.Name == name }) {
			drops = append(drops, "DROP COLUMN IF EXISTS "+quote(name))
		}
	}
	end := "DROP FUNCTION " + function + "() CASCADE;"
	if len(drops) > 0 {
		end += " ALTER TABLE " + table + " " + strings.Join(drops, ", ") + ";"
	}
	_, err = q.exec(ctx, "DO $fsm$ BEGIN "+end+" EXCEPTION WHEN dependent_objects_still_exist THEN NULL; END $fsm$")
	return err
}
