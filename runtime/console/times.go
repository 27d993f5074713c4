package console

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// span is a stretch of time up to now, and what happened in it, by the log.
type span struct {
	Name    string
	Length  time.Duration
	Looked  int  // events
	Whole   bool // the log was read to its beginning
	Moves   []moveRate
	States  []stateTime
	Created int
	Unread  int // events that cannot be read, so they are left out
}

// moveRate is how often a way was taken.
type moveRate struct {
	Operation, From, To string
	Count               int
}

// stateTime is how long records that left a state had been in it.
type stateTime struct {
	State         string
	Left          int
	Half, Most    string // the 50th and the 95th percentile
	Longest       string
	UnknownBefore int // of how many the entry lies before what was read
}

// stay is how long a record was in a state. Of one that entered it before what was read only a least time is known.
type stay struct {
	d       time.Duration
	atLeast bool
}

const batch = 500 // events that are read at once

// slack is by how much events of the log may stand in another order than their times.
const slack = time.Minute

// spans reads the log from its end for what happened within the lengths, of which the last is the longest. Beyond it
// the log is read for when records entered the states that they left, as long as the bound allows.
func (q *request) spans(r driver.Reader, now time.Time, most int, list []*span) error {
	longest := now.Add(-list[len(list)-1].Length)
	type leaving struct {
		at    time.Time
		state string
	}
	open := map[string]leaving{} // by record: the leaving whose entry is not found yet
	stays := make([]map[string][]stay, len(list))
	moves := make([]map[moveRate]int, len(list))
	for i := range list {
		stays[i], moves[i] = map[string][]stay{}, map[moveRate]int{}
	}
	note := func(l leaving, d time.Duration, atLeast bool) {
		for i, s := range list {
			if now.Sub(l.at) <= s.Length {
				stays[i][l.state] = append(stays[i][l.state], stay{d, atLeast})
			}
		}
	}
	var cursor driver.Cursor
	looked, last := 0, now
	for whole := false; !whole && looked < most; {
		entries, err := r.Newest(cursor, batch)
		if errors.Is(err, context.DeadlineExceeded) && looked > 0 {
			break
		}
		if err != nil {
			return err
		}
		whole = len(entries) < batch
		for i := range entries {
			e := &entries[i]
			cursor = e.Cursor
			looked++
			if e.Unreadable != nil {
				if l, ok := open[e.ID]; ok && e.N == 0 { // it may be the entry
					note(l, l.at.Sub(last), true)
					delete(open, e.ID)
				}
				for _, s := range list {
					if now.Sub(last) <= s.Length {
						s.Unread++
					}
				}
				continue
			}
			last = e.At
			if e.N != 0 || e.From == e.To {
				continue
			}
			if l, ok := open[e.ID]; ok && l.state == e.To {
				note(l, l.at.Sub(e.At), false)
			}
			if delete(open, e.ID); e.At.Before(longest) {
				continue
			}
			if e.From != "" {
				open[e.ID] = leaving{e.At, e.From}
			}
			for i, s := range list {
				if now.Sub(e.At) > s.Length {
					continue
				}
				s.Looked++
				if e.From == "" {
					s.Created++
				}
				way := moveRate{Operation: q.m.operation(e.Operation), From: q.m.schema.StateName(e.From), To: q.m.schema.StateName(e.To)}
				moves[i][way]++
			}
		}
		for _, s := range list {
			s.Whole = s.Whole || whole || last.Before(now.Add(-s.Length-slack))
		}
		if len(open) == 0 && last.Before(longest.Add(-slack)) {
			break
		}
	}
	for _, l := range open {
		note(l, l.at.Sub(last), true)
	}
	for i, s := range list {
		for m, n := range moves[i] {
			m.Count = n
			s.Moves = append(s.Moves, m)
		}
		slices.SortFunc(s.Moves, func(a, b moveRate) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.From, b.From))
		})
		for _, state := range slices.Sorted(maps.Keys(stays[i])) {
			s.States = append(s.States, timesOf(q.m.schema.StateName(state), stays[i][state]))
		}
	}
	return nil
}

// timesOf sums up how long records were in a state. Of some only a least time is known: a figure that they may
// make greater says "more than".
func timesOf(state string, list []stay) stateTime {
	least := slices.SortedFunc(slices.Values(list), func(a, b stay) int { return cmp.Compare(a.d, b.d) })
	most := slices.SortedFunc(slices.Values(list), func(a, b stay) int {
		if a.atLeast != b.atLeast {
			return map[bool]int{true: 1, false: -1}[a.atLeast]
		}
		return cmp.Compare(a.d, b.d)
	})
	at := func(part float64) string {
		i := max(0, int(math.Ceil(part*float64(len(list))))-1)
		if most[i].atLeast || most[i].d != least[i].d {
			return "more than " + length(least[i].d)
		}
		return length(least[i].d)
	}
	t := stateTime{State: state, Left: len(list), Half: at(0.5), Most: at(0.95), Longest: at(1)}
	for _, s := range list {
		if s.atLeast {
			t.UnknownBefore++
		}
	}
	return t
}

func (q *request) times() error {
	list := []*span{{Name: "last hour", Length: time.Hour}, {Name: "last day", Length: 24 * time.Hour}}
	if err := q.m.look(q.r.Context(), func(r driver.Reader) error {
		return q.spans(r, q.m.now(), walkMost, list)
	}); err != nil {
		return err
	}
	q.quiet = true
	return q.show("times", q.m.schema.Machine+": times", list)
}
