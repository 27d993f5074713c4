package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/durable"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	"github.com/fsmgen/fsmgen/internal/lab/bench/pure"
)

// judge holds figures against limits and prints them.
type judge struct {
	w      io.Writer
	failed int
}

func (j *judge) say(what string, got float64, kind string, limit float64, ok bool) {
	verdict := "ok"
	if !ok {
		verdict = "FAILED"
		j.failed++
	}
	fmt.Fprintf(j.w, "%-72s %8s, %s %6s  %s\n", what, number(got), kind, number(limit), verdict)
}

func (j *judge) exactly(what string, got, want float64) {
	j.say(what, got, "exactly", want, got == want)
}

func (j *judge) atLeast(what string, got, limit float64) {
	j.say(what, got, "at least", limit, got >= limit)
}

// floors are ratios to the generated methods that must not be fallen below: half
// of what is reached, or less.
var floors = []struct {
	name, depth string
	ratio       float64
}{
	{byHand, pure.Full, 0.5},
	{byHand, pure.Rules, 0.2},
	{stateless, pure.Rules, 6},
	{stateless, pure.Bare, 3},
	{looplab, pure.Rules, 8},
	{looplab, pure.Bare, 5},
}

// smoke measures a little and returns an error when a ratio is below its floor,
// which lies far below what is reached on a busy machine, or when an allocation
// came in. It judges no time.
func smoke(w io.Writer) error {
	f, err := pure.Measure(measure.Plan{Rounds: 6, Turns: 60, Turn: 100 * time.Microsecond})
	if err != nil {
		return err
	}
	j := &judge{w: w}
	if err := judgePure(j, f); err != nil {
		return err
	}
	if err := judgeSQLite(j); err != nil {
		return err
	}
	if j.failed > 0 {
		return fmt.Errorf("%d of the limits failed; profile what changed", j.failed)
	}
	return nil
}

// allocsOf is how often a refusal allocates: a guard's has what the guard looked at.
func allocsOf(kind string) float64 {
	if kind == pure.WrongOwner {
		return 4
	}
	return 1
}

// judgePure judges the transitions in memory.
func judgePure(j *judge, f pure.Figures) error {
	ours := f.Life[0]
	j.exactly("allocations of a transition", ours.Allocs, 0)
	for _, kind := range pure.Refusals {
		l, ok := f.Refused(kind, 0)
		if !ok {
			return fmt.Errorf("the generated methods do not refuse %s", kind)
		}
		j.exactly("allocations of a refusal, "+kind, l.Allocs, allocsOf(kind))
	}
	for _, floor := range floors {
		r, ok := f.Of(floor.name, floor.depth)
		if !ok {
			return fmt.Errorf("no subject is %s (%s)", floor.name, floor.depth)
		}
		j.atLeast("time of "+floor.name+" ("+floor.depth+") / generated", measure.Ratio(r, ours), floor.ratio)
	}
	return nil
}

// judgeSQLite judges what group commit is for: with many callers, a commit that
// takes along who waits makes many times as much of the disk as one after the other.
func judgeSQLite(j *judge) error {
	dir, err := os.MkdirTemp("", "fsmgen-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t := measure.Turns{Rounds: 5, Turn: 200 * time.Millisecond}
	return durable.SQLite(context.Background(), dir, durable.Full, t, []int{64}, func(n int, rates []measure.Rate) {
		of := func(name string) measure.Rate {
			for _, r := range rates {
				if r.Name == name {
					return r
				}
			}
			panic("bench: nobody measured " + name)
		}
		ours := of(durable.Ours)
		j.atLeast("SQLite, 64 callers: ours / naive by hand", ours.Times(of(durable.Naive)), 1)
		j.atLeast("SQLite, 64 callers: ours / group commit by hand", ours.Times(of(durable.Grouped)), 0.15)
	})
}
