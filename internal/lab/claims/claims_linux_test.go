package claims_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
	fsmworker "github.com/fsmgen/fsmgen/runtime/worker"
)

var (
	jobs  = flag.Int("jobs", 40, "jobs of each run")
	kills = flag.Int("kills", 1, "workers that are killed in each run, one after the other")
)

const (
	lease = 6 * time.Second // a busy machine must not take a job from a worker that lives
	limit = time.Minute
	asked = "FSMGEN_CLAIMS_WORKER" // kind, address, name and base of a worker's process
)

type machine = *fsm.Machine[storetest.Parcel]

func TestMain(m *testing.M) {
	args := strings.Fields(os.Getenv(asked))
	if len(args) == 0 || args[0] == "suite" {
		os.Exit(m.Run())
	}
	run := func() error { return work(args) }
	if kind, slots := strings.CutPrefix(args[0], "slots-"); slots {
		run = func() error { return drainer(kind, args[1], args[2], os.Stdin) }
	}
	if kind, late := strings.CutPrefix(args[0], "late-"); late {
		run = func() error { return claimer(kind, args[1], args[2]) }
	}
	if kind, boxes := strings.CutPrefix(args[0], "boxes-"); boxes {
		run = func() error { return sender(kind, args[1], args[2]) }
	}
	if err := run(); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// open opens the machine that all processes share.
func open(ctx context.Context, kind, address string, migrate bool) (machine, *sqlstore.Store, error) {
	schema := storetest.Schema()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "gen", "testdata", "schema", "parcel."+kind+".sql"))
	if err != nil {
		return nil, nil, err
	}
	schema.SQL = map[string]string{kind: string(text)}
	var store *sqlstore.Store
	if kind == "sqlite" {
		store, err = sqlite.Open(address)
	} else {
		store, err = postgres.Open(ctx, address, postgres.WithMaxSessions(6), postgres.WithLogger(slog.New(slog.DiscardHandler)))
	}
	if err != nil {
		return nil, nil, err
	}
	if migrate {
		table, err := store.Table(schema)
		if err != nil {
			return nil, store, err
		}
		if err := table.Migrate(ctx); err != nil {
			return nil, store, err
		}
	}
	nothing := func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return nil }
	m, err := fsm.NewMachine(ctx, store, storetest.Descriptor(schema),
		map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": nothing, "carry": nothing, "notify": nothing})
	return m, store, err
}

// due returns now as the weight that a job has which may be done now.
func due(base, now time.Time) int64 { return now.Sub(base).Milliseconds() }

// work is a worker's process, until its input ends or it is killed.
func work(args []string) error {
	kind, address, name := args[0], args[1], args[2]
	base, err := time.Parse(time.RFC3339Nano, args[3])
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	m, store, err := open(ctx, kind, address, false)
	if err != nil {
		return err
	}
	defer store.Close()
	var mu sync.Mutex
	say := func(words ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(words...)
	}
	me := storetest.Meta{Actor: name}
	end := func(ctx context.Context, h *fsm.Held[storetest.Parcel]) error {
		_, err := h.EngineMove(ctx, storetest.Shelve(me, h.Ref().ID, name))
		return err
	}
	w, err := fsmworker.New(m, name, fsmworker.Funcs[storetest.Parcel]{
		Claim: func(ctx context.Context, n int, until time.Time) ([]fsm.Outcome[storetest.Parcel], error) {
			c := storetest.Hold(me, "a", until)
			c.Where = []driver.Cond{{Column: "weight", Op: driver.OpLe, Value: due(base, time.Now())}}
			c.Fits = nil // each job has a lane of its own, which its end fills
			return m.Pick(ctx, n, c)
		},
		Beat: func(ctx context.Context, h *fsm.Held[storetest.Parcel], until time.Time) error {
			return h.EngineStay(ctx, storetest.Touch(me, until))
		},
		Beats: func(p *storetest.Parcel) bool { return p.State == "held" },
		Work: func(ctx context.Context, h *fsm.Held[storetest.Parcel]) error {
			say("begin", h.Ref().ID)
			time.Sleep(rand.N(5 * time.Millisecond))
			if err := end(ctx, h); err != nil {
				return err
			}
			say("end", h.Ref().ID)
			return nil
		},
		Failed: func(ctx context.Context, h *fsm.Held[storetest.Parcel], cause error) error {
			say("failed", h.Ref().ID, cause)
			return nil
		},
	}, fsmworker.Options{Lease: lease, Concurrency: 4, Poll: 20 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	go m.RunSweeper(ctx, lease/3, nil)
	return w.Run(ctx)
}

// worker is a process that works.
type worker struct {
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	told   int // how often it was told to go on
	mu     sync.Mutex
	said   []string
	done   chan struct{}
	killed bool
}

func start(t *testing.T, kind, address, name string, base time.Time) *worker {
	t.Helper()
	w := &worker{name: name, cmd: exec.Command(os.Args[0]), done: make(chan struct{})}
	w.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %s", asked, kind, address, name, base.Format(time.RFC3339Nano)))
	w.cmd.Stderr = os.Stderr
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.in = in
	go func() {
		defer close(w.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			w.mu.Lock()
			w.said = append(w.said, lines.Text())
			w.mu.Unlock()
		}
		_ = w.cmd.Wait()
	}()
	return w
}

// kill ends the process at once.
func (w *worker) kill() {
	w.killed = true
	_ = w.cmd.Process.Kill()
	<-w.done
}

// lines returns what a worker has said after a word, so far.
func (w *worker) lines(word string) (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.said {
		if f := strings.Fields(line); len(f) > 1 && f[0] == word {
			list = append(list, f[1])
		}
	}
	return list
}

// words counts what a worker said with a word, by record.
func (w *worker) words(word string) map[string]int {
	n := map[string]int{}
	for _, id := range w.lines(word) {
		n[id]++
	}
	return n
}

// Jobs that may be done now and later are each done once, by a worker that lived,
// however many processes work on them and whichever of them is killed. None of a
// living worker's jobs is taken from it, and the server meets no deadlock.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"postgres", "sqlite"} {
		for _, n := range []int{1, 3, 8} {
			t.Run(fmt.Sprint(kind, " ", n), func(t *testing.T) {
				address := filepath.Join(t.TempDir(), "jobs.db")
				if kind == "postgres" {
					address = pgtest.DSN(t)
				}
				shared(t, kind, address, n)
			})
		}
	}
}

