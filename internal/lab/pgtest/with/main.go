// Command with runs a command with one throw-away PostgreSQL server for all tests in
// it: go run ./internal/lab/pgtest/with go test ./...
//
// pgtest finds the address in FSMGEN_PGTEST_URL, which says nothing to other tests.
// Where PostgreSQL is not installed, or FSMGEN_POSTGRES_URL names a server already, the
// command runs as it is.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
)

func main() { os.Exit(run()) }

func run() int {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: with command args...")
		return 2
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// A terminal interrupts the command, too: it ends, and we after it. Who ends us alone
	// means the command.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	url, stop, err := pgtest.ServeRun()
	switch {
	case err == nil:
		defer stop()
		cmd.Env = append(os.Environ(), pgtest.RunVariable+"="+url)
	case !errors.Is(err, pgtest.ErrNoServer):
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err = cmd.Start(); err == nil {
		go func() {
			for sig := range ended {
				_ = cmd.Process.Signal(sig) // it may have ended meanwhile
			}
		}()
		err = cmd.Wait()
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(1, exit.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
