package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// What a pass over the log may hold of a group.
const (
	maxTogether = 64      // steps of which nobody knows which was the first
	maxOrders   = 1 << 15 // what is tried to find an order that is right
)

// group is what is known of the records with one key.
type group struct {
	key      string
	where    []driver.Cond
	number   uint64
	records  map[string]int64 // by stored state
	together []taken          // steps whose order is not known yet
	last     driver.Entry     // of them
	latest   driver.Entry     // of them, by the time that they say
	blind    bool             // there are too many of them
	found    *inspect.Finding // the first step that is wrong
	more     int              // and how many after it
	dropped  bool
}

// taken is a step of one record, as its group sees it.
type taken struct {
	ref      driver.Ref
	from, to string // stored states; empty: not in the group
	version  int
	judged   bool
}

// step hands a step to its group. Steps that may have been taken in another order
// are judged when all of them are there.
func (f *follower[R]) step(g *group, e *driver.Entry, s taken) {
	if g == nil {
		return
	}
	unsure := len(g.together) > 0 || g.blind
	if unsure && !f.reader.Blurred(&g.last, e) && !f.reader.Blurred(&g.latest, e) {
		f.settle(g)
		g.blind, unsure = false, false
	}
	g.last = driver.Entry{Event: driver.Event{ID: e.ID, Rev: e.Rev, N: e.N, At: e.At}, Cursor: e.Cursor}
	if !unsure || e.At.After(g.latest.At) {
		g.latest = g.last
	}
	if len(g.together) == maxTogether {
		steps := g.together
		if wrong, _ := f.judge(g, steps); wrong == nil { // no reason to doubt the order
			g.undo(steps[maxTogether/2:])
			g.together = slices.Clone(steps[maxTogether/2:])
		} else {
			g.together, g.blind = nil, true
		}
	}
	if g.blind {
		g.apply(s)
		return
	}
	g.together = append(g.together, s)
}

// forget leaves what the group did so far, right or wrong.
func (g *group) forget() {
	for _, s := range g.together {
		g.apply(s)
	}
	g.together, g.found, g.more = nil, nil, 0
}

func (g *group) apply(s taken) {
	g.count(s.from, -1)
	g.count(s.to, 1)
}

// undo takes the newest steps back.
func (g *group) undo(steps []taken) {
	for _, s := range slices.Backward(steps) {
		g.apply(taken{from: s.to, to: s.from})
	}
}

func (g *group) count(state string, n int64) {
	if state == "" {
		return
	}
	if g.records[state] += n; g.records[state] == 0 {
		delete(g.records, state)
	}
}

// settle judges the steps that are together: in the order of the log, and where
// that is not right, in any other.
func (f *follower[R]) settle(g *group) {
	steps := g.together
	g.together = nil
	wrong, more := f.judge(g, steps)
	if wrong == nil || len(steps) > 1 && f.orderly(g, steps) {
		return
	}
	if g.found == nil {
		g.found = wrong
	} else {
		more++
	}
	g.more += more
}

// judge takes steps in their order. It returns the first one that is wrong, and
// how many after it are.
func (f *follower[R]) judge(g *group, steps []taken) (wrong *inspect.Finding, more int) {
	for _, s := range steps {
		before := f.p.State(g.records)
		g.apply(s)
		after := f.p.State(g.records)
		if !s.judged || f.p.Leads(before, after) {
			continue
		}
		if wrong != nil {
			more++
			continue
		}
		wrong = &inspect.Finding{ID: s.ref.ID, Rev: s.ref.Rev, Check: CheckProjection, Must: s.version == f.m.Schema.Version,
			Message: fmt.Sprintf("the step from %q to %q moves the %s %s from %q to %q, which the machine does not allow",
				s.from, s.to, f.p.Entity, g.key, before, after)}
		if !wrong.Must {
			wrong.Message += fmt.Sprintf("; version %d may have allowed it, this is version %d", s.version, f.m.Schema.Version)
		}
	}
	return wrong, more
}

// wrong returns the groups with a finding, by key.
func (f *follower[R]) wrong() []*group {
	var wrong []*group
	for _, g := range f.groups {
		if g.found != nil {
			wrong = append(wrong, g)
		}
	}
	slices.SortFunc(wrong, func(a, b *group) int { return strings.Compare(a.key, b.key) })
	return wrong
}

// confirm keeps what a second pass found too.
func (f *follower[R]) confirm(again *follower[R]) {
	for _, g := range f.wrong() {
		other := again.groups[g.key]
		if other == nil || other.found == nil || other.found.ID != g.found.ID || other.found.Rev != g.found.Rev {
			g.found = nil
		}
	}
}

// tell yields what is wrong with the groups, unless something else is.
func (f *follower[R]) tell(ctx context.Context, yield func(inspect.Finding) bool) error {
	for _, g := range f.wrong() {
		told, err := f.told(ctx, g)
		if err != nil {
			return err
		}
		if told {
			continue
		}
		if g.more > 0 {
			g.found.Message += fmt.Sprintf("; %d more steps of this group do the same", g.more)
		}
		if !yield(*g.found) {
			return errBrokenOff
		}
	}
	return nil
}

// told reports whether a record of the group is wrong by itself or holds what
// another one holds too: the audit has said so already.
func (f *follower[R]) told(ctx context.Context, g *group) (bool, error) {
	bad := func(id string) (bool, error) {
		found, err := f.m.auditRecord(ctx, id, nil)
		return slices.ContainsFunc(found, func(f inspect.Finding) bool { return f.Must }), err
	}
	if told, err := bad(g.found.ID); told || err != nil {
		return told, err
	}
	for row, err := range inspect.Rows(ctx, f.m.Table, driver.Query{Where: g.where}) {
		if err != nil {
			return false, err
		}
		if told, err := bad(row.ID); told || err != nil {
			return told, err
		}
		if told, err := f.m.shares(ctx, &row); told || err != nil {
			return told, err
		}
	}
	return false, nil
}

// shares reports whether another record holds a place of a unique rule that row
// holds.
func (m *machine[R]) shares(ctx context.Context, row *driver.Row) (shares bool, err error) {
	err = m.Table.View(ctx, func(r driver.Reader) error {
		for i := range m.Schema.Uniques {
			q, holds := inspect.PlaceOf(m.Schema, &m.Schema.Uniques[i], row)
			if !holds {
				continue
			}
			n, err := r.Count(q)
			if shares = n > 1; shares || err != nil {
				return err
			}
		}
		return nil
	})
	return shares, err
}
