package claims_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/claims/parcel"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// shipping is a call on parcels that was taken, and when it began and ended.
type shipping struct {
	op, order    string
	request      string // of a call on each
	outs         []parcel.Outcome
	began, ended int64
}

// TestEachMeets: callers move all parcels of an order, and single ones, at once. A call on each takes all that were there
// when it was made, or finds that another call moved them; it has one event for each, and nothing of it is lost or doubled.
func TestEachMeets(t *testing.T) {
	t.Parallel()
	for kind, open := range map[string]func(t *testing.T) []fsm.Store{
		"memory": func(*testing.T) []fsm.Store { return []fsm.Store{memstore.New()} },
		"sqlite": func(t *testing.T) (list []fsm.Store) {
			file := filepath.Join(t.TempDir(), "parcels.db")
			for range 2 {
				s, err := sqlite.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, s)
			}
			return list
		},
		"postgres": func(t *testing.T) []fsm.Store {
			dsn := pgtest.DSN(t)
			return []fsm.Store{server(t, dsn), server(t, dsn), server(t, dsn)}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var machines []*parcel.Machine
			for _, store := range open(t) {
				t.Cleanup(func() { store.Close() })
				if err := parcel.Migrate(t.Context(), store); err != nil {
					t.Fatal(err)
				}
				m, err := parcel.Open(t.Context(), store)
				if err != nil {
					t.Fatal(err)
				}
				machines = append(machines, m)
			}
			var clock atomic.Int64
			taken, many := 0, 0
			for round := range 2 * rounds() {
				calls := meetParcels(t, machines, &clock, round)
				for _, c := range calls {
					if taken++; len(c.outs) > 1 {
						many++
					}
				}
				allTaken(t, machines[0], calls)
			}
			if many < rounds()/4 {
				t.Errorf("%d of %d calls moved several parcels; want more", many, taken)
			}
		})
	}
}

// meetParcels lets eight callers make four calls each at once, on two orders of a round.
func meetParcels(t *testing.T, machines []*parcel.Machine, clock *atomic.Int64, round int) (calls []shipping) {
	t.Helper()
	var lock sync.Mutex
	var wg sync.WaitGroup
	order := func(n int) string { return fmt.Sprintf("order-%d-%d", round, n%2) }
	plan := func(m *parcel.Machine, id string, n int) {
		s := shipping{op: "plan", order: order(n), began: clock.Add(1)}
		out, err := m.Plan(t.Context(), id, parcel.PlanInput{OrderID: s.order}, fsm.Call{})
		if err != nil {
			t.Error(err)
			return
		}
		s.outs, s.ended = []parcel.Outcome{out}, clock.Add(1)
		lock.Lock()
		calls = append(calls, s)
		lock.Unlock()
	}
	for i := range 8 {
		plan(machines[0], fmt.Sprintf("p%d-%d", round, i), i)
	}
	start := make(chan struct{})
	for caller := range 8 {
		m := machines[caller%len(machines)]
		random := rand.New(rand.NewPCG(uint64(round), uint64(caller)))
		wg.Go(func() {
			<-start
			for i := range 4 {
				time.Sleep(time.Duration(random.IntN(500)) * time.Microsecond)
				which := random.IntN(12)
				if which == 0 {
					plan(m, fmt.Sprintf("p%d-%d-%d", round, caller, i), random.IntN(2))
					continue
				}
				s := shipping{order: order(random.IntN(2)), request: fmt.Sprintf("r%d-%d-%d", round, caller, i), began: clock.Add(1)}
				err := shipParcels(t.Context(), m, &s, fsm.Ref{ID: fmt.Sprintf("p%d-%d", round, random.IntN(8))}, which)
				s.ended = clock.Add(1)
				lock.Lock()
				if err == nil {
					calls = append(calls, s)
				} else if unexpected(err) {
					t.Error(err)
				}
				lock.Unlock()
			}
		})
	}
	close(start)
	wg.Wait()
	return calls
}

func unexpected(err error) bool {
	for _, known := range []fsm.Code{
		fsm.ErrGuard, fsm.ErrWrongState, fsm.ErrTerminal, fsm.ErrBusy, fsm.ErrNothingToDo, fsm.ErrTooLarge,
	} {
		if errors.Is(err, known) {
			return false
		}
	}
	return true
}

// shipParcels makes one of the calls: half of them on each.
func shipParcels(ctx context.Context, m *parcel.Machine, s *shipping, ref fsm.Ref, which int) (err error) {
	one := func(out parcel.Outcome, failed error) {
		s.request, s.outs, err = "", []parcel.Outcome{out}, failed
	}
	by := fsm.Call{RequestID: s.request}
	carrier := "carrier of " + ref.ID[:len(ref.ID)-1]
	switch which {
	case 1, 2, 3:
		s.op = "pack"
		one(m.Pack(ctx, ref, parcel.PackInput{Carrier: carrier}, by))
	case 4:
		s.op = "seal"
		one(m.Seal(ctx, ref, by))
	case 5, 6:
		s.op = "cancel"
		one(m.Cancel(ctx, ref, parcel.CancelInput{Of: s.order}, by))
	case 7, 8:
		s.op = "send"
		s.outs, err = m.SendEach(ctx, parcel.SendInput{By: carrier}, by)
	case 9:
		s.op = "tag"
		s.outs, err = m.TagEach(ctx, parcel.TagInput{Name: s.request}, by)
	default:
		s.op = "cancel"
		s.outs, err = m.CancelEach(ctx, parcel.CancelInput{Of: s.order}, by)
	}
	return err
}

