package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/runtime/console/internal/slip"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// slow is a store whose counts take a while.
type slow struct {
	*memstore.Store
	counts atomic.Int64
	stuck  atomic.Bool // it does not answer in time
}

type slowTable struct {
	driver.Table
	of *slow
}

type slowReader struct {
	driver.Reader
	of  *slow
	ctx context.Context
}

func (s *slow) Table(schema *driver.Schema) (driver.Table, error) {
	t, err := s.Store.Table(schema)
	return slowTable{t, s}, err
}

func (t slowTable) View(ctx context.Context, f func(driver.Reader) error) error {
	return t.Table.View(ctx, func(r driver.Reader) error { return f(slowReader{r, t.of, ctx}) })
}

func (r slowReader) CountStates(most int) (map[string]int64, error) {
	r.of.counts.Add(1)
	if r.of.stuck.Load() {
		<-r.ctx.Done()
		return nil, r.ctx.Err()
	}
	time.Sleep(100 * time.Millisecond)
	return r.Reader.CountStates(most)
}

var openCount = regexp.MustCompile(`state=open"><span class="badge">open</span></a></th><td class="number">(\d+)`)

// However many people look, states are counted by one of them at a time, and for a small part of the time. A page whose counts are older
// than the log is told so at once, and of a log that rests nothing is counted.
func TestCountsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{Store: memstore.New()}
		m := slips(t, s, nil)
		make1(t, m, "a")
		h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
		look := func() (count, mark, body string) {
			_, body = get(t, h, "/here/slip/")
			if found := openCount.FindStringSubmatch(body); found != nil {
				count = found[1]
			}
			return count, regexp.MustCompile(`changes\?after=([^"]*)"`).FindString(body), body
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if count, _, _ := look(); count != "1" {
					t.Errorf("%s are open, want 1", count)
				}
			})
		}
		all.Wait()
		if n := s.counts.Load(); n != 1 {
			t.Errorf("20 viewers had it counted %d times", n)
		}
		make1(t, m, "b")
		count, mark, body := look()
		if count != "1" || strings.Contains(body, "Counted <time") {
			t.Errorf("at once %s are open, want 1", count)
		}
		time.Sleep(1500 * time.Millisecond) // it took 100 ms, so it is shown for 2 s
		if count, again, body := look(); count != "1" || mark != again || !strings.Contains(body, "Counted <time") {
			t.Errorf("after a while %s are open, want 1; marks %s and %s", count, mark, again)
		}
		time.Sleep(time.Second)
		count, now, body := look()
		if count != "2" || now == mark || strings.Contains(body, "Counted <time") {
			t.Errorf("then %s are open, want 2; marks %s and %s", count, mark, now)
		}
		n := s.counts.Load()
		for range 10 { // nothing happens
			time.Sleep(5 * time.Second)
			if count, _, body = look(); count != "2" || strings.Contains(body, "Counted <time") {
				t.Errorf("%s are open, want 2", count)
			}
		}
		if s.counts.Load() != n {
			t.Errorf("a log that rests is counted %d times", s.counts.Load()-n)
		}
		time.Sleep(time.Minute)
		if look(); s.counts.Load() != n+1 {
			t.Error("in a minute it is not counted again")
		}
	})
}

// Where a count takes too long, viewers wait for it once, and it is not tried again at once; then it is.
func TestCountsThatTakeTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{Store: memstore.New()}
		s.stuck.Store(true)
		m := console.Of(console.Place{Name: "here"}, slips(t, s, nil))
		var all sync.WaitGroup
		look := func() {
			began := time.Now()
			err := m.Counts(t.Context(), "end")
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 3*time.Second {
				t.Errorf("after %v: %v", took, err)
			}
		}
		for range 20 {
			all.Go(look)
		}
		all.Wait()
		look()
		if n := s.counts.Load(); n > 2 { // somebody may begin when the first one gives up
			t.Errorf("21 viewers had it counted %d times", n)
		}
		s.stuck.Store(false)
		time.Sleep(time.Minute)
		if err := m.Counts(t.Context(), "end"); err != nil {
			t.Errorf("after a minute it is not counted again: %v", err)
		}
	})
}

// All stores count the same, and find who waits longest.
func TestCountsInStores(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) fsm.Store{
		"memory": func(t *testing.T) fsm.Store { return inMemory(t) },
		"postgres": func(t *testing.T) fsm.Store {
			s, err := postgres.Open(t.Context(), pgtest.DSN(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
			m := slips(t, open(t), nil, fsm.WithClock(func() time.Time { return now }))
			for i := range 7 {
				now = now.Add(time.Minute)
				make1(t, m, fmt.Sprint("s", i))
			}
			now = now.Add(time.Minute)
			for _, id := range []string{"s0", "s1"} {
				if _, err := m.Close(t.Context(), fsm.Ref{ID: id}, fsm.Call{}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := m.Hold(t.Context(), fsm.Ref{ID: "s2"}, slip.HoldInput{Lane: "x"}, fsm.Call{}); err != nil {
				t.Fatal(err)
			}
			h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
			code, body := get(t, h, "/here/slip/")
			got := strings.Join(rowsOf(body), "; ")
			want := "open 4 2026-03-04 05:04:00 UTC; held 1 2026-03-04 05:08:00 UTC; closed 2 terminal"
			if code != http.StatusOK || got != want {
				t.Errorf("%d, the page has %q, want %q", code, got, want)
			}
		})
	}
}
