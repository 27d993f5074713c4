package console

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/newest"
)

const ownersMost = 1000 // records of which the page of owners tells

// holding is how a machine says who has a record, and until when.
type holding struct {
	owner  int      // the column: a guard asks whether it is the actor
	states []string // stored words of the states in which one may be
	lease  int      // the column: a time that ends the hold; -1: nothing ends it
	ends   *fsmimpl.Trigger
}

// holdingOf finds out who has records, and until when: a text that a guard compares with the actor, and a time after which
// the machine takes the record away, or after which somebody else may. Nil: nobody has one.
func holdingOf(s *driver.Schema, steps []step) *holding {
	var found *holding
	for i := range s.Columns {
		if c := &s.Columns[i]; c.Kind == driver.KindString {
			h := holding{owner: i, lease: -1}
			for j := range steps {
				for _, r := range steps[j].rules {
					if !says(r.Text, c.Name+" == actor") {
						continue
					}
					from := r.From
					if from == nil {
						from = steps[j].from
					}
					h.states = append(h.states, from...)
				}
			}
			if h.states = slices.Compact(slices.Sorted(slices.Values(h.states))); h.states == nil {
				continue
			}
			if h.leased(s, steps); found == nil || found.lease < 0 && h.lease >= 0 {
				found = &h
			}
		}
	}
	return found
}

// leased looks for what ends a hold.
func (h *holding) leased(s *driver.Schema, steps []step) {
	there := func(state string) bool { return slices.Contains(h.states, state) }
	for i := range steps {
		for j := range steps[i].triggers {
			t := &steps[i].triggers[j]
			at := s.Column(t.After)
			if !t.Startup && at >= 0 && s.Columns[at].Kind == driver.KindTime && slices.ContainsFunc(steps[i].from, there) {
				h.lease, h.ends, h.states = at, t, steps[i].from
				return
			}
		}
	}
	for i := range steps {
		for _, r := range steps[i].rules {
			for at := range s.Columns {
				if name := s.Columns[at].Name; s.Columns[at].Kind == driver.KindTime && slices.ContainsFunc(steps[i].from, there) &&
					(says(r.Text, name+" <= now") || says(r.Text, name+" < now")) {
					h.lease = at
					return
				}
			}
		}
	}
}

// says reports whether a guard's text demands a fact in any case.
func says(text, fact string) bool {
	if strings.Contains(text, " or ") {
		return false
	}
	return slices.Contains(strings.Split(strings.ReplaceAll(text, " and ", ", "), ", "), fact)
}

// end returns when the hold of a record ends; zero: never, or it is not known.
func (h *holding) end(s *driver.Schema, row *driver.Row) time.Time {
	if h.lease < 0 {
		return time.Time{}
	}
	if h.ends != nil {
		return dueAt(s, row, h.ends)
	}
	at, _ := row.Values[h.lease].(time.Time)
	return at
}

// ownersPage is who has which records.
type ownersPage struct {
	None   bool // of this machine nobody has records
	Field  string
	States []string // in which records are had; others are not looked at
	Lease  string   // its field; empty: nothing ends a hold, or it is not shown
	Owners []owner
	Looked int
	Told   string // which records were looked at, where those are not all
}

// owner is somebody who has records.
type owner struct {
	Name    shown
	List    template.URL // of their records; empty: it cannot be asked for
	Count   int
	States  []stateCount
	Soonest time.Time // the end of their first lease
	Next    string    // the record of that
	Over    int       // leases that are over
}

func (q *request) owners() error {
	h := q.m.holding
	if h == nil {
		return q.show("owners", q.m.schema.Machine+": owners", &ownersPage{None: true})
	}
	p := &ownersPage{Field: q.m.schema.Columns[h.owner].Name}
	for _, stored := range h.states {
		p.States = append(p.States, q.m.schema.StateName(stored))
	}
	if h.lease >= 0 && q.leases(h) {
		p.Lease = q.m.schema.Columns[h.lease].Name
	}
	var list []driver.Row
	if err := q.m.look(q.r.Context(), func(r driver.Reader) (err error) {
		list, err = q.held(r, h, p)
		return err
	}); err != nil {
		return err
	}
	p.Looked = len(list)
	p.Owners = q.owned(h, list, p.Lease != "")
	return q.show("owners", q.m.schema.Machine+": owners", p)
}

