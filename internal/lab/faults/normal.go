package faults

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// OpenNormal opens the machine in a file of SQLite that was migrated, over
// connections of a driver that fall back to synchronous=NORMAL when a
// transaction begins: a store looks at the settings of a connection before its
// first. name is what the driver opens, with the settings that a store asks for.
// ledger is on the same file.
func OpenNormal(ctx context.Context, d driver.Driver, name string, ledger *sql.DB) (*Subject, error) {
	store, err := sqlstore.New(sql.OpenDB(lying{d, name}), sqlstore.SQLite())
	if err != nil {
		return nil, errors.Join(err, ledger.Close())
	}
	return Open(ctx, store, ledger)
}

type lying struct {
	driver driver.Driver
	name   string
}

func (l lying) Driver() driver.Driver { return l.driver }

func (l lying) Connect(context.Context) (driver.Conn, error) {
	c, err := l.driver.Open(l.name)
	if err != nil {
		return nil, err
	}
	full, ok := c.(fullConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a connection is a %T, expected one that begins, prepares and executes with a context", c), c.Close())
	}
	return lyingConn{full}, nil
}

// fullConn is what database/sql uses of the drivers' connections.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
}

type lyingConn struct{ fullConn }

// QueryContext asks the driver where it can be asked without a statement.
func (c lyingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if q, ok := c.fullConn.(driver.QueryerContext); ok {
		return q.QueryContext(ctx, query, args)
	}
	return nil, driver.ErrSkip
}

// PrepareContext sees to the transactions that begin by a statement.
func (c lyingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	if strings.HasPrefix(text, "BEGIN") {
		if err := c.fall(ctx); err != nil {
			return nil, err
		}
	}
	return c.fullConn.PrepareContext(ctx, text)
}

func (c lyingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := c.fall(ctx); err != nil {
		return nil, err
	}
	return c.fullConn.BeginTx(ctx, opts)
}

func (c lyingConn) fall(ctx context.Context) error {
	_, err := c.ExecContext(ctx, "PRAGMA synchronous=NORMAL", nil)
	return err
}
