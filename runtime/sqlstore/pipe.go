package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// A transaction that looks and then writes is two trips to a server: BEGIN goes with its first statement, and COMMIT
// with its write. So nobody stands between that write and COMMIT. The text of the write counts what it wrote and fails where
// that is not all, and what else speaks against it is looked at before. From COMMIT on, an error that is not the
// server's leaves open what became of the transaction. An effect needs a *sql.Tx and has no part in it.

// pipe runs the statements of such a transaction in a session.
type pipe struct {
	s     *session
	ctx   context.Context // of the call
	begun bool
	at    time.Time // when BEGIN was sent
	over  bool      // COMMIT was sent
	lost  error     // what came of it
}

func (p *pipe) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	n, err := p.run(ctx, Trip{Text: text, Args: args})
	return sqldriver.RowsAffected(n), err
}

func (p *pipe) query(ctx context.Context, each func(Rows) error, text string, args ...any) error {
	_, err := p.run(ctx, Trip{Each: each, Text: text, Args: args})
	return err
}

func (p *pipe) run(ctx context.Context, trip Trip) (int64, error) {
	if p.over {
		return 0, sql.ErrTxDone
	}
	if trip.Begin = !p.begun; trip.Begin {
		p.begun, p.at = true, time.Now()
	}
	return p.s.byDriver(ctx, nil, trip)
}

// commit runs a statement, unless it is empty, and commits. Its error is the statement's, and then nothing was committed.
// Like a statement by itself, it is waited for longer than the call.
func (p *pipe) commit(text string, args ...any) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	longer, done := outlasting(p.ctx)
	defer done()
	_, err := p.run(longer, Trip{Text: text, Args: args, Commit: true})
	if open := (*CommitError)(nil); err == nil || errors.As(err, &open) {
		p.over, p.lost, err = true, err, nil
	}
	return err
}

// oncePiped is once for a transaction that looks, and commits with its writes.
func (t *table) oncePiped(ctx context.Context, s *session, at *spot, how mode, f func(*txn) error) (broken bool, err error) {
	p := &pipe{s: s, ctx: ctx}
	x := &txn{reader: reader{ctx: ctx, t: t, q: p}, mode: how, spot: at}
	defer func() { // an error of f, a panic
		if p.begun && !p.over {
			longer, done := outlasting(ctx) // not as long as a server takes that says nothing
			defer done()
			if _, err := p.run(longer, Trip{Text: "ROLLBACK"}); err != nil {
				broken = true
			}
		}
	}()
	err = x.begin()
	if err != nil {
		return false, t.unopened(ctx, err)
	}
	if err = x.run(f); err == nil && p.begun && !p.over {
		if err = p.commit(""); err != nil && ctx.Err() == nil {
			err = t.fault("commit", err)
		}
	}
	if p.over && err != nil { // f has done more than it may
		p.lost = cmp.Or(p.lost, errors.New("sqlstore: an error came behind the last write: "+err.Error()))
	}
	if p.lost != nil {
		return true, t.lost(x.last, p.lost)
	}
	return false, err
}

// take moves records that the transaction has locked, and commits. It reports whether it does so.
func (x *txn) take(ws []*driver.Write, within time.Duration) (bool, error) {
	p, piped := x.q.(*pipe)
	if !piped || !x.locked || len(ws) == 0 || len(ws) > maxMany || ws[0].Prev.Rev == 0 {
		return false, nil
	}
	var things []string
	for _, w := range ws {
		if !alike(ws[0], w) {
			return false, nil
		}
		if err := x.t.sound(w); err != nil {
			return true, err
		}
		things = append(things, x.t.thingsOf(w)...)
	}
	if err := x.asks(things...); err != nil {
		return true, err
	}
	x.last, x.kept, x.ran = ws[0], nil, true
	if within > 0 { // the server counts from BEGIN: a statement may wait before its own time begins
		within += time.Since(p.at)
	}
	text, args := x.t.taking(x.behind(), ws, within)
	switch err := p.commit(text, args...); {
	case err == nil:
		x.changed = true
		return true, nil

	case strings.Contains(err.Error(), tooFew), x.t.dialect.failure(err) == failConstraint:
		x.err = driver.ErrMoved // see writeSome
		return true, x.err
	default:
		return true, x.fail(err)
	}
}

// tooFew is what the server quotes when a write with COMMIT has not written all, or not in time.
const tooFew = "fsm: a trigger keeps records from being moved, or they are moved too late; so many were moved: "
