package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// commitAlone commits one write by itself, in one statement to a server. One that
// met another writer is made again.
func (t *table) commitAlone(ctx context.Context, w *driver.Write) error {
	for i := 1; ; i++ {
		err := t.onceAlone(ctx, w)
		if t.dialect.blocked(err) {
			return t.commitInLine(ctx, w)
		}
		if i == attempts || !errors.Is(err, fsm.ErrBusy) {
			return err
		}
		if !linger(ctx, i) { // nothing was written, and the caller no longer waits
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// linger waits before the i-th repetition, with jitter; false when the call may wait
// no longer.
func linger(ctx context.Context, i int) bool {
	return call.Nap(ctx, time.Duration(rand.Int64N(int64(i)*int64(time.Millisecond)))) == nil
}

func (t *table) onceAlone(ctx context.Context, w *driver.Write) error {
	s, err := t.store.writers.take(ctx)
	if err != nil {
		return t.unopened(ctx, err)
	}
	broken := true
	defer func() { t.store.writers.give(s, broken) }()
	longer, done := outlasting(ctx)
	defer done()
	broken, err = t.commitSingle(longer, s, w)
	s.cut = longer.Err() != nil
	return err
}

// commitSingle makes one write in one statement, which is a transaction of its own.
func (t *table) commitSingle(ctx context.Context, s *session, w *driver.Write) (broken bool, err error) {
	text, args := t.writing(false, w)
	n, err := t.writeAlone(ctx, s, text, args, nil)
	if err == nil && n == 1 {
		return false, nil
	}
	if before := (*unbegun)(nil); errors.As(err, &before) {
		return true, t.unopened(ctx, err)
	}
	if err != nil {
		meaning := t.dialect.failure(err)
		switch {
		case !t.dialect.aborted(err):
			return true, t.lost(w, err)
		case meaning != failConstraint:
			return false, t.blame(w, err)
		}
	}
	// Nothing was written. The statements that find out why see what has been
	// committed meanwhile, an earlier try of this call above all.
	x := &txn{reader: reader{ctx: ctx, t: t, q: s}, alone: true}
	why := x.explain(w, err, false)
	return x.err != nil && t.dialect.failure(x.err) == failLost, why
}

// busy reports whether err says that the same write may succeed now.
func (t *table) busy(err error) bool { return errors.Is(err, fsm.ErrBusy) }
