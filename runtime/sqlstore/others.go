package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// Other programs write the file of a store between its transactions. This is what
// a session does about it: it waits for them, and forgets what may have changed.

// others is what a session knows of those who write beside it.
type others struct {
	version int64          // of the file; 0: not asked for yet
	changes int            // of the file by others
	fit     map[*table]int // after how many of them a table was found to fit
}

// look asks, within a transaction that has the write lock, whether another program
// has written since this session's last one.
func (o *others) look(ctx context.Context, q querier) error {
	version, err := integer(ctx, q, "PRAGMA data_version")
	if err != nil || version == o.version {
		return err
	}
	if o.version != 0 {
		o.changes++
	}
	o.version = version
	return nil
}

// catchUp is look for a transaction of one table.
func (s *session) catchUp(ctx context.Context, t *table) error {
	if s.stmts == nil {
		return nil
	}
	if err := s.others.look(ctx, s); err != nil {
		return t.fault("read the version of the file", err)
	}
	return s.stillFits(ctx, t)
}

// turn waits for this process's turn to write the file.
func (s *session) turn(ctx context.Context, all *turns) error {
	if all == nil {
		return nil
	}
	err := all.take(ctx)
	if err == nil {
		s.turns = all
	}
	return err
}

func integer(ctx context.Context, q querier, text string, args ...any) (n int64, err error) {
	err = q.query(ctx, func(rows Rows) error { return rows.Scan(&n) }, text, args...)
	return n, err
}

// stillFits refuses to write a table that another program has made one of another
// specification since, beside which this one may not work.
func (s *session) stillFits(ctx context.Context, t *table) error {
	o := &s.others
	if seen, ok := o.fit[t]; ok && seen == o.changes {
		return nil
	}
	if err := t.stillOurs(ctx, s); err != nil {
		return err
	}
	if o.fit == nil {
		o.fit = map[*table]int{}
	}
	o.fit[t] = o.changes
	return nil
}

// stillOurs asks whether the tables are those of this specification, or of one beside
// which it may work.
func (t *table) stillOurs(ctx context.Context, s *session) error {
	ours, err := integer(ctx, s, t.text("is_ours"), t.schema.Machine, t.schema.Hash)
	switch {
	case ours > 0:
		return nil
	case err != nil && t.dialect.failure(err) != failSchema:
		return t.fault("read the meta table", err)
	}
	m, err := t.meta(ctx, s)
	switch {
	case err != nil:
		return t.fault("read the meta table", err)
	case m == nil: // nobody has said what they are
		return nil
	}
	return t.checkBeside(ctx, s, m)
}

// met looks at the error of a statement. It is true when the statement met a lock
// of another program, did nothing, and is to be tried again, after a while that has
// passed: the n-th, from 0. SQLite could wait by itself, but for a time of its own
// and whatever becomes of the call meanwhile.
func (s *session) met(ctx context.Context, err error, n int) bool {
	if err == nil || s.stmts == nil || SQLite().failure(err) != failBusy {
		return false
	}
	const longest = 32 * time.Millisecond
	return call.Nap(ctx, min(time.Millisecond<<min(n, 8), longest)) == nil
}

// patiently does what may meet the lock of another program, and says so when it met
// one as long as the call may wait.
func (s *session) patiently(ctx context.Context, do func() error) error {
	for n := 0; ; n++ {
		err := do()
		if s.met(ctx, err, n) {
			continue
		}
		if over := call.Err(ctx); err != nil && over != nil {
			err = fmt.Errorf("%w: %w", over, err)
		}
		return err
	}
}

// gentle makes SQLite leave the waiting to met, in a connection that was opened to
// wait by itself.
func (s *session) gentle(ctx context.Context) error {
	old, err := one(ctx, s, "PRAGMA busy_timeout")
	if err != nil {
		return err
	}
	if n, _ := strconv.Atoi(old); n > 1 {
		s.waited = old
		_, err = s.exec(ctx, "PRAGMA busy_timeout = 1")
	}
	return err
}

// impatient gives the connection back as it was.
func (s *session) impatient() {
	if s.waited != "" {
		_, _ = s.conn.ExecContext(context.Background(), "PRAGMA busy_timeout = "+s.waited) // it is not ours any more
	}
}
