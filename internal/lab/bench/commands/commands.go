// Package commands measures programs that run once: wall time, processor time and
// memory of a whole process, from its start to its end.
package commands

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
)

// Command is one way of running a program.
type Command struct {
	Name string
	Args []string // the program first
	Dir  string   // where it runs; empty: here
	Out  string   // a folder that is emptied before each run, so that every file is written; empty: none
}

// Result is what a command took.
type Result struct {
	Name      string
	Wall      []time.Duration // one per round
	Processor []time.Duration
	Memory    int64 // bytes, the most that a run had in memory; 0 where the system does not tell
}

// Median returns the median of the wall times.
func (r Result) Median() time.Duration { return median(r.Wall) }

// Work returns the median of the processor times.
func (r Result) Work() time.Duration { return median(r.Processor) }

func median(d []time.Duration) time.Duration {
	values := make([]float64, len(d))
	for i, x := range d {
		values[i] = float64(x)
	}
	return time.Duration(measure.Median(values))
}

// Run runs the commands by turns, each once in every round. A command that fails
// ends the measurement, with what it printed.
func Run(ctx context.Context, rounds int, commands []Command) ([]Result, error) {
	results := make([]Result, len(commands))
	for i, c := range commands {
		results[i].Name = c.Name
	}
	for range rounds {
		for i, c := range commands {
			if c.Out != "" {
				if err := os.RemoveAll(c.Out); err != nil {
					return nil, err
				}
				if err := os.MkdirAll(c.Out, 0o755); err != nil {
					return nil, err
				}
			}
			cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
			var said bytes.Buffer
			cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, &said, &said
			begun := time.Now()
			err := cmd.Run()
			wall := time.Since(begun)
			if err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, said.Bytes())
			}
			r := &results[i]
			r.Wall = append(r.Wall, wall)
			r.Processor = append(r.Processor, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
			r.Memory = max(r.Memory, peak(cmd.ProcessState))
		}
	}
	return results, nil
}

// Build builds programs into a folder: the root module's fsmgen, and the peers
// that this module names as tools.
func Build(ctx context.Context, root, dir string) error {
	for _, b := range []struct{ in, pkg string }{
		{root, "./cmd/fsmgen"},
		{filepath.Join(root, "internal/lab/bench"), "golang.org/x/tools/cmd/stringer"},
		{filepath.Join(root, "internal/lab/bench"), "github.com/dmarkham/enumer"},
	} {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), b.pkg)
		cmd.Dir = b.in
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", b.pkg, err, said)
		}
	}
	return nil
}

// Ring writes a machine of n states, each with an operation to the next one that
// only the owner may ask for, and with something to prove: a counter that has
// risen.
func Ring(n int) string {
	var b strings.Builder
	b.WriteString("fsm: 1\nmachine: ring\nentity: Ring\notherwise: reject\n" +
		"fields: {owner: optional string, steps: counter}\n" +
		"guards:\n  owner_only: {when: owner == actor, error: not_owner}\nstates:\n  s0: {absent: [owner]}\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "  s%d: {present: [owner], invariant: [steps >= 1]}\n", i)
	}
	b.WriteString("operations:\n  make: {creates: s0}\n  go0: {from: s0, to: s1, set: {owner: actor}, increment: [steps]}\n")
	for i := 1; i < n; i++ {
		clear := ""
		if i == n-1 {
			clear = ", clear: [owner]"
		}
		fmt.Fprintf(&b, "  go%d: {from: s%d, to: s%d, require: [owner_only]%s}\n", i, i, (i+1)%n, clear)
	}
	b.WriteString("  drop: {by: operator, from: [")
	for i := 1; i < n; i++ {
		if i > 1 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "s%d", i)
	}
	b.WriteString("], to: s0, clear: [owner]}\n")
	return b.String()
}

// Enum writes a Go file with an enum of n values, for generators of enums.
func Enum(n int) string {
	var b strings.Builder
	b.WriteString("package ring\n\ntype State uint16\n\nconst (\n\tS0 State = iota\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "\tS%d\n", i)
	}
	b.WriteString(")\n")
	return b.String()
}
