package console

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/newest"
)

const recordEvents = 500 // the newest events of a record that its page shows

// recordPage is one record.
type recordPage struct {
	ID       string
	Gone     bool // there is a log, and no record
	At       int64
	Newest   bool // the record is shown as it is now
	Rev      int64
	State    string
	Terminal bool
	Since    time.Time // when the state was entered
	Created  time.Time
	Updated  time.Time
	Broken   string
	Fields   []shown
	Events   []event // the newest first
	Before   int64   // where earlier events are: the last revision before those; 0: there are none
	Notes    bool    // and at the first revision there are more events than fit
	Newer    bool    // there are newer events than those
	Outbox   []delivery
	Cut      bool // not all of the outbox was looked at
	Can      []offer
	Links    []link
	Did      *event // the step that the viewer has just made
	Was      bool   // the viewer would have made it, and it was there
	Repair   bool   // the viewer may
}

// event is one line of a record's log.
type event struct {
	ID         string
	Rev, N     int64
	Operation  string
	Name       string
	From, To   string
	At         time.Time
	Stayed     time.Duration // how long the record was in the state before; zero: unknown or it stays in its state
	Left       bool          // Stayed is known
	Actor      shown
	Reason     shown
	Request    shown
	Labels     []shown
	Inputs     []shown
	Changes    []shown
	Cause      string
	RecordOnly bool
	Guard      string
	Unreadable string // why it cannot be read; nothing but ID, Rev and N is known then
}

// offer is an operation, as seen from a state.
type offer struct {
	Name    string
	Doc     string
	Leads   bool   // there is a way from this state
	Ways    string // where it leads, or from where
	Who     string // by whom, where it is not any caller
	When    string // when the machine does it by itself
	May     bool   // the viewer may run it from here
	Refused string // why it would be refused now
}

type link struct{ Text, URL string }

// event shows an event.
func (q *request) event(e *driver.Event) event {
	v := event{
		ID: e.ID, Rev: e.Rev, N: e.N, Operation: q.m.operation(e.Operation), Name: e.Name, To: q.m.schema.StateName(e.To), At: e.At,
		Actor: q.text(ActorOf, e.Actor), Reason: q.text(ReasonOf, e.Reason), Request: q.text(RequestOf, e.RequestID),
		RecordOnly: e.RecordOnly(), Guard: e.Guard,
	}
	if e.From != "" {
		v.From = q.m.schema.StateName(e.From)
	}
	if e.Cause != "" {
		v.Cause = q.m.operation(e.Cause)
	}
	for name, text := range e.Labels {
		s := q.text(LabelsOf, text)
		s.Name = name
		v.Labels = append(v.Labels, s)
	}
	slices.SortFunc(v.Labels, func(a, b shown) int { return strings.Compare(a.Name, b.Name) })
	v.Inputs, v.Changes = q.inputs(e), q.changed(e.Changes)
	return v
}

// line shows an event, or in its place why it cannot be read.
func (q *request) line(l *newest.Line) event {
	return q.logged(&driver.Entry{Event: l.Event, Unreadable: l.Unreadable})
}

// logged shows an event of the log of all records, or in its place why it cannot be read.
func (q *request) logged(e *driver.Entry) event {
	if e.Unreadable == nil {
		return q.event(&e.Event)
	}
	why := q.said(fmt.Sprintf("%v (stored under %q)", e.Unreadable.Err, e.Unreadable.Key))
	return event{ID: e.ID, Rev: e.Rev, N: e.N, RecordOnly: e.RecordOnly(), Unreadable: why}
}

func (q *request) record() error {
	id := q.r.URL.Query().Get("id")
	if id == "" {
		return badRequest("The address names no record.")
	}
	p := &recordPage{ID: id, Newest: true}
	if text := q.r.URL.Query().Get("rev"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return badRequest(fmt.Sprintf("%q is no revision; they count from 1.", text))
		}
		p.At, p.Newest = n, false
	}
	var row driver.Row
	var log newest.Past
	var asked []driver.Delivery
	err := q.m.look(q.r.Context(), func(r driver.Reader) (err error) {
		row, err = r.Row(id)
		if p.Gone = errors.Is(err, driver.ErrNotFound); p.Gone {
			err = nil
		}
		if err != nil {
			return err
		}
		last := row.Rev
		if p.At > 0 {
			last = p.At
		}
		if log, err = newest.PastOf(r, id, last, p.At > 0, recordEvents); err != nil {
			return err
		}
		asked, p.Cut, err = waiting(r, q.m.now(), id)
		return err
	})
	if err != nil {
		return err
	}
	if p.Gone && len(log.Lines) == 0 {
		return &requestError{404, fmt.Sprintf("%s has no record %q, and no log of one.", q.m.schema.Machine, id)}
	}
	if !p.Gone {
		if err := q.m.load(&row); err != nil {
			p.Broken = q.said(err.Error())
		}
		p.Rev = row.Rev
	}
	now := row
	if p.At > 0 && p.At != row.Rev {
		if now, err = q.fold(&log, p.At); err != nil {
			return err
		}
	} else {
		p.Newest = true
	}
	p.Newer = log.Newer
	if log.Earlier && len(log.Lines) > 0 {
		p.Before = log.Lines[0].Rev - 1
		p.Notes = p.Before == 0
	}
	q.fill(p, &now, log.Lines)
	for i := range asked {
		d := q.delivery(&asked[i])
		d.From = "record"
		p.Outbox = append(p.Outbox, d)
	}
	p.Repair = (p.Gone || p.Broken != "") && q.v.may(q.m, Repair)
	p.Was = q.r.URL.Query().Get("was") != ""
	if did, err := strconv.ParseInt(q.r.URL.Query().Get("did"), 10, 64); err == nil {
		i := slices.IndexFunc(log.Lines, func(e newest.Line) bool { return e.Rev == did && e.N == 0 && e.Actor == q.v.Name })
		if i >= 0 {
			v := q.line(&log.Lines[i])
			p.Did = &v
		}
	}
	if q.quiet = !p.Newest; p.Newest && !p.Gone {
		p.Can = q.offers(&row)
	}
	return q.show("record", q.m.schema.Entity+" "+id, p)
}

