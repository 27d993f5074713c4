package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/child"
	"github.com/fsmgen/fsmgen/internal/lab/bench/jobs"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	"github.com/fsmgen/fsmgen/internal/lab/bench/ours"
	"github.com/fsmgen/fsmgen/internal/lab/claims/slot"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// jobRows compares whole lives of jobs with River's.
func jobRows(ctx context.Context, l *lab, r *report) error {
	if l.dsn == "" {
		r.left("whole lives of jobs beside River", "there is no server")
		return nil
	}
	var all []*side
	for _, x := range []struct {
		key       string
		processes int
		workers   []int
		bars      []float64
		what      string
	}{
		{"jobs-one", 1, []int{16, 100, 1000}, []float64{1.5, 2, 2}, "one process"},
		{"jobs-four", 4, []int{16, 100}, []float64{1, 2}, "four processes"},
	} {
		for i, n := range x.workers {
			mine := &side{name: "ours", processes: x.processes, callers: n / x.processes}
			river := &side{name: "River", processes: x.processes, callers: n / x.processes}
			alike := &side{name: "ours, riverjob", processes: x.processes, callers: n / x.processes}
			if err := l.lives(ctx, mine, alike, river); err != nil {
				return err
			}
			all = append(all, mine, alike, river)
			r.atLeast(x.key, fmt.Sprintf("whole lives of jobs, %d inserters + %d workers in all, %s: rate / River's", n, n,
				x.what), x.bars[i], " ×",
				figure{"lifecycle", mine.to(river, rate)}, figure{"riverjob", alike.to(river, rate)})
		}
	}
	r.sides("Whole lives of jobs", all)
	return nil
}

// lives lets both sides bring jobs from their making to their end, in turns.
func (l *lab) lives(ctx context.Context, sides ...*side) (err error) {
	defer func() {
		for _, s := range sides {
			err = errors.Join(err, s.end())
		}
	}()
	for _, s := range sides {
		s.machine, s.database = "jobs", "postgres"
		if err := l.start(ctx, s); err != nil {
			return err
		}
	}
	for round := -1; round < l.rounds; round++ {
		for k := range sides {
			s := sides[(k+round+1)%len(sides)]
			counts, err := s.commanded("count")
			if err != nil {
				return err
			}
			n, used := total(counts)
			before, begun, share := l.busy(), time.Now(), l.jobs/s.processes
			if _, err := s.commanded(fmt.Sprint("insert ", share)); err != nil {
				return err
			}
			for done := n; done < n+share*s.processes; {
				time.Sleep(2 * time.Millisecond)
				if counts, err = s.commanded("count"); err != nil {
					return err
				}
				done, _ = total(counts)
				if time.Since(begun) > 2*time.Minute {
					return fmt.Errorf("%s: only %d of %d jobs are complete after two minutes", s.name, done-n, l.jobs)
				}
			}
			took, server := time.Since(begun), l.spent(before)
			_, client := total(counts)
			if round >= 0 {
				s.note(share*s.processes, took, client-used, server)
			}
		}
	}
	return nil
}

func total(answers []child.Answer) (n int, used time.Duration) {
	for _, a := range answers {
		n, used = n+a.N, used+a.Processor
	}
	return n, used
}

// latencyRow compares how long a job waits in an idle queue, whose four workers are in
// processes of their own: from the call that makes it to the begin of the work.
func latencyRow(ctx context.Context, l *lab, r *report) error {
	if l.dsn == "" {
		r.left("latency from enqueue to start", "there is no server")
		return nil
	}
	sides := []*side{{name: "ours", machine: "jobs", database: "postgres", processes: 4, callers: 1}, {name: "River",
		machine: "jobs", database: "postgres", processes: 4, callers: 1}}
	took := make([][]float64, len(sides))
	inserters := make([]jobs.Inserter, len(sides))
	begun := make([]chan child.Answer, len(sides))
	defer func() {
		for _, s := range sides {
			for _, p := range s.list {
				_ = p.cmd.Process.Kill() // it waits for a job that does not come
				_ = p.cmd.Wait()
			}
		}
	}()
	for i, s := range sides {
		address, err := l.address(ctx, s.database)
		if err != nil {
			return err
		}
		if err := l.startAt(ctx, s, address); err != nil {
			return err
		}
		if inserters[i], err = jobs.NewInserter(ctx, child.Config{Side: s.name, Database: s.database, Address: address,
			Name: "inserter"}); err != nil {
			return err
		}
		l.ends = append(l.ends, inserters[i].Close)
		begun[i] = make(chan child.Answer)
		for _, p := range s.list {
			go func() {
				for p.ask("begun") == nil {
					a, err := p.answer()
					if err != nil {
						return // the process has ended
					}
					begun[i] <- a
				}
			}()
		}
	}
	for n := range l.waits + l.waits/10 { // the first tenth opens connections
		for i := range sides {
			time.Sleep(5*time.Millisecond + rand.N(20*time.Millisecond))
			asked := time.Now()
			if err := inserters[i].Insert(ctx); err != nil {
				return err
			}
			select {
			case a := <-begun[i]:
				if n >= l.waits/10 {
					took[i] = append(took[i], float64(a.At-asked.UnixNano())/1e6)
				}
			case <-time.After(time.Minute):
				return fmt.Errorf("%s: a job was not begun within a minute", sides[i].name)
			}
		}
	}
	at := func(i int, p float64) float64 {
		slices.Sort(took[i])
		return took[i][int(p*float64(len(took[i])-1))]
	}
	r.atMost("latency", "latency from enqueue to start, idle, four processes: / River's", 1, " ×",
		figure{"p50", at(0, 0.5) / at(1, 0.5)}, figure{"p99", at(0, 0.99) / at(1, 0.99)})
	var rows [][]string
	for i, s := range sides {
		rows = append(rows, []string{s.name, number(at(i, 0.5)), number(at(i, 0.9)), number(at(i, 0.99)), number(at(i, 1))})
	}
	r.table(fmt.Sprintf("Latency of %d jobs of each side, ms", l.waits), []string{"side", "p50", "p90", "p99", "most"},
		rows)
	return nil
}

