// Package inspect is what the engine and package audit look at records with: the engine
// judges rows when it opens a machine, and package audit their logs too.
package inspect

import (
	"context"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Engine is what package audit has of a machine.
type Engine[R any] struct {
	Schema     *driver.Schema
	Descriptor *fsmimpl.Descriptor[R]
	ByStored   map[string]*fsmimpl.Operation[R]
	Store      driver.Store
	Table      driver.Table
	Now        func() time.Time // of the machine's clock, as records hold it
	Outbox     string           // the queue of the store's bell on which effects are rung for
	Health     *State
	Quarantine *sync.Map // ids whose rows do not end their logs, found by a check at open
	// Compare compares the clocks of the process and of the store, unless that was done a
	// short while ago.
	Compare func(ctx context.Context)
	// Skew is how far the store's clock is ahead of the process's; 0: it is close enough.
	Skew func() time.Duration
	// Lag is the age of the oldest event that the log held back when its end was last looked
	// at, and who held it.
	Lag func() (time.Duration, string)
	// Refused counts by effect the deliveries that gave up and whose `failed` was refused.
	Refused func() map[string]int64
	// Swept is when a sweep of this process last came to its end; zero: none has.
	Swept func() time.Time
	// Plus is how long after its field a trigger is due, unless another field says so.
	Plus func(op *fsmimpl.Operation[R], t fsmimpl.Trigger) time.Duration
	// HeldBefore is the instant before which deadlines of an operation are held; zero: none is.
	HeldBefore func(op *fsmimpl.Operation[R]) time.Time
	// TryImport looks at an import without making it. A nil reader says that nothing is stored yet.
	TryImport func(r driver.Reader, rec R, c fsmimpl.Caller) (Tried, error)
	// Doubled is the misfit of a record whose place of a unique rule another one holds.
	Doubled func(u *driver.UniqueRule, row *driver.Row, holder string) Misfit
	// WouldSweep lists the steps that a sweep would take with a row now.
	WouldSweep func(row driver.Row) ([]Fires, error)
	// Observe tells the machine's observer that an audit begins; what it returns tells
	// how the audit ended.
	Observe func(ctx context.Context) (context.Context, func(found map[string]int64, err error))
	// Run does work in a transaction until it is known what became of it.
	Run func(ctx context.Context, w Work) error
	// Would returns what a call on a record would be refused with now; nil: nothing that can be read speaks against
	// it. It writes nothing.
	Would func(ctx context.Context, at driver.Ref, c fsmimpl.Call[R]) error
	// WouldEach returns the records that a call on each would move now, by id, or what refuses it, as Would does.
	WouldEach func(ctx context.Context, c fsmimpl.Call[R]) ([]driver.Row, error)
	// Hasten makes a delivery due now; false: somebody has claimed or settled it since it was read.
	Hasten func(ctx context.Context, d driver.Delivery) (bool, error)
	// Abandon ends the tries of a delivery: it goes, an event says who and why, and the step under `failed` is taken.
	Abandon func(ctx context.Context, d driver.Delivery, actor, reason string) error
	// Failed returns the operation under `failed` that follows when the tries of a delivery end; empty: none does.
	Failed func(ctx context.Context, d driver.Delivery) (string, error)
	// Load makes a record of a row and checks it.
	Load func(row *driver.Row) (R, error)
}

// Work is one transaction's worth of work.
type Work struct {
	Name, ID, RequestID string
	Try                 func(tx driver.Tx) error
	// Find looks whether the work was done by a try whose answer was lost.
	Find func(r driver.Reader) (bool, error)
}
