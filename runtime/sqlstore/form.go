package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// form is what the text of a statement depends on that is made for a write: a
// statement is found by it, without its text. What is absent is no parameter, and
// the words of the machine are none either: each costs the driver.
type form struct {
	schema  *fsm.Schema
	words   words  // none: they are parameters
	event   bool   // it appends the event; else it moves the row
	request bool   // its request is one of the record
	linked  bool   // its chain is known
	state   bool   // it changes
	old     bool   // the row that was decided on is compared
	changed uint64 // a bit per column of the row
	present uint64 // a bit per column of the row that was decided on: it has a value
	absent  uint32 // a bit per column of the event
}

// words stand in a text as they are.
type words struct{ operation, name, from, to string }

// maxWorded bounds the statements with words in them: a machine may have thousands
// of moves. Where there are so many forms already, words are parameters.
const maxWorded = maxStatements / 2

// maxFormed is how many columns a form has bits for.
const maxFormed = 64

// formed reports whether the statements of a write can be found by their forms.
func (t *table) formed(w *fsm.Write) bool {
	return len(t.schema.Columns) <= maxFormed && plain(w)
}

// changeFormed is change for a statement whose arguments are bound.
func (x *txn) changeFormed(st statement) (int64, error) {
	if x.err != nil {
		return 0, x.err
	}
	x.kept, x.ran = nil, true
	res, err := st.ExecContext(x.ctx, x.q.(*direct).args)
	if err == nil {
		return x.count(res)
	}
	return 0, x.refusedBy(err)
}

// refusedBy is the error of a change: that of a constraint, or the transaction's.
func (x *txn) refusedBy(err error) error {
	if x.t.dialect.failure(err) != failConstraint {
		return x.fail(err)
	}
	return err
}

// formed returns the statement of a form. It may take the words out of it.
func (d *direct) formed(ctx context.Context, t *table, f *form) (statement, error) {
	if st := d.forms[*f]; st != nil {
		return st, nil
	}
	if len(d.forms) >= maxWorded {
		f.words = words{}
		if st := d.forms[*f]; st != nil {
			return st, nil
		}
	}
	text := t.moveText(f)
	if f.event {
		text = t.appendText(f)
	}
	return prepared(ctx, d, d.forms, *f, text)
}

// at adds a time as a file holds it.
func (d *direct) at(t time.Time) { d.add(t.UnixMicro()) }

// columns of an event that a form says something of, by their places in eventColumns.
const (
	columnN = iota + 2
	columnOperation
	columnName
	columnFrom
	columnTo
	_
	_
	columnReason
	columnRequestID
	columnRequestN
	_
	columnLabels
	columnInputs
	columnChanges
	columnImage
	_
	columnCause
	columnGuard
)

// appendEvent appends the event of a formed write.
func (x *txn) appendEvent(d *direct, w *fsm.Write) error {
	t, e := x.t, &w.Event
	labels, err := labelText(e.Labels)
	if err != nil {
		return fmt.Errorf("sqlstore: labels of %s %q: %w", t.schema.Machine, e.ID, err)
	}
	before, linked, err := x.before(d, w)
	if err != nil {
		return err
	}
	f := form{schema: t.schema, event: true, linked: linked, request: e.RequestN == -1, words: words{e.Operation, e.Name, e.From, e.To}}
	may := [...]struct {
		column int
		absent bool
	}{
		{columnFrom, e.From == ""}, {columnReason, e.Reason == ""}, {columnRequestID, e.RequestID == ""}, {columnLabels, labels == nil},
		{columnInputs, e.Inputs.IsZero()}, {columnChanges, e.Changes.IsZero()}, {columnImage, e.Image.IsZero()},
		{columnCause, e.Cause == ""}, {columnGuard, e.Guard == ""},
	}
	for _, m := range may {
		if m.absent {
			f.absent |= 1 << m.column
		}
	}
	st, err := d.formed(x.ctx, t, &f)
	if err != nil {
		return x.fail(err)
	}
	unless := func(column int, v any) {
		if f.absent&(1<<column) == 0 {
			d.add(v)
		}
	}
	d.args = d.args[:0]
	id, sum := any(e.ID), any(int64(e.Sum))
	d.add(id)
	d.add(e.Rev)
	if f.words == (words{}) {
		d.add(e.Operation)
		d.add(e.Name)
		unless(columnFrom, e.From)
		d.add(e.To)
	}
	d.at(e.At)
	d.add(e.Actor)
	unless(columnReason, e.Reason)
	unless(columnRequestID, e.RequestID)
	if !f.request {
		d.add(e.RequestN)
	}
	d.add(e.Fingerprint)
	unless(columnLabels, labels)
	unless(columnInputs, e.Inputs.String())
	unless(columnChanges, e.Changes.String())
	unless(columnImage, e.Image.String())
	d.add(int64(e.Version))
	unless(columnCause, e.Cause)
	unless(columnGuard, e.Guard)
	d.add(sum)
	if linked {
		d.add(int64(fsm.Chained(before, e)))
	} else {
		d.add(id)
		d.add(w.Prev.Rev)
		d.add(sum)
	}
	if _, err := x.changeFormed(st); err != nil {
		return x.explain(w, err, false)
	}
	d.next = link{schema: t.schema, id: e.ID, rev: e.Rev, chain: fsm.Chained(before, e), known: linked, missed: d.missed(w, t.schema)}
	return nil
}

