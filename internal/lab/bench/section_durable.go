package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/durable"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	"github.com/fsmgen/fsmgen/internal/lab/bench/simulate"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
)

// callers are the numbers of callers that databases are measured with.
var callers = []int{1, 16, 64, 256}

// fewCallers are those of the lower level of enforcement.
var fewCallers = []int{1, 64}

// levels are measured one after the other, the default first.
var levels = []struct {
	name    string
	callers []int
}{{durable.Full, callers}, {durable.Checks, fewCallers}}

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

// byLevel holds them by the level of enforcement.
type byLevel map[string]byCallers

// table writes a row per load and level: its rate with each number of callers and
// the ratio to ours at that level, and how long a transition took.
func (b byLevel) table(r *report) {
	header := []string{"a second, and how many times ours is of it", "level"}
	for _, n := range callers {
		header = append(header, plural(n, "caller"))
	}
	header = append(header, "p50, p99 with 64")
	var rows [][]string
	for _, l := range levels {
		level, got := l.name, b[l.name]
		for _, first := range got[callers[0]] {
			row := []string{first.Name, level}
			for _, n := range callers {
				if got[n] == nil {
					row = append(row, "–")
					continue
				}
				x, ours := got.of(n, first.Name), got.of(n, durable.Ours)
				cell := number(x.Median())
				if x.Name != durable.Ours {
					cell += " (" + number(ours.Times(x)) + " ×)"
				}
				row = append(row, cell)
			}
			x := got.of(64, first.Name)
			rows = append(rows, append(row, fmt.Sprintf("%s, %s", x.Percentile(50).Round(10*time.Microsecond), x.Percentile(99).Round(10*time.Microsecond))))
		}
	}
	r.table(header, rows)
}

// ratio is how many times as fast as another load ours is.
func (b byLevel) ratio(level string, n int, name string) float64 {
	return b[level].of(n, durable.Ours).Times(b[level].of(n, name))
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
	got := byLevel{}
	for _, l := range levels {
		level := l.name
		folder := filepath.Join(dir, level)
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
		got[level] = byCallers{}
		err = durable.SQLite(context.Background(), folder, level, measure.Turns{Rounds: o.rounds, Turn: o.turn}, l.callers, func(n int, rates []measure.Rate) { got[level][n] = rates })
		if err != nil {
			return err
		}
	}
	r.printf(`## Durable transitions: SQLite, synchronous=FULL

A heartbeat of a running job that its worker holds: the row moves on where id, revision, state and owner are what they
were, an event with the request id is added, and both are on the disk when the call returns. What is by hand writes into the
tables of the generated schema, at the same level of enforcement: full, the default, or checks, without the triggers that tie rows, events and
edges together. The append-only log and backlite do less and have no level: the one keeps no row and asks nothing, the other inserts one row.

`)
	got.table(r)
	full := got[durable.Full]
	r.costs[onSQLite] = full.cost()
	r.atLeast("SQLite, 1 caller: ours / prepared statements by hand", got.ratio(durable.Full, 1, durable.Prepared), 0.9, " ×")
	r.atLeast("SQLite, 1 caller: ours / prepared statements by hand, level checks", got.ratio(durable.Checks, 1, durable.Prepared), 0.9, " ×")
	r.atLeast("SQLite: 64 callers / 1 caller", full.of(64, durable.Ours).Times(full.of(1, durable.Ours)), 6, " ×")
	r.atLeast("SQLite, 64 callers: ours / group commit by hand", got.ratio(durable.Full, 64, durable.Grouped), 0.85, " ×")
	r.atLeast("SQLite, 64 callers: ours / group commit by hand, level checks", got.ratio(durable.Checks, 64, durable.Grouped), 0.85, " ×")
	return nil
}

// server boots PostgreSQL for a section; ok is false, and the reason is in the
// report, when there is none.
func server(r *report, title string) (dsn string, stop func(), ok bool, err error) {
	dsn, stop, err = pgtest.Boot("fsync=on", "synchronous_commit=on", "shared_buffers="+buffers(), "max_wal_size=4GB")
	if errors.Is(err, pgtest.ErrNoServer) {
		r.printf("## %s\n\nNot measured: %v.\n\n", title, err)
		return "", nil, false, nil
	}
	return dsn, stop, err == nil, err
}

