package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// maxMany bounds the writes of one statement of a transaction.
const maxMany = 1000

var _ driver.Bulk = (*table)(nil)

// UpdateMany runs f in one transaction.
func (t *table) UpdateMany(ctx context.Context, f func(driver.ManyTx) error) error {
	return t.transactAs(ctx, mode{piped: true}, t.dialect.claim(), func(x *txn) error { return f(x) })
}

// WriteMany makes writes of different records part of the transaction. On a server
// those of the same kind are one statement.
func (x *txn) WriteMany(ws []*driver.Write) error {
	if err := x.reserve(ws...); err != nil {
		return err
	}
	ws, err := x.learn(ws)
	if err != nil {
		return err
	}
	begun, within := time.Now(), time.Duration(0)
	for _, w := range ws {
		if within == 0 || w.Within > 0 && w.Within < within {
			within = w.Within
		}
	}
	if taken, err := x.take(ws, within); taken {
		return err
	}
	for len(ws) > 0 {
		n := 1
		if x.t.dialect.server() {
			for n < min(len(ws), maxMany) && alike(ws[0], ws[n]) {
				n++
			}
		}
		if err := x.writeSome(ws[:n]); err != nil {
			return err
		}
		ws = ws[n:]
	}
	if within > 0 && time.Since(begun) >= within {
		x.err = driver.ErrMoved
	}
	return x.err
}

// writeSome makes writes that one statement can hold.
func (x *txn) writeSome(ws []*driver.Write) error {
	if len(ws) == 1 {
		return x.write(ws[0])
	}
	if i := slices.IndexFunc(ws, func(w *driver.Write) bool { return x.t.sound(w) != nil }); i >= 0 {
		return x.t.sound(ws[i])
	}
	var things []string
	for _, w := range ws {
		things = append(things, x.t.thingsOf(w)...)
	}
	if err := x.asks(things...); err != nil {
		return err
	}
	if _, err := x.save(); err != nil {
		return err
	}
	// A transaction that begins with moves is like a statement by itself: no event alone may come to its records meanwhile.
	var after any // of a strict transaction
	if x.behind() {
		after = x.ran || x.adopted || ws[0].Prev.Rev == 0
	}
	x.last, x.kept, x.ran = ws[0], nil, true
	written, err := x.t.writeMany(x.ctx, x.q, ws, after)
	switch {
	case err == nil && len(written) == len(ws):
		x.changed = true
		return nil
	case err == nil || x.t.dialect.failure(err) == failConstraint:
		// Some are elsewhere, or a rule speaks against one. What was written of the
		// others must not stay.
		if x.part != saved { // else the part takes it back
			x.err = driver.ErrMoved
		}
		return driver.ErrMoved
	}
	return x.fail(err)
}
