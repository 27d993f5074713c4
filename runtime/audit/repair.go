package audit

import (
	"context"
	"errors"
	"fmt"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Repair puts the row of a record right after its log: where they differ, and
// where the row is gone, the row becomes the fold of the log. The log never
// changes; where only the store's own indexes say something else of the record,
// they are made anew. The log gets a record-only event "__repair" that says who did it and why,
// and holds the row as it was in its inputs. It returns the record and whether
// there was anything to do.
//
// Repair refuses with ErrQuarantined when the log itself is not whole: then
// nobody knows what the record should be, and an operator's operation has to
// decide. On SQL stores it needs the rights of the tables' owner, since the
// schema's triggers let it pass. Triggers of users run.
func Repair[R any](ctx context.Context, on Machine[R], id, actor, reason string) (rec R, repaired bool, err error) {
	m := of(on)
	if err := m.operator(actor, reason, id); err != nil {
		return rec, false, err
	}
	var row driver.Row
	var e driver.Event
	u := inspect.Work{Name: "repair", ID: id, RequestID: ""}
	u.Try = func(tx driver.Tx) error {
		repaired = false
		old, err := tx.Row(id)                        // first: it may be what locks the record
		missing := errors.Is(err, driver.ErrNotFound) // then old is zero, and no log folds to revision 0
		if err != nil && !missing {
			return err
		}
		if row, err = m.foldWhole(tx, id); err != nil {
			return err
		}
		if differs(m.Schema, &old, &row) == "" {
			if found, err := indexed(tx, id); found || err != nil {
				return err
			}
		}
		e = m.record(driver.OpRepair, &row, actor, reason)
		e.RequestID = driver.Reserved + driver.OpRepair + ":" + driver.NewID()
		if e.Inputs, err = m.asItWas(&old, missing); err != nil {
			return err
		}
		e.Sum = driver.Checksum(&e)
		repaired = true
		return tx.Restore(&row, &e)
	}
	u.Find = func(r driver.Reader) (bool, error) {
		events, err := r.Request(id, e.RequestID)
		return len(events) > 0, err
	}
	if err := m.Run(ctx, u); err != nil {
		return rec, false, err
	}
	m.Quarantine.Delete(id)
	rec, err = m.Load(&row)
	return rec, repaired, err
}

// foldWhole folds a log in which nothing is wrong.
func (m *machine[R]) foldWhole(r driver.Reader, id string) (driver.Row, error) {
	x := m.inspection(id)
	if err := x.log(r); err != nil {
		return driver.Row{}, err
	}
	if x.purged { // what stands before it was emptied and is not judged
		return driver.Row{}, refusal(m.Engine, fsm.ErrPurged, id, "")
	}
	if len(x.found) > 0 {
		refused := refusal(m.Engine, fsm.ErrQuarantined, id, "")
		refused.Message = fmt.Sprintf("its log is not whole, so it cannot be repaired from it: %v", Finding(x.found[0]))
		return driver.Row{}, refused
	}
	if x.folded.Rev == 0 {
		return driver.Row{}, refusal(m.Engine, fsm.ErrNotFound, id, "")
	}
	return x.folded, nil
}

// asItWas makes the inputs of a repair: the row that it replaced.
func (m *machine[R]) asItWas(old *driver.Row, missing bool) (driver.JSON, error) {
	if missing {
		return driver.RawJSON(`{"row":null}`), nil
	}
	image, err := m.Schema.Image(old)
	if err != nil { // values that no event could hold are told in Go's words
		image, err = driver.MarshalValue(fmt.Sprint(old.Values))
	}
	if err != nil {
		return driver.JSON{}, err
	}
	head, err := driver.Object([]driver.Member{
		{Name: "state", Kind: driver.KindString, Value: old.State}, {Name: "rev", Kind: driver.KindInt, Value: old.Rev},
	})
	if err != nil {
		return driver.JSON{}, err
	}
	return driver.RawJSON(head.String()[:len(head.String())-1] + `,"row":` + image.String() + "}"), nil
}