// leases reports whether the times are shown that end a hold.
func (q *request) leases(h *holding) bool {
	return q.showing(q.m.schema.Columns[h.lease].Name) == Whole && (h.ends == nil || q.shows(h.ends))
}

// held reads records that somebody has. Where a trigger ends leases, its index gives those that end first. Else it is those
// that moved last.
func (q *request) held(r driver.Reader, h *holding, p *ownersPage) (list []driver.Row, err error) {
	has := driver.Cond{Column: q.m.schema.Columns[h.owner].Stored, Op: driver.OpPresent}
	if h.ends == nil {
		l, err := newest.Read(r, q.m.schema, &newest.Filter{States: h.states, Where: []driver.Cond{has}}, "", ownersMost, walkMost)
		if errors.Is(err, context.DeadlineExceeded) && l.Looked > 0 {
			err = nil // what was found by then is told
		}
		if err == nil && !l.Whole {
			p.Told = "These are of the newest " + group(int64(l.Looked)) + " events."
		}
		return l.Rows, err
	}
	some := driver.Query{
		States: h.states, Limit: ownersMost + 1, Order: []driver.Order{{Column: h.ends.After, By: h.ends.By}},
		Where: []driver.Cond{{Column: h.ends.After, By: h.ends.By, Op: driver.OpLe, Value: farAhead(q.m.now())}, has},
	}
	for row, err := range r.Rows(some) {
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	if len(list) > ownersMost {
		list = list[:ownersMost]
		p.Told = "These are of the " + group(ownersMost) + " leases that end first; there are more."
	}
	return list, nil
}

// owned sums up records by their owners. Who has a lease that ends first comes first, where that is shown.
func (q *request) owned(h *holding, list []driver.Row, leases bool) (owners []owner) {
	c := &q.m.schema.Columns[h.owner]
	places, now := map[any]int{}, q.m.now()
	for i := range list {
		row := &list[i]
		key := row.Values[h.owner]
		how := q.showing(c.Name)
		if how == Hidden {
			key = ""
		}
		at, known := places[key]
		if !known {
			at = len(owners)
			places[key], owners = at, append(owners, owner{Name: q.value(c.Name, row.Values[h.owner])})
			if text, ok := row.Values[h.owner].(string); ok && how == Whole {
				f := filter{Fields: []fieldFilter{{c.Name, "eq", text}}}
				owners[at].List = f.Query("")
			}
		}
		o := &owners[at]
		o.Count++
		o.in(q.m.schema, row.State)
		if end := h.end(q.m.schema, row); leases && !end.IsZero() {
			if o.Soonest.IsZero() || end.Before(o.Soonest) {
				o.Soonest, o.Next = end, row.ID
			}
			if !end.After(now) {
				o.Over++
			}
		}
	}
	slices.SortStableFunc(owners, func(a, b owner) int {
		return cmp.Or(cmp.Compare(first(a.Soonest), first(b.Soonest)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name.Text, b.Name.Text))
	})
	for i := range owners {
		slices.SortFunc(owners[i].States, func(a, b stateCount) int { return cmp.Compare(a.Name, b.Name) })
	}
	return owners
}

// first orders times; none comes last.
func first(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return t.UnixMicro()
}

// in counts a record in its state.
func (o *owner) in(s *driver.Schema, stored string) {
	for i := range o.States {
		if o.States[i].Stored == stored {
			o.States[i].Count++
			return
		}
	}
	c := stateCount{Count: 1, StateInfo: driver.StateInfo{Name: stored, Stored: stored}}
	for _, info := range s.States {
		if info.Stored == stored {
			c.StateInfo = info
		}
	}
	o.States = append(o.States, c)
}
