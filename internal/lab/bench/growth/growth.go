package growth

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/bench/durable"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// unchecked leaves out the look at all records, which would go on in the background
// while others are measured; the audit does it.
var unchecked = fsm.WithOpenCheck(-1)

// Database is where a growing machine lives.
type Database struct {
	Name string
	open func(ctx context.Context, small bool) (*lifecycle.Machine, fsm.Store, error)
	fill func(ctx context.Context, small bool, t template, from, to int) error
	size func(ctx context.Context) (int64, error) // of the large one, in bytes
}

// SQLite is a database in a folder.
func SQLite(dir string) Database {
	path := func(small bool) string { return filepath.Join(dir, fmt.Sprint("small-", small, ".db")) }
	return Database{
		Name: "SQLite",
		open: func(ctx context.Context, small bool) (*lifecycle.Machine, fsm.Store, error) {
			return durable.OpenSQLite(ctx, path(small), unchecked)
		},
		fill: func(ctx context.Context, small bool, t template, from, to int) error {
			return fillSQLite(ctx, path(small), t, from, to)
		},
		size: func(context.Context) (int64, error) {
			info, err := os.Stat(path(false))
			if err != nil {
				return 0, err
			}
			return info.Size(), nil
		},
	}
}

// Postgres is a pair of empty databases of a server.
func Postgres(small, large string) Database {
	dsn := map[bool]string{true: small, false: large}
	return Database{
		Name: "PostgreSQL",
		open: func(ctx context.Context, small bool) (*lifecycle.Machine, fsm.Store, error) {
			return durable.OpenPostgres(ctx, dsn[small], unchecked)
		},
		fill: func(ctx context.Context, small bool, t template, from, to int) error {
			return fillPostgres(ctx, dsn[small], t, from, to)
		},
		size: func(ctx context.Context) (size int64, err error) {
			conn, err := pgx.Connect(ctx, large)
			if err != nil {
				return 0, err
			}
			defer conn.Close(ctx)
			err = conn.QueryRow(ctx, `SELECT pg_total_relation_size('lifecycle') + pg_total_relation_size('lifecycle_events')`).Scan(&size)
			return size, err
		},
	}
}

// At are the figures at one size. Beside each stands that of a database with
// Small records, measured in the same rounds.
type At struct {
	Records    int
	Filled     time.Duration // what filling up to here took
	Bytes      int64         // on the disk, right after it
	Transition [2]measure.Rate
	Replay     [2]measure.Rate
	Sweep      [2][]time.Duration // of 10 that are due
	Audit      time.Duration      // 0: not measured
	Memory     [2]uint64          // the most that the heap held, before and during the audit
}

// Small is how many records the database has that each size is compared with.
const Small = 1000

const due = 10 // records that a sweep finds due

// Options say how much is measured.
type Options struct {
	Sizes   []int // ascending
	Rounds  int
	Turn    time.Duration
	Callers int
	Audit   int // databases of up to so many records are audited
}

// side is one of the two databases that are compared.
type side struct {
	m, late *lifecycle.Machine // the clock of late is two hours ahead
	records int
	held    []lifecycle.Outcome // by callers, each its share
	next    []int
	n       atomic.Int64
}

// chosen is how many records each caller works on, chosen at random from all.
const chosen = 32

// Measure grows a database to each size and calls f with the figures there.
func Measure(ctx context.Context, db Database, o Options, f func(At)) error {
	t, err := claimed(ctx)
	if err != nil {
		return err
	}
	have := map[bool]int{}
	fill := func(small bool, to int) error {
		_, store, err := db.open(ctx, small) // makes the tables
		if err != nil {
			return err
		}
		if err := store.Close(); err != nil {
			return err
		}
		if err := db.fill(ctx, small, t, have[small], to); err != nil {
			return fmt.Errorf("fill up to %d records: %w", to, err)
		}
		have[small] = to
		return nil
	}
	if err := fill(true, Small); err != nil {
		return err
	}
	for _, n := range o.Sizes {
		at := At{Records: n}
		begun := time.Now()
		if err := fill(false, n); err != nil {
			return err
		}
		at.Filled = time.Since(begun)
		if at.Bytes, err = db.size(ctx); err != nil {
			return err
		}
		if err := measureAt(ctx, db, o, n, &at); err != nil {
			return fmt.Errorf("%d records: %w", n, err)
		}
		f(at)
	}
	return nil
}

func measureAt(ctx context.Context, db Database, o Options, n int, at *At) error {
	sides := [2]*side{}
	for i, records := range []int{Small, n} {
		m, store, err := db.open(ctx, i == 0)
		if err != nil {
			return err
		}
		defer store.Close()
		late, err := lifecycle.Open(ctx, store, fsm.WithClock(func() time.Time { return time.Now().Add(2 * time.Hour) }))
		if err != nil {
			return err
		}
		sides[i] = &side{m: m, late: late, records: records, next: make([]int, o.Callers)}
		if err := sides[i].choose(ctx, o.Callers*chosen); err != nil {
			return err
		}
	}
	t := measure.Turns{Rounds: o.Rounds, Turn: o.Turn, Callers: o.Callers}
	beats := []measure.Load{{Name: "small", Step: sides[0].beat}, {Name: "large", Step: sides[1].beat}}
	warm := t
	warm.Rounds = 1 // the first write to a page costs more, and a large database has more of them
	if _, err := measure.Rates(ctx, warm, beats...); err != nil {
		return err
	}
	rates, err := measure.Rates(ctx, t, beats...)
	if err != nil {
		return err
	}
	copy(at.Transition[:], rates)
	if rates, err = measure.Rates(ctx, t, measure.Load{Name: "small", Step: sides[0].replay}, measure.Load{Name: "large", Step: sides[1].replay}); err != nil {
		return err
	}
	copy(at.Replay[:], rates)
	for range o.Rounds {
		for i, s := range sides {
			took, err := s.sweep(ctx)
			if err != nil {
				return err
			}
			at.Sweep[i] = append(at.Sweep[i], took)
		}
	}
	if n > o.Audit {
		return nil
	}
	at.Audit, at.Memory, err = audit(ctx, sides[1].m)
	return err
}

