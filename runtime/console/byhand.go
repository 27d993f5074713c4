package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// entry finds the entry of the outbox that a form is about, as it was when the form was made.
func (q *request) entry() (*driver.Delivery, error) {
	v := q.r.Form
	var rev, n int64
	var attempts int
	if _, err := fmt.Sscan(v.Get("rev")+" "+v.Get("n")+" "+v.Get("attempts"), &rev, &n, &attempts); err != nil {
		return nil, badRequest("The form names no entry of the outbox. Load its page again.")
	}
	var d driver.Delivery
	err := q.m.look(q.r.Context(), func(r driver.Reader) (err error) {
		d, err = r.Delivery(v.Get("id"), rev, n)
		return err
	})
	if errors.Is(err, driver.ErrNotFound) || err == nil && d.Attempts != attempts {
		err = errTried
	}
	return &d, err
}

var errTried = &requestError{
	http.StatusConflict, "Nothing was done: the effect was performed, tried or given up since this page was made. Look again.",
}

var errLost = &requestError{
	http.StatusServiceUnavailable, "The answer was lost, so nobody knows whether it was done. The log of the record tells.",
}

// back leads to where a form about the outbox came from.
func (q *request) back() error {
	to := "outbox"
	if q.r.PostForm.Get("from") == "record" {
		to = "record?id=" + url.QueryEscape(q.r.PostForm.Get("id"))
	}
	q.w.Header().Set("Location", to)
	q.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// retry makes an effect due now.
func (q *request) retry() error {
	d, err := q.entry()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(q.r.Context(), actTime)
	defer cancel()
	done, err := q.m.hasten(ctx, *d)
	switch {
	case err != nil:
		return err
	case !done:
		return errTried
	}
	return q.back()
}

// giveUpPage asks why the tries of an effect end.
type giveUpPage struct {
	delivery
	Failed  string // the operation that follows; empty: none
	Reason  string
	From    string
	Refused string
}

// endsOf looks whether the viewer may end the tries of an effect.
func (q *request) endsOf(d *driver.Delivery) (failed string, err error) {
	if failed, err = q.m.failed(q.r.Context(), *d); err != nil {
		return "", err
	}
	right := GiveUp
	if failed == "" {
		right = Drop
	}
	if !q.v.may(q.m, right) {
		return failed, q.mayNot(right)
	}
	return failed, nil
}

func (q *request) askGiveUp() error {
	d, err := q.entry()
	if err != nil {
		return err
	}
	p := &giveUpPage{delivery: q.delivery(d), From: q.r.Form.Get("from")}
	if p.Failed, err = q.endsOf(d); err != nil {
		return err
	}
	return q.show("giveup", "Give up "+d.Effect+" of "+d.ID, p)
}

// mine reports whether the viewer has given up the entry of a form before: it is sent twice.
func (q *request) mine() (mine bool) {
	v := q.r.PostForm
	_ = q.m.look(q.r.Context(), func(r driver.Reader) error {
		list, err := r.Request(v.Get("id"), fmt.Sprintf("%s%s:%s:%s", driver.Reserved, driver.OpGiveUp, v.Get("rev"), v.Get("n")))
		mine = len(list) > 0 && list[0].Actor == q.v.Name && list[0].Reason == strings.TrimSpace(v.Get("reason"))
		return err
	})
	return mine
}

func (q *request) giveUp() error {
	d, err := q.entry()
	switch {
	case errors.Is(err, errTried) && q.mine():
		return q.back()
	case err != nil:
		return err
	}
	p := &giveUpPage{delivery: q.delivery(d), From: q.r.Form.Get("from"), Reason: strings.TrimSpace(q.r.PostForm.Get("reason"))}
	if p.Failed, err = q.endsOf(d); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(q.r.Context(), actTime)
	defer cancel()
	err = q.m.abandon(ctx, *d, q.v.Name, p.Reason)
	var coded interface{ Status() (http, grpc int) }
	switch {
	case err == nil:
		return q.back()
	case errors.Is(err, fsm.ErrOvertaken):
		return errTried
	case errors.Is(err, fsm.ErrAmbiguous):
		return errLost
	case errors.As(err, &coded):
		status, _ := coded.Status()
		p.Refused = q.sentence(err)
		return q.answer(status, "giveup", "Give up "+d.Effect+" of "+d.ID, p)
	}
	return err
}

// repairPage says what a repair would change.
type repairPage struct {
	ID      string
	Gone    bool // the row is, and would be made again
	Changes []change
	Why     string // it cannot be done
	Reason  string
	Refused string
}

// change is a value that would become another.
type change struct {
	Name     string
	Old, New shown
}

// proposal compares a row with its log.
func (q *request) proposal() (*repairPage, error) {
	p := &repairPage{ID: q.r.Form.Get("id"), Reason: strings.TrimSpace(q.r.Form.Get("reason"))}
	var row driver.Row
	var folds []driver.Event
	err := q.m.look(q.r.Context(), func(r driver.Reader) (err error) {
		row, err = r.Row(p.ID)
		if p.Gone = errors.Is(err, driver.ErrNotFound); err != nil && !p.Gone {
			return err
		}
		folds, err = whole(r, p.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(folds) == 0 {
		return nil, &requestError{http.StatusNotFound, fmt.Sprintf("%s has no log of a record %q.", q.m.schema.Machine, p.ID)}
	}
	want, err := driver.FoldRow(q.m.schema, folds)
	if err != nil {
		p.Why = "Its log cannot be folded: " + q.said(err.Error())
		return p, nil
	}
	add := func(name string, old, now any) {
		if old != now || p.Gone {
			p.Changes = append(p.Changes, change{Name: name, Old: q.value(name, old), New: q.value(name, now)})
		}
	}
	if p.Gone {
		row = q.m.schema.Blank()
	}
	add("state", q.m.schema.StateName(row.State), q.m.schema.StateName(want.State))
	add("rev", row.Rev, want.Rev)
	add("created at", row.CreatedAt.UTC(), want.CreatedAt.UTC())
	add("updated at", row.UpdatedAt.UTC(), want.UpdatedAt.UTC())
	for i, c := range q.m.schema.Columns {
		add(c.Name, utc(row.Values[i]), utc(want.Values[i]))
	}
	return p, nil
}

// utc makes times comparable.
func utc(v any) any {
	if t, ok := v.(time.Time); ok {
		return t.UTC()
	}
	return v
}

// whole reads what the fold of a record's log takes: the events from the newest one that has the whole record on.
func whole(r driver.Reader, id string) (list []driver.Event, err error) {
	for e, err := range r.Events(id, 0) {
		var unreadable *driver.EventError
		if errors.As(err, &unreadable) || err == nil && e.N > 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !e.Image.IsZero() {
			list = list[:0]
		}
		list = append(list, e)
	}
	return list, nil
}

func (q *request) askRepair() error {
	p, err := q.proposal()
	if err != nil {
		return err
	}
	return q.show("repair", "Repair "+p.ID, p)
}

// repair puts a record right after its log.
func (q *request) repair() error {
	p, err := q.proposal()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(q.r.Context(), actTime)
	defer cancel()
	_, err = q.m.restore(ctx, p.ID, q.v.Name, p.Reason)
	var coded interface{ Status() (http, grpc int) }
	switch {
	case err == nil:
		q.w.Header().Set("Location", "record?id="+url.QueryEscape(p.ID))
		q.w.WriteHeader(http.StatusSeeOther)
		return nil
	case errors.Is(err, fsm.ErrAmbiguous):
		return errLost
	case errors.As(err, &coded):
		status, _ := coded.Status()
		p.Refused = q.sentence(err)
		return q.answer(status, "repair", "Repair "+p.ID, p)
	}
	return err
}
