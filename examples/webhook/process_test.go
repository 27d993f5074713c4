package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/webhook/notice"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// childEnv names what the test binary is when a test has started it.
const childEnv = "WEBHOOK_CHILD"

// TestMain runs a program itself when a test has started this binary as its child.
func TestMain(m *testing.M) {
	name := os.Getenv(childEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := child(ctx, name); err != nil {
		fmt.Fprintln(os.Stderr, "webhook:", err)
		os.Exit(1)
	}
}

// child is one of the two programs, or the same with a fault.
func child(ctx context.Context, name string) error {
	switch name {
	case "eager":
		c, err := sendFlags(os.Args[2:])
		if err != nil {
			return err
		}
		x := &eager{honest: newPoster(c)}
		defer x.wg.Wait()
		return send(ctx, c, x, os.Stdout)
	case "forgetful":
		c, err := receiveFlags(os.Args[2:])
		if err != nil {
			return err
		}
		return receive(ctx, c, forgetful, os.Stdout)
	}
	return run(ctx, os.Args[1:], os.Stdout)
}

// eager is a control: it says that a notice was taken before it sends it.
type eager struct {
	honest *poster
	wg     sync.WaitGroup
}

func (x *eager) Post(_ context.Context, n notice.Notice, key string, e fsm.Event) error {
	x.wg.Go(func() { _ = x.honest.Post(context.Background(), n, key, e) })
	return nil
}

// forgetful is a control: a receiver to which every request is a new one.
func forgetful(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set(keyHeader, rand.Text())
		h.ServeHTTP(w, r)
	})
}

// process is a running child.
type process struct {
	cmd   *exec.Cmd
	lines chan string // its standard output from the second line on; closed at its end
	words string      // the first line
	err   strings.Builder
}

// begin starts a child and waits for its first line, which says that it works.
func begin(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], args...), lines: make(chan string, 1024)}
	p.cmd.Env = append(os.Environ(), childEnv+"="+name)
	p.cmd.Stderr = &p.err
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := make(chan string, 1)
	go func() {
		defer close(p.lines)
		lines := bufio.NewReader(out)
		for n := 0; ; n++ {
			line, err := lines.ReadString('\n')
			switch {
			case err != nil: // a line without its end says nothing
				if n == 0 {
					close(first)
				}
				return
			case n == 0:
				first <- strings.TrimSpace(line)
			default:
				p.lines <- strings.TrimSpace(line)
			}
		}
	}()
	select {
	case p.words = <-first:
	case <-time.After(time.Minute):
	}
	if p.words == "" {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		t.Fatalf("%s %v did not begin: %s", name, args, &p.err)
	}
	return p
}

// kill ends a child with SIGKILL. It returns when it is gone.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatalf("kill: %v; it ended by itself: %s", err, &p.err)
	}
	for range p.lines { // who reads them has ended, or takes them along
	}
	_ = p.cmd.Wait()
	if p.cmd.ProcessState.Exited() {
		t.Fatalf("it ended by itself before it was killed: %s", &p.err)
	}
}
