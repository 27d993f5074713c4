package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/bench/durable"
	"github.com/fsmgen/fsmgen/internal/lab/bench/load"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
)

// loadSection writes how the stores behave under more load than they can do at once.
func loadSection(o options, r *report) error {
	ctx := context.Background()
	dir, err := os.MkdirTemp(o.scratch, "fsmgen-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "load.db")
	m, store, err := durable.OpenSQLite(ctx, path)
	if err != nil {
		return err
	}
	defer store.Close()
	r.printf(`## Under load

64 callers on one hot record: each reads it, decides and writes, and begins again when another one was faster. And 64 callers who
hold a record each. *Fewest* is what the caller got who got the fewest, of an equal share.

`)
	header := []string{"64 callers", "a second", "p50", "p99", "p99.9", "fewest", "stale for each that succeeded"}
	var rows [][]string
	contend := func(name string, m *lifecycle.Machine) error {
		hot, err := load.Contend(ctx, m, measure.Turns{Rounds: o.rounds, Turn: 2 * o.turn, Callers: 64})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rows = append(rows, underLoad(name+", one record", hot.One, number(hot.Stale)), underLoad(name+", many records", hot.Many, "–"))
		r.atLeast(name+", 64 callers with a record each: the fewest of an equal share", hot.Many.Fairness(), 0.5, "")
		return nil
	}
	if err := contend("SQLite", m); err != nil {
		return err
	}
	dsn, stop, ok, err := server(r, "Under load on PostgreSQL")
	if err != nil {
		return err
	}
	if ok {
		defer stop()
		pm, ps, err := durable.OpenPostgres(ctx, dsn)
		if err != nil {
			return err
		}
		defer ps.Close()
		if err := contend("PostgreSQL", pm); err != nil {
			return err
		}
	}
	r.table(header, rows)

	s, err := load.Block(ctx, m, path, 4000, 2*time.Second, 500*time.Millisecond)
	if err != nil {
		return err
	}
	r.printf(`A store that cannot write: another program holds the file's write lock for 2 s, and %d callers come with a deadline of %s. 1 024 of them wait in the
queue, the others to be let in. %d ended with their context, %d were refused as busy (surely not applied), %d were done when the lock was
gone, %d are ambiguous. 99 of 100 had returned %s after their deadline at the latest; the last one, whose transaction waited for the lock itself, %s. The heap went from
%.1f to %.1f MB, %d goroutines stayed behind, and the next call after it succeeded: %t.

`, s.Calls, s.Deadline, s.Ended, s.Busy, s.Done, s.Ambiguous, milliseconds(s.Late), milliseconds(s.Latest), float64(s.Heap[0])/1e6, float64(s.Heap[1])/1e6, s.Left, s.Again == nil)
	r.atMost("slow store: 99 of 100 calls return after their deadline within", inMilliseconds(s.Late), 100, " ms")
	r.atMost("slow store: goroutines left behind", float64(s.Left), 0, "")

	e, err := load.Soak(ctx, m, 16, o.soak)
	if err != nil {
		return err
	}
	r.printf(`A soak of %s: 16 workers bring jobs to their end on SQLite, beside a sweeper; %s lives, and the audit of everything afterwards found %d faults.
The longer form is `+"`make bench-soak SOAK=10m`"+`.

`, e.Lasted, count(int(e.Lives)), e.Found)
	rows = [][]string{{"lives a second"}, {"heap without its garbage"}}
	for q := range 4 {
		rows[0] = append(rows[0], number(e.Rates[q]))
		rows[1] = append(rows[1], fmt.Sprintf("%.2f MB", float64(e.Heap[q])/1e6))
	}
	r.table([]string{"quarter of the soak", "first", "second", "third", "fourth"}, rows)
	r.atMost("soak: heap in the fourth quarter / in the second", float64(e.Heap[3])/float64(e.Heap[1]), 1.25, " ×")
	r.atMost("soak: findings of the audit", float64(e.Found), 0, "")
	return nil
}

func underLoad(name string, x measure.Rate, stale string) []string {
	row := []string{name, number(x.Median())}
	for _, p := range []float64{50, 99, 99.9} {
		row = append(row, milliseconds(x.Percentile(p)))
	}
	return append(row, number(x.Fairness()), stale)
}
