package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Careless is callers who make one record for each job and do not know what an
// unknown outcome is: half of them ask again under a new request id, the other
// half take it for a failure. They are the control of the tests whose faults
// leave outcomes unknown.
type Careless struct {
	m    *lifecycle.Machine
	db   *sql.DB
	stop chan struct{}
	wg   sync.WaitGroup

	mu      sync.Mutex
	made    int      // jobs that were told to be made
	unknown int      // outcomes
	failed  []string // jobs that were taken for failed
}

// BeginCareless starts such callers over a store that was migrated for nobody
// else; db is on the same database.
func BeginCareless(ctx context.Context, callers int, store fsm.Store, db *sql.DB) (*Careless, error) {
	deaf := &Faulty{Store: store, Deaf: true}
	if err := lifecycle.Migrate(ctx, store); err != nil {
		return nil, err
	}
	m, err := lifecycle.Open(ctx, deaf)
	if err != nil {
		return nil, err
	}
	c := &Careless{m: m, db: db, stop: make(chan struct{})}
	for w := range callers {
		c.wg.Go(func() { c.call(ctx, w) })
	}
	return c, nil
}

func (c *Careless) call(ctx context.Context, w int) {
	for n := 0; ; n++ {
		job := fmt.Sprintf("%d.%d", w, n)
		for try := 0; ; try++ {
			select {
			case <-c.stop:
				return
			default:
			}
			name := fmt.Sprintf("%s.%d", job, try)
			_, err := c.m.Enqueue(Call(ctx), name, lifecycle.EnqueueInput{}, fsm.Call{RequestID: name, Reason: job})
			if err != nil && !Unknown(err) {
				time.Sleep(5 * time.Millisecond) // surely nothing was made
				continue
			}
			c.mu.Lock()
			if err != nil {
				c.unknown++
			}
			switch {
			case err == nil:
				c.made++
			case w%2 == 1:
				c.failed = append(c.failed, job)
			}
			c.mu.Unlock()
			if err == nil || w%2 == 1 {
				break
			}
		}
	}
}

// Made returns how many jobs were told to be made.
func (c *Careless) Made() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made
}

// Wrongs is what careless callers did.
type Wrongs struct {
	Made    int // jobs that were told to be made
	Unknown int // outcomes
	Doubled int // records beyond the first of a job
	Missed  int // jobs that were taken for failed, and are there
}

// Both reports whether both kinds of carelessness did harm.
func (w Wrongs) Both() bool { return w.Doubled > 0 && w.Missed > 0 }

// String returns the figures.
func (w Wrongs) String() string {
	return fmt.Sprintf("callers who repeat an unknown outcome under a new request id doubled %d, callers who take it for a failure missed %d (%d made, %d unknown)",
		w.Doubled, w.Missed, w.Made, w.Unknown)
}

// Look says what they did so far.
func (c *Careless) Look(ctx context.Context) (Wrongs, error) {
	c.mu.Lock()
	w := Wrongs{Made: c.made, Unknown: c.unknown}
	failed := make(map[string]bool, len(c.failed))
	for _, job := range c.failed {
		failed[job] = true
	}
	c.mu.Unlock()
	rows, err := c.db.QueryContext(ctx, `SELECT "id" FROM "lifecycle"`)
	if err != nil {
		return w, fmt.Errorf("look what careless callers did: %w", err)
	}
	defer rows.Close()
	seen := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return w, err
		}
		job := id[:strings.LastIndexByte(id, '.')]
		if seen[job] {
			w.Doubled++
		}
		seen[job] = true
	}
	for job := range failed {
		if seen[job] {
			w.Missed++
		}
	}
	return w, errors.Join(rows.Err(), rows.Close())
}

// End stops them.
func (c *Careless) End() {
	close(c.stop)
	c.wg.Wait()
}
