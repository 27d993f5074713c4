package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// form is what the text of a statement depends on that is made for a write: a
// statement is found by it, without its text. What is absent is no parameter, since
// each costs the driver.
type form struct {
	schema  *fsm.Schema
	event   bool   // it appends the event; else it moves the row
	request bool   // its request is one of the record
	state   bool   // it changes
	old     bool   // the row that was decided on is compared
	changed uint64 // a bit per column of the row
	present uint64 // a bit per column of the row that was decided on: it has a value
	absent  uint32 // a bit per column of the event
}

// maxFormed is how many columns a form has bits for.
const maxFormed = 64

// formed reports whether the statements of a write can be found by their forms.
func (t *table) formed(w *fsm.Write) bool {
	return len(t.schema.Columns) <= maxFormed && plain(w)
}

// changeFormed is change for a statement whose arguments are bound.
func (x *txn) changeFormed(d *direct, f form) (int64, error) {
	if x.err != nil {
		return 0, x.err
	}
	x.kept, x.ran = nil, true
	res, err := d.execFormed(x.ctx, x.t, f)
	if err == nil {
		return x.count(res)
	}
	if x.t.dialect.failure(err) != failConstraint {
		return 0, x.fail(err)
	}
	return 0, err
}

func (d *direct) execFormed(ctx context.Context, t *table, f form) (sql.Result, error) {
	st := d.forms[f]
	if st == nil {
		text := t.moveText(f)
		if f.event {
			text = t.appendText(f)
		}
		var err error
		if st, err = prepared(ctx, d, d.forms, f, text); err != nil {
			return nil, err
		}
	}
	return st.ExecContext(ctx, d.args)
}

// skipped are the columns of an event that appendForm gives no arguments for.
const (
	columnN        = 2
	columnRequestN = 11
)

// appendForm binds the arguments of the statement that appends the event.
func (t *table) appendForm(d *direct, w *fsm.Write) (form, error) {
	e := &w.Event
	labels, err := labelText(e.Labels)
	if err != nil {
		return form{}, fmt.Errorf("sqlstore: labels of %s %q: %w", t.schema.Machine, e.ID, err)
	}
	f := form{schema: t.schema, event: true, request: e.RequestN == -1}
	id, sum := any(e.ID), any(int64(e.Sum))
	d.args = d.args[:0]
	d.add(id)
	d.add(e.Rev)
	d.add(e.Operation)
	d.add(e.Name)
	f.may(d, 5, orNull(e.From))
	d.add(e.To)
	d.add(t.bind(e.At))
	d.add(e.Actor)
	d.add(e.Reason)
	f.may(d, 10, orNull(e.RequestID))
	if !f.request {
		d.add(e.RequestN)
	}
	d.add(e.Fingerprint)
	f.may(d, 13, labels)
	f.may(d, 14, documentText(e.Inputs))
	f.may(d, 15, documentText(e.Changes))
	f.may(d, 16, documentText(e.Image))
	d.add(int64(e.Version))
	f.may(d, 18, orNull(e.Cause))
	f.may(d, 19, orNull(e.Guard))
	d.add(sum)
	d.add(id)
	d.add(w.Prev.Rev)
	d.add(sum)
	return f, nil
}

// may adds the argument of a column, unless it is absent.
func (f *form) may(d *direct, column int, v any) {
	if v == nil {
		f.absent |= 1 << column
		return
	}
	d.add(v)
}

func (t *table) appendText(f form) string {
	var columns, places []string
	for i, name := range eventColumns {
		place := "?"
		switch {
		case f.absent&(1<<i) != 0:
			continue
		case i == columnN:
			place = "0"
		case i == columnRequestN && f.request:
			place = "-1"
		}
		columns, places = append(columns, name), append(places, place)
	}
	events := t.part("_events")
	return "INSERT INTO " + events + " (" + quoted(append(columns, "chain")) + ") VALUES (" + strings.Join(places, ", ") + ", " + chained(events, "?", "?", "0", "?") + ")"
}

// moveForm binds the arguments of the statement that moves the row.
func (t *table) moveForm(d *direct, w *fsm.Write) form {
	f := form{schema: t.schema, state: w.Row.State != w.PrevState, old: w.Old != nil}
	d.args = d.args[:0]
	d.add(w.Row.Rev)
	d.add(t.bind(w.Row.UpdatedAt))
	if f.state {
		d.add(w.Row.State)
	}
	for _, i := range w.Changed {
		f.changed |= 1 << i
	}
	for i, v := range w.Row.Values {
		if f.changed&(1<<i) != 0 {
			d.add(t.bind(v))
		}
	}
	d.add(w.Prev.ID)
	d.add(w.Prev.Rev)
	d.add(w.PrevState)
	if f.old {
		d.add(t.bind(w.Old.CreatedAt))
		d.add(t.bind(w.Old.UpdatedAt))
		for i, v := range w.Old.Values {
			if v != nil {
				f.present |= 1 << i
				d.add(t.bind(v))
			}
		}
	}
	return f
}

func (t *table) moveText(f form) string {
	var b strings.Builder
	b.WriteString("UPDATE " + t.name + ` SET "rev" = ?, "updated_at" = ?`)
	if f.state {
		b.WriteString(`, "state" = ?`)
	}
	for i := range t.schema.Columns {
		if f.changed&(1<<i) != 0 {
			b.WriteString(", " + quote(t.schema.Columns[i].Stored) + " = ?")
		}
	}
	b.WriteString(` WHERE "id" = ? AND "rev" = ? AND "state" = ?`)
	if f.old {
		b.WriteString(` AND "created_at" = ? AND "updated_at" = ?`)
		for i := range t.schema.Columns {
			b.WriteString(" AND " + quote(t.schema.Columns[i].Stored))
			if f.present&(1<<i) != 0 {
				b.WriteString(" = ?")
			} else {
				b.WriteString(" IS NULL")
			}
		}
	}
	return b.String()
}
