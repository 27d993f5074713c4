package fsm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Pick makes a call on the first n records, in the order of the operation's
// `next`, that it accepts; fewer when there are no more that nobody else is about
// to take. All of them carry the
// request id, whose scope is the machine: the same call again gives the same
// records. Finding none is ErrNothingToDo, which is not remembered.
func (m *Machine[R]) Pick(ctx context.Context, n int, c fsmimpl.Call[R]) ([]Outcome[R], error) {
	if err := m.unbatched(c.Operation.Name); err != nil {
		return nil, err
	}
	ctx, worker := call.OfWorker(ctx)
	pick := func(ctx context.Context) ([]Outcome[R], error) { return m.pick(ctx, n, c, worker) }
	return m.rungMany(watched(ctx, m, observed(&c, ""), pick, seenMany))
}

func (m *Machine[R]) pick(ctx context.Context, n int, c fsmimpl.Call[R], worker bool) ([]Outcome[R], error) {
	ctx = m.begin(ctx)
	m.compare(ctx)
	q, err := m.prepare(c, "", false)
	if err != nil {
		return nil, err
	}
	if !q.op.Picks {
		return nil, fmt.Errorf("%s: %s picks no record", m.schema.Machine, q.op.Name)
	}
	if n < 1 {
		r := m.refusal(ErrInvalidInput, q.op, "", "")
		r.Name, r.Message = "n", "at least one record must be asked for"
		return nil, r
	}
	if q.RequestID == "" {
		q.ownID()
	}
	q.worker, q.own = worker, worker || q.own
	q.Fits = m.eligible(q.op, q.Fits)
	if !q.At.IsZero() { // only calls at the same time ask for the same records
		q.Where = timed(q.Where, q.at)
	}
	var outs []Outcome[R]
	s := &search[R]{passOver: map[string]bool{}}
	u := m.unit(q.op, "", q.RequestID)
	if simple(q.op, &q.Call) {
		u.fast = func() (slow bool, err error) {
			outs, slow, err = m.pickTogether(ctx, n, q)
			return slow, err
		}
	}
	var wait func(driver.Tx) error // what is waited for before anything is locked
	u.try = func(tx driver.Tx, again bool) (err error) {
		if wait != nil {
			if err := wait(tx); err != nil {
				return err
			}
		}
		outs, err = m.pickIn(ctx, tx, n, q, s, again)
		var held *heldByOther
		for m.joined != nil && errors.As(err, &held) { // it cannot begin again: it waits where it is
			if err = held.wait(tx); err == nil {
				outs, err = m.pickIn(ctx, tx, n, q, s, again)
			}
		}
		return err
	}
	u.find = func(r driver.Reader) (found bool, err error) {
		outs, err = m.known(r, q, "", q.RequestID)
		return len(outs) > 0, err
	}
	for late := 1; ; u.fast = nil { // it would meet the same record
		again, err := m.clearWay(ctx, q, s, m.run(ctx, u))
		if again {
			continue
		}
		var over *passedOver
		var held *heldByOther
		switch {
		case errors.Is(err, errOver) && late < 4 && call.Err(ctx) == nil:
			late++
		case errors.As(err, &over):
			s.passOver[over.id], s.probe = true, true
		case errors.As(err, &held) && call.Err(ctx) == nil:
			wait, s = held.wait, &search[R]{passOver: s.passOver}
		case errors.Is(err, errOver), held != nil:
			r := m.refusal(ErrBusy, q.op, "", "")
			r.Cause = err
			return nil, r
		case err != nil:
			return nil, err
		default:
			return outs, nil
		}
	}
}

// heldByOther ends the transaction of a pick that found nothing but what another
// writer has. Who has it may leave it as it was, so nobody is told that there is
// nothing: the next transaction begins by waiting for it, while it holds nothing.
type heldByOther struct{ wait func(driver.Tx) error }

func (*heldByOther) Error() string { return "another writer holds every record that fits" }
func (*heldByOther) Unwrap() error { return driver.ErrHeld }

// heldRow is heldByOther of a record.
func heldRow(id string) *heldByOther {
	return &heldByOther{func(tx driver.Tx) error {
		if _, err := tx.Row(id); !errors.Is(err, driver.ErrNotFound) {
			return err
		}
		return nil
	}}
}

// heldGroup says which group another writer has.
type heldGroup struct{ q driver.PeerQuery }

func (h *heldGroup) Error() string { return driver.ErrHeld.Error() + ": a group of " + h.q.Name }
func (h *heldGroup) Unwrap() error { return driver.ErrHeld }

// wait locks the group alone.
func (h *heldGroup) wait(tx driver.Tx) error {
	h.q.Try = false
	_, err := tx.Peers(h.q)
	return err
}

