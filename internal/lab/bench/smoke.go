package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/child"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	"github.com/fsmgen/fsmgen/internal/lab/bench/ours"
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

func (j *judge) atMost(what string, got, limit float64) {
	j.say(what, got, "at most", limit, got <= limit)
}

// floors are ratios to the generated methods that must not be fallen below: half
// of what is reached, or less.
var floors = []struct {
	name, depth string
	ratio       float64
}{
	{"methods by hand", pure.Full, 0.3},
	{"switch by hand", pure.Rules, 0.2},
	{"qmuntal/stateless", pure.Rules, 4.5},
	{"qmuntal/stateless", pure.Bare, 2.8},
	{"looplab/fsm", pure.Rules, 6},
	{"looplab/fsm", pure.Bare, 4},
}

// smoke measures a little and returns an error when a ratio is below its floor,
// which lies far below what is reached on a busy machine, or when an allocation
// came in. It judges no time.
func smoke(ctx context.Context, o options, w io.Writer) error {
	f, err := pure.Measure(measure.Plan{Rounds: 6, Turns: 60, Turn: 100 * time.Microsecond})
	if err != nil {
		return err
	}
	j := &judge{w: w}
	if err := judgePure(j, f); err != nil {
		return err
	}
	if err := judgeAllocations(ctx, o, j); err != nil {
		return err
	}
	if err := judgeSQLite(ctx, o, j); err != nil {
		return err
	}
	if j.failed > 0 {
		return fmt.Errorf("%d of the limits failed; profile what changed", j.failed)
	}
	return nil
}

// allocsOf is how often a refusal allocates: a guard's has the text of what it looked at.
func allocsOf(kind string) float64 {
	if kind == pure.WrongOwner {
		return 2
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

// judgeAllocations judges how often a durable transition of one caller allocates.
func judgeAllocations(ctx context.Context, o options, j *judge) error {
	most := map[string]float64{"lifecycle": 103, "paymentintent": 112, "taskinstance": 111, "account": 98}
	for _, machine := range machines {
		dir, err := os.MkdirTemp(o.scratch, "fsmgen-bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		steps, err := ours.Steps(ctx, child.Config{Machine: machine, Database: "sqlite",
			Address: filepath.Join(dir, "a.db"), Name: "a", Callers: 1})
		if err != nil {
			return err
		}
		got, err := allocations(steps[0])
		if err != nil {
			return err
		}
		j.atMost("SQLite, one caller: allocations of a transition, "+machine, got, most[machine])
	}
	return nil
}

// allocations returns how often a step allocates, after it has been taken for a while.
func allocations(step func() error) (float64, error) {
	const n = 600
	var before, after runtime.MemStats
	for i := range 2 * n {
		if i == n {
			runtime.ReadMemStats(&before)
		}
		if err := step(); err != nil {
			return 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / n, nil
}

// judgeSQLite judges a group commit of ours beside one by hand, in processes of their own.
func judgeSQLite(ctx context.Context, o options, j *judge) error {
	dir, err := os.MkdirTemp(o.scratch, "fsmgen-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	o.rounds, o.turn = 5, 200*time.Millisecond
	l := &lab{options: o, dir: dir}
	for _, machine := range []string{"lifecycle", "account"} {
		many, hand, one := &side{name: now, processes: 1, callers: 64}, &side{name: byHand, processes: 1, callers: 64},
			&side{name: now, processes: 1, callers: 1}
		if err := l.measured(ctx, "sqlite", machine, many, hand, one); err != nil {
			return err
		}
		j.atLeast("SQLite, 64 callers: rate / by hand, "+machine, many.to(hand, rate), 0.15)
		j.atLeast("SQLite, one caller: cost / with 64, "+machine, one.to(many, turn.both), 1)
	}
	return nil
}
