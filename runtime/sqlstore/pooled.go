package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"
)

// Behind a pooler that gives each transaction another session, nothing that is set or asked
// in one transaction holds in the next, and another client may have left its settings. So
// every write is in a transaction whose first statement asks for what the store stands on,
// the identities of its tables included, and sets the rest for this transaction only. What
// only reads names its tables in full, and needs nothing else.

// WithPooler makes a store that needs no state of a session: see postgres.WithPooler. The
// driver must not keep statements prepared. statement and idle are the time limits of a
// statement and of a transaction that waits for its program; 0: parts of the deadline.
func WithPooler(statement, idle time.Duration) PostgresOption {
	return func(p *postgres) { p.pool, p.statement, p.idle = true, statement, idle }
}

func (p *postgres) pooled() bool { return p.pool }

// first is what the first statement of a transaction sets, as part of its list.
func (p *postgres) first() string {
	var b strings.Builder
	for _, s := range []struct {
		name  string
		limit time.Duration
	}{
		{"statement_timeout", cmp.Or(p.statement, p.deadline*5/6)},
		{"lock_timeout", p.unseated()},
		{"idle_in_transaction_session_timeout", cmp.Or(p.idle, 2*p.deadline)},
	} {
		b.WriteString(", set_config('" + s.name + "', '" + strconv.FormatInt(s.limit.Milliseconds(), 10) + "', true)")
	}
	return b.String() + ", set_config('row_security', 'off', true), " + walking + "true)"
}

// ownSchema asks for the first schema of the search_path that the role and the database
// have, whatever another client has set in the session.
const ownSchema = `SELECT CASE WHEN s.path IS NOT NULL THEN coalesce(current_schema()::text, '') END
	FROM (SELECT set_config('search_path', reset_val, true) AS path FROM pg_catalog.pg_settings WHERE name = 'search_path' OFFSET 0) s`

// unbegun is the error of a transaction in which no statement of the store's has run:
// surely nothing was written.
type unbegun struct{ err error }

func (u *unbegun) Error() string { return u.err.Error() }
func (u *unbegun) Unwrap() error { return u.err }

// writeAlone runs a statement that is a transaction of its own.
func (t *table) writeAlone(ctx context.Context, s *session, text string, args []any, row func(text string)) (int64, error) {
	if !t.dialect.pooled() {
		return write(ctx, s, text, args, row)
	}
	steady, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	loosen := s.limit.leash(cut)
	tx, err := s.conn.BeginTx(steady, &sql.TxOptions{Isolation: t.dialect.isolation(false)})
	loosen()
	if err != nil {
		return 0, &unbegun{err}
	}
	var n int64
	q := s.within(steady, tx)
	if err = t.dialect.settings(ctx, q, forBegun, nil); err != nil {
		err = &unbegun{err}
	} else if n, err = write(ctx, q, text, args, row); err == nil {
		defer s.limit.leash(cut)()
		return n, tx.Commit()
	}
	defer s.limit.leash(cut)()
	if back := tx.Rollback(); back != nil && t.dialect.failure(back) != failGone {
		s.lost = true // whatever the statement said
	}
	return 0, err
}
