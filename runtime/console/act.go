package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/newest"
)

// actTime is how long a step may take that a page makes.
const actTime = 10 * time.Second

// actPage asks for what a call needs, and says why it was refused.
type actPage struct {
	Form      string // where it is sent to
	Operation string
	Doc       string
	ID        string
	Rev       int64
	State     string // empty: it creates
	Ways      []string
	Ends      bool // every way ends in a terminal state
	Rules     []fsmimpl.Rule
	Inputs    []input
	Reason    string
	Needed    bool // the reason is
	Request   string
	Made      string // when the form was made, by the machine's clock
	Refused   string // why the call was refused, or would be
	Now       bool   // it was not called: Refused says what speaks against it now
	Unsure    bool   // nobody knows whether it was done
	Moved     []event
	Shown     int64 // the revision that was shown, where the record has moved since
}

// given reads what a form brings along.
func (q *request) given(p *actPage) error {
	v := q.r.PostForm
	if p.Request, p.Made, p.Reason = v.Get("request"), v.Get("made"), strings.TrimSpace(v.Get("reason")); p.Request == "" {
		return badRequest("The form lacks its request id. Load its page again.")
	}
	return nil
}

// fresh gives a form a request id: the same form sent twice is one request.
func (q *request) fresh(p *actPage) {
	p.Request, p.Made = "console-"+driver.NewID(), q.m.now().Format(time.RFC3339Nano)
}

// operationOf returns the operation of a request, which creates records or does not.
func (q *request) operationOf(creates bool) (*step, error) {
	s := q.m.step(q.r.FormValue("op"))
	switch {
	case s == nil:
		return nil, &requestError{http.StatusNotFound, fmt.Sprintf("%s has no operation %q.", q.m.schema.Machine, q.r.FormValue("op"))}
	case s.creates != creates:
		return nil, badRequest(fmt.Sprintf("%s makes records, or works on one: it is the other page's.", s.name))
	case s.needs != "":
		return nil, badRequest(fmt.Sprintf("%s cannot be called from here: %s.", s.name, s.needs))
	}
	return s, nil
}

// caller is who makes the call of a form.
func (q *request) caller(p *actPage) fsmimpl.Caller {
	return fsmimpl.Caller{RequestID: p.Request, Actor: q.v.Name, Reason: p.Reason}
}

// askDo shows the form of an operation on a record.
func (q *request) askDo() error {
	s, err := q.operationOf(false)
	if err != nil {
		return err
	}
	p := &actPage{Reason: q.r.FormValue("reason")}
	row, err := q.about(p, s)
	if err != nil {
		return err
	}
	q.fresh(p)
	p.Inputs = q.asks(s, nil, row)
	p.Refused = q.refusedNow(q.r.Context(), s, row)
	p.Now = p.Refused != ""
	if text := q.r.FormValue("rev"); text != "" && text != fmt.Sprint(row.Rev) {
		if err := q.since(p, text); err != nil {
			return err
		}
	}
	return q.show("do", s.name+" "+row.ID, p)
}

// about fills a form with the record as it is.
func (q *request) about(p *actPage, s *step) (*driver.Row, error) {
	var row driver.Row
	id := q.r.FormValue("id")
	err := q.m.look(q.r.Context(), func(r driver.Reader) (err error) {
		row, err = r.Row(id)
		return err
	})
	if errors.Is(err, driver.ErrNotFound) {
		err = &requestError{http.StatusNotFound, fmt.Sprintf("%s has no record %q.", q.m.schema.Machine, id)}
	}
	if err != nil {
		return nil, err
	}
	p.Form, p.ID, p.Rev, p.State = "do", row.ID, row.Rev, q.m.schema.StateName(row.State)
	q.describe(p, s, row.State)
	return &row, nil
}

// describe says what an operation does, from a state.
func (q *request) describe(p *actPage, s *step, from string) {
	p.Operation, p.Doc, p.Needed = s.name, s.doc, s.by == fsmimpl.ByOperator
	p.Ends = true
	for _, mv := range s.moves {
		if mv.From == from {
			p.Ways = append(p.Ways, q.m.schema.StateName(mv.To))
			p.Ends = p.Ends && q.m.terminal(mv.To)
		}
	}
	p.Ends = p.Ends && len(p.Ways) > 0 && from != ""
	slices.Sort(p.Ways)
	p.Ways = slices.Compact(p.Ways)
	for _, r := range s.rules {
		if r.From == nil || slices.Contains(r.From, from) {
			p.Rules = append(p.Rules, r)
		}
	}
}

func (m *Machine) terminal(stored string) bool {
	return slices.ContainsFunc(m.schema.States, func(s driver.StateInfo) bool { return s.Stored == stored && s.Terminal })
}

