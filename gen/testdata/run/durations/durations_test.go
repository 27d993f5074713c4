package durations

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const longest = 876000 * time.Hour

func started(t *testing.T, in StartInput) Check {
	t.Helper()
	c, _, err := Start("c", in, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A length is cut where it comes in, and lies within its bounds then.
func TestInputs(t *testing.T) {
	c := started(t, StartInput{Interval: fsm.Some(time.Hour + 999*time.Nanosecond), Limit: fsm.Some(longest + 1), Grace: 1999 * time.Nanosecond})
	if c.Interval != time.Hour || c.Limit != fsm.Some(longest) || c.Grace != time.Microsecond {
		t.Errorf("%v, %v and %v", c.Interval, c.Limit, c.Grace)
	}
	if c = started(t, StartInput{}); c.Interval != 30*time.Second || c.Limit.Present() {
		t.Errorf("by default %v and %v", c.Interval, c.Limit)
	}
	for name, in := range map[string]StartInput{
		"interval": {Interval: fsm.Some(time.Hour + time.Microsecond)}, "limit": {Limit: fsm.Some(longest + time.Microsecond)}, "grace": {Grace: -time.Nanosecond},
	} {
		var r *fsm.Refusal
		if _, _, err := Start("c", in, now); !errors.As(err, &r) || r.Code != fsm.ErrInvalidInput || r.Name != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// At the very instant a deadline has come, and what was to be before it is too late.
func TestEqualInstants(t *testing.T) {
	c := started(t, StartInput{Interval: fsm.Some(time.Minute)})
	for at, want := range map[time.Duration]error{time.Minute - time.Microsecond: ErrSlowDown, time.Minute: nil} {
		next := c
		if _, err := next.Fail(now.Add(at)); !errors.Is(err, want) {
			t.Errorf("after %v: %v", at, err)
		}
	}
	if _, err := c.Widen(WidenInput{Most: time.Hour}, now); err != nil || c.Closes != fsm.Some(now.Add(time.Minute)) {
		t.Fatalf("%v, %v", c.Closes, err)
	}
	for before, want := range map[time.Duration]error{500 * time.Millisecond: ErrClosed, 500*time.Millisecond + time.Microsecond: nil} {
		next := c
		if _, err := next.Bid(now.Add(time.Minute - before)); !errors.Is(err, want) {
			t.Errorf("%v before the end: %v", before, err)
		}
	}
}

// A back-off doubles with the counter before the step, up to its end, for any count.
func TestBackoff(t *testing.T) {
	for n, want := range map[int64]time.Duration{
		0: 10 * time.Second, 1: 20 * time.Second, 8: 2560 * time.Second, 9: time.Hour, 63: time.Hour, 64: time.Hour, 1 << 62: time.Hour,
	} {
		c := started(t, StartInput{})
		c.Attempts = n
		at := now.Add(time.Minute)
		if _, err := c.Fail(at); err != nil || c.RetryAt != fsm.Some(at.Add(want)) || c.Attempts != n+1 {
			t.Errorf("after %d: %v, %v", n, c.RetryAt, err)
		}
	}
}

// No instant leaves the years that a record holds, and no length is longer than 100 years.
func TestOverflow(t *testing.T) {
	c := started(t, StartInput{Interval: fsm.Some(time.Second)})
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	var r *fsm.Refusal
	if _, err := c.Widen(WidenInput{Most: time.Hour}, last); !errors.As(err, &r) || r.Code != fsm.ErrOverflow || r.Name != "closes" {
		t.Errorf("the year 10000: %v", err)
	}
	if _, err := c.Widen(WidenInput{Most: time.Hour}, last.Add(-time.Second)); err != nil || c.Closes != fsm.Some(last) {
		t.Errorf("the last instant: %v, %v", c.Closes, err)
	}
	for _, at := range []time.Time{now.Add(longest + time.Microsecond), last} { // Go's own length ends at 292 years
		next := c
		if _, err := next.Finish(FinishInput{At: at}, now); !errors.As(err, &r) || r.Code != fsm.ErrOverflow || r.Name != "took" {
			t.Errorf("until %v: %v", at, err)
		}
	}
	if _, err := c.Finish(FinishInput{At: now.Add(longest)}, now); err != nil || c.Took != fsm.Some(longest) {
		t.Errorf("the longest: %v, %v", c.Took, err)
	}
}

// A comparison with a sum that lacks a part is false, and a difference of more than Go holds is one.
func TestDifference(t *testing.T) {
	c := started(t, StartInput{Grace: time.Minute})
	c.Closes = fsm.Some(now)
	if _, err := c.Relate(now); !errors.Is(err, ErrTooFar) {
		t.Errorf("without a limit: %v", err)
	}
	c.Limit = fsm.Some(longest)
	for at, want := range map[time.Time]error{
		now.Add(longest).Add(time.Minute):                    ErrTooFar,
		now.Add(longest).Add(time.Minute - time.Microsecond): nil,
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC):          ErrTooFar,
		time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC):             nil,
	} {
		next := c
		next.Closes = fsm.Some(at)
		if _, err := next.Relate(now); !errors.Is(err, want) {
			t.Errorf("until %v: %v", at, err)
		}
	}
}

// In JSON a length is a number of microseconds, and JSON that lacks it leaves it alone.
func TestJSON(t *testing.T) {
	c := started(t, StartInput{Limit: fsm.Some(1500 * time.Millisecond), Grace: time.Microsecond})
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	if members["interval"] != 30e6 || members["limit"] != 1.5e6 || members["grace"] != 1.0 || members["state"] != "running" {
		t.Errorf("got %s", text)
	}
	if took, there := members["took"]; there {
		t.Errorf("took is %v", took)
	}
	var back Check
	if err := json.Unmarshal(text, &back); err != nil || !back.Equal(c) {
		t.Errorf("read as %+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"grace":2}`), &back); err != nil || back.Grace != 2*time.Microsecond || back.Limit != c.Limit {
		t.Errorf("then %+v, %v", back, err)
	}
	if json.Unmarshal([]byte(`{"grace":"1s"}`), &back) == nil {
		t.Error("a text was taken for a length")
	}
}

// Over each store, a record is due after what its own field says, once and never without it.
func TestStores(t *testing.T) {
	stores := map[string]func(t *testing.T) (fsm.Store, error){
		"memory": func(*testing.T) (fsm.Store, error) { return memstore.New(), nil },
		"sqlite": func(t *testing.T) (fsm.Store, error) { return sqlite.Open(filepath.Join(t.TempDir(), "d.db")) },
	}
	if os.Getenv("FSMGEN_POSTGRES_URL") != "" {
		stores["postgres"] = func(t *testing.T) (fsm.Store, error) { return postgres.Open(t.Context(), fsmcases.PostgresSchema(t)) }
	}
	for name, opened := range stores {
		t.Run(name, func(t *testing.T) {
			store, err := opened(t)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if err := Migrate(t.Context(), store); err != nil {
				t.Fatal(err)
			}
			at := now
			m, err := Open(t.Context(), store, fsm.WithClock(func() time.Time { return at }))
			if err != nil {
				t.Fatal(err)
			}
			for id, limit := range map[string]fsm.Optional[time.Duration]{
				"never": {}, "soon": fsm.Some(90 * time.Second), "last": fsm.Some(longest), "once": fsm.Some(time.Duration(0)),
			} {
				if _, err := m.Start(t.Context(), id, StartInput{Limit: limit}, fsm.Call{RequestID: "r-" + id}); err != nil {
					t.Fatal(err)
				}
			}
			sweeps := func(after time.Duration, want string) {
				t.Helper()
				at = now.Add(after)
				if _, err := m.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				failed := ""
				for c, err := range m.List(t.Context(), StateFailed) {
					if err != nil {
						t.Fatal(err)
					}
					failed += c.ID + " "
				}
				if failed != want {
					t.Errorf("after %v %q have failed, want %q", after, failed, want)
				}
			}
			sweeps(0, "once ")
			sweeps(90*time.Second-time.Microsecond, "once ")
			sweeps(90*time.Second, "once soon ")
			sweeps(longest-time.Microsecond, "once soon ")
			sweeps(longest, "last once soon ")
			at = now
			again, err := m.Start(t.Context(), "soon", StartInput{Limit: fsm.Some(90*time.Second + 999)}, fsm.Call{RequestID: "r-soon"})
			if err != nil || !again.Replayed {
				t.Errorf("the same call: %v, %t", err, again.Replayed)
			}
			_, err = m.Start(t.Context(), "soon", StartInput{Limit: fsm.Some(91 * time.Second)}, fsm.Call{RequestID: "r-soon"})
			if !errors.Is(err, fsm.ErrRequestReused) {
				t.Errorf("the same call with another length: %v", err)
			}
		})
	}
}
