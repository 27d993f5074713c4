package live

import (
	"context"

	"github.com/fsmgen/fsmgen/internal/interp"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Step is a call of an operation by its name.
type Step struct {
	Operation string
	ID        string         // of the record; of a creation: empty for a new one
	Rev       int64          // at which the call is decided; 0: at any
	Values    map[string]any // inputs by name, as rows hold them
	Call      fsm.Call
}

func (db *DB) call(s *Step) (fsmimpl.Call[interp.Record], error) {
	return db.Machine.Descriptor().Named(s.Operation, s.ID, s.Values, fsmimpl.Caller(s.Call))
}

// Would returns what a step would be refused with now, and writes nothing. Of a creation it looks at the inputs alone.
func (db *DB) Would(ctx context.Context, s *Step) error {
	c, err := db.call(s)
	if err == nil && !c.Operation.Creates {
		err = db.Machine.Engine().Would(ctx, driver.Ref{ID: s.ID, Rev: s.Rev}, c)
	}
	return db.Address.Clean(err)
}

// Do takes a step. An operation that asks for an effect needs the machine's program, and is refused. The database must be
// open for writing.
func (db *DB) Do(ctx context.Context, s *Step) (fsm.Outcome[interp.Record], error) {
	var out fsm.Outcome[interp.Record]
	c, err := db.call(s)
	switch {
	case err != nil:
	case c.Operation.Creates:
		out, err = db.Machine.Create(ctx, c)
	default:
		out, err = db.Machine.Apply(ctx, driver.Ref{ID: s.ID, Rev: s.Rev}, c)
	}
	return out, db.Address.Clean(err)
}

// WouldEach returns the records that a step on each would move now, by id, or what it would be refused with.
func (db *DB) WouldEach(ctx context.Context, s *Step) (list []driver.Row, err error) {
	c, err := db.call(s)
	if err == nil {
		list, err = db.Machine.Engine().WouldEach(ctx, c)
	}
	return list, db.Address.Clean(err)
}

// DoEach takes a step with each record that fits, all or none; else as Do.
func (db *DB) DoEach(ctx context.Context, s *Step) (outs []fsm.Outcome[interp.Record], err error) {
	c, err := db.call(s)
	if err == nil {
		outs, err = db.Machine.Each(ctx, c)
	}
	return outs, db.Address.Clean(err)
}
