package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/growth"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
)

// sizes are the numbers of records up to the greatest one, by factors of ten.
func sizes(most int) (list []int) {
	for n := growth.Small; n <= most; n *= 10 {
		list = append(list, n)
	}
	return list
}

// growthSection writes what grows with the number of records, and what does not.
func growthSection(o options, r *report) error {
	ctx := context.Background()
	r.printf(`## Growth

Records with a live lease, filled in as copies of one that the engine made (two events each); the audit finds nothing wrong with
them. Transitions and replays by 64 callers: heartbeats of %d records chosen at random, and the request that made a record, any one, asked
again. Beside each figure, in the same rounds, stands a database of %d records; the ratio is to that one. A sweep finds 10 leases that have ended. An audit is of up to 1 000 000 records. A round before the first one warms up.

`, 64*32, growth.Small)
	dir, err := os.MkdirTemp(o.scratch, "fsmgen-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := growing(ctx, o, r, growth.SQLite(dir), 1_000_000); err != nil {
		return err
	}
	dsn, stop, ok, err := server(r, "Growth on PostgreSQL")
	if err != nil {
		return err
	}
	if ok {
		defer stop()
		small, err := database(ctx, dsn, "fsmgen_bench_small")
		if err != nil {
			return err
		}
		large, err := database(ctx, dsn, "fsmgen_bench_large")
		if err != nil {
			return err
		}
		if err := growing(ctx, o, r, growth.Postgres(small, large), 0); err != nil {
			return err
		}
	}
	var rows [][]string
	for _, n := range sizes(min(o.records, 1_000_000)) {
		var took []float64
		for range o.rounds {
			d, err := growth.Fold(ctx, n)
			if err != nil {
				return err
			}
			took = append(took, float64(d.Nanoseconds()))
		}
		all := measure.Median(took)
		rows = append(rows, []string{count(n), milliseconds(time.Duration(all)), number(all / float64(n))})
	}
	r.table([]string{"fold of one record's log: events", "time", "ns an event"}, rows)
	return nil
}

func growing(ctx context.Context, o options, r *report, db growth.Database, audited int) error {
	var rows [][]string
	options := growth.Options{Sizes: sizes(o.records), Rounds: o.rounds, Turn: o.turn, Callers: 64, Audit: audited}
	err := growth.Measure(ctx, db, options, func(at growth.At) {
		slower := func(x [2]measure.Rate) float64 { return x[0].Times(x[1]) }
		sweep := [2]time.Duration{}
		for i := range sweep {
			var took []float64
			for _, d := range at.Sweep[i] {
				took = append(took, float64(d))
			}
			sweep[i] = time.Duration(measure.Median(took))
		}
		row := []string{count(at.Records), number(at.Filled.Seconds()) + " s", number(float64(at.Bytes) / float64(at.Records)),
			number(at.Transition[1].Median()), number(slower(at.Transition)) + " ×",
			number(at.Replay[1].Median()), number(slower(at.Replay)) + " ×", milliseconds(sweep[1]) + " (" + milliseconds(sweep[0]) + ")"}
		if audited > 0 && at.Audit == 0 {
			row = append(row, "–", "–")
		} else if audited > 0 {
			row = append(row, fmt.Sprintf("%s s, %s", number(at.Audit.Seconds()), number(float64(at.Audit.Microseconds())/float64(at.Records))+" µs"),
				fmt.Sprintf("%.0f → %.0f MB", float64(at.Memory[0])/1e6, float64(at.Memory[1])/1e6))
		}
		rows = append(rows, row)
		fmt.Fprintf(os.Stderr, "bench: %s, %s records: a transition takes %s × of that with 1 000\n", db.Name, count(at.Records), number(slower(at.Transition)))
		if at.Records == o.records && at.Records > growth.Small {
			what := fmt.Sprintf("%s, %s records", db.Name, count(at.Records))
			r.atMost(what+": time of a transition / with 1 000", slower(at.Transition), 1.5, " ×")
			r.atMost(what+": time of a replay / with 1 000", slower(at.Replay), 1.5, " ×")
			r.atMost(what+": sweep of 10 that are due", inMilliseconds(sweep[1]), 5, " ms")
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", db.Name, err)
	}
	header := []string{db.Name + ": records", "filled in", "bytes a record", "transitions a second", "time / with 1 000", "replays a second", "time / with 1 000", "sweep (with 1 000)"}
	if audited > 0 {
		header = append(header, "audit, a record", "heap before, at most")
	}
	r.table(header, rows)
	return nil
}

// count writes a number with blanks between thousands.
func count(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s %03d", count(n/1000), n%1000)
}

// database makes an empty database on the server and returns its address.
func database(ctx context.Context, dsn, name string) (string, error) {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return "", err
	}
	defer db.Close()
	for _, text := range []string{`DROP DATABASE IF EXISTS "` + name + `" WITH (FORCE)`, `CREATE DATABASE "` + name + `"`} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return "", fmt.Errorf("%s: %w", text, err)
		}
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}
