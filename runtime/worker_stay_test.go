package fsm_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	fsmworker "github.com/fsmgen/fsmgen/runtime/worker"
)

// The goroutines of a worker take one record after the other. One that its work ends, by
// Goexit, gives its place back, and another takes it.
func TestWorkerGoroutinesStay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		exits      bool
		goroutines int // at most
		done       string
	}{
		{"all return or panic", false, 2, "8 4 0"},
		{"some exit", true, 2 + 4, "8 0 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &hands{}
				var mu sync.Mutex
				by, n, now, most := map[string]bool{}, 0, 0, 0
				worker := w.start(t, newStore(), 12, func(ctx context.Context, h *handle) error {
					var stack [64]byte
					number, _, _ := strings.Cut(string(stack[:runtime.Stack(stack[:], false)]), " [")
					mu.Lock()
					by[number] = true
					n, now = n+1, now+1
					most = max(most, now)
					third := n%3 == 0
					mu.Unlock()
					defer func() {
						mu.Lock()
						now--
						mu.Unlock()
					}()
					time.Sleep(time.Second)
					if third && c.exits {
						runtime.Goexit()
					} else if third {
						panic("a panic of the work")
					}
					return w.send(ctx, h, "done")
				}, fsmworker.Options{Concurrency: 2})
				observed, _ := w.run(t, worker, 30*time.Second)
				counts := []int{strings.Count(observed, "done "), strings.Count(observed, "failed "), 12 - strings.Count(observed, "done ") -
					strings.Count(observed, "failed ")}
				check(t, "done, failed and left", c.done, strings.Trim(fmt.Sprint(counts), "[]"))
				if claimed := strings.Count(observed, "claimed "); claimed != 12 || most != 2 {
					t.Errorf("%d were claimed, at most %d at once; want 12 and 2", claimed, most)
				}
				if len(by) > c.goroutines {
					t.Errorf("%d goroutines worked, want at most %d", len(by), c.goroutines)
				}
			})
		})
	}
}
