package fsm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Sweep runs every operation with an `after` trigger on every record whose
// deadline has come (now == deadline is past it; one of which a part is absent never comes) and
// returns how many steps it took. It asks for what it does not do by itself:
// call it regularly, from as many processes as you like; they converge, since
// each step belongs to the revision that was read. It leaves alone what HoldDeadlines holds.
//
// A record that has moved on, that a guard or a rule of uniqueness holds back, or for which
// a program has recorded the same call at this revision, is passed over: its time comes
// when what is in its way has gone. A
// record that cannot be loaded, and any other error of one record, is told in
// the error at the end and keeps no other record from being swept; an
// error of the store ends the sweep. Where several records of one operation fail in
// the same way, one *RecordsError tells of all.
func (m *Machine[R]) Sweep(ctx context.Context) (int, error) {
	if err := m.alone("Sweep"); err != nil {
		return 0, err
	}
	m.compare(ctx)
	now := m.now()
	total, whole := 0, true
	var errs []error
	for _, op := range m.d.Operations {
		for _, t := range op.Triggers {
			if t.Startup {
				continue
			}
			n, err := m.fire(ctx, op, m.due(ctx, op, t, now))
			total += n
			whole = whole && (err == nil || !ofStore(err))
			errs = append(errs, err)
			if ctx.Err() != nil {
				return total, errors.Join(errs...)
			}
		}
	}
	if whole {
		at := m.now()
		m.swept.Store(&at)
	}
	return total, errors.Join(errs...)
}

// sweptAt is when a sweep last came to its end; zero: none has.
func (m *Machine[R]) sweptAt() time.Time {
	if at := m.swept.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// ErrStarted is the error of a second Startup of an opened machine.
var ErrStarted = errors.New("recovery belongs to the start of a process, and has run: " +
	"call Startup once, after Open and before any other call")

// Startup runs every operation with a `startup` trigger on every record in one
// of its states and returns how many steps it took: the recovery of what a
// crash has left. Call it once after opening, before any other call and before
// Deliver; once it has run, or while it runs, another call is refused with ErrStarted.
// It passes over what Sweep passes over. A quarantined record is reported and does
// not hold up delivery; after any other error Startup is to be called again.
//
// It presumes that no other process works on the machine: what another process
// executes looks as if a crash had left it. Its record goes back, the work is done
// once more under the same key, and the Deliver of that process reports
// ErrMovedOn instead of recording that its work is done.
func (m *Machine[R]) Startup(ctx context.Context) (int, error) {
	if err := m.alone("Startup"); err != nil {
		return 0, err
	}
	if !m.started.CompareAndSwap(notStarted, starting) {
		return 0, fmt.Errorf("start %s: %w", m.schema.Machine, ErrStarted)
	}
	after := notStarted // unless all of it has run
	defer func() { m.started.Store(after) }()
	total, whole := 0, true
	var errs []error
	for _, op := range m.d.Operations {
		for _, t := range op.Triggers {
			if !t.Startup {
				continue
			}
			n, err := m.fire(ctx, op, inspect.Rows(ctx, m.table, driver.Query{States: op.From}))
			total += n
			whole = whole && onlyQuarantined(err)
			errs = append(errs, err)
		}
	}
	if whole {
		after = started
	}
	return total, errors.Join(errs...)
}

// The values of Machine.started.
const (
	notStarted = int32(iota)
	starting
	started
)

// held is a record that was read, as a target.
type held[R any] struct {
	rec R
	ref driver.Ref
}

func (h held[R]) Held() R         { return h.rec }
func (h held[R]) Ref() driver.Ref { return h.ref }

// due lists the rows of op whose deadline has come. Where a field says how long it takes, they
// come in the order of their deadlines: no database knows how many of those are past, and what
// it guesses would make it read all rows in the order of their ids.
func (m *Machine[R]) due(ctx context.Context, op *fsmimpl.Operation[R], t fsmimpl.Trigger, now time.Time) iter.Seq2[driver.Row, error] {
	q := driver.Query{States: op.From, Where: []driver.Cond{{Column: t.After, By: t.By, Op: driver.OpLe, Value: now.Add(-m.plus(op, t))}}}
	if held := m.heldBefore(op); !held.IsZero() {
		q.Where = append(q.Where, driver.Cond{Column: t.After, By: t.By, Op: driver.OpGe, Value: held.Add(-m.plus(op, t))})
	}
	if t.By == "" {
		return inspect.Rows(ctx, m.table, q)
	}
	q.Order, q.Limit = []driver.Order{{Column: t.After, By: t.By}}, inspect.PageSize
	return func(yield func(driver.Row, error) bool) {
		for {
			var page []driver.Row
			err := m.table.Look(ctx, func(r driver.Reader) (err error) {
				page, err = inspect.Collect(r, q)
				return err
			})
			if err != nil {
				yield(driver.Row{}, err)
				return
			}
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
			}
			if len(page) < q.Limit {
				return
			}
			last := &page[len(page)-1]
			q.After, q.Behind = last.ID, []any{m.schema.Key(last, t.After, t.By)}
		}
	}
}

