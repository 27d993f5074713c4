package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain runs the program itself when the test has started this binary as its
// child.
func TestMain(m *testing.M) {
	if os.Getenv("SCHEDULER_CHILD") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestCrash dies in the middle of the second task and starts again.
func TestCrash(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "tasks.db")
	scheduler := func(args ...string) (string, error) {
		cmd := exec.Command(os.Args[0], append([]string{"-db", db}, args...)...)
		cmd.Env = append(os.Environ(), "SCHEDULER_CHILD=1")
		out, err := cmd.Output()
		return string(out), err
	}
	out, err := scheduler("-submit", "3", "-crash", "1")
	if err == nil || !strings.HasSuffix(out, "crash\n") {
		t.Fatalf("the scheduler did not die: %v\n%s", err, out)
	}
	victim := strings.Split(out, "\n")[1] // "running <key>"
	out, err = scheduler()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.HasPrefix(out, "1 task(s) were running when the scheduler died: pending again\n") {
		t.Errorf("no recovery:\n%s", out)
	}
	if strings.Count(out, victim+"\n") != 1 {
		t.Errorf("the task that was cut off did not run again under its key: want %q once in\n%s", victim, out)
	}
	if strings.Count(out, "\nrunning ") != 2 {
		t.Errorf("want two runs, the one cut off and the one not begun:\n%s", out)
	}
	if !strings.HasSuffix(out, "3 task(s) completed\n") {
		t.Errorf("not all tasks are completed:\n%s", out)
	}
}