// choose reads so many records at random.
func (s *side) choose(ctx context.Context, n int) error {
	seen := map[int]bool{}
	random := rand.New(rand.NewPCG(1, uint64(s.records)))
	for len(s.held) < n && len(seen) < s.records {
		i := random.IntN(s.records)
		if seen[i] {
			continue
		}
		seen[i] = true
		job, err := s.m.Record(ctx, id(i))
		if err != nil {
			return err
		}
		if job.State != lifecycle.StateClaimed {
			continue // swept at a smaller size
		}
		s.held = append(s.held, lifecycle.Outcome{Record: job})
	}
	return nil
}

// beat is a heartbeat of one of the caller's records.
func (s *side) beat(ctx context.Context, caller int) error {
	i := s.mine(caller)
	out, err := s.m.Heartbeat(ctx, s.held[i].Record, lifecycle.HeartbeatInput{Lease: lease}, fsm.Call{RequestID: fmt.Sprint("beat ", s.held[i].Record.Rev), Actor: worker})
	if err == nil {
		s.held[i] = out
	}
	return err
}

// mine returns the next of the caller's records.
func (s *side) mine(caller int) int {
	per := len(s.held) / len(s.next)
	s.next[caller]++
	return caller*per + s.next[caller]%per
}

// replay asks again for the creation of some record, as a client does that lost
// the answer.
func (s *side) replay(ctx context.Context, caller int) error {
	i := rand.IntN(s.records)
	out, err := s.m.Enqueue(ctx, id(i), lifecycle.EnqueueInput{Payload: payload}, fsm.Call{RequestID: request(i)})
	if err == nil && !out.Replayed {
		err = fmt.Errorf("the request of %s was not known", id(i))
	}
	return err
}

// sweep claims some more records for an hour, and measures the sweep that finds them
// when it is over.
func (s *side) sweep(ctx context.Context) (time.Duration, error) {
	for range due {
		job, err := s.m.Enqueue(ctx, "", lifecycle.EnqueueInput{Payload: payload}, fsm.Call{RequestID: driver.NewID()})
		if err != nil {
			return 0, err
		}
		in := lifecycle.ClaimNextInput{Lease: time.Now().Add(time.Hour)}
		if _, err := s.m.ClaimNextOf(ctx, job, in, fsm.Call{RequestID: "claim", Actor: worker}); err != nil {
			return 0, err
		}
	}
	begun := time.Now()
	n, err := s.late.Sweep(ctx)
	took := time.Since(begun)
	if err == nil && n != due {
		err = fmt.Errorf("a sweep took %d steps, expected %d", n, due)
	}
	return took, err
}

// audit audits all records, and watches the heap meanwhile. A finding is an error.
func audit(ctx context.Context, m *lifecycle.Machine) (took time.Duration, memory [2]uint64, err error) {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	memory[0] = stats.HeapAlloc
	var most atomic.Uint64
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				var stats runtime.MemStats
				runtime.ReadMemStats(&stats)
				most.Store(max(most.Load(), stats.HeapAlloc))
			}
		}
	}()
	begun := time.Now()
	for found, e := range m.Audit(ctx) {
		if err = e; err == nil {
			err = fmt.Errorf("the audit found %s", found)
		}
		break
	}
	took = time.Since(begun)
	close(done)
	<-watched
	memory[1] = most.Load()
	return took, memory, err
}

// Fold folds a log of so many events of one record and returns what it took.
func Fold(ctx context.Context, events int) (time.Duration, error) {
	t, err := claimed(ctx)
	if err != nil {
		return 0, err
	}
	log := append(make([]fsm.Event, 0, events), t.events...)
	beat := t.events[1]
	beat.Operation, beat.Name, beat.From, beat.To, beat.Image = "heartbeat", "heartbeat", "claimed", "claimed", fsm.JSON{}
	for rev := int64(3); len(log) < events; rev++ {
		ends := lease.Add(time.Duration(rev) * time.Second).Format(time.RFC3339Nano)
		beat.Rev, beat.RequestID = rev, fmt.Sprint("beat ", rev)
		beat.Inputs = fsm.MustJSON(`{"lease":"` + ends + `"}`)
		beat.Changes = beat.Inputs
		beat.Sum = driver.Checksum(&beat)
		log = append(log, beat)
	}
	begun := time.Now()
	job, err := lifecycle.Fold(log)
	took := time.Since(begun)
	if err == nil && job.Rev != int64(events) {
		err = fmt.Errorf("the fold came to revision %d of %d", job.Rev, events)
	}
	return took, err
}
