package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

func init() {
	children["io"] = func(ctx context.Context, d Driver, place string) error { return d.writeUntilError(ctx, place, false) }
	children["deaf"] = func(ctx context.Context, d Driver, place string) error { return d.writeUntilError(ctx, place, true) }
}

// writeUntilError writes until a call fails, says so, tries one more call, and
// ends without closing. A deaf one acknowledges whatever it is answered.
func (d Driver) writeUntilError(ctx context.Context, path string, deaf bool) error {
	s, _, err := d.Open(ctx, path, false)
	if err != nil {
		fmt.Println("! open")
		os.Exit(0)
	}
	h := told(os.Stdout)
	if deaf {
		h.Told = func(id string, rev int, _ error) { ack(os.Stdout, id, rev) }
	}
	if err := drive(ctx, s, h); err != nil {
		kind := "certain"
		if Unknown(err) {
			kind = "unknown"
		}
		next := s.Drive(ctx, "next", 1, told(os.Stdout))
		fmt.Println("!", kind, errors.Is(next, fsm.ErrPoisoned))
	}
	os.Exit(0)
	return nil
}

// IOErrors lets every n-th write and sync of a run fail, of those the first of
// every so many. What was acknowledged is there when the database is opened
// again, what was not is settled by the same call, and after an unknown commit
// the store writes no more.
func IOErrors(t *testing.T, d Driver, short, long int) {
	t.Helper()
	began, every := time.Now(), Size(short, long)
	strace := needStrace(t)
	faultsOf := []struct{ call, code string }{
		{"pwrite64", "EIO"}, {"pwrite64", "ENOSPC"}, {"fsync,fdatasync", "EIO"}, {"ftruncate", "EIO"},
	}
	run := &ioRun{t: t, d: d, strace: strace, child: "io", template: d.emptyDatabase(t)}
	var all ioSum
	var parts []string
	for _, f := range faultsOf {
		sum := run.all(f.call, f.code, every)
		all.add(sum)
		parts = append(parts, fmt.Sprintf("%s %s %d", f.call, f.code, sum.injected))
	}
	if all.injected == 0 || all.unknown == 0 || all.opening == 0 && Long() {
		t.Errorf("%+v: the test shows nothing", all)
	}
	if all.lost > 0 {
		t.Errorf("%d silent losses: %s", all.lost, all.first)
	}
	control := &ioRun{t: t, d: d, strace: strace, child: "deaf", template: run.template}
	deaf := control.all("pwrite64", "EIO", Size(60, 20))
	if deaf.lost == 0 {
		deaf = control.all("pwrite64", "EIO", 7)
	}
	if deaf.lost == 0 {
		t.Error("the control, which acknowledges a failed commit, lost nothing: the test cannot see a loss")
	}
	Report(t, Row{
		Test: "I/O errors", Store: d.Name, How: "strace -e inject at every n-th call of 52 transitions",
		Figures: fmt.Sprintf("%d injected (%s): silent losses %d; %d surfaced while opening, %d as unknown (all settled; the store was poisoned each time), %d as certain, %d in a checkpoint that nobody waits for",
			all.injected, strings.Join(parts, ", "), all.lost, all.opening, all.unknown, all.certain, all.quiet),
		Control: fmt.Sprintf("acknowledging failed commits lost %d transitions", deaf.lost),
		Took:    time.Since(began), Longer: Longer(long, short),
	})
}

// emptyDatabase returns a migrated database's content.
func (d Driver) emptyDatabase(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	_, end, err := d.Open(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

type ioSum struct {
	injected, opening, unknown, certain, quiet, lost int
	first                                            string
}

func (s *ioSum) add(o ioSum) {
	s.injected += o.injected
	s.opening += o.opening
	s.unknown += o.unknown
	s.certain += o.certain
	s.quiet += o.quiet
	s.lost += o.lost
	if s.first == "" {
		s.first = o.first
	}
}

type ioRun struct {
	t             *testing.T
	d             Driver
	strace, child string
	template      []byte
}

// all fails the call number 1, 1+every, 1+2*every ... until there are no more.
func (r *ioRun) all(call, code string, every int) ioSum {
	r.t.Helper()
	var sum ioSum
	for n := 1; ; n += every {
		before := sum.injected
		sum.add(r.one(call, code, n))
		if sum.injected == before {
			return sum
		}
	}
}

func (r *ioRun) one(call, code string, n int) (sum ioSum) {
	t := r.t
	t.Helper()
	ctx := t.Context()
	dir, err := os.MkdirTemp(scratch(), "fsmgen-io-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "x.db")
	if err := os.WriteFile(path, r.template, 0o644); err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(dir, "trace")
	run := r.d.childCommand(r.child, path, childEnv+"_COUNT=13")
	cmd := exec.Command(r.strace, append([]string{"-f", "-qq", "-s", "0", "-e", "signal=none", "-e", "trace=" + call,
		"-e", fmt.Sprintf("inject=%s:error=%s:when=%d", call, code, n), "-o", trace}, run.Args...)...)
	cmd.Env = run.Env
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s %d: %v: %s", call, code, n, err, complaint.String())
	}
	calls, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(calls, []byte("INJECTED")) {
		return sum
	}
	sum.injected++
	var said []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "!") {
			said = strings.Fields(line)
			out = bytes.ReplaceAll(out, []byte(line), nil)
		}
	}
	switch {
	case said == nil:
		sum.quiet++
	case said[1] == "open":
		sum.opening++
	case said[1] == "certain":
		sum.certain++
	case said[1] == "unknown":
		if sum.unknown++; said[2] != "true" && code != "ENOSPC" { // once there is room it goes on
			t.Errorf("%s %s %d: the store went on writing after an unknown commit", call, code, n)
		}
	}
	c, err := readCalls(string(out))
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := r.after(ctx, path, c, len(said) > 1 && said[1] == "certain")
	if err != nil {
		t.Fatalf("%s %s %d: %v", call, code, n, err)
	}
	if wrong != "" {
		sum.lost++
		sum.first = fmt.Sprintf("%s %s %d: %s", call, code, n, wrong)
	}
	return sum
}

// after opens the database again without faults, settles what was open, and
// says what is wrong. After a certain error nothing stands but what was acknowledged.
func (r *ioRun) after(ctx context.Context, path string, c calls, certain bool) (string, error) {
	s, end, err := r.d.Open(ctx, path, false)
	if err != nil {
		return "", err
	}
	defer end()
	v, err := s.Verify(ctx, c.acked)
	if err != nil || v.Wrong() != "" {
		return v.Wrong(), err
	}
	if certain && v.Written != v.Acked {
		return fmt.Sprintf("%d revisions stand, %d were acknowledged, and the error said that nothing was written", v.Written, v.Acked), nil
	}
	for id, rev := range c.asked {
		if rev <= c.acked[id] {
			continue
		}
		if _, err := s.Settle(ctx, id, rev); err != nil {
			return "", err
		}
		c.acked[id] = rev
	}
	v, err = s.Verify(ctx, c.acked)
	return v.Wrong(), err
}
