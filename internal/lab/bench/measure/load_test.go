package measure

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// Every step is counted, and every caller has a turn in every round. How fast the
// loads are to each other is left out: a busy machine may rest longer than it is told.
func TestRates(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	rest := func(d time.Duration) func(context.Context, int) error {
		return func(context.Context, int) error { calls.Add(1); time.Sleep(d); return nil }
	}
	rates, err := Rates(t.Context(), Turns{Rounds: 3, Turn: 60 * time.Millisecond, Callers: 4},
		Load{"slow", rest(20 * time.Millisecond)}, Load{"fast", rest(4 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	slow, fast := rates[0], rates[1]
	if slow.Name != "slow" || len(slow.Rounds) != 3 || len(fast.Rounds) != 3 {
		t.Fatalf("%+v", rates)
	}
	if n := len(slow.Took) + len(fast.Took); int64(n) != calls.Load() {
		t.Errorf("%d steps noted, %d made", n, calls.Load())
	}
	for _, r := range rates {
		for c, n := range r.Each {
			if n < 3 {
				t.Errorf("%s: caller %d made %d steps in 3 rounds", r.Name, c, n)
			}
		}
		if f := r.Fairness(); f <= 0 || f > 1 {
			t.Errorf("%s: fairness %v", r.Name, f)
		}
	}
	if p := slow.Percentile(50); p < 20*time.Millisecond {
		t.Errorf("half of the slow steps took at most %s", p)
	}
}

func TestRatesStopAtAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := Rates(t.Context(), Turns{Rounds: 1, Turn: time.Second, Callers: 2},
		Load{"bad", func(_ context.Context, c int) error {
			if c == 1 {
				return broken
			}
			return nil
		}})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestFairnessAndPercentile(t *testing.T) {
	t.Parallel()
	r := Rate{Each: []int{10, 20, 30}, Took: []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}
	if got := r.Fairness(); got != 0.5 {
		t.Errorf("fairness %v, want 0.5", got)
	}
	for p, want := range map[float64]time.Duration{0: 1, 50: 6, 99: 10, 100: 10} {
		if got := r.Percentile(p); got != want {
			t.Errorf("p%v: %d, want %d", p, got, want)
		}
	}
	var none Rate
	if none.Fairness() != 0 || none.Percentile(99) != 0 {
		t.Error("nothing measured is not 0")
	}
}

func TestMedianAndRatio(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 2}, 2}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.values, got, c.want)
		}
	}
	// One slow round slows both, and the ratio is that of the rounds.
	a, b := Result{Rounds: []float64{2, 20, 2}}, Result{Rounds: []float64{1, 10, 1}}
	if got := Ratio(a, b); got != 2 {
		t.Errorf("ratio %v, want 2", got)
	}
}

// Each round gives a figure for each variant, and allocations are counted exactly,
// for each step.
func TestInterleaved(t *testing.T) { // not parallel: allocations of other tests would be counted
	var sink []byte
	work := func(times int) func(n int) error {
		return func(n int) error {
			for range n * times {
				sink = make([]byte, 2048)
			}
			return nil
		}
	}
	results, err := Interleaved(Plan{Rounds: 3, Turns: 30, Turn: 50 * time.Microsecond},
		[]Variant{{"one", work(1), 1}, {"four", work(4), 1}, {"four steps", work(4), 4}})
	if err != nil || sink == nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1, 4, 1} {
		if r := results[i]; r.Allocs != want || len(r.Rounds) != 3 || r.Median() <= 0 {
			t.Errorf("%s: %v allocations a step, want %v; rounds %v", r.Name, r.Allocs, want, r.Rounds)
		}
	}
	broken := errors.New("broken")
	if _, err := Interleaved(Plan{Rounds: 1, Turns: 1, Turn: time.Microsecond}, []Variant{{"bad", func(int) error { return broken }, 1}}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
