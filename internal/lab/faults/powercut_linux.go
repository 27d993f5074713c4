package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func init() {
	children["exit"] = func(ctx context.Context, d Driver, place string) error { return d.writeAndExit(ctx, place, false) }
	children["normal"] = func(ctx context.Context, d Driver, place string) error { return d.writeAndExit(ctx, place, true) }
}

// writeAndExit writes and ends without closing the database, as a machine does
// whose power is cut.
func (d Driver) writeAndExit(ctx context.Context, path string, normal bool) error {
	var s *Subject
	var err error
	if normal {
		s, err = d.Normal(ctx, path)
	} else {
		s, _, err = d.Open(ctx, path, false)
	}
	if err == nil {
		err = drive(ctx, s, told(os.Stdout))
	}
	if err == nil {
		os.Exit(0)
	}
	return err
}

// needStrace returns the tracer's path.
func needStrace(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		const enable = "there is no strace, which this test watches system calls with: install one (apt-get install strace)"
		if os.Getenv("FSMGEN_REQUIRE_STRACE") == "1" {
			t.Fatal(enable)
		}
		t.Skip(enable)
	}
	return path
}

// PowerCuts cuts the power at points spread over a run's writes, with any part
// of what was not synced on the disk. What was acknowledged by then is there,
// and the database is whole.
func PowerCuts(t *testing.T, d Driver, executions, short, long int) {
	t.Helper()
	began, points := time.Now(), Size(short, long)
	strace := needStrace(t)
	full := d.cutPower(t, strace, "exit", executions, points)
	if full.lost > 0 || full.broken > 0 {
		t.Errorf("of %d points %d lose an acknowledged transition and %d are no database: %s", full.points, full.lost, full.broken, full.first)
	}
	normal := d.cutPower(t, strace, "normal", executions/2, Size(50, 1500))
	if normal.lost == 0 {
		t.Error("the control with synchronous=NORMAL lost nothing: the test cannot see a loss")
	}
	Report(t, Row{
		Test: "power cut", Store: d.Name + ", synchronous=FULL", How: "replay of the writes and syncs that strace saw, unsynced sectors kept, dropped or torn",
		Figures: fmt.Sprintf("%d points in a run of %d transitions: lost %d, broken %d", full.points, full.acked, full.lost, full.broken),
		Control: fmt.Sprintf("synchronous=NORMAL: %d points, %d lose up to %d transitions", normal.points, normal.lost, normal.worst),
		Took:    time.Since(began), Longer: Longer(short, long),
	})
}

type cuts struct {
	points, acked, lost, broken, worst int
	first                              string
}

func (d Driver) cutPower(t *testing.T, strace, child string, executions, points int) cuts {
	t.Helper()
	ctx := t.Context()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x.db")
	_, end, err := d.Open(ctx, path, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	run := d.childCommand(child, path, fmt.Sprintf("%s_COUNT=%d", childEnv, executions))
	cmd := exec.Command(strace, append([]string{"-f", "-qq", "-y", "-xx", "-s", "2000000", "-e", "trace=" + Calls, "-e", "signal=none", "-o", trace}, run.Args...)...)
	cmd.Env = run.Env
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if _, err := cmd.Output(); err != nil {
		t.Fatalf("%v: %s", err, complaint.String())
	}
	f, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ops, err := ReadTrace(f, dir)
	if err != nil {
		t.Fatal(err)
	}
	return d.replayCuts(t, ops, first, points)
}

// replayCuts cuts the power at points spread over the trace.
func (d Driver) replayCuts(t *testing.T, ops []Op, first []byte, points int) cuts {
	t.Helper()
	disk := NewDisk(map[string][]byte{"x.db": first})
	rng := rand.New(rand.NewPCG(1, uint64(points)))
	var got cuts
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	acked := map[string]int{}
	told := 0
	for i, op := range ops {
		disk.Do(op)
		if op.Kind == OpSay {
			c, err := readCalls(string(op.Data))
			if err != nil {
				t.Fatal(err)
			}
			for id, rev := range c.acked {
				told += rev - acked[id]
				acked[id] = rev
			}
		}
		for n := i * points / len(ops); n < (i+1)*points/len(ops); n++ {
			dir, err := os.MkdirTemp(scratch(), "fsmgen-cut-")
			if err != nil {
				t.Fatal(err)
			}
			if err := disk.Cut(dir, rng); err != nil {
				t.Fatal(err)
			}
			want := map[string]int{}
			for id, rev := range acked {
				want[id] = rev
			}
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots; os.RemoveAll(dir) }()
				lost, err := d.look(t.Context(), filepath.Join(dir, "x.db"), want, n%25 == 0)
				mu.Lock()
				defer mu.Unlock()
				got.points++
				if lost > 0 {
					got.lost++
					got.worst = max(got.worst, lost)
				}
				if err != nil {
					got.broken++
					if got.first == "" {
						got.first = fmt.Sprintf("operation %d: %v", i, err)
					}
				}
			})
		}
	}
	wg.Wait()
	got.acked = told
	if told == 0 || got.points < points {
		t.Fatalf("%d operations, %d acknowledged, %d points: the test shows nothing", len(ops), told, got.points)
	}
	return got
}

// scratch is a folder in memory where there is one: there are thousands of
// databases to write.
func scratch() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// look opens what a power cut left and returns how many acknowledged
// transitions are not there. With whole it audits everything.
func (d Driver) look(ctx context.Context, path string, acked map[string]int, whole bool) (int, error) {
	s, end, err := d.Open(ctx, path, false)
	if err != nil {
		if strings.Contains(err.Error(), "schema") || strings.Contains(err.Error(), "no such table") {
			return total(acked), nil // nothing is there, not even the tables
		}
		return 0, err
	}
	defer end()
	db, err := d.Ledger(path)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	var word string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&word); err != nil || word != "ok" {
		return 0, fmt.Errorf("integrity_check: %s %w", word, err)
	}
	if whole {
		v, err := s.Verify(ctx, acked)
		if err != nil {
			return 0, err
		}
		lost := int(v.Lost)
		if v.Lost = 0; v.Wrong() != "" {
			return lost, errors.New(v.Wrong())
		}
		return lost, nil
	}
	seen := map[string]int{}
	for e, err := range s.M.List(ctx) {
		if err != nil {
			return 0, err
		}
		seen[e.ID] = int(e.Rev)
	}
	lost := 0
	for id, rev := range acked {
		lost += max(0, rev-seen[id])
	}
	return lost, nil
}

func total(acked map[string]int) (n int) {
	for _, rev := range acked {
		n += rev
	}
	return n
}
