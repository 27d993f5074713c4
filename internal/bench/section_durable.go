package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fsmgen/fsmgen/internal/bench/durable"
	"github.com/fsmgen/fsmgen/internal/bench/measure"
	"github.com/fsmgen/fsmgen/internal/bench/simulate"
	"github.com/fsmgen/fsmgen/internal/pgtest"
)

// callers are the numbers of callers that databases are measured with.
var callers = []int{1, 16, 64, 256}

// byCallers holds rates by the number of callers.
type byCallers map[int][]measure.Rate

func (b byCallers) of(callers int, name string) measure.Rate {
	for _, r := range b[callers] {
		if r.Name == name {
			return r
		}
	}
	panic("bench: nobody measured " + name) // the names are constants of package durable
}

// table writes a row per load: its rate with each number of callers and the ratio
// to ours, and how long a transition took.
func (b byCallers) table(r *report) {
	header := []string{"a second, and how many times ours is of it"}
	for _, n := range callers {
		header = append(header, plural(n, "caller"))
	}
	header = append(header, "p50, p99 with 64")
	var rows [][]string
	for _, first := range b[callers[0]] {
		row := []string{first.Name}
		for _, n := range callers {
			x, ours := b.of(n, first.Name), b.of(n, durable.Ours)
			cell := number(x.Median())
			if x.Name != durable.Ours {
				cell += " (" + number(ours.Times(x)) + " ×)"
			}
			row = append(row, cell)
		}
		x := b.of(64, first.Name)
		rows = append(rows, append(row, fmt.Sprintf("%s, %s", x.Percentile(50).Round(10*time.Microsecond), x.Percentile(99).Round(10*time.Microsecond))))
	}
	r.table(header, rows)
}

// cost derives what a batch of ours takes from the rates of one caller and of 64.
func (b byCallers) cost() simulate.Cost {
	return simulate.Fit(b.of(1, durable.Ours).Median(), b.of(64, durable.Ours).Median(), 64)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// sqliteSection writes the table of transitions in SQLite files.
func sqliteSection(o options, r *report) error {
	dir, err := os.MkdirTemp(o.scratch, "fsmgen-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	got := byCallers{}
	err = durable.SQLite(context.Background(), dir, measure.Turns{Rounds: o.rounds, Turn: o.turn}, callers, func(n int, rates []measure.Rate) { got[n] = rates })
	if err != nil {
		return err
	}
	r.printf(`## Durable transitions: SQLite, synchronous=FULL

A heartbeat of a running job that its worker holds: the row moves on where id, revision, state and owner are what they
were, an event with the request id is added, and both are on the disk when the call returns. What is by hand writes into the
tables of the generated schema, with its constraints and triggers (level full). The append-only log and backlite do less:
the one keeps no row and asks nothing, the other inserts one row.

`)
	got.table(r)
	r.costs[onSQLite] = got.cost()
	ratio := func(n int, name string) float64 { return got.of(n, durable.Ours).Times(got.of(n, name)) }
	r.atLeast("SQLite, 1 caller: ours / prepared statements by hand", ratio(1, durable.Prepared), 0.9, " ×")
	r.atLeast("SQLite: 64 callers / 1 caller", got.of(64, durable.Ours).Times(got.of(1, durable.Ours)), 6, " ×")
	r.atLeast("SQLite, 64 callers: ours / group commit by hand", ratio(64, durable.Grouped), 0.85, " ×")
	return nil
}

// server boots PostgreSQL for a section; ok is false, and the reason is in the
// report, when there is none.
func server(r *report, title string) (dsn string, stop func(), ok bool, err error) {
	dsn, stop, err = pgtest.Boot("fsync=on", "synchronous_commit=on", "shared_buffers=256MB", "max_wal_size=4GB")
	if errors.Is(err, pgtest.ErrNoServer) {
		r.printf("## %s\n\nNot measured: %v.\n\n", title, err)
		return "", nil, false, nil
	}
	return dsn, stop, err == nil, err
}

// postgresSection writes the table of transitions on PostgreSQL.
func postgresSection(o options, r *report) error {
	const title = "Durable transitions: PostgreSQL, fsync=on, synchronous_commit=on"
	dsn, stop, ok, err := server(r, title)
	if !ok {
		return err
	}
	defer stop()
	got := byCallers{}
	err = durable.Postgres(context.Background(), dsn, measure.Turns{Rounds: o.rounds, Turn: o.turn}, callers, func(n int, rates []measure.Rate) { got[n] = rates })
	if err != nil {
		return err
	}
	r.printf(`## %s

The same heartbeat, over a Unix socket, with 8 connections for each variant. By hand it is pgx, with prepared statements, into
the tables of the generated schema (level full). Fewer connections than callers: they wait for one, or are taken along.

`, title)
	got.table(r)
	r.costs[onPostgres] = got.cost()
	ratio := func(n int, name string) float64 { return got.of(n, durable.Ours).Times(got.of(n, name)) }
	r.atLeast("PostgreSQL, 1 caller: ours / one CTE statement by hand", ratio(1, durable.CTE), 0.9, " ×")
	r.atLeast("PostgreSQL: 64 callers / naive six round trips with as many", ratio(64, durable.NaiveServer), 8, " ×")
	r.atLeast("PostgreSQL, 64 callers: ours / unnest batch by hand", ratio(64, durable.Unnest), 0.85, " ×")
	return nil
}

// riverSection writes the table of whole lives of jobs beside River's.
func riverSection(o options, r *report) error {
	const title = "Whole lives of jobs on PostgreSQL, beside River"
	dsn, stop, ok, err := server(r, title)
	if !ok {
		return err
	}
	defer stop()
	var rows [][]string
	err = durable.River(context.Background(), dsn, o.rounds, o.jobs, []durable.Form{{Workers: 16}, {Workers: 100}, {Workers: 1000}, {Workers: 1000, Batches: true}}, func(l durable.Lives) {
		form := "single calls"
		if l.Batches {
			form = "100 at a time"
		}
		times := l.Ours.Times(l.River)
		rows = append(rows, []string{plural(l.Workers, "worker"), form, number(l.Ours.Median()), number(l.River.Median()), number(times) + " ×", number(times*ourRows/riverRows) + " ×"})
		r.atLeast(fmt.Sprintf("job lives, %d workers, %s: ours / River", l.Workers, form), times, 1, " ×")
	})
	if err != nil {
		return err
	}
	r.printf(`## %s

Ours: enqueue, claim, start, complete, each a transition with its event and its request id, every answer durable. River: insert, work
(nothing) and complete; it fetches many at a time and completes in the background in batches, and looks for work every millisecond
(FetchCooldown; its default is 100 ms). Both: fsync=on, synchronous_commit=on, %d jobs a round, from the first insert until the last job is
complete in the database. We write %d rows a job (4 versions of the record, 4 events), River %d (its row: inserted, fetched, completed).

`, title, o.jobs, ourRows, riverRows)
	r.table([]string{"jobs a second", "form", "fsmgen", "River", "ours / River", "per row written"}, rows)
	return nil
}

// What a job's life writes.
const (
	ourRows   = 8 // the record four times, four events
	riverRows = 3 // its row three times: inserted, fetched, completed
)
