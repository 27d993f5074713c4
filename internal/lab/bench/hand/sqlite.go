package hand

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // registers the driver that ours has
)

// settings are those that our store asks for.
const settings = "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"

// sqlite writes a batch as one transaction of prepared statements.
type sqlite struct {
	db                 *sql.DB
	make, moves, event *sql.Stmt
}

func openSQLite(ctx context.Context, path string, m machine) (database, error) {
	db, err := sql.Open("sqlite", "file:"+path+settings)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	fields := strings.NewReplacer("timestamptz", "integer", "bigint", "integer", "json", "text").Replace(m.fields)
	tables := `CREATE TABLE IF NOT EXISTS record (id text NOT NULL PRIMARY KEY, state text NOT NULL, rev integer NOT NULL,
		created_at integer NOT NULL, updated_at integer NOT NULL, ` + fields + `, CHECK (rev >= 1));
		CREATE TABLE IF NOT EXISTS event (id text NOT NULL, rev integer NOT NULL, op text NOT NULL, was text, becomes text
			NOT NULL, at integer NOT NULL,
		actor text NOT NULL, request text NOT NULL, inputs text, CHECK ((rev = 1) = (was IS NULL) AND request <> ''));
		CREATE UNIQUE INDEX IF NOT EXISTS event_request ON event (id, request);`
	if _, err := db.ExecContext(ctx, tables); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	columns := names(m.columns, func(_ int, c column) string { return c.name })
	s := &sqlite{db: db}
	for _, x := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&s.make, `INSERT INTO record (id, state, rev, created_at, updated_at` + columns + `) VALUES (?1, ?2, 1, ?3, ?3` +
			strings.Repeat(", ?", len(m.columns)) + `)`},
		{&s.moves, `UPDATE record SET state = ?, rev = rev + 1, updated_at = ?` +
			names(m.columns, func(_ int, c column) string { return c.name + " = ?" }) + ` WHERE id = ? AND rev = ? AND state
				= ?`},
		{&s.event, `INSERT INTO event (id, rev, op, was, becomes, at, actor, request, inputs) VALUES (?, ?, ?, ?, ?, ?,
			'w', ?, ?)`},
	} {
		if *x.to, err = db.PrepareContext(ctx, x.text); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return s, nil
}

func (s *sqlite) close() error { return s.db.Close() }

func (s *sqlite) write(ctx context.Context, list []move) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	made, moves, event := tx.Stmt(s.make), tx.Stmt(s.moves), tx.Stmt(s.event)
	now := time.Now().UnixMicro()
	for _, x := range list {
		values := slices.Clone(x.values)
		for i, v := range values {
			if t, ok := v.(time.Time); ok {
				values[i] = t.UnixMicro()
			}
		}
		var result sql.Result
		var was any
		if x.row.rev == 0 {
			result, err = made.ExecContext(ctx, append([]any{x.row.id, x.to, now}, values...)...)
		} else {
			was = x.row.state
			result, err = moves.ExecContext(ctx, append(append([]any{x.to, now}, values...), x.row.id, x.row.rev,
				x.row.state)...)
		}
		if err == nil {
			var n int64
			if n, err = result.RowsAffected(); err == nil && n != 1 {
				err = errMoved
			}
		}
		if err == nil {
			_, err = event.ExecContext(ctx, x.row.id, x.row.rev+1, x.op, was, x.to, now, x.request, x.inputs)
		}
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}