// do runs an operation on a record, at the revision that the form showed.
func (q *request) do() error {
	s, err := q.operationOf(false)
	if err != nil {
		return err
	}
	p := &actPage{}
	if err := q.given(p); err != nil {
		return err
	}
	at := driver.Ref{ID: q.r.PostForm.Get("id")}
	if _, err := fmt.Sscan(q.r.PostForm.Get("rev"), &at.Rev); err != nil || at.Rev < 1 {
		return badRequest("The form lacks the revision that it was made for. Load its page again.")
	}
	values, wrong := q.values(s, p.Made)
	if wrong == nil && q.mustBeSure(s, at.ID) {
		wrong = badRequest("Say that you are sure: this ends the record.")
	}
	if wrong == nil {
		ctx, cancel := context.WithTimeout(q.r.Context(), actTime)
		defer cancel()
		to, err := q.m.once(ctx, at, &asked{operation: s.name, values: values, caller: q.caller(p)})
		if err == nil {
			return q.lead(to, "did")
		}
		wrong = err
	}
	row, err := q.about(p, s)
	if err != nil {
		return err
	}
	p.Inputs = q.asks(s, q.r.PostForm, row)
	if errors.Is(wrong, fsm.ErrStale) {
		q.fresh(p) // what is asked for now is another request
		if err := q.since(p, fmt.Sprint(at.Rev)); err != nil {
			return err
		}
	} else {
		p.Rev = at.Rev
	}
	return q.refuse("do", s.name+" "+row.ID, p, wrong)
}

// mustBeSure reports whether the form lacks the word of somebody that a record may end.
func (q *request) mustBeSure(s *step, id string) bool {
	if q.r.PostForm.Get("sure") != "" {
		return false
	}
	p := &actPage{}
	_, err := q.about(p, s)
	return err == nil && p.Ends && p.ID == id
}

// formLabel is the label of an event that says which form or run made it, where the machine takes no request ids.
const formLabel = "console"

// once makes a step at the revision that was shown, however often it is called. The machine sees to both, unless it takes no
// request ids, or compares no revisions. There the console looks before, one call of this process at a time: a step of
// another process may come between.
func (m *Machine) once(ctx context.Context, at driver.Ref, a *asked) (driver.Ref, error) {
	if m.schema.RequestID != driver.Never && m.schema.ExpectedRev != driver.Never {
		return m.apply(ctx, at, a)
	}
	m.acting.Lock()
	defer m.acting.Unlock()
	to, done, err := m.before(ctx, at, a.caller.RequestID)
	if done || err != nil {
		return to, err
	}
	return m.apply(ctx, at, a)
}

// before looks whether a request was done, and refuses it where the record has left the revision that was shown.
func (m *Machine) before(ctx context.Context, at driver.Ref, request string) (to driver.Ref, done bool, err error) {
	err = m.look(ctx, func(r driver.Reader) error {
		row, err := r.Row(at.ID)
		if err != nil {
			return err
		}
		for e, err := range r.Events(at.ID, at.Rev) {
			var unreadable *driver.EventError
			switch {
			case errors.As(err, &unreadable):
				continue
			case err != nil:
				return err
			case e.RequestID == request, e.Labels[formLabel] == request:
				to, done = e.Ref(), true
				return nil
			}
		}
		if row.Rev != at.Rev {
			return &fsm.Refusal{
				Code: fsm.ErrStale, Machine: m.schema.Machine, ID: at.ID, State: m.schema.StateName(row.State), Rev: row.Rev, Expected: at.Rev,
			}
		}
		return nil
	})
	return to, done, err
}

// since shows what has happened to a record since a revision.
func (q *request) since(p *actPage, rev string) error {
	if _, err := fmt.Sscan(rev, &p.Shown); err != nil || p.Shown < 1 {
		return badRequest(fmt.Sprintf("%q is no revision; they count from 1.", rev))
	}
	var log newest.Past
	if err := q.m.look(q.r.Context(), func(r driver.Reader) (err error) {
		log, err = newest.PastOf(r, p.ID, p.Rev, false, recordEvents)
		return err
	}); err != nil {
		return err
	}
	for i := range log.Lines {
		if e := &log.Lines[i]; e.Rev > p.Shown {
			p.Moved = append(p.Moved, q.line(e))
		}
	}
	return nil
}

