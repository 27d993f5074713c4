package main

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
	"github.com/fsmgen/fsmgen/internal/lab/cost"
)

// toolRows measures the compiler, and what is done with the Go that it writes.
func toolRows(ctx context.Context, l *lab, r *report) error {
	root, err := filepath.Abs(l.root)
	if err != nil {
		return err
	}
	tool := filepath.Join(l.dir, "fsmgen")
	if _, err := spent(ctx, root, "go", "build", "-o", tool, "./cmd/fsmgen"); err != nil {
		return err
	}
	var paths, rows = []string{}, [][]string{}
	for _, pattern := range []string{"specs/*.yaml", "examples/*/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			if !strings.HasPrefix(filepath.Base(path), ".") { // the settings of some tool
				paths = append(paths, path)
			}
		}
	}
	names := append([]string{"start"}, paths...)
	times := make([][]float64, len(names))
	for range l.rounds {
		for i, name := range names {
			args := []string{"version"}
			if i > 0 {
				args = []string{"gen", "-q", "-o", filepath.Join(l.dir, fmt.Sprint("gen", i)), name}
				if err := os.RemoveAll(args[3]); err != nil {
					return err
				}
			}
			d, err := spent(ctx, root, tool, args...)
			if err != nil {
				return err
			}
			times[i] = append(times[i], float64(d.Microseconds())/1e3)
		}
	}
	most, slowest := 0.0, ""
	for i, name := range names[1:] {
		var beyond []float64
		for round := range times[0] {
			beyond = append(beyond, times[i+1][round]-times[0][round])
		}
		ms, short := measure.Median(beyond), strings.TrimSuffix(filepath.Base(name), ".yaml")
		if ms > most {
			most, slowest = ms, short
		}
		rows = append(rows, []string{short, number(ms)})
	}
	r.atMost("gen", "gen beyond process start, processor time: every example machine", 60, " ms", figure{"most, " +
		slowest + ":", most})
	r.table("gen beyond process start, ms of processor", []string{"machine", "ms"}, rows)
	large := filepath.Join(l.dir, "large.yaml")
	if err := os.WriteFile(large, []byte(cost.Dense(2000, 10)), 0o644); err != nil {
		return err
	}
	var took []float64
	for range min(l.rounds, 3) {
		d, err := spent(ctx, root, tool, "gen", "-q", "-o", filepath.Join(l.dir, "large"), large)
		if err != nil {
			return err
		}
		took = append(took, d.Seconds())
	}
	r.atMost("gen-large", "gen of 2 000 states with ten fields and random moves, processor time", 3, " s", figure{"",
		measure.Median(took)})
	return built(ctx, l, r, root, tool)
}

// patience is how long the test of a large machine may run before it is stopped.
const patience = time.Minute

// built measures what `go build` and the generated test of a large machine take.
func built(ctx context.Context, l *lab, r *report, root, tool string) error {
	var builds, tests []figure
	dense, all := cost.Dense(1000, 10), "durable,handles"
	list := []struct{ name, source, layers string }{{"random moves, ten fields", dense, all}, {"the same without handles",
		dense, "durable"}, {"a ring", cost.Ring(1000), all}}
	if l.short {
		list = list[:2]
	}
	for _, m := range list {
		mod := filepath.Join(l.dir, fmt.Sprint("mod", len(builds)))
		if err := cost.Module(mod, root, m.source); err != nil {
			return err
		}
		commands := [][]string{
			{tool, "gen", "-q", "--layers", m.layers, "-o", "big", "big.yaml"},
			{"go", "test", "-run=^$", "github.com/fsmgen/fsmgen/runtime/fsmcases"}, // what is imported is compiled
			{"go", "build", "./big"},
			{"go", "test", "-c", "-o", "big.test", "./big"},
			{filepath.Join(mod, "big.test"), "-test.timeout=" + patience.String()},
		}
		if m.layers != all { // its test is that of the one before
			commands = commands[:3]
		}
		for i, command := range commands {
			d, err := spent(ctx, mod, command[0], command[1:]...)
			name := m.name
			if i == 4 && err != nil && strings.Contains(err.Error(), "panic: test timed out") {
				name, err = name+", stopped at", nil
			}
			if err != nil {
				return err
			}
			switch i {
			case 2:
				builds = append(builds, figure{name, d.Seconds()})
			case 4:
				tests = append(tests, figure{name, d.Seconds()})
			}
		}
	}
	r.atMost("build", "build of a generated package of 1 000 states, processor time", 15, " s", builds...)
	r.atMost("test", "its test, processor time", 20, " s", tests...)
	return nil
}

// spent runs a command and returns its processor time.
func spent(ctx context.Context, dir, name string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off"), &said, &said
	if err := cmd.Run(); err != nil {
		used := time.Duration(0)
		if cmd.ProcessState != nil {
			used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		return used, fmt.Errorf("%s %s: %w\n%.2000s", name, strings.Join(args, " "), err, said.Bytes())
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
