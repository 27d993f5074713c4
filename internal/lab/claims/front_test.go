package claims_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/claims/slot"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

var front = flag.Int("front", 40, "records in front that a pick cannot take")

// obstacles are records in front of all others that no pick can take now.
var obstacles = map[string]slot.SubmitInput{
	"time":          {ReadyAt: fsm.Some(time.Now().Add(1000 * time.Hour))},
	"its own":       {ReadyAt: fsm.Some(time.Unix(0, 0)), Floor: 9},
	"its own, bool": {ReadyAt: fsm.Some(time.Unix(0, 0)), Blocked: true},
	"fewer":         {ReadyAt: fsm.Some(time.Unix(0, 0)), Lane: fsm.Some("a")},
	"unique":        {ReadyAt: fsm.Some(time.Unix(0, 0)), Key: fsm.Some("x")},
}

// What stands in front is paid for once: then no pick reads it any more.
func TestFrontIsMetOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		for name, obstacle := range obstacles {
			t.Run(kind+"/"+name, func(t *testing.T) {
				m, store := slots(t, kind)
				for id, in := range map[string]slot.SubmitInput{"1": {Lane: fsm.Some("a"), Key: fsm.Some("x")}, "2": {Lane: fsm.Some("a")}} {
					must(t)(m.Submit(t.Context(), id, in, fsm.Call{}))
					must(t)(m.Rush(t.Context(), fsm.Ref{ID: id}, fsm.Call{Actor: "o", Reason: "test"}))
				}
				submit(t, m, slot.SubmitInput{Rank: 9, ReadyAt: fsm.Some(time.Unix(0, 0))}, 80)
				before := claims(t, m, 30)
				submit(t, m, obstacle, *front)
				once := claims(t, m, 1)
				after := claims(t, m, 30)
				t.Logf("%s, %s: %d in front: %.2f ms before, %.2f after, ratio %.2f; once %v",
					kind, name, *front, before[15].Seconds()*1e3, after[15].Seconds()*1e3, float64(after[15])/float64(before[15]), once[0])
				if n := inSight(t, store); n != 19 {
					t.Errorf("a pick has %d records in sight, want those that it can take: 19", n)
				}
			})
		}
	}
}

func must(t testing.TB) func(slot.Outcome, error) {
	return func(_ slot.Outcome, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func submit(t testing.TB, m *slot.Machine, in slot.SubmitInput, n int) {
	t.Helper()
	for list := range slices.Chunk(make([]made, n), 500) {
		for i := range list {
			list[i].in = in
		}
		submitAll(t, m, list)
	}
}

// made is a slot that is to be made.
type made struct {
	id string
	in slot.SubmitInput
}

func submitAll(t testing.TB, m *slot.Machine, list []made) {
	t.Helper()
	_, err := m.Batch(t.Context(), func(m *slot.Machine) error {
		for _, x := range list {
			if _, err := m.Submit(t.Context(), x.id, x.in, fsm.Call{}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// claims returns how long each of n claims took, in ascending order.
func claims(t testing.TB, m *slot.Machine, n int) []time.Duration {
	t.Helper()
	var took []time.Duration
	for range n {
		begin := time.Now()
		out, err := m.Claim(t.Context(), fsm.Call{Actor: "w"})
		if err != nil || out.Record.Rank != 9 {
			t.Fatalf("got %+v, %v", out.Record, err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took
}

// inSight counts what a pick looks at.
func inSight(t testing.TB, store fsm.Store) (n int64) {
	t.Helper()
	m, err := slot.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	op := m.Core().Descriptor().Operations
	i := slices.IndexFunc(op, func(o *fsmimpl.Operation[slot.Slot]) bool { return o.Picks })
	table, err := store.Table(m.Core().Descriptor().Schema)
	if err == nil {
		err = table.View(t.Context(), func(r driver.Reader) (err error) {
			n, err = r.Count(driver.Query{States: []string{"queued"}, Park: op[i].Parking})
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Who hears that there is nothing to do hears the truth: when all workers have heard it
// at a time when nobody moves anything, nothing is free.
func TestNobodyHearsNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m, store := slots(t, kind)
			for lane := range 3 {
				submit(t, m, slot.SubmitInput{Lane: fsm.Some(fmt.Sprint(lane)), Key: fsm.Some("x"), ReadyAt: fsm.Some(time.Unix(0, 0))}, 6)
				submit(t, m, slot.SubmitInput{Lane: fsm.Some(fmt.Sprint(lane)), Rank: 1, ReadyAt: fsm.Some(time.Unix(0, 0))}, 10)
			}
			var all sync.WaitGroup
			for w := range 6 {
				all.Go(func() {
					m, err := slot.Open(t.Context(), store)
					if err == nil {
						err = drain(t.Context(), m, w)
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			left, err := m.Count(t.Context(), slot.StateQueued, slot.StateRunning)
			if err != nil || left[slot.StateQueued]+left[slot.StateRunning] != 0 {
				t.Errorf("left are %v, %v; every worker heard that there is nothing to do", left, err)
			}
		})
	}
}

// drain claims and finishes until there is nothing to do while it holds nothing. All
// that is blocked is blocked by somebody who works, and who looks again afterwards.
func drain(ctx context.Context, m *slot.Machine, w int) error {
	for {
		outs, err := m.ClaimN(ctx, 1+w%2, fsm.Call{Actor: fmt.Sprint(w)})
		if errors.Is(err, fsm.ErrNothingToDo) {
			return nil
		}
		for _, out := range outs {
			if err == nil {
				_, err = m.Finish(ctx, out.Record, fsm.Call{})
			}
		}
		if err != nil {
			return err
		}
	}
}
