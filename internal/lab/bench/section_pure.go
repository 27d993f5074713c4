package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	"github.com/fsmgen/fsmgen/internal/lab/bench/pure"
)

// The names of subjects that bars speak of.
const (
	byHand    = "switch by hand"
	stateless = "qmuntal/stateless"
	looplab   = "looplab/fsm"
)

// pureSection writes the tables of transitions in memory.
func pureSection(o options, r *report) error {
	f, err := pure.Measure(measure.Plan{Rounds: o.rounds, Turns: 300, Turn: 100 * time.Microsecond})
	if err != nil {
		return err
	}
	ours := f.Life[0]
	r.printf(`## Transitions in memory

The life of a job of [specs/lifecycle.yaml](specs/lifecycle.yaml): claim, start, three heartbeats, complete. *Full* is all that
a generated method does: it checks the actor, the inputs, the state, the owner and what the target state
promises, cuts times to microseconds, changes the record and returns the event; refusals are typed.
*Rules*: revision, state, owner, promises, and the record is changed. *Bare*: the state alone.
A library stands here twice: configured once and used again for each record, and with a machine for each record, as in its own README, where a
life of six transitions begins with making that machine (of looplab/fsm and stateless with its states; of fluo out of one definition).

`)
	var rows [][]string
	for i, s := range f.Subjects {
		l := f.Life[i]
		rows = append(rows, []string{s.Name, s.Depth, number(l.Median()), spread(l), number(l.Allocs), number(measure.Ratio(l, ours)) + " ×"})
	}
	r.table([]string{"one transition", "work", "ns", "rounds from – to", "allocations", "of the generated"}, rows)
	rows = nil
	for i, s := range f.Subjects {
		if s.Refuse == nil {
			continue
		}
		row := []string{s.Name, s.Depth}
		for _, kind := range pure.Refusals {
			cell := "–"
			if l, ok := f.Refused(kind, i); ok {
				cell = fmt.Sprintf("%s / %s", number(l.Median()), number(l.Allocs))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	row := []string{"nothing but an error of that size", "none"}
	for _, kind := range pure.Refusals {
		row = append(row, fmt.Sprintf("%s / %s", number(f.Alone[kind].Median()), number(f.Alone[kind].Allocs)))
	}
	rows = append(rows, row)
	r.table(append([]string{"a refusal: ns / allocations", "work"}, pure.Refusals...), rows)

	hand, _ := f.Of(byHand, pure.Full)
	r.atMost("pure: generated / by hand with the same checks", measure.Ratio(ours, hand), 1.1, " ×")
	r.atMost("pure: allocations of a transition", ours.Allocs, 0, "")
	for _, depth := range []string{pure.Rules, pure.Bare} {
		for _, use := range []struct{ suffix, says string }{{"", "configured once and used again"}, {pure.EachRecord, "a machine for each record, as in its README"}} {
			p, _ := f.Of(stateless+use.suffix, depth)
			r.atLeast("pure: stateless ("+depth+", "+use.says+") / generated", measure.Ratio(p, ours), 50, " ×")
			p, _ = f.Of(looplab+use.suffix, depth)
			r.atLeast("pure: looplab ("+depth+", "+use.says+") / generated", measure.Ratio(p, ours), 100, " ×")
		}
	}
	for _, kind := range pure.Refusals {
		l, _ := f.Refused(kind, 0)
		r.atMost("pure: refusal, "+kind, l.Median(), 25, " ns")
		r.atMost("pure: allocations of a refusal, "+kind, l.Allocs, 1, "")
	}
	return nil
}

// spread writes the fastest and the slowest round.
func spread(r measure.Result) string {
	return number(slices.Min(r.Rounds)) + " – " + number(slices.Max(r.Rounds))
}
