package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/live/livetest"
	"github.com/fsmgen/fsmgen/internal/live/sqldb"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// screens is an output that says when something was written.
type screens struct {
	mu    sync.Mutex
	text  strings.Builder
	wrote chan bool
}

func (s *screens) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.text.Write(p)
	s.wrote <- true
	return n, err
}

// Top is shown again and again, also when the database does not answer, until its context ends.
func TestTopUntil(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "jobs.db")
	store, err := sqlite.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := livetest.Jobs(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../specs/lifecycle.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m, found := validate.Source("lifecycle.yaml", text)
	if found.HasErrors() {
		t.Fatal(found)
	}
	db, err := sqldb.Open(t.Context(), file, m, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := &screens{wrote: make(chan bool)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- newCtl(strings.NewReader(""), out, out).topUntil(ctx, db, time.Millisecond) }()
	<-out.wrote
	<-out.wrote
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	<-out.wrote
	<-out.wrote
	stop()
	for {
		select {
		case <-out.wrote:
			continue
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		}
		break
	}
	all := strings.Split(out.text.String(), "\x1b[H\x1b[J")[1:]
	last := all[len(all)-1]
	if !strings.Contains(all[0], "queued     2 ") || !strings.Contains(all[1], "queued     2 ") {
		t.Errorf("the first screens are %q", all[:2])
	}
	if !strings.HasPrefix(last, "the database does not answer: ") || !strings.HasSuffix(last, "\nq or Ctrl-C ends it\n") {
		t.Errorf("the last screen is %q", last)
	}
}

// A key that ends the show ends it, others do not; so does the end of the input.
func TestWaitForQ(t *testing.T) {
	t.Parallel()
	for keys, left := range map[string]int{"xyq!": 1, "\x03!!": 2, "xy": 0, "Q": 0} {
		ended, in := false, strings.NewReader(keys)
		waitForQ(in, func() { ended = true })
		if !ended || in.Len() != left {
			t.Errorf("%q: ended %t with %d keys left", keys, ended, in.Len())
		}
	}
}
