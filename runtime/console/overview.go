package console

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// homePlace is a place with the machines of it that somebody may see.
type homePlace struct {
	Place
	Machines []homeMachine
}

type homeMachine struct {
	Name, Entity string
	States       []stateCount
	At           time.Time // when they were counted; zero: just now
	Problem      string
}

// stateCount is how many records are in a state.
type stateCount struct {
	driver.StateInfo
	Count  int64
	Oldest time.Time // since when the one waits that moved last longest ago; zero: not asked for
}

func (q *request) home() error {
	var list []*homePlace
	for i := range q.o.Machines {
		m := &q.o.Machines[i]
		if !q.v.may(m, See) {
			continue
		}
		var p *homePlace
		for _, have := range list {
			if have.Name == m.place.Name {
				p = have
			}
		}
		if p == nil {
			p = &homePlace{Place: m.place}
			list = append(list, p)
		}
		of := homeMachine{Name: m.schema.Machine, Entity: m.schema.Entity}
		if c, err := m.counts(q.r.Context(), ""); err != nil {
			of.Problem = q.problem(err)
		} else {
			of.States, of.At = c.states, c.shownAt(m.now(), "")
		}
		p.Machines = append(p.Machines, of)
	}
	return q.show("home", "Machines", list)
}

const overviewEvents = 2000 // events that the overview reads for its rates

// overviewPage is a machine at a glance.
type overviewPage struct {
	States  []stateCount
	At      time.Time // when they were counted; zero: just now
	NoCount string    // why they are not counted
	Late    []lateGroup
	Outbox  int
	Many    bool // Outbox is a bound
	Lag     driver.Lag
	Health  audit.Health
	Store   string // why the store takes no more writes
	NoLog   string // why the log is not shown
	Recent  []event
	Hour    *span
	Picture picture
}

func (q *request) overview() error {
	p := &overviewPage{Hour: &span{Name: "last hour", Length: time.Hour}, Health: q.m.health()}
	now := q.m.now()
	if p.Health.Store != nil {
		p.Store = q.problem(p.Health.Store)
	}
	c, err := q.m.counts(q.r.Context(), q.mark)
	switch {
	case err == nil:
		p.States, p.At = c.states, c.shownAt(now, q.mark)
		q.mark = c.mark // the page is told when that is not the end any more
	case errors.Is(err, context.DeadlineExceeded) && q.r.Context().Err() == nil:
		p.NoCount = "The states are not counted: the database did not answer within " + queryTime.String() + "."
	default:
		return err
	}
	if err := q.m.look(q.r.Context(), func(r driver.Reader) (err error) {
		if p.Late, err = q.overdue(r, now, 0); err != nil {
			return err
		}
		if !q.m.schema.NoOutbox {
			list, err := r.Outbox(farAhead(now), outboxMost+1)
			if err != nil {
				return err
			}
			p.Outbox, p.Many = min(len(list), outboxMost), len(list) > outboxMost
		}
		if p.Lag, err = r.Lag(); err != nil {
			return err
		}
		if err := q.recent(r, now, p); err != nil {
			if errors.Is(err, context.DeadlineExceeded) || q.r.Context().Err() != nil {
				return err
			}
			p.NoLog = q.problem(err) // an event that cannot be read; the rest of the page can
		}
		return nil
	}); err != nil {
		return err
	}
	p.Picture = drawn(q.m.picture, p.States)
	return q.show("overview", q.m.schema.Machine, p)
}

// recent reads the end of the log for the overview.
func (q *request) recent(r driver.Reader, now time.Time, p *overviewPage) error {
	recent, err := r.Newest("", 15)
	if err != nil {
		return err
	}
	for i := range recent {
		p.Recent = append(p.Recent, q.logged(&recent[i]))
	}
	return q.spans(r, now, overviewEvents, []*span{p.Hour})
}

// logPage is a part of the log of all records, the newest first.
type logPage struct {
	Events []event
	Next   string
	Newest bool
}

func (q *request) log() error {
	before := driver.Cursor(q.r.URL.Query().Get("before"))
	p := &logPage{Newest: before == ""}
	var list []driver.Entry
	if err := q.m.look(q.r.Context(), func(r driver.Reader) (err error) {
		list, err = r.Newest(before, pageLog+1)
		return err
	}); err != nil {
		return err
	}
	if len(list) > pageLog {
		list = list[:pageLog]
		p.Next = string(list[pageLog-1].Cursor)
	}
	for i := range list {
		p.Events = append(p.Events, q.logged(&list[i]))
	}
	q.quiet = !p.Newest
	return q.show("log", q.m.schema.Machine+": log", p)
}

// auditPage is what an audit found.
type auditPage struct {
	Ran      bool
	Findings []audit.Finding
	More     bool
	Told     string // what ended it early
	Took     time.Duration
	Health   audit.Health
}

const auditMost = 200 // findings on a page

func (q *request) audit() error {
	p := &auditPage{Health: q.m.health(), Ran: q.r.URL.Query().Get("run") != ""}
	if p.Ran {
		if !q.m.auditing.TryLock() {
			return &requestError{http.StatusServiceUnavailable, "Somebody else audits this machine now. Try again in a minute."}
		}
		defer q.m.auditing.Unlock()
		_ = http.NewResponseController(q.w).SetWriteDeadline(time.Now().Add(2 * auditTime)) // not all servers can
		began := time.Now()
		ctx, cancel := context.WithTimeout(q.r.Context(), auditTime)
		defer cancel()
		for f, err := range q.m.audit(ctx) {
			if errors.Is(err, context.DeadlineExceeded) {
				p.Told = "It had " + auditTime.String() + " and did not read everything. Run the whole audit with fsmctl audit."
				break
			}
			if err != nil {
				return err
			}
			if len(p.Findings) == auditMost {
				p.More = true
				break
			}
			f.Message = q.said(f.Message)
			p.Findings = append(p.Findings, f)
		}
		p.Took, p.Health = time.Since(began), q.m.health()
	}
	return q.show("audit", q.m.schema.Machine+": audit", p)
}
