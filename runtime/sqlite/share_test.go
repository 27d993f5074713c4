package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

const (
	shareEnv     = "FSMGEN_TEST_SHARE_DB"
	shareCallers = 8
	shared       = "shared" // the parcel that everybody writes
)

// share is a process of TestProcessesShareAFile. Each of its callers registers parcels
// and changes them, and the one that they all share, until standard input ends. It
// says what was acknowledged: the parcel and its revision.
func share(path, name string) error {
	text, err := os.ReadFile(os.Getenv(shareEnv + "_SQL"))
	if err != nil {
		return err
	}
	schema := storetest.Schema()
	schema.SQL = map[string]string{"sqlite": string(text)}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	store, err := sqlite.Open(path, sqlite.WithBusyTimeout(30*time.Second))
	if err != nil {
		return err
	}
	d := storetest.Descriptor(schema)
	if err := fsmimpl.Migrate(ctx, store, schema); err != nil {
		return err
	}
	m, err := fsm.NewMachine(ctx, store, d, parcelEffects())
	if err != nil {
		return err
	}
	fmt.Println("begun 0")
	errs := make([]error, shareCallers)
	var wg sync.WaitGroup
	for g := range errs {
		wg.Go(func() {
			for i := 0; errs[g] == nil && ctx.Err() == nil; i++ {
				errs[g] = shareOnce(ctx, m, fmt.Sprintf("%s-%d-%d", name, g, i))
			}
		})
	}
	wg.Wait()
	return errors.Join(errors.Join(errs...), store.Close())
}

func shareOnce(ctx context.Context, m *parcels, id string) error {
	ctx = context.WithoutCancel(ctx)
	meta := func(request string) storetest.Meta {
		return storetest.Meta{RequestID: request + id, Actor: "ann"}
	}
	note := func(request string) fsmimpl.Call[storetest.Parcel] {
		return storetest.Annotate(meta(request), fsm.Optional[fsm.JSON]{}, fsm.Some("small"), fsm.Some(true))
	}
	out, err := m.Create(ctx, storetest.Register(meta("new "), storetest.RegisterInput{ID: id, Lane: id}))
	if err != nil {
		return err
	}
	fmt.Println(id, out.Record.Rev)
	if out, err = m.Apply(ctx, out, note("note ")); err != nil {
		return err
	}
	fmt.Println(id, out.Record.Rev)
	if out, err = m.Apply(ctx, fsm.Ref{ID: shared}, note("shared ")); errors.Is(err, fsm.ErrBusy) {
		return nil // so many write it that this one was passed too often
	} else if err != nil {
		return err
	}
	fmt.Println(shared, out.Record.Rev)
	return nil
}

// sharer is a process that writes the file.
type sharer struct {
	cmd   *exec.Cmd
	in    io.Closer
	acked map[string]int64
	took  []int64 // revisions of the shared parcel
	n     int     // acknowledgements
	wrong strings.Builder
	done  chan struct{}
}

// crowd is processes that write one file.
type crowd struct {
	path string
	mu   sync.Mutex
	more sync.Cond
	all  []*sharer
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{path: filepath.Join(t.TempDir(), "x.db")}
	c.more.L = &c.mu
	store := openAgain(t, c.path)
	m, err := openParcels(t, store)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Create(t.Context(), storetest.Register(storetest.Meta{RequestID: "new", Actor: "ann"}, storetest.RegisterInput{ID: shared, Lane: "a"})); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

// begin starts another process.
func (c *crowd) begin(t *testing.T) *sharer {
	t.Helper()
	s := &sharer{cmd: exec.Command(os.Args[0]), acked: map[string]int64{}, done: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), shareEnv+"="+c.path, fmt.Sprintf("%s_NAME=p%d", shareEnv, len(c.all)),
		shareEnv+"_SQL="+filepath.Join("..", "..", "gen", "testdata", "schema", "parcel.sqlite.sql"))
	s.cmd.Stderr = &s.wrong
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in = in
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.all = append(c.all, s)
	go func() {
		defer close(s.done)
		lines := bufio.NewReader(out)
		for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') { // a torn line acknowledges nothing
			c.told(s, line)
		}
	}()
	c.until(func() bool { return s.n > 0 || s.over() })
	return s
}

func (s *sharer) over() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func (c *crowd) told(s *sharer, line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.more.Broadcast()
	var id string
	var rev int64
	if _, err := fmt.Sscanf(line, "%s %d", &id, &rev); err != nil {
		fmt.Fprintf(&s.wrong, "line %q: %v\n", line, err)
	}
	s.n++
	if rev > 0 {
		s.acked[id] = max(s.acked[id], rev)
	}
	if id == shared {
		s.took = append(s.took, rev)
	}
}

