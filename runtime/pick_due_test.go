package fsm_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// rowCounter is a transaction that counts the rows its queries yield.
type rowCounter struct {
	fsm.Tx
	n *int
}

func (c rowCounter) Rows(q driver.Query) iter.Seq2[driver.Row, error] {
	return func(yield func(driver.Row, error) bool) {
		for row, err := range c.Tx.Rows(q) {
			if *c.n++; !yield(row, err) {
				return
			}
		}
	}
}

// holdDue picks a parcel of lane a whose time has come.
func holdDue(m storetest.Meta) fsmimpl.Call[storetest.Parcel] {
	c := storetest.Hold(m, "a", start)
	c.Where = append(c.Where, driver.Cond{Column: "created_at", Op: driver.OpLe, Now: true})
	c.Fits = func(p *storetest.Parcel, now time.Time) bool { return p.Lane == "a" && !p.CreatedAt.After(now) }
	return c
}

// What is not due stays with the store: a pick reads as many rows with many of
// them in front as with none.
func TestPickReadsNothingThatIsNotDue(t *testing.T) {
	t.Parallel()
	for _, single := range []bool{false, true} {
		store, read := &wrapped{Store: newStore(), single: single}, 0
		m := open(t, store, storetest.Schema(), fixed())
		store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
			return table.Update(ctx, func(tx fsm.Tx) error { return f(rowCounter{tx, &read}) })
		}
		picked := func(later int, want string) int {
			for i := range later {
				input := in(fmt.Sprintf("later%d", i))
				input.Weight = fsm.Some(int64(100 + i))
				with := meta("")
				with.At = start.Add(time.Hour)
				must(t)(m.Create(t.Context(), storetest.Register(with, input)))
			}
			waiting(t, m, want)
			read = 0
			outs, err := m.Pick(t.Context(), 1, holdDue(meta("")))
			if err != nil || len(outs) != 1 || outs[0].Record.ID != want {
				t.Errorf("got %v, %v, want %s", outs, err, want)
			}
			return read
		}
		if none, many := picked(0, "p1"), picked(400, "p2"); many != none {
			t.Errorf("single %v: %d rows were read with 400 in front that are not due, %d with none", single, many, none)
		}
		if _, err := m.Pick(t.Context(), 1, holdDue(meta(""))); !errors.Is(err, fsm.ErrNothingToDo) {
			t.Errorf("nothing is due: %v", err)
		}
	}
}

// Whatever the clock does, a pick takes the first of what is due at its time, and
// says that there is nothing only where nothing is.
func TestPickTakesWhatIsDue(t *testing.T) {
	t.Parallel()
	type job struct {
		id     string
		weight int64
		from   time.Time
	}
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 5))
		now := start
		m := open(t, &wrapped{Store: newStore(), single: seed%2 == 1}, storetest.Schema(), fsm.WithCallerTime(), fsm.WithClock(func() time.Time { return now }))
		var jobs []job
		someTime := func() time.Time { return start.Add(time.Duration(random.IntN(40)) * time.Microsecond) }
		for step := range 80 {
			if random.IntN(3) > 0 {
				j := job{fmt.Sprintf("j%02d", step), random.Int64N(6), someTime()}
				with, input := meta(""), in(j.id)
				with.At, input.Weight = j.from, fsm.Some(j.weight)
				must(t)(m.Create(t.Context(), storetest.Register(with, input)))
				jobs = append(jobs, j)
				continue
			}
			now = someTime()
			with, at, n := meta(""), now, 1+random.IntN(3)
			if random.IntN(3) == 0 {
				at = someTime()
				with.At = at
			}
			slices.SortFunc(jobs, func(a, b job) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.id, b.id)) })
			var want, got []string
			jobs = slices.DeleteFunc(jobs, func(j job) bool {
				take := len(want) < n && !j.from.After(at)
				if take {
					want = append(want, j.id)
				}
				return take
			})
			outs, err := m.Pick(t.Context(), n, holdDue(with))
			for _, out := range outs {
				got = append(got, out.Record.ID)
			}
			if !slices.Equal(got, want) || errors.Is(err, fsm.ErrNothingToDo) != (want == nil) || want != nil && err != nil {
				t.Fatalf("seed %d, step %d: got %v, %v, want %v", seed, step, got, err, want)
			}
		}
	}
}
