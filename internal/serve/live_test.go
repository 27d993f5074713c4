package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/validate"
)

const small = "fsm: 1\nmachine: job\nentity: Job\notherwise: reject\nstates:\n  open: {}\n  shut: {terminal: true}\noperations:\n  make: {creates: open}\n  close: {from: open, to: shut}\n"

// A changed file is told, whether it became wrong, right or went away; ending ends
// the streams as well.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	path := write(t, small)
	s, err := New(Options{Files: []string{path}, Check: validate.Source, Poll: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	allowed, loopback := HostsOf(l, "127.0.0.1")
	if !loopback || allowed.AnyAddress {
		t.Errorf("%s: loopback %v, any address %v", l.Addr(), loopback, allowed.AnyAddress)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, allowed) }()
	stream, err := http.Get("http://" + l.Addr().String() + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	next := func() (c change) {
		t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &c); err != nil {
					t.Fatal(err)
				}
				return c
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return c
	}
	first := next()
	if err := os.WriteFile(path, []byte(strings.Replace(small, "shut}", "shutt}", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	// A reader may meet a file that is being written: what counts is where it ends.
	wrong := next()
	for wrong.Hash == "" || wrong.Hash == first.Hash {
		wrong = next()
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	gone := next()
	for gone.Problem == "" {
		gone = next()
	}
	if !strings.HasSuffix(gone.Problem, "spec.yaml is gone. Put it back, or start the command again with the path that the file has now. "+
		"This page shows it as soon as it can be read.") {
		t.Errorf("a file that is gone: %s", gone.Problem)
	}
	answer, err := http.Get("http://" + l.Addr().String() + "/api/machine/0")
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body.Close(); answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a file that is gone: %s", answer.Status)
	}
	if err := os.WriteFile(path, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	back := next()
	for back.Hash != first.Hash {
		back = next()
	}
	end()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("an open stream keeps the server from ending")
	}
}

func TestNoSuchFile(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{Files: []string{"nowhere.yaml"}, Check: validate.Source}); err == nil {
		t.Error("a file that is not there was opened")
	}
}
