// Package simulate plays a large installation on paper: many workers, many records,
// several shards, each a database whose transitions cost what was measured. It is a
// simulation of events in virtual time, with a fixed seed: the same figures come
// out everywhere.
//
// It knows of queues, batches, claims that meet, heartbeats and the sweeper. It
// does not know of networks that lose packets, of vacuuming or of replicas.
package simulate

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"
)

// Cost is what a batch of n transitions takes on one shard: Batch + n × Each.
type Cost struct {
	Batch time.Duration
	Each  time.Duration
}

// Fit derives the cost from rates that were measured: a second with one caller,
// and with so many.
func Fit(alone, together float64, callers int) Cost {
	n := float64(callers)
	each := (n/together - 1/alone) / (n - 1)
	each = max(each, 0)
	return Cost{
		Batch: time.Duration(max(0, 1/alone-each) * float64(time.Second)),
		Each:  time.Duration(each * float64(time.Second)),
	}
}

// World is what is simulated.
type World struct {
	Shards    int           // records are spread by their id
	Workers   int           // each holds one job at a time
	Work      time.Duration // how long a job takes, in the mean
	Beat      time.Duration // between heartbeats
	Lease     time.Duration // how long a lease is given
	Dying     float64       // the part of jobs whose worker dies
	Sweep     time.Duration // between sweeps of a shard
	Probe     time.Duration // what a sweep costs that finds nothing: one look into the index
	Cost      Cost
	MaxBatch  int
	Simulated time.Duration
	Seed      uint64
}

// Outcome is what came out.
type Outcome struct {
	Transitions float64          // a second, over all shards
	Busy        float64          // the part of the time that the busiest shard was committing
	Latency     [3]time.Duration // p50, p99, p99.9 of a transition, its waiting included
	Batch       float64          // transitions of a batch, in the mean
	Met         float64          // claims that met another one in flight, and passed over its record
	Sweeping    float64          // the part of a shard's time that sweeps take
	Recovered   [2]time.Duration // p50 and p99 from the death of a worker until its job may be claimed again
	Died        int
}

// kind is what happens at an instant.
type kind uint8

const (
	arrive kind = iota // a transition asks to be committed
	finish             // a shard has committed its batch
	sweep              // a shard's sweeper looks
)

type happening struct {
	at    time.Duration
	order int // ties are played in the order of their making
	kind  kind
	shard int
	call  call
}

// call is a transition that somebody waits for.
type call struct {
	asked  time.Duration
	worker int // -1: the sweeper's
	step   step
}

type step uint8

const (
	claim step = iota
	start
	beat
	complete
	stall
	requeue
)

type agenda []happening

// Len, Less, Swap, Push and Pop make it a heap by time.
func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].order < a[j].order
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(happening)) }
func (a *agenda) Pop() any {
	old := *a
	last := old[len(old)-1]
	*a = old[:len(old)-1]
	return last
}

// shard is one database.
type shard struct {
	queue   []call
	batch   []call
	busy    time.Duration
	ended   []time.Duration // deaths: when the lease of the job was last given
	sweeps  time.Duration
	working bool
}

// worker is at one job.
type worker struct {
	until time.Duration // when the work is done
	dies  bool
	shard int
}

type play struct {
	w       World
	random  *rand.Rand
	now     time.Duration
	made    int
	agenda  agenda
	shards  []shard
	workers []worker
	took    []time.Duration
	gaps    []time.Duration
	sizes   int
	batches int
	claims  int
	met     int
	died    int
}

// Run plays the world.
func Run(w World) Outcome {
	p := &play{w: w, random: rand.New(rand.NewPCG(w.Seed, 1)), shards: make([]shard, w.Shards), workers: make([]worker, w.Workers)}
	for i := range p.workers { // they do not begin all at once
		p.ask(p.within(w.Work), p.random.IntN(w.Shards), i, claim)
	}
	for i := range p.shards {
		p.add(happening{at: p.within(w.Sweep), kind: sweep, shard: i})
	}
	for len(p.agenda) > 0 {
		h := heap.Pop(&p.agenda).(happening)
		if h.at > w.Simulated {
			break
		}
		p.now = h.at
		switch h.kind {
		case arrive:
			p.shards[h.shard].queue = append(p.shards[h.shard].queue, h.call)
			p.commit(h.shard)
		case finish:
			p.finish(h.shard)
		case sweep:
			p.sweep(h.shard)
		}
	}
	return p.outcome()
}

