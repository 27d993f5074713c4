package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/pipeline/ingest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// What the source says of repeats, stalled jobs and refused attempts (003:94, 174,
// 380-410, 417), as a caller meets it.
func TestSource(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	store := memstore.New()
	if err := ingest.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	var refused strings.Builder
	m, err := ingest.Open(t.Context(), store, refusals(&refused), fsm.WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	must := func(out ingest.Outcome, err error) ingest.Outcome {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, id := range []string{"a", "b"} {
		must(m.Enqueue(t.Context(), id, fsm.Call{}))
	}
	a := must(m.Start(t.Context(), fsm.Call{}))
	now = now.Add(9 * time.Minute)
	b := must(m.Start(t.Context(), fsm.Call{}))
	now = now.Add(time.Minute)

	list, err := stalled(t.Context(), m, now, 10*time.Minute)
	if err != nil || len(list) != 1 || list[0].ID != a.Record.ID {
		t.Errorf("stalled are %v, %v; want %s alone", list, err, a.Record.ID)
	}
	if n, err := m.Sweep(t.Context()); n != 1 || err != nil { // not the job that just started
		t.Errorf("%d jobs were failed, %v; want one", n, err)
	}

	held := b.Record // twice with the same held record: the second one is a repeat
	must(m.Succeed(t.Context(), held, fsm.Call{RequestID: "1"}))
	if again := must(m.Succeed(t.Context(), held, fsm.Call{RequestID: "2"})); !again.RecordOnly || again.Replayed {
		t.Errorf("the repeat: %+v", again)
	}
	failed := must(m.Fail(t.Context(), startedAgain(t, m, &now), fsm.Call{}))
	if _, err := m.RetryStalled(t.Context(), failed, fsm.Call{}); !errors.Is(err, ingest.ErrNotStalled) {
		t.Errorf("a job that failed otherwise: %v, want ErrNotStalled", err)
	}
	if _, err := m.Fail(t.Context(), held, fsm.Call{RequestID: "3", Actor: "w"}); !errors.Is(err, fsm.ErrStale) {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"retry_stalled in state failed", `"3" by "w"`} {
		if !strings.Contains(refused.String(), want) {
			t.Errorf("no %q among the refused attempts:\n%s", want, refused.String())
		}
	}
}

// startedAgain starts the job that recovery has put back.
func startedAgain(t *testing.T, m *ingest.Machine, now *time.Time) ingest.Outcome {
	t.Helper()
	*now = now.Add(time.Minute)
	out, err := m.Start(t.Context(), fsm.Call{})
	if err != nil || out.Record.Attempts != 2 {
		t.Fatalf("got %+v, %v", out, err)
	}
	return out
}

// cluster is what the tests know of the workers.
type cluster struct {
	asked func(id string)
	down  error
}

func (c cluster) WorkerActive(_ context.Context, j ingest.Job) (bool, error) {
	c.asked(j.ID)
	return j.ID != "silent", c.down
}

// Checks run by period (003:14, 421). A check that fails is a violation, and checking goes
// on (003:229-232).
func TestChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		down error
		want []string
	}{
		{"a worker is gone", nil, []string{`id=silent check=probe finding="worker_active (must): the job is running without an active worker"`}},
		{"nobody can be asked", errors.New("cluster unreachable"), []string{
			`id=fine check=probe finding="worker_active (must): the probe failed: cluster unreachable"`,
			`id=silent check=probe finding="worker_active (must): the probe failed: cluster unreachable"`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := memstore.New()
			if err := ingest.Migrate(t.Context(), store); err != nil {
				t.Fatal(err)
			}
			m, err := ingest.Open(t.Context(), store)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"fine", "silent"} {
				if _, err := m.Enqueue(t.Context(), id, fsm.Call{}); err != nil {
					t.Fatal(err)
				}
				if _, err := m.Start(t.Context(), fsm.Call{}); err != nil {
					t.Fatal(err)
				}
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			n := 0 // calls of the probe
			world := cluster{down: c.down, asked: func(string) {
				if n++; n > 4 { // the third audit
					stop()
				}
			}}
			var out strings.Builder
			if err := checked(ctx, m, world, time.Millisecond, slog.New(slog.NewTextHandler(&out, nil))); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if strings.Count(out.String(), want) != 2 {
					t.Errorf("not twice %q in\n%s", want, out.String())
				}
			}
			if strings.Count(out.String(), "check=") != 2*len(c.want) {
				t.Errorf("other findings:\n%s", out.String())
			}
			if h := audit.HealthOf(m); h.Sound() || !h.Full {
				t.Errorf("health: %+v", h)
			}
		})
	}
}
