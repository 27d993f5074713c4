package faults

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// ProcessKills kills processes that write, one after the other while the others write on
// to the same database. What a process was told before it was killed with SIGKILL is
// there, what it was not told is settled by the same calls again, and no effect happened
// twice. place makes a new database's place.
func ProcessKills(t *testing.T, d Driver, processes, short, long int, place func() string) {
	t.Helper()
	began, kills, longer := time.Now(), Size(short, long), Longer(short, long)
	var got killed
	most := perDatabase
	if processes > 1 {
		most = perDatabaseBeside
	}
	for left := kills; left > 0; left -= most {
		part := d.killProcesses(t, "write", place(), processes, min(left, most), true)
		if wrong := part.Wrong(); wrong != "" {
			t.Error(wrong)
		}
		got.add(part)
	}
	if got.Acked < int64(kills) || got.unknown == 0 {
		t.Errorf("%d acknowledged, %d unknown: the test shows nothing", got.Acked, got.unknown)
	}
	var control killed
	for range 5 { // what is lost is what was under way
		more := d.killProcesses(t, "eager", place(), 1, Size(20, 60), false)
		control.Lost += more.Lost
		control.Acked += more.Acked
		if control.Lost > 0 {
			break
		}
	}
	if control.Lost == 0 {
		t.Error("the control, which acknowledges before the commit, lost nothing: the test cannot see a loss")
	}
	how := "SIGKILL after 0.5 to 40 ms of work by 4 writers"
	if processes > 1 {
		how = fmt.Sprintf("SIGKILL to one of %d processes of 4 writers, the others write on", processes)
	}
	Report(t, Row{
		Test: "kill -9 of the process", Store: d.Name, How: how,
		Figures: fmt.Sprintf("%d kills, %d acknowledged, lost %d, doubled %d; %d in flight: %d had been committed, %d had not, all settled; ledger %d = committed %d",
			got.kills, got.Acked, got.Lost, got.Doubled, got.unknown, got.there, got.unknown-got.there, got.Ledger, got.Committed),
		Control: fmt.Sprintf("acknowledging before the commit lost %d of %d", control.Lost, control.Acked),
		Took:    time.Since(began), Longer: longer,
	})
}

// How many kills one database sees: each process looks at all its records when it opens
// them. Beside others that go on writing meanwhile it finds more each time.
const (
	perDatabase       = 250
	perDatabaseBeside = 10
)

type killed struct {
	Verdict
	kills          int
	unknown, there int // calls in flight, and those of them that had been committed
}

func (k *killed) add(o killed) {
	k.kills += o.kills
	k.unknown += o.unknown
	k.there += o.there
	k.Acked += o.Acked
	k.Lost += o.Lost
	k.Doubled += o.Doubled
	k.Ledger += o.Ledger
	k.Committed += o.Committed
}

func (d Driver) killProcesses(t *testing.T, child, place string, processes, kills int, settle bool) killed {
	t.Helper()
	ctx := t.Context()
	_, end, err := d.Open(ctx, place, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	var got killed
	acked := map[string]int{}
	told := 0
	var alive []*victim
	defer func() {
		for _, v := range alive {
			v.kill(t)
		}
	}()
	// On a slow machine a kill may come before the first answer.
	for n := 0; n < kills || settle && n < 5*kills && (told < kills || got.unknown == 0); n++ {
		for len(alive) < processes {
			alive = append(alive, d.begin(t, child, place, fmt.Sprintf("k%d.%d", n, len(alive))))
		}
		time.Sleep(500*time.Microsecond + time.Duration(rand.IntN(39_500))*time.Microsecond)
		v := alive[0]
		alive = alive[1:]
		c := v.kill(t)
		got.kills++
		told += total(c.acked)
		maps.Copy(acked, c.acked)
		if settle {
			got.settle(t, d, place, c, acked)
		}
	}
	for len(alive) > 0 { // all at once: what is left of them is settled afterwards
		v := alive[0]
		alive = alive[1:]
		c := v.kill(t)
		got.kills++
		maps.Copy(acked, c.acked)
		got.settle(t, d, place, c, acked)
	}
	s, end, err := d.Open(ctx, place, false)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if got.Verdict, err = s.Verify(ctx, acked); err != nil {
		t.Fatal(err)
	}
	return got
}

// settle makes the calls that were in flight again.
func (k *killed) settle(t *testing.T, d Driver, place string, c calls, acked map[string]int) {
	t.Helper()
	ctx := t.Context()
	s, end, err := d.Open(ctx, place, false)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for id, rev := range c.asked {
		if rev <= c.acked[id] {
			continue
		}
		there, err := s.Settle(ctx, id, rev)
		if err != nil {
			t.Error(err)
			continue
		}
		if there < c.acked[id] {
			t.Errorf("%s: revision %d was acknowledged, only %d was there", id, c.acked[id], there)
		}
		k.unknown++
		if there == rev {
			k.there++
		}
		acked[id] = rev
	}
}

// victim is a process that is going to be killed.
type victim struct {
	cmd       *exec.Cmd
	complaint strings.Builder
	said      chan string
}

// begin starts a child and waits until it works.
func (d Driver) begin(t *testing.T, child, place, name string) *victim {
	t.Helper()
	v := &victim{cmd: d.childCommand(child, place, childEnv+"_WRITERS=4", childEnv+"_NAME="+name), said: make(chan string, 1)}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	v.cmd.Stderr = &v.complaint
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	first, _ := lines.ReadString('\n')
	go func() {
		rest, _ := io.ReadAll(lines)
		v.said <- first + string(rest)
	}()
	return v
}

// kill kills it and returns what it said.
func (v *victim) kill(t *testing.T) calls {
	t.Helper()
	_ = v.cmd.Process.Kill()
	said := <-v.said
	_ = v.cmd.Wait()
	if v.complaint.Len() > 0 {
		t.Fatalf("the child failed: %s", v.complaint.String())
	}
	c, err := readCalls(said)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
