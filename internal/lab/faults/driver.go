package faults

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// Driver is a way to open a database.
type Driver struct {
	Name string // in the table of figures
	// Open opens the machine at a place, a path or an address; with migrate it
	// makes the tables. The function closes it.
	Open func(ctx context.Context, place string, migrate bool) (*Subject, func() error, error)
	// Ledger opens the database beside the store.
	Ledger func(place string) (*sql.DB, error)
	// Normal opens the machine in sessions that do not wait for the disk: the
	// control of PowerCuts, which needs it.
	Normal func(ctx context.Context, place string) (*Subject, error)
}

// Long reports whether the long form is asked for.
func Long() bool { return os.Getenv("FSMGEN_FAULTS_LONG") == "1" }

// Size returns how often a fault is made.
func Size(short, long int) int {
	if Long() {
		return long
	}
	return short
}

const childEnv = "FSMGEN_FAULTS_CHILD"

// children are what a test binary does as the process that gets broken.
var children = map[string]func(ctx context.Context, d Driver, place string) error{
	"write": func(ctx context.Context, d Driver, place string) error { return writeAll(ctx, d, place, told) },
	"eager": func(ctx context.Context, d Driver, place string) error {
		return writeAll(ctx, d, place, toldTooEarly)
	},
}

// Main is the TestMain of a package whose tests break processes over these
// drivers: the processes are the test binary itself.
func Main(m *testing.M, drivers ...Driver) {
	name := os.Getenv(childEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	for _, d := range drivers {
		if d.Name != os.Getenv(childEnv+"_DRIVER") {
			continue
		}
		if err := children[name](context.Background(), d, os.Getenv(childEnv+"_PLACE")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "no such driver")
	os.Exit(3)
}

// childCommand is this binary as a child.
func (d Driver) childCommand(name, place string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+name, childEnv+"_DRIVER="+d.Name, childEnv+"_PLACE="+place, "GOGC=off")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// The lines that a child writes about its calls, each in one write.
func asked(w io.Writer, id string, rev int) { fmt.Fprintf(w, "? %s %d\n", id, rev) }
func ack(w io.Writer, id string, rev int)   { fmt.Fprintf(w, "+ %s %d\n", id, rev) }

// told is the honest hook: it acknowledges what was answered.
func told(w io.Writer) Hook {
	return Hook{
		Asked: func(id string, rev int) { asked(w, id, rev) },
		Told: func(id string, rev int, err error) {
			if err == nil {
				ack(w, id, rev)
			}
		},
	}
}

// toldTooEarly is the control: it acknowledges before the call.
func toldTooEarly(w io.Writer) Hook {
	return Hook{
		Asked: func(id string, rev int) { asked(w, id, rev); ack(w, id, rev) },
		Told:  func(string, int, error) {},
	}
}

// writeAll drives FSMGEN_FAULTS_CHILD_WRITERS writers until one fails, each
// through FSMGEN_FAULTS_CHILD_COUNT executions (0: without an end).
func writeAll(ctx context.Context, d Driver, place string, hook func(io.Writer) Hook) error {
	s, end, err := d.Open(ctx, place, false)
	if err != nil {
		return err
	}
	defer end()
	return drive(ctx, s, hook(os.Stdout))
}

func drive(ctx context.Context, s *Subject, h Hook) error {
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
