package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/bench/child"
	"github.com/fsmgen/fsmgen/internal/lab/bench/ours"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// small is what a database of many records is compared with.
const small = 1000

// growthRow compares transitions of records chosen at random among many and among few.
// The many are copies of one that the engine made; how, no column of it is named here.
func growthRow(ctx context.Context, l *lab, r *report) error {
	if l.dsn == "" {
		r.left("transition among many records", "there is no server")
		return nil
	}
	sides := []*side{{name: "few"}, {name: "many"}}
	beats := make([]func() error, len(sides))
	for i, records := range []int{small, l.records} {
		address, err := l.address(ctx, "postgres")
		if err != nil {
			return err
		}
		store, err := ours.Store(ctx, child.Config{Address: address})
		if err != nil {
			return err
		}
		l.ends = append(l.ends, store.Close)
		m, err := ours.Lifecycle(ctx, store)
		if err != nil {
			return err
		}
		lease := time.Now().Add(24 * time.Hour)
		job, err := m.Enqueue(ctx, "template", lifecycle.EnqueueInput{}, fsm.Call{RequestID: "made", Actor: "w"})
		if err == nil {
			_, err = m.ClaimNextOf(ctx, job, lifecycle.ClaimNextInput{Lease: lease}, fsm.Call{RequestID: "claim", Actor: "w"})
		}
		if err == nil {
			err = copies(ctx, address, records)
		}
		if err != nil {
			return err
		}
		beats[i] = func() error { return l.beats(ctx, m, records) }
	}
	for round := -1; round < l.rounds; round++ {
		for k := range sides {
			i := (k + round + 1) % len(sides)
			before, used, begun := l.busy(), child.Processor(), time.Now()
			if err := beats[i](); err != nil {
				return err
			}
			if round >= 0 {
				sides[i].note(beaten*beating, time.Since(begun), child.Processor()-used, l.spent(before))
			}
		}
	}
	slower := func(t turn) float64 { return 1 / t.rate }
	r.figure("many", count(l.records))
	r.figure("grown", number(sides[1].to(sides[0], slower)))
	r.atMost("growth", fmt.Sprintf("PostgreSQL: time of a transition among %s records / among %s", count(l.records),
		count(small)), 1.5, " ×",
		figure{"", sides[1].to(sides[0], slower)}, figure{"cost", sides[1].to(sides[0], turn.both)})
	for _, s := range sides {
		s.machine, s.processes, s.callers = "lifecycle", 1, beating
	}
	r.sides(fmt.Sprintf("Records chosen at random among %s and %s: read, then a heartbeat", count(small),
		count(l.records)), sides)
	return nil
}

// beating callers make so many heartbeats each, in a round.
const beating, beaten = 64, 40

func (l *lab) beats(ctx context.Context, m *lifecycle.Machine, records int) error {
	failed := make(chan error, beating)
	for c := range beating {
		go func() {
			var err error
			for n := 0; n < beaten && err == nil; n++ {
				i := rand.IntN(records/beating)*beating + c // no two callers want one record
				var job lifecycle.Job
				if job, err = m.Record(ctx, id(i)); err == nil {
					in := lifecycle.HeartbeatInput{Lease: job.Lease.Or(time.Time{}).Add(time.Second)}
					_, err = m.Heartbeat(ctx, job, in, fsm.Call{RequestID: fmt.Sprint("beat ", job.Rev), Actor: "w"})
				}
			}
			failed <- err
		}()
	}
	var err error
	for range beating {
		err = errors.Join(err, <-failed)
	}
	return err
}

func id(i int) string { return fmt.Sprintf("job-%010d", i) }

// copies adds records that are as the template but for ids and request ids. The triggers,
// which let nothing in that no operation wrote, stand aside meanwhile.
func copies(ctx context.Context, dsn string, n int) (err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	for _, table := range []string{"lifecycle", "lifecycle_events"} {
		var columns []string
		rows, err := conn.Query(ctx, `SELECT column_name FROM information_schema.columns WHERE table_name = $1`, table)
		if err == nil {
			columns, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		if err != nil {
			return err
		}
		values := make([]string, len(columns))
		for i, c := range columns {
			switch {
			case c == "id":
				values[i] = `'job-' || lpad(i::text, 10, '0')`
			case c == "request" || c == "request_id":
				values[i] = `"` + c + `" || ' ' || i`
			default:
				values[i] = `"` + c + `"`
			}
		}
		fill := fmt.Sprintf(`INSERT INTO %[1]q (%[2]s) SELECT %[3]s FROM generate_series(0, %[4]d) AS i, %[1]q WHERE id =
			'template'`,
			table, `"`+strings.Join(columns, `", "`)+`"`, strings.Join(values, ", "), n-1)
		for _, text := range []string{`ALTER TABLE ` + table + ` DISABLE TRIGGER USER`, fill, `ALTER TABLE ` + table + `
			ENABLE TRIGGER USER`} {
			if _, err := conn.Exec(ctx, text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
	}
	for _, text := range []string{"VACUUM (ANALYZE)", "CHECKPOINT"} { // or the server does both while others are measured
		if _, err := conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
