package adopt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Machine is a machine that takes records over: a generated one, or its engine.
type Machine[R any] interface {
	Core() *fsm.Machine[R]
}

// Item is one record to import, and the call that says who imports it and why. A row that is none of the
// machine's records, such as one with an unknown status, is handed in with Odd alone: it is reported with the others.
type Item[R any] struct {
	Record R
	Call   fsm.Call
	Odd    []Misfit // of Misfit the program gives Rule, ID and Value
}

// Options are the settings of Try and Import. The zero value is a good choice.
type Options struct {
	First int // how many records are named of each rule; 0: 5
	Page  int // Import writes so many in one transaction; 0: 500
}

// Try looks at an import without making it: it goes on behind each misfit, and lists all of them by rule. Places of unique
// rules are looked for among what is stored and among the records themselves; the first one has the place, as in Import. It
// also says what the first sweep would do with the records that fit. It writes nothing and takes no lock,
// and keeps some 50 bytes of each record and of each place in memory.
//
// Its error is one of the store or of records; a record that does not fit is none.
func Try[R any](ctx context.Context, on Machine[R], items iter.Seq2[Item[R], error], o Options) (*Report, error) {
	e := on.Core().Engine()
	t := &trial[R]{e: e, r: newReport(o.First), ids: map[sum]asked{}, places: map[sum]string{}}
	page := make([]Item[R], 0, inspect.PageSize)
	for item, err := range items {
		if err != nil {
			return t.r.end(names(e)), err
		}
		if page = append(page, item); len(page) == cap(page) {
			if err := t.page(ctx, page); err != nil {
				return t.r.end(names(e)), err
			}
			page = page[:0]
		}
	}
	err := t.page(ctx, page)
	return t.r.end(names(e)), err
}

