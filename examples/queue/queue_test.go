package main

import (
	"flag"
	"os"
	"testing"
	"time"
)

var kills = flag.Int("crash", 5, "how often TestCrash kills the queue with SIGKILL")

// TestMain runs the program itself when the crash test has started this binary
// as its child.
func TestMain(m *testing.M) {
	if os.Getenv("QUEUE_CHILD") != "" {
		main()
		return
	}
	flag.CommandLine.Init(os.Args[0], flag.ExitOnError)
	os.Exit(m.Run())
}

func TestCrash(t *testing.T) {
	c := config{dir: t.TempDir(), jobs: backlog, workers: 4, producers: 2, work: 20 * time.Millisecond, lease: 300 * time.Millisecond}
	r, err := crash(t.Context(), c, *kills, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	r.print(t.Output())
	if r.kills != *kills {
		t.Errorf("killed %d times, want %d: the queue finished too early", r.kills, *kills)
	}
	if r.acked == 0 || int64(r.acked) > r.events {
		t.Errorf("%d transitions acknowledged, %d events in the log", r.acked, r.events)
	}
	if r.bad() {
		t.Errorf("the audit found what must not be: %+v", *r)
	}
}
