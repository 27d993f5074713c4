package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/evolve"
)

var levels = map[string]int{"none": 0, "checks": 1, "full": 2}

// enforce returns the level that the tables have: the lower one of the
// generated schema and the store.
func (t *table) enforce() string {
	if levels[t.store.enforce] < levels[t.schema.Enforce] {
		return t.store.enforce
	}
	return t.schema.Enforce
}

// script returns the generated schema up to the level, without the row that it
// would write into the meta table: Migrate notes the level that it installs.
func (t *table) script() (all, tables string, err error) {
	parts := evolve.Sections(t.schema.SQL[t.dialect.Name()])
	tables = parts["tables"]
	if tables == "" {
		return "", "", fmt.Errorf("sqlstore: the generated package of %s has no schema for %s; generate it again", t.schema.Machine, t.dialect.Name())
	}
	all = tables
	for _, level := range []string{"checks", "full"} {
		if levels[level] <= levels[t.enforce()] {
			all += parts[level]
		}
	}
	return all, tables, nil
}

func (t *table) remedy() string {
	return fmt.Sprintf("call %s.Migrate(ctx, store), or run the generated %s.%s.sql on the database", t.schema.Machine, t.schema.Machine, t.dialect.Name())
}

func (t *table) mismatch(format string, args ...any) error {
	return &fsm.Refusal{Code: fsm.ErrSchemaMismatch, Machine: t.schema.Machine,
		Message: fmt.Sprintf(format, args...) + "; " + t.remedy()}
}

// meta is what the database says about a machine's tables.
type meta struct {
	version                int
	hash, enforce, dialect string
}

func (t *table) meta(ctx context.Context, q querier) (*meta, error) {
	objects, err := t.dialect.objects(ctx, q)
	if err != nil || !objects["fsm_meta"] {
		return nil, err
	}
	var m *meta
	err = q.query(ctx, func(rows Rows) error {
		m = &meta{}
		return rows.Scan(&m.version, &m.hash, &m.enforce, &m.dialect)
	}, t.query("meta", nil), t.schema.Machine)
	return m, err
}

// Check returns a refusal unless the database holds this specification's
// tables, with all indexes and triggers of the level.
func (t *table) Check(ctx context.Context) (err error) {
	script, _, err := t.script()
	if err != nil {
		return err
	}
	s, err := t.store.readers.take(ctx)
	if err != nil {
		return err
	}
	defer func() { t.store.readers.giveAfter(s, err) }()
	if err := t.usable(ctx, s); err != nil {
		return err
	}
	m, err := t.meta(ctx, s)
	switch {
	case err != nil:
		return t.fault("read the meta table", err)
	case m == nil:
		return t.mismatch("the database has no tables of this machine")
	case m.hash != t.schema.Hash:
		if err := t.checkBeside(ctx, s, m); err != nil {
			return err
		}
		return t.settle(ctx, s, false)
	case m.dialect != t.dialect.Name():
		return t.mismatch("the tables were made for %s", m.dialect)
	case m.enforce != t.enforce():
		return t.mismatch("the database enforces level %q, the program expects %q", m.enforce, t.enforce())
	}
	objects, err := t.dialect.objects(ctx, s)
	if err != nil {
		return t.fault("read the schema", err)
	}
	made, err := evolve.Parse(script)
	if err != nil {
		return fmt.Errorf("sqlstore: the generated schema of %s: %w", t.schema.Machine, err)
	}
	for _, p := range made.Pieces {
		switch p.Kind {
		case "table", "index", "trigger", "view":
			if !objects[p.Name] {
				return t.mismatch("%q is missing in the database", p.Name)
			}
		}
	}
	return t.settle(ctx, s, true)
}

// usable refuses tables that the store cannot use.
func (t *table) usable(ctx context.Context, q querier) error {
	err := t.dialect.usable(ctx, q, t)
	var others *UserObjectError
	if errors.As(err, &others) {
		return &fsm.Refusal{Code: fsm.ErrSchemaMismatch, Machine: t.schema.Machine, Message: err.Error(), Cause: err}
	}
	if err != nil {
		return t.fault("look at the tables", err)
	}
	return nil
}

// settle notes which tables these are, and writes the texts that compare them. The machine asks for it
// before anybody else has the table.
func (t *table) settle(ctx context.Context, q querier, own bool) error {
	if err := t.dialect.reached(ctx, q, []string{"fsm_meta", t.schema.Table, t.schema.Table + "_events", t.schema.Table + "_outbox", t.schema.Table + "_groups"}); err != nil {
		return t.fault("note which tables these are", err)
	}
	names, err := column(ctx, q, t.dialect.columns(t.schema.Table))
	if err != nil {
		return t.fault("read the schema", err)
	}
	t.keep(func(column string) bool { // what is open is what those tables say
		return slices.Contains(names, column) && (own || column != "_open")
	})
	t.build()
	return nil
}

// Migrate makes the machine's objects in the database those of the generated
// schema, and notes version, hash and level, in one transaction. Where they are
// already, it writes nothing and waits for no lock. Tables of another
// specification of this machine are changed when their rows fit the new one:
// columns of the same name keep their values, new ones begin with their default,
// absent, empty or at 0. Otherwise nothing changes and the refusal says what does
// not fit. What others have made in the database stays as it is.
func (t *table) Migrate(ctx context.Context) error {
	script, tables, err := t.script()
	if err != nil {
		return err
	}
	next, err := evolve.Parse(script)
	if err != nil {
		return fmt.Errorf("sqlstore: the generated schema of %s: %w", t.schema.Machine, err)
	}
	if done, err := t.upToDate(ctx, next); done || err != nil {
		return err
	}
	// The meta table is made first: making it takes the write lock.
	return t.transactAs(ctx, mode{tables: true}, "", func(x *txn) error {
		if t.dialect.patience() > 0 {
			// An index of many rows takes its time, as long as the caller waits.
			x.ctx = ctx
			if _, err := x.tx.ExecContext(ctx, "SET LOCAL statement_timeout = 0"+t.dialect.within()); err != nil {
				return t.fault("begin to migrate", err)
			}
		}
		if _, err := x.tx.ExecContext(x.ctx, metaTable(tables)); err != nil {
			return t.making("make the meta table", err)
		}
		if claim := t.dialect.claimSchema(); claim != "" {
			if _, err := x.tx.ExecContext(x.ctx, claim); err != nil {
				return t.fault("take the write lock", err)
			}
		}
		return t.migrate(x, next)
	})
}

