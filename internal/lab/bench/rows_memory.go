package main

import (
	"context"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	"github.com/fsmgen/fsmgen/internal/lab/bench/pure"
)

// memoryRows compares what needs no store.
func memoryRows(_ context.Context, l *lab, r *report) error {
	f, err := pure.Measure(measure.Plan{Rounds: l.rounds, Turns: 100, Turn: 100 * time.Microsecond})
	if err != nil {
		return err
	}
	var got []figure
	for _, kind := range pure.Refusals {
		ours, _ := f.Refused(kind, 0)
		got = append(got, figure{kind, measure.Ratio(ours, f.Alone[kind])})
	}
	r.atMost("refusal", "refusal / an error of that size alone", 1.5, " ×", got...)
	var rows [][]string
	for i, s := range f.Subjects {
		x := f.Life[i]
		rows = append(rows, []string{s.Name, s.Depth, number(x.Median()), number(x.Allocs), number(measure.Ratio(x,
			f.Life[0]))})
	}
	r.table("Transitions in memory", []string{"side", "work", "ns", "allocations", "/ generated"}, rows)
	return nil
}
