package storetest_test

import (
	"context"
	"iter"
	"slices"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// wrong is a memstore that breaks one promise. A nil function keeps it.
type wrong struct {
	*memstore.Store
	schema  func(*driver.Schema) *driver.Schema
	asked   func(*memstore.Store) error // by Table
	table   func(driver.Table) driver.Table
	retire  func(driver.Table, context.Context) error
	ctx     func(context.Context) context.Context
	update  func(driver.Table, context.Context, func(fsm.Tx) error) error
	view    func(driver.Table, context.Context, func(driver.Reader) error) error
	write   func(fsm.Tx, *driver.Write) error
	query   func(driver.Query) driver.Query
	count   func(driver.Query) driver.Query
	states  func(r driver.Reader, most int) (map[string]int64, error)
	row     func(driver.Row, error) (driver.Row, error)
	events  func([]fsm.Event, int64) []fsm.Event // from revision 0 on
	request func(r driver.Reader, id, requestID string) ([]fsm.Event, error)
	log     func(r driver.Reader, after fsm.Cursor, limit int) ([]fsm.Entry, error)
	newest  func(r driver.Reader, before fsm.Cursor, limit int) ([]fsm.Entry, error)
	outbox  func(r driver.Reader, due time.Time, limit int) ([]driver.Delivery, error)
	one     func(r driver.Reader, id string, rev, n int64) (driver.Delivery, error)
	orphans func(r driver.Reader, after string, limit int) ([]string, error)
	peers   func(driver.PeerQuery) driver.PeerQuery
	number  func(driver.PeerQuery) driver.PeerQuery
	effects func(r driver.Reader, due time.Time) ([]string, error)
	claim   func(tx fsm.Tx, effect string, now, until time.Time, limit int) ([]driver.Delivery, error)
	settle  func(tx fsm.Tx, id string, rev, n int64, attempt int) (bool, error)
	doubles func(in driver.Reader, u driver.UniqueRule, after string, limit int) ([]driver.Double, error)
	loose   func(in driver.Reader, after string, limit int) ([]string, error)
	delay   func(tx fsm.Tx, id string, rev, n int64, attempt int, due time.Time, text string) (bool, error)
}

func (w *wrong) Table(s *driver.Schema) (driver.Table, error) {
	if w.schema != nil {
		s = w.schema(s)
	}
	if w.asked != nil {
		if err := w.asked(w.Store); err != nil {
			return nil, err
		}
	}
	t, err := w.Store.Table(s)
	t = &wrongTable{t, w}
	if w.table != nil {
		t = w.table(t)
	}
	return t, err
}

type wrongTable struct {
	driver.Table
	w *wrong
}

func (t *wrongTable) Commit(ctx context.Context, w *driver.Write) error {
	return t.Update(ctx, func(tx fsm.Tx) error { return tx.Write(w) })
}

func (t *wrongTable) View(ctx context.Context, f func(driver.Reader) error) error {
	if err := driver.Inside(ctx, t.w); err != nil { // a mark of the wrapper, which the store inside does not know
		return err
	}
	g := func(r driver.Reader) error { return f(wrongReader{r, t.w}) }
	if t.w.view != nil {
		return t.w.view(t.Table, ctx, g)
	}
	return t.Table.View(ctx, g)
}

func (t *wrongTable) Look(ctx context.Context, f func(driver.Reader) error) error {
	return t.View(ctx, f)
}

func (t *wrongTable) Update(ctx context.Context, f func(fsm.Tx) error) error {
	if err := driver.Inside(ctx, t.w); err != nil {
		return err
	}
	g := func(tx fsm.Tx) error { return f(wrongTx{wrongReader{tx, t.w}, tx}) }
	if t.w.ctx != nil {
		ctx = t.w.ctx(ctx)
	}
	if t.w.update != nil {
		return t.w.update(t.Table, ctx, g)
	}
	return t.Table.Update(ctx, g)
}

func (t *wrongTable) Retire(ctx context.Context) error {
	if t.w.retire != nil {
		return t.w.retire(t.Table, ctx)
	}
	return t.Table.Retire(ctx)
}

// wrongBulk writes many records in a way of its own.
type wrongBulk struct {
	driver.Table
	many func(fsm.Tx, []*driver.Write) error
}

func (b wrongBulk) UpdateMany(ctx context.Context, f func(driver.ManyTx) error) error {
	return b.Update(ctx, func(tx fsm.Tx) error { return f(wrongMany{tx, b.many}) })
}

type wrongMany struct {
	fsm.Tx
	many func(fsm.Tx, []*driver.Write) error
}

func (m wrongMany) WriteMany(ws []*driver.Write) error { return m.many(m.Tx, ws) }

type wrongReader struct {
	driver.Reader
	w *wrong
}

func (r wrongReader) Row(id string) (driver.Row, error) {
	row, err := r.Reader.Row(id)
	if r.w.row != nil {
		return r.w.row(row, err)
	}
	return row, err
}

func (r wrongReader) Rows(q driver.Query) iter.Seq2[driver.Row, error] {
	if r.w.query != nil {
		q = r.w.query(q)
	}
	return r.Reader.Rows(q)
}

func (r wrongReader) CountStates(most int) (map[string]int64, error) {
	if r.w.states != nil {
		return r.w.states(r.Reader, most)
	}
	return r.Reader.CountStates(most)
}

func (r wrongReader) Count(q driver.Query) (int64, error) {
	if r.w.count != nil {
		q = r.w.count(q)
	}
	return r.Reader.Count(q)
}

func (r wrongReader) Events(id string, from int64) iter.Seq2[fsm.Event, error] {
	if r.w.events == nil {
		return r.Reader.Events(id, from)
	}
	return func(yield func(fsm.Event, error) bool) {
		var list []fsm.Event
		for e, err := range r.Reader.Events(id, 0) {
			if err != nil {
				yield(e, err)
				return
			}
			list = append(list, e)
		}
		for _, e := range r.w.events(list, from) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (r wrongReader) Request(id, requestID string) ([]fsm.Event, error) {
	if r.w.request != nil {
		return r.w.request(r.Reader, id, requestID)
	}
	return r.Reader.Request(id, requestID)
}

func (r wrongReader) Log(after fsm.Cursor, limit int) ([]fsm.Entry, error) {
	if r.w.log != nil {
		return r.w.log(r.Reader, after, limit)
	}
	return r.Reader.Log(after, limit)
}

func (r wrongReader) Newest(before fsm.Cursor, limit int) ([]fsm.Entry, error) {
	if r.w.newest != nil {
		return r.w.newest(r.Reader, before, limit)
	}
	return r.Reader.Newest(before, limit)
}

func (r wrongReader) Outbox(due time.Time, limit int) ([]driver.Delivery, error) {
	if r.w.outbox != nil {
		return r.w.outbox(r.Reader, due, limit)
	}
	return r.Reader.Outbox(due, limit)
}

func (r wrongReader) Delivery(id string, rev, n int64) (driver.Delivery, error) {
	if r.w.one != nil {
		return r.w.one(r.Reader, id, rev, n)
	}
	return r.Reader.Delivery(id, rev, n)
}

func (r wrongReader) Effects(due time.Time) ([]string, error) {
	if r.w.effects != nil {
		return r.w.effects(r.Reader, due)
	}
	return r.Reader.Effects(due)
}

func (r wrongReader) Orphans(after string, limit int) ([]string, error) {
	if r.w.orphans != nil {
		return r.w.orphans(r.Reader, after, limit)
	}
	return r.Reader.Orphans(after, limit)
}

func (r wrongReader) Doubles(u *driver.UniqueRule, after string, limit int) ([]driver.Double, error) {
	in := r.Reader
	if r.w.doubles != nil {
		return r.w.doubles(in, *u, after, limit)
	}
	return in.Doubles(u, after, limit)
}

func (r wrongReader) Loose(after string, limit int) ([]string, error) {
	in := r.Reader
	if r.w.loose != nil {
		return r.w.loose(in, after, limit)
	}
	return in.Loose(after, limit)
}

type wrongTx struct {
	wrongReader
	tx fsm.Tx
}

func (x wrongTx) Write(w *driver.Write) error {
	if x.w.write != nil {
		return x.w.write(x.tx, w)
	}
	return x.tx.Write(w)
}

func (x wrongTx) Restore(row *driver.Row, e *fsm.Event) error {
	return x.tx.Restore(row, e)
}

func (x wrongTx) Purge(w *driver.Write) (bool, error) { return x.tx.Purge(w) }

func (x wrongTx) Peers(q driver.PeerQuery) (int64, error) {
	if x.w.peers != nil {
		q = x.w.peers(q)
	}
	return x.tx.Peers(q)
}

func (x wrongTx) NextNumber(q driver.PeerQuery) (int64, error) {
	if x.w.number != nil {
		q = x.w.number(q)
	}
	return x.tx.NextNumber(q)
}

func (x wrongTx) Claim(effect string, now, until time.Time, limit int) ([]driver.Delivery, error) {
	if x.w.claim != nil {
		return x.w.claim(x.tx, effect, now, until, limit)
	}
	return x.tx.Claim(effect, now, until, limit)
}

func (x wrongTx) Settle(id string, rev, n int64, attempt int) (bool, error) {
	if x.w.settle != nil {
		return x.w.settle(x.tx, id, rev, n, attempt)
	}
	return x.tx.Settle(id, rev, n, attempt)
}

func (x wrongTx) Postpone(id string, rev, n int64, attempt int, due time.Time, text string) (bool, error) {
	if x.w.delay != nil {
		return x.w.delay(x.tx, id, rev, n, attempt, due, text)
	}
	return x.tx.Postpone(id, rev, n, attempt, due, text)
}

// lax is a table that takes every specification for its own.
type lax struct{ driver.Table }

func (lax) Check(context.Context) error { return nil }

// idle is a table whose Migrate does nothing.
type idle struct{ driver.Table }

func (idle) Migrate(context.Context) error { return nil }

// forgetful is a table whose second Migrate begins anew.
type forgetful struct {
	driver.Table
	migrated int
}

func (f *forgetful) Migrate(ctx context.Context) error {
	f.migrated++
	return f.Table.Migrate(ctx)
}

func (f *forgetful) Look(ctx context.Context, g func(driver.Reader) error) error {
	return f.View(ctx, g)
}

func (f *forgetful) View(ctx context.Context, g func(driver.Reader) error) error {
	return f.Table.View(ctx, func(r driver.Reader) error {
		if f.migrated > 1 {
			r = nothing{r}
		}
		return g(r)
	})
}

type nothing struct{ driver.Reader }

func (nothing) Rows(driver.Query) iter.Seq2[driver.Row, error] {
	return func(func(driver.Row, error) bool) {}
}

// unlocked runs a transaction that locks nothing of what it reads: what it writes
// is written later, in another one.
func unlocked(t driver.Table, ctx context.Context, f func(fsm.Tx) error) error { //nolint:revive // the order of what it stands for
	late := &deferred{}
	err := t.Update(ctx, func(tx fsm.Tx) error {
		*late = deferred{Tx: tx}
		return f(late)
	})
	if err != nil || len(late.writes) == 0 {
		return err
	}
	time.Sleep(5 * time.Millisecond)
	return t.Update(ctx, func(tx fsm.Tx) error {
		for _, w := range late.writes {
			if err := tx.Write(w); err != nil {
				return err
			}
		}
		return nil
	})
}

// numbers notes which numbers a transaction asks for.
type numbers struct {
	fsm.Tx
	asked []driver.PeerQuery
}

func (n *numbers) NextNumber(q driver.PeerQuery) (int64, error) {
	n.asked = append(n.asked, q)
	return n.Tx.NextNumber(q)
}

// edit is a write that differs in something; the caller's own stays as it is.
func edit(change func(tx fsm.Tx, w *driver.Write)) func(fsm.Tx, *driver.Write) error {
	return func(tx fsm.Tx, w *driver.Write) error {
		c := *w
		if w.Row != nil {
			row := *w.Row
			row.Values = slices.Clone(row.Values)
			c.Row = &row
		}
		change(tx, &c)
		err := tx.Write(&c)
		w.Event.N = c.Event.N
		return err
	}
}

// deferred keeps writes for later.
type deferred struct {
	fsm.Tx
	writes []*driver.Write
}

func (d *deferred) Write(w *driver.Write) error {
	c := *w
	d.writes = append(d.writes, &c)
	return nil
}

// torn reads each thing in a snapshot of its own.
type torn struct {
	driver.Reader
	ctx context.Context
	t   driver.Table
}

func (r torn) Row(id string) (row driver.Row, err error) {
	err = r.t.View(r.ctx, func(in driver.Reader) (err error) { row, err = in.Row(id); return err })
	return row, err
}

func (r torn) Count(q driver.Query) (n int64, err error) {
	err = r.t.View(r.ctx, func(in driver.Reader) (err error) { n, err = in.Count(q); return err })
	return n, err
}

func (x wrongTx) Forget(id string, before time.Time) (bool, error) { return x.tx.Forget(id, before) }

func (x wrongTx) Redact(w *driver.Write, edited []fsm.Event) (bool, error) {
	return x.tx.Redact(w, edited)
}

func (x wrongTx) Ended() bool { return x.tx.Ended() }

func (x wrongTx) Part(f func() error) error { return x.tx.Part(f) }