// lead shows a record after a step; as says what its page is told.
func (q *request) lead(to driver.Ref, as string) error {
	q.w.Header().Set("Location", fmt.Sprintf("record?id=%s&%s=%d", url.QueryEscape(to.ID), as, to.Rev))
	q.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// refuse shows a form again, with why its call was refused.
func (q *request) refuse(page, title string, p *actPage, why error) error {
	status := q.why(p, why)
	if status == 0 {
		return why
	}
	return q.answer(status, page, title, p)
}

// why tells a form why its call was refused, and returns the status of the answer; 0: the error is none of the call.
func (q *request) why(p *actPage, why error) (status int) {
	var coded interface{ Status() (http, grpc int) }
	var invalid *fsmimpl.InputError
	var asked *requestError
	switch {
	case errors.Is(why, fsm.ErrStale):
		status, p.Refused = http.StatusConflict, "Nothing was done: the record has moved since this page was made."
	case errors.As(why, &asked):
		status, p.Refused = asked.status, asked.text
	case errors.As(why, &invalid):
		status, p.Refused = http.StatusUnprocessableEntity, fmt.Sprintf("The input %s: %s.", invalid.Input, invalid.Problem)
	case errors.Is(why, fsm.ErrRequestReused):
		status, p.Unsure = http.StatusUnprocessableEntity, true
		p.Refused = "This form was sent before, with other inputs, and that was done. Load its page again for another step."
	case errors.Is(why, fsm.ErrAmbiguous):
		status, p.Unsure = http.StatusServiceUnavailable, true
		p.Refused = "The answer was lost, so nobody knows whether it was done. Send the form once more: it is done once."
	case errors.Is(why, context.DeadlineExceeded):
		status, p.Unsure = http.StatusGatewayTimeout, true
		p.Refused = "It took longer than " + actTime.String() + ". Send the form once more: it is done once."
	case errors.As(why, &coded):
		status, _ = coded.Status()
		p.Refused = q.sentence(why)
	}
	return status
}

// sentence says why a call was refused. What it tells of values is left out where not all are shown.
func (q *request) sentence(why error) string {
	var refused *fsm.Refusal
	if !errors.As(why, &refused) {
		return q.said(why.Error())
	}
	if q.said("x") != "x" {
		bare := fsm.Refusal{
			Code: refused.Code, Machine: refused.Machine, Operation: refused.Operation, ID: refused.ID, State: refused.State,
			Allowed: refused.Allowed, Guard: refused.Guard, Name: refused.Name, Rev: refused.Rev, Expected: refused.Expected,
		}
		return bare.Error()
	}
	return refused.Error()
}

// refusedNow says why an operation would be refused on a record as it is now; empty: it may be taken. A guard that
// looks at an input is not asked: nobody has given one.
func (q *request) refusedNow(ctx context.Context, s *step, row *driver.Row) string {
	if s.needs != "" || s.creates || !slices.Contains(s.from, row.State) {
		return ""
	}
	a := &asked{operation: s.name, values: map[string]any{}, caller: fsmimpl.Caller{Actor: q.v.Name, Reason: "-", RequestID: "console"}}
	for i := range s.takes {
		if t := &s.takes[i]; !t.Optional {
			a.values[t.Name] = likely(t, q.m.now())
		}
	}
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	err := q.m.would(ctx, row.Ref(), a)
	var refused *fsm.Refusal
	if !errors.As(err, &refused) || errors.Is(err, fsm.ErrBusy) || errors.Is(err, fsm.ErrFull) || errors.Is(err, fsm.ErrPoisoned) {
		return "" // nothing, or nothing about the record
	}
	if len(s.takes) > 0 {
		i := slices.IndexFunc(s.rules, func(r fsmimpl.Rule) bool { return r.Name == refused.Guard })
		own := refused.Code == fsm.ErrGuard && i >= 0 && !strings.Contains(s.rules[i].Text, "input.")
		if !own && refused.Code != fsm.ErrQuarantined && refused.Code != fsm.ErrTerminal {
			return ""
		}
	}
	return q.sentence(err)
}

// askNew shows the form of an operation that creates records.
func (q *request) askNew() error {
	s, err := q.operationOf(true)
	if err != nil {
		return err
	}
	p := &actPage{Form: "create"}
	q.describe(p, s, "")
	q.fresh(p)
	if q.m.schema.RequestID == driver.Never { // the id makes the form one request
		p.ID = driver.NewID()
	}
	p.Inputs = q.asks(s, nil, nil)
	return q.show("do", s.name, p)
}

// create makes a record.
func (q *request) create() error {
	s, err := q.operationOf(true)
	if err != nil {
		return err
	}
	p := &actPage{Form: "create"}
	if err := q.given(p); err != nil {
		return err
	}
	p.ID = q.r.PostForm.Get("id")
	values, wrong := q.values(s, p.Made)
	if wrong == nil {
		ctx, cancel := context.WithTimeout(q.r.Context(), actTime)
		defer cancel()
		to, made, err := q.m.create(ctx, &asked{operation: s.name, id: p.ID, values: values, caller: q.caller(p)})
		switch {
		case err == nil && made:
			return q.lead(to, "did")
		case err == nil:
			return q.lead(to, "was")
		}
		wrong = err
	}
	q.describe(p, s, "")
	p.Inputs = q.asks(s, q.r.PostForm, nil)
	return q.refuse("do", s.name, p, wrong)
}