// fold returns the record as it was at a revision.
func (q *request) fold(p *newest.Past, at int64) (driver.Row, error) {
	if err := p.Unfolded(at); err != nil {
		return driver.Row{}, &requestError{409, fmt.Sprintf("Revision %d cannot be told from the log: %s.", at, q.said(err.Error()))}
	}
	if len(p.Folds) == 0 || p.Folds[len(p.Folds)-1].Rev != at {
		return driver.Row{}, &requestError{404, fmt.Sprintf("The record has no revision %d.", at)}
	}
	row, err := driver.FoldRow(q.m.schema, p.Folds)
	if err != nil {
		return row, &requestError{409, fmt.Sprintf("Revision %d cannot be read from the log: %s.", at, q.said(err.Error()))}
	}
	return row, nil
}

// fill puts a row and its log on the page.
func (q *request) fill(p *recordPage, row *driver.Row, log []newest.Line) {
	if !p.Gone || !p.Newest {
		p.State, p.Created, p.Updated, p.At = q.m.schema.StateName(row.State), row.CreatedAt, row.UpdatedAt, row.Rev
		for _, s := range q.m.schema.States {
			p.Terminal = p.Terminal || s.Stored == row.State && s.Terminal
		}
		for i := range min(len(row.Values), len(q.m.schema.Columns)) {
			p.Fields = append(p.Fields, q.value(q.m.schema.Columns[i].Name, row.Values[i]))
		}
	}
	var entered time.Time
	request := ""
	for i := range log {
		e := &log[i]
		v := q.line(e)
		switch {
		case e.Unreadable != nil && e.N == 0:
			entered = time.Time{} // nobody knows where it led to
		case e.From != e.To:
			if v.Left = e.From != "" && !entered.IsZero(); v.Left {
				v.Stayed = e.At.Sub(entered)
			}
			entered = e.At
		}
		if e.Rev <= p.At {
			p.Since = entered
		}
		if request = ""; q.showing(RequestOf) == Whole {
			request = e.RequestID
		}
		p.Events = append(p.Events, v)
	}
	slices.Reverse(p.Events)
	for _, l := range q.o.Links {
		p.Links = append(p.Links, link{l.Text, strings.NewReplacer("{machine}", url.QueryEscape(q.m.schema.Machine),
			"{id}", url.QueryEscape(p.ID), "{request}", url.QueryEscape(request)).Replace(l.URL)})
	}
}

// offers lists the operations as seen from the state of a record.
func (q *request) offers(row *driver.Row) (list []offer) {
	ctx, cancel := context.WithTimeout(q.r.Context(), queryTime) // of all of them
	defer cancel()
	for i := range q.m.steps {
		s := &q.m.steps[i]
		if s.creates && len(s.from) == 0 {
			continue
		}
		o := offer{Name: s.name, Doc: s.doc, Leads: slices.Contains(s.from, row.State)}
		if o.May = o.Leads && s.needs == "" && q.v.mayRun(q.m, s.name); o.May {
			o.Refused = q.refusedNow(ctx, s, row)
		}
		var ways []string
		for _, mv := range s.moves {
			if o.Leads && mv.From == row.State {
				ways = append(ways, q.m.schema.StateName(mv.To))
			}
			if !o.Leads && mv.From != "" {
				ways = append(ways, q.m.schema.StateName(mv.From))
			}
		}
		slices.Sort(ways)
		o.Ways = strings.Join(slices.Compact(ways), ", ")
		switch s.by {
		case fsmimpl.BySystem:
			o.Who = "the machine"
		case fsmimpl.ByOperator:
			o.Who = "an operator"
		}
		for _, t := range s.triggers {
			if due := dueAt(q.m.schema, row, &t); o.Leads && !due.IsZero() && q.shows(&t) {
				o.When = stamp(due)
			}
		}
		list = append(list, o)
	}
	slices.SortStableFunc(list, func(a, b offer) int {
		return map[bool]int{true: -1, false: 1}[a.Leads] - map[bool]int{true: -1, false: 1}[b.Leads]
	})
	return list
}

// dueAt returns when a trigger runs an operation on a record; zero: never.
func dueAt(s *driver.Schema, row *driver.Row, t *fsmimpl.Trigger) time.Time {
	if t.Startup {
		return time.Time{}
	}
	at, _ := s.Key(row, t.After, t.By).(time.Time)
	if at.IsZero() {
		return at
	}
	return at.Add(t.Plus)
}
