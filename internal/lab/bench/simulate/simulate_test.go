package simulate

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func world() World {
	return World{
		Shards: 4, Workers: 400, Work: 5 * time.Second, Beat: 2 * time.Second, Lease: 10 * time.Second, Dying: 0.02,
		Sweep: time.Second, Probe: 200 * time.Microsecond, Cost: Cost{Batch: time.Millisecond, Each: 20 * time.Microsecond}, MaxBatch: 128,
		Simulated: time.Minute, Seed: 1,
	}
}

// A rate that is made of a cost gives the cost back.
func TestFit(t *testing.T) {
	t.Parallel()
	want := Cost{Batch: 800 * time.Microsecond, Each: 15 * time.Microsecond}
	alone := 1 / (want.Batch + want.Each).Seconds()
	together := 64 / (want.Batch + 64*want.Each).Seconds()
	got := Fit(alone, together, 64)
	if d := got.Batch - want.Batch; d.Abs() > time.Microsecond {
		t.Errorf("batch %s, want %s", got.Batch, want.Batch)
	}
	if d := got.Each - want.Each; d.Abs() > time.Microsecond {
		t.Errorf("each %s, want %s", got.Each, want.Each)
	}
}

func TestSameSeedSameOutcome(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(Run(world()), Run(world())); diff != "" {
		t.Errorf("-first +second:\n%s", diff)
	}
}

// A world with little to do is described by arithmetic: each worker makes claim,
// start, complete and its heartbeats, and nobody waits for long.
func TestIdleWorld(t *testing.T) {
	t.Parallel()
	w := world()
	w.Dying = 0
	w.Workers, w.Shards = 40, 8
	o := Run(w)
	// Heartbeats are sent while more than one interval of work is left: on the
	// mean 1/(e^(beat/work)-1) of them.
	beats := 1 / (math.Exp(w.Beat.Seconds()/w.Work.Seconds()) - 1)
	want := float64(w.Workers) / w.Work.Seconds() * (3 + beats)
	if r := o.Transitions / want; r < 0.85 || r > 1.15 {
		t.Errorf("%.1f transitions a second, want about %.1f", o.Transitions, want)
	}
	if o.Latency[0] > 2*(w.Cost.Batch+w.Cost.Each) {
		t.Errorf("half of the transitions took %s", o.Latency[0])
	}
	if o.Died != 0 || o.Recovered[1] != 0 {
		t.Errorf("%d workers died", o.Died)
	}
}

// Who dies is found after the lease and within a sweep's interval.
func TestRecovery(t *testing.T) {
	t.Parallel()
	w := world()
	o := Run(w)
	if o.Died == 0 {
		t.Fatal("nobody died")
	}
	if o.Recovered[0] < w.Lease || o.Recovered[1] > w.Lease+w.Sweep {
		t.Errorf("jobs came back after %s to %s; the lease is %s, a sweep comes every %s", o.Recovered[0], o.Recovered[1], w.Lease, w.Sweep)
	}
}

// More is asked of one shard than it can do: it is busy all the time, does what
// full batches do, and callers wait.
func TestOverload(t *testing.T) {
	t.Parallel()
	w := world()
	w.Shards, w.Workers, w.Work, w.Beat = 1, 100_000, time.Second, 10*time.Second
	w.Simulated = 20 * time.Second
	o := Run(w)
	most := float64(w.MaxBatch) / (w.Cost.Batch + time.Duration(w.MaxBatch)*w.Cost.Each).Seconds()
	if o.Transitions > most || o.Transitions < 0.9*most {
		t.Errorf("%.0f transitions a second; full batches make %.0f", o.Transitions, most)
	}
	if o.Busy < 0.95 || o.Batch < 100 {
		t.Errorf("busy %.2f, %.0f in a batch", o.Busy, o.Batch)
	}
	if o.Latency[0] < 100*time.Millisecond {
		t.Errorf("half of the transitions took no longer than %s", o.Latency[0])
	}
}