// within returns an instant before the end of a span, at random.
func (p *play) within(d time.Duration) time.Duration { return time.Duration(p.random.Int64N(int64(d))) }

func (p *play) add(h happening) {
	h.order = p.made
	p.made++
	heap.Push(&p.agenda, h)
}

func (p *play) ask(after time.Duration, shard, worker int, s step) {
	at := p.now + after
	p.add(happening{at: at, kind: arrive, shard: shard, call: call{asked: at, worker: worker, step: s}})
}

// commit begins a batch of all who wait, when none is being committed.
func (p *play) commit(i int) {
	s := &p.shards[i]
	if s.working || len(s.queue) == 0 {
		return
	}
	n := min(len(s.queue), p.w.MaxBatch)
	s.batch, s.queue = append(s.batch[:0], s.queue[:n]...), slices.Delete(s.queue, 0, n)
	s.working = true
	claiming := 0
	for _, c := range s.batch {
		if c.step == claim {
			claiming++
		}
	}
	p.claims += claiming
	p.met += max(0, claiming-1)
	took := p.w.Cost.Batch + time.Duration(n)*p.w.Cost.Each
	s.busy += took
	p.sizes += n
	p.batches++
	p.add(happening{at: p.now + took, kind: finish, shard: i})
}

// finish answers a batch; each worker goes on.
func (p *play) finish(i int) {
	s := &p.shards[i]
	s.working = false
	for _, c := range s.batch {
		p.took = append(p.took, p.now-c.asked)
		p.next(i, c)
	}
	p.commit(i)
}

// next is what follows a transition.
func (p *play) next(i int, c call) {
	switch c.step {
	case stall:
		p.ask(0, i, -1, requeue)
		return
	case requeue:
		return
	}
	w := &p.workers[c.worker]
	switch c.step {
	case claim:
		w.shard = i
		w.dies = p.random.Float64() < p.w.Dying
		w.until = p.now + time.Duration(p.random.ExpFloat64()*float64(p.w.Work))
		p.ask(0, i, c.worker, start)
	case start, beat:
		switch {
		case w.dies && p.now+p.w.Beat >= w.until: // it is not heard of again; another worker comes in its place
			s := &p.shards[i]
			s.ended = append(s.ended, p.now)
			p.died++
			p.ask(0, p.random.IntN(p.w.Shards), c.worker, claim)
		case p.now+p.w.Beat >= w.until:
			p.ask(max(0, w.until-p.now), i, c.worker, complete)
		default:
			p.ask(p.w.Beat, i, c.worker, beat)
		}
	case complete:
		p.ask(0, p.random.IntN(p.w.Shards), c.worker, claim)
	}
}

// sweep looks for leases that have ended: one look into the index, and a step for
// each that it finds.
func (p *play) sweep(i int) {
	s := &p.shards[i]
	s.sweeps += p.w.Probe
	left := s.ended[:0]
	for _, given := range s.ended {
		if given+p.w.Lease > p.now {
			left = append(left, given)
			continue
		}
		p.gaps = append(p.gaps, p.now-given)
		s.sweeps += p.w.Cost.Batch + p.w.Cost.Each
		p.ask(0, i, -1, stall)
	}
	s.ended = left
	p.add(happening{at: p.now + p.w.Sweep, kind: sweep, shard: i})
}

func (p *play) outcome() Outcome {
	slices.Sort(p.took)
	slices.Sort(p.gaps)
	at := func(d []time.Duration, part float64) time.Duration {
		if len(d) == 0 {
			return 0
		}
		return d[min(len(d)-1, int(part*float64(len(d))))]
	}
	o := Outcome{
		Transitions: float64(len(p.took)) / p.w.Simulated.Seconds(),
		Latency:     [3]time.Duration{at(p.took, 0.5), at(p.took, 0.99), at(p.took, 0.999)},
		Recovered:   [2]time.Duration{at(p.gaps, 0.5), at(p.gaps, 0.99)},
		Died:        p.died,
	}
	var sweeps time.Duration
	for _, s := range p.shards {
		o.Busy = max(o.Busy, s.busy.Seconds()/p.w.Simulated.Seconds())
		sweeps += s.sweeps
	}
	o.Sweeping = sweeps.Seconds() / p.w.Simulated.Seconds() / float64(p.w.Shards)
	if p.batches > 0 {
		o.Batch = float64(p.sizes) / float64(p.batches)
	}
	if p.claims > 0 {
		o.Met = float64(p.met) / float64(p.claims)
	}
	return o
}
