// Command table prints what machines of many sizes cost: the processor time of
// check, gen, the build of the generated package and its generated tests, and each
// of them for one cell. A cell is a state and an operation.
//
//	go run ./internal/lab/cost/table [-states 10,100] [-fields 1,10]
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
	states := flag.String("states", "10,100,400,1000,2000", "numbers of states")
	fields := flag.String("fields", "1,10,100,1000", "numbers of fields")
	flag.Parse()
	if err := table(strings.Split(*states, ","), strings.Split(*fields, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func table(states, fields []string) error {
	dir, err := os.MkdirTemp("", "fsmgen-table-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "fsmgen")
	if _, err := run(".", "go", "build", "-o", program, "./cmd/fsmgen"); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "processor time in seconds, and in microseconds per cell (states x operations)")
	fmt.Fprintf(os.Stdout, "%6s %6s %8s  %16s  %16s  %16s  %16s\n", "states", "fields", "cells", "check", "gen", "build", "tests")
	for _, states := range states {
		for _, fields := range fields {
			s, err1 := strconv.Atoi(states)
			f, err2 := strconv.Atoi(fields)
			err := errors.Join(err1, err2)
			if err == nil && s*f > most {
				fmt.Fprintf(os.Stdout, "%6d %6d  left out\n", s, f)
			} else if err == nil {
				err = row(dir, program, s, f)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// row measures one machine in a module of its own. What the generated package
// imports is compiled before.
func row(dir, program string, states, fields int) error {
	source := cost.Dense(states, fields)
	m, found := spec.Parse("big.yaml", []byte(source))
	if m == nil || found.HasErrors() {
		return fmt.Errorf("%d states, %d fields: %w", states, fields, found)
	}
	mod := filepath.Join(dir, fmt.Sprintf("m%d_%d", states, fields))
	root, err0 := os.Getwd()
	text, err1 := os.ReadFile("go.mod")
	sums, err2 := os.ReadFile("go.sum")
	if err := errors.Join(err0, err1, err2, os.MkdirAll(mod, 0o700)); err != nil {
		return err
	}
	own := "github.com/fsmgen/fsmgen"
	needs, _, _ := strings.Cut(strings.Replace(string(text), "module "+own, "module example.com/big", 1), "\ntool ")
	needs += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %q\n", own, own, root)
	for name, data := range map[string]string{"go.mod": needs, "go.sum": string(sums), "big.yaml": source} {
		if err := os.WriteFile(filepath.Join(mod, name), []byte(data), 0o600); err != nil {
			return err
		}
	}
	cells := states * len(m.Operations)
	fmt.Fprintf(os.Stdout, "%6d %6d %8d", states, fields, cells)
	for _, c := range [][]string{
		{"go", "test", "-run=^$", own + "/runtime/fsmtest"}, // compiles what is imported, and is not told
		{program, "check", "big.yaml"},
		{program, "gen", "-o", "big", "big.yaml"},
		{"go", "build", "./big"},
		{"go", "test", "-c", "-o", "big.test", "./big"}, // is not told: only the run is
		{filepath.Join(mod, "big.test"), "-test.timeout=1h"},
	} {
		took, err := run(mod, c...)
		if err != nil {
			return err
		}
		if len(c) < 3 || c[1] != "test" {
			fmt.Fprintf(os.Stdout, "  %8.2f %7.1f", took.Seconds(), float64(took.Microseconds())/float64(cells))
		}
	}
	fmt.Fprintln(os.Stdout)
	return nil
}

// run tells the processor time of a command and of what it started.
func run(dir string, command ...string) (time.Duration, error) {
	c := exec.Command(command[0], command[1:]...) //nolint:gosec // the commands above
	c.Dir, c.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := c.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime(), nil
}
