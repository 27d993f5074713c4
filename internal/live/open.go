package live

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/interp"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// Store is a database that somebody has opened. Those who open one import its driver;
// this package imports none.
type Store interface {
	fsm.Store
	// Installed lists the machines that the database holds, by name.
	Installed(ctx context.Context) ([]Installed, error)
	Close() error
}

// drifter is a store of SQL, which can say what of a machine's objects is not as the schema makes it.
type drifter interface {
	Drift(ctx context.Context, s *driver.Schema, generate string) ([]string, error)
}

// Installed is a machine that a database holds.
type Installed struct {
	Machine string
	Version int    // of the specification that the tables were made for
	Hash    string // of its meaning
	Enforce string // level of enforcement
}

// Address is where a database is, as messages tell it.
type Address struct {
	Shown   string            // without a password
	Dialect string            // of its SQL; empty: it has none
	Clean   func(error) error // takes the password out of an error
}

// DB is a machine over the tables that its program uses.
type DB struct {
	Machine *fsm.Machine[interp.Record]
	Spec    *spec.Machine
	Address Address
	Beside  bool // the tables are those of a later version, which lets programs of this one work

	store    Store
	table    driver.Table
	generate string // the command that prints the schema
}

// Open looks at a store, which it closes with the DB or when it fails, for a machine
// without findings of severity error. A database that was made for another
// specification is refused with the sentence that helps; file is the specification as
// that sentence names it, empty for the machine's name with .yaml. Errors never hold
// the password of the address.
func Open(ctx context.Context, store Store, a Address, m *spec.Machine, file string) (*DB, error) {
	if file == "" {
		file = m.Name + ".yaml"
	}
	db := &DB{Spec: m, Address: a, store: store}
	if err := db.open(ctx, file); err != nil {
		return nil, a.Clean(errors.Join(err, store.Close()))
	}
	return db, nil
}

// Close ends it.
func (db *DB) Close() error { return db.Address.Clean(db.store.Close()) }

func (db *DB) open(ctx context.Context, file string) error {
	m := db.Spec
	list, err := db.store.Installed(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(x Installed) bool { return x.Machine == m.Name })
	if i < 0 {
		return db.missing(list)
	}
	have := list[i]
	schema, err := Schema(m, db.Address.Dialect, have.Enforce)
	if err != nil {
		return err
	}
	db.generate = fmt.Sprintf("fsmgen sql --dialect %s --level %s %s", db.Address.Dialect, have.Enforce, word(file))
	if db.table, err = db.store.Table(schema); err != nil {
		return err
	}
	db.Machine, err = fsm.NewMachine(ctx, db.store, Descriptor(m, schema), nil, fsm.WithOpenCheck(-1))
	db.Beside = err == nil && have.Hash != m.Hash
	var refusal *fsm.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal) && refusal.Code == fsm.ErrSchemaMismatch && have.Hash != m.Hash:
		return db.mismatch(have, file)
	case errors.As(err, &refusal) && refusal.Code == fsm.ErrSchemaMismatch && db.Address.Dialect != "":
		why, _, _ := strings.Cut(refusal.Message, "; ")
		return fmt.Errorf("%s does not hold the whole schema of %s: %s; install what is missing: %s",
			db.Address.Shown, m.Name, why, db.generate)
	}
	return err
}

// missing refuses a database that does not hold the machine.
func (db *DB) missing(list []Installed) error {
	if len(list) == 0 && db.Address.Dialect == "" {
		return fmt.Errorf("%s holds no machine of fsmgen; is it another cluster, or another prefix", db.Address.Shown)
	}
	if len(list) == 0 {
		return fmt.Errorf("%s holds no machine of fsmgen: the table fsm_meta is missing or empty; "+
			"is it another database, or another schema", db.Address.Shown)
	}
	var names []string
	for _, x := range list {
		names = append(names, x.Machine)
	}
	return fmt.Errorf("%s does not hold the machine %s; it holds %s", db.Address.Shown, db.Spec.Name, strings.Join(names, ", "))
}

// mismatch refuses a database of another specification.
func (db *DB) mismatch(have Installed, file string) error {
	m := db.Spec
	what := fmt.Sprintf("%s was made for another specification of %s: version %d (hash %.12s), %s is version %d (hash %.12s)",
		db.Address.Shown, m.Name, have.Version, have.Hash, filepath.ToSlash(file), m.Version, m.Hash)
	old := "the file it was generated from, e.g. out of git"
	if have.Version > m.Version {
		return fmt.Errorf("%s; name the later one, %s", what, old)
	}
	if db.Address.Dialect == "" {
		return fmt.Errorf("%s; name the one it was made for (%s), or let the program migrate its keys", what, old)
	}
	return fmt.Errorf("%s; name the one it was made for (%s), or migrate the database: fsmgen sql --dialect %s --migrate-from OLD %s",
		what, old, db.Address.Dialect, word(filepath.ToSlash(file)))
}

// word writes a file as a word of a command, for shells that know quotes.
func word(file string) string {
	if strings.ContainsAny(file, " \t\n\"'$`&;()<>|*?") {
		return "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
	}
	return file
}
