package fsm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Apply makes one call on one record. A target that holds the record (the
// record itself, or an Outcome) takes one write when nothing speaks against it;
// for a Ref the record is read before, without a lock. A held record that was edited, or is
// otherwise not what is stored, counts as the Ref that it is: a decision stands
// only on the stored record.
func (m *Machine[R]) Apply(ctx context.Context, at fsmimpl.Target, c fsmimpl.Call[R]) (Outcome[R], error) {
	if m.batch != nil {
		m.batch.items = append(m.batch.items, fsmimpl.Item[R]{At: at, Call: c})
		return Outcome[R]{}, nil
	}
	if m.options.observe == nil { // a closure would move the call to the heap
		return m.rung(m.apply(ctx, at, c, false))
	}
	return m.applyObserved(ctx, at, c)
}

func (m *Machine[R]) applyObserved(ctx context.Context, at fsmimpl.Target, c fsmimpl.Call[R]) (Outcome[R], error) {
	apply := func(ctx context.Context) (Outcome[R], error) { return m.apply(ctx, at, c, false) }
	return m.rung(watched(ctx, m, observed(&c, idOf[R](at)), apply, seenOne))
}

func (m *Machine[R]) apply(ctx context.Context, at fsmimpl.Target, c fsmimpl.Call[R], engine bool) (Outcome[R], error) {
	ctx = m.begin(ctx)
	q, ref, err := m.target(at, c, engine)
	if err != nil {
		return Outcome[R]{}, err
	}
	if m.joined == nil && simple(q.op, &q.Call) {
		if err := m.ready(ctx); err != nil {
			return Outcome[R]{}, err
		}
		var s *step[R]
		held, ok := holds[R](at)
		if ok && ref.Rev != 0 {
			s = m.decideHeld(q, at, held, ref)
		} else if !ok {
			if _, taken := m.byID.LoadOrStore(ref.ID, nil); !taken { // else one would write in vain
				defer m.byID.Delete(ref.ID)
				if s, err = m.decideRead(ctx, q, ref); err != nil {
					return m.applyStored(ctx, q, ref, func() (slow bool, _ error) { return false, err })
				}
			}
		}
		if s != nil {
			err := m.table.Commit(ctx, &s.write)
			if err == nil {
				return m.outcome(s.rec, &s.row, s.write.Event), nil
			}
			err = m.conflict(err, q.op, ref.ID, s.write.PrevState)
			var refused *Refusal
			if !ok && errors.As(err, &refused) && refused.Code != ErrBusy && refused.Code != ErrFull && refused.Code != ErrNotUnique {
				return m.applyStored(ctx, q, ref, nil) // the request may be known, which nobody has asked
			}
			return m.applyStored(ctx, q, ref, func() (slow bool, _ error) { return false, err })
		}
	}
	return m.applyStored(ctx, q, ref, nil)
}

// applyStored makes a call on the record that is stored. Fast, when not nil, says
// what became of the first try.
func (m *Machine[R]) applyStored(ctx context.Context, q *request[R], ref driver.Ref, fast func() (bool, error)) (Outcome[R], error) {
	var out Outcome[R]
	u := m.unit(q.op, ref.ID, q.requestAt(ref.Rev))
	u.fast = fast
	u.try = func(tx driver.Tx, again bool) (err error) {
		out, err = m.applyIn(ctx, tx, q, ref, again)
		return err
	}
	u.find = func(r driver.Reader) (bool, error) {
		outs, err := m.known(r, q, ref.ID, q.requestAt(max(ref.Rev, q.tried)))
		if len(outs) > 0 {
			out = outs[0]
		}
		return len(outs) > 0, err
	}
	run := m.run
	if fast != nil && ref.Rev != 0 {
		u.glance = func(r driver.Reader) (done bool, err error) {
			out, done, err = m.answered(r, q, ref)
			return done, err
		}
	}
	if fast != nil { // an ended context says nothing about what that try left open
		run = m.tries
	}
	if err := run(ctx, u); err != nil {
		return Outcome[R]{}, err
	}
	return out, nil
}

// answered reads the answer to a call on a held record that has moved: what its
// request led to, or that it comes too late. done is false where only a
// transaction can tell.
func (m *Machine[R]) answered(r driver.Reader, q *request[R], ref driver.Ref) (out Outcome[R], done bool, err error) {
	outs, err := m.known(r, q, ref.ID, q.requestAt(ref.Rev))
	var refused *Refusal
	switch {
	case errors.As(err, &refused):
		return out, true, err
	case err != nil:
		return out, false, err
	case len(outs) > 0:
		return outs[0], true, nil
	}
	row, err := r.Row(ref.ID)
	if err != nil || !m.compares(q) || row.Rev <= ref.Rev || recordsOnly(q.op, row.State) {
		return out, false, err
	}
	return out, true, m.stale(q, &row, ref)
}

// unless returns what refuses a call before its operation was asked, unless the
// call has inputs that the operation cannot take: they come first. The pure method
// looks at them before it looks at the record.
func (m *Machine[R]) unless(q *request[R], id string, otherwise error) error {
	var blank R
	var peers []int64
	if q.Peers != nil {
		peers = make([]int64, len(q.Peers(&blank, id)))
	}
	_, err := q.Decide(&blank, id, peers, q.at)
	var refused *Refusal
	if errors.As(err, &refused) && refused.Code == ErrInvalidInput {
		refused.ID = id
		return refused
	}
	return otherwise
}

// recordsOnly reports whether the cell of an operation and a state, a stored word,
// only records: then a call asks for no revision, since it overwrites nothing.
func recordsOnly[R any](op *fsmimpl.Operation[R], state string) bool {
	return slices.Contains(op.Recorded, state) && !slices.Contains(op.From, state)
}

// compares reports whether a call is for the revision only that its caller names.
func (m *Machine[R]) compares(q *request[R]) bool {
	return m.schema.ExpectedRev != driver.Never || q.op.By == fsmimpl.BySystem
}

// stale refuses a call for a revision that is not the record's.
func (m *Machine[R]) stale(q *request[R], row *driver.Row, ref driver.Ref) *Refusal {
	r := m.refusal(ErrStale, q.op, ref.ID, row.State)
	r.Rev, r.Expected = row.Rev, ref.Rev
	return r
}

// decideHeld decides on a record that its caller holds. It returns nil where the
// stored one has to be asked. A record that its caller has not changed is known by its chain.
func (m *Machine[R]) decideHeld(q *request[R], at fsmimpl.Target, held R, ref driver.Ref) *step[R] {
	s := &step[R]{op: q.op, rec: held}
	row := &s.old
	*row = m.d.Encode(&s.rec)
	if out, ok := shown[R](at); ok {
		at = out
	}
	if known, ok := at.(interface{ storedRow() *driver.Row }); ok {
		if stored := known.storedRow(); stored != nil && driver.SameRow(stored, row) {
			row.Chain = stored.Chain
		}
	}
	if row.Ref() != ref || m.suspect(&s.rec, row) {
		return nil
	}
	err := m.decideStep(s, &q.Call, row, row.ID, nil, q.origin(q.requestAt(row.Rev), -1))
	if err != nil || s.write.Row == nil {
		return nil
	}
	s.write.Old = row
	return s
}

// decideRead decides on a record as it is now, which nobody locks: the write is for what was
// read only. It returns nil where a transaction has to look, and the refusal of a store that
// could not be asked: it has taken its time.
func (m *Machine[R]) decideRead(ctx context.Context, q *request[R], ref driver.Ref) (*step[R], error) {
	s := &step[R]{op: q.op}
	row := &s.old
	err := m.table.Look(ctx, func(r driver.Reader) (err error) {
		*row, err = r.Row(ref.ID)
		return err
	})
	if refused := (*Refusal)(nil); errors.As(err, &refused) {
		return nil, err
	}
	if err != nil || ref.Rev != 0 && ref.Rev != row.Rev {
		return nil, nil
	}
	if s.rec, err = m.load(q.op, row); err != nil {
		return nil, nil
	}
	if m.tick(q); q.requestAt(ref.Rev) == "" {
		q.tried = row.Rev
	}
	err = m.decideStep(s, &q.Call, row, row.ID, nil, q.origin(q.requestAt(row.Rev), -1))
	if err != nil || s.write.Row == nil {
		return nil, nil
	}
	s.write.Old = row
	return s, nil
}

// ApplyMany makes calls on several records in one transaction, in their order:
// all of them or none. The error of a call that is refused names its index.
// Calls whose request is known are replayed.
func (m *Machine[R]) ApplyMany(ctx context.Context, items []fsmimpl.Item[R]) ([]Outcome[R], error) {
	if len(items) == 0 {
		return nil, nil
	}
	call := observedMany(&items[0].Call, len(items))
	return m.rungMany(watched(ctx, m, call, func(ctx context.Context) ([]Outcome[R], error) { return m.applyMany(ctx, items) }, seenMany))
}

func (m *Machine[R]) applyMany(ctx context.Context, items []fsmimpl.Item[R]) ([]Outcome[R], error) {
	ctx = m.begin(ctx)
	work := make([]target[R], len(items))
	for i, it := range items {
		q, ref, err := m.target(it.At, it.Call, false)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		q.among = len(items) > 1
		work[i] = target[R]{it.At, q, ref}
	}
	outs := make([]Outcome[R], len(items))
	u := m.unit(work[0].q.op, work[0].ref.ID, work[0].q.requestAt(work[0].ref.Rev))
	u.joins, u.fast = true, m.fastTogether(ctx, func() []*step[R] { return m.decideAll(work) }, outs)
	ids := idsOf(work)
	u.try = func(tx driver.Tx, again bool) (err error) {
		if err := lockAll(tx, ids); err != nil {
			return err
		}
		return m.planning(ctx, func(ctx context.Context) error {
			for i, w := range work {
				if outs[i], err = m.applyIn(ctx, tx, w.q, w.ref, again); err != nil {
					return fmt.Errorf("item %d: %w", i, err)
				}
			}
			return nil
		})
	}
	u.find = func(r driver.Reader) (bool, error) {
		for i, w := range work {
			known, err := m.known(r, w.q, w.ref.ID, w.q.requestAt(max(w.ref.Rev, w.q.tried)))
			if err != nil || len(known) == 0 {
				return false, err
			}
			outs[i] = known[0]
		}
		return true, nil
	}
	if err := m.run(ctx, u); err != nil {
		return nil, err
	}
	return outs, nil
}

// idsOf returns the ids of several records in their order; nil of one, which is
// locked when it is its turn.
func idsOf[R any](work []target[R]) []string {
	ids := make([]string, len(work))
	for i := range work {
		ids[i] = work[i].ref.ID
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 1 {
		return nil
	}
	return ids
}

// lockAll locks records in the one order in which several are waited for.
func lockAll(tx driver.Tx, ids []string) error {
	for _, id := range ids {
		if _, err := tx.Row(id); err != nil && !errors.Is(err, driver.ErrNotFound) {
			return err
		}
	}
	return nil
}

// nowhere reports whether a target is nil, as such or as a pointer to a record.
func nowhere[R any](at fsmimpl.Target) bool {
	p, ok := any(at).(*R)
	return at == nil || ok && p == nil
}

// idOf returns the id of a target's record, if there is one.
func idOf[R any](at fsmimpl.Target) string {
	if nowhere[R](at) {
		return ""
	}
	return at.Ref().ID
}

// target prepares a call on a record that exists.
func (m *Machine[R]) target(at fsmimpl.Target, c fsmimpl.Call[R], engine bool) (*request[R], driver.Ref, error) {
	if nowhere[R](at) {
		return nil, driver.Ref{}, fmt.Errorf("%s: the call names no record", m.schema.Machine)
	}
	ref := at.Ref()
	q, err := m.prepare(c, ref.ID, engine)
	if err != nil {
		return nil, ref, err
	}
	if q.op.Creates {
		return nil, ref, fmt.Errorf("%s: %s creates records and cannot be applied to one", m.schema.Machine, q.op.Name)
	}
	switch {
	case ref.ID == "":
		invalid := m.refusal(ErrInvalidInput, q.op, ref.ID, "")
		invalid.Name, invalid.Message = "id", "the call names no record"
		return nil, ref, invalid
	case ref.Rev < 0:
		invalid := m.refusal(ErrInvalidInput, q.op, ref.ID, "")
		invalid.Name, invalid.Message = "rev", fmt.Sprintf("%d is not a revision; they begin at 1", ref.Rev)
		return nil, ref, invalid
	case ref.Rev == 0 && m.schema.ExpectedRev == driver.Required:
		invalid := m.refusal(ErrInvalidInput, q.op, ref.ID, "")
		invalid.Name = "rev"
		invalid.Message = "this machine needs the revision that the call was decided on; hand in the record, or a Ref with it"
		return nil, ref, invalid
	}
	switch {
	case q.op.By == fsmimpl.BySystem:
	case q.engine:
		q.RequestID = systemID(q.op, ref.Rev)
	case q.RequestID == "":
		q.ownID()
	}
	return q, ref, nil
}

// requestAt returns the request id of a call on a record at the revision that
// it was decided on; empty while a system operation does not know it.
func (q *request[R]) requestAt(rev int64) string {
	if q.op.By != fsmimpl.BySystem {
		return q.RequestID
	}
	if rev == 0 {
		return ""
	}
	return systemID(q.op, rev)
}

// holds returns the record that a target holds.
func holds[R any](at fsmimpl.Target) (R, bool) {
	switch t := any(at).(type) {
	case R:
		return t, true
	case *R:
		return *t, true
	case interface{ Held() R }:
		return t.Held(), true
	}
	out, ok := shown[R](at)
	return out.Record, ok
}

// shown returns the outcome that a handle shows, also where an operation has the name of that.
func shown[R any](at fsmimpl.Target) (out Outcome[R], ok bool) {
	switch t := at.(type) {
	case interface{ Outcome() Outcome[R] }:
		return t.Outcome(), true
	case interface{ EngineOutcome() Outcome[R] }:
		return t.EngineOutcome(), true
	}
	return out, false
}

// applyIn makes one call within a transaction: the request first, then its inputs,
// then the revision, unless the cell only records, then the decision on the stored
// record.
func (m *Machine[R]) applyIn(ctx context.Context, tx driver.Tx, q *request[R], ref driver.Ref, again bool) (Outcome[R], error) {
	var none Outcome[R]
	lookup := func(requestID string) ([]Outcome[R], error) {
		if q.own && !again {
			return nil, nil // nobody but an earlier try can have used it
		}
		return m.known(tx, q, ref.ID, requestID)
	}
	if outs, err := lookup(q.requestAt(max(ref.Rev, q.tried))); err != nil || len(outs) > 0 {
		if err != nil {
			return none, err
		}
		return outs[0], nil
	}
	row, err := tx.Row(ref.ID)
	if errors.Is(err, driver.ErrNotFound) {
		return none, m.unless(q, ref.ID, m.missing(tx, q.op, ref.ID))
	}
	if err != nil {
		return none, err
	}
	if ref.Rev != 0 && m.compares(q) && row.Rev != ref.Rev && !recordsOnly(q.op, row.State) {
		// It may have been moved by a try of this request that landed after it
		// was looked up: not every store's transaction sees one state only.
		if outs, err := lookup(q.requestAt(max(ref.Rev, q.tried))); err != nil || len(outs) > 0 {
			if err != nil {
				return none, err
			}
			return outs[0], nil
		}
		return none, m.unless(q, ref.ID, m.stale(q, &row, ref))
	}
	if q.requestAt(ref.Rev) == "" {
		q.tried = row.Rev
		if outs, err := lookup(q.requestAt(row.Rev)); err != nil || len(outs) > 0 {
			if err != nil {
				return none, err
			}
			return outs[0], nil
		}
	}
	if _, err := m.isLoose(tx, row.ID); err != nil {
		return none, err
	}
	rec, err := m.load(q.op, &row)
	if err != nil {
		return none, m.unless(q, ref.ID, err)
	}
	m.tick(q)
	return m.advance(ctx, tx, q, &row, rec, row.ID, q.origin(q.requestAt(cmp.Or(ref.Rev, row.Rev)), -1))
}

// advance takes the step of a call and those that follow it in its transaction.
// row is nil for a creation.
func (m *Machine[R]) advance(
	ctx context.Context, tx driver.Tx, q *request[R], row *driver.Row, rec R, id string, o origin,
) (out Outcome[R], err error) {
	err = m.planning(ctx, func(ctx context.Context) error {
		s, err := m.takeStep(ctx, tx, q.op, &q.Call, row, rec, id, o)
		if err != nil {
			return err
		}
		last, events, err := m.follow(ctx, tx, s, q.at, origin{among: q.among})
		if err == nil {
			out = m.outcome(last.rec, &last.row, events...)
		}
		return err
	})
	return out, err
}

// missing refuses a write on a record that is not there: whoever asks again after
// a purge hears that, and not that there never was one.
func (m *Machine[R]) missing(r driver.Reader, op *fsmimpl.Operation[R], id string) error {
	purged, err := inspect.WasPurged(r, id)
	switch {
	case err != nil:
		return err
	case purged:
		return m.refusal(ErrPurged, op, id, "")
	}
	return m.refusal(ErrNotFound, op, id, "")
}
