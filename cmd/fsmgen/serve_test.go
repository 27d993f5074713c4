package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serving runs `fsmgen serve` until the test ends, and returns its address and
// what it says beside it.
func serving(t *testing.T, address string, paths ...string) (string, *bytes.Buffer) {
	t.Helper()
	r, w := io.Pipe()
	var errs bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	c := newCLI(strings.NewReader(""), w, &errs)
	go func() {
		err := c.Serve(ctx, paths, address, "", false, nil)
		_ = w.CloseWithError(err)
		done <- err
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Error("serve does not end")
		}
	})
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	at, ok := strings.CutPrefix(line, "The page is at ")
	at, end := strings.CutSuffix(at, " until you press Ctrl-C.\n")
	if !ok || !end {
		t.Fatalf("serve prints %q", line)
	}
	return at, &errs
}

func TestServe(t *testing.T) {
	t.Parallel()
	address, errs := serving(t, "127.0.0.1:0", filepath.FromSlash("../../specs/lifecycle.yaml"), filepath.FromSlash("../../specs/task.yaml"))
	if !strings.HasPrefix(address, "http://127.0.0.1:") || errs.Len() > 0 {
		t.Errorf("at %s: %s", address, errs)
	}
	for path, want := range map[string]string{
		"/": "fsmgen serve", "/api/overview": `"name":"task"`, "/api/machine/0": `"file":"../../specs/lifecycle.yaml"`, "/api/machine/1/picture.svg": "<svg",
	} {
		r, err := http.Get(strings.TrimSuffix(address, "/") + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		if r.Body.Close(); err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %.200s; want %q", path, r.Status, text, want)
		}
	}
}

// An address that others can reach is warned of, and opened by a name that works.
func TestServeForAll(t *testing.T) {
	t.Parallel()
	spec := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(spec, []byte(starter), 0o600); err != nil {
		t.Fatal(err)
	}
	address, errs := serving(t, "0.0.0.0:0", spec)
	if !strings.HasPrefix(address, "http://localhost:") || !strings.Contains(errs.String(), "is not only this computer") {
		t.Errorf("at %s: %s", address, errs)
	}
}
