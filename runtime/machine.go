package fsm

import (
	"context"
	"iter"
	"time"
)

// Generated1 is the handshake with generated code: a package that fsmgen wrote
// for another generation of this runtime does not compile against it.
const Generated1 = 1

// Machine is the engine of one machine over one store. It is safe for use by
// any number of goroutines.
type Machine[R any] struct{}

// EffectFunc performs an effect. For an atomic effect tx is the transaction of
// the step; otherwise it is nil. r is the record as of the event's revision.
type EffectFunc[R any] func(ctx context.Context, tx Tx, r R, key string, e Event) error

// Options are the settings of a Machine; see the With functions.
type Options struct{}

// Option sets one of the Options.
type Option func(*Options)

// WithClock replaces the clock that stands in for a zero At, and that Sweep and Deliver read.
func WithClock(now func() time.Time) Option { panic("x") }

// WithTrigger replaces the duration of an operation's `after` triggers.
func WithTrigger(operation string, d time.Duration) Option { panic("x") }

// WithBackoff sets the wait after the first failed delivery of an effect and the longest wait.
func WithBackoff(first, longest time.Duration) Option { panic("x") }

// Migrate creates what the store lacks for the machine; it works before NewMachine.
func Migrate(ctx context.Context, store Store, s *Schema) error { panic("x") }

// NewMachine opens a machine; it never creates tables.
func NewMachine[R any](ctx context.Context, store Store, d *Descriptor[R], effects map[string]EffectFunc[R], opts ...Option) (*Machine[R], error) {
	panic("x")
}

// Item is one call of a batch.
type Item[R any] struct {
	At   Target
	Call Call[R]
}

func (m *Machine[R]) Create(ctx context.Context, c Call[R]) (Outcome[R], error) { panic("x") }
func (m *Machine[R]) CreateMany(ctx context.Context, calls []Call[R]) ([]Outcome[R], error) {
	panic("x")
}
func (m *Machine[R]) Apply(ctx context.Context, at Target, c Call[R]) (Outcome[R], error) { panic("x") }
func (m *Machine[R]) ApplyMany(ctx context.Context, items []Item[R]) ([]Outcome[R], error) {
	panic("x")
}
func (m *Machine[R]) Pick(ctx context.Context, n int, c Call[R]) ([]Outcome[R], error) { panic("x") }

// CreateIn and ApplyIn take part in a transaction of the caller.
func (m *Machine[R]) CreateIn(ctx context.Context, tx Tx, c Call[R]) (Outcome[R], error) { panic("x") }
func (m *Machine[R]) ApplyIn(ctx context.Context, tx Tx, at Target, c Call[R]) (Outcome[R], error) {
	panic("x")
}

func (m *Machine[R]) Record(ctx context.Context, id string) (R, error)               { panic("x") }
func (m *Machine[R]) List(ctx context.Context, q Query) iter.Seq2[R, error]          { panic("x") }
func (m *Machine[R]) History(ctx context.Context, id string) iter.Seq2[Event, error] { panic("x") }

// Count returns the number of records per stored state word, of the given states or of all.
func (m *Machine[R]) Count(ctx context.Context, states ...string) (map[string]int64, error) {
	panic("x")
}
func (m *Machine[R]) Sweep(ctx context.Context) (int, error)   { panic("x") }
func (m *Machine[R]) Startup(ctx context.Context) (int, error) { panic("x") }
func (m *Machine[R]) Deliver(ctx context.Context) (int, error) { panic("x") }

// Finding is something that an audit found.
type Finding struct {
	ID      string
	Rev, N  int64
	Check   string
	Must    bool
	Message string
}

// Probe asks the world about a record; generated code makes one of the Probes interface.
type Probe[R any] func(ctx context.Context, r R) ([]Violation, error)

func (m *Machine[R]) Audit(ctx context.Context, probes ...Probe[R]) iter.Seq2[Finding, error] {
	panic("x")
}

