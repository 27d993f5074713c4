package console

import (
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

const pageLate = 100 // records of one trigger on the page of those that are late

// lateGroup is what one trigger should have done.
type lateGroup struct {
	Operation, After string
	Count            int64
	More             bool // than those that are listed
	Rows             []lateRow
}

type lateRow struct {
	listed
	Due  time.Time
	Late time.Duration
}

// After names what a trigger waits for.
func after(s *driver.Schema, t *fsmimpl.Trigger) string {
	name := func(stored string) string {
		if i := s.Column(stored); i >= 0 {
			return s.Columns[i].Name
		}
		return stored
	}
	text := name(t.After)
	if t.By != "" {
		text += " + " + name(t.By)
	}
	if t.Plus != 0 {
		text += " + " + length(t.Plus)
	}
	return text
}

// overdue asks for what triggers should have done, at most so many of each, the longest late first.
func (q *request) overdue(r driver.Reader, now time.Time, most int) (list []lateGroup, err error) {
	for i := range q.m.steps {
		s := &q.m.steps[i]
		for j := range s.triggers {
			t := &s.triggers[j]
			if t.Startup {
				continue
			}
			some := driver.Query{
				States: s.from, Where: []driver.Cond{{Column: t.After, By: t.By, Op: driver.OpLe, Value: driver.Time(now.Add(-t.Plus))}},
				Order: []driver.Order{{Column: t.After, By: t.By}},
			}
			some.Limit = countMost + 1
			g := lateGroup{Operation: s.name, After: after(q.m.schema, t)}
			if g.Count, err = r.Count(some); err != nil {
				return nil, err
			}
			if some.Limit = most; most > 0 && g.Count > 0 {
				for row, err := range r.Rows(some) {
					if err != nil {
						return nil, err
					}
					l := lateRow{listed: q.listed(&row, nil)}
					if q.shows(t) {
						l.Due = dueAt(q.m.schema, &row, t)
						l.Late = now.Sub(l.Due)
					}
					g.Rows = append(g.Rows, l)
				}
			}
			g.More = g.Count > int64(most)
			list = append(list, g)
		}
	}
	return list, nil
}

// shows reports whether the times are shown that a trigger is made of.
func (q *request) shows(t *fsmimpl.Trigger) bool {
	for _, stored := range []string{t.After, t.By} {
		if i := q.m.schema.Column(stored); i >= 0 && q.showing(q.m.schema.Columns[i].Name) != Whole {
			return false
		}
	}
	return true
}

func (q *request) late() error {
	var list []lateGroup
	now := q.m.now()
	if err := q.m.look(q.r.Context(), func(r driver.Reader) (err error) {
		list, err = q.overdue(r, now, pageLate)
		return err
	}); err != nil {
		return err
	}
	return q.show("late", q.m.schema.Machine+": late", list)
}

// delivery is an effect that waits.
type delivery struct {
	ID       string
	Rev, N   int64
	Effect   string
	Attempts int
	Due      time.Time
	Late     bool
	Problem  shown
	Retry    bool   // the viewer may make it due now
	GiveUp   bool   // and may end its tries
	From     string // the page that shows it
}

func (q *request) delivery(d *driver.Delivery) delivery {
	return delivery{
		ID: d.ID, Rev: d.Rev, N: d.N, Effect: d.Effect, Attempts: d.Attempts, Due: d.Due, Late: d.Due.Before(q.m.now()),
		Problem: q.text(ProblemOf, d.LastError), Retry: q.v.may(q.m, Retry), GiveUp: q.v.may(q.m, GiveUp) || q.v.may(q.m, Drop), From: "outbox",
	}
}

const outboxMost = 1000 // entries of the outbox that are read

// outboxPage is what waits for being performed.
type outboxPage struct {
	Effects []effectCount
	Entries []delivery
	More    bool
	Refused map[string]int64
}

type effectCount struct {
	Name           string
	Waiting, Tried int
	Oldest         time.Time
}

func (q *request) outbox() error {
	p := &outboxPage{Refused: q.m.health().Refused}
	var list []driver.Delivery
	if err := q.m.look(q.r.Context(), func(r driver.Reader) (err error) {
		list, err = r.Outbox(farAhead(q.m.now()), outboxMost+1)
		return err
	}); err != nil {
		return err
	}
	if p.More = len(list) > outboxMost; p.More {
		list = list[:outboxMost]
	}
	for i := range list {
		d := &list[i]
		at := slices.IndexFunc(p.Effects, func(e effectCount) bool { return e.Name == d.Effect })
		if at < 0 {
			at, p.Effects = len(p.Effects), append(p.Effects, effectCount{Name: d.Effect, Oldest: d.Due})
		}
		p.Effects[at].Waiting++
		if d.Attempts > 0 {
			p.Effects[at].Tried++
		}
		p.Entries = append(p.Entries, q.delivery(d))
	}
	slices.SortFunc(p.Effects, func(a, b effectCount) int { return strings.Compare(a.Name, b.Name) })
	return q.show("outbox", q.m.schema.Machine+": outbox", p)
}

// farAhead is a time before which all of an outbox is due.
func farAhead(now time.Time) time.Time { return driver.Time(now.AddDate(200, 0, 0)) }

// waiting returns what the outbox holds of a record, among its first entries, and whether there are more of those.
func waiting(r driver.Reader, now time.Time, id string) (list []driver.Delivery, more bool, err error) {
	all, err := r.Outbox(farAhead(now), outboxMost)
	for _, d := range all {
		if d.ID == id {
			list = append(list, d)
		}
	}
	return list, len(all) == outboxMost, err
}
