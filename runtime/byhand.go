package fsm

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// hasten makes a delivery due now. It reports false where somebody has claimed or settled it since it was read.
func (m *Machine[R]) hasten(ctx context.Context, d driver.Delivery) (done bool, err error) {
	err = m.table.Update(ctx, func(tx driver.Tx) (err error) {
		done, err = tx.Postpone(d.ID, d.Rev, d.N, d.Attempts, m.now(), d.LastError)
		return err
	})
	if done && err == nil {
		m.ring(left{effects: 1})
	}
	return done, err
}

// failedOf returns the operation under `failed` that follows when the tries of a delivery end; empty: none does.
func (m *Machine[R]) failedOf(ctx context.Context, d driver.Delivery) (string, error) {
	job, err := m.delivery(ctx, d)
	if err != nil || job.effect == nil || job.obsolete {
		return "", err
	}
	return job.effect.Failed, nil
}

// abandon ends the tries of a delivery, because somebody says so: it goes, the log of its record gets the event
// driver.OpGiveUp, which says who and why, and the step under `failed` is taken, all in one transaction. The error is
// ErrOvertaken where somebody has claimed or settled the delivery since it was read. What the `then` of an effect
// without `failed` would do is not done.
func (m *Machine[R]) abandon(ctx context.Context, d driver.Delivery, actor, reason string) error {
	op := &fsmimpl.Operation[R]{Name: "give up " + d.Effect}
	switch {
	case actor == "":
		return m.refusal(ErrActorMissing, op, d.ID, "")
	case actor == driver.SystemActor:
		return m.refusal(ErrSystemActor, op, d.ID, "")
	case reason == "":
		return m.refusal(ErrReasonMissing, op, d.ID, "")
	}
	if err := errors.Join(driver.CheckID(actor), driver.CheckText(reason)); err != nil {
		r := m.refusal(ErrInvalidInput, op, d.ID, "")
		r.Name, r.Message = "actor or reason", err.Error()
		return r
	}
	job, err := m.delivery(ctx, d)
	if err != nil {
		return err
	}
	failed := ""
	if job.effect != nil && !job.obsolete {
		failed = job.effect.Failed
	}
	if failed != "" && job.err != nil {
		return job.err
	}
	note := driver.Event{
		ID: d.ID, Rev: d.Rev, Operation: driver.OpGiveUp, Name: driver.OpGiveUp, Actor: actor, Reason: reason,
		RequestID: fmt.Sprintf("%s%s:%d:%d", driver.Reserved, driver.OpGiveUp, d.Rev, d.N), RequestN: -1,
		Changes: driver.RawJSON("{}"), Version: m.schema.Version,
	}
	if note.Inputs, err = driver.Object([]driver.Member{
		{Name: "effect", Kind: driver.KindString, Value: d.Effect}, {Name: "attempts", Kind: driver.KindInt, Value: int64(d.Attempts)},
	}); err != nil {
		return err
	}
	var instead error // why nothing is done
	u := m.unit(op, d.ID, note.RequestID)
	u.try = func(tx driver.Tx, _ bool) error {
		row, gone := tx.Row(d.ID)
		if gone != nil && !errors.Is(gone, driver.ErrNotFound) {
			return gone
		}
		held, err := tx.Settle(d.ID, d.Rev, d.N, d.Attempts)
		if err != nil {
			return err
		}
		if instead = nil; !held {
			instead = ErrOvertaken
			return nil
		}
		if gone != nil {
			return nil
		}
		return m.giveUpIn(ctx, tx, &row, &d, &job, note, failed)
	}
	u.find = func(r driver.Reader) (bool, error) {
		known, err := r.Request(d.ID, note.RequestID)
		if len(known) > 0 {
			instead = nil
		}
		return len(known) > 0, err
	}
	if err := m.run(ctx, u); err != nil {
		return err
	}
	if instead == nil {
		m.ends.forget(d)
	}
	return instead
}

// giveUpIn notes who gave up, and takes the step under `failed` where the record is still at the delivery's revision.
func (m *Machine[R]) giveUpIn(
	ctx context.Context, tx driver.Tx, row *driver.Row, d *driver.Delivery, job *deliveryJob[R], note driver.Event, failed string,
) error {
	at := m.now()
	note.At, note.Rev, note.From, note.To = at, row.Rev, row.State, row.State
	note.Sum = driver.Checksum(&note)
	if err := tx.Write(&driver.Write{Prev: row.Ref(), PrevState: row.State, Event: note}); err != nil {
		return err
	}
	if failed == "" || row.Rev != d.Rev {
		return nil
	}
	next := m.byName[failed]
	rec, err := m.load(next, row)
	if err != nil {
		return err
	}
	o := origin{event: driver.Event{At: at, RequestID: systemID(next, d.Rev)}, problem: "given up by hand"} // who and why, the event before says
	s, err := m.thenStep(ctx, tx, job.op, next, row, rec, o)
	if err == nil {
		_, _, err = m.follow(ctx, tx, s, at, origin{})
	}
	return err
}
