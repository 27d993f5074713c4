package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/address"
	"github.com/fsmgen/fsmgen/internal/interp"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
	"github.com/fsmgen/fsmgen/spec"
)

// DB is a machine over the tables that its program uses.
type DB struct {
	Machine *fsm.Machine[interp.Record]
	Spec    *spec.Machine
	Address address.Address
	Beside  bool // the tables are those of a later version, which lets programs of this one work

	store *sqlstore.Store
	table fsm.Table
}

// Options say how a database is opened.
type Options struct {
	// Write opens it for Repair, and nothing else: a SQLite file then must not be
	// open in another program.
	Write bool
	// SpecFile is the specification as messages name it; empty: the machine's name
	// with .yaml.
	SpecFile string
}

// Open opens the database at an address for a machine without findings of severity
// error. Without Options.Write nothing in it can be changed. A database that
// was made for another specification is refused with the sentence that helps.
// Errors never hold the password of the address.
func Open(ctx context.Context, text string, m *spec.Machine, o Options) (*DB, error) {
	a, err := address.Parse(text)
	if err != nil {
		return nil, err
	}
	if o.SpecFile == "" {
		o.SpecFile = m.Name + ".yaml"
	}
	store, err := openStore(ctx, a, o.Write)
	if err != nil {
		return nil, a.Clean(err)
	}
	db := &DB{Spec: m, Address: a, store: store}
	if err := db.open(ctx, o); err != nil {
		return nil, a.Clean(errors.Join(err, store.Close()))
	}
	return db, nil
}

// Close ends it.
func (db *DB) Close() error { return db.Address.Clean(db.store.Close()) }

// openStore opens the database, whatever it holds.
func openStore(ctx context.Context, a address.Address, write bool) (*sqlstore.Store, error) {
	if a.Dialect == "postgres" {
		options := []postgres.Option{postgres.WithMaxSessions(4), postgres.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))}
		if !write {
			options = append(options, postgres.WithReadOnly())
		}
		return postgres.Open(ctx, a.Text, options...)
	}
	if err := address.CheckFile(a.Text); err != nil {
		return nil, err
	}
	if write {
		return sqlite.Open(a.Text)
	}
	return sqlite.Open(a.Text, sqlite.WithReadOnly())
}

func (db *DB) open(ctx context.Context, o Options) error {
	m := db.Spec
	list, err := db.store.Installed(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(x sqlstore.Installed) bool { return x.Machine == m.Name })
	if i < 0 {
		return db.missing(list)
	}
	have := list[i]
	schema, err := Schema(m, db.Address.Dialect, have.Enforce)
	if err != nil {
		return err
	}
	if db.table, err = db.store.Table(schema); err != nil {
		return err
	}
	db.Machine, err = fsm.NewMachine(ctx, db.store, Descriptor(m, schema), nil, fsm.WithOpenCheck(-1))
	db.Beside = err == nil && have.Hash != m.Hash
	var refusal *fsm.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal) && refusal.Code == fsm.CodeSchemaMismatch && have.Hash != m.Hash:
		return db.mismatch(have, o.SpecFile)
	case errors.As(err, &refusal) && refusal.Code == fsm.CodeSchemaMismatch:
		why, _, _ := strings.Cut(refusal.Message, "; ")
		return fmt.Errorf("%s does not hold the whole schema of %s: %s; install what is missing: fsmgen sql --dialect %s --level %s %s",
			db.Address.Shown, m.Name, why, db.Address.Dialect, have.Enforce, o.SpecFile)
	}
	return err
}

// missing refuses a database that does not hold the machine.
func (db *DB) missing(list []sqlstore.Installed) error {
	if len(list) == 0 {
		return fmt.Errorf("%s holds no machine of fsmgen: there is no table fsm_meta, or nothing in it; is it another database, or another schema", db.Address.Shown)
	}
	var names []string
	for _, x := range list {
		names = append(names, x.Machine)
	}
	return fmt.Errorf("%s does not hold the machine %s; it holds %s", db.Address.Shown, db.Spec.Name, strings.Join(names, ", "))
}

// mismatch refuses a database of another specification.
func (db *DB) mismatch(have sqlstore.Installed, file string) error {
	m := db.Spec
	what := fmt.Sprintf("%s was made for another specification of %s: version %d (hash %.12s), %s is version %d (hash %.12s)",
		db.Address.Shown, m.Name, have.Version, have.Hash, filepath.ToSlash(file), m.Version, m.Hash)
	old := "the file it was generated from, e.g. out of git"
	if have.Version > m.Version {
		return fmt.Errorf("%s; name the later one, %s", what, old)
	}
	return fmt.Errorf("%s; name the one it was made for (%s), or migrate the database: fsmgen sql --dialect %s --migrate-from OLD %s",
		what, old, db.Address.Dialect, filepath.ToSlash(file))
}
