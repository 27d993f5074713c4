package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Crashing starts a server of the test's own, whatever FSMGEN_POSTGRES_URL
// says, and returns its address and a function that crashes it: a process of it
// is killed with SIGKILL, upon which the server ends every session and recovers
// from its log, as after a crash of the machine whose disk kept its word.
func Crashing(t testing.TB) (dsn string, crash func() error) {
	t.Helper()
	c := &cluster{}
	dsn, err := c.acquire()
	if errors.Is(err, errNoPrograms) {
		if os.Getenv("FSMGEN_REQUIRE_POSTGRES") == "1" {
			t.Fatal(enable)
		}
		t.Skip(enable)
	}
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	t.Cleanup(c.release)
	return dsn, func() error {
		children, err := childrenOf(c.cmd.Process.Pid)
		if err != nil {
			return err
		}
		if len(children) == 0 {
			return errors.New("the server has no processes")
		}
		return syscall.Kill(slices.Max(children), syscall.SIGKILL) // the youngest: most likely a session
	}
}

// childrenOf reads the processes whose parent is pid.
func childrenOf(pid int) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var children []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		head, rest, ok := strings.Cut(string(text), "(")
		end := strings.LastIndex(rest, ")")
		if !ok || end < 0 {
			continue
		}
		var state string
		var parent, child int
		if _, err := fmt.Sscan(rest[end+1:], &state, &parent); err != nil || parent != pid || state == "Z" {
			continue
		}
		if _, err := fmt.Sscan(head, &child); err == nil {
			children = append(children, child)
		}
	}
	return children, nil
}