// postgresSection writes the table of transitions on PostgreSQL.
func postgresSection(o options, r *report) error {
	const title = "Durable transitions: PostgreSQL, fsync=on, synchronous_commit=on"
	got := byLevel{}
	for _, l := range levels {
		level := l.name
		dsn, stop, ok, err := server(r, title)
		if !ok {
			return err
		}
		got[level] = byCallers{}
		err = durable.Postgres(context.Background(), dsn, level, measure.Turns{Rounds: o.rounds, Turn: o.turn}, l.callers, func(n int, rates []measure.Rate) { got[level][n] = rates })
		if stop(); err != nil {
			return err
		}
	}
	r.printf(`## %s

The same heartbeat, over a Unix socket, with 8 connections for each variant. By hand it is pgx, with prepared statements, into
the tables of the generated schema, at the same level of enforcement. Fewer connections than callers: they wait for one, or are taken along.

`, title)
	got.table(r)
	r.costs[onPostgres] = got[durable.Full].cost()
	for _, l := range levels {
		level, at := l.name, ""
		if level != durable.Full {
			at = ", level " + level
		}
		r.atLeast("PostgreSQL, 1 caller: ours / one CTE statement by hand"+at, got.ratio(level, 1, durable.CTE), 0.9, " ×")
		r.atLeast("PostgreSQL: 64 callers / naive six round trips with as many"+at, got.ratio(level, 64, durable.NaiveServer), 8, " ×")
		r.atLeast("PostgreSQL, 64 callers: ours / unnest batch by hand"+at, got.ratio(level, 64, durable.Unnest), 0.85, " ×")
	}
	return nil
}

// forms are how lives are asked for.
var forms = []durable.Form{{Workers: 16}, {Workers: 100}, {Workers: 1000}, {Workers: 1000, Batches: true}}

// livesRow returns a row of the table of lives, and adds its bar.
func livesRow(r *report, level string, l durable.Lives) []string {
	form, at := "single calls", ""
	if l.Batches {
		form = "100 at a time"
	}
	if level != durable.Full {
		at = ", level " + level
	}
	times := l.Ours.Times(l.River)
	each := times * ourRows / riverRows
	r.atLeast(fmt.Sprintf("job lives, %d workers, %s: ours / River%s", l.Workers, form, at), times, 1, " ×")
	if l.Batches { // what counts where the rate itself is below
		r.atLeast(fmt.Sprintf("job lives, %d workers, %s: ours / River, per durable row%s", l.Workers, form, at), each, 1, " ×")
	}
	return []string{plural(l.Workers, "worker"), form, level, number(l.Ours.Median()), number(l.River.Median()), number(times) + " ×", number(each) + " ×"}
}

// riverSection writes the table of whole lives of jobs beside River's.
func riverSection(o options, r *report) error {
	const title = "Whole lives of jobs on PostgreSQL, beside River"
	var rows [][]string
	for _, level := range levels {
		dsn, stop, ok, err := server(r, title)
		if !ok {
			return err
		}
		err = durable.River(context.Background(), dsn, level.name, o.rounds, o.jobs, forms, func(l durable.Lives) { rows = append(rows, livesRow(r, level.name, l)) })
		if stop(); err != nil {
			return err
		}
	}
	r.printf(`## %s

Ours: enqueue, claim, start, complete, each a transition with its event and its request id, every answer durable. River: insert, work
(nothing) and complete; it fetches many at a time and completes in the background in batches, and looks for work every millisecond
(FetchCooldown; its default is 100 ms). Both: fsync=on, synchronous_commit=on, %d jobs a round, from the first insert until the last job is
complete in the database. Level: how far our tables are guarded against hands at the prompt; full is the default. We write %d rows a job (4 versions of the record, 4 events), River %d (its row: inserted, fetched, completed).

`, title, o.jobs, ourRows, riverRows)
	r.table([]string{"jobs a second", "form", "our level", "fsmgen", "River", "ours / River", "per row written"}, rows)
	return nil
}

// What a job's life writes.
const (
	ourRows   = 8 // the record four times, four events
	riverRows = 3 // its row three times: inserted, fetched, completed
)