// heldRecord returns the id of the first record that fits and that a look which
// passed over locked ones has not shown; empty when it has shown all.
func heldRecord(tx driver.Tx, q driver.Query, seen map[string]bool) (string, error) {
	q.Lock, q.Limit = false, len(seen)+1
	rows, err := inspect.Collect(tx, q)
	if err != nil {
		return "", err
	}
	for i := range rows {
		if _, ok := seen[rows[i].ID]; !ok {
			return rows[i].ID, nil
		}
	}
	return "", nil
}

// passedOver ends a transaction in which a record turned out not to be
// takeable only after something was written; the pick goes on without it.
type passedOver struct {
	id  string
	err error
}

func (p *passedOver) Error() string { return "pass over " + p.id + ": " + p.err.Error() }

// taking is one try of a pick, in one transaction.
type taking[R any] struct {
	q    *request[R]
	s    *search[R]
	n    int // records are wanted
	outs []Outcome[R]
	seen map[string]bool // records that it has looked at; true: it has taken it
	held *heldGroup      // a group that another writer has
	met  []driver.Parked // records of one look that are to be parked
}

func (m *Machine[R]) pickIn(ctx context.Context, tx driver.Tx, n int, q *request[R], s *search[R], again bool) ([]Outcome[R], error) {
	if !q.own || again {
		if outs, err := m.known(tx, q, "", q.RequestID); err != nil || len(outs) > 0 {
			return outs, err
		}
	}
	t := &taking[R]{q: q, s: s, n: n, seen: map[string]bool{}}
	// Where says nearly everything, so n rows mostly suffice; those that Fits
	// or a guard refuses make a wider look necessary.
	look := s.look(m, tx, q, n)
	for ; ; look.Limit *= 8 {
		rows, err := inspect.Collect(tx, look)
		if err != nil {
			return nil, err
		}
		look.Stir, t.met = time.Time{}, nil
		m.tick(q)
		if err := m.scan(ctx, tx, t, rows, look.Park != nil && !s.still); err != nil {
			return nil, err
		}
		switch met := t.met; {
		case len(t.outs) == n:
			return t.outs, nil
		case len(met) > 0 && len(t.outs) > 0:
			if err := s.parkHere(tx, &look, met, q.at); err != nil {
				return nil, err
			}
			maps.DeleteFunc(t.seen, func(_ string, taken bool) bool { return !taken })
			look.Limit = max(1, look.Limit/8)
		case len(met) > 0 && len(met) < len(rows): // the rest may be taken: it is not locked in vain
			return nil, &errMet{met, n}
		case len(met) > 0:
			return nil, &errMet{met, 8 * look.Limit}
		case len(rows) < look.Limit && len(t.outs) > 0:
			return t.outs, nil
		case len(rows) < look.Limit:
			return m.untaken(tx, t, look, !q.own || again)
		}
	}
}

// scan takes what it may of the rows of one look, n at most in all. From the first record on that
// is to be parked it takes nothing: what stands aside then lets others come first.
func (m *Machine[R]) scan(ctx context.Context, tx driver.Tx, t *taking[R], rows []driver.Row, parks bool) error {
	q, s := t.q, t.s
	for i := range rows {
		row := &rows[i]
		if _, ok := t.seen[row.ID]; ok {
			continue
		}
		t.seen[row.ID] = false
		rec, err := m.load(q.op, row)
		if err != nil {
			continue // a quarantined record is never handed out
		}
		aside := func(deep bool) error {
			b, refused, err := m.refused(tx, q, row, &rec, s, deep)
			if err == nil && refused {
				t.met = append(t.met, b)
			}
			return err
		}
		if parks {
			if err := aside(s.probe || len(t.met) > 0); err != nil {
				return err
			}
		}
		if len(t.met) > 0 || s.passOver[row.ID] || q.Fits != nil && !q.Fits(&rec, q.at) {
			continue
		}
		out, wrote, err := m.pickOne(ctx, tx, q, row, rec, int64(len(t.outs)))
		var refused *Refusal
		switch {
		case err == nil:
			t.seen[row.ID] = true
			if t.outs = append(t.outs, out); len(t.outs) == t.n {
				return nil
			}
		case wrote:
			return err
		case errors.As(err, &t.held): // passed over
		case !errors.As(err, &refused) || !ofRecord(refused.Code):
			return err
		case parks:
			if err := aside(true); err != nil {
				return err
			}
		}
	}
	return nil
}

