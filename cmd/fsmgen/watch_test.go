package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// tape is a writer that a test reads while a command writes.
type tape struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *tape) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *tape) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// until waits for a text that was not there after from bytes, and returns how
// much there is.
func (l *tape) until(t *testing.T, from int, want string) int {
	t.Helper()
	for range 2000 {
		if text := l.String(); strings.Contains(text[from:], want) {
			return len(text)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%q was not said:\n%s", want, l.String()[from:])
	return 0
}

// TestWatch follows one who writes a machine: a first version, a mistake, its
// fix, a save without a change, a file that is gone for a while.
func TestWatch(t *testing.T) {
	t.Parallel()
	sound, err := os.ReadFile("starter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "job.yaml")
	save := func(text []byte) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save(bytes.ReplaceAll(sound, []byte("NAME"), []byte("job")))
	if sound, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	var out, errs tape
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- newCLI(strings.NewReader(""), &out, &errs).watch(ctx, []string{file}, genFlags{enforce: "full"})
	}()

	at := errs.until(t, 0, "up to date; waiting for the next change")
	generated := out.until(t, 0, "_fsm.go")
	save(append(sound, "nonsense: true\n"...))
	from := at
	at = errs.until(t, at, "waiting for the next change")
	if text := errs.String()[from:]; !strings.Contains(text, "[FSM001]") {
		t.Errorf("of the mistake it says %q", text)
	}
	save(append(sound, "version: 2\n"...))
	at = errs.until(t, at, "up to date; waiting")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	at = errs.until(t, at, "cannot read the specification")
	save(append(sound, "version: 2\n"...))
	at = errs.until(t, at, "up to date; waiting")

	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(file, now, now); err != nil { // touched, not changed
		t.Fatal(err)
	}
	time.Sleep(5 * watchPoll)
	if text := errs.String()[at:]; text != "" {
		t.Errorf("a file that was only touched: %q", text)
	}
	if text := out.String(); strings.Count(text, "_store.go\n") != 2 || len(text) <= generated {
		t.Errorf("the package is to be written for each of the two versions, not\n%s", text)
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("watch does not end")
	}
}
