package console_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/runtime/console/run"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// archive is a store of runs with a clock.
func archive(t *testing.T, now *time.Time) *run.Machine {
	t.Helper()
	store := inMemory(t)
	if err := run.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := run.Open(t.Context(), store, fsm.WithClock(func() time.Time { return *now }))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// drafted makes a run of so many pieces.
func drafted(t *testing.T, m *run.Machine, id string, pieces int64) {
	t.Helper()
	for i := range pieces {
		in := run.DraftInput{Run: id, Number: i, Pieces: pieces, Place: "here", Target: "slip", Operation: "hit", Items: fsm.MustJSON(`[]`)}
		if _, err := m.Draft(t.Context(), fmt.Sprint(id, "-", i), in, fsm.Call{RequestID: fmt.Sprint(id, i), Actor: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
}

// end makes a piece go on to its end.
func end(t *testing.T, m *run.Machine, now time.Time, id string) {
	t.Helper()
	at, c := fsm.Ref{ID: id}, func(what string) fsm.Call { return fsm.Call{RequestID: what + id, Actor: "ann", Reason: "why"} }
	if _, err := m.Start(t.Context(), at, run.StartInput{Inputs: fsm.MustJSON(`{}`), Reason: "why"}, c("start")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Take(t.Context(), at, run.TakeInput{Lease: now.Add(time.Minute)}, c("take")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Finish(t.Context(), at, run.FinishInput{Report: fsm.MustJSON(`{"done":0}`)}, c("finish")); err != nil {
		t.Fatal(err)
	}
}

// pieces lists what there is of runs, with the states.
func pieces(t *testing.T, m *run.Machine) string {
	t.Helper()
	var list []string
	for p, err := range m.Core().List(t.Context(), driver.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(p.ID, " ", p.State))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// A run is removed whole, its time after it ended; what nobody went on with is stopped.
func TestRunsAreForgotten(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	now := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	m := archive(t, &now)
	drafted(t, m, "ended", 2)
	drafted(t, m, "half", 2)
	drafted(t, m, "draft", 1)
	for _, id := range []string{"ended-0", "ended-1", "half-0"} {
		end(t, m, now, id)
	}
	slips := console.Of(console.Place{Name: "here"}, slips(t, inMemory(t), nil))
	h := handler(t, console.Options{Machines: []console.Machine{slips}, Runs: m})
	step := func(to time.Duration, want string) {
		t.Helper()
		now = time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC).Add(to)
		if err := h.ForgetRuns(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := pieces(t, m); got != want {
			t.Errorf("after %v there are %q, want %q", to, got, want)
		}
	}
	step(90*day, "draft-0 drafted, ended-0 done, ended-1 done, half-0 done, half-1 drafted")
	step(90*day+time.Second, "draft-0 stopped, half-0 done, half-1 stopped")
	step(179*day, "draft-0 stopped, half-0 done, half-1 stopped")
	step(181*day, "")
	var marks []string
	for e, err := range m.Log(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Operation == driver.OpPurge {
			marks = append(marks, e.ID+" by "+e.Actor)
			if e.Reason == "" {
				t.Errorf("%s was removed, and nothing says why", e.ID)
			}
		}
	}
	if got := fmt.Sprint(marks); got != "[ended-1 by console ended-0 by console draft-0 by console half-1 by console half-0 by console]" {
		t.Errorf("removed were %s", got)
	}
}

// Pages of runs have them removed, once an hour, unless they are kept for good.
func TestRunsAreForgottenByPages(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		keep time.Duration
		want string
	}{
		"an hour":  {time.Hour, ""},
		"for good": {-1, "ended-0 done"},
	} {
		now := begin
		m := archive(t, &now)
		drafted(t, m, "ended", 1)
		end(t, m, now, "ended-0")
		now = now.Add(time.Hour + time.Second)
		desk := handler(t, console.Options{
			Who:      func(*http.Request) (console.Viewer, error) { return console.Operator("ann"), nil },
			Machines: []console.Machine{console.Of(console.Place{Name: "here"}, slips(t, inMemory(t), nil))}, Runs: m, KeepRuns: c.keep,
		})
		if code, _ := get(t, desk, "/here/slip/runs"); code != http.StatusOK {
			t.Fatal(code)
		}
		for deadline := time.Now().Add(10 * time.Second); pieces(t, m) != c.want && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if c.keep < 0 {
			time.Sleep(50 * time.Millisecond)
		}
		if got := pieces(t, m); got != c.want {
			t.Errorf("%s: there are %q, want %q", name, got, c.want)
		}
		code, _ := get(t, desk, "/here/slip/run?id=ended")
		if want := map[bool]int{true: http.StatusNotFound, false: http.StatusOK}[c.want == ""]; code != want {
			t.Errorf("%s: the page of the run is answered %d", name, code)
		}
	}
}

// A run that another process has removed since it was found is passed over.
func TestForgottenRunIsGone(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	m := archive(t, &now)
	h := handler(t, console.Options{Machines: []console.Machine{console.Of(console.Place{Name: "here"}, slips(t, inMemory(t), nil))}, Runs: m})
	if removed, err := h.ForgetRun(t.Context(), "gone", now); removed || err != nil {
		t.Errorf("a run without pieces: %t, %v", removed, err)
	}
}

// Of a run at which somebody works, the pieces that wait are not stopped, however long they wait.
func TestRunAtWorkIsNotStopped(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	m := archive(t, &now)
	drafted(t, m, "long", 2)
	start := run.StartInput{Inputs: fsm.MustJSON(`{}`), Reason: "why"}
	if _, err := m.Start(t.Context(), fsm.Ref{ID: "long-1"}, start, fsm.Call{RequestID: "1", Actor: "ann", Reason: "why"}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	end(t, m, now, "long-0")
	now = now.Add(time.Minute)
	slips := console.Of(console.Place{Name: "here"}, slips(t, inMemory(t), nil))
	h := handler(t, console.Options{Machines: []console.Machine{slips}, Runs: m, KeepRuns: 30 * time.Minute})
	if err := h.ForgetRuns(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := pieces(t, m); got != "long-0 done, long-1 waiting" {
		t.Errorf("there are %q", got)
	}
}

// A clock that was ahead, and was set back, does not keep runs from being removed.
func TestRunsAreForgottenAfterTheClockWasAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
		now := begin.Add(365 * 24 * time.Hour)
		m := archive(t, &now)
		desk := handler(t, console.Options{
			Machines: []console.Machine{console.Of(console.Place{Name: "here"}, slips(t, inMemory(t), nil))}, Runs: m, KeepRuns: time.Hour,
		})
		get(t, desk, "/here/slip/runs")
		synctest.Wait()
		now = begin
		drafted(t, m, "ended", 1)
		end(t, m, now, "ended-0")
		now = begin.Add(2 * time.Hour)
		get(t, desk, "/here/slip/runs")
		synctest.Wait()
		if got := pieces(t, m); got != "" {
			t.Errorf("there are %q", got)
		}
	})
}