func (t *table) appendText(f *form) string {
	var columns, places []string
	for i, name := range eventColumns {
		place := "?"
		switch {
		case i == columnReason && f.absent&(1<<i) != 0:
			place = "''"
		case f.absent&(1<<i) != 0:
			continue
		case i == columnN:
			place = "0"
		case i == columnRequestN && f.request:
			place = "-1"
		case f.words == words{}:
		case i == columnOperation:
			place = literal(f.words.operation)
		case i == columnName:
			place = literal(f.words.name)
		case i == columnFrom:
			place = literal(f.words.from)
		case i == columnTo:
			place = literal(f.words.to)
		}
		columns, places = append(columns, name), append(places, place)
	}
	events, chain := t.part("_events"), "?"
	if !f.linked {
		chain = chained(events, "?", "?", "0", "?")
	}
	return "INSERT INTO " + events + " (" + quoted(append(columns, "chain")) + ") VALUES (" + strings.Join(append(places, chain), ", ") + ")"
}

// moveRow moves the row of a formed write.
func (x *txn) moveRow(d *direct, w *fsm.Write) (int64, error) {
	t := x.t
	f := form{schema: t.schema, state: w.Row.State != w.PrevState, old: w.Old != nil, words: words{from: w.PrevState, to: w.Row.State}}
	for _, i := range w.Changed {
		f.changed |= 1 << i
	}
	if f.old {
		for i, v := range w.Old.Values {
			if v != nil {
				f.present |= 1 << i
			}
		}
	}
	st, err := d.formed(x.ctx, t, &f)
	if err != nil {
		return 0, x.fail(err)
	}
	d.args = d.args[:0]
	d.add(w.Row.Rev)
	d.at(w.Row.UpdatedAt)
	if f.state && f.words == (words{}) {
		d.add(w.Row.State)
	}
	for i, v := range w.Row.Values {
		if f.changed&(1<<i) != 0 {
			d.add(t.bind(v))
		}
	}
	d.add(w.Prev.ID)
	d.add(w.Prev.Rev)
	if f.words == (words{}) {
		d.add(w.PrevState)
	}
	if f.old {
		d.at(w.Old.CreatedAt)
		d.at(w.Old.UpdatedAt)
		for _, v := range w.Old.Values {
			if v != nil {
				d.add(t.bind(v))
			}
		}
	}
	return x.changeFormed(st)
}

func (t *table) moveText(f *form) string {
	from, to := "?", "?"
	if f.words != (words{}) {
		from, to = literal(f.words.from), literal(f.words.to)
	}
	var b strings.Builder
	b.WriteString("UPDATE " + t.name + ` SET "rev" = ?, "updated_at" = ?`)
	if f.state {
		b.WriteString(`, "state" = ` + to)
	}
	for i := range t.schema.Columns {
		if f.changed&(1<<i) != 0 {
			b.WriteString(", " + quote(t.schema.Columns[i].Stored) + " = ?")
		}
	}
	b.WriteString(` WHERE "id" = ? AND "rev" = ? AND "state" = ` + from)
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
