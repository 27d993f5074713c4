package fsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Machine is the engine of one machine over one store. It is safe for use by
// any number of goroutines.
type Machine[R any] struct {
	d       *fsmimpl.Descriptor[R]
	schema  *driver.Schema
	store   driver.Store
	table   driver.Table
	effects map[string]fsmimpl.EffectFunc[R]
	options options

	byName   map[string]*fsmimpl.Operation[R] // by the name in the specification
	byStored map[string]*fsmimpl.Operation[R]
	joined   *joined         // the caller's transaction; nil: its own ones
	batch    *batch[R]       // collects calls; nil: they are made at once
	indexed  [][]int         // the columns of each index that hold texts
	worked   map[string]bool // stored states in which a worker may hold a record
	leave    bool            // every at-least-once effect is of no use once the record has moved on

	picks    map[*fsmimpl.Operation[R]]*picking[R] // calls that wait to be taken along
	byID     sync.Map                              // ids of records that calls decide on without a lock
	recovers bool                                  // has startup triggers and effects to deliver
	started  atomic.Int32                          // how far Startup is: notStarted, starting, started
	rounds   resting[R]                            // of Deliver
	ends     refusedEnds                           // deliveries that gave up and stay
	swept    atomic.Pointer[time.Time]             // when a sweep last came to its end
	held     atomic.Pointer[map[string]time.Time]  // by operation: what was due before is left alone; see HoldDeadlines

	health     *inspect.State
	skew       *skew // nil: the program has a time of its own
	lag        lag
	quarantine *sync.Map // ids whose rows do not end their logs, found by a check at open -> why
}

// options are the settings of a Machine; the With functions set them.
type options struct {
	clock            func() time.Time // nil: that of the process, or of the store
	process          func() time.Time
	skew             time.Duration // that is let be
	callerTime       bool
	triggers         map[string]time.Duration
	limits           map[string]int64 // by guard
	eligible         map[string]any   // by operation: func(R, time.Time) bool
	backoff, longest time.Duration
	lease            time.Duration // of an effect that is performed
	lanes            int           // effects of one name at once; 0: one of all
	check            int64
	poll             time.Duration
	observe          Observer
	most             int              // bytes of a call, and of a record
	used             map[string]other // by name
}

// Option is a setting of a Machine; the With functions make one.
type Option func(*options)

// WithClock replaces the clock, which stands in for a zero At and is read by
// Sweep, Startup and Deliver.
func WithClock(now func() time.Time) Option { return func(o *options) { o.clock = now } }

// WithCallerTime lets the At of a call decide when it is made; without it a call
// that names a time is refused with ErrTimeGiven. It is for programs that write down
// what has happened elsewhere, and for tests; those with a clock
// of their own (WithClock) need no At. A call can then keep a deadline that is over. One
// whose time is more than a day after the machine's clock is refused: it would keep the
// sweeper away from its record for as long.
func WithCallerTime() Option { return func(o *options) { o.callerTime = true } }

// WithTrigger replaces the duration that an operation's `after` triggers add to
// their field, by a shorter or a longer one; a negative one is refused. The operation
// is named as in the specification. A trigger that adds a field keeps it.
func WithTrigger(operation string, d time.Duration) Option {
	return func(o *options) { o.triggers[operation] = d }
}

// WithBackoff sets how long an effect that failed once waits, and the longest
// wait; each failure doubles it. The defaults are one second and five minutes.
func WithBackoff(first, longest time.Duration) Option {
	return func(o *options) { o.backoff, o.longest = first, longest }
}

// WithDelivery sets for how long an effect that is performed belongs to its
// deliverer, and how many of each effect name one call of Deliver performs at once.
// The defaults are one minute and 8. 0 performs one effect after the other, whatever
// its name, so a slow one holds up all. An effect has three quarters of the lease;
// after a crash it is performed again when the lease is over.
func WithDelivery(lease time.Duration, atOnce int) Option {
	return func(o *options) { o.lease, o.lanes = lease, atOnce }
}

