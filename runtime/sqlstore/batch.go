package sqlstore

import (
	"context"
	"errors"
	"slices"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// commitTogether commits a batch in one transaction, where one session writes
// (SQLite). At first the writes follow each other without savepoints: one that
// is refused before it changed anything costs the others nothing. If one is refused
// half done, the transaction starts again with a savepoint before each write. One
// that ends the transaction, by a trigger with RAISE(ROLLBACK), is left out then.
func (s *Store) commitTogether(on *session, batch []*job) (broken bool) {
	all := batch
	if s.poison.Load() != nil {
		for _, j := range all {
			j.answer(s.poisoned(j.t.schema.Machine))
		}
		batch = nil
	}
	batch = on.fitting(batch)
	again, broken := s.commitOnce(on, batch, false)
	for again && !broken {
		batch = slices.DeleteFunc(slices.Clone(batch), func(j *job) bool { return j.fate != pending })
		if err := s.begin(context.Background(), on); err != nil { // it is still this process's turn
			for _, j := range batch {
				j.answer(j.t.fault("begin a transaction", err))
			}
			return s.breaks(err)
		}
		again, broken = s.commitOnce(on, batch, true)
	}
	for _, j := range all {
		if j.fate == pending { // the transaction could not even be taken back
			j.answer(j.refuse(fsm.ErrBusy, errTakenBack))
		}
	}
	return broken
}

// commitOnce is one try at a batch. again says that nothing was written, and that it has
// to be made with savepoints for those who are not answered.
func (s *Store) commitOnce(on *session, batch []*job, careful bool) (again, broken bool) {
	ctx := context.Background()
	if len(batch) > 0 {
		ctx = context.WithoutCancel(batch[0].ctx)
	}
	return s.commitIn(ctx, on, batch, careful)
}

// win waits for this process's turn and for SQLite's write lock, and begins the
// transaction of a batch with them.
func (s *Store) win(ctx context.Context, on *session) (broken bool, err error) {
	if err := on.turn(ctx, s.writers.turns); err != nil {
		return false, err
	}
	err = on.patiently(ctx, func() error { return s.begin(ctx, on) })
	return err != nil && !errors.Is(err, call.ErrOver) && s.breaks(err), err
}

// breaks reports whether a session is of no more use after an error.
func (s *Store) breaks(err error) bool {
	meaning := s.dialect.failure(err)
	return meaning == failOpen || meaning == failStop
}

// The statements around a batch. The session keeps them prepared, as its others:
// database/sql's own transaction takes a goroutine each, and its driver parses them again.
const (
	beginText    = "BEGIN IMMEDIATE" // takes the write lock
	commitText   = "COMMIT"
	rollbackText = "ROLLBACK"
)

// begin begins the transaction of a batch, or leaves no trace of it.
func (s *Store) begin(ctx context.Context, on *session) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := on.tryExec(ctx, beginText); err != nil {
		return err
	}
	if err := on.others.look(ctx, on); err != nil {
		_, back := on.tryExec(ctx, rollbackText)
		on.lost = back != nil && s.dialect.failure(back) != failGone
		return errors.Join(err, back)
	}
	return nil
}

// fitting answers the jobs whose tables are no longer theirs, and returns the others.
func (s *session) fitting(batch []*job) []*job {
	return slices.DeleteFunc(slices.Clone(batch), func(j *job) bool {
		err := s.stillFits(context.WithoutCancel(j.ctx), j.t)
		if err != nil {
			j.answer(err)
		}
		return err != nil
	})
}

// takeBack ends a transaction without a trace.
func (s *Store) takeBack(ctx context.Context, on *session) (broken bool) {
	_, err := on.tryExec(ctx, rollbackText)
	return err != nil && s.dialect.failure(err) != failGone
}

// commitIn is one try in a transaction that has begun.
func (s *Store) commitIn(ctx context.Context, on *session, batch []*job, careful bool) (again, broken bool) {
	all := func(answer func(j *job) error) {
		for _, j := range batch {
			j.answer(answer(j))
		}
	}
	done := false
	defer func() {
		if !done {
			broken = s.takeBack(ctx, on)
		}
	}()
	refused := make([]error, len(batch))
	written := 0
	for i, j := range batch {
		x := &txn{reader: reader{ctx: ctx, t: j.t, q: on}}
		var lost error
		if careful {
			refused[i], lost = x.attempt(j.w)
		} else {
			refused[i] = x.Write(j.w)
		}
		switch {
		case lost != nil && refused[i] != nil && s.dialect.failure(lost) == failGone:
			j.answer(refused[i])
			return true, false
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
		_, err = on.tryExec(ctx, commitText)
	}
	for i, j := range batch {
		switch {
		case err == nil:
			j.answer(refused[i])
		case refused[i] == nil:
			j.answer(j.t.lost(j.w, err))
		default: // what refused it may be one of those whose fate is open; it wrote nothing itself
			j.answer(j.refuse(fsm.ErrBusy, err))
		}
	}
	return false, err != nil
}

// attempt makes a write part of the transaction or leaves no trace of it. lost
// is the error that took the whole transaction with it.
func (x *txn) attempt(w *driver.Write) (refused, lost error) {
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
