package migration_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/spec"
)

// process is a running program, whose lines are kept.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	err   strings.Builder
	mu    sync.Mutex
	acked []string
	said  map[string]bool
	ended chan error
}

func start(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), program, args...), said: map[string]bool{}, ended: make(chan error, 1)}
	p.cmd.Stderr = &p.err
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.stdin = in
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.mu.Lock()
			if line := lines.Text(); strings.HasPrefix(line, "ack ") {
				p.acked = append(p.acked, line)
			} else {
				p.said[line] = true
			}
			p.mu.Unlock()
		}
		p.ended <- p.cmd.Wait()
	}()
	return p
}

func (p *process) has(word string) bool { p.mu.Lock(); defer p.mu.Unlock(); return p.said[word] }
func (p *process) acks() int            { p.mu.Lock(); defer p.mu.Unlock(); return len(p.acked) }

// until waits for something that a living process does.
func (p *process) until(t *testing.T, happened func() bool) {
	t.Helper()
	for !happened() {
		select {
		case err := <-p.ended:
			p.ended <- err
			if !happened() {
				t.Fatalf("%v ended early: %v\n%s", p.cmd.Args, err, &p.err)
			}
		case <-time.After(time.Millisecond):
		}
	}
}

// end ends a process in peace, or waits for one that ends by itself.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.stdin.Close()
	if err := <-p.ended; err != nil {
		t.Errorf("%v: %v\n%s", p.cmd.Args, err, &p.err)
	}
}

// Processes of the old version write while another process migrates and is killed,
// most of all near its commit, and again until it is done. Nothing that any of them
// was acknowledged is lost. Beside a version that goes with theirs they go on; else
// they are told to stop (SQLite), or were to be stopped by hand (PostgreSQL).
func TestMigrateUnderFire(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	dir := filepath.Join("testdata", "errand")
	load := func(name string) *spec.Machine { return parse(t, name, read(t, filepath.Join(dir, name))) }
	v1, v2, v3 := load("old.yaml"), load("new.yaml"), load("next.yaml")
	list := packages(t, v1, v2, v3)
	files, err := gen.Generate(v2, gen.Options{Beside: []gen.SpecID{{Version: v1.Version, Hash: v1.Hash}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		list[1][f.Name] = string(f.Data)
	}
	program := build(t, "errand", list)
	rounds := max(2, *evolutions/25)
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(*firstSeed, 21))
			f := &fire{program: program, kind: kind, took: 300 * time.Millisecond}
			for i := 0; i < rounds || f.killed == 0 && i < 5*rounds; i++ { // a loaded machine may miss a few
				if f.place = filepath.Join(t.TempDir(), fmt.Sprint(i, ".db")); kind == "postgres" {
					f.place = pgtest.DSN(t)
					f.scripts = []string{script(t, v1, v2), script(t, v2, v3)}
				}
				f.round(t, r)
			}
			t.Logf("%d migrations under fire, %d processes killed within one, %d transitions acknowledged and found", f.migrations, f.killed, f.found)
			if f.killed == 0 {
				t.Error("no process was killed within its migration")
			}
		})
	}
}

type fire struct {
	program, kind, place string
	scripts              []string      // of PostgreSQL: to version 2, to version 3
	took                 time.Duration // a migration that nobody killed
	migrations           int
	killed, found        int
	acked                []string
}

func (f *fire) start(t *testing.T, what string, more ...string) *process {
	t.Helper()
	return start(t, f.program, append([]string{what, f.kind, f.place}, more...)...)
}

// round takes one database from version 1 over 2 to 3.
func (f *fire) round(t *testing.T, r *rand.Rand) {
	t.Helper()
	f.acked = nil
	f.migrations += 2
	f.start(t, "migrate1").end(t)
	one := []*process{f.writer(t, "write1"), f.writer(t, "write1")}
	f.migrate(t, r, 2)
	for _, p := range one { // they go on beside it
		n := p.acks()
		p.until(t, func() bool { return p.acks() > n+10 })
	}
	two := f.writer(t, "write2")
	f.stop(t, append(one, two)...)
	f.verify(t, "check2")

	two = f.writer(t, "write2")
	f.migrate(t, r, 3)
	if f.kind == "sqlite" {
		two.until(t, func() bool { return two.has("stopped") })
	}
	f.stop(t, two)
	f.verify(t, "check3")
}

// writer starts a process that writes, and waits for some of its work.
func (f *fire) writer(t *testing.T, what string) *process {
	t.Helper()
	p := f.start(t, what)
	p.until(t, func() bool { return p.acks() > 10 })
	return p
}

func (f *fire) stop(t *testing.T, list ...*process) {
	t.Helper()
	for _, p := range list {
		p.end(t)
		f.acked = append(f.acked, p.acked...)
	}
}

// migrate lets processes migrate and kills them, until one is done.
func (f *fire) migrate(t *testing.T, r *rand.Rand, version int) {
	t.Helper()
	var more []string
	if f.kind == "postgres" {
		more = []string{f.scripts[version-2]}
	}
	for try := 0; ; try++ {
		p := f.start(t, fmt.Sprint("migrate", version), more...)
		p.until(t, func() bool { return p.has("begin") })
		began := time.Now()
		if try < 4 {
			select {
			case <-time.After(time.Duration(r.Int64N(int64(f.took) * 5 / 4))):
				_ = p.cmd.Process.Kill()
			case err := <-p.ended:
				p.ended <- err
			}
		}
		err := <-p.ended
		switch {
		case p.has("done"):
			f.took = max(time.Since(began), time.Millisecond)
			return
		case try < 4 && strings.Contains(fmt.Sprint(err), "killed"):
			f.killed++
		case strings.Contains(p.err.String(), "version"): // the one before it was killed behind its commit
			return
		default:
			t.Fatalf("to version %d: %v\n%s", version, err, &p.err)
		}
	}
}

// verify looks for everything that was acknowledged.
func (f *fire) verify(t *testing.T, what string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), f.program, what, f.kind, f.place)
	cmd.Stdin = strings.NewReader(strings.Join(f.acked, "\n"))
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("ok %d\n", len(f.acked)); err != nil || !strings.HasSuffix(string(out), want) {
		t.Fatalf("%s: %v, want %q\n%s", what, err, want, out)
	}
	f.found += len(f.acked)
}
