package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// commitTogether commits a batch in one transaction, where one session writes
// (SQLite). At first the writes follow each other without savepoints: one that
// is refused before it changed anything costs the others nothing. Is one refused
// half done, the transaction begins anew with a savepoint before each write.
func (s *Store) commitTogether(on *session, batch []*job) (broken bool) {
	if s.poison.Load() != nil {
		for _, j := range batch {
			j.answer(s.poisoned(j.t.schema.Machine))
		}
		return false
	}
	again, broken := s.commitOnce(on, batch, false)
	if again && !broken {
		_, broken = s.commitOnce(on, batch, true)
	}
	for _, j := range batch {
		if j.fate == pending { // the transaction could not even be taken back
			j.answer(j.refuse(fsm.CodeBusy, errTakenBack))
		}
	}
	return broken
}

// commitOnce is one try at a batch. again says that it has to be made with
// savepoints, and that nothing was written and nobody answered.
func (s *Store) commitOnce(on *session, batch []*job, careful bool) (again, broken bool) {
	ctx := context.WithoutCancel(batch[0].ctx)
	if !on.indirect {
		err := on.straight(ctx, func(d *direct) {
			again, broken = s.commitIn(ctx, d, d.begin(ctx), batch, careful)
		})
		if err == nil {
			return again, broken
		}
		on.indirect = errors.Is(err, errIndirect)
	}
	w := sqlWork{session: on}
	var err error
	if w.tx, err = on.conn.BeginTx(ctx, &sql.TxOptions{Isolation: s.dialect.isolation(true)}); err == nil {
		if _, err := on.exec(ctx, s.dialect.claim()); err != nil {
			for _, j := range batch {
				j.answer(j.t.fault("take the write lock", err))
			}
			return false, s.takeBack(ctx, w)
		}
	}
	return s.commitIn(ctx, w, err, batch, careful)
}

// takeBack ends a transaction without a trace.
func (s *Store) takeBack(ctx context.Context, w work) (broken bool) {
	err := w.rollback(ctx)
	return err != nil && s.dialect.failure(err) != failGone
}

// commitIn is one try in a transaction, unless begun says that there is none.
func (s *Store) commitIn(ctx context.Context, in work, begun error, batch []*job, careful bool) (again, broken bool) {
	all := func(answer func(j *job) error) {
		for _, j := range batch {
			j.answer(answer(j))
		}
	}
	if begun != nil {
		all(func(j *job) error { return j.t.fault("begin a transaction", begun) })
		meaning := s.dialect.failure(begun)
		return false, meaning == failOpen || meaning == failStop
	}
	done := false
	defer func() {
		if !done {
			broken = s.takeBack(ctx, in)
		}
	}()
	refused := make([]error, len(batch))
	written := 0
	for i, j := range batch {
		x := &txn{reader: reader{ctx: ctx, t: j.t, q: in}}
		var lost error
		if careful {
			refused[i], lost = x.attempt(j.w)
		} else {
			refused[i] = x.Write(j.w)
		}
		in.settled(refused[i] == nil)
		switch {
		case lost != nil:
			all(func(j *job) error { return j.t.fault("write", lost) })
			return false, false
		case refused[i] == nil:
			written++
		case !careful && len(batch) > 1 && (x.changed || x.err != nil):
			return true, false
		}
	}
	var err error
	if written > 0 {
		done = true
		err = in.commit(ctx)
	}
	for i, j := range batch {
		switch {
		case err == nil:
			j.answer(refused[i])
		case refused[i] == nil:
			j.answer(j.t.lost(j.w, err))
		default: // what refused it may be one of those whose fate is open; it wrote nothing itself
			j.answer(j.refuse(fsm.CodeBusy, err))
		}
	}
	return false, err != nil
}

// attempt makes a write part of the transaction or leaves no trace of it. lost
// is the error that took the whole transaction with it.
func (x *txn) attempt(w *fsm.Write) (refused, lost error) {
	if _, err := x.q.exec(x.ctx, "SAVEPOINT fsm_job"); err != nil {
		return nil, err
	}
	if refused = x.Write(w); refused != nil {
		if _, err := x.q.exec(x.ctx, "ROLLBACK TO fsm_job"); err != nil {
			return refused, err
		}
	}
	_, err := x.q.exec(x.ctx, "RELEASE fsm_job")
	return refused, err
}
