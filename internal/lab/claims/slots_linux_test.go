package claims_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/claims/slot"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
)

// drainer is a worker's process: each time that it is told to go on, it works until it
// hears that there is nothing to do while it holds nothing, and says since when.
func drainer(kind, address, name string, in io.Reader) error {
	ctx := context.Background()
	m, store, err := openSlots(ctx, kind, address)
	if err != nil {
		return err
	}
	defer store.Close()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		for {
			asked := time.Now()
			outs, err := m.ClaimN(ctx, 1+rand.IntN(2), fsm.Call{Actor: name})
			if errors.Is(err, fsm.ErrNothingToDo) {
				fmt.Println("nothing", asked.UnixMicro())
				break
			}
			for _, out := range outs {
				fmt.Println("begin", out.Record.ID)
			}
			time.Sleep(rand.N(3 * time.Millisecond))
			for _, out := range outs {
				if err == nil {
					_, err = m.Finish(ctx, out.Record, fsm.Call{})
				}
				if err == nil {
					fmt.Println("end", out.Record.ID)
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Jobs that are ready, that are not due, that a guard, a full lane or a taken key holds
// back: each is done once, by a worker that lived, however many processes work and
// whichever of them is killed. When all have heard that there is nothing to do, nothing is
// there that they could have taken. The server meets no deadlock.
func TestProcessesThatPark(t *testing.T) {
	t.Parallel()
	numbers := []int{3}
	if campaign.On() || *kills > 1 {
		numbers = []int{1, 3, 8}
	}
	for _, kind := range []string{"postgres", "sqlite"} {
		for _, n := range numbers {
			t.Run(fmt.Sprint(kind, " ", n), func(t *testing.T) {
				address := filepath.Join(t.TempDir(), "slots.db")
				if kind == "postgres" {
					address = pgtest.DSN(t)
				}
				parked(t, kind, address, n)
			})
		}
	}
}

// crew is the processes and what they are told.
type crew struct {
	all, live []*worker
	start     func(name string) *worker
}

func (c *crew) add() {
	w := c.start(fmt.Sprint("w", len(c.all)))
	c.all, c.live = append(c.all, w), append(c.live, w)
}

// heard waits until all that live have heard that there is nothing, and returns the
// time at which the first of them began to ask. Meanwhile is run again and again.
func (c *crew) heard(t *testing.T, meanwhile func()) (since time.Time) {
	for until := time.Now().Add(limit); ; time.Sleep(2 * time.Millisecond) {
		meanwhile()
		last, n := time.Now(), 0
		for _, w := range c.live {
			said := w.lines("nothing")
			if len(said) == w.told {
				n++
				at, _ := strconv.ParseInt(said[len(said)-1], 10, 64)
				last = earlier(last, time.UnixMicro(at))
			}
		}
		if n == len(c.live) {
			return last
		}
		if time.Now().After(until) {
			t.Fatalf("%d of %d processes have heard that there is nothing to do", n, len(c.live))
		}
	}
}

// goOn tells a worker to work until it hears that there is nothing to do.
func (w *worker) goOn() {
	w.told++
	fmt.Fprintln(w.in, "go")
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func parked(t *testing.T, kind, address string, processes int) {
	ctx := t.Context()
	m, store, err := openSlots(ctx, kind, address)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	random := rand.New(rand.NewPCG(uint64(processes), 3))
	c := &crew{start: func(name string) *worker { return start(t, "slots-"+kind, address, name, time.Now()) }}
	defer func() {
		for _, w := range c.live {
			w.kill()
		}
	}()
	for range processes {
		c.add()
	}
	rounds := *kills + 2
	number := 0
	for round := 0; ; round++ {
		var calls []made
		for number < *jobs && number < (round+1)**jobs/rounds {
			r := slot.SubmitInput{Rank: random.Int64N(5), ReadyAt: fsm.Some(time.Unix(0, 0))}
			switch number % 5 {
			case 0:
				r.ReadyAt = fsm.Some(time.Now().Add(time.Duration(random.IntN(400)) * time.Millisecond))
			case 1:
				r.Blocked = true
			case 2:
				r.Lane = fsm.Some(fmt.Sprint(random.IntN(2)))
			case 3:
				r.Key = fsm.Some(fmt.Sprint(random.IntN(2)))
			}
			calls = append(calls, made{fmt.Sprintf("j%05d", number), r})
			number++
		}
		if len(calls) > 0 {
			submitAll(t, m, calls)
		}
		for _, w := range c.live {
			w.goOn()
		}
		victim, before := (*worker)(nil), 0
		if round < *kills {
			victim = c.live[random.IntN(len(c.live))]
			before = len(victim.lines("begin"))
		}
		since := c.heard(t, func() {
			if victim == nil || len(victim.lines("begin")) == before && len(victim.lines("nothing")) < victim.told {
				return
			}
			victim.kill()
			c.live = slices.DeleteFunc(c.live, func(w *worker) bool { return w == victim })
			c.add()
			c.live[len(c.live)-1].goOn()
			victim = nil
		})
		if victim != nil {
			round-- // it was quiet before anybody was killed
		}
		left := quiet(t, m, since)
		if t.Failed() {
			return
		}
		if left == 0 && number == *jobs && round >= *kills {
			break
		}
		handBack(t, m, c)
		free(t, m, random)
	}
	for _, w := range c.live {
		w.in.Close()
		<-w.done
	}
	ended := map[string]int{}
	takenBack := 0
	for _, w := range c.all {
		begun, ends := w.words("begin"), w.words("end")
		for id := range begun {
			if !w.killed && begun[id] != ends[id] {
				t.Errorf("%s lived, began %s %d times and ended it %d times", w.name, id, begun[id], ends[id])
			}
			if begun[id] != ends[id] {
				takenBack++
			}
			ended[id] += ends[id]
		}
		for _, line := range w.said {
			if word, _, _ := strings.Cut(line, " "); word == "error" {
				t.Errorf("%s: %s", w.name, line)
			}
		}
	}
	done := 0
	for j, err := range m.List(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if done++; ended[j.ID] > 1 || j.State != slot.StateDone {
			t.Errorf("%s is %s and was done %d times", j.ID, j.State, ended[j.ID])
		}
	}
	for f, err := range audit.Run(ctx, m) {
		t.Errorf("audit: %v, %v", f, err)
	}
	deadlocks := 0
	c.live = nil
	store.Close()
	if kind == "postgres" {
		if deadlocks = pgtest.Deadlocks(t, address); deadlocks != 0 {
			t.Errorf("the server ended %d deadlocks", deadlocks)
		}
	}
	t.Logf("%s: %d processes, %d jobs done, %d killed, %d of the dead's done again, %d deadlocks, 0 done twice", kind, processes, done, *kills, takenBack, deadlocks)
}

// quiet demands that nothing is free that was so since a time, now that nobody works,
// and returns how many are left.
func quiet(t *testing.T, m *slot.Machine, since time.Time) (left int) {
	t.Helper()
	lanes, keys := map[string]int{}, map[string]bool{}
	var queued []slot.Slot
	for j, err := range m.List(t.Context(), slot.StateQueued, slot.StateRunning) {
		if err != nil {
			t.Fatal(err)
		}
		left++
		if j.State == slot.StateQueued {
			queued = append(queued, j)
			continue
		}
		if lane, ok := j.Lane.Get(); ok {
			lanes[lane]++
		}
		if key, ok := j.Key.Get(); ok {
			keys[key] = true
		}
	}
	for _, j := range queued {
		ready, due := j.ReadyAt.Get()
		if due && !ready.After(since) && !j.Blocked && j.Floor <= j.Rank && lanes[j.Lane.Or("")] < 2 && !keys[j.Key.Or("")] {
			t.Errorf("all heard that there is nothing to do, and %s is free: %+v", j.ID, j)
		}
	}
	return left
}

// handBack gives back what the dead hold.
func handBack(t *testing.T, m *slot.Machine, c *crew) {
	t.Helper()
	for j, err := range m.List(t.Context(), slot.StateRunning) {
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range c.all {
			if w.killed && w.name == j.Owner.Or("") {
				must(t)(m.Back(t.Context(), j, fsm.Call{}))
			}
		}
	}
}

// free frees half of those that are blocked by themselves, and one at least.
func free(t *testing.T, m *slot.Machine, random *rand.Rand) {
	t.Helper()
	n := 0
	for j, err := range m.List(t.Context(), slot.StateQueued) {
		if err != nil {
			t.Fatal(err)
		}
		if j.Blocked && (n == 0 || random.IntN(2) == 0) {
			n++
			must(t)(m.Edit(t.Context(), j, slot.EditInput{Lane: j.Lane, Key: j.Key, Rank: j.Rank, Floor: j.Floor, ReadyAt: j.ReadyAt}, fsm.Call{}))
		}
	}
}