// WithOpenCheck sets how many records NewMachine looks at before it returns:
// with more of them the check goes on in the background, see Health. The
// default is 100 000; 0 always takes the background. A negative number leaves
// the check out, so that a store which is refused can be opened and mended.
func WithOpenCheck(records int64) Option { return func(o *options) { o.check = records } }

// NewMachine opens a machine over a store. It never creates tables: a store
// that is not migrated is refused with ErrSchemaMismatch. Every effect of the
// machine needs a function.
func NewMachine[R any](ctx context.Context, store driver.Store, d *fsmimpl.Descriptor[R], effects map[string]fsmimpl.EffectFunc[R], opts ...Option) (*Machine[R], error) {
	m := &Machine[R]{
		d: d, schema: d.Schema, store: store, effects: effects,
		options: options{
			process:  time.Now,
			skew:     skewBound,
			triggers: map[string]time.Duration{},
			limits:   map[string]int64{},
			eligible: map[string]any{},
			backoff:  time.Second,
			longest:  5 * time.Minute,
			lease:    time.Minute,
			lanes:    8,
			check:    defaultCheck,
			poll:     250 * time.Millisecond,
			most:     driver.MaxCall,
		},
		indexed:    indexedColumns(d.Schema),
		health:     new(inspect.State),
		quarantine: new(sync.Map),
		byName:     map[string]*fsmimpl.Operation[R]{},
		byStored:   map[string]*fsmimpl.Operation[R]{},
		picks:      map[*fsmimpl.Operation[R]]*picking[R]{},
	}
	for _, opt := range opts {
		opt(&m.options)
	}
	if err := m.index(); err != nil {
		return nil, fmt.Errorf("open %s: %w", d.Schema.Machine, err)
	}
	table, err := store.Table(d.Schema)
	if err != nil {
		return nil, err
	}
	if err := m.others(); err != nil {
		return nil, fmt.Errorf("open %s: %w", d.Schema.Machine, err)
	}
	if err := table.Check(ctx); err != nil {
		return nil, err
	}
	m.table = table
	if m.options.clock == nil && !m.options.callerTime {
		m.skew = new(skew)
		m.compare(ctx)
	}
	if err := m.checkAtOpen(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// index builds what calls look up, and refuses what could only fail later.
func (m *Machine[R]) index() error {
	startup, outbox := false, false
	m.leave = true
	for _, op := range m.d.Operations {
		m.byName[op.Name], m.byStored[op.Stored] = op, op
		if op.Picks {
			m.picks[op] = &picking[R]{run: m.round}
		}
	}
	for _, op := range m.d.Operations {
		for _, then := range followers(op) {
			if next := m.byName[then]; next == nil || next.System == nil {
				return fmt.Errorf("operation %s is followed by %q, which is no system operation", op.Name, then)
			}
		}
		for e := range op.Effects() {
			if e.Failed == "" {
				continue
			}
			if next := m.byName[e.Failed]; next == nil || next.System == nil && next.GaveUp == nil {
				return fmt.Errorf("effect %s gives up with %q, which is no system operation", e.Name, e.Failed)
			}
		}
		for _, t := range op.Triggers {
			startup = startup || t.Startup
			if op.System == nil {
				return fmt.Errorf("operation %s has a trigger, but nothing makes its calls; hand in its source", op.Name)
			}
		}
		if e := op.Ask(func(e *fsmimpl.EffectInfo[R]) bool { return e.Other == nil && m.effects[e.Name] == nil }); e != nil {
			return fmt.Errorf("effect %s of operation %s has no function; hand one in", e.Name, op.Name)
		}
		outbox = outbox || op.MayAsk(false)
		m.leave = m.leave && op.Ask(func(e *fsmimpl.EffectInfo[R]) bool { return !e.Atomic && !e.Waits() }) == nil
	}
	for name, plus := range m.options.triggers {
		op := m.byName[name]
		if op == nil {
			return fmt.Errorf("WithTrigger names %q, which is no operation", name)
		}
		after := false
		for _, t := range op.Triggers {
			after = after || !t.Startup && t.By == ""
		}
		if !after {
			return fmt.Errorf("WithTrigger names %q, which has no `after` trigger with a constant length", name)
		}
		if plus < 0 {
			return fmt.Errorf("WithTrigger of %q needs zero or more, not %v: nothing fires before its field; "+
				"for a shorter time let the field be when the time begins, and the trigger `after <field> + <duration>`", name, plus)
		}
	}
	if err := m.policies(); err != nil {
		return err
	}
	if m.options.backoff <= 0 || m.options.longest < m.options.backoff {
		return errors.New("WithBackoff needs a positive first wait that is not above the longest")
	}
	if m.options.lease < 8*time.Microsecond || m.options.lanes < 0 {
		return fmt.Errorf("WithDelivery needs a lease and a number of effects at once, not %v and %d", m.options.lease, m.options.lanes)
	}
	if m.options.poll <= 0 {
		return errors.New("WithPoll needs a positive time")
	}
	if m.options.most < driver.MaxCall || m.options.most > mostCall {
		return fmt.Errorf("WithMaxCall needs %d to %d bytes, not %d", driver.MaxCall, mostCall, m.options.most)
	}
	m.worked = m.workedOn()
	m.leave = m.leave && outbox
	m.recovers = startup && outbox
	return nil
}

// followers lists what may follow op: in its transaction, or when an effect was performed.
func followers[R any](op *fsmimpl.Operation[R]) []string {
	list := []string{op.Then}
	for _, b := range op.Branches {
		list = append(list, b.Then)
	}
	for e := range op.Effects() {
		list = append(list, e.Then)
	}
	return slices.DeleteFunc(list, func(name string) bool { return name == "" })
}

// Core returns the machine itself, so that it can stand where a generated one can.
func (m *Machine[R]) Core() *Machine[R] { return m }

// Schema returns the machine's schema, which must not be changed.
func (m *Machine[R]) Schema() *driver.Schema { return m.schema }

// Descriptor returns what the generated package says of its records, for tools
// and tests that write rows by hand. It must not be changed.
func (m *Machine[R]) Descriptor() *fsmimpl.Descriptor[R] { return m.d }

// now returns the clock's time as records hold it.
func (m *Machine[R]) now() time.Time {
	if m.options.clock != nil {
		return driver.Time(m.options.clock())
	}
	return driver.Time(m.options.process().Add(m.ahead()))
}

// plus returns how long after its field a trigger of op is due, unless another field says so.
func (m *Machine[R]) plus(op *fsmimpl.Operation[R], t fsmimpl.Trigger) time.Duration {
	if d, ok := m.options.triggers[op.Name]; ok && t.By == "" {
		return d
	}
	return t.Plus
}

// uniqueRule returns the rule of that name, or nil.
func (m *Machine[R]) uniqueRule(name string) *driver.UniqueRule {
	for i := range m.schema.Uniques {
		if m.schema.Uniques[i].Name == name {
			return &m.schema.Uniques[i]
		}
	}
	return nil
}

// Engine returns what package audit works with.
func (m *Machine[R]) Engine() *inspect.Engine[R] {
	return &inspect.Engine[R]{
		Schema: m.schema, Descriptor: m.d, ByStored: m.byStored, Store: m.store, Table: m.table,
		Now: m.now, Outbox: m.outbox(), Health: m.health, Quarantine: m.quarantine, Observe: m.observeAudit,
		Compare: m.compare, Skew: m.ahead, Lag: m.lagged, Refused: m.refusedEnds,
		Swept: m.sweptAt, Plus: m.plus, HeldBefore: m.heldBefore, TryImport: m.tryImport, Doubled: m.doubled, WouldSweep: m.wouldSweep,
		Run: func(ctx context.Context, w inspect.Work) error {
			u := m.unit(&fsmimpl.Operation[R]{Name: w.Name}, w.ID, w.RequestID)
			u.try = func(tx driver.Tx, _ bool) error { return w.Try(tx) }
			u.find = w.Find
			return m.run(ctx, u)
		},
		Would: m.would, WouldEach: m.wouldEach, Hasten: m.hasten, Abandon: m.abandon, Failed: m.failedOf,
		Load: func(row *driver.Row) (R, error) { return m.load(nil, row) },
	}
}
