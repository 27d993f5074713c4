package sqlstore

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// ErrReadOnly is what a write gets from a store that was opened for reading only.
var ErrReadOnly = errors.New("the store was opened for reading only")

// WithReadOnly makes a store that only reads: it takes no lock and refuses every
// write, Migrate included, with ErrReadOnly. The connections of the database must
// not be able to write either (query_only in SQLite, default_transaction_read_only
// in PostgreSQL); New looks. A standby of a PostgreSQL server does as well.
// WithReaders has no effect.
func WithReadOnly() Option { return func(o *options) { o.readOnly = true } }

// Installed is a machine whose tables are in a database.
type Installed struct {
	Machine string
	Version int    // of the specification that the tables were made for
	Hash    string // of its meaning
	Enforce string // level of enforcement
	Dialect string
}

// Installed lists the machines whose tables the database says it has, by name.
func (s *Store) Installed(ctx context.Context) (list []Installed, err error) {
	session, err := s.readers.take(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { s.readers.giveAfter(session, err) }()
	t := &table{store: s, dialect: s.dialect, schema: &driver.Schema{Machine: "fsm_meta", Table: "fsm_meta"}}
	objects, err := s.dialect.objects(ctx, session)
	if err != nil {
		return nil, t.fault("read the schema", err)
	}
	if !objects["fsm_meta"] {
		return nil, nil
	}
	err = session.query(ctx, func(rows Rows) error {
		var i Installed
		err := rows.Scan(&i.Machine, &i.Version, &i.Hash, &i.Enforce, &i.Dialect)
		list = append(list, i)
		return err
	}, `SELECT "machine", "version", "hash", "enforce", "dialect" FROM `+s.dialect.qualified("fsm_meta")+` ORDER BY "machine"`)
	if err != nil {
		return nil, t.fault("read the meta table", err)
	}
	return list, nil
}