// until waits for what the processes say.
func (c *crowd) until(enough func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !enough() {
		c.more.Wait()
	}
}

// end waits for a process that was told to stop, or was killed.
func (s *sharer) end(t *testing.T) {
	t.Helper()
	s.in.Close()
	<-s.done
	err := s.cmd.Wait()
	if s.wrong.Len() > 0 || err != nil && !strings.Contains(err.Error(), "killed") {
		t.Errorf("a process: %v\n%s", err, s.wrong.String())
	}
}

// verify holds the file against everything that was acknowledged.
func (c *crowd) verify(t *testing.T) {
	t.Helper()
	store := openAgain(t, c.path)
	defer store.Close()
	acked := map[string]int64{}
	var took []int64
	for _, s := range c.all {
		for id, rev := range s.acked {
			acked[id] = max(acked[id], rev)
		}
		took = append(took, s.took...)
	}
	verify(t, store, parcelSchema(t), acked)
	slices.Sort(took)
	if twice := len(took) - len(slices.Compact(slices.Clone(took))); twice > 0 {
		t.Errorf("%d revisions of the shared parcel were acknowledged twice", twice)
	}
	if len(took) == 0 {
		t.Error("nobody wrote the shared parcel: the test shows nothing")
	}
	m, err := openParcels(t, store)
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range audit.Run(t.Context(), m) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("the audit: %v", f)
	}
}

// Processes write one file in turn: nothing is lost or done twice, also when some are
// killed and others begin meanwhile, and each gets on.
func TestProcessesShareAFile(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes; run without -short")
	}
	for _, n := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c := newCrowd(t)
			for range n {
				c.begin(t)
			}
			const each = 60
			before := make([]int, n)
			c.until(func() bool {
				for i, s := range c.all {
					before[i] = s.n
				}
				return true
			})
			// Who has little after one round may only have had little of a busy machine's
			// processors: over five rounds that evens out, and a place in a queue does not.
			gained := make([]int, n)
			for round := 1; round <= 5; round++ {
				c.until(func() bool {
					sum := 0
					for i, s := range c.all {
						gained[i] = s.n - before[i]
						sum += gained[i]
					}
					return sum >= round*n*each || slices.ContainsFunc(c.all, (*sharer).over)
				})
				least := slices.Min(gained)
				if float64(least) >= 0.25*float64(round*each) {
					break
				}
				if round == 5 {
					t.Errorf("of %d acknowledgements a process got %d: %v", round*n*each, least, gained)
				}
			}
			t.Logf("acknowledged by each: %v", gained)
			for _, s := range c.all[:n/2] {
				_ = s.cmd.Process.Kill()
				s.end(t)
				late := c.begin(t)
				c.until(func() bool { return late.n > each/4 || late.over() })
			}
			for _, s := range c.all[n/2:] {
				s.end(t)
			}
			c.verify(t)
		})
	}
}

// A program whose specification was retired by another program, while it had the file
// open, writes nothing more; one that may work beside the new tables goes on.
func TestRetiredWhileOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ beside, wrote bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		beside := c.beside
		t.Run(fmt.Sprintf("beside=%t,wrote before=%t", beside, c.wrote), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			first := parcelSchema(t)
			m, err := openParcels(t, open(t, path))
			if err != nil {
				t.Fatal(err)
			}
			create := func(id string) error {
				_, err := m.Create(t.Context(), storetest.Register(storetest.Meta{RequestID: id, Actor: "ann"}, storetest.RegisterInput{ID: id, Lane: id}))
				return err
			}
			guarded := func(id string) error {
				_, err := m.CreateMany(t.Context(), []fsmimpl.Call[storetest.Parcel]{storetest.Register(storetest.Meta{RequestID: id, Actor: "ann"}, storetest.RegisterInput{ID: id, Lane: id})})
				return err
			}
			if c.wrote {
				if err := create("before"); err != nil {
					t.Fatal(err)
				}
			}
			later := parcelSchema(t)
			later.Version, later.Hash = first.Version+1, "later"
			if beside {
				later.Beside = []driver.SpecID{first.ID()}
			}
			if err := fsmimpl.Migrate(t.Context(), open(t, path), later); err != nil {
				t.Fatal(err)
			}
			for id, do := range map[string]func(string) error{"one": create, "another": guarded} {
				err := do(id)
				var retired *driver.RetiredError
				if beside && err != nil || !beside && !errors.As(err, &retired) {
					t.Errorf("%s: %v", id, err)
				}
			}
		})
	}
}
