package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// crowd is the suite's machine with a clock that stands, and thousands of records.
type crowd struct {
	*testing.T
	*fsm.Machine[storetest.Parcel]
	store fsm.Store
	table driver.Table
	mu    sync.Mutex
	now   time.Time
	calls []string // effects, and the ids of their records
	seen  func(calls []string) error
	sick  func(id string) bool  // the record is quarantined
	stays func(id string) error // why no sweep releases the record
}

// descriptor is the suite's, of which sick and stays are asked.
func (c *crowd) descriptor(schema *driver.Schema) *fsmimpl.Descriptor[storetest.Parcel] {
	d := storetest.Descriptor(schema)
	d.Check = func(p *storetest.Parcel) []fsm.Violation {
		if c.sick != nil && c.sick(p.ID) {
			return []fsm.Violation{{Rule: "is well", Must: true}}
		}
		return nil
	}
	for i, op := range d.Operations {
		if op.Name != "release" {
			continue
		}
		release := *op
		release.System = func(*storetest.Parcel, time.Time) (fsmimpl.Call[storetest.Parcel], error) {
			call := storetest.Release()
			decide := call.Decide
			call.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
				if err := c.stays(p.ID); err != nil {
					return fsmimpl.Step{}, err
				}
				return decide(p, id, peers, now)
			}
			return call, nil
		}
		d.Operations[i] = &release
	}
	return d
}

// crowds runs a test in memory, in a SQLite file and in a server's database.
func crowds(t *testing.T, f func(c *crowd), opts ...fsm.Option) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) (fsm.Store, error){
		"memory":   func(*testing.T) (fsm.Store, error) { return memstore.New(), nil },
		"sqlite":   func(t *testing.T) (fsm.Store, error) { return shared(t.Context(), filepath.Join(t.TempDir(), "x.db")) },
		"postgres": func(t *testing.T) (fsm.Store, error) { return shared(t.Context(), pgtest.DSN(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &crowd{T: t, now: time.Now().Truncate(time.Second)}
			schema := storetest.Schema()
			schema.SQL = generatedSQL(t)
			var err error
			if c.store, err = open(t); err == nil {
				t.Cleanup(func() { _ = c.store.Close() })
				c.table, err = c.store.Table(schema)
			}
			if err == nil {
				err = c.table.Migrate(t.Context())
			}
			effects := map[string]fsmimpl.EffectFunc[storetest.Parcel]{}
			for _, name := range []string{"charge", "carry", "notify"} {
				effects[name] = func(_ context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
					c.mu.Lock()
					defer c.mu.Unlock()
					c.calls = append(c.calls, name+" "+p.ID)
					return c.seen(c.calls)
				}
			}
			clock := fsm.WithClock(func() time.Time {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.now
			})
			if err == nil {
				c.Machine, err = fsm.NewMachine(t.Context(), c.store, c.descriptor(schema), effects, append(slices.Clone(opts), clock, fsm.WithCallerTime())...)
			}
			if err == nil {
				_, err = c.Startup(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			f(c)
		})
	}
}

// make makes records, from begin on, and takes each through the calls.
func (c *crowd) make(ids []string, calls ...func(id string) fsmimpl.Call[storetest.Parcel]) {
	c.Helper()
	for some := range slices.Chunk(ids, 500) {
		first := make([]fsmimpl.Call[storetest.Parcel], len(some))
		for i, id := range some {
			first[i] = storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: id, Lane: id})
		}
		outs, err := c.CreateMany(c.Context(), first)
		for _, call := range calls {
			items := make([]fsmimpl.Item[storetest.Parcel], len(outs))
			for i := range outs {
				items[i] = fsmimpl.Item[storetest.Parcel]{At: outs[i], Call: call(some[i])}
			}
			if err == nil {
				outs, err = c.ApplyMany(c.Context(), items)
			}
		}
		if err != nil {
			c.Fatal(err)
		}
	}
}

func (c *crowd) hold(id string) fsmimpl.Call[storetest.Parcel] {
	return storetest.Hold(storetest.Meta{Actor: "ann"}, id, c.now.Add(time.Hour))
}