// front are records that a claim cannot take, in front of all that it can.
const front = 20_000

// claimRows compares claims with such records in front with claims without.
func claimRows(ctx context.Context, l *lab, r *report) error {
	obstacles := []struct {
		name string
		in   slot.SubmitInput
	}{
		{"not due", slot.SubmitInput{ReadyAt: fsm.Some(time.Now().Add(1000 * time.Hour))}},
		{"blocked by their lane", slot.SubmitInput{ReadyAt: fsm.Some(time.Unix(0, 0)), Lane: fsm.Some("a")}},
	}
	n := front
	if l.short {
		n /= 10
	}
	var got []figure
	var rows [][]string
	for _, database := range []string{"postgres", "sqlite"} {
		if database == "postgres" && l.dsn == "" {
			continue
		}
		for _, o := range obstacles {
			with, first, err := l.queue(ctx, database, o.in, n, 60*l.rounds)
			if err != nil {
				return err
			}
			without, _, err := l.queue(ctx, database, o.in, 0, 60*l.rounds)
			if err != nil {
				return err
			}
			var ratios, took []float64
			for range l.rounds {
				var each [2]float64
				for range 50 {
					for i, claim := range []func() (time.Duration, error){with, without} {
						d, err := claim()
						if err != nil {
							return err
						}
						each[i] += d.Seconds() * 1e3 / 50
					}
				}
				ratios, took = append(ratios, each[0]/each[1]), append(took, each[0])
			}
			got = append(got, figure{database + ", " + o.name, measure.Median(ratios)})
			rows = append(rows, []string{database, o.name, number(first.Seconds()), number(measure.Median(took)),
				number(measure.Median(ratios))})
		}
	}
	r.atMost("claims", fmt.Sprintf("claim among %s that are not due or blocked / among none", count(n)), 1.5, " ×",
		got...)
	r.table("Claims with others in front", []string{"database", "in front", "the first claim, which meets them all, s",
		"then ms", "/ among none"}, rows)
	return nil
}

// queue fills a queue and returns what claims one more, after the first claim.
func (l *lab) queue(ctx context.Context, database string, obstacle slot.SubmitInput, before,
	behind int) (claim func() (time.Duration, error), first time.Duration, err error) {
	address, err := l.address(ctx, database)
	if err != nil {
		return nil, 0, err
	}
	store, err := ours.Store(ctx, child.Config{Database: database, Address: address})
	if err != nil {
		return nil, 0, err
	}
	l.ends = append(l.ends, store.Close)
	if err := slot.Migrate(ctx, store); err != nil {
		return nil, 0, err
	}
	m, err := slot.Open(ctx, store)
	if err != nil {
		return nil, 0, err
	}
	for _, id := range []string{"1", "2"} { // they fill the lane
		if _, err := m.Submit(ctx, id, slot.SubmitInput{Lane: fsm.Some("a")}, fsm.Call{}); err != nil {
			return nil, 0, err
		}
		if _, err := m.Rush(ctx, fsm.Ref{ID: id}, fsm.Call{Actor: "o", Reason: "bench"}); err != nil {
			return nil, 0, err
		}
	}
	submit := func(in slot.SubmitInput, n int) error {
		for ; n > 0; n -= 500 {
			if _, err := m.Batch(ctx, func(m *slot.Machine) error {
				for range min(n, 500) {
					if _, err := m.Submit(ctx, "", in, fsm.Call{}); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := errors.Join(submit(obstacle, before), submit(slot.SubmitInput{Rank: 9, ReadyAt: fsm.Some(time.Unix(0,
		0))}, behind)); err != nil {
		return nil, 0, err
	}
	claim = func() (time.Duration, error) {
		begun := time.Now()
		out, err := m.Claim(ctx, fsm.Call{Actor: "w"})
		if err == nil && out.Record.Rank != 9 {
			err = fmt.Errorf("a claim took %s, which is blocked", out.Record.ID)
		}
		return time.Since(begun), err
	}
	first, err = claim()
	return claim, first, err
}
