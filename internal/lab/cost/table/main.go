// Command table prints what machines of many sizes cost: the processor time of
// check, gen, the build of the generated package and its generated tests, and each
// of them for one cell. A cell is a state and an operation.
//
//	go run ./internal/lab/cost/table [-states 10,100] [-fields 1,10] [-rings 100,400] [-limit 45s]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/cost"
	"github.com/fsmgen/fsmgen/spec"
)

// most is how many states times fields are measured: the rest of the table is left
// out, with a word.
const most = 200_000

func main() {
	states := flag.String("states", "10,100,1000,2000", "numbers of states")
	fields := flag.String("fields", "1,10,100,1000", "numbers of fields")
	rings := flag.String("rings", "100,400", "numbers of states of rings")
	limit := flag.Duration("limit", 45*time.Second, "processor time of one process, after which a command is given up")
	flag.Parse()
	s, err1 := numbers(*states)
	f, err2 := numbers(*fields)
	r, err3 := numbers(*rings)
	err := errors.Join(err1, err2, err3)
	if err == nil {
		err = table(s, f, r, *limit)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func table(states, fields, rings []int, limit time.Duration) error {
	dir, err := os.MkdirTemp("", "fsmgen-table-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, program: filepath.Join(dir, "fsmgen"), limit: limit}
	if _, err := b.run(".", "go", "build", "-o", b.program, "./cmd/fsmgen"); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "processor time in seconds, and in microseconds per cell (states x operations); given up after %s\n", limit)
	fmt.Fprintf(os.Stdout, "%6s %6s %8s  %16s  %16s  %16s  %16s\n", "states", "fields", "cells", "check", "gen", "build", "tests")
	for _, f := range fields {
		for _, s := range states {
			if s*f > most {
				fmt.Fprintf(os.Stdout, "%6d %6d  left out\n", s, f)
			} else if err := b.row(fmt.Sprintf("%6d %6d", s, f), cost.Dense(s, f)); err != nil {
				return err
			}
		}
	}
	for _, n := range rings {
		if err := b.row(fmt.Sprintf("%6d %6s", n, "ring"), cost.Ring(n)); err != nil {
			return err
		}
	}
	return nil
}

// numbers reads a list, which may be empty.
func numbers(list string) ([]int, error) {
	var all []int
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// bench measures the program in a folder.
type bench struct {
	dir, program string
	limit        time.Duration
	rows         int
}

// row measures one machine in a module of its own. What the generated package
// imports is compiled before.
func (b *bench) row(name, source string) error {
	m, found := spec.Parse("big.yaml", []byte(source))
	if m == nil || found.HasErrors() {
		return fmt.Errorf("%s: %w", name, found)
	}
	b.rows++
	mod := filepath.Join(b.dir, fmt.Sprint("m", b.rows))
	root, err := os.Getwd()
	if err == nil {
		err = cost.Module(mod, root, source)
	}
	if err != nil {
		return err
	}
	defer os.RemoveAll(mod)
	cells := len(m.States) * len(m.Operations)
	fmt.Fprintf(os.Stdout, "%s %8d", name, cells)
	defer fmt.Fprintln(os.Stdout)
	for _, c := range [][]string{
		{"go", "test", "-run=^$", "github.com/fsmgen/fsmgen/runtime/fsmcases"}, // compiles what is imported, and is not told
		{b.program, "check", "big.yaml"},
		{b.program, "gen", "-o", "big", "big.yaml"},
		{"go", "build", "./big"},
		{"go", "test", "-c", "-o", "big.test", "./big"}, // is not told: only the run is
		{filepath.Join(mod, "big.test"), "-test.timeout=1h"},
	} {
		took, err := b.run(mod, c...)
		if err != nil && took >= b.limit*9/10 {
			fmt.Fprintf(os.Stdout, "  %16s", fmt.Sprintf("over %.0f", b.limit.Seconds()))
			if c[0] == "go" {
				return nil // nothing to run
			}
			continue
		}
		if err != nil {
			return err
		}
		if len(c) < 3 || c[1] != "test" {
			fmt.Fprintf(os.Stdout, "  %8.2f %7.1f", took.Seconds(), float64(took.Microseconds())/float64(cells))
		}
	}
	return nil
}

// run tells the processor time of a command and of what it started. Each of these
// processes ends when it has used up the limit.
func (b *bench) run(dir string, command ...string) (time.Duration, error) {
	limited := fmt.Sprintf(`ulimit -t %.0f && exec "$@"`, b.limit.Seconds())
	c := exec.Command("sh", append([]string{"-c", limited, "sh"}, command...)...) //nolint:gosec // the commands above
	c.Dir, c.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime(), err
}
