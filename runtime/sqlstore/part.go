package sqlstore

import (
	"context"
	"errors"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// part is how far a Part of a transaction is.
type part int

const (
	noPart part = iota
	begun       // nothing is written yet
	saved       // there is a savepoint, from before the first write
)

const partName = "fsm_part"

// Part runs f and takes back what it wrote when it fails. The savepoint is made
// before the first write, and released at the end: what the caller does with
// savepoints of its own between two parts is not in its way.
func (x *txn) Part(f func() error) error {
	if x.part != noPart {
		return f()
	}
	x.part = begun
	err := f()
	if err == nil {
		err = x.err // f has passed over it
	}
	was := x.part
	x.part, x.kept = noPart, nil
	if was != saved {
		return err
	}
	x.nested = false
	failed := x.leave(err != nil)
	switch {
	case failed != nil && err == nil:
		return x.fail(failed)
	case failed != nil && x.err == nil:
		_ = x.fail(failed)
	case failed == nil && !errors.Is(x.err, fsm.ErrBusy) && !errors.As(x.err, new(*anew)) && !errors.As(x.err, new(*met)):
		x.err = nil // what it was about has been taken back
	}
	return err
}

// leave ends the savepoint of the part, also where its context has ended: half a call must
// not stay.
func (x *txn) leave(back bool) error {
	ctx := context.WithoutCancel(x.ctx)
	if back {
		if _, err := x.q.exec(ctx, "ROLLBACK TO SAVEPOINT "+partName); err != nil { // some drivers take one statement at a time
			return err
		}
	}
	_, err := x.q.exec(ctx, "RELEASE SAVEPOINT "+partName)
	return err
}

// save makes the savepoint of the part before its first write. First reports whether
// the write that follows is that one.
func (x *txn) save() (first bool, err error) {
	if x.err != nil || x.part != begun {
		return false, x.err
	}
	if _, err := x.q.exec(x.ctx, "SAVEPOINT "+partName); err != nil {
		return false, x.fail(err)
	}
	x.part = saved
	return true, nil
}
