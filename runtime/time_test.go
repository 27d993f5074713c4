package fsm_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// A worker keeps its hold by touching it; when it stops, the sweeper takes the
// parcel back at the first sweep at or after the deadline.
func TestLeaseRunsOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := open(t, newStore(), storetest.Schema())
		begin := time.Now()
		out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
		out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", begin.Add(10*time.Second))))
		go func() {
			for range 3 {
				time.Sleep(6 * time.Second)
				var err error
				if out, err = m.Apply(t.Context(), out, storetest.Touch(meta(""), time.Now().Add(10*time.Second))); err != nil {
					t.Error(err)
				}
			}
		}()
		for range 2 { // two sweepers that tick apart
			go func() {
				for range 40 {
					time.Sleep(time.Second)
					if _, err := m.Sweep(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		events := log(t, m, "p1")
		last := events[len(events)-1]
		if want := driver.Time(begin.Add(28 * time.Second)); last.Operation != "release" || !last.At.Equal(want) || last.Rev != 6 {
			t.Errorf("the last event is %s at %v, revision %d; want release at %v, revision 6", last.Operation, last.At, last.Rev, want)
		}
	})
}

// The late worker is fenced off by the revision.
func TestLateWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := open(t, newStore(), storetest.Schema())
		out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
		held := must(t)(m.Apply(t.Context(), out, storetest.Hold(meta("h"), "a", time.Now().Add(time.Second))))
		time.Sleep(time.Second)
		if n, err := m.Sweep(t.Context()); n != 1 || err != nil {
			t.Fatalf("swept %d, %v", n, err)
		}
		if _, err := m.Apply(t.Context(), held, storetest.Shelve(meta(""), "s", "t")); !errors.Is(err, fsm.ErrStale) {
			t.Errorf("got %v, want ErrStale", err)
		}
		again := must(t)(m.Apply(t.Context(), held, storetest.Hold(meta("h"), "a", time.Now())))
		if !again.Replayed || again.CurrentState != "waiting" || again.Record.State != "held" {
			t.Errorf("got %+v, want a replay that says that the hold is over", again)
		}
	})
}

func TestNewID(t *testing.T) {
	t.Parallel()
	before := time.Now().UnixMilli()
	last := ""
	for range 20_000 {
		id := driver.NewID()
		if id <= last {
			t.Fatalf("%q follows %q", id, last)
		}
		last = id
	}
	after := time.Now().UnixMilli()
	if len(last) != 36 || last[14] != '7' || !strings.ContainsRune("89ab", rune(last[19])) || strings.Count(last, "-") != 4 || driver.CheckID(last) != nil {
		t.Errorf("%q is no UUIDv7", last)
	}
	ms, err := strconv.ParseInt(strings.ReplaceAll(last[:13], "-", ""), 16, 64)
	if err != nil || ms < before || ms > after+20 {
		t.Errorf("%q says %d ms, want %d to %d (%v)", last, ms, before, after, err)
	}
}

func TestNewIDFromManyGoroutines(t *testing.T) {
	t.Parallel()
	ids := make(chan string)
	for range 8 {
		go func() {
			for range 1000 {
				ids <- driver.NewID()
			}
		}()
	}
	seen := map[string]bool{}
	for range 8000 {
		id := <-ids
		if seen[id[:18]] {
			t.Fatalf("two ids begin with %q", id[:18])
		}
		seen[id[:18]] = true
	}
}

func TestCheckID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"a": "", strings.Repeat("ü", 127): "", " ": "",
		"": "empty", strings.Repeat("x", 256): "256 bytes", "a\x00": "NUL", "\xff": "UTF-8",
	} {
		err := driver.CheckID(id)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("CheckID(%.10q): got %v, want %q", id, err, want)
		}
	}
	if err := driver.CheckText(""); err != nil {
		t.Errorf("CheckText of nothing: %v", err)
	}
}
