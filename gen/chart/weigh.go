package chart

import (
	"strconv"

	"github.com/fsmgen/fsmgen/spec"
)

// Traffic is how often an event log holds a kind of event, in stored words.
type Traffic struct {
	Operation string `json:"operation"` // the stored word of the operation
	From      string `json:"from"`      // the stored words of the states; From is "" for a creation
	To        string `json:"to"`
	Recorded  bool   `json:"recorded"` // recorded only: nothing changed
	Count     int64  `json:"count"`
}

// Weigh puts the traffic on the edges, and returns how many events fit none of
// them: those of moves that the machine no longer has, and calls that were
// recorded without a change outside of a branch. Call it once, before Focus or
// Only.
func (c *Chart) Weigh(ts []Traffic) (recorded, unknown int64) {
	c.Weighed = true
	for _, t := range ts {
		switch hit := c.weighOne(t); {
		case hit:
		case t.Recorded:
			recorded += t.Count
		default:
			unknown += t.Count
		}
	}
	return recorded, unknown
}

func (c *Chart) weighOne(t Traffic) bool {
	hit := false
	for _, e := range c.Edges {
		for i := range e.Steps {
			if s := &e.Steps[i]; s.covers(t) {
				s.Count += t.Count
				e.Count += t.Count
				hit = true
			}
		}
	}
	return hit
}

// covers reports whether events of the kind t take the step.
func (s *Step) covers(t Traffic) bool {
	switch {
	case s.refused, s.Operation.Stored() != t.Operation:
		return false
	case s.Branch && s.recordOnly != t.Recorded:
		return false
	case !s.Branch && t.Recorded && !s.leadsToRecorded():
		return false
	case !sourceIs(s.from, t.From):
		return false
	}
	if s.stays {
		return t.From == t.To
	}
	return s.recordOnly || s.to == nil || s.to.Stored() == t.To
}

// leadsToRecorded reports whether behind the choice point of the step a branch
// records only.
func (s *Step) leadsToRecorded() bool {
	if s.to != nil {
		return false
	}
	for _, b := range s.Operation.Choose {
		if b.RecordOnly {
			return true
		}
	}
	return false
}

func sourceIs(from []spec.StateRef, stored string) bool {
	if len(from) == 0 {
		return stored == ""
	}
	for _, f := range from {
		if f.State.Stored() == stored {
			return true
		}
	}
	return false
}

// Taken says how often the step was taken; "" when that was not counted.
func (c *Chart) Taken(s Step) string {
	switch {
	case !c.Weighed || s.refused:
		return ""
	case s.Count == 0:
		return "(never)"
	}
	return "(" + grouped(s.Count) + "×)"
}

// grouped writes n with a space between each three digits.
func grouped(n int64) string {
	d := strconv.FormatInt(n, 10)
	for i := len(d) - 3; i > 0; i -= 3 {
		d = d[:i] + " " + d[i:]
	}
	return d
}

// NeverTaken reports whether the log holds no event of the edge, though it
// would tell.
func (c *Chart) NeverTaken(e *Edge) bool {
	return c.Weighed && e.Count == 0 && !e.Unknown()
}

// Width is how thick the edge is drawn, from 1 for the least to most: it grows
// with the number of digits of its count, not with the count.
func (c *Chart) Width(e *Edge, most float64) float64 {
	if !c.Weighed || e.Count == 0 {
		return 1
	}
	var top int64
	for _, o := range c.Edges {
		top = max(top, o.Count)
	}
	return 1 + (most-1)*log1(e.Count)/log1(top)
}
