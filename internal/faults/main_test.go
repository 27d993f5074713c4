package faults_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // the driver of the ledger

	"github.com/fsmgen/fsmgen/internal/faults"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

var long = flag.Bool("long", false, "the long form: every fault as often as the published table says")

// size returns how often a fault is made.
func size(short, all int) int {
	if *long {
		return all
	}
	return short
}

const childEnv = "FSMGEN_FAULTS_CHILD"

// children are what this binary does as the process that gets broken.
var children = map[string]func(ctx context.Context, path string) error{
	"write": func(ctx context.Context, path string) error { return writeAll(ctx, path, told) },
	"eager": func(ctx context.Context, path string) error { return writeAll(ctx, path, toldTooEarly) },
}

func TestMain(m *testing.M) {
	name := os.Getenv(childEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := children[name](context.Background(), os.Getenv(childEnv+"_PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

// childCommand is this binary as a child.
func childCommand(name, path string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+name, childEnv+"_PATH="+path, "GOGC=off")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// openSQLite opens the machine in a file; with migrate it makes the tables.
func openSQLite(ctx context.Context, path string, migrate bool) (*faults.Subject, func() error, error) {
	store, err := sqlite.Open(path)
	if err != nil {
		return nil, nil, err
	}
	db, err := openLedger(path)
	if err != nil {
		store.Close()
		return nil, nil, err
	}
	end := func() error {
		db.Close()
		return store.Close()
	}
	if migrate {
		if err := faults.Migrate(ctx, store, db); err != nil {
			end()
			return nil, nil, err
		}
	}
	s, err := faults.Open(ctx, store, db)
	if err != nil {
		end()
		return nil, nil, err
	}
	return s, end, nil
}

func openLedger(path string) (*sql.DB, error) {
	q := url.Values{"_pragma": {"busy_timeout(5000)", "synchronous(FULL)"}}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: filepath.ToSlash(path), RawQuery: q.Encode()}).String())
}

// The lines that a child writes about its calls, each in one write.
func asked(w io.Writer, id string, rev int) { fmt.Fprintf(w, "? %s %d\n", id, rev) }
func ack(w io.Writer, id string, rev int)   { fmt.Fprintf(w, "+ %s %d\n", id, rev) }

// told is the honest hook: it acknowledges what was answered.
func told(w io.Writer) faults.Hook {
	return faults.Hook{
		Asked: func(id string, rev int) { asked(w, id, rev) },
		Told: func(id string, rev int, err error) {
			if err == nil {
				ack(w, id, rev)
			}
		},
	}
}

// toldTooEarly is the control: it acknowledges before the call.
func toldTooEarly(w io.Writer) faults.Hook {
	return faults.Hook{
		Asked: func(id string, rev int) { asked(w, id, rev); ack(w, id, rev) },
		Told:  func(string, int, error) {},
	}
}

// writeAll drives FSMGEN_FAULTS_CHILD_WRITERS writers until one fails, each
// through FSMGEN_FAULTS_CHILD_COUNT executions (0: without an end).
func writeAll(ctx context.Context, path string, hook func(io.Writer) faults.Hook) error {
	s, end, err := openSQLite(ctx, path, false)
	if err != nil {
		return err
	}
	defer end()
	return drive(ctx, s, hook(os.Stdout))
}

func drive(ctx context.Context, s *faults.Subject, h faults.Hook) error {
	writers, count := 1, 0
	fmt.Sscan(os.Getenv(childEnv+"_WRITERS"), &writers)
	fmt.Sscan(os.Getenv(childEnv+"_COUNT"), &count)
	name := os.Getenv(childEnv + "_NAME")
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			if err := s.Drive(ctx, fmt.Sprintf("%s.%d", name, w), count, h); err != nil {
				stop(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// calls is what a child said: the highest revision acknowledged and asked for
// of each execution.
type calls struct{ acked, asked map[string]int }

func readCalls(text string) (calls, error) {
	c := calls{map[string]int{}, map[string]int{}}
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break // torn: it says nothing
		}
		var sign, id string
		var rev int
		if _, err := fmt.Sscanf(line, "%s %s %d", &sign, &id, &rev); err != nil {
			return c, fmt.Errorf("line %q: %w", line, err)
		}
		if sign == "+" {
			c.acked[id] = max(c.acked[id], rev)
		} else {
			c.asked[id] = max(c.asked[id], rev)
		}
	}
	return c, nil
}