// fire runs op on every row of a list, which fits.
func (m *Machine[R]) fire(ctx context.Context, op *fsmimpl.Operation[R], list iter.Seq2[driver.Row, error]) (int, error) {
	var failed inspect.Failures
	n := 0
	for row, err := range list {
		if err != nil {
			return n, failed.Join(err)
		}
		moved, err := m.fireOne(ctx, op, &row)
		switch {
		case err == nil && moved:
			n++
		case err != nil && !passable(err):
			failed.Add(kindOf(err), row.ID, err)
			if ctx.Err() != nil {
				return n, failed.Join()
			}
		}
	}
	return n, failed.Join()
}

// RecordsError says that a sweep, a start or a purge failed in one way for several
// records. It stands for their errors; errors.Is and errors.As find the first ones.
type RecordsError = inspect.RecordsError

// kindOf tells errors of records apart that one error does not stand for: by the code
// of the refusal, the effect, or the type.
func kindOf(err error) any {
	if r, ok := err.(*Refusal); ok { //nolint:errorlint // what a refusal wraps is not asked
		return r.Code
	}
	if effect := (*EffectError)(nil); errors.As(err, &effect) {
		if r := (*Refusal)(nil); errors.As(effect.Err, &r) {
			return "effect " + effect.Effect + " " + string(r.Code)
		}
		return "effect " + effect.Effect
	}
	if r := (*Refusal)(nil); errors.As(err, &r) {
		return fmt.Sprintf("%T %s", err, r.Code)
	}
	return fmt.Sprintf("%T", err)
}

// fireOne runs op on one record, as of now: a sweep of many takes its time.
func (m *Machine[R]) fireOne(ctx context.Context, op *fsmimpl.Operation[R], row *driver.Row) (bool, error) {
	rec, err := m.load(op, row)
	if err != nil {
		return false, err
	}
	now := m.now()
	c, err := op.System(&rec, now)
	if err != nil {
		return false, err
	}
	c.Operation, c.At = op, now
	at := held[R]{rec, row.Ref()}
	apply := func(ctx context.Context) (Outcome[R], error) { return m.apply(ctx, at, c, true) }
	out, err := m.rung(watched(ctx, m, observed(&c, row.ID), apply, seenOne))
	return err == nil && !out.Replayed, err
}

// onlyQuarantined reports whether what fire returned is about records that
// cannot be loaded and nothing else.
func onlyQuarantined(err error) bool {
	if err == nil {
		return true
	}
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range list.Unwrap() {
			if !onlyQuarantined(e) {
				return false
			}
		}
		return true
	}
	r, ok := err.(*Refusal) //nolint:errorlint // what a refusal wraps is not asked: the loop above takes joined errors apart
	return ok && r.Code == ErrQuarantined
}

// passable reports whether an error means that there is nothing to do here now.
func passable(err error) bool {
	var r *Refusal
	var effect *EffectError
	if !errors.As(err, &r) || errors.As(err, &effect) { // an effect's error may hold a refusal of another machine
		return false
	}
	switch r.Code {
	case ErrStale, ErrWrongState, ErrTerminal, ErrGuard, ErrNotUnique, ErrNotFound, ErrPurged:
		return true
	case ErrRequestReused: // a program has made the call at this revision, for a reason of its own
		return true
	}
	return false
}