// Of makes the items of a list.
func Of[R any](list ...Item[R]) iter.Seq2[Item[R], error] {
	return func(yield func(Item[R], error) bool) {
		for _, item := range list {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// sum stands for a text in memory.
type sum [16]byte

func sumOf(text string) sum {
	full := sha256.Sum256([]byte(text))
	return sum(full[:16])
}

// asked is what a record was imported by: its request id, and all that the request says.
type asked struct{ id, all sum }

// trial is one Try.
type trial[R any] struct {
	e      *inspect.Engine[R]
	r      *report
	ids    map[sum]asked  // of records so far
	places map[sum]string // of unique rules -> the id that holds it
}

func (t *trial[R]) page(ctx context.Context, page []Item[R]) error {
	if err := ctx.Err(); err != nil || len(page) == 0 {
		return err
	}
	tried := make([]inspect.Tried, len(page))
	err := t.e.Table.View(ctx, func(r driver.Reader) error {
		newest, err := r.Newest("", 1)
		if err != nil {
			return err
		}
		if len(newest) == 0 {
			r = nil // nothing is stored, so nothing is asked for
		}
		for i := range page {
			if len(page[i].Odd) > 0 {
				continue
			}
			if tried[i], err = t.e.TryImport(r, page[i].Record, fsmimpl.Caller(page[i].Call)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range page {
		t.r.Records++
		if !t.fits(&page[i], &tried[i]) {
			continue
		}
		t.r.Fit++
		fires, err := t.e.WouldSweep(tried[i].Row)
		if err != nil {
			return err
		}
		t.r.fires(tried[i].Row.ID, fires)
	}
	return nil
}

// fits judges one record, of which the store has nothing more to say.
func (t *trial[R]) fits(item *Item[R], tried *inspect.Tried) bool {
	if len(item.Odd) > 0 {
		t.r.odd(item.Odd)
		return false
	}
	again, twice := t.among(item, tried)
	switch {
	case tried.Known || again:
		t.r.Known++
		return false
	case twice != nil:
		tried.Misfits = append(tried.Misfits, *twice)
	}
	for i := range t.e.Schema.Uniques {
		u := &t.e.Schema.Uniques[i]
		if key, holds := t.place(u, &tried.Row); holds {
			if holder, there := t.places[key]; there {
				tried.Misfits = append(tried.Misfits, t.e.Doubled(u, &tried.Row, holder))
			}
		}
	}
	if len(tried.Misfits) > 0 {
		t.r.misfits(tried.Row.ID, tried.Misfits)
		return false
	}
	for i := range t.e.Schema.Uniques {
		if key, holds := t.place(&t.e.Schema.Uniques[i], &tried.Row); holds {
			t.places[key] = tried.Row.ID
		}
	}
	return true
}

// among looks for the record among those before it: again says that its request came before, and twice that its id did.
func (t *trial[R]) among(item *Item[R], tried *inspect.Tried) (again bool, twice *inspect.Misfit) {
	if tried.Row.ID == "" || tried.Known {
		return false, nil
	}
	id := sumOf(tried.Row.ID)
	request := asked{sumOf(item.Call.RequestID), sumOf(tried.Request)}
	before, there := t.ids[id]
	switch {
	case !there && len(tried.Misfits) == 0:
		t.ids[id] = request
	case there && before == request && tried.Request != "":
		return true, nil
	case there:
		code := fsm.ErrExists
		if before.id == request.id && tried.Request != "" {
			code = fsm.ErrRequestReused
		}
		err := &fsm.Refusal{Code: code, Machine: t.e.Schema.Machine, Operation: driver.OpImport, ID: tried.Row.ID}
		return false, &inspect.Misfit{Code: string(code), Rule: string(code), Value: "twice among these records", Err: err}
	}
	return false, nil
}

// place returns the place of a unique rule that a record holds.
func (t *trial[R]) place(u *driver.UniqueRule, row *driver.Row) (key sum, holds bool) {
	if !t.e.Schema.Knows(row.State) {
		return key, false
	}
	q, holds := inspect.PlaceOf(t.e.Schema, u, row)
	text := fmt.Sprintf("%q", u.Name)
	for _, c := range q.Where {
		text += fmt.Sprintf(" %q", fmt.Sprint(c.Value))
	}
	return sumOf(text), holds
}

// odd notes a row that is no record.
func (r *report) odd(list []Misfit) {
	r.Odd++
	for _, f := range list {
		r.misfit("", f)
	}
}

// names lists the operations.
func names[R any](e *inspect.Engine[R]) (list []string) {
	for _, op := range e.Descriptor.Operations {
		list = append(list, op.Name)
	}
	return list
}

// Due says what a sweep would do now with what is stored, without doing it: how many records each operation
// with a deadline would move, and how many stay since the program holds their deadlines. Guards that ask for other
// records are not asked. It reads every record whose state has a deadline.
func Due[R any](ctx context.Context, on Machine[R], o Options) ([]Move, error) {
	e := on.Core().Engine()
	r := newReport(o.First)
	var states []string
	for _, op := range e.Descriptor.Operations {
		for _, t := range op.Triggers {
			if !t.Startup {
				states = append(states, op.From...)
			}
		}
	}
	if len(states) == 0 {
		return nil, nil
	}
	for row, err := range inspect.Rows(ctx, e.Table, driver.Query{States: states}) {
		if err != nil {
			return r.end(names(e)).Sweep, err
		}
		fires, err := e.WouldSweep(row)
		if err != nil {
			return r.end(names(e)).Sweep, err
		}
		r.fires(row.ID, fires)
	}
	return r.end(names(e)).Sweep, nil
}

// Import imports what fits and returns the rest as misfits, by rule. It writes pages: each is one transaction, and what
// does not fit is left out of it. A record is imported once for its request id, so after an error, which is one of
// the store or of records, call it again with the same records.
func Import[R any](ctx context.Context, on Machine[R], items iter.Seq2[Item[R], error], o Options) (*Report, error) {
	m := on.Core()
	e := m.Engine()
	w := &writing[R]{m: m, trial: trial[R]{e: e, r: newReport(o.First)}}
	size := cmp.Or(o.Page, 500)
	var page []Item[R]
	for item, err := range items {
		if err != nil {
			return w.r.end(nil), err
		}
		if page = append(page, item); len(page) >= size {
			if err := w.page(ctx, page); err != nil {
				return w.r.end(nil), err
			}
			page = page[:0]
		}
	}
	err := w.page(ctx, page)
	return w.r.end(nil), err
}

// writing is one Import.
type writing[R any] struct {
	trial[R]
	m *fsm.Machine[R]
}

// page writes a page without the records that do not fit by themselves.
func (w *writing[R]) page(ctx context.Context, page []Item[R]) error {
	var fit []Item[R]
	for i := range page {
		w.r.Records++
		if len(page[i].Odd) > 0 {
			w.r.odd(page[i].Odd)
			continue
		}
		fit = append(fit, page[i])
	}
	if len(fit) == 0 {
		return ctx.Err()
	}
	done, err := w.write(ctx, fit)
	if done || err != nil {
		return err
	}
	fit, err = w.sort(ctx, fit)
	if err != nil {
		return err
	}
	return w.halve(ctx, fit)
}

// write writes records in one transaction; false: one of them is refused.
func (w *writing[R]) write(ctx context.Context, list []Item[R]) (bool, error) {
	if len(list) == 0 {
		return true, ctx.Err()
	}
	outs, err := w.m.Batch(ctx, func(b *fsm.Machine[R]) error {
		for i := range list {
			if _, err := b.Import(ctx, list[i].Record, list[i].Call); err != nil {
				return err
			}
		}
		return nil
	})
	if misfit(err) {
		return false, nil
	}
	for i := range outs {
		if outs[i].Replayed {
			w.r.Known++
		} else {
			w.r.Fit++
		}
	}
	return err == nil, err
}

// sort looks at the records of a page that was refused, and returns those that fit.
func (w *writing[R]) sort(ctx context.Context, page []Item[R]) (fit []Item[R], err error) {
	w.ids, w.places = map[sum]asked{}, map[sum]string{}
	tried := make([]inspect.Tried, len(page))
	err = w.e.Table.View(ctx, func(r driver.Reader) (err error) {
		for i := range page {
			if tried[i], err = w.e.TryImport(r, page[i].Record, fsmimpl.Caller(page[i].Call)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range page {
		if w.fits(&page[i], &tried[i]) {
			fit = append(fit, page[i])
		}
	}
	return fit, nil
}

// halve writes what it can of records of which one may be refused, since another program has written meanwhile.
func (w *writing[R]) halve(ctx context.Context, list []Item[R]) error {
	if len(list) == 0 {
		return nil
	}
	if len(list) == 1 {
		out, err := w.m.Import(ctx, list[0].Record, list[0].Call)
		refused := (*fsm.Refusal)(nil)
		switch {
		case misfit(err) && errors.As(err, &refused):
			w.r.Odd++
			f := Misfit{Rule: cmp.Or(refused.Name, string(refused.Code)), ID: refused.ID, Value: refused.Message, Err: err}
			w.r.misfit(refused.Code, f)
			return nil
		case err == nil && out.Replayed:
			w.r.Known++
		case err == nil:
			w.r.Fit++
		}
		return err
	}
	done, err := w.write(ctx, list)
	if done || err != nil {
		return err
	}
	half := len(list) / 2
	if err := w.halve(ctx, list[:half]); err != nil {
		return err
	}
	return w.halve(ctx, list[half:])
}

// misfit reports whether a refusal is one of a record, and not of the store.
func misfit(err error) bool {
	refused := (*fsm.Refusal)(nil)
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Code {
	case fsm.ErrInvalidInput, fsm.ErrInvariant, fsm.ErrNotUnique, fsm.ErrExists, fsm.ErrPurged, fsm.ErrRequestReused, fsm.ErrRequestMissing,
		fsm.ErrOverflow, fsm.ErrTooLarge, fsm.ErrActorMissing, fsm.ErrReasonMissing, fsm.ErrSystemActor, fsm.ErrTimeGiven:
		return true
	}
	return false
}