// allTaken demands of each call that cancelled an order that it took all parcels that were there when it was made, and did
// not leave for another end before it ended; and of each call on many that its request gives what it gave.
func allTaken(t *testing.T, m *parcel.Machine, calls []shipping) {
	t.Helper()
	leaves := func(id string, before int64) bool {
		return slices.ContainsFunc(calls, func(c shipping) bool {
			return c.began < before && slices.ContainsFunc(c.outs, func(o parcel.Outcome) bool {
				return o.Record.ID == id && (o.Record.State == parcel.StateSent || o.Record.State == parcel.StateCancelled)
			})
		})
	}
	for _, c := range calls {
		if c.request == "" {
			continue
		}
		ids := map[string]bool{}
		for i, o := range c.outs {
			ids[o.Record.ID] = true
			e := o.Events[0]
			if e.RequestN != int64(i) || e.RequestID != c.request || i > 0 && c.outs[i-1].Record.ID >= o.Record.ID {
				t.Errorf("%s %s: outcome %d is %s of request %s, number %d", c.op, c.order, i, o.Record.ID, e.RequestID, e.RequestN)
			}
		}
		if c.op == "cancel" {
			again, err := m.CancelEach(t.Context(), parcel.CancelInput{Of: c.order}, fsm.Call{RequestID: c.request})
			if err != nil || len(again) != len(c.outs) || !again[0].Replayed {
				t.Errorf("cancel %s again: %d outcomes, %v; want the %d of before", c.order, len(again), err, len(c.outs))
			}
		}
		for _, made := range calls {
			if c.op != "cancel" || made.op != "plan" || made.order != c.order || made.ended > c.began {
				continue
			}
			if id := made.outs[0].Record.ID; !ids[id] && !leaves(id, c.ended) {
				t.Errorf("cancel of %s left %s, which was there, and nobody else moved it", c.order, id)
			}
		}
	}
}

// TestEachAgainAtOnce: calls with one request id that meet have one outcome, however they wait for each other.
func TestEachAgainAtOnce(t *testing.T) {
	t.Parallel()
	for kind, open := range map[string]func(t *testing.T) []fsm.Store{
		"memory": func(*testing.T) []fsm.Store { return []fsm.Store{memstore.New()} },
		"postgres": func(t *testing.T) []fsm.Store {
			dsn := pgtest.DSN(t)
			return []fsm.Store{server(t, dsn), server(t, dsn)}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var machines []*parcel.Machine
			for _, store := range open(t) {
				t.Cleanup(func() { store.Close() })
				if err := parcel.Migrate(t.Context(), store); err != nil {
					t.Fatal(err)
				}
				m, err := parcel.Open(t.Context(), store)
				if err != nil {
					t.Fatal(err)
				}
				machines = append(machines, m)
			}
			for round := range 2 * rounds() {
				order, carrier := fmt.Sprint("order", round), fmt.Sprint("carrier", round)
				for i := range 3 {
					id := fmt.Sprintf("p%d-%d", round, i)
					if _, err := machines[0].Plan(t.Context(), id, parcel.PlanInput{OrderID: order}, fsm.Call{}); err != nil {
						t.Fatal(err)
					}
					if _, err := machines[0].Tag(t.Context(), fsm.Ref{ID: id}, parcel.TagInput{Name: order}, fsm.Call{}); err != nil {
						t.Fatal(err)
					}
					if _, err := machines[0].Pack(t.Context(), fsm.Ref{ID: id}, parcel.PackInput{Carrier: carrier}, fsm.Call{}); err != nil {
						t.Fatal(err)
					}
				}
				first, err := machines[0].SendEach(t.Context(), parcel.SendInput{By: carrier}, fsm.Call{})
				if err != nil || len(first) != 3 { // the second one moves them on
					t.Fatal(len(first), err)
				}
				for _, call := range []func(m *parcel.Machine) ([]parcel.Outcome, error){
					func(m *parcel.Machine) ([]parcel.Outcome, error) {
						return m.SendEach(t.Context(), parcel.SendInput{By: carrier}, fsm.Call{RequestID: "send " + order})
					},
					func(m *parcel.Machine) ([]parcel.Outcome, error) {
						return m.RecallEach(t.Context(), parcel.RecallInput{Tagged: order},
							fsm.Call{RequestID: "recall " + order, Actor: "ann", Reason: "asked"})
					},
					func(m *parcel.Machine) ([]parcel.Outcome, error) {
						return m.CancelEach(t.Context(), parcel.CancelInput{Of: order}, fsm.Call{RequestID: "cancel " + order})
					},
				} {
					var wg sync.WaitGroup
					for caller := range 4 {
						wg.Go(func() {
							outs, err := call(machines[caller%len(machines)])
							if err != nil || len(outs) != 3 {
								t.Errorf("%s: %d outcomes, %v; want 3", order, len(outs), err)
							}
						})
					}
					wg.Wait()
				}
			}
		})
	}
}