// upToDate reports whether there is nothing to migrate. It only reads.
func (t *table) upToDate(ctx context.Context, next *evolve.Schema) (same bool, err error) {
	if err := t.store.poisoned(t.schema.Machine); err != nil { // or for reading only
		return false, err
	}
	s, err := t.store.readers.take(ctx)
	if err != nil {
		return false, t.unopened(ctx, err)
	}
	defer func() { t.store.readers.giveAfter(s, err) }()
	if err := t.usable(ctx, s); err != nil {
		return false, err
	}
	m, err := t.meta(ctx, s)
	if err != nil {
		return false, t.fault("read the meta table", err)
	}
	if m == nil || *m != t.ownMeta() {
		return false, nil
	}
	steps, err := t.dialect.work(ctx, s, t, m, next)
	if err != nil {
		return false, t.unfit(m, err)
	}
	return len(steps) == 0, nil
}

func (t *table) ownMeta() meta {
	return meta{t.schema.Version, t.schema.Hash, t.enforce(), t.dialect.Name()}
}

// making is fault for statements that make tables: where another program makes
// them at the same time, this one begins again.
func (t *table) making(doing string, err error) error {
	if t.dialect.makingAgain(err) {
		return &fsm.Refusal{Code: fsm.ErrBusy, Machine: t.schema.Machine, Cause: err}
	}
	return t.fault(doing, err)
}

// metaTable returns the statement that makes the meta table: the first one of
// the schema.
func metaTable(tables string) string {
	statement, _, _ := strings.Cut(tables, ";\n")
	return statement + ";"
}

func (t *table) migrate(x *txn, next *evolve.Schema) error {
	q := txQuerier{x.tx, 0}
	m, err := t.meta(x.ctx, q)
	if err != nil {
		return t.fault("read the meta table", err)
	}
	if m != nil && m.hash != t.schema.Hash {
		if st, err := t.standing(x.ctx, q); err != nil {
			return t.fault("read which specifications are open", err)
		} else if st != unheard {
			return t.besides(x.ctx, q, m, st)
		}
	}
	steps, err := t.dialect.work(x.ctx, q, t, m, next)
	for i := 0; i < len(steps) && err == nil; i++ {
		err = steps[i](x.ctx, q)
	}
	if err != nil {
		return t.unfit(m, err)
	}
	return t.note(x.ctx, q, m)
}

// note writes down which specification the tables are made for.
func (t *table) note(ctx context.Context, q querier, m *meta) error {
	if m != nil && *m == t.ownMeta() {
		return nil
	}
	if m != nil && m.hash != t.schema.Hash {
		if err := t.succeed(ctx, q, m); err != nil {
			return t.fault("note which specifications are open", err)
		}
	}
	text := t.query("change_meta", nil)
	if m == nil {
		text = t.query("new_meta", nil)
	}
	res, err := q.exec(ctx, text, t.metaArgs()...)
	if err != nil {
		return t.fault("note the specification", err)
	}
	n, err := res.RowsAffected()
	if err == nil && n != 1 {
		err = fmt.Errorf("sqlstore: note the specification of %s: %d rows were written, expected 1", t.schema.Machine, n)
	}
	return err
}

func (t *table) metaArgs() []any {
	return []any{t.schema.Machine, t.schema.Version, t.schema.Hash, t.enforce(), t.dialect.Name()}
}

// unfit says why tables cannot become those of this specification.
func (t *table) unfit(m *meta, err error) error {
	var others *UserObjectError
	if errors.As(err, &others) {
		return &fsm.Refusal{Code: fsm.ErrSchemaMismatch, Machine: t.schema.Machine,
			Message: err.Error() + "; nothing was changed", Cause: err}
	}
	if m == nil || t.dialect.makingAgain(err) {
		return t.making("create the tables", err)
	}
	if errors.Is(err, errByScript) || errors.Is(err, errUnnoted) { // its rows have not been looked at
		return &fsm.Refusal{Code: fsm.ErrSchemaMismatch, Machine: t.schema.Machine, Message: fmt.Sprintf(
			"the tables are those of version %d (hash %.12s, level %s), the program is version %d (hash %.12s, level %s): %v",
			m.version, m.hash, m.enforce, t.schema.Version, t.schema.Hash, t.enforce(), err)}
	}
	var rows *misfitError
	if f := t.dialect.failure(err); !errors.As(err, &rows) && (f == failTooLarge || f.class() != definite) {
		return t.fault("change the tables", err)
	}
	versions := fmt.Sprintf("the rows of version %d (hash %.12s) do not fit version %d", m.version, m.hash, t.schema.Version)
	if m.hash == t.schema.Hash {
		versions = "the rows do not fit the generated schema"
	}
	return &fsm.Refusal{Code: fsm.ErrSchemaMismatch, Machine: t.schema.Machine, Cause: err,
		Message: fmt.Sprintf("%s: %v; nothing was changed; correct the rows first, with the program of version %d", versions, err, m.version)}
}
