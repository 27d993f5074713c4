package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

const crashEnv = "FSMGEN_TEST_CRASH_DB"

// TestMain makes this binary the child of TestKilledProcess: it writes until it
// is killed and reports each acknowledged transition on its standard output.
func TestMain(m *testing.M) {
	if path := os.Getenv(shareEnv); path != "" {
		if err := share(path, os.Getenv(shareEnv+"_NAME")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	path := os.Getenv(crashEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	if err := writeUntilKilled(path, os.Getenv(crashEnv+"_RUN"), os.Getenv(crashEnv+"_SQL")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func writeUntilKilled(path, run, sql string) error {
	ctx := context.Background()
	store, err := sqlite.Open(path)
	if err != nil {
		return err
	}
	s := executionFields()
	text, err := os.ReadFile(sql)
	if err != nil {
		return err
	}
	s.SQL = map[string]string{"sqlite": string(text)}
	tab, err := store.Table(s)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		id := fmt.Sprintf("%s-%d", run, i)
		w := lease(id, "job "+id, 1)
		for _, next := range []func(*driver.Write) *driver.Write{
			func(w *driver.Write) *driver.Write {
				return step(w, "start", "in_progress", "start", map[int]any{4: start})
			},
			func(w *driver.Write) *driver.Write { return step(w, "commit", "committed", "commit", nil) },
			nil,
		} {
			if err := tab.Commit(ctx, w); err != nil {
				return err
			}
			fmt.Printf("%s %d\n", id, w.Row.Rev)
			if next != nil {
				w = next(w)
			}
		}
	}
}

// What was acknowledged is there after kill -9, and no record is half written.
func TestKilledProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes; run without -short")
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := executionSchema(t)
	first := openAgain(t, path)
	table(t, first, s)
	first.Close()
	acked := map[string]int64{}
	for run := 0; run < 12 || len(acked) < 12 && run < 100; run++ {
		func() {
			store := openAgain(t, path)
			defer store.Close()
			verify(t, store, s, acked)
		}()
		killOne(t, path, run, acked)
	}
	store := openAgain(t, path)
	defer store.Close()
	verify(t, store, s, acked)
	if len(acked) < 12 {
		t.Fatalf("only %d records were acknowledged: the test shows nothing", len(acked))
	}
}

func openAgain(t *testing.T, path string) fsm.Store {
	t.Helper()
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// killOne runs a child for a short time, kills it and notes what it had
// acknowledged.
func killOne(t *testing.T, path string, run int, acked map[string]int64) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashEnv+"="+path, fmt.Sprintf("%s_RUN=%d", crashEnv, run),
		crashEnv+"_SQL="+filepath.Join("..", "..", "gen", "testdata", "schema", "execution.sqlite.sql"))
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaint strings.Builder
	child.Stderr = &complaint
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n') // it works by now
	if err == nil {
		time.Sleep(time.Duration(rand.IntN(40_000)) * time.Microsecond)
	}
	child.Process.Kill()
	rest, _ := io.ReadAll(lines)
	child.Wait()
	if complaint.Len() > 0 {
		t.Fatalf("the child failed: %s", complaint.String())
	}
	all := first + string(rest)
	for line := range strings.Lines(all) {
		var id string
		var rev int64
		if strings.HasSuffix(line, "\n") { // a torn line acknowledges nothing
			if _, err := fmt.Sscanf(line, "%s %d", &id, &rev); err != nil {
				t.Fatalf("line %q: %v", line, err)
			}
			acked[id] = rev
		}
	}
}

// verify compares rows and logs with what was acknowledged.
func verify(t *testing.T, store fsm.Store, s *driver.Schema, acked map[string]int64) {
	t.Helper()
	tab, err := store.Table(s)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = tab.View(context.Background(), func(r driver.Reader) error {
		for row, err := range r.Rows(driver.Query{}) {
			if err != nil {
				return err
			}
			if row.Rev < acked[row.ID] {
				t.Errorf("%s is at revision %d, but %d was acknowledged", row.ID, row.Rev, acked[row.ID])
			}
			if acked[row.ID] > 0 {
				seen++
			}
			rev, to := int64(0), ""
			for e, err := range r.Events(row.ID, 0) {
				if err != nil {
					return err
				}
				if e.N > 0 && e.Operation == "__repair" {
					continue // recorded only
				}
				if e.Rev != rev+1 || e.From != to {
					t.Errorf("%s: event %d from %q follows %d to %q", row.ID, e.Rev, e.From, rev, to)
				}
				rev, to = e.Rev, e.To
			}
			if rev != row.Rev || to != row.State {
				t.Errorf("%s is at %d %s, its log at %d %s", row.ID, row.Rev, row.State, rev, to)
			}
		}
		orphans, err := r.Orphans("", 0)
		if len(orphans) > 0 {
			t.Errorf("events without a record: %q", orphans)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen != len(acked) {
		t.Errorf("%d of %d acknowledged records are there", seen, len(acked))
	}
}
