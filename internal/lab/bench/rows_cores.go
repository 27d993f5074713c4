package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
)

// coresRow measures what one PostgreSQL holds on one core and on two, with its clients, and
// says what more cores would hold. SCALING.md has the figures.
func coresRow(ctx context.Context, l *lab, r *report) error {
	if l.server == 0 || runtime.NumCPU() < 2 {
		r.left("one core and two", "there is no server of ours, or one core alone")
		return nil
	}
	var all []*side
	for _, cores := range []string{"0", "0-1"} {
		one, four := &side{name: cores, processes: 1, callers: 64}, &side{name: cores, processes: 4, callers: 16}
		err := l.pin(cores)
		if err == nil {
			err = l.measured(ctx, "postgres", "lifecycle", one, four)
		}
		if err := errors.Join(err, l.pin(fmt.Sprint("0-", runtime.NumCPU()-1))); err != nil {
			return err
		}
		all = append(all, one, four)
	}
	r.sides("One core and two (taskset, server and clients)", all)
	for i, side := range []string{"one", "four"} {
		few, many := all[i], all[i+2]
		r.figure(side+"_cost1", number(few.of(turn.both)))
		r.figure(side+"_cost2", number(many.of(turn.both)))
		r.figure(side+"_rate1", about(few.of(rate)))
		r.figure(side+"_rate2", about(many.of(rate)))
		dearer := max(1, many.of(turn.both)/few.of(turn.both)) // with each doubling
		for _, cores := range []float64{16, 64} {
			most := many.of(rate) * cores / 2
			r.figure(fmt.Sprint(side, "_rate", cores), about(most/math.Pow(dearer, math.Log2(cores/2)))+" – "+about(most))
		}
	}
	return nil
}

// pin lets this process, the server, and what they will start run on some cores alone.
func (l *lab) pin(cores string) error {
	pids := []string{fmt.Sprint(os.Getpid()), fmt.Sprint(l.server)}
	for pid := range l.busy() {
		pids = append(pids, pid)
	}
	for _, pid := range pids {
		said, err := exec.Command("taskset", "-a", "-c", "-p", cores, pid).CombinedOutput()
		if _, gone := os.Stat("/proc/" + pid); err != nil && gone == nil {
			return fmt.Errorf("taskset: %w: %s", err, said)
		}
	}
	return nil
}

// about writes two digits that count.
func about(v float64) string {
	step := math.Pow(10, math.Floor(math.Log10(max(v, 1)))-1)
	return count(int(math.Round(v/step) * step))
}
