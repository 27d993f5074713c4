package main

import (
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/simulate"
)

// Databases, as costs are named by.
const (
	onSQLite   = "SQLite"
	onPostgres = "PostgreSQL"
)

// usualCosts stand in where a run leaves the measurement out. They are of the
// order of those on a quiet machine of two cores.
var usualCosts = map[string]simulate.Cost{
	onSQLite:   {Batch: 200 * time.Microsecond, Each: 25 * time.Microsecond},
	onPostgres: {Batch: 400 * time.Microsecond, Each: 20 * time.Microsecond},
}

// worlds are the installations that are simulated.
var worlds = []struct {
	database string
	records  float64
	shards   int
	workers  int
	work     time.Duration
}{
	{onSQLite, 1e6, 1, 100, 10 * time.Second},
	{onSQLite, 1e7, 1, 10_000, 10 * time.Second},
	{onPostgres, 1e8, 1, 1000, 10 * time.Second},
	{onPostgres, 1e9, 1, 10_000, 10 * time.Second},
	{onPostgres, 1e9, 10, 10_000, 10 * time.Second},
	{onPostgres, 1e9, 10, 10_000, time.Second},
	{onPostgres, 1e9, 100, 10_000, 300 * time.Millisecond},
}

// scaleSection plays installations that are larger than what is measured.
func scaleSection(_ options, r *report) error {
	r.printf(`## On paper

A simulation of events (package simulate, a fixed seed, 90 s of virtual time): workers claim, start, send a heartbeat every 5 s and complete; one job of a hundred
loses its worker; leases are 30 s, a sweep looks every second. A batch of n transitions takes what was measured, fitted to the rates with 1 and with 64 callers
(by hand where this run left the measurement out). SCALING.md says what follows from it.

`)
	var rows [][]string
	for _, w := range worlds {
		cost, fitted := r.costs[w.database]
		if !fitted {
			cost = usualCosts[w.database]
		}
		o := simulate.Run(simulate.World{
			Shards: w.shards, Workers: w.workers, Work: w.work, Beat: 5 * time.Second, Lease: 30 * time.Second, Dying: 0.01,
			Sweep: time.Second, Probe: 300 * time.Microsecond, Cost: cost, MaxBatch: 128, Simulated: 90 * time.Second, Seed: 1,
		})
		rows = append(rows, []string{
			fmt.Sprintf("%s × %d, %s + n × %s", w.database, w.shards, cost.Batch.Round(time.Microsecond), cost.Each.Round(100*time.Nanosecond)),
			fmt.Sprintf("%.0e", w.records), count(w.workers), w.work.String(),
			number(o.Transitions), percent(o.Busy), number(o.Batch),
			milliseconds(o.Latency[0]) + ", " + milliseconds(o.Latency[1]) + ", " + milliseconds(o.Latency[2]),
			percent(o.Met), percent(o.Sweeping), fmt.Sprintf("%.1f s, %.1f s", o.Recovered[0].Seconds(), o.Recovered[1].Seconds()),
		})
	}
	r.table([]string{"databases, a batch of n", "records", "workers", "a job's work", "transitions a second", "busy", "in a batch", "p50, p99, p99.9",
		"claims that met another", "sweeping", "a dead worker's job is back after (p50, p99)"}, rows)
	return nil
}

func percent(part float64) string { return number(100*part) + " %" }