func shared(t *testing.T, kind, address string, processes int) {
	ctx := t.Context()
	m, store, err := open(ctx, kind, address, true)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	base := time.Now()
	enqueue := func(from, to int) {
		var calls []fsmimpl.Call[storetest.Parcel]
		for i := from; i < to; i++ {
			at := fsm.Some(due(base, time.Now()))
			if i%2 == 0 {
				at = fsm.Some(due(base, time.Now().Add(time.Duration(i%20)*100*time.Millisecond)))
			}
			calls = append(calls, storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: fmt.Sprintf("j%04d", i), Lane: fmt.Sprint(i), Weight: at}))
		}
		if _, err := m.CreateMany(ctx, calls); err != nil {
			t.Fatal(err)
		}
	}
	enqueue(0, *jobs/2)
	var all, live []*worker
	add := func() {
		w := start(t, kind, address, fmt.Sprint("w", len(all)), base)
		all, live = append(all, w), append(live, w)
	}
	for range processes {
		add()
	}
	defer func() {
		for _, w := range live {
			w.kill()
		}
	}()
	for i := range *kills {
		for until := time.Now().Add(limit); left(t, m) > *jobs/2-(i+1)*5 && time.Now().Before(until); {
			time.Sleep(20 * time.Millisecond)
		}
		victim := rand.IntN(len(live))
		live[victim].kill()
		live = slices.Delete(live, victim, victim+1)
		add()
		enqueue(*jobs/2 + i**jobs/2 / *kills, *jobs/2 + (i+1)**jobs/2 / *kills)
	}
	for until := time.Now().Add(limit); left(t, m) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			for _, w := range all {
				w.kill()
				t.Logf("%s: %q", w.name, w.said)
			}
			t.Fatalf("%d jobs are not done", left(t, m))
		}
	}
	for _, w := range live {
		w.in.Close()
		<-w.done
	}
	judge(t, m, all)
	live = nil
	store.Close()
	if kind == "postgres" {
		n := pgtest.Deadlocks(t, address)
		t.Logf("%d killed, %d deadlocks", *kills, n)
		if n != 0 {
			t.Errorf("the server ended %d deadlocks", n)
		}
	}
}

// left counts the jobs that are not done.
func left(t *testing.T, m machine) (n int) {
	t.Helper()
	for _, err := range m.List(t.Context(), driver.Query{States: []string{"waiting", "held"}}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// judge looks at what the workers said and at the log.
func judge(t *testing.T, m machine, all []*worker) {
	t.Helper()
	dead, ended := map[string]bool{}, map[string]int{}
	for _, w := range all {
		dead[w.name] = w.killed
		begun, ends := w.words("begin"), w.words("end")
		for id := range begun {
			if !w.killed && begun[id] != ends[id] {
				t.Errorf("%s lived, began %s %d times and ended it %d times", w.name, id, begun[id], ends[id])
			}
			ended[id] += ends[id]
		}
		for _, line := range w.said {
			if !strings.HasPrefix(line, "begin ") && !strings.HasPrefix(line, "end ") {
				t.Errorf("%s: %s", w.name, line)
			}
		}
	}
	done, takenBack := 0, 0
	for p, err := range m.List(t.Context(), driver.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if done++; ended[p.ID] > 1 {
			t.Errorf("%s was done %d times", p.ID, ended[p.ID])
		}
		holder := ""
		for e, err := range m.History(t.Context(), p.ID) {
			switch {
			case err != nil:
				t.Fatal(err)
			case e.Name == "hold":
				holder = e.Actor
			case e.Name == "release":
				if takenBack++; !dead[holder] {
					t.Errorf("%s was taken from %s, which lived", p.ID, holder)
				}
			}
		}
	}
	if done != *jobs {
		t.Errorf("there are %d jobs, want %d", done, *jobs)
	}
	for f, err := range audit.Run(t.Context(), m) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("audit: %v", f)
	}
	t.Logf("%d jobs done, %d taken back from the dead, by %d processes", done, takenBack, len(all))
}
