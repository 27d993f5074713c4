package sqlstore

import "context"

// Wire is a connection of a driver that runs a statement without database/sql in
// between. One caller uses it at a time; Interrupt may come from another goroutine.
type Wire interface {
	// Run runs a statement, which it keeps prepared, as a transaction of its own,
	// and returns how many rows it changed. Arguments are nil, string, bool, int,
	// int64 and time.Time; row takes the first column of each row, a text. An error
	// is one of the server, with its SQLState, or one after which nobody knows what
	// became of the statement: then the connection is of no more use.
	Run(text string, args []any, row func(text string)) (int64, error)
	// Interrupt makes Run return, now or as soon as it is called: it has taken too long.
	Interrupt()
	// Resume undoes an Interrupt that came when Run had its answer.
	Resume()
}

// WithWire gives the writes that are one statement to a server a shorter way than
// database/sql: open makes it of a driver's connection, or returns nil where there
// is none.
func WithWire(open func(driverConn any) Wire) Option {
	return func(o *options) { o.wire = open }
}

// write runs a statement that writes, a transaction of its own. row takes the
// first column of each row; nil: it has none.
func (s *session) write(ctx context.Context, text string, args []any, row func(text string)) (n int64, err error) {
	if s.wire == nil || ctx.Done() != nil {
		return writeBy(ctx, s, text, args, row)
	}
	s.dog.guard(s.bite)
	closed := s.conn.Raw(func(any) error {
		n, err = s.wire.Run(text, args, row)
		return nil
	})
	if s.dog.release() {
		s.wire.Resume()
	}
	if closed != nil {
		return 0, closed
	}
	return n, err
}

// writeBy is write by a querier.
func writeBy(ctx context.Context, q querier, text string, args []any, row func(text string)) (int64, error) {
	if row == nil {
		res, err := q.exec(ctx, text, args...)
		if err != nil {
			return 0, err
		}
		return res.RowsAffected()
	}
	rows, err := q.query(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var n int64
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return n, err
		}
		row(id)
		n++
	}
	if err := rows.Err(); err != nil { // the commit's own error comes here
		return n, err
	}
	return n, rows.Close()
}

// shortcut gives the session the driver's shorter way, if there is one.
func (s *session) shortcut(open func(driverConn any) Wire) error {
	if open == nil {
		return nil
	}
	return s.conn.Raw(func(c any) error {
		if s.wire = open(c); s.wire != nil {
			s.bite = s.wire.Interrupt
		}
		return nil
	})
}
