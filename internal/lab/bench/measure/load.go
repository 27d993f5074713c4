package measure

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Load is one way of doing work that several callers ask for at the same time.
type Load struct {
	Name string
	Step func(ctx context.Context, caller int) error
}

// Turns says how much of each load is measured.
type Turns struct {
	Rounds  int           // of all loads
	Turn    time.Duration // of each load within a round
	Callers int
}

// Rate is what one load reached.
type Rate struct {
	Name   string
	Rounds []float64       // steps per second, one figure per round
	Each   []int           // steps of each caller, over all rounds
	Took   []time.Duration // of every step, sorted
}

// Median returns the median of the rounds, in steps per second.
func (r Rate) Median() float64 { return Median(r.Rounds) }

// Times returns how many times as many steps as b it made in the same round, the
// median of the rounds.
func (r Rate) Times(b Rate) float64 { return Ratio(Result{Rounds: r.Rounds}, Result{Rounds: b.Rounds}) }

// Percentile returns the duration that p of 100 steps did not exceed, 0 when
// there was no step.
func (r Rate) Percentile(p float64) time.Duration {
	if len(r.Took) == 0 {
		return 0
	}
	return r.Took[min(len(r.Took)-1, int(p/100*float64(len(r.Took))))]
}

// Fairness returns the steps of the caller who got the fewest, as a part of an
// equal share.
func (r Rate) Fairness() float64 {
	sum := 0
	for _, n := range r.Each {
		sum += n
	}
	if sum == 0 {
		return 0
	}
	return float64(slices.Min(r.Each)) * float64(len(r.Each)) / float64(sum)
}

// Rates lets the loads take turns, each with all callers at once. A step that has
// begun is finished, also after the end of the turn; the time counts until then.
// The order of the loads moves on by one with each round. It returns the first
// error of a step.
func Rates(ctx context.Context, t Turns, loads ...Load) ([]Rate, error) {
	rates := make([]Rate, len(loads))
	for i, l := range loads {
		rates[i] = Rate{Name: l.Name, Each: make([]int, t.Callers)}
	}
	for round := range t.Rounds {
		for k := range loads {
			i := (k + round) % len(loads)
			if err := turn(ctx, t, loads[i], &rates[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", loads[i].Name, err)
			}
		}
	}
	for i := range rates {
		slices.Sort(rates[i].Took)
	}
	return rates, nil
}

func turn(ctx context.Context, t Turns, l Load, r *Rate) error {
	took := make([][]time.Duration, t.Callers)
	failed := make([]error, t.Callers)
	var all sync.WaitGroup
	begun := time.Now()
	for c := range t.Callers {
		all.Go(func() {
			for now := begun; now.Sub(begun) < t.Turn; {
				if failed[c] = l.Step(ctx, c); failed[c] != nil {
					return
				}
				end := time.Now()
				took[c] = append(took[c], end.Sub(now))
				now = end
			}
		})
	}
	all.Wait()
	lasted := time.Since(begun).Seconds()
	steps := 0
	for c := range t.Callers {
		if failed[c] != nil {
			return failed[c]
		}
		steps += len(took[c])
		r.Each[c] += len(took[c])
		r.Took = append(r.Took, took[c]...)
	}
	r.Rounds = append(r.Rounds, float64(steps)/lasted)
	return nil
}