// untaken says why a pick that has looked at everything took nothing.
func (m *Machine[R]) untaken(tx driver.Tx, t *taking[R], look driver.Query, ask bool) ([]Outcome[R], error) {
	q := t.q
	switch {
	case t.held != nil:
		return nil, &heldByOther{t.held.wait}
	case t.s.held != "":
		return nil, heldRow(t.s.held)
	}
	if !q.worker {
		switch id, err := heldRecord(tx, look, t.seen); {
		case err != nil:
			return nil, err
		case id != "":
			return nil, heldRow(id)
		}
	}
	if ask {
		// Those that would have fitted may have been taken by an earlier try of
		// this request, whose commit the query has just waited for.
		if outs, err := m.known(tx, q, "", q.RequestID); err != nil || len(outs) > 0 {
			return outs, err
		}
	}
	return nil, m.unless(q, "", m.refusal(ErrNothingToDo, q.op, "", ""))
}

// look returns the query for at most limit records that a pick may take now.
func (m *Machine[R]) look(q *request[R], limit int) driver.Query {
	m.tick(q)
	return driver.Query{States: q.op.From, Where: timed(q.Where, q.at), Order: q.op.Order, Limit: limit, Lock: true}
}

// timed returns the conditions with now in the place of Now.
func timed(where []driver.Cond, now time.Time) []driver.Cond {
	if !slices.ContainsFunc(where, func(c driver.Cond) bool { return c.Now }) {
		return where
	}
	where = slices.Clone(where)
	for i := range where {
		if c := &where[i]; c.Now {
			c.Value, c.Now = now, false
		}
	}
	return where
}

// pickOne takes one record, and the steps of other machines that this asks for. wrote is set when an
// error came too late to go on with the next record in this transaction.
func (m *Machine[R]) pickOne(ctx context.Context, tx driver.Tx, q *request[R], row *driver.Row, rec R, index int64) (out Outcome[R], wrote bool, err error) {
	others := m.planning(ctx, func(ctx context.Context) error {
		out, wrote, err = m.pickStep(ctx, tx, q, row, rec, index)
		return err
	})
	if err != nil || others == nil {
		return out, wrote, err
	}
	var refused *Refusal
	if errors.As(others, &refused) && ofOther(refused.Code) {
		others = &passedOver{row.ID, others}
	}
	return out, true, others
}

// ofOther reports whether a refusal speaks of the record of another machine that a step would have moved.
func ofOther(c Code) bool {
	switch c {
	case ErrNotFound, ErrNotUnique, ErrExists, ErrPurged, ErrInvalidInput:
		return true
	}
	return ofRecord(c)
}

// pickStep is pickOne for the machine's own steps.
func (m *Machine[R]) pickStep(ctx context.Context, tx driver.Tx, q *request[R], row *driver.Row, rec R, index int64) (out Outcome[R], wrote bool, err error) {
	o := q.origin(q.RequestID, index)
	o.try = m.joined == nil // in a caller's transaction the caller's order counts
	s, err := m.takeStep(ctx, tx, q.op, &q.Call, row, rec, row.ID, o)
	if err != nil {
		var refused *Refusal
		var effect *EffectError
		switch {
		case errors.Is(err, driver.ErrHeld):
			return out, false, err
		case errors.As(err, &effect):
			return out, true, err
		case errors.Is(err, ErrNotUnique):
			return out, true, &passedOver{row.ID, err}
		case errors.As(err, &refused):
			return out, false, err
		}
		if errors.Is(err, driver.ErrRequestTaken) {
			if events, _ := tx.Request(row.ID, q.RequestID); len(events) > 0 { // where it cannot look, the next try tells
				return out, true, m.refusal(ErrRequestReused, q.op, row.ID, row.State)
			}
		}
		return out, true, err
	}
	if guard := s.write.Event.Guard; guard != "" { // it would be recorded only: it does not pass `require`
		return out, true, &passedOver{row.ID, fmt.Errorf("guard %s", guard)}
	}
	if err := m.over(q, s, s.write.Event.At); err != nil {
		return out, true, err
	}
	if m.joined == nil && m.over(q, s, m.now()) != nil {
		return out, true, errOver
	}
	last, events, err := m.follow(ctx, tx, s, q.at, o)
	if err != nil {
		var group *heldGroup
		if errors.As(err, &group) {
			return out, true, &heldByOther{group.wait}
		}
		var refused *Refusal
		var effect *EffectError
		if errors.As(err, &refused) && !errors.As(err, &effect) {
			return out, true, &passedOver{row.ID, err}
		}
		return out, true, err
	}
	return m.outcome(last.rec, &last.row, events...), true, nil
}

// ofRecord reports whether a refusal speaks of one record, so that another one
// may be taken, and not of the call or the store.
func ofRecord(c Code) bool {
	switch c {
	case ErrWrongState, ErrTerminal, ErrGuard, ErrInvariant, ErrOverflow, ErrQuarantined:
		return true
	}
	return false
}
