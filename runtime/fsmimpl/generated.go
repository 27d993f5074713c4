package fsmimpl

import (
	"context"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Generated2 is the handshake with generated code: a package that fsmgen wrote
// for another generation of this runtime does not compile against it.
const Generated2 = 2

// Migrate creates what the store lacks for the machine, or brings it to this
// specification. It works before NewMachine, which refuses a store without it.
func Migrate(ctx context.Context, store driver.Store, s *driver.Schema) error {
	table, err := store.Table(s)
	if err != nil {
		return err
	}
	return table.Migrate(ctx)
}

// EndRollOut ends a roll-out: programs of another specification of the machine are
// refused from now on, when they open it. One that has it open goes on, so stop
// the last of them first.
func EndRollOut(ctx context.Context, store driver.Store, s *driver.Schema) error {
	table, err := store.Table(s)
	if err != nil {
		return err
	}
	return table.Retire(ctx)
}

// Fold makes the record out of its log, which starts at revision 1 or at an
// event with an image. It applies what the events say and evaluates no rule, so
// that an old log folds under a new specification. Record-only events are
// passed over, and so are fields that the specification does not know, in events
// of another version.
func Fold[R any](d *Descriptor[R], events []driver.Event) (R, error) {
	row, err := driver.FoldRow(d.Schema, events)
	if err != nil {
		var zero R
		return zero, err
	}
	return d.Decode(row)
}
