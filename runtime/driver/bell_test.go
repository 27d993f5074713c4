package driver_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// waiters starts n workers that wait for an hour, and returns how many have been woken.
func waiters(ctx context.Context, b *driver.Bell, queue string, n int) *atomic.Int64 {
	woken := new(atomic.Int64)
	for range n {
		go func() {
			begun := time.Now()
			b.Wait(ctx, queue, b.Mark(queue), time.Hour)
			if time.Since(begun) < time.Hour && ctx.Err() == nil {
				woken.Add(1)
			}
		}()
		synctest.Wait()
	}
	return woken
}

// As many are woken as were rung for, of that queue, and the rest is carried on.
func TestBellWakesAsMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var carried []string
		b := &driver.Bell{Carry: func(queue string, n int) { carried = append(carried, fmt.Sprint(queue, n)) }}
		a, other := waiters(ctx, b, "a", 5), waiters(ctx, b, "b", 2)
		b.Ring("a", 2)
		synctest.Wait()
		if a.Load() != 2 || other.Load() != 0 || carried != nil {
			t.Errorf("woken: %d and %d, carried %q; want 2, 0 and nothing", a.Load(), other.Load(), carried)
		}
		b.Ring("a", 7)
		synctest.Wait()
		if got := fmt.Sprint(carried); a.Load() != 5 || other.Load() != 0 || got != "[a4]" {
			t.Errorf("woken: %d and %d, carried %q; want 5, 0 and a4", a.Load(), other.Load(), carried)
		}
		b.All()
		synctest.Wait()
		if other.Load() != 2 {
			t.Errorf("All woke %d of 2", other.Load())
		}
		stop()
	})
}

// Who holds a record of this process is told of its move, and nobody else; a move of a
// record that nobody here holds is carried on. After All, each holder is told.
func TestBellTellsHolders(t *testing.T) {
	t.Parallel()
	heard := 0
	var told, carried []string
	b := &driver.Bell{Hear: func() { heard++ }, CarryMove: func(queue, id string) { carried = append(carried, queue+" "+id) }}
	expect := func(what, wantTold, wantCarried string) {
		t.Helper()
		slices.Sort(told)
		if got, carries := strings.Join(told, ","), strings.Join(carried, ","); got != wantTold || carries != wantCarried {
			t.Errorf("%s: told %q, carried %q; want %q and %q", what, got, carries, wantTold, wantCarried)
		}
		told, carried = nil, nil
	}
	hold := func(queue, id, who string) func() {
		return b.Hold(queue, id, func() { told = append(told, who) })
	}
	b.Moved("a", "1")
	expect("nobody holds it", "", "a 1")
	first, second := hold("a", "1", "w1"), hold("a", "1", "w2")
	hold("a", "2", "w3")
	hold("b", "1", "w4")
	b.Moved("a", "1")
	expect("two hold it", "w1,w2", "")
	first()
	first()
	b.Moved("a", "1")
	expect("one holds it", "w2", "")
	if !b.MovedNear("a", "") || b.MovedNear("c", "") {
		t.Error("MovedNear does not tell who holds a record of the queue")
	}
	expect("any of the queue", "w2,w3", "")
	b.All()
	expect("all", "w2,w3,w4", "")
	second()
	b.Moved("a", "1")
	expect("nobody holds it any more", "", "a 1")
	if heard != 1 {
		t.Errorf("Hear was called %d times", heard)
	}
}

// What is rung after the mark is not lost; what was rung before it wakes nobody.
func TestBellMark(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		heard := 0
		b := &driver.Bell{Hear: func() { heard++ }}
		b.Ring("a", 1)
		mark := b.Mark("a")
		b.Ring("b", 1)
		begun := time.Now()
		b.Wait(t.Context(), "a", mark, time.Minute)
		if got := time.Since(begun); got != time.Minute {
			t.Errorf("waited %v for a ring that was before the mark, want a minute", got)
		}
		b.Ring("a", 1)
		begun = time.Now()
		b.Wait(t.Context(), "a", mark, time.Minute)
		if got := time.Since(begun); got != 0 {
			t.Errorf("waited %v after a ring behind the mark", got)
		}
		if heard != 1 {
			t.Errorf("Hear was called %d times, want once", heard)
		}
	})
}

// Who stops waiting is not rung for: another one is woken.
func TestBellOfThoseWhoLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		leaving, leave := context.WithCancel(t.Context())
		staying, stop := context.WithCancel(t.Context())
		b := &driver.Bell{}
		waiters(leaving, b, "a", 3)
		stays := waiters(staying, b, "a", 1)
		leave()
		synctest.Wait()
		b.Ring("a", 1)
		synctest.Wait()
		if stays.Load() != 1 {
			t.Error("the ring went to somebody who had left")
		}
		stop()
	})
}