func shelve(id string) fsmimpl.Call[storetest.Parcel] {
	return storetest.Shelve(storetest.Meta{}, "slot of "+id, "t")
}

func dispatch(string) fsmimpl.Call[storetest.Parcel] { return storetest.Dispatch(storetest.Meta{}) }
func send(string) fsmimpl.Call[storetest.Parcel]     { return storetest.Send(storetest.Meta{}) }

func names(prefix string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s%04d", prefix, i)
	}
	return ids
}

// Thousands of effects that fail, for the first time or again and again, hold up neither
// an effect of another name nor one of their own name that was not tried yet.
func TestFailingEffectsHoldUpNoOther(t *testing.T) {
	crowds(t, func(c *crowd) {
		const failing, few = 3000, 300
		// until delivers until these effects were performed.
		until := func(what string, wanted ...string) {
			ctx, end := context.WithCancel(c.Context())
			defer end()
			c.calls = nil
			c.seen = func(calls []string) error {
				if !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(calls, w) }) {
					end()
				}
				if slices.Contains(wanted, calls[len(calls)-1]) {
					return nil
				}
				return errors.New("no")
			}
			_, err := c.Deliver(ctx)
			if !errors.Is(err, context.Canceled) || len(c.calls) > few {
				c.Errorf("%s: %d effects were tried before %q (%.300v)", what, len(c.calls), wanted, err)
			}
		}
		c.make(names("bad ", failing), c.hold, shelve, dispatch)
		c.make([]string{"good"}, c.hold, shelve, send)
		until("all are due for the first time", "notify good")
		if err := c.table.Update(c.Context(), func(tx fsm.Tx) error {
			_, err := tx.Claim("carry", c.now, c.now.Add(time.Second), 0)
			return err
		}); err != nil {
			c.Fatal(err)
		}
		c.now = c.now.Add(10 * time.Minute)
		c.make([]string{"another"}, c.hold, shelve, send)
		c.make([]string{"fresh"}, c.hold, shelve, dispatch)
		until("all have failed", "notify another", "carry fresh")
	})
}

// A sweep reaches what stands behind thousands of records that are refused, and tells of
// those in one error for each way.
func TestSweepGoesOnBehindTheRefused(t *testing.T) {
	crowds(t, func(c *crowd) {
		const sick, failing, guarded = 2000, 1000, 1000
		odd := errors.New("odd")
		c.stays = func(id string) error {
			switch {
			case strings.HasPrefix(id, "failing"):
				return odd
			case strings.HasPrefix(id, "guarded"):
				return &fsm.Refusal{Code: fsm.ErrGuard, ID: id}
			}
			return nil
		}
		c.make(slices.Concat(names("sick ", sick), names("failing ", failing), names("guarded ", guarded), []string{"the last"}), c.hold)
		c.sick = func(id string) bool { return strings.HasPrefix(id, "sick") }
		c.now = c.now.Add(2 * time.Hour)
		n, err := c.Sweep(c.Context())
		if n != 1 || !errors.Is(err, odd) || !errors.Is(err, fsm.ErrQuarantined) {
			c.Errorf("swept %d (%.300v), want the last one", n, err)
		}
		counts := map[int]int{}
		list, _ := err.(interface{ Unwrap() []error })
		for list != nil && len(counts) < 9 {
			var next interface{ Unwrap() []error }
			for _, e := range list.Unwrap() {
				if many, ok := e.(*fsm.RecordsError); ok {
					counts[many.Count] = len(many.IDs)
				} else if next, ok = e.(interface{ Unwrap() []error }); !ok {
					counts[-1]++
				}
			}
			list = next
		}
		if lines := strings.Count(fmt.Sprint(err), "\n") + 1; lines != 2 || len(counts) != 2 || counts[sick] != 5 || counts[failing] != 5 {
			c.Errorf("%d lines tell of %v, want one for each way: %.600v", lines, counts, err)
		}
		if p, err := c.Record(c.Context(), "the last"); err != nil || p.State != "waiting" {
			c.Errorf("the last is %v (%v)", p, err)
		}
	})
}
